"""Rows from files and iterables: blocks, errors by file and row, fits to the bits of arrays."""

from __future__ import annotations

import gzip
import mmap
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import budgetsvm
from budgetsvm import data
from budgetsvm._progress import ProgressLine
from budgetsvm.data import _mapped_arrays

RNG = np.random.default_rng(7)
N, D = 900, 4
X = np.round(RNG.normal(size=(N, D)), 3).astype(np.float32)
X[:, 1:][RNG.random((N, D - 1)) < 0.3] = 0.0
X[:, 0] = RNG.permutation(N) / 256 - 1.6  # no two rows are the same
VALUE = X[:, 0] * X[:, 1] + 0.3 * X[:, 2]
Y = (VALUE > 0).astype(np.int64)
W = RNG.uniform(0.5, 2.0, N)


@pytest.fixture
def files(tmp_path):
    """The same rows in every format, cut into three files."""
    cuts = [(0, 300), (300, 301), (301, N)]
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["y"], frame["w"] = Y, W
    for at, (first, last) in enumerate(cuts):
        part = slice(first, last)
        np.save(tmp_path / f"x{at}.npy", X[part])
        np.save(tmp_path / f"t{at}.npy", Y[part])
        np.save(tmp_path / f"wide{at}.npy", np.column_stack([X[part], Y[part]]).astype(np.float32))
        frame[part].to_csv(tmp_path / f"c{at}.csv", index=False)
        frame[part].to_parquet(tmp_path / f"p{at}.parquet", row_group_size=100)
        sp.save_npz(tmp_path / f"s{at}.npz", sp.csr_matrix(X[part]), compressed=at != 1)
        data.dump_svmlight_file(X[part], Y[part], str(tmp_path / f"r{at}.svm"))
        text = (tmp_path / f"r{at}.svm").read_bytes()
        (tmp_path / f"g{at}.gz").write_bytes(gzip.compress(text))
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "t.npy", Y)
    np.save(tmp_path / "w.npy", W)
    np.save(tmp_path / "f.npy", np.asfortranarray(X))
    return tmp_path


def parts():
    for first in range(0, N, 77):
        yield X[first : first + 77], Y[first : first + 77], W[first : first + 77]


SOURCES = {
    "npy": lambda at: data.open(at / "x.npy", target=at / "t.npy"),
    "npy-weights": lambda at: data.open(at / "x.npy", str(at / "t.npy"), weight=at / "w.npy"),
    "npy-fortran": lambda at: data.open(at / "f.npy", target=Y),
    "npy-list": lambda at: data.open([at / "x0.npy", at / "x1.npy", at / "x2.npy"], Y),
    "npy-glob": lambda at: data.open(
        str(at / "x?.npy"), target=[at / "t0.npy", at / "t1.npy", at / "t2.npy"]
    ),
    "npy-column": lambda at: data.open(str(at / "wide?.npy"), target=-1),
    "csv": lambda at: data.open(str(at / "c?.csv"), target="y", features=list("abcd")),
    "csv-weights": lambda at: data.open(str(at / "c?.csv"), target="y", weight="w"),
    "parquet": lambda at: data.open(str(at / "p?.parquet"), target="y", features=list("abcd")),
    "parquet-weights": lambda at: data.open(str(at / "p?.parquet"), target="y", weight="w"),
    "svmlight": lambda at: data.open(str(at / "r?.svm")),
    "svmlight-gz": lambda at: data.open(str(at / "g?.gz")),
    "npz": lambda at: data.open(str(at / "s?.npz"), target=Y),
    "arrays": lambda at: data.open((X, Y)),
    "csr": lambda at: data.open((sp.csr_matrix(X), Y)),
    "function": lambda at: data.open(parts),
    "iterable": lambda at: data.open(list(parts())),
}
SPARSE = {"svmlight", "svmlight-gz", "npz", "csr"}
WEIGHTED = {"npy-weights", "csv-weights", "parquet-weights", "function", "iterable"}


