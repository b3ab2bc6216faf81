"""PrimalSVC: kernel and linear classification by Newton's method in the primal."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from . import _names, _parameters
from ._classifier import one_column_flat
from ._hyperparameters import hyperparameters
from ._multilabel import MultiLabelClassifier
from ._names import CLASS_LOSSES, LEAST_SQUARES
from ._primal import PrimalEstimator


@hyperparameters
class PrimalSVC(MultiLabelClassifier, PrimalEstimator):
    r"""Support vector classification solved in the primal [1]_.

    Minimises ``1/2 ‖f‖² + Σ C_i L(y_i, f(x_i) + b)`` by Newton's method or by preconditioned
    conjugate gradients, over expansions in all samples, over expansions in a few basis points, or
    over linear functions. Several classes are trained one against the rest, on the same kernel
    values.

    Parameters
    ----------
    @primal-class-losses@
        Corners are rounded (`smoothing`).

    Examples
    --------
    >>> from budgetsvm import PrimalSVC
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> PrimalSVC(C=10, gamma=2).fit(X, y).score(X, y) > 0.98
    True
    """

    _family = "primal_svc"
    _ranges: ClassVar[dict] = {"loss": _parameters.one_of(*CLASS_LOSSES, *LEAST_SQUARES)}

    loss: _names.ClassLoss | _names.LeastSquares = "squared_hinge"
    class_weight: _names.ClassWeight = None

    def _take_left_out(self, values: np.ndarray, y: np.ndarray, weights: np.ndarray) -> None:
        known = np.isfinite(values[:, 0])
        sets = self._has_sets()
        right = self._right(values, y)[known] if sets else self._labels(values[known]) == y[known]
        self.loo_decision_ = one_column_flat(values)
        self.loo_score_ = float(np.average(right, weights=weights[known]))
