"""AssetSVC and AssetSVR: kernel machines on explicit features."""

from __future__ import annotations

from typing import Any, Self

from . import _names
from ._asset import AssetEstimator, streams
from ._available import available_if
from ._docs import documented
from ._hyperparameters import hyperparameters
from ._multilabel import MultiLabelClassifier
from ._regressor import MultiTargetRegressor


@hyperparameters
class AssetSVC(MultiLabelClassifier, AssetEstimator):
    """Kernel support vector classification on explicit features.

    Minimises ``1/2 ‖w‖² + Σ C_i L(y_i, w·z(x_i) + b)`` where products of features ``z`` stand for
    a kernel. Several classes are trained one against the rest, on the same features.

    Parameters
    ----------
    @class-losses@
        A squared one needs solver "dual".

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

    loss: _names.ClassLoss = "hinge"
    class_weight: _names.ClassWeight = None

    @available_if(streams)
    @documented
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None,
        checkpoint: Any = None, every: float = 60,
    ) -> Self:  # fmt: skip
        """Go on training with one pass over new rows (solver "asset").

        The feature map stays once it is made, and with it `features`, the kernel and `gamma`;
        `n_components`, `waves`, `orthogonal` and `eigenvalue_threshold` count until then alone. How
        the rows are cut into parts changes the result: the step lengths and the order within a
        part depend on it.

        Landmarks are drawn among the rows of the first call, or where these are fewer than
        `n_components` among the first `n_components` rows of the stream: until they have come all
        of them are held, and each time that they have doubled they are all landmarks, and learnt
        anew. So the first rows should be like those to come.

        @new-rows@
        @classes@
        @weights@
        @checkpoint@

        @trained-on@
        """
        return self._partial_fit(X, y, classes, sample_weight, (checkpoint, every))


@hyperparameters
class AssetSVR(MultiTargetRegressor, AssetEstimator):
    """Kernel support vector regression on explicit features.

    Minimises ``1/2 ‖w‖² + Σ C_i L(y_i, w·z(x_i) + b)`` where products of features ``z`` stand for
    a kernel. C, the tube and the steps are in units of y. Several targets, the columns
    of y, share the features.

    Parameters
    ----------
    @value-losses@
        A squared one needs solver "dual".
    fit_intercept : bool, default=True
        Whether there is an offset. It begins as the constant of least loss (the median of y, its
        quantile, its mean for a squared loss), which is not penalised, nor is what "asset" adds to
        it; "dual" penalises what it adds. With `strongly_convex` it stays where it begins.

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

    fit_intercept: bool = True

    @available_if(streams)
    @documented
    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, checkpoint: Any = None,
        every: float = 60,
    ) -> Self:  # fmt: skip
        """Go on training with one pass over new rows, as `AssetSVC.partial_fit`.

        @new-rows@
        @weights@
        @checkpoint@

        @trained-on@
        """
        return self._partial_fit(X, y, None, sample_weight, (checkpoint, every))