@pytest.mark.parametrize("name", SOURCES)
def test_blocks_are_of_one_length_however_files_are_cut(name, files):
    with SOURCES[name](files) as source:
        source._block_rows = 128
        for seed in (None, None, 5):
            blocks = list(source.blocks(seed=seed))
            lengths = sorted((block.X.shape[0] for block in blocks), reverse=True)
            assert lengths == [128] * 7 + [4]
            assert (source.n_rows, source.n_features) == (N, D)
            if seed is not None:
                firsts = [
                    np.flatnonzero((X == rows(block.X)[0]).all(axis=1))[0] for block in blocks
                ]
                assert firsts != sorted(firsts)
                assert sorted(firsts) == list(range(0, N, 128))
                again = list(source.blocks(seed=seed))
                assert all(np.array_equal(a.y, b.y) for a, b in zip(blocks, again, strict=True))
                blocks = [blocks[at] for at in np.argsort(firsts)]
            found = np.vstack([rows(block.X) for block in blocks])
            assert found.dtype == np.float32
            assert all(sp.issparse(block.X) == (name in SPARSE) for block in blocks)
            np.testing.assert_array_equal(found, X)
            np.testing.assert_array_equal(np.concatenate([block.y for block in blocks]), Y)
            if name in WEIGHTED:
                np.testing.assert_array_equal(np.concatenate([b.weight for b in blocks]), W)
            else:
                assert all(block.weight is None for block in blocks)
        assert source.rows_given >= 4 * N
        np.testing.assert_array_equal(source.target(), Y)


def rows(block):
    return block.toarray() if sp.issparse(block) else block


SOME = {"budget": 20, "gamma": 0.7, "random_state": 0}
MACHINES = {
    "BudgetSVC": {"budget": 20, "random_state": 0},
    "BudgetSVR": {"budget": 20, "random_state": 0, "order": "blocks"},
    "BudgetSVCCV": {"budget": 20, "random_state": 0, "Cs": 2, "gammas": 2, "cv": 2},
    "BudgetOneClassSVM": {"budget": 20, "random_state": 0, "nu": 0.2},
    "AssetSVC": {"n_components": 20, "random_state": 0, "max_iter": 3},
    "AssetSVR": {"n_components": 20, "random_state": 0, "max_iter": 3, "order": "blocks"},
    "LocalBudgetSVC": {"n_clusters": 4, "random_state": 0},
    "KernelPerceptron": {"random_state": 0},
    "BudgetOGD": SOME,
    "FourierOGD": {"n_frequencies": 30, "gamma": 0.5, "random_state": 0},
    "PrimalSVC": {"gamma": 0.5, "basis": "random", "n_components": 20, "random_state": 0},
    "Nystroem": {"n_components": 20, "random_state": 0},
    "RandomFourier": {"n_components": 20, "random_state": 0},
    "IncompleteCholesky": {"n_components": 20},
}
UNWEIGHTED = {
    "LocalBudgetSVC", "KernelPerceptron", "BudgetOGD", "FourierOGD", "Nystroem", "RandomFourier",
    "IncompleteCholesky",
}  # fmt: skip


def said(model, rows):
    for ask in ("decision_function", "predict", "transform"):
        if hasattr(model, ask):
            return getattr(model, ask)(rows)
    raise AssertionError(model)


def fitted(name, rows, weight=None, y=Y):
    model = getattr(budgetsvm, name)(**MACHINES[name])
    if name.endswith("SVR"):
        y = np.asarray(y, dtype=float)
    return model.fit(rows, y) if weight is None else model.fit(rows, y, weight)


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("machine", ["BudgetSVC", "Nystroem", "BudgetOGD"])
def test_a_fit_on_every_kind_of_source_has_the_bits_of_arrays(name, machine, files):
    with SOURCES[name](files) as source:
        if name in WEIGHTED and machine == "BudgetOGD":
            with pytest.raises(ValueError, match="weights"):
                fitted(machine, source, y=None)
            return
        if name in WEIGHTED and machine in UNWEIGHTED:
            return
        model = getattr(budgetsvm, machine)(**MACHINES[machine]).fit(source)
        weight = W if name in WEIGHTED and machine not in UNWEIGHTED else None
        whole = fitted(machine, sp.csr_matrix(X) if name in SPARSE else X, weight)
        np.testing.assert_array_equal(said(model, X), said(whole, X))
        assert getattr(model, "n_features_in_", D) == D


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", ["npy", "function", "svmlight"])
def test_every_machine_takes_a_source(machine, name, files):
    source = (
        SOURCES[name](files)
        if name != "function"
        else data.open(lambda: ((x, y) for x, y, _ in parts()))
    )
    model = getattr(budgetsvm, machine)(**MACHINES[machine]).fit(source)
    whole = fitted(machine, sp.csr_matrix(X) if name == "svmlight" else X)
    np.testing.assert_array_equal(said(model, X), said(whole, X))
    # Again, on what was stored.
    again = getattr(budgetsvm, machine)(**MACHINES[machine]).fit(source)
    np.testing.assert_array_equal(said(again, X), said(whole, X))


