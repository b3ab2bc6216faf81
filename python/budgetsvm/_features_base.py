"""What the transformers share: checks, the kernel, fit and transform around `_core`."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _core, _validation
from ._archive import Archived
from ._parameters import all_or_nothing
from ._stored import stored_kernel

Kernel = tuple[str, float, float, int]


def seed_of(random_state: Any) -> int:
    """The seed that `random_state` stands for."""
    try:
        generator = check_random_state(random_state)
    except ValueError as error:
        raise ValueError(f"random_state: {error}") from None
    return int(generator.randint(np.iinfo(np.int32).max))


def kernel_of(estimator: Any, gamma: float) -> Kernel:
    """The kernel's parameters as `_core` takes them."""
    coef0, degree = getattr(estimator, "coef0", 0.0), getattr(estimator, "degree", 3)
    return estimator.kernel, gamma, float(coef0), int(degree)


def settle_gamma(estimator: Any, rows: Any, d: int, weights: np.ndarray) -> float:
    """The number that `gamma` stands for on these rows."""
    variance, ratio = _core.describe(rows, weights)
    gamma = _validation.resolve_gamma(estimator.gamma, variance, d)
    _validation.warn_about_scales(ratio)
    return gamma


class KernelFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Archived, BaseEstimator):
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
        with all_or_nothing(self):
            X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
            rows = _validation.as_rows(X)
            gamma = settle_gamma(self, rows, X.shape[1], np.ones(X.shape[0]))
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
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=self._dtype(), reset=False)
        return self._map(_validation.as_rows(X), stored_kernel(self._kernel))

    def _learn(self, rows: Any, X: Any, kernel: Kernel) -> None:
        raise NotImplementedError

    def _map(self, rows: Any, kernel: Kernel) -> np.ndarray:
        raise NotImplementedError

    def _dtype(self) -> Any:
        raise NotImplementedError

    def _threads(self) -> int:
        return _validation.thread_count(self.n_jobs)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "gamma_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
