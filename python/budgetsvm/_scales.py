"""Factors of the features: rows are multiplied by them once, and the machine knows them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from . import _core
from ._estimator import Estimator
from ._hyperparameters import hyperparameters
from ._serialization import require


class _MachineHolder(Estimator):
    # Declared here, because annotations of `ScaledFeatures` declare hyperparameters.
    _machine: _core.Machine


@hyperparameters
class ScaledFeatures(_MachineHolder):
    """Base of the machines whose kernel may see features scaled; not for use on its own.

    Parameters
    ----------
    feature_scales : array-like of shape (n_features,) or None, default=None
        Factors of the features, >= 0 and not all 0: the machine of ``X * feature_scales``, for rows
        as they come. A feature of factor 0 is as if it were not there. ``gamma="scale"`` and
        "auto" are those of the scaled rows; what the fitted machine tells of points and features
        is in the units of X (where X is multiplied and divided again, to rounding).

    Attributes
    ----------
    feature_scales_ : ndarray of shape (n_features,)
        The factors in use, 1 without `feature_scales`.
    """

    feature_scales: ArrayLike | None = None

    @property
    def feature_scales_(self) -> np.ndarray:
        """Factors of the features, shape (n_features,)."""
        machine = self._learnt("_machine")
        scales = machine.scales
        return np.ones(machine.n_features) if scales is None else scales

    def _check_X_y(self, X: Any, y: Any, reset: bool, dtype: Any = None) -> tuple[Any, np.ndarray]:
        X, y = super()._check_X_y(X, y, reset, dtype)
        machine = self._goes_on_with(reset)
        if machine is None:
            self._learn_scales(X, y)
        return self._scaled(X, machine), y

    def _goes_on_with(self, reset: bool) -> _core.Machine | None:
        """The machine whose training goes on, if one does."""
        return None if reset else self._machine

    def _learn_scales(self, X: Any, y: Any) -> None:
        """Learn scales of checked rows where that is asked for."""

    def _learnt_gamma(self) -> float | None:
        """γ as it was learnt with the scales."""
        return None

    def _scaled(self, X: Any, machine: _core.Machine | None = None) -> Any:
        """Checked rows as training sees them: of a new machine, or of one that it goes on with.

        `_in_units` makes what comes of them a machine of rows as they come.
        """
        if machine is None:
            scales = self._given_scales(X.shape[1])
        else:
            self._check_scales_stay(machine)
            scales = machine.scales
        self._scales_in_use = scales
        return X if scales is None else multiply_columns(X, scales)

    def _in_units(self, machine: _core.Machine, given: Any = None) -> _core.Machine:
        """The machine of rows as they come; `given` are its terms, where they are such rows."""
        scales = self.__dict__.pop("_scales_in_use", None)
        return machine if scales is None else machine.scaled(scales, given)

    def _given_scales(self, d: int) -> np.ndarray | None:
        if self.feature_scales is None:
            return None
        scales = np.array(self.feature_scales, dtype=np.float64)
        if len(scales) != d:
            raise ValueError(f"feature_scales has {len(scales)} entries, but X has {d} features")
        return scales

    def _check_scales_stay(self, machine: _core.Machine) -> None:
        """Refuse other scales than those of the machine that training goes on with."""
        if not self._has_scales_of(machine):
            raise ValueError(
                "feature_scales must stay as they are while training goes on: fit anew"
            )

    def _has_scales_of(self, machine: _core.Machine) -> bool:
        """Whether the machine's scales are those of the hyperparameter."""
        used = machine.scales
        if used is None or self.feature_scales is None:
            return used is None and self.feature_scales is None
        return np.array_equal(np.asarray(self.feature_scales, dtype=np.float64), used)

    def _of_squares(self, coef: Any) -> Any:
        """Weights of features of X from sums over points of X, which count scaled twice."""
        scales = self._machine.scales
        if scales is None:
            return coef
        squares = scales * scales
        dense = isinstance(coef, np.ndarray)
        return coef * squares if dense else sp.csr_matrix(coef.multiply(squares))

    def _check_scales(self) -> None:
        """Whether the machine of a file is scaled as the hyperparameter says."""
        require(self._has_scales_of(self._machine), "feature_scales")


def multiply_columns(rows: Any, scales: np.ndarray) -> Any:
    """The rows with each column multiplied by its scale, in the dtype of the rows."""
    factors = scales.astype(rows.dtype)
    scaled: Any
    with np.errstate(over="ignore", under="ignore"):
        if isinstance(rows, np.ndarray):
            scaled = values = rows * factors
        else:
            drops = not np.all(scales > 0)
            # Columns that are dropped leave their places: those of the user's rows stay.
            indices, indptr = rows.indices, rows.indptr
            indices, indptr = (indices.copy(), indptr.copy()) if drops else (indices, indptr)
            data = rows.data * factors[rows.indices]
            scaled = type(rows)((data, indices, indptr), shape=rows.shape)
            if drops:
                scaled.eliminate_zeros()
            values = scaled.data
    if not np.all(np.isfinite(values)):
        raise ValueError("feature_scales lead X out of the range of floating point numbers")
    return scaled
