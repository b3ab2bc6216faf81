"""Kernels of the exact machines: a name, a function or values that are given; γ; rows to decide."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from . import _core, _names, _validation
from ._estimator import FLOATS
from ._hyperparameters import hyperparameters
from ._machine import KernelMachineEstimator
from ._validation import check_array

NOT_FINITE = (
    "The dual coefficients or intercepts are not finite."
    " The input data may contain large values and need to be preprocessed."
)
#: The largest magnitude of a feature in float32 arithmetic.
_SINGLE_MOST = 1e12


@hyperparameters
class ExactKernel(KernelMachineEstimator):
    """Base of the exact machines as far as kernels go; not for use on its own.

    Parameters
    ----------
    kernel : a kernel of `BudgetSVC`, "precomputed" or callable, default="rbf"
        With "precomputed" X is the kernel matrix; a function is given two matrices and returns
        it.
    gamma : {"scale", "auto"} or float, default="scale"
        γ >= 0. "scale" is ``1 / (n_features * X.var())``; with `sample_weight` a row of weight w
        counts as w rows, where scikit-learn counts it as one: give that number for its γ. "auto"
        is ``1 / n_features``.
    """

    kernel: _names.AnyKernel = "rbf"  # type: ignore[assignment]  # wider

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    def _check_hyperparameters(self) -> None:
        super()._check_hyperparameters()
        if self.feature_scales is not None and not isinstance(self.kernel, str):
            raise ValueError("feature_scales needs a kernel by its name, got a callable")
        if self.feature_scales is not None and self.kernel == "precomputed":
            raise ValueError(
                "feature_scales needs the features, and rows of kernel='precomputed' are kernel "
                "values"
            )

    def _training_matrix(self, X: Any) -> Any:
        """What training reads: rows as they are, or float64 kernel values."""
        if not callable(self.kernel):
            single = self.kernel == "precomputed" and X.dtype != np.float64
            return X.astype(np.float64) if single else X
        self._Xfit = X
        matrix = self._compute_kernel(X)
        if matrix.shape[0] != matrix.shape[1]:
            raise ValueError("X.shape[0] should be equal to X.shape[1]")
        return check_array(matrix, dtype=np.float64)

    def _settle_gamma(self, X: Any, rows: Any, weights: np.ndarray, weighted: bool) -> None:
        if self.kernel == "precomputed" or callable(self.kernel):
            self._gamma = 0.0
        elif (learnt := self._learnt_gamma()) is not None:
            self._gamma = learnt
        elif isinstance(self.gamma, str) and self.gamma in ("scale", "tune"):
            if weighted or X.dtype != np.float64:
                # A row of weight w counts as w rows.
                variance = _core.variance(rows, np.maximum(weights, 0.0))
            elif self._sparse:
                variance = (X.multiply(X)).mean() - (X.mean()) ** 2
            else:
                variance = X.var()
            if not np.isfinite(variance):
                raise ValueError(NOT_FINITE)
            self._gamma = 1.0 / (X.shape[1] * variance) if variance != 0 else 1.0
        elif isinstance(self.gamma, str):
            self._gamma = 1.0 / X.shape[1]
        else:
            self._gamma = float(self.gamma)
        told = self._kernel_params() is not None and self.kernel != "linear"
        if told and self.__dict__.get("_found") is None:  # scales that were learnt are meant so
            _validation.warn_of_scales(rows, weights)

    def _kernel_params(self) -> tuple[str, float, float, int] | None:
        if self.kernel == "precomputed" or callable(self.kernel):
            return None
        return self.kernel, float(self._gamma), float(self.coef0), int(self.degree)

    def _compute_kernel(self, X: Any) -> np.ndarray:
        function: Any = self.kernel
        kernel = function(X, self._Xfit)
        kernel = kernel.toarray() if hasattr(kernel, "toarray") else kernel
        return np.asarray(kernel, dtype=np.float64, order="C")

    def _validate_for_predict(self, X: Any) -> Any:
        if callable(self.kernel):
            check_is_fitted(self)
        else:
            X = self._new_rows(X, FLOATS, order="C")
            if X.dtype == np.float32 and not self._machine.takes_single:
                X = X.astype(np.float64)
        if sp.issparse(X) and not self._sparse and not callable(self.kernel):
            raise ValueError(
                f"cannot use sparse input in {type(self).__name__!r} trained on dense data"
            )
        if callable(self.kernel):
            X = check_array(self._compute_kernel(X), dtype=np.float64)
        if (self.kernel == "precomputed" or callable(self.kernel)) and (
            X.shape[1] != self.shape_fit_[0]
        ):
            raise ValueError(
                f"X.shape[1] = {X.shape[1]} should be equal to {self.shape_fit_[0]}, "
                "the number of samples at training time"
            )
        if self._n_support.sum() != len(self.support_):
            raise ValueError(f"The internal representation of {type(self).__name__} was altered")
        return X

    def _decided_checked(self, X: Any) -> np.ndarray:
        """Decision values of checked rows."""
        return self._in_range(X, self._decided)

    def _in_range(self, X: Any, work: Callable[[Any], np.ndarray]) -> np.ndarray:
        """What `work` makes of checked rows.

        Of float32 rows, those whose arithmetic float32 does not hold are taken in float64, each
        by itself: what becomes of a row does not depend on those beside it.
        """
        large = self._too_large(X) if X.dtype == np.float32 else np.zeros(1, dtype=bool)
        if not large.any():
            return work(_validation.as_rows(X))
        wide = work(_validation.as_rows(X[large].astype(np.float64)))
        values = np.empty((len(large), *wide.shape[1:]))
        values[large] = wide
        if not large.all():
            values[~large] = work(_validation.as_rows(X[~large]))
        return values

    def _slopes(self, X: Any) -> np.ndarray:
        if callable(self.kernel) or self.kernel == "precomputed":
            raise ValueError(
                f"{type(self).__name__}: gradient needs a kernel by its name (such as "
                "kernel='rbf'): the slopes of a function, or of values that are given, are "
                "not known"
            )
        return self._in_range(
            self._validate_for_predict(X),
            lambda rows: self._machine.gradient(rows, self._threads()),
        )

    def _too_large(self, X: Any) -> np.ndarray:
        """Which float32 rows hold a number too large for float32 arithmetic."""
        sparse = hasattr(X, "indptr")
        values = X.data if sparse else X
        scales = self._machine.scales
        most = _SINGLE_MOST / (1.0 if scales is None else max(1.0, float(scales.max())))
        if values.size == 0 or max(values.max(), -values.min()) <= most:
            return np.zeros(1, dtype=bool)
        beyond = np.abs(values) > most
        if not sparse:
            return np.any(beyond, axis=1)
        counts = np.bincount(np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))[beyond])
        return np.pad(counts > 0, (0, X.shape[0] - len(counts)))
