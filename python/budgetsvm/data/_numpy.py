"""Rows in files of NumPy and SciPy: matrices (.npy) and CSR matrices (.npz)."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._files import open_regular
from .._validation import check_csr_structure
from ._files import FileSource
from ._npy import NpyArray, header_of
from ._pieces import Piece
from ._read_errors import errors_with_path

#: Bytes that are read at a time.
_BYTES = 1 << 23


class NumpySource(FileSource):
    """Matrices of .npy files, one below the other."""

    def __init__(self, paths: list[str], features: Any, **own: Any) -> None:
        self._features = features
        tables = [self._table(path) for path in paths]
        dtype = own.pop("dtype") or _own_type(tables[0].dtype)
        super().__init__(paths, dtype=dtype, **own)
        self.n_rows = sum(len(table) for table in tables)
        self._width = tables[0].shape[1]
        self._target_at = self._column("target", self._target)
        self._weight_at = self._column("weight", self._weight)
        self._chosen = self._columns_of()
        self.n_features = len(np.arange(self._width)[self._chosen])

    def _table(self, path: str) -> NpyArray:
        table = NpyArray(path, "rows")
        if table.ndim != 2 or table.dtype.kind not in "biuf" or table.shape[1] == 0:
            raise ValueError(f"{path}: {table.dtype} of shape {table.shape} is no matrix of rows")
        return table

    def _column(self, name: str, given: Any) -> int | None:
        if given is None or not isinstance(given, (int, np.integer)):
            return None
        if not -self._width <= given < self._width:
            raise ValueError(f"{name}={given} is no column of {self._width}")
        return int(given) % self._width

    def _columns_of(self) -> Any:
        """The columns that are features: a slice where they stand together."""
        given = self._features
        if given is None:
            taken = {self._target_at, self._weight_at}
            at = np.array([i for i in range(self._width) if i not in taken], dtype=np.intp)
        else:
            try:
                at = np.arange(self._width)[given]
            except (IndexError, TypeError):
                raise ValueError(f"features={given!r} are no columns of {self._width}") from None
            at = np.atleast_1d(at)
        if len(at) == 0:
            raise ValueError("features: there is no column left")
        together = bool(np.all(np.diff(at) == 1))
        return slice(int(at[0]), int(at[-1]) + 1) if together else at

    def pieces(self) -> Iterator[Piece]:
        self._begin()
        seen = 0
        for path in self.paths:
            table = self._table(path)
            step = max(_BYTES // (table.shape[1] * table.dtype.itemsize), 1)
            for first in range(0, len(table), step):
                part = table[first : first + step]
                X = np.array(part[:, self._chosen], dtype=self.dtype, order="C")
                y, w = (
                    None if at is None else np.array(part[:, at])
                    for at in (self._target_at, self._weight_at)
                )
                y, w = self._sides(seen + first, len(X), y, w)
                yield Piece(X, y, w, path, first)
            seen += len(table)
        self._end(seen)


def _own_type(dtype: np.dtype) -> np.dtype:
    """The type of rows that are stored so."""
    return dtype.newbyteorder("=") if dtype.kind == "f" and dtype.itemsize >= 4 else np.dtype("f4")


class CsrSource(FileSource):
    """CSR matrices as `scipy.sparse.save_npz` writes them, read from the first row to the last."""

    def __init__(self, paths: list[str], **own: Any) -> None:
        self._shapes = [self._shape(path) for path in paths]
        dtype = own.pop("dtype")
        if dtype is None:
            with _archive(paths[0]) as packed:
                dtype = _own_type(_NpzMember(packed, paths[0], "data").dtype)
        super().__init__(paths, dtype=dtype, **own)
        self.n_rows = sum(shape[0] for shape in self._shapes)
        self.n_features = self._shapes[0][1]
        for path, shape in zip(paths, self._shapes, strict=True):
            if shape[1] != self.n_features:
                raise ValueError(
                    f"{path}: {shape[1]} features, but {self.n_features} in {paths[0]}"
                )

    def _shape(self, path: str) -> tuple[int, int]:
        with _archive(path) as packed:
            kind = bytes(_NpzMember(packed, path, "format").read(1)[0])
            if kind != b"csr":
                raise ValueError(
                    f"{path}: a CSR matrix is needed, this is {kind.decode('latin1')!r}"
                )
            rows, columns = _NpzMember(packed, path, "shape").read(2)
            return int(rows), int(columns)

    def pieces(self) -> Iterator[Piece]:
        self._begin()
        seen = 0
        for path, (rows, width) in zip(self.paths, self._shapes, strict=True):
            with _archive(path) as packed:
                values, columns, ends = (
                    _NpzMember(packed, path, name) for name in ("data", "indices", "indptr")
                )
                last = int(ends.read(1)[0])
                if last != 0:
                    raise ValueError(f"{path}: indptr begins with {last}")
                for first in range(0, rows, 1 << 16):
                    begin = last
                    stops = ends.read(min(rows - first, 1 << 16)).astype(np.int64)
                    last = int(stops[-1])
                    if last < begin:
                        raise ValueError(f"{path}, row {first}: indptr falls")
                    parts = values.read(last - begin), columns.read(last - begin)
                    starts = np.concatenate([[0], stops - begin])
                    yield self._piece(path, first, seen, (*parts, starts), (len(stops), width))
            seen += rows
        self._end(seen)

    def _piece(self, path: str, first: int, seen: int, parts: Any, shape: tuple[int, int]) -> Piece:
        values, columns, starts = parts
        # Looked at before SciPy follows the places.
        bare: Any = sp.csr_matrix((0, shape[1]), dtype=self.dtype)
        bare.data, bare.indices, bare.indptr = values.astype(self.dtype), columns, starts
        bare._shape = shape
        try:
            check_csr_structure(bare)
        except ValueError as error:
            raise ValueError(f"{path}, rows from {first} on: {error}") from None
        X = sp.csr_matrix((bare.data, columns.astype(np.int32), starts), shape=shape)
        if not X.has_canonical_format:
            X.sum_duplicates()
        y, w = self._sides(seen + first, shape[0], None, None)
        return Piece(X, y, w, path, first)


@contextmanager
def _archive(path: str) -> Iterator[zipfile.ZipFile]:
    """The arrays of a file."""
    with errors_with_path(path), open_regular(path) as file, zipfile.ZipFile(file) as packed:
        yield packed


class _NpzMember:
    """An array of an .npz, read number after number."""

    def __init__(self, packed: zipfile.ZipFile, path: str, name: str) -> None:
        self._what = f"{path} ({name})"
        try:
            self._file = packed.open(f"{name}.npy")
        except KeyError:
            raise ValueError(f"{path}: no CSR matrix of SciPy: it has no array {name!r}") from None
        _, _, self.dtype = header_of(self._file)
        if self.dtype.hasobject:
            raise ValueError(f"{self._what}: objects are not read")

    def read(self, count: int) -> np.ndarray:
        """The next numbers."""
        wanted = count * self.dtype.itemsize
        found = self._file.read(wanted)
        if len(found) != wanted:
            raise ValueError(f"{self._what}: the file ends too early")
        return np.frombuffer(found, self.dtype)
