"""Rows in the text of SVM-light, packed or not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self, cast

import numpy as np
import scipy.sparse as sp

from .. import _core, _validation
from .._columns import Layout
from ._files import FileSource
from ._pieces import Piece
from ._read_errors import errors_with_path
from ._svmlight import LINE, first_index, opened

#: Bytes that are read at a time.
_BYTES = 1 << 23


class TextSource(FileSource):
    """Lines ``label index:value ...`` of files, one after the other."""

    def __init__(
        self, paths: list[str], *, zero_based: Any, n_features: int | None, dtype: Any, **own: Any
    ) -> None:
        super().__init__(paths, dtype=dtype or np.float32, **own)
        self._zero_based, self._wanted = zero_based, n_features
        #: The least and the largest index, and the files that they are of.
        self._bounds: tuple[float, int] = (np.inf, -1)
        self._looked: Any = None
        #: The layout of the rows of a fit, whose base theirs is.
        self._fitted = Layout()

    def _known(self) -> dict[str, Any]:
        least, most = self._bounds
        told = {"bounds": [int(least), int(most)]} if most >= 0 else {}
        return super()._known() | told

    def _adopt(self, known: dict[str, Any]) -> None:
        super()._adopt(known)
        if "bounds" in known:
            self._bounds, self._looked = tuple(known["bounds"]), self.identity()
            self._columns()

    def layout(self) -> Layout:
        self._look()
        _, first = self._columns()
        return super().layout()._replace(zero_based=first == 0)

    def like(self, fitted: Layout) -> Self:
        width = fitted.n_features if self._wanted is None else self._wanted
        if self._zero_based == "auto" and fitted.zero_based is None:
            self._look()
            first = first_index(self._bounds, "auto", fitted, self._name())
            fitted = fitted._replace(zero_based=first == 0)
        other = self._copy(_wanted=width, _fitted=fitted)
        # What was stored of these very rows is of use again.
        told = self._zero_based != "auto" and self._wanted == width
        looked = self._looked is not None and self._looked == self.identity()
        return self if told or (looked and self._columns() == other._columns()) else other

    def _look(self) -> None:
        """Find the least and the largest index, where something depends on them."""
        open_base = self._zero_based == "auto" and self._fitted.zero_based is None
        asked = self._wanted is None or open_base
        if asked and self._looked != self.identity():
            for _ in self._as_read():
                pass

    def pieces(self) -> Iterator[Piece]:
        self._look()
        width, first = self._columns()
        for piece in self._as_read():
            X = piece.X
            if X.nnz and X.indices.min() < first:
                first_index((X.indices.min(), X.indices.max()), *self._base(), piece.place)
            if X.nnz and not first <= X.indices.min() <= X.indices.max() < width + first:
                raise ValueError(
                    f"{piece.place}: an index is outside of {width} columns from {first} on"
                )
            moved = (X.data, X.indices - np.int32(first), X.indptr)
            yield piece._replace(X=sp.csr_matrix(moved, shape=(X.shape[0], width)))

    def _as_read(self) -> Iterator[Piece]:
        self._begin()
        least, most, begun = np.inf, -1, self.identity()
        seen = 0
        for path in self.paths:
            first = 0
            for lines, text in _whole_lines(path):
                X, y = self._parsed(path, text, lines)
                if X is None:
                    continue
                if X.nnz:
                    least, most = min(least, X.indices.min()), max(most, X.indices.max())
                y, w = self._sides(seen, X.shape[0], y, None)
                yield Piece(X, y, w, path, first)
                first, seen = first + X.shape[0], seen + X.shape[0]
        self._bounds, self._looked = (least, most), begun
        self._end(seen)

    def _parsed(self, path: str, text: bytes, lines: int) -> tuple[Any, Any]:
        try:
            y, values, columns, starts, width = _core.svmlight_read(
                text, single=self.dtype == np.float32, zero_based=True, n_features=None,
                dense=False, threads=_validation.thread_count(None), lines=lines,
            )  # fmt: skip
        except ValueError as error:
            if "no rows" in str(error):
                return None, None
            raise ValueError(f"{path}: {error}") from None
        return sp.csr_matrix((values, columns, starts), shape=(len(y), max(width, 1))), y

    def _base(self) -> tuple[Any, Layout]:
        """What says which index the first column has."""
        return self._zero_based, self._fitted

    def _columns(self) -> tuple[int, int]:
        least, most = self._bounds
        first = first_index((least, most), *self._base(), self._name())
        needed = most - first + 1
        width = max(needed, 1) if self._wanted is None else self._wanted
        if width < needed:
            raise ValueError(f"{self._name()}: n_features={width}, but index {most} needs {needed}")
        self.n_features = width
        return width, first


def _whole_lines(path: str) -> Iterator[tuple[int, bytes]]:
    """The text, some megabytes of whole lines at a time, and how many lines are before them."""
    begun: list[bytes] = []  # the parts of a line whose end has not come
    length = lines = 0
    with errors_with_path(path), cast(Any, opened(path)) as file:
        while part := file.read(_BYTES):
            end = part.rfind(b"\n") + 1
            length += part.find(b"\n") if end else len(part)
            if length > LINE:
                raise ValueError(f"{path}: line {lines + 1}: longer than {LINE} bytes")
            if end:
                text = b"".join([*begun, part[:end]])
                yield lines, text
                lines += text.count(b"\n")
                begun, length = [], len(part) - end
            begun.append(part[end:])
    if length:
        yield lines, b"".join(begun)
