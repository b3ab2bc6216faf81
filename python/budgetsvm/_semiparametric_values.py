"""The semi-parametric machines without classes: SVR, ν-SVR and one class."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._docs import documented
from ._exact_values import ExactRegressor, NuRegressor, OneClassEstimator
from ._hyperparameters import hyperparameters
from ._semiparametric import SemiparametricEstimator


@hyperparameters
class SemiparametricRegressor(SemiparametricEstimator, ExactRegressor):
    """What the two for values share; not for use on its own.

    Attributes
    ----------
    parametric_coef_ : ndarray of shape (n_functions,)
        The parameters c.
    """

    @documented
    def predict(self, X: Any, functions: Any = None) -> np.ndarray:
        """The value of each row.

        @rows-or-values@
        @functions@

        @values@

        @unless-fitted@
        """
        return self._outputs(X, functions)[:, 0]


@hyperparameters
class SemiparametricSVR(SemiparametricRegressor):
    r"""Semi-parametric ε support vector regression [6]_.

    Fits ``f(x) = Σ_i β_i k(x_i, x) + Σ_j c_j φ_j(x) (+ b)``, the parameters c unpenalised beside
    the kernel machine: what is known of the target goes into the functions φ, and the kernel
    learns the rest. Each function is one more equality constraint of the dual problem, and its
    parameter that constraint's multiplier; the minimal primal-dual method solves it [3]_, by an
    augmented Lagrangian unless ``update="newton"``. `n_iter_` counts steps of one variable.

    References
    ----------
    .. [3] W. Kienzle, B. Schölkopf, "Training support vector machines with multiple equality
       constraints", ECML 2005.
    .. [5] O. L. Mangasarian, D. R. Musicant, "Successive overrelaxation for support vector
       machines", IEEE Transactions on Neural Networks 10, 1999.
    .. [6] A. J. Smola, T. Friess, B. Schölkopf, "Semiparametric support vector and linear
       programming machines", NIPS 1998.

    Examples
    --------
    >>> import numpy as np
    >>> from budgetsvm import SemiparametricSVR
    >>> X = np.linspace(0, 10, 200)[:, None]
    >>> y = 3 * np.sin(X[:, 0]) + np.sinc(2 * (X[:, 0] - 5))
    >>> model = SemiparametricSVR(lambda X: np.sin(X[:, 0]), C=1, epsilon=0.01).fit(X, y)
    >>> bool(abs(model.parametric_coef_[0] - 3) < 0.3)
    True
    """

    _impl = "epsilon_svr"
    epsilon: float = 0.1


@hyperparameters
class SemiparametricNuSVR(SemiparametricRegressor, NuRegressor):
    r"""Semi-parametric ν support vector regression: the width of the tube is found.

    ν bounds the share of errors outside the tube from above; else as `SemiparametricSVR`.

    Examples
    --------
    >>> import numpy as np
    >>> from budgetsvm import SemiparametricNuSVR
    >>> X = np.linspace(0, 10, 200)[:, None]
    >>> y = 3 * np.sin(X[:, 0]) + np.sinc(2 * (X[:, 0] - 5))
    >>> model = SemiparametricNuSVR(lambda X: np.sin(X[:, 0]), C=1, nu=0.3).fit(X, y)
    >>> bool(abs(model.parametric_coef_[0] - 3) < 0.3)
    True
    """


@hyperparameters
class SemiparametricOneClassSVM(OneClassEstimator, SemiparametricEstimator):
    r"""The support of a distribution beside functions that are known.

    A row is inside where ``f(x) = Σ_i β_i k(x_i, x) + Σ_j c_j φ_j(x) - ρ >= 0``, the parameters c
    unpenalised; see `SemiparametricSVR`. The sums ``Σ β_i φ_j(x_i)`` are 0 with β >= 0: no
    combination of the functions may be of one sign on (nearly) all rows, or it alone would put
    every row inside at no cost, which is refused.

    Attributes
    ----------
    parametric_coef_ : ndarray of shape (n_functions,)
        The parameters c.

    Examples
    --------
    >>> import numpy as np
    >>> from budgetsvm import SemiparametricOneClassSVM
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = SemiparametricOneClassSVM(lambda X: X[:, 0], nu=0.1, gamma=0.5).fit(X)
    >>> model.predict([[0.0, 0.0], [0.0, 9.0]])
    array([ 1, -1])
    """

    @documented
    def decision_function(self, X: Any, functions: Any = None) -> np.ndarray:
        """Decision values, positive inside.

        @rows-or-values@
        @functions@

        Returns
        -------
        ndarray of shape (n_samples,)
            Decision values.

        @unless-fitted@
        """
        return self._sided(self._outputs(X, functions)[:, 0])

    @documented
    def score_samples(self, X: Any, functions: Any = None) -> np.ndarray:
        """`decision_function` without the offset.

        @rows-or-values@
        @functions@

        Returns
        -------
        ndarray of shape (n_samples,)
            Scores.

        @unless-fitted@
        """
        return self.decision_function(X, functions) + self.offset_

    @documented
    def predict(self, X: Any, functions: Any = None) -> np.ndarray:
        """1 inside or on the boundary, -1 outside.

        @rows-or-values@
        @functions@

        Returns
        -------
        ndarray of shape (n_samples,)
            1 or -1.

        @unless-fitted@
        """
        return np.where(self.decision_function(X, functions) >= 0, 1, -1)
