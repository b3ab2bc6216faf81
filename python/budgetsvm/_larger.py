"""How estimators take sources of rows in the place of arrays (`budgetsvm.data.open`)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import has_fit_parameter, validate_data

from ._files import whole
from .data._mapped import Trimmed
from .data._source import Source
from .data._stored import Stored

#: Bytes before the numbers of an .npy file.
_HEADER = 128


@contextmanager
def opened(
    estimator: Any, X: Any, y: Any, sample_weight: Any, told: Callable[[int], None] | None = None
) -> Iterator[tuple[Any, Any, Any]]:
    """Rows, targets and weights of a fit: as they are given, or what a source stores.

    Estimators that do not say that they take what is stored get plain arrays.
    """
    if not isinstance(X, Source):
        yield X, y, sample_weight
        return
    for name, given in (("y", y), ("sample_weight", sample_weight)):
        if given is not None:
            raise ValueError(f"{name}: a source has its own; give it to budgetsvm.data.open")
    stored = X.stored(told)
    weighted = has_fit_parameter(estimator, "sample_weight")
    if stored.weight is not None and not weighted:
        raise ValueError(
            f"the source has weights, which {type(estimator).__name__}.fit does not take: open it "
            "without `weight`"
        )
    with Trimmed(stored.maps):
        if estimator._takes_stored:
            yield stored, None, stored.weights() if weighted else None
        else:
            labels = None if stored.y is None else stored.labels(slice(None))
            yield stored.X, labels, stored.weight


def checked_rows(estimator: Any, stored: Stored, reset: bool, dtypes: Any) -> Any:
    """The rows of a fit, which were checked when they were read."""
    X = stored.X
    validate_data(estimator, X, skip_check_array=True, reset=reset)
    known = dtypes if isinstance(dtypes, (list, tuple)) else [dtypes]
    return X if X.dtype in known else X.astype(known[0])


def target_of(estimator: Any, stored: Stored) -> np.ndarray:
    """The targets of a fit."""
    if stored.y is None:
        raise ValueError("the source has no target: give `target` to budgetsvm.data.open")
    return stored.coded() if is_classifier(estimator) else stored.values()


def each_part(step: Callable[..., Any], X: Any, y: Any, sample_weight: Any) -> None:
    """A step with rows, targets and weights, or one with each block of a source."""
    if not isinstance(X, Source):
        step(X, y, sample_weight)
        return
    if y is not None or sample_weight is not None:
        raise ValueError("y and sample_weight: a source has its own")
    first = 0
    for block in X.blocks():
        last = first + block.X.shape[0]
        try:
            step(*block)
        except ValueError as error:
            raise ValueError(f"{X!r}, rows {first} to {last - 1}: {error}") from None
        first = last


def is_many(X: Any, out: Any) -> bool:
    """Whether a prediction is made block by block."""
    return out is not None or isinstance(X, Source)


def answers(ask: Callable[[Any], np.ndarray], X: Any, out: Any, labels: Any = None) -> np.ndarray:
    """What is said of each row, block by block; in an .npy file where `out` names one.

    `labels` are all that may be said, where these are labels.
    """
    blocks = (block.X for block in X.blocks()) if isinstance(X, Source) else iter([X])
    if out is None:
        return np.concatenate([ask(rows) for rows in blocks])
    path, count, first = os.fsdecode(out), 0, None
    with whole(path) as file:
        file.write(bytes(_HEADER))
        for rows in blocks:
            found = np.ascontiguousarray(ask(rows))
            if found.dtype.hasobject:
                # As wide as the longest label, which the first rows may not have.
                found = found.astype(np.asarray(labels, dtype=str).dtype)
            if first is None:
                first = found[:0]
            found = found.astype(first.dtype, copy=False)
            file.write(found.tobytes())
            count += len(found)
        if first is not None:
            file.seek(0)
            file.write(_header(first, count))
    return np.load(path, mmap_mode="r")


def _header(like: np.ndarray, rows: int) -> bytes:
    """The beginning of an .npy file, always of the same length."""
    said = {
        "descr": np.lib.format.dtype_to_descr(like.dtype),
        "fortran_order": False,
        "shape": (rows, *like.shape[1:]),
    }
    return (
        b"\x93NUMPY\x01\x00"
        + (_HEADER - 10).to_bytes(2, "little")
        + (f"{said!r}".encode().ljust(_HEADER - 11) + b"\n")
    )