@pytest.mark.parametrize("labels", [np.array(["no", "yes"]), np.array([-1.0, 1.0]), [False, True]])
def test_labels_of_any_kind(labels):
    y = np.asarray(labels)[Y]
    at = [slice(0, 100), slice(100, N)]
    model = budgetsvm.BudgetSVC(**SOME).fit(data.open([(X[i], y[i]) for i in at]))
    whole = budgetsvm.BudgetSVC(**SOME).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), whole.predict(X))
    assert model.classes_.dtype == whole.classes_.dtype
    assert model.class_weight is None
    weighed = dict.fromkeys(whole.classes_[:1].tolist(), 2.0)
    for weight in (weighed, "balanced"):
        one, two = (
            budgetsvm.BudgetSVC(class_weight=weight, **SOME).fit(*given)
            for given in ((data.open((X, y)),), (X, y))
        )
        np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


def test_several_classes_and_a_label_that_comes_late():
    y = Y.copy()
    y[-1] = 7
    given = data.open([(X[:500], y[:500]), (X[500:], y[500:])])
    model, whole = (budgetsvm.BudgetSVC(**SOME).fit(*rows) for rows in ((given,), (X, y)))
    np.testing.assert_array_equal(model.classes_, [0, 1, 7])
    np.testing.assert_array_equal(model.decision_function(X), whole.decision_function(X))
    stream = budgetsvm.BudgetSVC(**SOME)
    with pytest.raises(ValueError, match=r"rows 0 to 899.*7"):
        stream.partial_fit(given, classes=[0, 1])
    assert not hasattr(stream, "classes_")


@pytest.mark.parametrize("machine", ["BudgetSVC", "BudgetSVR", "BudgetOneClassSVM", "AssetSVC",
                                     "BudgetOGD", "LocalBudgetSVC"])  # fmt: skip
def test_a_stream_from_a_source_is_that_of_its_rows(machine, files):
    params = dict(MACHINES[machine], gamma=0.5)
    if machine == "LocalBudgetSVC":
        params["budget"] = 20
    source = data.open(files / "x.npy", target=files / "t.npy", block_rows=100)
    classes = {"classes": [0, 1]} if machine not in ("BudgetSVR", "BudgetOneClassSVM") else {}
    streamed = getattr(budgetsvm, machine)(**params).partial_fit(source, **classes)
    whole = getattr(budgetsvm, machine)(**params)
    for first in range(0, N, 100):
        part = slice(first, first + 100)
        y = () if machine == "BudgetOneClassSVM" else (Y[part].astype(float),)
        whole.partial_fit(X[part], *y, **classes)
    np.testing.assert_array_equal(said(streamed, X), said(whole, X))


@pytest.mark.parametrize("name", ["npy", "svmlight", "csv", "function"])
def test_answers_are_written_as_they_come(name, files, tmp_path):
    source = SOURCES[name](files)
    source._block_rows = 100
    text = np.array(["no", "yes"])[Y]
    for model, asks in (
        (budgetsvm.BudgetSVC(**SOME).fit(X, text), ("predict", "decision_function")),
        (budgetsvm.BudgetSVC(**SOME).fit(X, np.digitize(VALUE, [-1, 1])), ("decision_function",)),
        (budgetsvm.BudgetSVC(loss="log_loss", **SOME).fit(X, Y), ("predict_proba",)),
        (budgetsvm.BudgetSVR(**SOME).fit(X, VALUE), ("predict",)),
        (budgetsvm.BudgetOneClassSVM(**SOME).fit(X), ("predict", "score_samples")),
        (budgetsvm.Nystroem(n_components=9, random_state=0).fit(X), ("transform",)),
    ):
        for ask in asks:
            out = tmp_path / "answers.npy"
            expected = getattr(model, ask)(sp.csr_matrix(X) if name in SPARSE else X)
            returned = getattr(model, ask)(source, out=out)
            np.testing.assert_array_equal(np.load(out), expected)
            np.testing.assert_array_equal(returned, expected)
            np.testing.assert_array_equal(getattr(model, ask)(source), expected)
            assert np.load(out).dtype.kind == expected.dtype.kind
            out.unlink()


