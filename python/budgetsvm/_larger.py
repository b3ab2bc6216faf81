"""How estimators take sources of rows in the place of arrays (`budgetsvm.data.open`)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import _num_samples, has_fit_parameter, validate_data

from . import _validation
from ._checkpoint import Checkpoint, checksum
from ._columns import Layout, expect_order, layout_of, names_of, note
from ._files import write_atomically
from .data._damaged import memory
from .data._mapped import Trimmed
from .data._pieces import Block
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
    with Trimmed(stored.maps), X.keeping():
        if estimator._takes_stored:
            yield stored, None, stored.weights() if weighted else None
        else:
            labels = None if stored.y is None else stored.labels(slice(None))
            yield stored.X, labels, stored.weight
            note(estimator, stored.layout)


def checked_rows(estimator: Any, stored: Stored, reset: bool, dtypes: Any) -> Any:
    """The rows of a fit, which were checked when they were read."""
    X, layout = stored.X, stored.layout
    with _by_place(estimator, layout, fresh=reset):
        validate_data(estimator, X, skip_check_array=True, reset=reset)
    known = dtypes if isinstance(dtypes, (list, tuple)) else [dtypes]
    return X if X.dtype in known else X.astype(known[0])


def in_line(estimator: Any, X: Any) -> Any:
    """A source with its columns, and the base of its indices, as in the rows of the fit."""
    if not isinstance(X, Source) or "n_features_in_" not in estimator.__dict__:
        return X
    fitted = layout_of(estimator)
    if X.columns is not None and fitted.names is None:
        name = type(estimator).__name__
        _validation.warn(f"X has feature names, but {name} was fitted without feature names")
    return X.like(fitted)


def beside(X: Any, other: Any) -> Any:
    """Another source, in line with the rows of a fit that is to come."""
    if not isinstance(other, Source):
        return other
    return other.like(X.layout() if isinstance(X, Source) else Layout(names_of(X)))


@contextmanager
def _by_place(estimator: Any, layout: Layout, fresh: bool) -> Iterator[None]:
    """Inside, the estimator is given rows of this layout as arrays, which have no names.

    Of a `fresh` estimator, which is fitted inside, they are the layout. Another one has looked at
    the names; where the rows have none, scikit-learn warns of it.
    """
    own = estimator.__dict__
    known = own.get("feature_names_in_")
    if not fresh and layout.names is None:
        yield
        return
    if not fresh:
        expect_order(known, layout.names, "X")
    own.pop("feature_names_in_", None)
    try:
        yield
    finally:
        if fresh and "n_features_in_" in own:
            note(estimator, layout)
        elif known is not None:
            own["feature_names_in_"] = known


def target_of(estimator: Any, stored: Stored) -> np.ndarray:
    """The targets of a fit."""
    if stored.y is None:
        raise ValueError("the source has no target: give `target` to budgetsvm.data.open")
    return stored.coded() if is_classifier(estimator) else stored.values()


def each_part(
    estimator: Any, step: Callable[..., Any], given: tuple[Any, Any, Any], to: tuple[Any, float]
) -> None:
    """A step with rows, targets and weights, or one with each block of a source.

    Rows whose weights are all zero are no step: the estimator stays as it is. `to` is a checkpoint,
    or None, and the seconds between two of them.
    """
    X, y, sample_weight = given
    checkpoint = None if to[0] is None else Checkpoint(estimator, *to, X)
    if not isinstance(X, Source):
        if not _is_weightless(X, sample_weight):
            step(X, y, sample_weight)
        return
    if y is not None or sample_weight is not None:
        raise ValueError("y and sample_weight: a source has its own")
    X, layout = in_line(estimator, X), None
    found = None if checkpoint is None else checkpoint.read()
    done = 0 if found is None else int(found[0]["rows"])
    first, learnt = 0, None
    blocks = X.blocks()
    while True:
        try:
            block = next(blocks, None)
        except KeyboardInterrupt:
            _keep(checkpoint, learnt)
            raise
        if block is None:
            break
        last = first + block.X.shape[0]
        if checkpoint is not None and found is not None and first < done:
            if last > done or (last == done and _sum_of(block) != found[0]["sum"]):
                raise checkpoint.other_rows()
            if last == done:
                checkpoint.adopt(found[1])
            first = last
            continue
        layout = layout or X.layout()
        fresh = "n_features_in_" not in estimator.__dict__
        try:
            if not _is_weightless(block.X, block.weight):
                with _by_place(estimator, layout, fresh):
                    step(*block)
        except ValueError as error:
            raise ValueError(f"{X!r}, rows {first} to {last - 1}: {error}") from None
        except KeyboardInterrupt:
            _keep(checkpoint, learnt)
            raise
        first, learnt = last, (last, block)
        if checkpoint is not None and checkpoint.due():
            _keep(checkpoint, learnt)
    if checkpoint is not None:
        if first < done:
            raise checkpoint.other_rows()
        checkpoint.done()


def _is_weightless(X: Any, sample_weight: Any) -> bool:
    """Whether there is a weight for every row, and each is zero."""
    if sample_weight is None:
        return False
    try:
        weights = np.asarray(sample_weight)
    except ValueError:  # whoever checks it says so
        return False
    fits = weights.dtype.kind in "biuf" and weights.shape in ((), (_num_samples(X),))
    return fits and not weights.any()


def _keep(checkpoint: Checkpoint | None, learnt: tuple[int, Block] | None) -> None:
    """Write what was learnt up to the end of a block."""
    if checkpoint is not None and learnt is not None:
        checkpoint.write({"rows": learnt[0], "sum": _sum_of(learnt[1])})


def _sum_of(block: Block) -> int:
    X: Any = block.X
    return checksum(X if isinstance(X, np.ndarray) else (X.data, X.indices, X.indptr))


def is_many(X: Any, out: Any) -> bool:
    """Whether a prediction is made block by block."""
    return out is not None or isinstance(X, Source)


def answers(ask: Callable[[Any], np.ndarray], X: Any, out: Any, labels: Any = None) -> np.ndarray:
    """What is said of each row, block by block; in an .npy file where `out` names one.

    `ask` is a method of an estimator; `labels` are all that it may say, where these are labels.
    """
    said = _of_blocks(ask, X) if isinstance(X, Source) else iter([ask(X)])
    if out is None:
        return np.concatenate(list(said))
    path, count, first = os.fsdecode(out), 0, None
    with write_atomically(path) as file:
        file.write(bytes(_HEADER))
        for part in said:
            found = np.ascontiguousarray(part)
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
    with memory(path):
        return np.load(path, mmap_mode="r")


def _of_blocks(ask: Callable[[Any], np.ndarray], source: Source) -> Iterator[np.ndarray]:
    """What is said of each block of a source."""
    estimator: Any = ask.__self__  # type: ignore[attr-defined]
    source = in_line(estimator, source)
    # Blocks have no names, and those of the source were looked at: another estimator is asked, so
    # that this one can be used by other threads.
    other = object.__new__(type(estimator))
    other.__dict__.update(estimator.__dict__)
    other.__dict__.pop("feature_names_in_", None)
    by_place = getattr(other, ask.__name__, ask)
    for block in source.blocks():
        yield (ask if source.columns is None else by_place)(block.X)


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
