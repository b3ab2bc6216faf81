"""What the regression machines share: targets, cost, predict."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin

from . import _larger, _names, _parameters, _validation
from ._docs import documented
from ._estimator import Estimator
from ._hyperparameters import hyperparameters


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

        @values@

        @unless-fitted@
        """
        if _larger.is_many(X, out):
            return _larger.answers(self.predict, X, out)
        return self._decision(X)[:, 0]

    def _encode(self, y: np.ndarray, known: np.ndarray | None = None) -> tuple[np.ndarray, None]:
        if self.loss in _names.WITH_TUBE:
            _validation.warn_of_wide_tube(y, float(self.epsilon))
        return _values(y), None

    def _encode_part(self, y: np.ndarray, classes: Any, first: bool) -> tuple[np.ndarray, None]:
        # A part may be one row: it says nothing of the spread.
        return _values(y), None

    def _look_at_fit(self) -> None:
        fitted: Any = self
        if fitted.stop_reason_ not in ("max_time", "callback"):
            _validation.warn_of_no_terms(fitted._machine)

    def _cost(self, target: Any, weights: np.ndarray, balance: bool = True) -> np.ndarray:
        return self._used_C() * weights


def _values(y: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(y, dtype=np.float64)
