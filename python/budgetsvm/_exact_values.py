"""SVR, NuSVR and OneClassSVM: exact machines without classes, drop-in for scikit-learn's."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import OutlierMixin, RegressorMixin
from sklearn.utils.validation import _num_samples

from . import _core, _names, _one_vs_one, _validation
from ._docs import documented
from ._exact import TUNED, ExactEstimator, SolverChoiceMixin
from ._hyperparameters import hyperparameters
from ._learnt_scales import LearntScales
from ._serialization import require


@hyperparameters
class ExactRegressor(RegressorMixin, ExactEstimator):
    """What SVR, NuSVR and the semi-parametric ones share; not for use on its own."""

    C: float = 1.0
    fit_intercept: bool = True
    intercept_penalty: float = 0.0

    def _problem(self, y: np.ndarray, weights: np.ndarray) -> tuple[Any, int | None, np.ndarray]:
        if self._impl == "epsilon_svr":
            _validation.warn_of_wide_tube(y, float(getattr(self, "epsilon", 0.0)))
        return y, None, np.where(weights > 0, self._used_C() * np.maximum(weights, 1e-300), 0.0)

    def _take(self, machine: _core.Machine, report: dict) -> None:
        super()._take(machine, report)
        _validation.warn_of_no_terms(machine)

    @documented
    def predict(self, X: Any) -> np.ndarray:
        """The value of each row.

        @rows-or-values@

        @values@

        @unless-fitted@
        """
        return self._decide(X)[:, 0]


@hyperparameters
class SVR(LearntScales, SolverChoiceMixin, ExactRegressor):
    r"""Exact ε support vector regression, a drop-in for `sklearn.svm.SVR`.

    Minimises ``1/2 ‖w‖² + Σ C_i max(0, |y_i - f(x_i)| - ε)`` with an offset; see `SVC` for the
    method.

    Parameters
    ----------
    @tuned-exact-C@
    @tuned-gamma@

    Attributes
    ----------
    C_, gamma_ : float
        C and γ as they were used, where one of them was tuned.

    Examples
    --------
    >>> import numpy as np
    >>> from budgetsvm import SVR
    >>> X = np.linspace(0, 6, 100)[:, None]
    >>> model = SVR(C=10, epsilon=0.01).fit(X, np.sin(X[:, 0]))
    >>> bool(np.abs(model.predict(X) - np.sin(X[:, 0])).max() < 0.05)
    True
    """

    _parameter_constraints: ClassVar[dict] = TUNED
    _archived: ClassVar[dict[str, str]] = {"C_": "number?", "gamma_": "number?"}
    _impl = "epsilon_svr"
    epsilon: float = 0.1
    C: _names.TunedCost = 1.0  # type: ignore[assignment]
    gamma: _names.TunedGamma = "scale"  # type: ignore[assignment]


@hyperparameters
class NuRegressor(ExactRegressor):
    """What the ν-machines for values share; not for use on its own.

    Parameters
    ----------
    nu : float, default=0.5
        ν in (0, 1].
    C : float, default=1.0
        Cost of a violation, > 0.
    """

    _impl = "nu_svr"
    nu: float = 0.5

    def _problem(self, y: np.ndarray, weights: np.ndarray) -> tuple[Any, int | None, np.ndarray]:
        if np.isinf(self.C):
            name = type(self).__name__
            raise ValueError(f"C must be finite for {name}: its sum of α is C ν n / 2")
        return super()._problem(y, weights)


@hyperparameters
class NuSVR(LearntScales, SolverChoiceMixin, NuRegressor):
    r"""Exact ν support vector regression, a drop-in for `sklearn.svm.NuSVR`.

    ν bounds the share of errors outside the tube from above, and the width of the tube is found.

    Examples
    --------
    >>> import numpy as np
    >>> from budgetsvm import NuSVR
    >>> X = np.linspace(0, 6, 100)[:, None]
    >>> model = NuSVR(C=10, nu=0.5).fit(X, np.sin(X[:, 0]))
    >>> bool(np.abs(model.predict(X) - np.sin(X[:, 0])).max() < 0.05)
    True
    """


@hyperparameters
class OneClassEstimator(OutlierMixin, ExactEstimator):
    r"""Base of the exact one-class machines; not for use on its own.

    Parameters
    ----------
    nu : float, default=0.5
        ν in (0, 1]: bounds the share left out from above, that of support vectors from below.

    Attributes
    ----------
    offset_ : float
        ``-intercept_``: ``decision_function = score_samples - offset_``.
    """

    _impl = "one_class"
    nu: float = 0.5

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the support of the rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features) or (n_samples, n_samples)
            Training rows, finite.
        y : ignored
            For the consistency of the interface.
        sample_weight : array-like of shape (n_samples,), default=None
            Bounds of α; a sample of weight <= 0 is left out.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return super().fit(X, np.ones(_num_samples(X)), sample_weight)

    def _problem(self, y: np.ndarray, weights: np.ndarray) -> tuple[Any, int | None, np.ndarray]:
        return None, None, np.maximum(weights, 0.0)

    _archived: ClassVar[dict[str, str]] = {"offset_": "float64"}

    def _after_fit(
        self, X: Any, y: Any, sample_weight: Any, random_state: Any, values_of: Any
    ) -> None:
        self.offset_ = -self.intercept_

    def _check_archived(self) -> None:
        super()._check_archived()
        require(np.array_equal(self.offset_, -self.intercept_), "offset_")

    def _sided(self, values: np.ndarray) -> np.ndarray:
        """Values of which rounding does not decide the side: support vectors on the boundary."""
        return _one_vs_one.round_to_boundary(values, self.offset_)


@hyperparameters
class OneClassSVM(OneClassEstimator, SolverChoiceMixin):
    r"""The support of a distribution, exactly; a drop-in for `sklearn.svm.OneClassSVM`.

    Examples
    --------
    >>> from budgetsvm import OneClassSVM
    >>> OneClassSVM(gamma="auto").fit([[0], [0.44], [0.45], [0.46], [1]]).predict([[0.45], [5]])
    array([ 1, -1])
    """

    @documented
    def decision_function(self, X: Any) -> np.ndarray:
        """Signed distance from the boundary, positive inside.

        @rows-or-values@

        Returns
        -------
        ndarray of shape (n_samples,)
            Decision values.
        """
        return self._sided(self._decide(X)[:, 0])

    @documented
    def score_samples(self, X: Any) -> np.ndarray:
        """`decision_function` without the offset.

        @rows-or-values@

        Returns
        -------
        ndarray of shape (n_samples,)
            Scores.
        """
        return self.decision_function(X) + self.offset_

    @documented
    def predict(self, X: Any) -> np.ndarray:
        """1 inside or on the boundary, -1 outside.

        @rows-or-values@

        Returns
        -------
        ndarray of shape (n_samples,)
            1 or -1.
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)
