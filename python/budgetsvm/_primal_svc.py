"""PrimalSVC: kernel and linear classification by Newton's method in the primal."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from . import _parameters
from ._classifier import Classifier, one_column_flat
from ._docs import choice, documented
from ._names import CLASS_LOSSES
from ._primal import LEAST_SQUARES, PAGE, PrimalEstimator

LOSSES = CLASS_LOSSES | LEAST_SQUARES


@documented(**PAGE, losses=choice("loss", LOSSES, "squared_hinge"))
class PrimalSVC(Classifier, PrimalEstimator):
    r"""Support vector classification solved in the primal [1]_.

    Minimises ``1/2 ‖f‖² + Σ C_i L(y_i, f(x_i) + b)`` by Newton's method or by preconditioned
    conjugate gradients, over expansions in all samples, over expansions in a few basis points, or
    over linear functions. Several classes are trained one against the rest, on the same kernel
    values.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a violation, > 0: a sample costs C times its weight. The paper's λ is 1/(2C).
    @kernel@
    @losses@
        Corners are rounded (`smoothing`).
    @solver@
    @class_weight@
    @leave_one_out@
    tune : bool, default=False
        Whether C and γ are found first, beginning with those given or better ones that a look at a
        few samples finds: by the gradient of the leave-one-out criterion, then by the
        leave-one-out errors around its minimum; for the kernels "rbf" and "laplacian" and the
        squared losses.
    @ending@

    Attributes
    ----------
    @labels@
    @learnt@
    loo_decision_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        With `leave_one_out`: the decision value of each sample by the machine trained without it
        (NaN where its weight is 0). Exact where no other sample changes its part in the solution,
        else an estimate.
    loo_score_ : float
        Accuracy of these, weighted.
        Neither is there when `max_time` or the callback ended the fit before them.
    @told@

    Examples
    --------
    >>> from budgetsvm import PrimalSVC
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> PrimalSVC(C=10, gamma=2).fit(X, y).score(X, y) > 0.98
    True
    """

    _family = "primal_svc"
    _ranges: ClassVar[dict] = {**PrimalEstimator._ranges, "loss": _parameters.one_of(*LOSSES)}

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: str = "rbf",
        gamma: str | float = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        loss: str = "squared_hinge",
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
        class_weight: Any = None,
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
        return "_machine" in last and np.array_equal(last["classes_"], self.classes_)

    def _take_left_out(self, values: np.ndarray, y: np.ndarray, weights: np.ndarray) -> None:
        known = np.isfinite(values[:, 0])
        right = self._labels(values[known]) == y[known]
        self.loo_decision_ = one_column_flat(values)
        self.loo_score_ = float(np.average(right, weights=weights[known]))
