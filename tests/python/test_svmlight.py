"""Rows as text: what scikit-learn reads and writes, faults by their line, hostile files."""

from __future__ import annotations

import gzip
import io

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn import datasets

from budgetsvm.data import dump_svmlight_file, load_svmlight_file

LINES = b"# head\n1 1:0.5 3:2 # tail\n\n-1\t2:1e-3\r\n0.5 \n"


def read(text, **params):
    return load_svmlight_file(io.BytesIO(text), **params)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("zero_based", ["auto", True, False])
@pytest.mark.parametrize("n_features", [None, 7])
def test_reads_what_scikit_learn_reads(dtype, zero_based, n_features):
    text = LINES
    options = {"dtype": dtype, "zero_based": zero_based, "n_features": n_features}
    ours, y = read(text, **options)
    theirs, labels = datasets.load_svmlight_file(io.BytesIO(text), **options)
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    np.testing.assert_array_equal(ours.toarray(), theirs.toarray())
    np.testing.assert_array_equal(y, labels)
    dense, again = read(text, dense=True, **options)
    np.testing.assert_array_equal(dense, theirs.toarray())
    np.testing.assert_array_equal(again, y)


@given(st.data())
def test_what_is_written_is_read_again(data):
    finite = st.floats(allow_nan=False, allow_infinity=False)
    rows = data.draw(st.lists(st.lists(st.one_of(st.just(0.0), finite), min_size=3, max_size=3),
                              min_size=1, max_size=9))  # fmt: skip
    y = np.array(data.draw(st.lists(finite, min_size=len(rows), max_size=len(rows))))
    zero_based, single = data.draw(st.booleans()), data.draw(st.booleans())
    with np.errstate(over="ignore"):
        X = np.array(rows).astype(np.float32 if single else np.float64)
    X[~np.isfinite(X)] = 0
    file = io.BytesIO()
    dump_svmlight_file(sp.csr_matrix(X) if data.draw(st.booleans()) else X, y, file,
                       zero_based=zero_based, comment="a\nb")  # fmt: skip
    options = {"zero_based": zero_based, "n_features": 3, "dtype": X.dtype}
    again, labels = read(file.getvalue(), **options)
    np.testing.assert_array_equal(again.toarray(), X)
    np.testing.assert_array_equal(labels, y)
    theirs, labels = datasets.load_svmlight_file(io.BytesIO(file.getvalue()), **options)
    np.testing.assert_array_equal(theirs.toarray(), X)
    np.testing.assert_array_equal(labels, y)


def test_threads_and_blocks_change_nothing(tmp_path):
    rng = np.random.default_rng(0)
    X = sp.random(20_000, 50, 0.3, format="csr", random_state=0)
    y = rng.normal(size=20_000)
    path = tmp_path / "rows.svm"
    dump_svmlight_file(X, y, path)
    one, labels = load_svmlight_file(path, n_jobs=1)
    four, again = load_svmlight_file(str(path), n_jobs=4)
    assert (one != X).nnz == (four != X).nnz == 0
    np.testing.assert_array_equal(labels, y)
    np.testing.assert_array_equal(again, y)
    packed = tmp_path / "rows.svm.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert (load_svmlight_file(packed)[0] != X).nnz == 0
    with path.open("rb") as file:
        assert (load_svmlight_file(file)[0] != X).nnz == 0


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("1 qid:3 1:2", "qid"), ("1,2 1:2", "several labels"), ("x 1:2", "label"),
        ("nan 1:2", "label"), ("inf 1:2", "label"), ("1:2", "no label"), ("1 1:nan", "number"),
        ("1 1:inf", "number"), ("1 1:1e400", "number"), ("1 1:0x10", "number"),
        ("1 1: 2", "number"),
        ("1 2:1 1:1", "rise"), ("1 2:1 2:1", "rise"), ("1 -1:1", "pair"), ("1 1", "pair"),
        ("1 4294967296:1", "beyond"), ("1 99999999999999999999:1", "beyond"),
        ("1 1:2\0", "number"),
        ("1 \xff:1", "pair"),
    ],
)  # fmt: skip
def test_a_fault_is_told_with_its_line(line, told):
    text = f"1 1:1\n# none\n{line}\n1 1:1\n".encode("latin-1")
    with pytest.raises(ValueError, match=rf"line 3: .*{told}"):
        read(text)


def test_hostile_files_take_no_memory():
    with pytest.raises(ValueError, match="no rows"):
        read(b"")
    with pytest.raises(ValueError, match="no rows"):
        read(b"# 1 1:1\n")
    huge = b"1 2147483646:1\n"
    assert read(huge)[0].shape == (1, 2**31 - 2)
    with pytest.raises(ValueError, match="sparse"):
        read(huge, dense=True)
    with pytest.raises(ValueError, match="n_features=3"):
        read(b"1 4:1\n", n_features=3)
    with pytest.raises(ValueError, match="index is 0"):
        read(b"1 0:1\n", zero_based=False)
    with pytest.raises(ValueError, match="line 1"):
        read(b"1" * 5_000_000)
    with pytest.raises(FileNotFoundError):
        load_svmlight_file("there/is/none")
    for wrong in ({"dtype": np.int64}, {"zero_based": "no"}, {"n_features": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            read(LINES, **wrong)


def test_a_file_is_whole_or_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "rows.svm"
    dump_svmlight_file([[1.0]], [1], path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="y must be a vector of numbers"):
        dump_svmlight_file([[1.0]], ["a"], path)
    with pytest.raises(ValueError, match="NaN"):
        dump_svmlight_file([[np.nan]], [1], path)
    with pytest.raises(ValueError, match="entries"):
        dump_svmlight_file([[1.0]], [1, 2], path)

    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", stopped)
    with pytest.raises(KeyboardInterrupt):
        dump_svmlight_file([[2.0]], [1], path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["rows.svm"]


@given(st.binary(max_size=60))
def test_any_bytes_are_rows_or_refused(text):
    try:
        X, y = read(text)
    except ValueError:
        return
    assert X.shape[0] == len(y)
    assert np.isfinite(y).all()
    assert np.isfinite(X.data).all()
