"""Pages of the estimators: paragraphs that several of them share, written once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from textwrap import dedent, indent
from typing import TypeVar

from ._names import CLASS_LOSSES, DISTANCES, KERNELS, LOSS_PARAMETERS, VALUE_LOSSES

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


def head(parameter: str, names: Iterable[str], default: str) -> str:
    """The line of a hyperparameter that is one of these names."""
    listed = ", ".join(f'"{name}"' for name in names)
    return f'{parameter} : {{{listed}}}, default="{default}"'


def choice(parameter: str, formulas: dict[str, str], default: str) -> str:
    """The paragraph of such a hyperparameter: a formula for every name."""
    lines = ";\n    ".join(f'"{name}": {formula}' for name, formula in formulas.items())
    return f"{head(parameter, formulas, default)}\n    {lines}."


COMMON = {
    "kernel-names": head("kernel", KERNELS, "rbf"),
    "kernels-of-a-distance": head("kernel", DISTANCES, "rbf"),
    "kernel-formulas": choice("kernel", KERNELS, "rbf"),
    "class-losses": choice("loss", CLASS_LOSSES, "hinge"),
    "value-losses": choice("loss", VALUE_LOSSES, "epsilon_insensitive"),
    "loss-parameters": "\n".join(
        f"{name} : float, default={default}\n    {page}"
        for name, (_, default, page) in LOSS_PARAMETERS.items()
    ),
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
