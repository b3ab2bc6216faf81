"""Pages of the estimators: paragraphs that several of them share, written once."""

from __future__ import annotations

import re
from collections.abc import Callable
from textwrap import dedent, indent
from typing import TypeVar

Documented = TypeVar("Documented", bound=Callable)

_MARK = re.compile(r"^( *)@([\w-]+)@$", re.MULTILINE)


def documented(**own: str) -> Callable[[Documented], Documented]:
    """A decorator that fills the page of a class or method.

    A line ``@name@`` becomes what has that name, moved to where the line begins.

    Parameters
    ----------
    **own : str
        What the classes of one family share, by name; it goes before `COMMON`.
    """
    known = COMMON | own

    def paragraph(mark: re.Match[str]) -> str:
        return indent(dedent(known[mark[2]]).strip("\n"), mark[1])

    def fill(page: Documented) -> Documented:
        while page.__doc__ and _MARK.search(page.__doc__):
            page.__doc__ = _MARK.sub(paragraph, page.__doc__)
        return page

    return fill


COMMON = {
    "kernel-names": """
    kernel : {"rbf", "laplacian", "matern32", "matern52", "poly", "sigmoid", "linear"}, \
        default="rbf"
""",
    "degree": """
    degree : int, default=3
        Degree of the polynomial kernel, >= 0.
    coef0 : float, default=0.0
        Constant of the polynomial and the sigmoid kernel, finite.
""",
    "n_jobs": """
    n_jobs : int or None, default=None
        Threads; None is all cores (or ``OMP_NUM_THREADS``), -1 all cores. The result has the same
        bits for any number.
""",
    "verbose": """
    verbose : int, default=0
        Above 0: a progress line on standard error.
""",
    "features_in": """
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X had string column names.
""",
    "labels": """
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
""",
    "class_weight": """
    class_weight : dict, "balanced" or None, default=None
        Factors of C by class; "balanced" makes every class weigh the same.
""",
    "threads": """
    n_jobs : int or None, default=None
        Threads; None is all cores (or ``OMP_NUM_THREADS``), -1 all cores.
""",
    "kernel-formulas": """
    @kernel-names@
        ``exp(-γ ‖x-z‖²)``, ``exp(-γ ‖x-z‖₁)``, the Matérn kernels ``(1 + t) exp(-t)`` with
        ``t = √(6γ) ‖x-z‖`` and ``(1 + t + t²/3) exp(-t)`` with ``t = √(10γ) ‖x-z‖`` (length
        scale ``1/√(2γ)``), ``(γ x·z + coef0)^degree``, ``tanh(γ x·z + coef0)``, ``x·z``.
""",
    "new_rows": """
        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            New rows, finite.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that will ever come; needed in the first call.
""",
    "trained_on": """
        Returns
        -------
        self : object
            The estimator, trained on.

        Raises
        ------
        ValueError
            If an argument is out of its range, or a label is not in `classes`.
        KeyboardInterrupt
            On Ctrl-C; after any exception the estimator is as before the call.
""",
}
