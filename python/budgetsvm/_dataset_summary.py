"""Summaries of the rows before shards are trained: labels, variance and sums of weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self, cast

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone, is_classifier, is_regressor

from . import _tuning, _validation
from ._columns import Layout, expect_order, layout_of, note
from ._machine import MachineEstimator


@dataclass(frozen=True)
class Survey:
    """What a part of the rows says; ``a + b`` is what two parts say together.

    Attributes
    ----------
    n_rows : int
        Rows.
    n_features : int or None
        Their features; None of a part without rows.
    dtype : str
        "float32" or "float64".
    classes : tuple or None
        Labels with the sums of their rows' weights; None for values.
    names : tuple of str or None
        Names of the features, where the rows are those of a data frame.
    weight, mean, spread : float
        Sum of the weights, mean of all entries of X as they weigh, and the sum of their squared
        distances from it.
    """

    n_rows: int = 0
    n_features: int | None = None
    dtype: str = ""
    classes: tuple[tuple[Any, float], ...] | None = None
    weight: float = 0.0
    mean: float = 0.0
    spread: float = 0.0
    names: tuple[str, ...] | None = None

    def __add__(self, other: Self) -> Self:
        if not self.n_rows or not other.n_rows:
            return self if self.n_rows else other
        if self.n_features != other.n_features:
            raise ValueError(f"parts of X have {self.n_features} and {other.n_features} features")
        if self.dtype != other.dtype:
            raise ValueError(f"parts of X are of {self.dtype} and {other.dtype}")
        expect_order(self.names, other.names, "a part of X")
        weight = self.weight + other.weight
        share = other.weight / weight if weight > 0 else 0.0
        gap = other.mean - self.mean
        classes = None
        if self.classes is not None and other.classes is not None:
            sums = dict(self.classes)
            for label, own in other.classes:
                sums[label] = sums.get(label, 0.0) + own
            labels = np.unique(np.array(list(sums), dtype=_label_dtype(sums)))
            classes = tuple((label, sums[label]) for label in labels.tolist())
        return replace(
            self,
            n_rows=self.n_rows + other.n_rows,
            classes=classes,
            names=self.names or other.names,
            weight=weight,
            mean=self.mean + share * gap,
            spread=self.spread
            + other.spread
            + gap * gap * self.weight * share * (self.n_features or 0),
        )


def _label_dtype(labels: Any) -> Any:
    """Object for text, so that no label is truncated; None lets NumPy choose."""
    return object if any(isinstance(label, str) for label in labels) else None


def _check_learner(estimator: Any) -> None:
    """Refuse what has no labels or values, no γ, or no way to learn in parts.

    Whether its shards can be joined is for `shard_pass` to say.
    """
    learns = isinstance(estimator, MachineEstimator) and hasattr(type(estimator), "partial_fit")
    targets = learns and (is_classifier(estimator) or is_regressor(estimator))
    if not targets or "gamma" not in estimator.get_params(deep=False):
        raise TypeError(
            "estimator must be a BudgetSVC or a BudgetSVR, or another that learns labels or values "
            f"by partial_fit with a gamma of its own, got {type(estimator).__name__}"
        )
    check_not_tuned(estimator)


def check_not_tuned(estimator: Any) -> None:
    """Refuse names in the place of C and γ that are found on rows in one place."""
    for name, tuned in zip(("C", "gamma"), _tuning.wanted(estimator), strict=True):
        if tuned:
            raise ValueError(f"{name}='tune' needs all rows in one place: give a number")


def survey(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> Survey:
    """What a part of the rows says of what `settle` has to know of all of them.

    Parameters
    ----------
    estimator : BudgetSVC, BudgetSVR or one with partial_fit
        The estimator to be trained; it is not changed.
    X : array-like or CSR matrix of shape (n_rows, n_features)
        A part of the rows; it may be empty.
    y : array-like of shape (n_rows,)
        Labels or values.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights >= 0.

    Returns
    -------
    Survey

    Raises
    ------
    TypeError
        If the estimator is of another kind.
    ValueError
        If something is not finite, of another length or shape.
    """
    _check_learner(estimator)
    if getattr(X, "shape", (1,))[0] == 0:
        return Survey()
    part = clone(estimator)
    if isinstance(getattr(part, "feature_scales", None), str):
        raise ValueError("feature_scales='learn' needs all rows in one place: give the scales")
    rows, target = part._check_X_y(X, y, True)
    weights = _weights(sample_weight, rows)
    classes = None
    if is_classifier(part):
        if target.ndim != 1:
            raise ValueError("y must have one label a row: sets of labels need all rows in place")
        _validation.check_labels("y", target)
        labels, index = np.unique(target, return_inverse=True)
        sums = np.bincount(index, weights=weights, minlength=len(labels))
        classes = tuple(zip(labels.tolist(), sums.tolist(), strict=True))
    n, d = rows.shape
    weight = float(weights.sum())
    mean = spread = 0.0
    if weight > 0:
        mean = float(weights @ _sums(rows, 0.0)) / (weight * d)
        spread = float(weights @ _sums(rows, mean, squares=True))
    names = layout_of(part).names
    names = None if names is None else tuple(names)
    return Survey(n, d, str(rows.dtype), classes, weight, mean, spread, names)


def _weights(sample_weight: Any, rows: Any) -> np.ndarray:
    """Checked weights; in a part they may all be 0."""
    n = rows.shape[0]
    if sample_weight is not None and np.shape(sample_weight) == (n,) and not np.any(sample_weight):
        return np.zeros(n)
    return _validation.check_weights(sample_weight, rows)


def _sums(rows: Any, mean: float, squares: bool = False) -> np.ndarray:
    """For every row the sum of its entries' deviations from the mean, or of their squares."""
    n, d = rows.shape
    if not sp.issparse(rows):
        blocks = [rows[i : i + 4096].astype(np.float64) - mean for i in range(0, n, 4096)]
        return np.concatenate([(b * b if squares else b).sum(axis=1) for b in blocks])
    rows = cast(Any, rows)
    data = rows.data.astype(np.float64)
    told = (data - mean) ** 2 - mean**2 if squares else data
    sums = np.bincount(np.repeat(np.arange(n), np.diff(rows.indptr)), weights=told, minlength=n)
    return sums + d * mean**2 if squares else sums


