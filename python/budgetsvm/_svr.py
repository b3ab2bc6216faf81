"""BudgetSVR: kernel regression with a model of a given size."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from . import _parameters
from ._base import PAGE, BudgetMachineEstimator
from ._docs import documented
from ._names import VALUE_LOSSES
from ._regressor import Regressor


@documented(**PAGE)
class BudgetSVR(Regressor, BudgetMachineEstimator):
    r"""Kernel support vector regression with at most `budget` support vectors.

    Minimises ``1/2 ‖w‖² + Σ C_i L(y_i, f(x_i))`` over machines
    ``f(x) = Σ_{j <= budget} coef_j k(s_j, x)`` by dual coordinate ascent [1]_ or stochastic
    gradient descent [2]_: whenever a step adds a term too many, terms are merged. The coefficients
    of the support vectors so found are then solved for (polishing). Problems of no more samples
    than `budget` are solved to 1e-10. Unlike `sklearn.svm.SVR` there is no offset unless
    `fit_intercept` is set: centre y, or set it.

    Parameters
    ----------
    budget : int or None, default=200
        The most terms that the model may hold, at least 1. None is no budget: plain coordinate
        ascent or kernel Pegasos.
    @kernel@
    @loss-parameters@
    @value-losses@
        A squared one needs solver "bsca".
    @solver@
    smoothing : float, default=0.05
        Half-width h > 0 of the rounded corners of the loss that polishing minimises.
    @passes@
    @ending@

    Attributes
    ----------
    @learnt@

    Examples
    --------
    >>> import numpy as np
    >>> from budgetsvm import BudgetSVR
    >>> X = np.linspace(0, 6, 1000)[:, None]
    >>> reg = BudgetSVR(budget=20, C=10, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> reg.n_terms_ <= 20, reg.score(X, np.sin(X[:, 0])) > 0.95
    (True, True)
    """

    _family = "budget_svr"
    _ranges: ClassVar[dict] = {
        **BudgetMachineEstimator._ranges,
        "loss": _parameters.one_of(*VALUE_LOSSES),
    }

    def __init__(
        self,
        budget: int | None = 200,
        C: float = 1.0,
        *,
        kernel: str = "rbf",
        gamma: str | float = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        epsilon: float = 0.1,
        quantile: float = 0.5,
        loss: str = "epsilon_insensitive",
        solver: str = "bsca",
        maintenance: str = "auto",
        merge_search: str = "auto",
        merge_size: int = 2,
        polishing: bool = True,
        smoothing: float = 0.05,
        refine: bool = False,
        refine_iter: int = 100,
        fit_intercept: bool = False,
        max_iter: int = 1,
        tol: float = 1e-3,
        order: Any = "shuffled",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        max_time: float | None = None,
        record_objective: bool = False,
        warm_start: bool = False,
        n_expected: int | None = None,
        cache_size: float = 200,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        self._keep(locals())

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Go on training with one pass over new rows; no polishing.

        Every row is new: its dual variable starts at 0. After a `fit` it goes on from the fitted
        model, polished or not.

        Expect a polished model to get worse. A step of "bsca" moves the prediction of its row to
        within ε of the target, as far as C allows, and no later pass takes back what was too much:
        on noisy data the score swings with the last rows, the more the larger C is. The points of
        the terms stay good. So call `polish` on rows that are still at hand before predictions
        count, or after every few hundred rows: that restores the score. The steps of
        ``solver="bsgd"`` get shorter as rows come, and its score swings less.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            New rows, finite.
        y : array-like of shape (n_samples,)
            Their targets, finite.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0, not all zero.

        Returns
        -------
        self : object
            The estimator, trained on.

        Raises
        ------
        ValueError
            If an argument is out of its range.
        KeyboardInterrupt
            On Ctrl-C; after any exception the estimator is as before the call.
        """
        return self._partial_fit(X, y, None, sample_weight)
