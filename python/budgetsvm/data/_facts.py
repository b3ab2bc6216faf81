"""What was found in all rows of files, kept in a file beside them for other processes."""

from __future__ import annotations

import json
import math
import os
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _core, _validation
from .._files import open_regular, write_atomically
from ._side_arrays import SideArray

#: What a file of facts says that it is, the most bytes of one, and the most classes in one.
_FORMAT, _BYTES, _CLASSES = "budgetsvm facts 1", 1 << 24, 1 << 16


def place_of(facts: Any, paths: list[str]) -> str | None:
    """The file that is meant; True is one beside the first of the rows' files."""
    if facts is None or facts is False:
        return None
    if facts is True:
        folder, name = os.path.split(paths[0])
        return os.path.join(folder, f".{name}.facts.json")
    if not isinstance(facts, (str, bytes, os.PathLike)):
        kind = type(facts).__name__
        raise ValueError(f"facts must be True, False, None or a file name, got {kind}")
    path = os.fsdecode(facts)
    if any(os.path.realpath(path) == os.path.realpath(one) for one in paths):
        raise ValueError(f"facts={path!r} is a file of the rows themselves")
    return path


def said(given: Any) -> Any:
    """What tells a target, weights or columns from others, as JSON has it."""
    if isinstance(given, SideArray):
        array = given.given
        if array is None:
            return {"files": len(given.paths)}
        text = array.dtype.hasobject
        raw: Any = json.dumps(array.tolist(), default=str).encode() if text else array.tobytes()
        told = zlib.crc32(raw)
        return {"dtype": array.dtype.str, "rows": len(array), "sum": told}
    return repr(_validation.plain(given))


class SourceFacts:
    """A file of facts: what it is of, and what it knows.

    Parameters
    ----------
    path : str
        Its name.
    of : callable
        Returns what tells the rows from others as they are now.
    """

    def __init__(self, path: str, of: Callable[[], Any]) -> None:
        self._path, self.of = path, of
        self._known_of: Any = None
        self._known: dict[str, Any] = {}
        self._read()

    def _read(self) -> None:
        try:
            with open_regular(self._path) as file:
                raw = file.read(_BYTES + 1)
        except FileNotFoundError:
            return
        try:
            told = json.loads(raw, parse_constant=_refuse)
            body = told["body"]
            if told["format"] != _FORMAT or told["sum"] != _sum(body):
                raise ValueError("its sum is another")
            if body["of"] == self.of():
                self._known, self._known_of = _checked(body["found"]), body["of"]
        except (
            AttributeError,
            KeyError,
            TypeError,
            ValueError,
            OverflowError,
            RecursionError,
        ) as error:
            raise self.wrong(f"damaged, or no file of facts: {error}") from None

    def wrong(self, what: str) -> ValueError:
        """What is wrong with the file."""
        return ValueError(f"facts={self._path!r}: {what}; delete it, or give another name")

    def recalled(self, shape: tuple[int, int] | None = None) -> dict[str, Any]:
        """What is known of the rows as they are now, which are of this shape."""
        if self._known_of != self.of():
            return {}
        known = dict(self._known)
        for name, own in zip(("n_rows", "n_features"), shape or (), strict=False):
            if known.get(name, own) != own:
                raise self.wrong(f"it knows {known[name]} as {name}, which is {own}")
        if "classes" in known:
            known["classes"] = np.array(known["classes"]["values"], known["classes"]["dtype"])
            known["facts"] = self
        if known.get("scales") is not None:
            known["scales"] = tuple(known["scales"])
        return known

    def keep(self, found: dict[str, Any], of: Any) -> None:
        """Write what is new of the rows, which were `of` when this was found."""
        classes = found.get("classes")
        if classes is not None:
            few = len(classes) <= _CLASSES and classes.dtype.kind in "biuf"
            text = {"dtype": classes.dtype.str, "values": classes.tolist()}
            found = found | {"classes": text} if few else _without(found)
        before = self._known if self._known_of == of else {}
        found = before | {name: found[name] for name in _RULES if name in found}
        if (found == before and before) or of != self.of():
            return
        body = json.loads(json.dumps({"of": of, "found": found}, allow_nan=False))
        try:
            with write_atomically(self._path) as file:
                told = {"format": _FORMAT, "sum": _sum(body), "body": body}
                file.write(json.dumps(told).encode() + b"\n")
        except OSError as error:
            _validation.warn(f"facts={self._path!r} was not written: {error}")
        self._known, self._known_of = body["found"], of


def _sum(body: Any) -> int:
    return zlib.crc32(json.dumps(body, sort_keys=True).encode())


def identity(paths: list[str], options: dict[str, Any]) -> Any:
    """What tells rows of files from others: names, sizes and times, and how they are read."""
    told = [(os.path.basename(path), os.stat(path)) for path in paths]
    files = [[name, one.st_size, one.st_mtime_ns] for name, one in told]
    return {"version": _core.__version__, "files": files, "options": options}


def _without(found: dict[str, Any]) -> dict[str, Any]:
    return {name: fact for name, fact in found.items() if name not in ("classes", "class_sums")}


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _count(fact: Any) -> bool:
    return type(fact) is int and 1 <= fact < 2**62


def _size(fact: Any) -> bool:
    return type(fact) in (int, float) and math.isfinite(fact) and fact >= 0


def _bounds(fact: Any) -> bool:
    least, most = fact
    return type(least) is int and type(most) is int and 0 <= least <= most < 2**31


def _scales(fact: Any) -> bool:
    return fact is None or (len(fact) == 3 and all(map(_count, fact[:2])) and _size(fact[2]))


def _classes(fact: Any) -> bool:
    values = np.array(fact["values"], dtype=fact["dtype"])
    told = set(map(type, fact["values"])) <= {int, float, bool} and values.dtype.kind in "biuf"
    exact = values.dtype.str == fact["dtype"] and values.tolist() == fact["values"]
    return told and exact and values.ndim == 1 and bool(np.all(values[1:] > values[:-1]))


def _sums(fact: Any) -> bool:
    sums, total = fact
    return all(map(_size, sums)) and _size(total)


#: What may be known, and whether a value may be it.
_RULES: dict[str, Callable[[Any], bool]] = {
    "n_rows": _count, "n_features": _count, "bounds": _bounds, "variance": _size,
    "scales": _scales, "classes": _classes, "class_sums": _sums,
}  # fmt: skip


def _checked(found: Any) -> dict[str, Any]:
    """These facts, each of which may be one."""
    for name, fact in found.items():
        if not _RULES[name](fact):
            raise ValueError(f"{name} is {str(fact)[:40]}")
    if "class_sums" in found and len(found["class_sums"][0]) != len(found["classes"]["values"]):
        raise ValueError("class_sums is of other classes")
    return dict(found)
