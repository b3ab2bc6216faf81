"""All rows of a source as memory-mapped arrays, which the solvers read."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.multiclass import check_classification_targets

from .._columns import Layout
from ._mapped_arrays import ArrayWriter, MappedArray, MappedFiles, chunks
from ._pieces import Block, Piece

#: CSR matrices with more stored values need 64-bit row pointers.
_MAX_INT32 = np.iinfo(np.int32).max


class EncodedLabels(MappedArray):
    """Labels as indices of `classes`, an array of uint32."""

    classes: np.ndarray


class StoredRows:
    """Checked rows, targets and weights of a source, as memory-mapped arrays.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_features)
        The rows.
    y : ndarray of shape (n_rows,) or None
        Targets; text labels are indices of `names`.
    weight : ndarray of shape (n_rows,) or None
        Weights, float64.
    layout : Layout
        How the columns correspond to features.
    """

    def __init__(
        self, maps: MappedFiles, X: Any, y: Any, weight: Any, names: np.ndarray | None = None
    ) -> None:
        self.maps, self.X, self.y, self.weight, self.names = maps, X, y, weight, names
        self.layout = Layout()
        self._coded: EncodedLabels | None = None

    def part(self, first: int, last: int) -> Block:
        """The rows from `first` to `last`."""
        where = slice(first, last)
        y = None if self.y is None else self.labels(where)
        return Block(self.X[where], y, None if self.weight is None else self.weight[where])

    def labels(self, where: slice) -> np.ndarray:
        """The original targets of a slice of rows, in memory."""
        return np.array(self.y[where]) if self.names is None else self.names[self.y[where]]

    def coded(self) -> EncodedLabels:
        """The targets as indices of the classes."""
        if self._coded is None:
            found = self.maps.found
            if "classes" not in found:
                found["classes"] = self._classes()
            self._coded = self._places(found["classes"])
        return self._coded

    def _classes(self) -> np.ndarray:
        """The distinct targets, sorted."""
        if self.names is not None:
            return np.unique(self.names)
        classes = self.y[:0]
        for where in chunks(len(self.y)):
            new = np.unique(self.y[where])
            check_classification_targets(new)
            classes = np.union1d(classes, new)
        return classes

    def _places(self, classes: np.ndarray) -> EncodedLabels:
        names, y, facts = self.names, self.y, self.maps.found.get("facts")
        named = None if names is None else np.searchsorted(classes, names)
        seen = np.zeros(len(classes), dtype=bool)
        if facts is not None:
            check_classification_targets(classes)

        def part(where: slice) -> np.ndarray:
            if named is not None:
                return named[y[where]]
            places = np.searchsorted(classes, y[where])
            if facts is not None:
                # Facts from a file are checked before they are used.
                np.minimum(places, len(classes) - 1, out=places)
                seen[places] = True
                if not np.array_equal(classes[places], y[where]):
                    raise facts.wrong("the target has a label that it does not know")
            return places

        coded: EncodedLabels = self.maps.made(len(y), np.uint32, part).view(EncodedLabels)
        if facts is not None and not seen.all():
            raise facts.wrong(f"the target has no label {classes[~seen][0]!r}, which it knows")
        coded.classes, coded.maps = classes, self.maps
        return coded

    def values(self) -> np.ndarray:
        """The targets as numbers."""
        if self.names is not None:
            raise ValueError(f"the target is text ({str(self.names[0])!r}): it must be numbers")
        if self.y.dtype != np.float64:
            y = self.y
            self.y = self.maps.made(len(y), np.float64, lambda where: y[where])
        return self.y

    def weights(self) -> np.ndarray:
        """The weights of the rows, 1 unless given."""
        if self.weight is None:
            n = self.X.shape[0]
            self.weight = self.maps.made(n, np.float64, lambda at: np.ones(at.stop - at.start))
        elif not np.any(self.weight > 0):
            raise ValueError("weight: it must not be all zero")
        kept = self.weight.view(MappedArray)
        kept.maps = self.maps
        return kept


class RowWriter:
    """Writes the pieces of a source to temporary files."""

    def __init__(self, maps: MappedFiles, dtype: np.dtype) -> None:
        self._maps, self._dtype = maps, dtype
        self._values = maps.column(dtype)
        self._columns: ArrayWriter | None = None
        self._starts: ArrayWriter | None = None
        self._y: ArrayWriter | None = None
        self._weight: ArrayWriter | None = None
        self._names: dict[Any, int] | None = None
        self._rows = self._width = 0

    def write(self, piece: Piece) -> None:
        """Append the rows of a piece."""
        X = piece.X
        self._rows += X.shape[0]
        self._width = max(self._width, X.shape[1])
        if isinstance(X, np.ndarray):
            self._values.append(X)
        else:
            if self._columns is None or self._starts is None:
                self._columns = self._maps.column(np.int32)
                self._starts = self._maps.column(np.int64)
                self._starts.append([0])
            self._starts.append(X.indptr[1:].astype(np.int64) + self._values.size)
            self._values.append(X.data)
            self._columns.append(X.indices)
        if piece.y is not None:
            self._write_target(piece.y)
        if piece.weight is not None:
            self._weight = self._weight or self._maps.column(np.float64)
            self._weight.append(piece.weight)

    def _write_target(self, y: np.ndarray) -> None:
        if y.dtype.kind in "OUS":
            if self._names is None:
                self._names, self._y = {}, self._maps.column(np.int32)
            names = self._names
            y = np.array([names.setdefault(label, len(names)) for label in y.tolist()], np.int32)
        if self._y is None:
            self._y = self._maps.column(y.dtype.newbyteorder("="))
        self._y = self._y.of_type(np.result_type(self._y.dtype, y.dtype))
        self._y.append(y)

    def stored(self, width: int | None, first: int = 0) -> StoredRows:
        """All of them; of CSR rows with so many columns, counted from `first`."""
        X: Any
        if self._columns is None or self._starts is None:
            X = self._values.array(self._rows, self._width)
        else:
            X = self._csr(self._width - first if width is None else width, first)
        names = None if self._names is None else np.array(list(self._names))
        y = None if self._y is None else self._y.array()
        weight = None if self._weight is None else self._weight.array()
        return StoredRows(self._maps, X, y, weight, names)

    def _csr(self, width: int, first: int) -> Any:
        assert self._columns is not None
        assert self._starts is not None
        small = self._values.size <= _MAX_INT32
        kind = np.int32 if small else np.int64
        ends, places, values = self._starts.array(), self._columns.array(), self._values.array()
        starts = self._maps.made(len(ends), np.int32, lambda at: ends[at]) if small else ends
        columns = places
        if first or not small:
            columns = self._maps.made(
                len(places), kind, lambda at: places[at].astype(kind) - kind(first)
            )
        return sp.csr_matrix((values, columns, starts), shape=(self._rows, width), copy=False)