def test_a_label_is_written_whole_that_comes_late(tmp_path):
    """Labels that are objects become text as wide as the widest, whatever the first rows have."""
    labels = np.array(["no", "yes, certainly"], dtype=object)[Y]
    model = budgetsvm.BudgetSVC(**SOME).fit(X, labels)
    order = np.argsort(model.decision_function(X))
    said = model.predict(data.open(X[order], block_rows=50), out=tmp_path / "said.npy")
    np.testing.assert_array_equal(said, model.predict(X[order]).astype(str))


def test_what_cannot_be_answered_leaves_no_file(tmp_path):
    model = budgetsvm.BudgetSVC(**SOME).fit(X, Y)
    bad = X.copy()
    bad[800, 2] = np.nan
    out = tmp_path / "answers.npy"
    out.write_bytes(b"before")
    source = data.open(lambda: ((bad[i : i + 100],) for i in range(0, N, 100)), block_rows=50)
    with pytest.raises(ValueError, match=r"part 8, row 800 .*feature 2 is nan"):
        model.predict(source, out=out)
    assert out.read_bytes() == b"before"
    assert [path.name for path in tmp_path.iterdir()] == ["answers.npy"]


BAD = {
    "nan": (lambda x: x.__setitem__((750, 1), np.nan), "feature 1 is nan", 449),
    "inf": (lambda x: x.__setitem__((301, 3), np.inf), "feature 3 is inf", 0),
}


