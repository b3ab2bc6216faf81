"""What the transformers share: checks, the kernel, fit and transform around `_core`."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from . import _validation
from ._docs import documented
from ._estimator import FLOATS, Estimator
from ._hyperparameters import hyperparameters
from ._stored import stored_kernel

Kernel = tuple[str, float, float, int]


def kernel_of(estimator: Any, gamma: float) -> Kernel:
    """The kernel's parameters as `_core` takes them."""
    coef0, degree = getattr(estimator, "coef0", 0.0), getattr(estimator, "degree", 3)
    return estimator.kernel, gamma, float(coef0), int(degree)


@hyperparameters
class KernelFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Base of the transformers; not for use on its own.

    Parameters
    ----------
    gamma : {"scale", "auto"} or float, default="scale"
        γ > 0. "scale" is ``1 / (n_features * variance of X)``, "auto" is ``1 / n_features``.

    Attributes
    ----------
    gamma_ : float
        γ used.
    """

    n_components: int = field(default=100, kw_only=False)
    kernel: str = "rbf"
    gamma: str | float = "scale"

    _archived: ClassVar[dict] = {"gamma_": "value", "_kernel": "value", "_n_features_out": "value"}

    @documented
    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw or choose what the map needs.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows, finite. Float32 and float64 are used as they are, without a copy.
        y : None
            Ignored.

        @fitted@
        """
        with self._all_or_nothing():
            X = validate_data(self, X, accept_sparse="csr", dtype=list(FLOATS))
            rows = _validation.as_rows(X)
            gamma = _validation.settle_gamma(self.gamma, rows, X.shape[1], np.ones(X.shape[0]))
            kernel = kernel_of(self, gamma)
            self._learn(rows, X, kernel)
            self.gamma_, self._kernel = gamma, list(kernel)
            self._n_features_out = int(self.n_components)
        return self

    @documented
    def transform(self, X: Any) -> np.ndarray:
        """The features of rows.

        @rows@

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Features, of the type of the rows that the map was fitted on. The same bits for any
            number of threads and any cut of the rows.

        @unless-fitted@
        """
        rows = _validation.as_rows(self._new_rows(X))
        return self._map(rows, stored_kernel(self._kernel))

    def _learn(self, rows: Any, X: Any, kernel: Kernel) -> None:
        raise NotImplementedError

    def _map(self, rows: Any, kernel: Kernel) -> np.ndarray:
        raise NotImplementedError

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "gamma_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
