"""AssetSVC and AssetSVR: kernel machines on explicit features."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from sklearn.utils.metaestimators import available_if

from . import _parameters
from ._asset import PAGE, AssetEstimator, streams
from ._classifier import Classifier
from ._docs import documented
from ._names import VALUE_LOSSES
from ._regressor import Regressor


@documented(**PAGE)
class AssetSVC(Classifier, AssetEstimator):
    """Kernel support vector classification on explicit features.

    Minimises ``1/2 ‖w‖² + Σ C_i L(y_i, w·z(x_i) + b)`` where products of features ``z`` stand for
    a kernel. Several classes are trained one against the rest, on the same features.

    Parameters
    ----------
    @shared@
    @class-losses@
        A squared one needs solver "dual".
    @class_weight@
    @ending@

    Attributes
    ----------
    @labels@
    @learnt@

    Examples
    --------
    >>> from budgetsvm import AssetSVC
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> clf = AssetSVC(C=10, gamma=2, n_components=50, random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.98
    True
    """

    _family = "asset_svc"

    def __init__(
        self,
        C: float = 1.0,
        *,
        features: str = "nystroem",
        n_components: int = 100,
        kernel: str = "rbf",
        gamma: str | float = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        eigenvalue_threshold: float | None = None,
        orthogonal: bool = False,
        waves: str = "shifted",
        solver: str = "asset",
        strongly_convex: bool = False,
        averaging: Any = "auto",
        loss: str = "hinge",
        fit_intercept: bool = False,
        max_iter: int | None = None,
        tol: float = 1e-2,
        shrinking: bool = True,
        order: Any = "shuffled",
        class_weight: Any = None,
        max_time: float | None = None,
        cache_size: float = 200,
        n_expected: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        self._keep(locals())

    @available_if(streams)
    @documented()
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Go on training with one pass over new rows (solver "asset").

        The feature map of the first call stays, and with it `features`, the kernel and `gamma`;
        `n_components`, `waves`, `orthogonal` and `eigenvalue_threshold` count in the first call
        alone. How the rows are cut into parts changes the result: the step lengths and the order
        within a part depend on it.

        The first call fits the feature map to its rows, so they should be as many as
        `n_components` and like those to come.

        @new_rows@
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0, not all zero.

        @trained_on@
        """
        return self._partial_fit(X, y, classes, sample_weight)


@documented(**PAGE)
class AssetSVR(Regressor, AssetEstimator):
    """Kernel support vector regression on explicit features.

    Minimises ``1/2 ‖w‖² + Σ C_i L(y_i, w·z(x_i) + b)`` where products of features ``z`` stand for
    a kernel. Standardise y first.

    Parameters
    ----------
    @shared@
    @loss-parameters@
    @value-losses@
        A squared one needs solver "dual".
    @ending@

    Attributes
    ----------
    @learnt@

    Examples
    --------
    >>> import numpy as np
    >>> from budgetsvm import AssetSVR
    >>> X = np.linspace(-3, 3, 2000).reshape(-1, 1)
    >>> y = np.sin(2 * X[:, 0])
    >>> AssetSVR(C=10, gamma=1, n_components=30, random_state=0).fit(X, y).score(X, y) > 0.95
    True
    """

    _family = "asset_svr"
    _ranges: ClassVar[dict] = {
        **AssetEstimator._ranges,
        "loss": _parameters.one_of(*VALUE_LOSSES),
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        epsilon: float = 0.1,
        quantile: float = 0.5,
        features: str = "nystroem",
        n_components: int = 100,
        kernel: str = "rbf",
        gamma: str | float = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        eigenvalue_threshold: float | None = None,
        orthogonal: bool = False,
        waves: str = "shifted",
        solver: str = "asset",
        strongly_convex: bool = False,
        averaging: Any = "auto",
        loss: str = "epsilon_insensitive",
        fit_intercept: bool = False,
        max_iter: int | None = None,
        tol: float = 1e-2,
        shrinking: bool = True,
        order: Any = "shuffled",
        max_time: float | None = None,
        cache_size: float = 200,
        n_expected: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        self._keep(locals())

    @available_if(streams)
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Go on training with one pass over new rows (solver "asset").

        The feature map of the first call stays, and with it `features`, the kernel and `gamma`;
        `n_components`, `waves`, `orthogonal` and `eigenvalue_threshold` count in the first call
        alone. How the rows are cut into parts changes the result: the step lengths and the order
        within a part depend on it.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            New rows, finite.
        y : array-like of shape (n_samples,)
            Their values, finite.
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
