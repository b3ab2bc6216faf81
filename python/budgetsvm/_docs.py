"""Pages of the estimators: paragraphs that several of them share, written once."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

Class = TypeVar("Class", bound=type)

_MARK = re.compile(r"^ *@([\w-]+)@$", re.MULTILINE)


def documented(**own: str) -> Callable[[Class], Class]:
    """A decorator that fills the page of a class: a line ``@name@`` becomes what has that name.

    Parameters
    ----------
    **own : str
        What the classes of one family share, by name; it goes before `COMMON`.
    """
    known = COMMON | own

    def fill(cls: Class) -> Class:
        while cls.__doc__ and _MARK.search(cls.__doc__):
            cls.__doc__ = _MARK.sub(lambda mark: known[mark[1]].strip("\n"), cls.__doc__)
        return cls

    return fill


COMMON = {
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
    kernel : {"rbf", "laplacian", "poly", "sigmoid", "linear"}, default="rbf"
        ``exp(-γ ‖x-z‖²)``, ``exp(-γ ‖x-z‖₁)``, ``(γ x·z + coef0)^degree``,
        ``tanh(γ x·z + coef0)``, ``x·z``.
""",
}
