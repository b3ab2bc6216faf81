"""Arrays of .npy files, of which a part is read when it is asked for."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .._files import open_regular
from ._read_errors import errors_with_path


class NpyArray:
    """A vector or a matrix in an .npy file.

    Parts are read into memory and the file is not mapped: where another process shortens a mapped
    file, the system ends this one by a signal.

    Parameters
    ----------
    path : str
        The file.
    what : str
        What the array is, for messages.

    Attributes
    ----------
    shape : tuple of int
        The shape, as long as the file is not written to.
    dtype : dtype
        The type of the numbers or labels.
    """

    def __init__(self, path: str, what: str) -> None:
        self.path = path
        with open_regular(path) as file:
            try:
                with errors_with_path(path):
                    header = header_of(file)
            except ValueError as error:
                told = str(error)
                known = told if told.startswith(path) else f"{path}: {told}"
                raise ValueError(f"{known}; {what} must be an .npy file of one array") from None
            self._offset, self._identity = file.tell(), identity_of(os.fstat(file.fileno()))
        shape, self._columns_first, self.dtype = header
        if self.dtype.hasobject:
            raise ValueError(f"{path}: {what} of Python objects are not read")
        if not 1 <= len(shape) <= 2 or min(shape) < 0:
            raise ValueError(f"{path}: {what} of shape {shape}: a vector or a matrix is needed")
        self.shape: tuple[int, ...] = shape
        size = int(self.dtype.itemsize)
        for length in shape:
            size *= length
        if self._offset + size > self._identity[2]:
            raise ValueError(f"{path}: the file ends too early for {what} of shape {shape}")

    @property
    def ndim(self) -> int:
        """Number of dimensions, 1 or 2."""
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, where: slice) -> np.ndarray:
        """Some rows that follow one another, in memory.

        Raises
        ------
        ValueError
            If the file has changed since its beginning was read.
        """
        first, last, _ = where.indices(len(self))
        rows = max(last - first, 0)
        width = self.shape[1] if self.ndim == 2 else 1
        with open_regular(self.path) as file:
            if identity_of(os.fstat(file.fileno())) != self._identity:
                raise changed(self.path)
            if self._columns_first and self.ndim == 2:
                columns = np.empty((width, rows), self.dtype)
                for at, column in enumerate(columns):
                    self._read(file, at * len(self) + first, column)
                return columns.T
            found = np.empty((rows, *self.shape[1:]), self.dtype)
            self._read(file, first * width, found)
            return found

    def _read(self, file: Any, first: int, into: np.ndarray) -> None:
        """The numbers from the first on."""
        file.seek(self._offset + first * self.dtype.itemsize)
        if into.nbytes and file.readinto(into.view(np.uint8).data.cast("B")) != into.nbytes:
            raise changed(self.path)


def changed(path: str) -> ValueError:
    """What is said of a file that another process has written to meanwhile."""
    return ValueError(f"{path}: the file has changed while it was read")


def identity_of(told: os.stat_result) -> tuple[int, int, int, int]:
    """What tells a file from another, and from itself before it was written to."""
    return told.st_dev, told.st_ino, told.st_size, told.st_mtime_ns


def header_of(file: Any) -> tuple[Any, bool, np.dtype]:
    """Shape, whether columns come first, and type, read from the beginning of an array."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0
    if version != (1, 0):
        read = np.lib.format.read_array_header_2_0
    return read(file)
