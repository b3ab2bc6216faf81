"""What sources of files share: names, identity, targets and weights beside the rows."""

from __future__ import annotations

import glob
import os
from typing import Any

import numpy as np

from .._files import open_regular
from ._facts import SourceFacts, identity, place_of, said
from ._npy import changed, identity_of
from ._side_arrays import SideArray, paths_of
from ._source import Source


def expanded(given: Any) -> list[str]:
    """The files that names, patterns and folders stand for, sorted where they are many."""
    found: list[str] = []
    for name in given if isinstance(given, (list, tuple)) else [given]:
        name = os.fsdecode(name)
        if os.path.isdir(name):
            inside = sorted(entry.path for entry in os.scandir(name) if entry.is_file())
            more = [path for path in inside if not os.path.basename(path).startswith((".", "_"))]
        elif os.path.exists(name):
            more = [name]
        else:
            more = sorted(glob.glob(name))
        if not more:
            raise FileNotFoundError(f"{name}: no such file")
        for path in more:
            open_regular(path).close()
        found += more
    if not found:
        raise ValueError("no file is named")
    return found


class FileSource(Source):
    """Rows of files."""

    def __init__(
        self, paths: list[str], *, dtype: Any, target: Any, weight: Any, cache: Any,
        block_rows: int | None,
    ) -> None:  # fmt: skip
        super().__init__(dtype, cache, block_rows)
        self.paths = paths
        self._target, self._weight = self._beside("target", target), self._beside("weight", weight)

    def _beside(self, what: str, given: Any) -> Any:
        """An array beside the rows, or what names a column of them."""
        column = isinstance(given, (int, np.integer)) or (
            isinstance(given, str) and not given.endswith(".npy")
        )
        return given if given is None or column else SideArray(what, given)

    def _sides(self, first: int, rows: int, y: Any, weight: Any) -> tuple[Any, Any]:
        """Targets and weights of some rows, from beside them where they stand there."""
        found = []
        for side, own in ((self._target, y), (self._weight, weight)):
            beside = isinstance(side, SideArray)
            found.append(side.part(first, first + rows) if beside else own)
            if beside and len(found[-1]) != rows:
                raise ValueError(f"{side.what} has {len(side)} rows, the source has more")
        y, weight = found
        return y, None if weight is None else np.asarray(weight, dtype=np.float64)

    def _begin(self) -> None:
        """All rows are to be read from the first on."""
        for side in (self._target, self._weight):
            if isinstance(side, SideArray):
                side.begin()

    def _end(self, rows: int) -> None:
        """All rows were read."""
        for side in (self._target, self._weight):
            if isinstance(side, SideArray):
                side.check_length(rows)

    def _all_paths(self) -> list[str]:
        beside = [side for side in (self._target, self._weight) if isinstance(side, SideArray)]
        return [*self.paths, *(path for side in beside for path in side.paths)]

    def remember(self, facts: Any, options: dict[str, Any]) -> None:
        """Keep what is found in all rows in a file; `options` are how they are read."""
        paths = self._all_paths()
        place = place_of(facts, paths)
        if place is not None:
            sides = {"target": self._target, "weight": self._weight, "dtype": str(self.dtype)}
            told = {name: said(given) for name, given in (options | sides).items()}
            self._facts = SourceFacts(place, lambda: identity(paths, told))
            self._adopt(self._facts.recalled())

    def _adopt(self, known: dict[str, Any]) -> None:
        """Take what another process found before any row is read."""
        self.n_rows = known.get("n_rows", self.n_rows)

    def identity(self) -> Any:
        return tuple(identity_of(os.stat(path)) for path in self._all_paths())

    def _check_same(self, identity: Any) -> None:
        pairs = zip(self._all_paths(), self.identity(), identity, strict=True)
        for path, now, before in pairs:
            if now != before:
                raise changed(path)

    def _name(self) -> str:
        more = f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else ""
        return f"{self.paths[0]}{more}"


__all__ = ["FileSource", "SideArray", "expanded", "paths_of"]
