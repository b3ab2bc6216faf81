"""Memory-mapped arrays: the system keeps as many of their pages in memory as fit."""

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

from ._read_errors import memory_errors

#: Entries that are processed at a time.
CHUNK_ENTRIES = 2**20
#: Mapped bytes that may be resident before they are released, and seconds between two checks.
_MAX_RESIDENT_BYTES, _POLL_SECONDS = 48 << 20, 0.002
#: The shortest and the longest pause after a release, in seconds. Where an algorithm goes back and
#: forth over all rows, released pages return at once, so the pause grows.
_MIN_REST_SECONDS, _MAX_REST_SECONDS = 0.01, 0.64


class MappedArray(np.ndarray):
    """A memory-mapped array of one number per row, in a temporary file."""

    maps: Any = None


def chunks(n: int) -> Iterator[slice]:
    """Slices that together cover `n` entries."""
    return (slice(first, min(first + CHUNK_ENTRIES, n)) for first in range(0, n, CHUNK_ENTRIES))


class MappedFiles:
    """A set of memory-mapped arrays, in given files or in temporary files in a folder.

    A temporary file has no name, so it disappears with its array, however the process ends.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = tempfile.gettempdir() if folder is None else os.fspath(folder)
        self._maps: list[mmap.mmap] = []
        #: Results of a pass over all rows, such as the classes.
        self.found: dict[str, Any] = {}

    def holds(self, array: Any) -> bool:
        """Whether the array is a view of one of these files."""
        while isinstance(array, np.ndarray):
            array = array.base
        return any(array is held for held in self._maps)

    def column(self, dtype: Any) -> ArrayWriter:
        """A writer of a new array."""
        return ArrayWriter(self, np.dtype(dtype))

    def made(self, n: int, dtype: Any, part: Any) -> np.ndarray:
        """A new array of `n` entries, computed by ``part(slice)`` slice by slice."""
        column = self.column(dtype)
        for where in chunks(n):
            column.append(part(where))
        made = column.array().view(MappedArray)
        made.maps = self
        return made

    def _mapped(self, file: Any, dtype: np.dtype, shape: tuple[int, ...]) -> Any:
        if 0 in shape:
            return np.empty(shape, dtype)
        with memory_errors(f"an array of shape {shape}"):
            held = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._maps.append(held)
        return np.ndarray(shape, dtype, buffer=held)

    def let_go(self) -> None:
        """Release all resident pages; the system reads them again when they are used."""
        if hasattr(mmap, "MADV_DONTNEED"):
            for held in self._maps:
                held.madvise(mmap.MADV_DONTNEED)


class ArrayWriter:
    """Writes an array to a temporary file, one part after another."""

    def __init__(self, maps: MappedFiles, dtype: np.dtype) -> None:
        self.dtype, self.size = dtype, 0
        self._maps = maps
        with self._room():
            self._file = tempfile.TemporaryFile(dir=maps.folder)  # noqa: SIM115

    def append(self, part: Any) -> None:
        """Append entries, converted to the dtype of the array."""
        part = np.ascontiguousarray(part, dtype=self.dtype)
        with self._room():
            self._file.write(memoryview(part.reshape(-1)).cast("B"))
        self.size += part.size

    def of_type(self, dtype: Any) -> ArrayWriter:
        """A writer of another dtype that holds the entries so far."""
        if dtype == self.dtype:
            return self
        other, old = self._maps.column(dtype), self.array()
        for where in chunks(len(old)):
            other.append(old[where])
        return other

    def array(self, *shape: int) -> Any:
        """Close the file and map all entries as an array."""
        with self._room():
            self._file.flush()
        found = self._maps._mapped(self._file, self.dtype, shape or (self.size,))
        self._file.close()
        return found

    def _room(self) -> _DiskErrors:
        return _DiskErrors(self._maps.folder)


class _DiskErrors:
    """Adds the folder of the temporary files to disk errors inside the block."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: Any, error: BaseException | None, _trace: Any) -> None:
        if isinstance(error, OSError) and error.errno != errno.ENOMEM:
            text = f"cache={self._folder!r}: {error.strerror or error}"
            raise OSError(error.errno, text) from None


class ResidentPageLimit:
    """While the block runs, releases mapped pages whenever too many of them are resident.

    Then the resident memory of the process is mostly its own allocations. Released pages stay in
    the system's cache while memory is free, so reading them again costs little.
    """

    def __init__(self, maps: MappedFiles | None) -> None:
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
            rest = _MIN_REST_SECONDS
            while not self._ended.wait(_POLL_SECONDS):
                now = _mapped_pages(told) * page
                least = min(least, now)
                if now > least + _MAX_RESIDENT_BYTES:
                    maps.let_go()
                    self._ended.wait(rest)
                    back = _mapped_pages(told) * page > least + _MAX_RESIDENT_BYTES
                    rest = min(2 * rest, _MAX_REST_SECONDS) if back else _MIN_REST_SECONDS
        maps.let_go()


def _mapped_pages(told: Any) -> int:
    told.seek(0)
    return int(told.read().split()[2])
