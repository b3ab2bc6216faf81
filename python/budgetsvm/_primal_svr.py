"""PrimalSVR: kernel and linear regression by Newton's method in the primal."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import r2_score

from . import _parameters
from ._docs import choice, documented
from ._names import VALUE_LOSSES
from ._primal import LEAST_SQUARES, PAGE, PrimalEstimator
from ._regressor import Regressor

LOSSES = VALUE_LOSSES | LEAST_SQUARES


@documented(**PAGE, losses=choice("loss", LOSSES, "epsilon_insensitive"))
class PrimalSVR(Regressor, PrimalEstimator):
    r"""Support vector regression solved in the primal [1]_.

    Minimises ``1/2 ‖f‖² + Σ C_i L(y_i, f(x_i) + b)`` by Newton's method or by preconditioned
    conjugate gradients, over expansions in all samples, over expansions in a few basis points, or
    over linear functions.

    Parameters
    ----------
    C : float, default=1.0
        Cost of an error, > 0: a sample costs C times its weight. The paper's λ is 1/(2C).
    @kernel@
    @loss-parameters@
    @losses@
        Corners are rounded (`smoothing`).
    @solver@
    @leave_one_out@
    tune : bool, default=False
        Whether C and γ are found first, beginning with those given or better ones that a look at a
        few samples finds, by the gradient of the leave-one-out criterion; for the kernels "rbf" and
        "laplacian" and the squared losses.
    @ending@

    Attributes
    ----------
    @learnt@
    loo_decision_ : ndarray of shape (n_samples,)
        With `leave_one_out`: the decision value of each sample by the machine trained without it
        (NaN where its weight is 0). Exact where no other sample changes its part in the solution,
        else an estimate.
    loo_score_ : float
        R² of these, weighted.
        Neither is there when `max_time` or the callback ended the fit before them.
    @told@

    Examples
    --------
    >>> import numpy as np
    >>> from budgetsvm import PrimalSVR
    >>> X = np.linspace(0, 6, 300)[:, None]
    >>> PrimalSVR(C=10, epsilon=0.01).fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.99
    True
    """

    _family = "primal_svr"
    _ranges: ClassVar[dict] = {**PrimalEstimator._ranges, "loss": _parameters.one_of(*LOSSES)}

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: str = "rbf",
        gamma: str | float = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        epsilon: float = 0.1,
        quantile: float = 0.5,
        loss: str = "epsilon_insensitive",
        smoothing: float = 0.05,
        fit_intercept: bool = True,
        solver: str = "auto",
        basis: Any = None,
        n_components: int = 500,
        refine: bool = False,
        refine_iter: int = 100,
        tol: float = 1e-5,
        max_iter: int = 1000,
        max_time: float | None = None,
        cache_size: float = 1000,
        leave_one_out: bool = False,
        tune: bool = False,
        tune_size: int = 1500,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        self._keep(locals())

    def _same_outputs(self, last: dict[str, Any]) -> bool:
        return "_machine" in last

    def _take_left_out(self, values: np.ndarray, y: np.ndarray, weights: np.ndarray) -> None:
        known = np.isfinite(values[:, 0])
        self.loo_decision_ = values[:, 0]
        self.loo_score_ = float(r2_score(y[known], values[known, 0], sample_weight=weights[known]))
