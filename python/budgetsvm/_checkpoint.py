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
        mine, theirs = (_params(one) for one in (self._estimator, found))
        other = [name for name in mine if not _same(mine[name], theirs[name])]
        if other:
            raise ValueError(
                f"checkpoint={self._path!r} is of a training with another {other[0]}: "
                f"{theirs[other[0]]!r}, not {mine[other[0]]!r}"
            )
        return said, found

    def adopt(self, found: Any) -> None:
        """Make the estimator what that one had learnt."""
        names = set(found.get_params(deep=False))
        self._estimator.__dict__.update({n: v for n, v in found.__dict__.items() if n not in names})

    def due(self) -> bool:
        """Whether it is time to write."""
        return time.monotonic() - self._last >= self._every

    def write(self, said: dict[str, Any], estimator: Any = None) -> None:
        """Keep the estimator as it is, whole or not at all."""
        estimator = self._estimator if estimator is None else estimator
        description, arrays = estimator._described()
        description["checkpoint"] = said
        text = json.dumps(description, allow_nan=False)
        _core.archive_save(self._path, text, arrays, estimator.__dict__["_machine"])
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


def joined(first: dict[str, Any], last: dict[str, Any]) -> dict[str, Any]:
    """What a fit tells whose parts told these."""
    if last["n_iter"] > 0:  # few distinct rows: solved for without passes
        return last
    early = last["stop_reason"] in ("max_time", "callback")
    begun = first["history"]["time"][-1] if len(first["history"]["time"]) else 0.0
    after = {**last["history"], "time": last["history"]["time"] + begun}
    history = {name: np.concatenate([first["history"][name], after[name]]) for name in after}
    return {
        **last,
        "n_iter": first["n_iter"],
        "stop_reason": last["stop_reason"] if early else first["stop_reason"],
        "history": history,
    }


def _params(estimator: Any) -> dict[str, Any]:
    return {n: v for n, v in estimator.get_params(deep=False).items() if n not in _FREE}


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, (list, tuple, np.ndarray)) or isinstance(other, (list, tuple, np.ndarray)):
        return np.array_equal(np.asarray(one), np.asarray(other))
    return bool(one == other)