@pytest.mark.parametrize("kind", ["npy", "csv", "parquet", "npz"])
@pytest.mark.parametrize("case", BAD)
def test_a_number_that_is_none_is_told_by_file_and_row(kind, case, tmp_path):
    spoil, said, row = BAD[case]
    bad = X.copy()
    spoil(bad)
    for at, part in enumerate((slice(0, 301), slice(301, N))):
        frame = pd.DataFrame(bad[part], columns=list("abcd")).assign(y=Y[part])
        np.save(tmp_path / f"{at}.npy", bad[part])
        frame.to_csv(tmp_path / f"{at}.csv", index=False)
        frame.to_parquet(tmp_path / f"{at}.parquet")
        sp.save_npz(tmp_path / f"{at}.npz", sp.csr_matrix(bad[part]))
    target = Y if kind in ("npy", "npz") else "y"
    model = budgetsvm.BudgetSVC(**SOME).fit(X, Y)
    before = model.decision_function(X)
    told = "has no value|" + said if kind in ("csv", "parquet") else said
    with pytest.raises(ValueError, match=rf"1\.{kind}, row {row} .*({told})"):
        model.fit(data.open(str(tmp_path / f"*.{kind}"), target=target))
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_what_else_is_wrong_with_files(files):
    at = files
    (at / "ragged.svm").write_text("1 1:1\n0 2:1\n1 3:x\n")
    with pytest.raises(ValueError, match=r"ragged\.svm.*line 3"):
        budgetsvm.BudgetSVC().fit(data.open(at / "ragged.svm"))
    (at / "ragged.csv").write_text("a,b,y\n1,2,0\n3,4\n5,6,1\n")
    with pytest.raises(ValueError, match=r"ragged\.csv.*Row #3"):
        budgetsvm.BudgetSVC().fit(data.open(at / "ragged.csv", target="y"))
    (at / "text.csv").write_text("a,b,y\n1,2,0\n3,x,1\n")
    with pytest.raises(ValueError, match=r"text\.csv: column 'b' is of type string"):
        data.open(at / "text.csv", target="y")
    with pytest.raises(ValueError, match=r"'z' is no column of .*c0\.csv"):
        data.open(at / "c0.csv", target="z")
    np.save(at / "narrow.npy", X[:, :3])
    with pytest.raises(ValueError, match=r"narrow\.npy, row 0 .*3 features, but 4 in"):
        budgetsvm.BudgetSVC().fit(data.open([at / "x.npy", at / "narrow.npy"], np.tile(Y, 2)))
    with pytest.raises(ValueError, match="target has 900 rows, the source has"):
        budgetsvm.BudgetSVC().fit(data.open([at / "x.npy", at / "x.npy"], Y))
    with pytest.raises(ValueError, match="target has 900 rows, the source has 300"):
        budgetsvm.BudgetSVC().fit(data.open(at / "x0.npy", Y))
    (at / "short.npy").write_bytes((at / "x.npy").read_bytes()[:-4])
    with pytest.raises(ValueError, match=r"short\.npy"):
        data.open(at / "short.npy", Y)
    (at / "short.npz").write_bytes((at / "s0.npz").read_bytes()[:-40])
    with pytest.raises(ValueError, match=r"short\.npz"):
        data.open(at / "short.npz", Y)
    sp.save_npz(at / "csc.npz", sp.csc_matrix(X))
    with pytest.raises(ValueError, match=r"csc\.npz: a CSR matrix is needed, this is 'csc'"):
        data.open(at / "csc.npz", Y)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        data.open(at / "nowhere*.npy")
    with pytest.raises(ValueError, match="several formats"):
        data.open([at / "x.npy", at / "c0.csv"])


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (lambda: [(X, Y), (X[:, :2], Y)], "part 1, row 900 .*: 2 features, but 4 in part 0"),
        (lambda: [(X, Y), (sp.csr_matrix(X), Y)], "part 1: dense and CSR"),
        (lambda: [(X, Y), (X,)], "part 1: a target is missing"),
        (lambda: [(X, Y), (X, Y[:5])], r"part 1: target of shape \(5,\) for 900 rows"),
        (lambda: [(X, Y), (X, Y.astype(str))], "part 1.*all text or all numbers"),
        (lambda: [(X, Y, -W)], "part 0, row 0 .*weight"),
        (lambda: [(X, Y, 0 * W)], "weight: it must not be all zero"),
        (lambda: [(X, np.where(Y > 0, 1.0, np.nan))], "part 0.*the target is nan"),
        (lambda: [(X, 0 * Y)], "1 class"),
        (lambda: [X], r"part 0: \(X, y\) or"),
        (list, "has no rows"),
        (lambda: [(X[:0], Y[:0])], "has no rows"),
        (lambda: [(X,)], "no target"),
    ],
)
def test_what_is_wrong_with_parts(given, told):
    model = budgetsvm.BudgetSVC(**SOME)
    with pytest.raises(ValueError, match=told):
        model.fit(data.open(given))
    assert not hasattr(model, "classes_")


def test_empty_parts_and_files_do_no_harm():
    given = data.open([(X[:0], Y[:0]), (X, Y), (X[:0], Y[:0])])
    model = budgetsvm.BudgetSVC(**SOME).fit(given)
    whole = budgetsvm.BudgetSVC(**SOME).fit(X, Y)
    np.testing.assert_array_equal(model.decision_function(X), whole.decision_function(X))


