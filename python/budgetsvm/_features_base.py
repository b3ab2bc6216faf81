"""What the transformers share: checks, the kernel, fit and transform around `_core`."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from . import _validation
from ._estimator import FLOATS, Estimator
from ._stored import stored_kernel

Kernel = tuple[str, float, float, int]


def kernel_of(estimator: Any, gamma: float) -> Kernel:
    """The kernel's parameters as `_core` takes them."""
    coef0, degree = getattr(estimator, "coef0", 0.0), getattr(estimator, "degree", 3)
    return estimator.kernel, gamma, float(coef0), int(degree)


class KernelFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Base of the transformers; not for use on its own."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw or choose what the map needs.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows, finite. Float32 and float64 are used as they are, without a copy.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted transformer.

        Raises
        ------
        ValueError
            If an argument or a hyperparameter is out of its range; the message names it.
        KeyboardInterrupt
            On Ctrl-C, within half a second. After any exception the transformer is as before.
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

    def transform(self, X: Any) -> np.ndarray:
        """The features of rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows, finite.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Features, of the type of the rows that the map was fitted on. The same bits for any
            number of threads and any cut of the rows.

        Raises
        ------
        NotFittedError, ValueError
            If the transformer is not fitted; if X is not finite or has other features.
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
