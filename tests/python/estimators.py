"""One small instance of every public estimator, made from `budgetsvm.__all__`, and rows for it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_outlier_detector, is_regressor

import budgetsvm

#: Sizes that make a fit to some dozen rows small; what a class does not have is left out.
SMALL = {
    "budget": 10, "n_components": 10, "n_frequencies": 10, "n_clusters": 2, "gamma": 0.5,
    "random_state": 0,
}  # fmt: skip
#: Of some classes other sizes.
OWN: dict[str, dict[str, Any]] = {
    "BudgetSVCCV": {"Cs": 2, "gammas": 2, "cv": 2},
    "BudgetSVRCV": {"Cs": 2, "gammas": 2, "cv": 2},
    "LocalBudgetSVC": {"n_components": None},
    "NuSVC": {"nu": 0.3},
    "NystroemOGD": {"n_components": None},
    "PrimalSVC": {"n_components": 500},
    "PrimalSVR": {"n_components": 500},
    "SemiparametricNuSVC": {"nu": 0.3},
}

#: Every public estimator by its name.
CLASSES: dict[str, Any] = {
    name: getattr(budgetsvm, name)
    for name in sorted(budgetsvm.__all__)
    if isinstance(getattr(budgetsvm, name), type)
}


def small(name: str, **params: Any) -> Any:
    """A small estimator of this class; `params` take the place of its own."""
    known = CLASSES[name]().get_params(deep=False)
    sizes = {key: value for key, value in SMALL.items() if key in known}
    return CLASSES[name](**{**sizes, **OWN.get(name, {}), **params})


def names(*kinds: str, without: tuple[str, ...] = (), having: str = "") -> list[str]:
    """The names of the estimators of some kinds ("classifier", "regressor", "outlier_detector" or
    "transformer"; of all, where none is named) that have a method; `without` some."""
    unknown = set(without) - CLASSES.keys()
    if unknown:
        raise ValueError(f"no such estimators: {sorted(unknown)}")
    return [
        name
        for name, cls in CLASSES.items()
        if name not in without
        and (not kinds or kind(name) in kinds)
        and (not having or having in dir(cls))
    ]


def kind(name: str) -> str:
    """What an estimator is."""
    made = CLASSES[name]()
    if is_classifier(made):
        return "classifier"
    if is_regressor(made):
        return "regressor"
    return "outlier_detector" if is_outlier_detector(made) else "transformer"


def rows(n: int = 60, d: int = 3) -> np.ndarray:
    """Rows of a normal distribution."""
    return np.random.default_rng(0).normal(size=(n, d))


def target(name: str, X: np.ndarray, classes: int = 2) -> np.ndarray | None:
    """A target that an estimator of this name takes with the rows."""
    values = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1]
    if kind(name) == "classifier":
        return np.digitize(values, np.quantile(values, np.arange(1, classes) / classes))
    return values if kind(name) == "regressor" else None


def fitted(name: str, n: int = 60, **params: Any) -> Any:
    """A small estimator fitted to some rows."""
    X = rows(n)
    return small(name, **params).fit(X, target(name, X))


def answers(model: Any, X: Any) -> np.ndarray:
    """What a fitted estimator says of rows, as numbers."""
    for method in ("decision_function", "transform", "predict"):
        if hasattr(model, method):
            return np.asarray(getattr(model, method)(X), dtype=np.float64)
    raise TypeError(type(model).__name__)
