"""Out-of-core training and prediction on sources of rows (`budgetsvm.data.open`)."""

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
from .data._mapped_arrays import ResidentPageLimit
from .data._pieces import Block
from .data._read_errors import memory_errors
from .data._source import Source
from .data._stored_rows import StoredRows

#: Length of the header of an .npy file in bytes.
_HEADER_BYTES = 128


@contextmanager
def open_training_rows(
    estimator: Any, X: Any, y: Any, sample_weight: Any, told: Callable[[int], None] | None = None
) -> Iterator[tuple[Any, Any, Any]]:
    """Rows, targets and weights of a fit: as given, or the stored rows of a source.

    Estimators without `_takes_stored` get plain arrays.
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
    with ResidentPageLimit(stored.maps), X.keeping():
        if estimator._takes_stored:
            yield stored, None, stored.weights() if weighted else None
        else:
            labels = None if stored.y is None else stored.labels(slice(None))
            yield stored.X, labels, stored.weight
            note(estimator, stored.layout)


def stored_rows(estimator: Any, stored: StoredRows, reset: bool, dtypes: Any) -> Any:
    """The rows of a fit to a source, which were checked when they were read."""
    X, layout = stored.X, stored.layout
    with _positional_columns(estimator, layout, fresh=reset):
        validate_data(estimator, X, skip_check_array=True, reset=reset)
    known = dtypes if isinstance(dtypes, (list, tuple)) else [dtypes]
    return X if X.dtype in known else X.astype(known[0])


def align_columns(estimator: Any, X: Any) -> Any:
    """A source whose columns and index base are those of the rows of the fit."""
    if not isinstance(X, Source) or "n_features_in_" not in estimator.__dict__:
        return X
    fitted = layout_of(estimator)
    if X.columns is not None and fitted.names is None:
        name = type(estimator).__name__
        _validation.warn(f"X has feature names, but {name} was fitted without feature names")
    return X.like(fitted)


def align_validation(X: Any, other: Any) -> Any:
    """A validation source whose columns are aligned with the training rows `X`."""
    if not isinstance(other, Source):
        return other
    return other.like(X.layout() if isinstance(X, Source) else Layout(names_of(X)))


@contextmanager
def _positional_columns(estimator: Any, layout: Layout, fresh: bool) -> Iterator[None]:
    """Inside the block the estimator takes rows of this layout by position, without names.

    A `fresh` estimator is fitted inside and gets this layout. For another one the names are checked
    first; if the rows have no names, scikit-learn warns.
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


def stored_target(estimator: Any, stored: StoredRows) -> np.ndarray:
    """The targets of a fit to a source."""
    if stored.y is None:
        raise ValueError("the source has no target: give `target` to budgetsvm.data.open")
    return stored.coded() if is_classifier(estimator) else stored.values()


def train_blocks(
    estimator: Any, step: Callable[..., Any], given: tuple[Any, Any, Any], to: tuple[Any, float]
) -> None:
    """Call `step` once with rows, targets and weights, or once for every block of a source.

    Blocks whose weights are all zero are skipped. `to` is the path of a checkpoint or None, and the
    seconds between two checkpoints.
    """
    X, y, sample_weight = given
    checkpoint = None if to[0] is None else Checkpoint(estimator, *to, X)
    if not isinstance(X, Source):
        if not _has_no_weight(X, sample_weight):
            step(X, y, sample_weight)
        return
    if y is not None or sample_weight is not None:
        raise ValueError("y and sample_weight: a source has its own")
    X, layout = align_columns(estimator, X), None
    found = None if checkpoint is None else checkpoint.read()
    done = 0 if found is None else int(found[0]["rows"])
    first, learnt = 0, None
    blocks = X.blocks()
    while True:
        try:
            block = next(blocks, None)
        except KeyboardInterrupt:
            _write_checkpoint(checkpoint, learnt)
            raise
        if block is None:
            break
        last = first + block.X.shape[0]
        if checkpoint is not None and found is not None and first < done:
            if last > done or (last == done and _block_checksum(block) != found[0]["sum"]):
                raise checkpoint.other_rows()
            if last == done:
                checkpoint.adopt(found[1])
            first = last
            continue
        layout = layout or X.layout()
        fresh = "n_features_in_" not in estimator.__dict__
        try:
            if not _has_no_weight(block.X, block.weight):
                with _positional_columns(estimator, layout, fresh):
                    step(*block)
        except ValueError as error:
            raise ValueError(f"{X!r}, rows {first} to {last - 1}: {error}") from None
        except KeyboardInterrupt:
            _write_checkpoint(checkpoint, learnt)
            raise
        first, learnt = last, (last, block)
        if checkpoint is not None and checkpoint.due():
            _write_checkpoint(checkpoint, learnt)
    if checkpoint is not None:
        if first < done:
            raise checkpoint.other_rows()
        checkpoint.done()


