"""AutoSVC and AutoSVR: kernel machines without hyperparameters."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import RegressorMixin

from . import _names, _out_of_core, _validation
from ._auto import AutoEstimator
from ._classifier import Classifier
from ._docs import documented
from ._hyperparameters import hyperparameters
from ._serialization import require


@hyperparameters
class AutoSVC(Classifier, AutoEstimator):
    """Kernel classification that tunes itself: no choice to make.

    The sum of a Gaussian and a Laplacian kernel machine, each on features that are standardised or
    ranked and multiplied by scales of their own. Coding, widths, regularisation, scales and the
    weights of the two are found on at most 3,000 rows, by least squares on landmarks with exact
    leave-one-out residuals, gradient products [1]_, descent along the gradient of a validation
    error [2]_ and rows held out; then both are fitted to all rows, by least squares on ±1
    (above 16,000 rows on 4,000 of them as terms, by the preconditioned method of [3]_).

    X may be a data frame with missing values and columns of text or categories: numbers that miss
    become the median, with a column that says so; few levels have a column each, many become the
    mean target of their rows (out of fold in training). Frames of pandas (with NumPy's, nullable
    or pyarrow types), polars, pyarrow, what narwhals knows, and objects of the Arrow PyCapsule
    interface or the data frame interchange protocol are the same machine. A column is a number
    where its type is a number or a bool, and where all its values are numbers, bools, decimals, or
    text that reads as numbers (as pandas would read it from a file; a warning says so): give it the
    type "category" where its numbers are names. Dates and times must be made numbers first.

    Parameters
    ----------
    class_weight : dict, "balanced" or None, default=None
        Factors of the weights of the samples by class.

    Examples
    --------
    >>> from budgetsvm import AutoSVC
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = AutoSVC(random_state=0).fit(X[:300], y[:300])
    >>> clf.score(X[300:], y[300:]) > 0.95
    True
    >>> clf.predict_proba(X[:1]).shape
    (1, 2)
    """

    class_weight: _names.ClassWeight = None

    def _gives_probabilities(self) -> bool:
        return True

    def _probabilities_of(self, values: np.ndarray) -> np.ndarray:
        """By the search's rows held out (a sigmoid, or a softmax), unless calibrated since."""
        if self._is_calibrated():
            return super()._probabilities_of(values)
        if len(self.classes_) > 2:
            # Largest values first taken off, so that none is infinite.
            with np.errstate(over="ignore"):
                less = values - values.max(axis=1, keepdims=True)
                return softmax(self._calibration[0] * less, axis=1)
        a, b = self._calibration
        with np.errstate(over="ignore"):
            positive = expit(-(a * values[:, 0] + b))
        return np.stack([1.0 - positive, positive], axis=1)

    def _cost(self, target: Any, weights: np.ndarray, balance: bool = True) -> np.ndarray:
        return weights * self._class_factors(target, weights, balance)

    def _labels(self, values: np.ndarray) -> np.ndarray:
        """The most probable class of each row."""
        if self._is_calibrated() or values.shape[1] > 1:
            return super()._labels(values)
        a, b = self._calibration
        return self.classes_[(a * values[:, 0] + b < 0).astype(np.intp)]

    def _check_archived(self) -> None:
        super()._check_archived()
        wanted = 1 if len(self.classes_) > 2 else 2
        require(len(self._calibration) == wanted, "calibration")
        require(bool(np.isfinite(self._calibration).all()), "calibration")


@hyperparameters
class AutoSVR(RegressorMixin, AutoEstimator):
    """Kernel regression that tunes itself: no choice to make.

    As `AutoSVC`, fitted to the values by least squares.

    Examples
    --------
    >>> from budgetsvm import AutoSVR
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> AutoSVR(random_state=0).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.35
    True
    """

    @documented
    def predict(self, X: Any, out: Any = None) -> np.ndarray:
        """The value of each row.

        @rows-or-source@

        @values@

        @unless-fitted@
        """
        if _out_of_core.is_blockwise(X, out):
            return _out_of_core.predict_blocks(self.predict, X, out)
        return self._decision(X)[:, 0]

    def _encode(self, y: np.ndarray, known: np.ndarray | None = None) -> tuple[np.ndarray, None]:
        return _validation.as_values(y), None

    def _cost(self, target: Any, weights: np.ndarray, balance: bool = True) -> np.ndarray:
        return weights

    def _check_archived(self) -> None:
        super()._check_archived()
        require(len(self._calibration) == 0, "calibration")
