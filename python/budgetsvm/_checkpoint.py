"""Files that an interrupted training goes on from."""

from __future__ import annotations

import json
import os
import time
import zlib
from contextlib import suppress
from typing import Any

import numpy as np

from . import _core, _validation
from ._serialization import param_to_store, to_json
from .data._source import Source

#: Bytes that are looked at at a time.
_BYTES = 1 << 22
#: Hyperparameters that change nothing about the machine.
_FREE = ("n_jobs", "verbose", "callback")


class Checkpoint:
    """A file that has the estimator as it was after a part of a training, and how far that was."""

    def __init__(self, estimator: Any, path: Any, every: Any, source: Any) -> None:
        if not _validation.is_number(every) or every < 0:
            raise ValueError(f"every must be a number of seconds >= 0, got {every!r}")
        if not isinstance(source, Source):
            raise ValueError("checkpoint: only for rows from a source (budgetsvm.data.open)")
        seed = getattr(estimator, "random_state", 0)
        if hasattr(estimator, "random_state") and not isinstance(seed, (int, np.integer)):
            raise ValueError(
                "checkpoint: random_state must be an integer, or what goes on is another training"
            )
        name = os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else ""
        if not name.endswith(".safetensors"):
            raise ValueError(f"checkpoint must be a file name ending in .safetensors, got {path!r}")
        self._path, self._every = name, float(every)
        self._estimator = estimator
        self._last = time.monotonic()

    def read(self) -> tuple[dict[str, Any], Any] | None:
        """How far a training came that has left its file, and the estimator of then."""
        if not os.path.exists(self._path):
            return None
        text, arrays, machine = _core.archive_load(self._path)
        told = json.loads(text)
        said = told.pop("checkpoint", None) if isinstance(told, dict) else None
        kind = type(self._estimator)
        if not isinstance(said, dict) or told.get("kind") != kind.__name__:
            raise ValueError(f"checkpoint={self._path!r} is no checkpoint of a {kind.__name__}")
        found = kind._from_archive(told, arrays, machine)
        self._check_params(_params(self._estimator), _params(found))
        return said, found

    def of_fit(self, config: str, rows: int) -> tuple[str, float, str]:
        """What `_core` takes: the name, the seconds between two files, and what the fit is.

        A file of another one is refused here, where names of hyperparameters are known.
        """
        params = {n: param_to_store(n, v, {}) for n, v in _params(self._estimator).items()}
        kind = type(self._estimator).__name__
        of = {
            "kind": kind, "params": to_json(params), "config": config, "rows": rows,
            "version": _core.__version__,
        }  # fmt: skip
        text = json.dumps(of, allow_nan=False)
        if os.path.exists(self._path):
            found, _, machine = _core.archive_load(self._path)
            theirs, mine = json.loads(found), json.loads(text)
            if machine is not None or set(theirs) != set(mine) or theirs["kind"] != kind:
                raise ValueError(f"checkpoint={self._path!r} is no checkpoint of a {kind}.fit")
            self._check_params(mine["params"], theirs["params"])
            if theirs["rows"] != rows:
                raise self.other_rows()
            if theirs != mine:
                raise ValueError(
                    f"checkpoint={self._path!r} is of another version of this library: delete it "
                    "to begin anew"
                )
        return self._path, self._every, text

    def _check_params(self, mine: dict[str, Any], theirs: dict[str, Any]) -> None:
        """Whether a training has the same hyperparameters."""
        other = [n for n in mine if n not in theirs or not _same(mine[n], theirs[n])]
        if other:
            name = other[0]
            raise ValueError(
                f"checkpoint={self._path!r} is of a training with another {name}: "
                f"{theirs.get(name)!r}, not {mine[name]!r}"
            )

    def adopt(self, found: Any) -> None:
        """Make the estimator what that one had learnt."""
        names = set(found.get_params(deep=False))
        self._estimator.__dict__.update({n: v for n, v in found.__dict__.items() if n not in names})

    def due(self) -> bool:
        """Whether it is time to write."""
        return time.monotonic() - self._last >= self._every

    def write(self, said: dict[str, Any]) -> None:
        """Keep the estimator as it is, whole or not at all."""
        description, arrays = self._estimator._description()
        description["checkpoint"] = said
        text = json.dumps(description, allow_nan=False)
        _core.archive_save(self._path, text, arrays, self._estimator.__dict__["_machine"])
        self._last = time.monotonic()

    def other_rows(self) -> ValueError:
        """What is wrong where the file is of other rows."""
        return ValueError(
            f"checkpoint={self._path!r} is of a training on other rows: delete it to begin anew"
        )

    def done(self) -> None:
        """The training has ended: nothing goes on from the file."""
        with suppress(FileNotFoundError):
            os.unlink(self._path)


def checksum(*arrays: Any) -> int:
    """A number that tells rows from others."""
    found = 0
    for array in arrays:
        for part in array if isinstance(array, tuple) else (array,):
            if isinstance(part, np.ndarray):
                step = max(_BYTES // max(part[:1].nbytes, 1), 1)
                for first in range(0, len(part), step):
                    some: Any = np.ascontiguousarray(part[first : first + step])
                    found = zlib.crc32(some, found)
    return found


def _params(estimator: Any) -> dict[str, Any]:
    return {n: v for n, v in estimator.get_params(deep=False).items() if n not in _FREE}


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, (list, tuple, np.ndarray)) or isinstance(other, (list, tuple, np.ndarray)):
        return np.array_equal(np.asarray(one), np.asarray(other))
    return bool(one == other)