def _has_no_weight(X: Any, sample_weight: Any) -> bool:
    """Whether every row has the weight 0."""
    if sample_weight is None:
        return False
    try:
        weights = np.asarray(sample_weight)
    except ValueError:  # whoever checks it says so
        return False
    fits = weights.dtype.kind in "biuf" and weights.shape in ((), (_num_samples(X),))
    return fits and not weights.any()


def _write_checkpoint(checkpoint: Checkpoint | None, learnt: tuple[int, Block] | None) -> None:
    """Write a checkpoint of what was learnt up to the end of a block."""
    if checkpoint is not None and learnt is not None:
        checkpoint.write({"rows": learnt[0], "sum": _block_checksum(learnt[1])})


def _block_checksum(block: Block) -> int:
    X: Any = block.X
    return checksum(X if isinstance(X, np.ndarray) else (X.data, X.indices, X.indptr))


def is_blockwise(X: Any, out: Any) -> bool:
    """Whether predictions are computed block by block or written to a file."""
    return out is not None or isinstance(X, Source)


def predict_blocks(
    ask: Callable[[Any], np.ndarray], X: Any, out: Any, labels: Any = None
) -> np.ndarray:
    """Predictions for all rows, block by block, in an .npy file if `out` names one.

    `ask` is a method of an estimator. `labels` are all labels that it can predict, if it does.
    """
    said = _iterate_predictions(ask, X) if isinstance(X, Source) else iter([ask(X)])
    if out is None:
        return np.concatenate(list(said))
    path, count, first = os.fsdecode(out), 0, None
    with write_atomically(path) as file:
        file.write(bytes(_HEADER_BYTES))
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
            file.write(_npy_header(first, count))
    with memory_errors(path):
        return np.load(path, mmap_mode="r")


def _iterate_predictions(ask: Callable[[Any], np.ndarray], source: Source) -> Iterator[np.ndarray]:
    """The predictions for each block of a source."""
    estimator: Any = ask.__self__  # type: ignore[attr-defined]
    source = align_columns(estimator, source)
    # Blocks have no names; those of the source have been checked. A copy of the estimator without
    # names predicts, so that other threads can use the estimator meanwhile.
    other = object.__new__(type(estimator))
    other.__dict__.update(estimator.__dict__)
    other.__dict__.pop("feature_names_in_", None)
    by_place = getattr(other, ask.__name__, ask)
    for block in source.blocks():
        yield (ask if source.columns is None else by_place)(block.X)


def _npy_header(like: np.ndarray, rows: int) -> bytes:
    """The header of an .npy file, always of the same length."""
    said = {
        "descr": np.lib.format.dtype_to_descr(like.dtype),
        "fortran_order": False,
        "shape": (rows, *like.shape[1:]),
    }
    return (
        b"\x93NUMPY\x01\x00"
        + (_HEADER_BYTES - 10).to_bytes(2, "little")
        + (f"{said!r}".encode().ljust(_HEADER_BYTES - 11) + b"\n")
    )
