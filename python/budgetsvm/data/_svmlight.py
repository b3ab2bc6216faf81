"""Rows from files: the text of SVM-light and LIBSVM, read and written by all cores."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, cast

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from .. import _core, _validation
from .._columns import Layout
from .._files import Target, open_regular, write_atomically
from ._read_errors import errors_with_path

#: Columns are 32-bit numbers.
MOST = 2**31 - 1
#: Bytes of the longest line; `_core` has the same limit.
LINE = 1 << 26
#: Entries whose text is held at a time.
TOGETHER = 2**20
_PACKED = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


@contextmanager
def source_of(file: Any) -> Iterator[Any]:
    """What `_core` reads: a file's name, the bytes of an open file, or a packed file, block by
    block.
    """
    if hasattr(file, "read"):
        content = file.read()
        yield content.encode() if isinstance(content, str) else bytes(content)
        return
    path = os.fsdecode(file)
    with errors_with_path(path), opened(path) as found:
        yield found if os.path.splitext(path)[1] in _PACKED else path


def opened(path: str) -> Any:
    """The bytes of a file, unpacked."""
    plain = open_regular(path)
    unpacked = _PACKED.get(os.path.splitext(path)[1])
    if unpacked is None:
        return plain
    plain.close()
    return cast(Any, unpacked)(path, "rb")


def check_count(name: str, given: Any) -> None:
    """Refuse what is neither None nor a number of rows or columns."""
    if given is None:
        return
    integer = isinstance(given, (int, np.integer)) and not isinstance(given, bool)
    if not integer or not 1 <= given <= MOST:
        raise ValueError(f"{name} must be None or an integer from 1 to {MOST}, got {given!r}")


def first_index(bounds: tuple[float, int], zero_based: Any, fitted: Layout, what: str) -> int:
    """The index of the first column of a text with these least and largest indices.

    `zero_based` is what the user says; "auto" is the base of the fit, where that is known, else 1
    unless an index is 0. Where neither the fit nor the indices tell, a warning says so.
    """
    least, most = bounds
    told = zero_based if zero_based != "auto" else fitted.zero_based
    if told is None:
        open_end = fitted.n_features is not None and 0 <= most < fitted.n_features
        if least > 0 and open_end:
            _validation.warn(
                f"{what}: no index is 0 and none is {fitted.n_features}, so that the rows do not "
                "tell whether indices begin with 0 or 1, and nothing is known of those of the fit. "
                "They are taken to begin with 1; say zero_based=True or zero_based=False"
            )
        return int(0 < least <= most)
    if least == 0 and not told:
        whose = "" if zero_based != "auto" else ", as in the rows of the fit"
        raise ValueError(
            f"{what}: an index is 0, but indices begin with 1{whose} (zero_based=False)"
        )
    return int(not told)


def load_svmlight_file(
    f: Any,
    *,
    n_features: int | None = None,
    dtype: Any = np.float64,
    zero_based: bool | Literal["auto"] = "auto",
    dense: bool = False,
    n_jobs: int | None = None,
) -> tuple[Any, np.ndarray]:
    """Read svmlight rows: a label, then ``index:value`` for every entry.

    As `sklearn.datasets.load_svmlight_file`, by all cores and without its Python objects.

    Parameters
    ----------
    f : str, path-like or file
        A file's name (".gz", ".bz2" and ".xz" are unpacked), or an open file.
    n_features : int or None, default=None
        Columns, as many as the largest index needs at least; None: as many as it needs. Give the
        training data's number for test data.
    dtype : float32 or float64, default=float64
        The type of the values.
    zero_based : bool or "auto", default="auto"
        Whether the index of the first column is 0, or 1. "auto": 1 unless an index is 0, which is
        found in each file anew. Test data whose first column is empty do not tell: give what the
        training data have.
    dense : bool, default=False
        Whether to return an array in the place of a CSR matrix.
    n_jobs : int or None, default=None
        Threads; None is all cores.

    Returns
    -------
    X : CSR matrix or ndarray of shape (n_samples, n_features)
        The rows.
    y : ndarray of shape (n_samples,)
        The labels, float64.

    Raises
    ------
    ValueError
        If a line is not exactly valid, by its number: no finite label or several, indices that do
        not rise, a value that is no finite number, ``qid:`` (rows of ranking), more than 64 MiB;
        if there is no row; or if a dense matrix would hold a thousand times what the rows store.
    OSError
        If the file cannot be read, or is named and is no regular file: open a pipe, and give the
        open file.

    Examples
    --------
    >>> import io
    >>> from budgetsvm.data import load_svmlight_file
    >>> X, y = load_svmlight_file(io.BytesIO(b"1 1:0.5 3:2\\n-1 2:1\\n"), dense=True)
    >>> X
    array([[0.5, 0. , 2. ],
           [0. , 1. , 0. ]])
    >>> y
    array([ 1., -1.])
    """
    single = np.dtype(dtype) == np.float32
    if not single and np.dtype(dtype) != np.float64:
        raise ValueError(f"dtype must be float32 or float64, got {dtype!r}")
    if not isinstance(zero_based, (bool, np.bool_)) and zero_based != "auto":
        raise ValueError(f"zero_based must be True, False or 'auto', got {zero_based!r}")
    check_count("n_features", n_features)
    wanted = {
        "single": single,
        "zero_based": None if zero_based == "auto" else bool(zero_based),
        "n_features": None if n_features is None else int(n_features),
        "dense": bool(dense),
    }
    with source_of(f) as source:
        read = _core.svmlight_read(source, threads=_validation.thread_count(n_jobs), **wanted)
    if dense:
        y, X = read
        return X, y
    y, values, columns, starts, width = read
    if len(values) <= np.iinfo(np.int32).max:
        starts = starts.astype(np.int32)
    return sp.csr_matrix((values, columns, starts), shape=(len(y), width)), y


def dump_svmlight_file(
    X: Any,
    y: Any,
    f: Target,
    *,
    zero_based: bool = True,
    comment: str | None = None,
    n_jobs: int | None = None,
) -> None:
    """Write svmlight rows, which are the same bits when they are read again.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples, n_features)
        Rows, finite; zeros are left out.
    y : array-like of shape (n_samples,)
        Numbers.
    f : str, path-like or file
        A file's name, which is written whole or not at all, or a file open for bytes.
    zero_based : bool, default=True
        Whether the first column has the index 0 or 1, which is LIBSVM's.
    comment : str or None, default=None
        Lines at the beginning, behind ``#``.
    n_jobs : int or None, default=None
        Threads; None is all cores.

    Raises
    ------
    ValueError
        If `X` or `y` is not finite, not numbers, or they do not fit.
    """
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    y = np.asarray(y)
    if y.ndim != 1 or y.dtype.kind not in "biuf":
        raise ValueError("y must be a vector of numbers: map labels of text to numbers first")
    target = np.ascontiguousarray(y, dtype=np.float64)
    if len(target) != X.shape[0]:
        raise ValueError(f"y must have {X.shape[0]} entries, one for each row, got {len(target)}")
    threads = _validation.thread_count(n_jobs)
    if not np.isfinite(target).all():
        raise ValueError("y contains NaN or infinity")
    given: Any = X
    entries = (given.nnz if sp.issparse(X) else given.size) // max(1, X.shape[0])
    step = max(1, TOGETHER // max(1, entries))
    with write_atomically(f) as file:
        file.write("".join(f"# {line}\n" for line in (comment or "").splitlines()).encode())
        # The text of some rows at a time.
        for first in range(0, X.shape[0], step):
            part = slice(first, first + step)
            rows = _validation.as_rows(X[part])
            for text in _core.svmlight_write(rows, target[part], int(not zero_based), threads):
                file.write(text)
