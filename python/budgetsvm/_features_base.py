"""What the transformers share: checks, the kernel, fit and transform around `_core`."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from . import _core, _names, _out_of_core, _parameters, _validation
from ._docs import documented
from ._estimator import FLOATS
from ._hyperparameters import hyperparameters
from ._machine import FeatureMapEstimator, has_kernel_of_parameters
from ._needs import warn_of_idle
from ._scales import ScaledFeatures
from ._serialization import require


@hyperparameters
class KernelFeatures(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ScaledFeatures, FeatureMapEstimator
):
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

    _page: ClassVar[str] = "features"

    n_components: int = field(default=100, kw_only=False)
    kernel: _names.Kernel = "rbf"
    gamma: _names.Gamma = "scale"

    _archived: ClassVar[dict] = {"_n_features_out": "count"}
    _has_machine: ClassVar[bool] = True
    _family: ClassVar[str]
    _takes_stored = True

    @documented
    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw or choose what the map needs.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), or Source
            Rows, finite. Float32 and float64 are used as they are, without a copy.
        y : None
            Ignored.

        @fitted@
        """
        with (
            self._all_or_nothing(),
            _out_of_core.open_training_rows(self, X, None, None) as (X, _, _),
        ):
            warn_of_idle(self)
            X = self._check_rows(X, True, list(FLOATS))
            width = self._width_on(X.shape[0])
            _check_width(width, X.dtype)
            rows = _validation.as_rows(self._scaled(X))
            gamma = _validation.settle_gamma(self.gamma, rows, X.shape[1], np.ones(X.shape[0]))
            seed = {"random_state": self._seed()} if hasattr(self, "random_state") else {}
            config = _parameters.config(self, gamma=gamma, **seed)
            machine, told = _core.map_fit(self._family, config, rows, self._threads())
            self._take(told)
            self._machine = self._in_units(machine)
            self._n_features_out = width
        if width < self.n_components:
            _validation.warn(
                f"n_components={self.n_components} is more than the {width} rows: the map has "
                f"{width} columns. Give more rows, or n_components={width}."
            )
        return self

    @documented
    def transform(self, X: Any, out: Any = None) -> np.ndarray:
        """The features of rows.

        @rows-or-source@

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Features, of the type of the rows that the map was fitted on. The same bits for any
            number of threads and any cut of the rows.

        @unless-fitted@
        """
        if _out_of_core.is_blockwise(X, out):
            return _out_of_core.predict_blocks(self.transform, X, out)
        rows, width = _validation.as_rows(self._new_rows(X)), self._n_features_out
        return _validation.in_range(self._machine.transform(rows, width, self._threads()))

    def _width_on(self, n_rows: int) -> int:
        """Columns of a map that is fitted on so many rows."""
        return int(self.n_components)

    def _take(self, told: dict[str, Any]) -> None:
        """Keep what `_core` tells beside the map."""

    def _dtype(self) -> Any:
        return np.dtype(self._machine.dtype)

    def _check_archived(self) -> None:
        machine, width = self._machine, self._n_features_out
        fits = machine.kind == "features" and machine.n_outputs == 0
        fits = fits and machine.n_features == self.n_features_in_
        fits = fits and machine.state == "none" and has_kernel_of_parameters(self)
        require(fits and machine.map_width <= width, "map and columns")
        self._check_scales()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_machine")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _check_width(width: int, dtype: Any) -> None:
    """Whether there could be a row of as many features as are asked for."""
    try:
        np.empty(width, dtype)
    except (MemoryError, ValueError):
        raise MemoryError(f"n_components={width}: no memory holds one such row") from None