def settle(estimator: Any, told: Survey) -> Any:
    """A copy of the estimator with numbers in place of what depends on all rows.

    ``gamma="scale"``, ``class_weight="balanced"`` and a ``RandomState`` become the numbers that
    they stand for, and a classifier knows its classes.

    Parameters
    ----------
    estimator : BudgetSVC, BudgetSVR or one with partial_fit
        The estimator to be trained; it is not changed.
    told : Survey
        Of all parts together.

    Returns
    -------
    estimator
        Not fitted; for `shard_pass`, or for partial_fit of one part after the other.

    Raises
    ------
    TypeError
        If the estimator is of another kind, or `told` no survey.
    ValueError
        If there is no row, or one class alone.
    """
    _check_learner(estimator)
    if not isinstance(told, Survey):
        raise TypeError(f"told must be a Survey, got {type(told).__name__}")
    if told.n_features is None:
        raise ValueError("X has no rows in any part")
    if not told.weight > 0:
        raise ValueError("sample_weight must not be all zero")
    settled = clone(estimator)
    settled._check_hyperparameters()
    variance = told.spread / (told.weight * told.n_features)
    gamma = _validation.resolve_gamma(estimator.gamma, variance, told.n_features)
    settled.set_params(gamma=gamma, random_state=estimator._seed())
    note(settled, Layout(told.names))
    if told.classes is not None:
        labels = [label for label, _ in told.classes]
        settled.classes_ = np.array(labels, dtype=_label_dtype(labels))
        if settled.classes_.dtype == object:
            settled.classes_ = settled.classes_.astype(str)
        weighty = {label: weight for label, weight in told.classes if weight > 0}
        if len(weighty) < 2:
            raise ValueError(
                f"y has {len(weighty)} class of positive weight in all parts together, at least 2 "
                "classes are needed"
            )
        if isinstance(getattr(estimator, "class_weight", None), str):
            factor = told.weight / len(labels)
            settled.set_params(
                class_weight={label: factor / weight for label, weight in weighty.items()}
            )
    return settled
