"""What gives rows block by block, as often as it is asked."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Self

import numpy as np

from .._columns import Layout
from ._facts import SourceFacts
from ._mapped_arrays import MappedFiles
from ._pieces import Block, Piece, check, cut, joined
from ._stored_rows import RowWriter, StoredRows

#: Bytes of a block of dense rows, and the least and most rows; rows of a block of CSR rows.
BLOCK, FEWEST, MOST, SPARSE = 1 << 23, 256, 1 << 16, 1 << 14


class Source:
    """Rows that are read block by block, as often as they are asked for; see `open`.

    Attributes
    ----------
    n_rows, n_features : int or None
        The shape; None where it is not known before all rows have been read once.
    dtype : dtype
        Float32 or float64, the type of the rows.
    rows_given : int
        Rows handed out so far, all readings together.
    columns : list of str or None
        The names of the columns, in order, of files and data frames that have names; of data frames
        that an iterable gives they are known once the first one was read.
    """

    def __init__(self, dtype: Any, cache: Any, block_rows: int | None) -> None:
        self.dtype = np.dtype(dtype)
        self.n_rows: int | None = None
        self.n_features: int | None = None
        self.rows_given = 0
        self._of_which: Source | None = None
        self.columns: list[str] | None = None
        self._cache, self._block_rows = cache, block_rows
        self._stored: tuple[Any, StoredRows] | None = None
        self._facts: SourceFacts | None = None

    def pieces(self) -> Iterator[Piece]:
        """All rows from the first on, as they come."""
        raise NotImplementedError

    def layout(self) -> Layout:
        """How the columns stand for features, as far as the rows tell."""
        return Layout(self.columns, n_features=self.n_features)

    def like(self, fitted: Layout) -> Self:
        """The same rows with columns in the order of those of a fit, and indices from its base.

        Raises
        ------
        ValueError
            If the columns have names, and these are others than those of the fit.
        """
        return self

    def identity(self) -> Any:
        """What says whether the rows are still those of the last time; None where nothing does."""
        return None

    def _in_thread(self) -> bool:
        """Whether another thread may read the next rows while one works on these."""
        return True

    def blocks(self, seed: int | None = None) -> Iterator[Block]:
        """All rows, in blocks of the same number of rows (the last may be shorter).

        Parameters
        ----------
        seed : int or None, default=None
            None: in the order of the files. Else the blocks come in an order drawn with this seed;
            rows that cannot be reached out of order are first stored in the folder `cache`.

        Yields
        ------
        Block
            ``X, y, weight``.

        Raises
        ------
        ValueError
            If a row is not exactly valid, by file and row, or if a file changes meanwhile.
        """
        if seed is not None:
            yield from self._shuffled(seed)
            return
        length, waiting, count, total = self._block_rows, [], 0, 0
        identity, of = self.identity(), self._of()
        for piece in self._checked(self.pieces):
            length = length or fitting(piece.X)
            first = 0
            while first < piece.X.shape[0]:
                last = min(first + length - count, piece.X.shape[0])
                waiting.append(cut(piece, first, last))
                count, first = count + last - first, last
                if count == length:
                    yield self._given(waiting)
                    total, waiting, count = total + count, [], 0
        self._check_same(identity)
        if waiting:
            total += count
            yield self._given(waiting)
        self.n_rows = total
        self._keep(of)

    def _shuffled(self, seed: int) -> Iterator[Block]:
        stored = self.stored()
        length = self._block_rows or fitting(stored.X)
        starts = np.arange(0, stored.X.shape[0], length)
        for first in np.random.default_rng(seed).permutation(starts):
            yield self._given([stored.part(int(first), int(first) + length)])

    def _given(self, parts: list[Block]) -> Block:
        block = parts[0] if len(parts) == 1 else joined(parts)
        self._count(block.X.shape[0])
        return block

    def _count(self, rows: int) -> None:
        """Note rows that were handed out, by this source or by one that it was made of."""
        self.rows_given += rows
        if self._of_which is not None:
            self._of_which._count(rows)

    def _checked(self, pieces: Callable[[], Iterator[Piece]]) -> Iterator[Piece]:
        """Pieces whose numbers are finite, of one width and one make."""
        begun: Piece | None = None
        for piece in ahead(pieces) if self._in_thread() else pieces():
            if piece.X.shape[0] == 0:
                continue
            begun = begun or piece
            check(piece, begun)
            if self.n_features is None and isinstance(piece.X, np.ndarray):
                self.n_features = piece.X.shape[1]
            yield piece
        if begun is None:
            raise ValueError(f"{self!r} has no rows")

    def stored(self, told: Callable[[int], None] | None = None) -> StoredRows:
        """All rows as arrays in memory that the system maps from files.

        Rows are written to nameless temporary files in the folder `cache`, which nobody else can
        change, and kept until the source is closed or its own files change.

        Parameters
        ----------
        told : callable or None, default=None
            Called with the number of rows read so far.

        Returns
        -------
        StoredRows
            ``X, y, weight``.
        """
        identity = self.identity()
        if self._stored is not None and identity is not None and self._stored[0] == identity:
            return self._stored[1]
        self._stored, of = None, self._of()
        found = self._written(told)
        self._check_same(identity)
        found.layout = self.layout()
        self.n_rows, self.n_features = found.X.shape
        found.maps.found |= self._recalled(found.X.shape)
        self._stored = (identity, found)
        self._keep(of)
        return found

    def _check_same(self, identity: Any) -> None:
        """Refuse rows of files that were others when their reading began."""

    def _of(self) -> Any:
        """What tells the rows from others, where there is a file of facts."""
        return None if self._facts is None else self._facts.of()

    def _recalled(self, shape: tuple[int, int]) -> dict[str, Any]:
        """What another process found in these rows."""
        return {} if self._facts is None else self._facts.recalled(shape)

    def _known(self) -> dict[str, Any]:
        """What is known of all rows after a reading."""
        shape = {"n_rows": self.n_rows, "n_features": self.n_features}
        return {name: int(size) for name, size in shape.items() if size is not None}

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """Inside, more is found in the rows that are stored."""
        try:
            yield
        finally:
            self._keep()

    def _keep(self, of: Any = None) -> None:
        """Write what was found in all rows, which were `of` when they were read."""
        if self._facts is None:
            return
        found = self._known()
        if self._stored is not None and self._stored[0] == self.identity():
            found, of = found | self._stored[1].maps.found, of or self._of()
        if of is not None:
            self._facts.keep(found, of)

    def _written(self, told: Callable[[int], None] | None) -> StoredRows:
        writer = RowWriter(MappedFiles(self._cache), self.dtype)
        seen = 0
        for piece in self._checked(self._as_read):
            writer.write(piece)
            seen += piece.X.shape[0]
            if told is not None:
                told(seen)
        self._count(seen)
        return writer.stored(*self._columns())

    def _as_read(self) -> Iterator[Piece]:
        """All rows, before it is known which column of CSR rows is the first."""
        return self.pieces()

    def _columns(self) -> tuple[int | None, int]:
        """Columns of CSR rows where it is known how many there are, and which is the first."""
        return self.n_features, 0

    def target(self) -> np.ndarray:
        """The targets of all rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            Labels or values, in memory.

        Raises
        ------
        ValueError
            If there are none.
        """
        stored = self.stored()
        if stored.y is None:
            raise ValueError(f"{self!r} has no target: give `target`")
        return stored.labels(slice(None))

    def close(self) -> None:
        """Let go of what was stored; the source can be read again."""
        self._stored = None

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise TypeError(
            f"{self!r} is no array: this call takes rows in memory, such as those of a block "
            "(source.blocks()) or all of them (source.stored().X)"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        shape = " x ".join("?" if n is None else str(n) for n in (self.n_rows, self.n_features))
        return f"<budgetsvm source {self._name()}: {shape} {self.dtype}>"

    def _copy(self, **changed: Any) -> Self:
        """A source of the same rows with other attributes, which keeps nothing of what was read."""
        other = copy.copy(self)
        other.__dict__.update(changed, _stored=None, _facts=None, _of_which=self)
        return other

    def _name(self) -> str:
        return type(self).__name__


def fitting(X: Any) -> int:
    """Rows of a block."""
    if not isinstance(X, np.ndarray):
        return SPARSE
    rows = max(BLOCK // max(X.shape[1] * X.itemsize, 1), 1)
    return int(np.clip(1 << (rows.bit_length() - 1), FEWEST, MOST))


def ahead(items: Callable[[], Iterator[Any]]) -> Iterator[Any]:
    """The items, each made by a thread while the one before it is in use."""
    source, end = items(), object()
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, source, end)
        while (item := coming.result()) is not end:
            coming = pool.submit(next, source, end)
            yield item
