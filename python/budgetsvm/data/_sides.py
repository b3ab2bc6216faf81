"""Targets and weights that stand beside the rows."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ._damaged import readable


class Side:
    """One number or label a row, by the number of the row among all."""

    def __init__(self, what: str, given: Any) -> None:
        self.what = what
        self.paths = paths_of(given)
        self._given = np.empty(0) if self.paths else np.asarray(given)
        self.begin()

    def begin(self) -> None:
        """Look at the files anew."""
        self._parts = [load(path, self.what) for path in self.paths] or [self._given]
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
    def whole(self) -> np.ndarray | None:
        """All of them, where they stand in one array."""
        return self._parts[0] if len(self._parts) == 1 else None


def paths_of(given: Any) -> list[str]:
    """The names of files, where this is one or a list of them."""
    if isinstance(given, (str, os.PathLike)):
        return [os.fsdecode(given)]
    many = list(given) if isinstance(given, (list, tuple)) else []
    if many and all(isinstance(one, os.PathLike) or str(one).endswith(".npy") for one in many):
        return [os.fsdecode(path) for path in many]
    return []


def load(path: str, what: str) -> np.ndarray:
    """The array of a file, mapped."""
    with readable(path):
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    if not isinstance(found, np.ndarray):
        raise ValueError(f"{path}: {what} must be an .npy file of one array")
    return found
