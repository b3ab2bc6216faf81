"""Targets and weights in files or arrays beside those of the rows."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ._npy import NpyArray


class SideArray:
    """An array with one number or label per row of a source, in memory or in .npy files."""

    def __init__(self, what: str, given: Any) -> None:
        self.what = what
        self.paths = paths_of(given)
        self._given = np.empty(0) if self.paths else np.asarray(given)
        self.begin()

    def begin(self) -> None:
        """Open the files again and check their shapes."""
        files = [NpyArray(path, self.what) for path in self.paths]
        self._parts: list[Any] = files or [self._given]
        for part in self._parts:
            if part.ndim != 1:
                raise ValueError(f"{self.what} must be one number a row, got shape {part.shape}")
        self._ends = np.cumsum([len(part) for part in self._parts])

    def __len__(self) -> int:
        return int(self._ends[-1])

    def part(self, first: int, last: int) -> np.ndarray:
        """Those of some rows; fewer where there are no more."""
        found, begin = [], 0
        for part, end in zip(self._parts, self._ends, strict=True):
            if begin < last and end > first:
                found.append(part[max(first - begin, 0) : last - begin])
            begin = int(end)
        return np.concatenate(found or [self._parts[0][:0]])

    def check_length(self, rows: int) -> None:
        """Refuse another number of them than of rows."""
        if len(self) != rows:
            raise ValueError(f"{self.what} has {len(self)} rows, the source has {rows}")

    @property
    def given(self) -> np.ndarray | None:
        """All of them, where they were given as an array."""
        return None if self.paths else self._given


def paths_of(given: Any) -> list[str]:
    """The names of files, where this is one or a list of them."""
    if isinstance(given, (str, os.PathLike)):
        return [os.fsdecode(given)]
    many = list(given) if isinstance(given, (list, tuple)) else []
    if many and all(isinstance(one, os.PathLike) or str(one).endswith(".npy") for one in many):
        return [os.fsdecode(path) for path in many]
    return []
