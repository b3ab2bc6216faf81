"""What the regression machines share: targets, cost, predict."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from . import _validation
from ._estimator import Estimator


class Regressor(RegressorMixin, Estimator):
    """Mixin of the regression machines; not for use on its own."""

    C: Any

    def predict(self, X: Any) -> np.ndarray:
        """The value of each row.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows, finite.

        Returns
        -------
        ndarray of shape (n_samples,)
            Values.

        Raises
        ------
        NotFittedError, ValueError
            If the estimator is not fitted; if X is not finite or has other features.
        """
        return self._decision(X)[:, 0]

    def _encode(self, y: np.ndarray, known: np.ndarray | None = None) -> tuple[np.ndarray, None]:
        return np.ascontiguousarray(y, dtype=np.float64), None

    def _encode_part(self, y: np.ndarray, classes: Any, first: bool) -> tuple[np.ndarray, None]:
        return self._encode(y)

    def _cost(self, target: Any, weights: np.ndarray, balance: bool = True) -> np.ndarray:
        return _validation.cost(self.C, weights)
