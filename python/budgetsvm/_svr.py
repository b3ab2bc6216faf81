"""BudgetSVR: kernel regression with a model of a given size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from . import _parameters
from ._base import BudgetMachineEstimator
from ._docs import documented
from ._hyperparameters import hyperparameters
from ._regressor import MultiTargetRegressor


@hyperparameters
class BudgetSVR(MultiTargetRegressor, BudgetMachineEstimator):
    r"""Kernel support vector regression with at most `budget` support vectors.

    Minimises ``1/2 ‖w‖² + Σ C_i L(y_i, f(x_i))`` over machines
    ``f(x) = Σ_{j <= budget} coef_j k(s_j, x)`` by dual coordinate ascent [1]_ or stochastic
    gradient descent [2]_: whenever a step adds a term too many, terms are merged. The coefficients
    of the support vectors so found are then solved for (polishing). Problems of no more samples
    than `budget` are solved to 1e-10. Several targets, the columns of y, share the support vectors
    and their kernel values: their errors are added up, so bring them to one scale.

    Parameters
    ----------
    @value-losses@
        A squared one needs solver "bsca".
    quantile : float or list of float, default=0.5
        The quantile q of y at x that f(x) is to be, in (0, 1). A list that rises gives them all on
        shared support vectors: `predict` has a column a quantile, and sorts each row, so that they
        never cross.
    smoothing : float, default=0.05
        Half-width h > 0 of the rounded corners of the loss that polishing minimises, in units of
        the spread of y.
    fit_intercept : bool, default=True
        Whether there is an offset, which is not penalised. It begins as the constant of least loss
        (the median of y, its quantile, its mean for a squared loss), polishing fits it, and without
        polishing it stays where it is.

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
    smoothing: float = 0.05
    fit_intercept: bool = True
    quantile: float | Sequence[float] = 0.5  # type: ignore[assignment]

    _ranges: ClassVar[dict] = {"quantile": _parameters.quantiles}

    @documented
    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, checkpoint: Any = None,
        every: float = 60,
    ) -> Self:  # fmt: skip
        """Go on training with new rows, or begin with them; no row is kept.

        As `BudgetSVC.partial_fit`: by the recursive polish, which leaves a model about as good as
        one fitted to all rows so far.

        @new-rows@
        @weights@
        @checkpoint@

        @trained-on@
        """
        return self._partial_fit(X, y, None, sample_weight, (checkpoint, every))