def test_arguments_are_refused_by_name(files):
    source = data.open((X, Y))
    with pytest.raises(ValueError, match=r"^y: a source has its own"):
        budgetsvm.BudgetSVC().fit(source, Y)
    with pytest.raises(ValueError, match=r"^sample_weight: a source has its own"):
        budgetsvm.BudgetSVC().fit(source, sample_weight=W)
    with pytest.raises(ValueError, match="gone through once"):
        data.open(iter([(X, Y)]))
    for given, told in (
        ({"dtype": int}, "dtype"), ({"block_rows": 0}, "block_rows"), ({"format": "x"}, "format"),
        ({"target": 4}, "target=4 is no column"), ({"features": [9]}, "features"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=told):
            data.open(files / "x.npy", **given)
    with pytest.raises(ValueError, match="features"):
        data.open(files / "r0.svm", features=[0])
    with pytest.raises(OSError, match="cache="):
        data.open(parts, cache=files / "nowhere").stored()


def test_files_that_change_are_read_again(files):
    source = data.open(files / "x0.npy", target=files / "t0.npy")
    first = source.stored()
    assert source.stored() is first
    np.save(files / "x0.npy", X[:301])
    np.save(files / "t0.npy", Y[:301])
    assert source.stored().X.shape == (301, D)


def test_the_disk_that_is_full(files, monkeypatch):
    model = budgetsvm.BudgetSVC(**SOME).fit(X, Y)
    before = model.decision_function(X)
    opened = partial(open, "/dev/full", "w+b", 0)
    monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: opened())
    with pytest.raises(OSError, match="cache='/dev/full'") as caught:
        model.fit(data.open(parts, cache="/dev/full"))
    assert caught.value.errno == 28
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_nothing_is_left_in_the_folder_and_pages_are_handed_back(tmp_path):
    source = data.open(parts, cache=tmp_path)
    budgetsvm.BudgetSVC(**SOME).fit(source)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not hasattr(mmap, "MADV_DONTNEED"), reason="pages cannot be handed back")
@pytest.mark.skipif(sys.platform != "linux", reason="where the system tells what is resident")
def test_pages_are_handed_back(tmp_path):
    def resident():
        with open("/proc/self/status") as told:
            return next(int(line.split()[1]) for line in told if line.startswith("RssFile"))

    maps = _mapped_arrays.MappedFiles(tmp_path)
    column = maps.column(np.float64)
    for _ in range(16):
        column.append(np.ones(2**20))
    before = resident()
    with _mapped_arrays.ResidentPageLimit(maps):
        whole = column.array()
    with _mapped_arrays.ResidentPageLimit(maps):
        assert whole.sum() == 2**24
    assert resident() < before + 40_000  # of 131,072 kB that were looked at
    assert whole[0] == 1


def test_progress_tells_rows_a_second(capsys):
    lines = ProgressLine(2)
    lines.show({"phase": "read", "rows": 300, "time": 2.0})
    told = {"iteration": 1, "n_sv": 5, "objective": None}
    lines.show({"phase": "end_of_pass", "seen": 900, "n_samples": 900, "time": 3.0, **told})
    assert "300 rows/s" in capsys.readouterr().err
    assert lines.describe({"phase": "read", "rows": 300, "time": 2.0}).endswith("150 rows/s")


def test_floats_of_both_precisions_and_scaled_features(files):
    wide = X.astype(np.float64) / 3
    np.save(files / "double.npy", wide)
    for dtype in (None, np.float32, np.float64):
        source = data.open(files / "double.npy", target=Y, dtype=dtype)
        rows = wide.astype(dtype or np.float64)
        for own in ({}, {"feature_scales": [1.0, 2.0, 0.0, 0.5]}, {"early_stopping": True}):
            model, whole = (
                budgetsvm.BudgetSVC(**SOME, **own).fit(*given) for given in ((source,), (rows, Y))
            )
            np.testing.assert_array_equal(
                model.decision_function(rows), whole.decision_function(rows)
            )
    assert model.support_vectors_.dtype == np.float64


def test_training_goes_on_and_is_polished_on_a_source():
    source = data.open((X, Y))
    for params in ({"warm_start": True}, {}):
        model, whole = (budgetsvm.BudgetSVC(**SOME, **params) for _ in range(2))
        model.fit(source).fit(source).polish(source)
        whole.fit(X, Y).fit(X, Y).polish(X, Y)
        np.testing.assert_array_equal(model.decision_function(X), whole.decision_function(X))


def test_the_order_of_blocks_is_one_of_its_own():
    many, y = np.tile(X, (10, 1)), np.tile(Y, 10)
    one, two = (
        budgetsvm.BudgetSVC(**SOME, order=order).fit(many, y) for order in ("blocks", "shuffled")
    )
    assert not np.array_equal(one.decision_function(X), two.decision_function(X))
    assert one.score(X, Y) > 0.85
