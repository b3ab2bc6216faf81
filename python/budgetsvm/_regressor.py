"""What the regression machines share: targets, cost, predict."""

from __future__ import annotations

from typing import Any, ClassVar, cast

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import d2_pinball_score

from . import _names, _out_of_core, _parameters, _validation
from ._docs import documented
from ._estimator import Estimator
from ._hyperparameters import hyperparameters

#: Rows of the first part of a stream, at least, that say how far its values spread.
_ROWS_OF_A_SPREAD = 30


@hyperparameters
class Regressor(RegressorMixin, Estimator):
    """Mixin of the regression machines; not for use on its own.

    Parameters
    ----------
    @loss-parameters@
    """

    epsilon: float = 0.1
    quantile: float = 0.5
    loss: _names.ValueLoss = "epsilon_insensitive"

    _ranges: ClassVar[dict] = {"loss": _parameters.one_of(*_names.VALUE_LOSSES)}

    @documented
    def predict(self, X: Any, out: Any = None) -> np.ndarray:
        """The value of each row.

        @rows-or-source@

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
            Values, of the shape that y had in `fit`.

        @unless-fitted@
        """
        if _out_of_core.is_blockwise(X, out):
            return _out_of_core.predict_blocks(self.predict, X, out)
        return self._shaped(self._decision(X))

    def _shaped(self, values: np.ndarray) -> np.ndarray:
        """Predictions of decision values."""
        return values[:, 0]

    def _encode(self, y: np.ndarray, known: np.ndarray | None = None) -> tuple[np.ndarray, None]:
        y = _values(y)
        self._look_at_units(y)
        return y, None

    def _encode_part(self, y: np.ndarray, classes: Any, first: bool) -> tuple[np.ndarray, None]:
        y = _values(y)
        # A part may be one row: it says nothing of the spread.
        if first and len(y) >= _ROWS_OF_A_SPREAD:
            self._look_at_units(y)
        return y, None

    def _look_at_units(self, y: np.ndarray) -> None:
        """Warn where ε or C are in other units than the values."""
        C = getattr(self, "C", None)
        for column in y.T if y.ndim == 2 else [y]:
            if self.loss in _names.WITH_TUBE:
                _validation.warn_of_wide_tube(column, float(self.epsilon))
            if self.loss in _names.OF_BOUNDED_SLOPE and _validation.is_number(C):
                _validation.warn_of_small_cost(column, float(cast(Any, C)))

    def _look_at_fit(self) -> None:
        fitted: Any = self
        if fitted.stop_reason_ not in ("max_time", "callback"):
            _validation.warn_of_no_terms(fitted._machine)

    def _cost(self, target: Any, weights: np.ndarray, balance: bool = True) -> np.ndarray:
        return _validation.where_kept(weights, lambda at: self._used_C() * weights[at])


class MultiTargetRegressor(Regressor):
    """Mixin of the regressors that learn several targets on shared terms."""

    #: Whether y was a matrix of one column; predictions then have that shape.
    _one_column: bool

    _archived: ClassVar[dict[str, str]] = {"_one_column": "flag?"}

    def _levels(self) -> list[float] | None:
        """The quantiles, where there are several."""
        one = self.loss != "quantile" or _validation.is_number(self.quantile)
        return None if one else [float(q) for q in np.asarray(self.quantile)]

    def _shaped(self, values: np.ndarray) -> np.ndarray:
        if self._levels() is not None:
            return np.sort(values, axis=1)
        flat = values.shape[1] == 1 and not self.__dict__.get("_one_column", False)
        return values[:, 0] if flat else values

    @documented
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² of the predictions; of several targets or quantiles the mean of their scores.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows, finite.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            True values.
        @weights@

        Returns
        -------
        float
            1 is perfect, and 0 what a constant reaches. Of several quantiles
            `sklearn.metrics.d2_pinball_score`, which is R² with the loss of the quantile.

        @unless-fitted@
        """
        levels = self._levels()
        if levels is None:
            return float(super().score(X, y, sample_weight))
        found = self.predict(X)
        each = [
            d2_pinball_score(y, found[:, at], sample_weight=sample_weight, alpha=level)
            for at, level in enumerate(levels)
        ]
        return float(np.mean(each))

    def _several_targets(self, y: Any) -> bool:
        return self._levels() is None

    def _outputs_wanted(self) -> int:
        machine: Any = self._learnt("_machine")
        levels = self._levels()
        if levels is not None:
            return len(levels)
        return 1 if self.__dict__.get("_one_column", False) else machine.n_outputs

    def _encode(self, y: np.ndarray, known: np.ndarray | None = None) -> tuple[np.ndarray, None]:
        self._note_shape(y)
        return super()._encode(y, known)

    def _encode_part(self, y: np.ndarray, classes: Any, first: bool) -> tuple[np.ndarray, None]:
        if first:
            self._note_shape(y)
        return super()._encode_part(y, classes, first)

    def _note_shape(self, y: np.ndarray) -> None:
        self.__dict__.pop("_one_column", None)
        if y.ndim == 2 and y.shape[1] == 1:
            self._one_column = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _values(y: np.ndarray) -> np.ndarray:
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    return _validation.as_values(y)
