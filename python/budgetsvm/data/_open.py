"""The one way to a source."""

from __future__ import annotations

import os
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from ._files import FileSource, expanded
from ._given import ArraySource, IterableSource
from ._numpy import CsrSource, NumpySource
from ._source import Source
from ._svmlight import check_count
from ._tables import TableSource
from ._text import TextSource

#: Formats by the ends of names; others are text of SVM-light.
ENDS = {
    ".npy": "npy", ".npz": "npz", ".csv": "csv", ".tsv": "csv", ".parquet": "parquet",
    ".pq": "parquet",
}  # fmt: skip
FORMATS = ("auto", "npy", "npz", "svmlight", "csv", "parquet")


def open(
    source: Any,
    target: Any = None,
    features: Any = None,
    weight: Any = None,
    dtype: Any = None,
    *,
    format: Literal["auto", "npy", "npz", "svmlight", "csv", "parquet"] = "auto",
    block_rows: int | None = None,
    header: bool = True,
    zero_based: bool | Literal["auto"] = "auto",
    n_features: int | None = None,
    cache: str | os.PathLike[str] | None = None,
    facts: bool | str | os.PathLike[str] | None = None,
) -> Source:
    """Rows that may be larger than memory, for `fit`, `partial_fit`, `predict` and `transform`.

    Columns of CSV files with a line of names, of Parquet and of data frames are known by name: a
    fitted estimator takes them in the order of its fit, wherever they stand, and leaves out that of
    the target of the fit. A column that is missing, or that the fit did not have, is a ValueError.

    Parameters
    ----------
    source : str, path-like, list of these, iterable, callable or tuple of arrays
        A file, a pattern (``"part-*.npy"``), a folder or a list of them, whose rows follow one
        another; or an iterable of ``(X, y)`` or ``(X, y, weight)`` that can be started again, or a
        function that returns one; or these arrays themselves. The ends of the names tell the
        format: ".npy", ".npz" (a CSR matrix of SciPy), ".csv", ".tsv", ".parquet" (with pyarrow:
        ``pip install budgetsvm[parquet]``), all others text of SVM-light, also ".gz", ".bz2",
        ".xz".
    target : str, int, list or ndarray, default=None
        The column with the targets, by name or number, or an .npy file of them, or they. None: the
        labels of text of SVM-light, and what an iterable gives.
    features : list of str or int, slice, default=None
        Columns of .npy, CSV and Parquet. None: all but `target` and `weight`.
    weight : str, int, list or ndarray, default=None
        The column with weights of the rows, or an .npy file of them, or they.
    dtype : float32, float64 or None, default=None
        The type of the rows. None: what arrays have, else float32.
    format : {"auto", "npy", "npz", "svmlight", "csv", "parquet"}, default="auto"
        What the files are, where their names do not tell.
    block_rows : int or None, default=None
        Rows of a block that `blocks` gives, however the files are cut. None: as many as 8 MB hold.
    header : bool, default=True
        Whether the first line of a CSV file has the names of the columns; else they have numbers.
    zero_based : bool or "auto", default="auto"
        Of text of SVM-light: whether the first column has the index 0, or 1. "auto": what the rows
        of the fit had, for an estimator that was fitted to a source of text; else 1 unless an index
        of any of the files is 0.
    n_features : int or None, default=None
        Of text of SVM-light: the number of columns; None: as many as there are, and as the fit had
        where an estimator that was fitted takes the source.
    cache : path-like or None, default=None
        Where temporary files go, which take as much as the rows do in memory. None: the system's
        folder.
    facts : bool, path-like or None, default=None
        Of files: a file that keeps what is found in all rows (shape, labels, the variance behind
        ``gamma="scale"``, weights of classes) with the names, sizes and times of their files, so
        that the next process need not look for it; True is ".NAME.facts.json" beside the first.
        Facts of other files, or of files read otherwise, are made anew. A fit has the same bits.

    Returns
    -------
    Source
        What `fit` takes in the place of X, y and weights.

    Raises
    ------
    ValueError
        If the arguments do not fit what the files are. What is wrong with a row is told when it is
        read, by file and row.
    OSError, ImportError
        If a file cannot be read, or its format needs a package that is not there.

    Examples
    --------
    >>> import numpy as np
    >>> from budgetsvm import BudgetSVC, data
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> source = data.open((X, X[:, 0] * X[:, 1] > 0))
    >>> source.n_rows, source.n_features
    (1000, 2)
    >>> BudgetSVC(budget=20, C=10, gamma=1, random_state=0).fit(source).n_terms_ <= 20
    True
    """
    if dtype is not None and np.dtype(dtype) not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32, float64 or None, got {dtype!r}")
    check_count("block_rows", block_rows)
    if format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {format!r}")
    if zero_based != "auto" and not isinstance(zero_based, (bool, np.bool_)):
        raise ValueError(f"zero_based must be True, False or 'auto', got {zero_based!r}")
    check_count("n_features", n_features)
    if facts is not None and not _are_names(source) and facts is not False:
        raise ValueError("facts: of rows in files alone")
    own = {"dtype": dtype, "cache": cache, "block_rows": block_rows}
    if not _are_names(source):
        return _of_objects(source, target, features, weight, own)
    paths = expanded(source)
    kind = format if format != "auto" else kind_of(paths)
    read = {
        "features": features, "header": header, "zero_based": zero_based, "n_features": n_features
    }  # fmt: skip
    made = _of_files(paths, kind, read, {"target": target, "weight": weight, **own})
    made.remember(facts, read | {"kind": kind})
    return made


