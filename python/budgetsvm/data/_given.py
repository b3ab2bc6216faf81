"""Rows that the user's own code gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self, cast

import numpy as np
import scipy.sparse as sp

from .._columns import Layout, in_order, names_of
from ._pieces import Piece
from ._source import Source


class IterableSource(Source):
    """Parts (X, y) or (X, y, weight) of an iterable, or of what a function returns."""

    def __init__(self, given: Any, *, dtype: Any, cache: Any, block_rows: int | None) -> None:
        super().__init__(dtype or np.float32, cache, block_rows)
        self._given_by = given
        #: The names of the columns of a fit, in whose order those of data frames are brought.
        self._fitted: Sequence[str] | None = None
        if not callable(given) and iter(given) is given:
            raise ValueError(
                "this iterator can be gone through once only: give a function that makes it, or "
                "an object whose __iter__ does"
            )

    def _in_thread(self) -> bool:
        return False

    def like(self, fitted: Layout) -> Self:
        if fitted.names is None:
            return self
        return self._copy(columns=None, _fitted=fitted.names)

    def pieces(self) -> Iterator[Piece]:
        given = self._given_by
        first = 0
        for number, part in enumerate(given() if callable(given) else given):
            place = f"part {number}"
            if not isinstance(part, tuple) or not 1 <= len(part) <= 3:
                kind = type(part).__name__
                raise ValueError(f"{place}: (X, y) or (X, y, weight) is needed, got {kind}")
            X, y, weight = (*part, None, None)[:3]
            names = names_of(X)
            if number == 0 and self.columns is None and names is not None:
                self.columns = names if self._fitted is None else list(self._fitted)
            X = in_order(X, self.columns, place)
            X = _rows(X, self.dtype, place)
            y = None if y is None else np.asarray(y)
            weight = None if weight is None else np.asarray(weight, dtype=np.float64)
            yield Piece(X, y, weight, place, first)
            first += X.shape[0]


class ArraySource(IterableSource):
    """Arrays in memory."""

    def __init__(self, X: Any, y: Any, weight: Any, *, dtype: Any, **own: Any) -> None:
        if dtype is None:
            kind = getattr(X, "dtype", None)
            dtype = kind if kind in (np.float32, np.float64) else np.float64
        super().__init__(lambda: iter([(X, y, weight)]), dtype=dtype, **own)
        self.n_rows, self.n_features = X.shape if hasattr(X, "shape") else np.shape(X)


def _rows(X: Any, dtype: Any, place: str) -> Any:
    if sp.issparse(X):
        rows: Any = sp.csr_matrix(cast(Any, X)).astype(dtype, copy=False)
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        return rows
    X = np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "biufO":
        raise ValueError(f"{place}: {X.dtype} of shape {X.shape} is no matrix of rows")
    return np.ascontiguousarray(X, dtype=dtype)
