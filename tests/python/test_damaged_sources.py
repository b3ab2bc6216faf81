"""Files of rows that are cut, that have other bytes, or are of another kind than their names."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random

import numpy as np
import pytest
import scipy.sparse as sp

from budgetsvm import BudgetSVC, data

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 4))
Y = (X[:, 0] > 0).astype(int)
KINDS = ["npy", "npz", "csv", "parquet", "svm", "svm.gz", "svm.bz2", "svm.xz"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    np.save(folder / "rows.npy", X)
    np.save(folder / "y.npy", Y)
    sp.save_npz(folder / "rows.npz", sp.csr_matrix(X))
    table = np.c_[Y, X]
    np.savetxt(folder / "rows.csv", table, delimiter=",", header="y,a,b,c,d", comments="")
    data.dump_svmlight_file(X, Y, str(folder / "rows.svm"))
    text = (folder / "rows.svm").read_bytes()
    for end, packed in (("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)):
        (folder / f"rows.svm.{end}").write_bytes(packed(text))
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    named = {"y": Y, **{name: X[:, at] for at, name in enumerate("abcd")}}
    parquet.write_table(arrow.table(named), folder / "rows.parquet")
    return folder


def use(path, kind):
    """The rows of a file, read as a fit reads them, and what a machine makes of them."""
    target = {"npy": Y, "npz": Y, "csv": "y", "parquet": "y"}.get(kind)
    model = BudgetSVC(budget=5, max_iter=1, polishing=False, random_state=0)
    return model.fit(data.open(str(path), target)).decision_function(X[:3])


def is_refused_or_read(path, kind):
    """Nothing but a ValueError (a MemoryError, an OSError of the system) and finite answers."""
    try:
        values = use(path, kind)
    except (ValueError, MemoryError, OSError):
        return
    assert np.isfinite(values).all()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_cut_or_changed_is_refused_or_read(kind, files, tmp_path):
    whole = (files / f"rows.{kind}").read_bytes()
    use(files / f"rows.{kind}", kind)
    # Packed text by another name, which is its ending.
    path = tmp_path / f"other.{kind}"
    rng = random.Random(kind)
    ends = [0, 1, 2, 3, 6, 10, 64, 127, 128, 129, len(whole) // 2, len(whole) - 1, len(whole) - 9]
    for end in ends + [rng.randrange(len(whole)) for _ in range(10)]:
        path.write_bytes(whole[:end])
        is_refused_or_read(path, kind)
    for _ in range(60):
        changed = bytearray(whole)
        for _ in range(rng.choice([1, 1, 3, 20])):
            reach = rng.choice([min(200, len(whole)), len(whole)])
            changed[rng.randrange(reach)] = rng.randrange(256)
        path.write_bytes(changed)
        is_refused_or_read(path, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_another_kind(kind, files, tmp_path):
    path = tmp_path / f"other.{kind}"
    for other in KINDS:
        if other != kind:
            path.write_bytes((files / f"rows.{other}").read_bytes())
            is_refused_or_read(path, kind)


@pytest.mark.parametrize("end", ["gz", "bz2", "xz"])
def test_packed_text_that_is_cut_is_named(end, files, tmp_path):
    """It was an EOFError, or one of zlib's own."""
    path = tmp_path / f"cut.svm.{end}"
    path.write_bytes((files / f"rows.svm.{end}").read_bytes()[:-20])
    with pytest.raises(ValueError, match=f"cut.svm.{end}: the file is damaged"):
        use(path, "svm")
    with pytest.raises(ValueError, match=f"cut.svm.{end}: the file is damaged"):
        data.load_svmlight_file(str(path))


@pytest.mark.parametrize("given", [0, -1, 2**31, 2**70, 1.5, np.nan, "x", [], True])
@pytest.mark.parametrize("name", ["n_features", "block_rows"])
def test_counts_are_named(name, given, files):
    with pytest.raises(ValueError, match=f"{name} must be None or an integer"):
        data.open(str(files / "rows.svm"), **{name: given})


@pytest.mark.parametrize("given", [1, [], b"x", "", "model.pkl", True, "/"])
def test_the_name_of_a_checkpoint(given):
    with pytest.raises(ValueError, match="checkpoint must be a file name"):
        BudgetSVC(random_state=0).fit(data.open(X, Y), checkpoint=given)


def test_two_columns_of_one_name(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "twice.csv").write_text("a,b,a\n1,2,0\n3,4,1\n")
    with pytest.raises(ValueError, match=r"twice\.csv: two columns are called 'a'"):
        data.open(str(tmp_path / "twice.csv"), "b")