def _of_files(paths: list[str], kind: str, read: Any, sides: Any) -> FileSource:
    if kind in ("csv", "parquet"):
        header, features = read["header"], read["features"]
        return TableSource(paths, features=features, header=header, csv=kind == "csv", **sides)
    if kind == "npy":
        return NumpySource(paths, read["features"], **sides)
    if read["features"] is not None:
        raise ValueError(f"features: columns are chosen of .npy, CSV and Parquet, not of {kind}")
    for name in ("target", "weight"):
        side = sides[name]
        if isinstance(side, (int, np.integer)) or (
            isinstance(side, str) and not side.endswith(".npy")
        ):
            raise ValueError(f"{name}: {kind} has no columns of its own: give an .npy file")
    if kind == "npz":
        return CsrSource(paths, **sides)
    own = {name: read[name] for name in ("zero_based", "n_features")}
    return TextSource(paths, **own, **sides)


def _are_names(source: Any) -> bool:
    if isinstance(source, (str, os.PathLike)):
        return True
    many = isinstance(source, (list, tuple)) and len(source) > 0
    return many and all(isinstance(one, (str, os.PathLike)) for one in source)


def _of_objects(source: Any, target: Any, features: Any, weight: Any, own: Any) -> Source:
    if features is not None:
        raise ValueError("features: columns are chosen of files alone")
    if isinstance(source, np.ndarray) or sp.issparse(source):
        return ArraySource(source, target, weight, **own)
    if target is not None or weight is not None:
        raise ValueError("target and weight stand in the parts (X, y, weight) themselves")
    first = source[0] if isinstance(source, tuple) and source else None
    if isinstance(source, tuple) and 2 <= len(source) <= 3 and not isinstance(first, tuple):
        return ArraySource(*(*source, None)[:3], **own)
    if not callable(source) and not hasattr(source, "__iter__"):
        kind = type(source).__name__
        raise ValueError(f"source: files, an iterable, a function or arrays, got {kind}")
    return IterableSource(source, **own)


def kind_of(paths: list[str]) -> str:
    """What files are, by the ends of their names."""
    kinds = {ENDS.get(os.path.splitext(path)[1].lower(), "svmlight") for path in paths}
    if len(kinds) > 1:
        raise ValueError(f"files of several formats in one source: {', '.join(sorted(kinds))}")
    return kinds.pop()
