"""Tables and models of the command line, by what their files are."""

from __future__ import annotations

import csv
import errno
import os
import stat
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ._archive import load
from ._columns import Layout, places
from ._libsvm import from_libsvm
from ._validation import warn
from .data import load_svmlight_file
from .data._read_errors import errors_with_path
from .data._svmlight import first_index

#: Kinds of tables, and the ends of their names; others are rows of svmlight.
ENDS = {"csv": (".csv", ".tsv"), "npy": (".npy",), "npz": (".npz",), "parquet": (".parquet", ".pq")}


def kind_of(path: str, told: str) -> str:
    """The format of a table."""
    if told != "auto":
        return told
    end = os.path.splitext(path)[1].lower()
    return next((kind for kind, ends in ENDS.items() if end in ends), "svmlight")


class Table(NamedTuple):
    """Rows, their labels or None, and what is known of the columns."""

    X: Any
    y: np.ndarray | None
    layout: Layout


def read_table(
    path: str, told: str = "auto", label: str | None = None, zero_based: bool | None = None,
    fitted: Layout | None = None,
) -> Table:  # fmt: skip
    """Rows and labels of a file.

    `label` names a column, or says its place; None is the last, or, of rows for a machine that was
    `fitted`, what its rows had. Columns are brought into the order of the fit by their names.
    """
    kind = kind_of(path, told)
    _expect_rows(path, may_be_a_pipe=kind in ("csv", "svmlight"))
    base = "auto" if zero_based is None else zero_based
    with errors_with_path(path):
        if kind == "svmlight":
            table = _svmlight(path, base, fitted)
        elif kind == "npz":
            table = _npz(path)
        else:
            table = _columns_of(path, kind, label, fitted)
    _check(path, table)
    named = table.layout.names is not None
    if fitted is not None and named is not (fitted.names is not None):
        whose = "those of the fit have none" if named else "its columns have no names"
        warn(f"{path}: {whose}, so that columns are taken by their places")
    return table


def _expect_rows(path: str, may_be_a_pipe: bool) -> None:
    """Refuse what is no file of rows, and what would be waited for in vain."""
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if stat.S_ISREG(mode):
        return
    # A pipe without a name, such as /dev/stdin, has somebody at its other end.
    if not may_be_a_pipe or (stat.S_ISFIFO(mode) and os.path.exists(os.path.realpath(path))):
        raise ValueError(
            f"{path}: this is a pipe or a device: write what comes of it to a file first"
        )


def _check(path: str, table: Table) -> None:
    """Refuse what is no matrix of numbers with a label for every row."""
    X, y = table.X, table.y
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise ValueError(f"{path}: a matrix of numbers is needed, X is {X.dtype} {X.shape}")
    if X.shape[0] == 0 or X.shape[1] == 0:
        what = "rows" if X.shape[0] == 0 else "features"
        raise ValueError(f"{path}: there are no {what}")
    if y is not None and y.shape[:1] != X.shape[:1]:
        raise ValueError(f"{path}: {X.shape[0]} rows, but y is of shape {y.shape}")


def expect_finite(path: str, table: Table, may_be_missing: bool) -> None:
    """Refuse the first number that is infinite, or missing where an estimator does not take it."""
    X, names = table.X, table.layout.names
    if sp.issparse(X) or X.dtype.kind != "f":
        return
    wrong = np.argwhere(np.isinf(X) if may_be_missing else ~np.isfinite(X))
    if len(wrong):
        row, column = wrong[0]
        name = column if names is None else repr(names[column])
        raise ValueError(
            f"{path}: row {row} (the first is 0) has {X[row, column]} in column {name}: a finite "
            "number is needed"
        )


def _svmlight(path: str, zero_based: Any, fitted: Layout | None) -> Table:
    """Rows of text, whose indices begin with what the user, the fit or the rows say."""
    X, y = load_svmlight_file(path, zero_based=True)
    bounds = (int(X.indices.min()), int(X.indices.max())) if X.nnz else (np.inf, -1)
    known = fitted or Layout()
    first = first_index(bounds, zero_based, known, path)
    width = max(bounds[1] + 1 - first, known.n_features or 0)
    X = sp.csr_matrix((X.data, X.indices - np.int32(first), X.indptr), shape=(X.shape[0], width))
    return Table(X, whole_labels(y), Layout(zero_based=first == 0))


def _npz(path: str) -> Table:
    stored = np.load(path, allow_pickle=False)
    if not isinstance(stored, np.lib.npyio.NpzFile):
        raise ValueError(f"{path}: an .npz holds X, and y, and this is one array")
    with stored:
        if "X" not in stored:
            raise ValueError(f"{path}: an .npz holds X, and y: it has {sorted(stored.files)}")
        return Table(stored["X"], stored["y"] if "y" in stored else None, Layout())


