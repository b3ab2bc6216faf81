"""The semi-parametric classifiers: SVC and ν-SVC."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._docs import documented
from ._exact_classes import SVC, NuClassifier
from ._exact_classifier import ExactClassifier
from ._hyperparameters import hyperparameters
from ._semiparametric import SemiparametricEstimator


@hyperparameters
class SemiparametricClassifier(SemiparametricEstimator, ExactClassifier):
    """What both share; not for use on its own.

    Attributes
    ----------
    parametric_coef_ : ndarray of shape (n_pairs, n_functions)
        The parameters c: for two classes one row, positive for ``classes_[1]``; else one a pair.
    """

    @documented
    def decision_function(self, X: Any, functions: Any = None) -> np.ndarray:
        """Decision values.

        @rows-or-values@
        @functions@

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_pairs)
            As `SVC.decision_function`.

        @unless-fitted@
        """
        return self._shaped(self._outputs(X, functions))

    @documented
    def predict(self, X: Any, functions: Any = None) -> np.ndarray:
        """The class of each row, by the votes of all pairs of classes.

        @rows-or-values@
        @functions@

        @labels@

        @unless-fitted@
        """
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        return self._voted(self._outputs(X, functions))


@hyperparameters
class SemiparametricSVC(SemiparametricClassifier):
    r"""Semi-parametric support vector classification, several classes one against one.

    Decides by ``f(x) = Σ_i β_i k(x_i, x) + Σ_j c_j φ_j(x) (+ b)``, the parameters c unpenalised;
    see `SemiparametricSVR`.

    Examples
    --------
    >>> import numpy as np
    >>> from budgetsvm import SemiparametricSVC
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SemiparametricSVC(lambda X: X, gamma=1.0).fit(X, y)
    >>> model.score(X, y) > 0.97, model.parametric_coef_.shape
    (True, (3, 4))
    """

    _impl = "c_svc"
    C: float = 1.0

    _bounds = SVC._bounds


@hyperparameters
class SemiparametricNuSVC(SemiparametricClassifier, NuClassifier):
    r"""Semi-parametric ν support vector classification, several classes one against one.

    ν bounds the share of margin violations from above and that of support vectors from below, ν
    being divided among the classes alike; else as `SemiparametricSVC`.

    Examples
    --------
    >>> import numpy as np
    >>> from budgetsvm import SemiparametricNuSVC
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SemiparametricNuSVC(lambda X: np.sin(X[:, 1]), nu=0.2, gamma=1.0).fit(X, y)
    >>> model.score(X, y) > 0.95, model.parametric_coef_.shape
    (True, (3, 1))
    """
