"""Gradients of decision values with respect to a row, and importances of the features."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import check_is_fitted

from . import _validation
from ._docs import documented
from ._estimator import Estimator

#: Gradient entries that are held in memory at a time when they are summed.
MAX_GRADIENT_ENTRIES = 1 << 22
#: The largest number of terms at which `feature_importances_` evaluates gradients.
MAX_IMPORTANCE_TERMS = 256


class GradientMixin(Estimator):
    """Mixin of the estimators with gradients of decision values; not for use on its own."""

    @documented
    def gradient(self, X: Any) -> np.ndarray:
        """Gradients of the decision values (of a regression machine, its values) in the rows.

        How fast the value changes as each feature does, in the units of X; exact, not by
        differences, for as many products as `decision_function` needs, times the outputs. With
        ``kernel="laplacian"`` the value has a kink where a feature is exactly that of a term: such
        a term counts with the mean of its slopes on both sides. Machines of cells and coded tables
        jump or bend at boundaries: given is the side that the row is on.

        @rows@

        Returns
        -------
        ndarray of shape (n_samples, n_features) or (n_samples, n_features, n_outputs)
            Double precision, dense also for CSR rows. Outputs are those of `decision_function`:
            without an axis of their own where there is one.

        Raises
        ------
        NotFittedError, ValueError
            If the estimator is not fitted; if an argument is not finite or does not fit; if the
            slopes are not known: kernel values in the place of rows, functions of the user's,
            columns of text.
        MemoryError
            If that many numbers do not fit.
        """
        slopes = self._slopes(X)
        return slopes[:, 0] if slopes.shape[1] == 1 else slopes.transpose(0, 2, 1)

    @documented
    def feature_importances(self, X: Any) -> np.ndarray:
        """How much each feature moves the decision values about these rows.

        The root mean square of `gradient` over the rows (and outputs), times the standard
        deviation of the feature in the rows, as shares of the sum. A feature that two others can
        stand for gets its share where the machine uses it; permutation importance, which asks for
        the score instead, mostly ranks alike (`benches/python/importances.py`).

        @rows@

        Returns
        -------
        ndarray of shape (n_features,)
            At least 0 and of sum 1; all 0 where no value depends on any feature.

        Raises
        ------
        NotFittedError, ValueError
            As `gradient`.
        """
        check_is_fitted(self)
        rows: Any = X if hasattr(X, "shape") else np.asarray(X)
        if len(rows.shape) != 2:
            self._slopes(X)  # which says what is wrong
        part, n, square = getattr(rows, "iloc", rows), rows.shape[0], 0.0
        if n == 0:
            raise ValueError(f"X has no rows (shape={rows.shape}): nothing is known about them")
        step = max(1, MAX_GRADIENT_ENTRIES // max(1, self._slopes_of_a_row()))
        for first in range(0, n, step):
            slopes = self._slopes(part[first : first + step])
            square = square + np.einsum("ick,ick->k", slopes, slopes)
        with np.errstate(over="ignore", invalid="ignore"):
            importances = np.sqrt(square / n) * self._spread(X)
            total = importances.sum()
        if not np.isfinite(total):
            raise ValueError(
                "X: slopes or rows leave the range of their squares: scale the features"
            )
        return importances / total if total > 0 else importances

    def _slopes_of_a_row(self) -> int:
        return self._learnt("_machine").n_outputs * self.n_features_in_

    def _slopes(self, X: Any) -> np.ndarray:
        """Slopes of the decision values, shape (n_samples, n_outputs, n_features)."""
        rows = _validation.as_rows(self._new_rows(X))
        return self._learnt("_machine").gradient(rows, self._threads())

    def _spread(self, X: Any) -> np.ndarray:
        """The standard deviation of each feature."""
        return column_deviations(self._new_rows(X))


class TermGradientMixin(GradientMixin):
    """Mixin that computes feature importances at the terms; not for use on its own.

    Attributes
    ----------
    feature_importances_ : ndarray of shape (n_features,)
        `feature_importances` of the points of the terms, of 256 of them at most; found when it is
        asked for. Not where the machine has no points: linear ones, random waves, cells.
    """

    @property
    def feature_importances_(self) -> np.ndarray:
        """How much each feature moves the decision values about the terms, shape (n_features,)."""
        points: Any = getattr(self, "support_vectors_", None)
        if points is None or min(points.shape) == 0:
            raise AttributeError("this machine has no points: call feature_importances(X)")
        some = np.linspace(
            0, points.shape[0] - 1, min(points.shape[0], MAX_IMPORTANCE_TERMS)
        ).astype(int)
        try:
            return self.feature_importances(points[some])
        except ValueError as error:
            raise AttributeError(str(error)) from None


def column_deviations(X: Any) -> np.ndarray:
    """The standard deviation of each column."""
    with np.errstate(over="ignore", invalid="ignore"):
        if isinstance(X, np.ndarray):
            return X.astype(np.float64).std(axis=0)
        _, variance = mean_variance_axis(X.astype(np.float64), axis=0)
    return np.sqrt(np.maximum(variance, 0.0))