def _columns_of(path: str, kind: str, label: str | None, fitted: Layout | None) -> Table:
    """Rows of a table with the labels in one of its columns."""
    dtype, names = np.dtype(np.float64), None
    if kind == "npy":
        table = np.load(path, allow_pickle=False)
        if not isinstance(table, np.ndarray) or table.ndim != 2 or table.dtype.kind not in "biuf":
            raise ValueError(f"{path}: a matrix of numbers is needed, with the labels in a column")
        columns: list[np.ndarray] = list(table.T)
        dtype = table.dtype if table.dtype in (np.float32, np.float64) else dtype
    elif kind == "parquet":
        names, columns = _parquet(path)
    else:
        names, columns = _csv(path, label, fitted)
    at = _label_at(path, names, len(columns), label, fitted)
    y, layout = None, Layout(place=at)
    if at is not None:
        y = columns.pop(at)
        y = whole_labels(_numbers(y)) if _numbers(y) is not None else y.astype(str)
    if names is not None:
        layout = layout._replace(label=None if at is None else names.pop(at), names=names)
        order = None
        if fitted is not None and fitted.names is not None:
            order = places(fitted.names, names, path)
        if order is not None:
            names, columns = [names[i] for i in order], [columns[i] for i in order]
            layout = layout._replace(names=names)
    return Table(_matrix(path, names, columns, dtype), y, layout)


def _label_at(
    path: str, names: list[str] | None, width: int, label: str | None, fitted: Layout | None
) -> int | None:
    """The place of the labels' column; None where there are none."""
    if label is not None:
        return _place(path, names, width, label)
    if width == 0:
        return None
    if fitted is None:
        return width - 1
    if names is not None and fitted.label is not None:
        return names.index(fitted.label) if fitted.label in names else None
    if names is not None and fitted.names is not None:
        return width - 1 if names[-1] not in fitted.names else None
    if width == fitted.n_features:
        return None
    return width - 1 if fitted.place is None or fitted.place >= width else fitted.place


def whole_labels(y: Any) -> np.ndarray:
    """Labels that are whole numbers as such."""
    y = np.asarray(y)
    if y.dtype.kind == "f" and len(y) and bool((np.abs(y) < 2**53).all()):
        return y.astype(np.int64) if bool((y == np.round(y)).all()) else y
    return y


def _numbers(column: np.ndarray) -> np.ndarray | None:
    try:
        return column.astype(np.float64)
    except (TypeError, ValueError):
        return None


def _place(path: str, names: list[str] | None, width: int, label: str) -> int:
    if names is not None and label in names:
        return names.index(label)
    if label.lstrip("-").isdigit() and -width <= int(label) < width:
        return int(label) % width
    known = names or [str(at) for at in range(width)]
    raise ValueError(f"{path}: no column {label!r}; there are {', '.join(known[:10])}")


def _matrix(
    path: str, names: list[str] | None, columns: list[np.ndarray], dtype: Any
) -> np.ndarray:
    if not columns:
        raise ValueError(f"{path}: no column beside the label")
    for at, column in enumerate(columns):
        if _numbers(column) is None:
            name = at if names is None else names[at]
            raise ValueError(f"{path}: column {name!r} is no numbers: encode it before")
    return np.ascontiguousarray(np.stack(columns, axis=1).astype(dtype))


def _csv(
    path: str, label: str | None, fitted: Layout | None
) -> tuple[list[str] | None, list[np.ndarray]]:
    """Columns of a table of text, which a first line may name."""
    between = "\t" if path.lower().endswith(".tsv") else ","
    with open(path, newline="", encoding="utf-8-sig") as file:
        lines = [line for line in csv.reader(file, delimiter=between) if line]
    if not lines:
        raise ValueError(f"{path}: no rows")
    known = None if fitted is None else fitted.names
    if label is None and fitted is not None:
        label = fitted.label
    named = _are_names(lines, label, known)
    width, rows = len(lines[0]), lines[named:]
    for at, row in enumerate(rows):
        if len(row) != width:
            line = at + 1 + named
            raise ValueError(f"{path}: line {line} has {len(row)} fields, {width} needed")
    if not rows:
        raise ValueError(f"{path}: no rows")
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    return (list(lines[0]) if named else None), columns


def _are_names(lines: list[list[str]], label: str | None, known: Sequence[str] | None) -> bool:
    """Whether the first line is the columns' names: where it has no number, the label's name, or
    the names of the fit.

    Tables of numbers have columns "0", "1", ... for names, and a name for the labels alone: where
    none is told, a text over numbers.
    """
    first, *rest = lines
    if not any(_is_number(text) for text in first):
        return True
    if known is not None and set(known) <= set(first):
        return True
    if label is not None:
        return label in first and not _is_number(label)
    over = bool(rest) and all(_is_number(line[-1]) for line in rest)
    return bool(first[-1].strip()) and not _is_number(first[-1]) and over


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _parquet(path: str) -> tuple[list[str], list[np.ndarray]]:
    try:
        from pyarrow import parquet
    except ImportError:
        raise ImportError("Parquet needs pyarrow: pip install budgetsvm[parquet]") from None
    table = parquet.read_table(path)
    return list(table.column_names), [
        column.to_numpy(zero_copy_only=False) for column in table.columns
    ]  # fmt: skip


def read_model(path: str, n_features: int | None = None) -> Any:
    """The estimator of a file of `save`, or the machine of LIBSVM's text."""
    _expect_rows(path, may_be_a_pipe=False)
    with errors_with_path(path):
        with open(path, "rb") as file:
            begin = file.read(8)
        if begin.startswith((b"svm_type", b"kernel_t", b"nr_class")):
            model = from_libsvm(path)
            if n_features is not None and n_features > model.n_features_in_:
                model = from_libsvm(path, n_features=n_features)
            return model
        return load(path)
