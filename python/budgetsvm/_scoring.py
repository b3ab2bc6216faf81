"""Scorers of scikit-learn on decision values: these answer what a scorer asks of a machine."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.metrics import check_scoring
from sklearn.utils import _safe_indexing

from . import _core, _validation

#: Sigmoids of the logistic loss, rows (a, b), and those that a trial of a scorer is shown.
_LOGISTIC, _TRIAL = (-1.0, 0.0), (-2.0, 0.0)


class FoldScores:
    """Scores of the places of a grid by a scorer, from the decision values of folds.

    Probabilities are those of the logistic loss, or sigmoids of the values of a place, fitted to
    its other folds: a row's probability has not seen its label.
    """

    def __init__(
        self, estimator: Any, rows: tuple[Any, Any], index: np.ndarray | None, weights: np.ndarray,
        tests: list[np.ndarray],
    ) -> None:  # fmt: skip
        """`index` is the class of each row, None for values; `tests` are the rows of the folds."""
        self._estimator, (self._X, self._y), self._weights = estimator, rows, weights
        self._index, self._tests = index, [np.arange(len(weights))[test] for test in tests]
        self._scorer = check_scoring(estimator, estimator.scoring)
        #: Whether the scorer has asked for probabilities.
        self.asked = False
        self._try()

    def of(self, values: list[np.ndarray]) -> list[float]:
        """Scores of values, fold by fold and place by place; NaN for those that are not there."""
        places = len(values) // len(self._tests)
        found: list[float] = []
        failed = []
        for fold, test in enumerate(self._tests):
            X, y = _safe_indexing(self._X, test), _safe_indexing(self._y, test)
            for place in range(places):
                own = values[fold * places + place]
                score = np.nan
                if len(own):
                    try:

                        def others(p=place, f=fold):
                            return self.curves(values[p::places], without=f)

                        score = self._score(own.reshape(len(test), -1), X, y, others)
                    except ValueError as error:
                        failed.append(error)
                found.append(score)
        if failed and not np.isfinite(found).any():
            raise self._refusal(failed[0]) from failed[0]
        if failed:
            _validation.warn(
                f"The scorer failed {len(failed)} times of {len(found)}, whose scores are NaN: "
                f"{failed[0]}",
                UserWarning,
            )
        return found

    def curves(self, values: list[np.ndarray], without: int | None = None) -> np.ndarray:
        """Sigmoids of the values of a place, an item a fold, but those of one fold."""
        reached = [f for f in range(len(values)) if len(values[f])]
        used = [f for f in reached if f != without] or reached
        rows = np.concatenate([self._tests[f] for f in used])
        outputs = len(values[used[0]]) // len(self._tests[used[0]])
        if getattr(self._estimator, "loss", None) == "log_loss":
            return np.tile(_LOGISTIC, (outputs, 1))
        known = np.concatenate([values[f].reshape(-1, outputs) for f in used])
        assert self._index is not None
        curves = np.empty((outputs, 2))
        for output, column in enumerate(known.T):
            positive = self._index[rows] == (output if outputs > 1 else 1)
            column = np.ascontiguousarray(column)
            a, b = _core.sigmoid(column, positive, self._weights[rows])
            # Values that fall where the shares rise are those of chance.
            curves[output] = min(a, 0.0), b
        return curves

    def _try(self) -> None:
        """Refuse a scorer that cannot judge the best of machines, before any work."""
        if self._index is None:
            values = np.asarray(self._y, dtype=np.float64).reshape(len(self._weights), -1)
        else:
            classes = len(self._estimator.classes_)
            values = np.where(self._index[:, None] == np.arange(classes), 1.0, -1.0)
            values = values[:, 1:] if classes == 2 else values
        curves = np.tile(_TRIAL, (values.shape[1], 1))
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                self._score(values, self._X, self._y, lambda: curves)
        except Exception as error:
            raise self._refusal(error) from error

    def _refusal(self, error: Exception) -> ValueError:
        scoring, kind = self._estimator.scoring, type(self._estimator).__name__
        return ValueError(f"scoring={scoring!r} cannot judge {kind} on these targets: {error}")

    def _score(self, values: np.ndarray, X: Any, y: Any, curves: Callable[[], np.ndarray]) -> float:
        shown: Any = copy.copy(self._estimator)
        shown._decision = lambda _: values
        shown.__sklearn_is_fitted__ = lambda: True
        if self._index is not None:
            shown._gives_probabilities = lambda: True
            shown._probabilities_of = lambda values: self._probabilities(values, curves())
        return float(self._scorer(shown, X, y))

    def _probabilities(self, values: np.ndarray, curves: np.ndarray) -> np.ndarray:
        self.asked = True
        shares = expit(-(values * curves[:, 0] + curves[:, 1]))
        if shares.shape[1] == 1:
            return np.hstack([1.0 - shares, shares])
        total = shares.sum(axis=1, keepdims=True)
        even = np.full_like(shares, 1.0 / shares.shape[1])
        return np.divide(shares, total, out=even, where=total > 0)
