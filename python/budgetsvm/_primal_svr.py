"""PrimalSVR: kernel and linear regression by Newton's method in the primal."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from sklearn.metrics import r2_score

from . import _names, _parameters
from ._hyperparameters import hyperparameters
from ._names import LEAST_SQUARES, VALUE_LOSSES
from ._primal import PrimalEstimator
from ._regressor import MultiTargetRegressor


@hyperparameters
class PrimalSVR(MultiTargetRegressor, PrimalEstimator):
    r"""Support vector regression solved in the primal [1]_.

    Minimises ``1/2 ‖f‖² + Σ C_i L(y_i, f(x_i) + b)`` by Newton's method or by preconditioned
    conjugate gradients, over expansions in all samples, over expansions in a few basis points, or
    over linear functions. Several targets, the columns of y, share the basis and its kernel values;
    each has the solution that it has alone.

    Parameters
    ----------
    @primal-value-losses@
        Corners are rounded (`smoothing`).

    Examples
    --------
    >>> import numpy as np
    >>> from budgetsvm import PrimalSVR
    >>> X = np.linspace(0, 6, 300)[:, None]
    >>> PrimalSVR(C=10, epsilon=0.01).fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.99
    True
    """

    _family = "primal_svr"
    _ranges: ClassVar[dict] = {"loss": _parameters.one_of(*VALUE_LOSSES, *LEAST_SQUARES)}

    loss: _names.ValueLoss | _names.LeastSquares = "epsilon_insensitive"  # type: ignore[assignment]

    def _take_left_out(self, values: np.ndarray, y: np.ndarray, weights: np.ndarray) -> None:
        known = np.isfinite(values[:, 0])
        flat = values[:, 0] if y.ndim == 1 else values
        self.loo_decision_ = flat
        self.loo_score_ = float(r2_score(y[known], flat[known], sample_weight=weights[known]))
