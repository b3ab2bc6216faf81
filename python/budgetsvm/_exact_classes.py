"""SVC and NuSVC: exact kernel classification, drop-in for scikit-learn's."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from . import _names, _validation
from ._exact import NO_WEIGHT, ONE_CLASS, TUNED, SolverChoiceMixin
from ._exact_classifier import ExactClassifier
from ._hyperparameters import hyperparameters
from ._learnt_scales import LearntScales


@hyperparameters
class SVC(LearntScales, SolverChoiceMixin, ExactClassifier):
    r"""Exact kernel support vector classification, a drop-in for `sklearn.svm.SVC`.

    Minimises ``1/2 ‖w‖² + Σ C_i max(0, 1 - y_i f(x_i))`` with an offset by sequential minimal
    optimisation on working sets [1]_ [2]_, several classes one against one. Kernel rows are
    computed as blocks by all threads; the result has the same bits for any number of them.
    Training is in float64, kernel rows apart (`cache_size`). Kernel values of rows to predict are
    float64 too, but float32 for float32 rows under "rbf" (features up to 1e12), summed in float64:
    faster, and off by at most about 1e-7 times the sum of the magnitudes of `dual_coef_`.

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
    >>> from budgetsvm import SVC
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = SVC(C=10).fit(X, y)
    >>> clf.score(X, y) > 0.97, clf.dual_coef_.shape[0]
    (True, 2)
    """

    _parameter_constraints: ClassVar[dict] = TUNED
    _archived: ClassVar[dict[str, str]] = {"C_": "number?", "gamma_": "number?"}
    _impl = "c_svc"
    C: _names.TunedCost = 1.0
    gamma: _names.TunedGamma = "scale"  # type: ignore[assignment]
    probability: Any = "deprecated"
    random_state: Any = None

    def _bounds(self, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        if len(np.unique(y[weights > 0])) < 2:
            raise ValueError(ONE_CLASS)
        cost = np.where(weights > 0, self._used_C() * np.maximum(weights, 1e-300), 0.0)
        cost = np.where(cost > 0, cost * self.class_weight_[y], 0.0)
        if not np.any(cost > 0):
            raise ValueError(NO_WEIGHT)
        return np.maximum(cost, 0.0)


@hyperparameters
class NuClassifier(ExactClassifier):
    r"""What the ν-machines for classes share; not for use on its own.

    Parameters
    ----------
    nu : float, default=0.5
        ν in (0, 1]. Two classes can have at most twice the smaller one's share of the weights: a
        larger ν is taken for that, with a warning (`sklearn.svm.NuSVC` refuses it). Then every
        sample of the smaller class is at its bound, and the machine is that of `SVC` with C = 1,
        or with the largest C of which that is true.
    class_weight : dict, "balanced" or None, default=None
        Factors of the weights of samples, by class: a class of weight 2 is as if each of its
        samples were there twice. `sklearn.svm.NuSVC` takes no notice of it. ν then bounds shares
        of these weights, and "balanced" makes every ν up to 1 feasible.
    """

    _impl = "nu_svc"
    nu: float = 0.5

    def _bounds(self, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        bounds = np.where(weights > 0, weights * self.class_weight_[y], 0.0)
        bounds = np.maximum(bounds, 0.0)
        sums = np.bincount(y, weights=bounds)
        # LIBSVM's check, on the samples that count.
        if np.count_nonzero(sums) < 2:
            raise ValueError(
                "specified nu is infeasible: all samples with positive weights belong to the "
                "same class"
            )
        least, largest = sums[sums > 0].min(), sums.max()
        most = 2 * least / (least + largest)
        if self.nu > most * (1 + 1e-12):
            _validation.warn(
                f"nu={self.nu} is infeasible for classes of these sizes (and weights): two of them "
                f"have {most:.3g} at most, which is taken for it. class_weight='balanced' makes "
                "every nu feasible.",
                UserWarning,
            )
        return bounds


@hyperparameters
class NuSVC(LearntScales, SolverChoiceMixin, NuClassifier):
    r"""Exact ν support vector classification, a drop-in for `sklearn.svm.NuSVC`.

    ν bounds the share of margin violations from above and that of support vectors from below.

    Examples
    --------
    >>> from budgetsvm import NuSVC
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> NuSVC(nu=0.2).fit(X, y).score(X, y) > 0.95
    True
    """

    probability: Any = "deprecated"
    random_state: Any = None
