"""Arrays in files that the system maps into memory: as much of them is there as fits."""

from __future__ import annotations

import errno
import mmap
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from ._damaged import memory

#: Numbers that are handled at a time.
CHUNK = 2**20
#: Mapped pages that stay in memory before they are handed back, and seconds between two looks.
_RESIDENT, _PAUSE = 48 << 20, 0.002
#: Seconds after which they may be handed back again, at first and at most: where work goes back and
#: forth over all rows they come again at once, and handing them back is for nothing.
_REST, _MOST = 0.01, 0.64


class Kept(np.ndarray):
    """An array of a number a row, mapped from a temporary file."""

    maps: Any = None


def chunks(n: int) -> Iterator[slice]:
    """Slices of `n` numbers."""
    return (slice(first, min(first + CHUNK, n)) for first in range(0, n, CHUNK))


class Maps:
    """Mapped arrays, those of temporary files in a folder among them.

    A temporary file has no name: nothing of it is left once nobody uses its array, however the
    process ends.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = tempfile.gettempdir() if folder is None else os.fspath(folder)
        self._maps: list[mmap.mmap] = []
        #: What was found in all rows.
        self.found: dict[str, Any] = {}

    def holds(self, array: Any) -> bool:
        """Whether this is an array, or a part of one, that stands in these files."""
        while isinstance(array, np.ndarray):
            array = array.base
        return any(array is held for held in self._maps)

    def column(self, dtype: Any) -> Column:
        """An array to be, number after number."""
        return Column(self, np.dtype(dtype))

    def made(self, n: int, dtype: Any, part: Any) -> np.ndarray:
        """The array of ``part(slice)``, slice by slice."""
        column = self.column(dtype)
        for where in chunks(n):
            column.append(part(where))
        made = column.array().view(Kept)
        made.maps = self
        return made

    def _mapped(self, file: Any, dtype: np.dtype, shape: tuple[int, ...]) -> Any:
        if 0 in shape:
            return np.empty(shape, dtype)
        with memory(f"an array of shape {shape}"):
            held = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._maps.append(held)
        return np.ndarray(shape, dtype, buffer=held)

    def let_go(self) -> None:
        """Hand the pages back: they come again when they are looked at."""
        if hasattr(mmap, "MADV_DONTNEED"):
            for held in self._maps:
                held.madvise(mmap.MADV_DONTNEED)


class Column:
    """The numbers of an array, written to a temporary file one part after another."""

    def __init__(self, maps: Maps, dtype: np.dtype) -> None:
        self.dtype, self.size = dtype, 0
        self._maps = maps
        with self._room():
            self._file = tempfile.TemporaryFile(dir=maps.folder)  # noqa: SIM115

    def append(self, part: Any) -> None:
        """Write some more numbers, as they are of the type of the array."""
        part = np.ascontiguousarray(part, dtype=self.dtype)
        with self._room():
            self._file.write(memoryview(part.reshape(-1)).cast("B"))
        self.size += part.size

    def of_type(self, dtype: Any) -> Column:
        """The numbers so far in an array to be of another type."""
        if dtype == self.dtype:
            return self
        other, old = self._maps.column(dtype), self.array()
        for where in chunks(len(old)):
            other.append(old[where])
        return other

    def array(self, *shape: int) -> Any:
        """The mapped array of all of them."""
        with self._room():
            self._file.flush()
        found = self._maps._mapped(self._file, self.dtype, shape or (self.size,))
        self._file.close()
        return found

    def _room(self) -> _Room:
        return _Room(self._maps.folder)


class _Room:
    """Says which folder an error of the disk is about."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: Any, error: BaseException | None, _trace: Any) -> None:
        if isinstance(error, OSError) and error.errno != errno.ENOMEM:
            text = f"cache={self._folder!r}: {error.strerror or error}"
            raise OSError(error.errno, text) from None


class Trimmed:
    """While the block runs, hands mapped pages back whenever too many are in memory.

    What a process uses is then what it has made itself; pages that were handed back are still in
    the system's cache as long as nobody else wants the room, so they come back at little cost.
    """

    def __init__(self, maps: Maps | None) -> None:
        known = sys.platform.startswith("linux") and maps is not None and bool(maps._maps)
        self._maps = maps if known else None
        self._ended = threading.Event()

    def __enter__(self) -> Self:
        if self._maps is not None:
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._maps is not None:
            self._thread.join()

    def _watch(self) -> None:
        maps = self._maps
        if maps is None:
            return
        page = mmap.PAGESIZE
        with open("/proc/self/statm", "rb", buffering=0) as told:
            least = _mapped_pages(told) * page
            rest = _REST
            while not self._ended.wait(_PAUSE):
                now = _mapped_pages(told) * page
                least = min(least, now)
                if now > least + _RESIDENT:
                    maps.let_go()
                    self._ended.wait(rest)
                    back = _mapped_pages(told) * page > least + _RESIDENT
                    rest = min(2 * rest, _MOST) if back else _REST
        maps.let_go()


def _mapped_pages(told: Any) -> int:
    told.seek(0)
    return int(told.read().split()[2])
