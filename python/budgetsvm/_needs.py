"""What a hyperparameter needs of the others: where they are not so it changes nothing, and `fit`
warns.

One table for all estimators. A row counts for those that have both hyperparameters.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from . import _names, _validation

#: Losses with corners, which are rounded.
_CORNERS = ("hinge", "epsilon_insensitive", "quantile")
#: Maintenance that merges terms.
_MERGING = ("auto", "merge", "multi-merge")


class Need(NamedTuple):
    """Hyperparameters that mean something only where another one has certain values."""

    #: Their names.
    settings: str
    #: The other one.
    other: str
    #: Whether an estimator has such a value.
    is_met: Callable[[Any], bool]
    #: What it has to be, as a user reads it.
    words: str
    #: A further hyperparameter of the estimators that the row is about.
    beside: str = ""


def _among(settings: str, other: str, *values: Any, beside: str = "") -> Need:
    words = " or ".join(f"{other}={value!r}" for value in values)
    return Need(settings, other, lambda own: _is_one(getattr(own, other), values), words, beside)


def _except(settings: str, other: str, *values: Any, beside: str = "") -> Need:
    words = " and ".join(f"not {other}={value!r}" for value in values)
    return Need(
        settings, other, lambda own: not _is_one(getattr(own, other), values), words, beside
    )


def _is_one(value: Any, values: tuple[Any, ...]) -> bool:
    """Whether a value is one of these; arrays and functions are none."""
    plain = value is None or isinstance(value, (str, bool, int))
    return plain and value in values


def _has_gamma(estimator: Any) -> bool:
    kernel = estimator.kernel
    return not callable(kernel) and kernel not in ("linear", "precomputed")


def _chooses_points(estimator: Any) -> bool:
    """Whether points are chosen: among the samples, or among those of a fitted machine."""
    basis = estimator.basis
    return isinstance(basis, str) or hasattr(basis, "support_vectors_")


def _prunes(estimator: Any) -> bool:
    """Whether cells are machines that rows are dropped from."""
    own = estimator.local
    return own == "online" or (own == "auto" and estimator.budget is not None)


def _has_tolerance(estimator: Any) -> bool:
    """Whether passes or polishing of a machine on a budget end by one."""
    polishes = estimator.polishing and estimator.budget is not None
    return polishes or (estimator.solver == "bsca" and estimator.max_iter > 1)


NEEDS: tuple[Need, ...] = (
    _among("degree", "kernel", "poly"),
    _among("coef0", "kernel", "poly", "sigmoid"),
    Need("gamma gammas", "kernel", _has_gamma, "a kernel with a gamma, by its name"),
    _among("epsilon", "loss", *_names.WITH_TUBE),
    _among("quantile", "loss", "quantile"),
    _among("smoothing", "loss", *_CORNERS),
    _except("polishing smoothing cache_size", "budget", None, beside="merge_size"),
    _among("smoothing cache_size", "polishing", True),
    Need("tol", "polishing", _has_tolerance, "polishing, or solver='bsca' with max_iter > 1"),
    _among("fit_intercept", "polishing", True, beside="class_weight"),
    _except("maintenance merge_search merge_size", "budget", None, beside="merge_size"),
    _among("merge_search merge_size", "maintenance", *_MERGING),
    _among("merge_search merge_size", "kernel", "rbf"),
    _among("refine_iter", "refine", True),
    Need("n_components", "basis", _chooses_points, "a basis by name, or a fitted machine as basis"),
    _except("refine", "basis", None),
    _among("solver", "basis", None),
    _among("tune_size", "tune", True),
    _among("validation_fraction n_iter_no_change", "early_stopping", True),
    _among("n_expected", "solver", "bsgd", "asset"),
    _among("strongly_convex averaging max_intercept", "solver", "asset"),
    _except("order cache_size", "solver", "dual"),
    _among("shrinking", "solver", "smo", "dual"),
    _among("tol", "solver", "dual", beside="averaging"),
    _among("update constraint_tol constraint_atol", "solver", "mpd"),
    _among("working_set", "update", "augmented"),
    _among("intercept_penalty", "fit_intercept", True),
    _among("max_intercept", "fit_intercept", True),
    _among("eigenvalue_threshold", "features", "nystroem"),
    _among("orthogonal waves", "features", "fourier"),
    _among("halving", "scoring", None),
    _among("center_step", "assign", "lvq"),
    Need("pruning", "local", _prunes, "local='online', or a budget"),
)


@cache
def _rows(cls: type) -> tuple[tuple[str, Any, Need], ...]:
    """Of a class the hyperparameters with needs: name, default and need."""
    defaults = {name: getattr(cls, name, None) for name in cls._get_param_names()}  # type: ignore[attr-defined]
    return tuple(
        (name, defaults[name], need)
        for need in NEEDS
        if (need.other in defaults or hasattr(cls, need.other))
        and (not need.beside or need.beside in defaults)
        for name in need.settings.split()
        if name in defaults
    )


def idle(estimator: Any) -> dict[str, str]:
    """The hyperparameters that were set and change nothing, with what they need."""
    found: dict[str, str] = {}
    cls: type = type(estimator)
    for name, default, need in _rows(cls):
        value = getattr(estimator, name)
        if value is default or (np.ndim(value) == 0 and value == default):
            continue
        if not need.is_met(estimator):
            found.setdefault(name, need.words)
    return found


def warn_of_idle(estimator: Any) -> None:
    """Warn, once a fit, of hyperparameters that were set and change nothing."""
    found = idle(estimator)
    if found:
        told = "; ".join(f"{name} needs {words}" for name, words in found.items())
        _validation.warn(f"Some hyperparameters were set and change nothing here: {told}.")
