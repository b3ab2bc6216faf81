"""Tables and models of the command line, by what their files are."""

from __future__ import annotations

import csv
import os
from typing import Any

import numpy as np

from ._archive import load
from ._libsvm import from_libsvm
from .data import load_svmlight_file

#: Kinds of tables, and the ends of their names; others are rows of svmlight.
ENDS = {"csv": (".csv", ".tsv"), "npy": (".npy",), "npz": (".npz",), "parquet": (".parquet", ".pq")}


def kind_of(path: str, told: str) -> str:
    """The format of a table."""
    if told != "auto":
        return told
    end = os.path.splitext(path)[1].lower()
    return next((kind for kind, ends in ENDS.items() if end in ends), "svmlight")


def read_table(
    path: str, told: str = "auto", label: str | None = None, n_features: int | None = None
) -> tuple[Any, np.ndarray | None]:
    """Rows and labels of a file.

    `label` names a column, or says its place; None is the last. With `n_features`, of a fitted
    machine, a table of just so many columns has no labels.
    """
    kind = kind_of(path, told)
    if kind == "svmlight":
        width = n_features
        if n_features is not None:
            found = load_svmlight_file(path)
            if found[0].shape[1] >= n_features:
                return found[0], whole_labels(found[1])
        X, y = load_svmlight_file(path, n_features=width)
        return X, whole_labels(y)
    if kind == "npz":
        with np.load(path, allow_pickle=False) as stored:
            if "X" not in stored:
                raise ValueError(f"{path}: an .npz holds X, and y: it has {sorted(stored.files)}")
            return stored["X"], stored["y"] if "y" in stored else None
    if kind == "npy":
        table = np.load(path, allow_pickle=False)
        if table.ndim != 2 or table.dtype.kind not in "biuf":
            raise ValueError(f"{path}: a matrix of numbers is needed, with the labels in a column")
        names = [str(at) for at in range(table.shape[1])]
        columns: list[np.ndarray] = list(table.T)
        dtype = table.dtype if table.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    elif kind == "parquet":
        names, columns = _parquet(path)
        dtype = np.dtype(np.float64)
    else:
        names, columns = _csv(path, label)
        dtype = np.dtype(np.float64)
    if n_features is not None and label is None and len(columns) == n_features:
        return _matrix(path, names, columns, dtype), None
    at = _place(path, names, label)
    y = columns.pop(at)
    del names[at]
    y = whole_labels(_numbers(y)) if _numbers(y) is not None else y.astype(str)
    return _matrix(path, names, columns, dtype), y


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


def _place(path: str, names: list[str], label: str | None) -> int:
    if label is None:
        return len(names) - 1
    if label in names:
        return names.index(label)
    if label.lstrip("-").isdigit() and -len(names) <= int(label) < len(names):
        return int(label)
    raise ValueError(f"{path}: no column {label!r}; there are {', '.join(names[:10])}")


def _matrix(path: str, names: list[str], columns: list[np.ndarray], dtype: Any) -> np.ndarray:
    if not columns:
        raise ValueError(f"{path}: no column beside the label")
    for name, column in zip(names, columns, strict=True):
        if _numbers(column) is None:
            raise ValueError(f"{path}: column {name!r} is no numbers: encode it before")
    return np.ascontiguousarray(np.stack(columns, axis=1).astype(dtype))


def _csv(path: str, label: str | None) -> tuple[list[str], list[np.ndarray]]:
    """Columns of a table of text, which a first line may name."""
    between = "\t" if path.lower().endswith(".tsv") else ","
    with open(path, newline="", encoding="utf-8") as file:
        lines = [line for line in csv.reader(file, delimiter=between) if line]
    if not lines:
        raise ValueError(f"{path}: no rows")
    named = _are_names(lines, label)
    names = lines[0] if named else [str(at) for at in range(len(lines[0]))]
    rows = lines[named:]
    for at, row in enumerate(rows):
        if len(row) != len(names):
            line = at + 1 + named
            raise ValueError(f"{path}: line {line} has {len(row)} fields, {len(names)} needed")
    if not rows:
        raise ValueError(f"{path}: no rows")
    return list(names), [np.array(column) for column in zip(*rows, strict=True)]


def _are_names(lines: list[list[str]], label: str | None) -> bool:
    """Whether the first line is the columns' names: where it has no number, or the label's name.

    Tables of numbers have columns "0", "1", ... for names, and a name for the labels alone: where
    none is told, a text over numbers.
    """
    first, *rest = lines
    if not any(_is_number(text) for text in first):
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
    with open(path, "rb") as file:
        begin = file.read(8)
    if begin.startswith((b"svm_type", b"kernel_t", b"nr_class")):
        model = from_libsvm(path)
        if n_features is not None and n_features > model.n_features_in_:
            model = from_libsvm(path, n_features=n_features)
        return model
    return load(path)
