"""Files, pickles, copies: the same bits, and nothing run."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import textwrap

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs

import budgetsvm
from budgetsvm import BudgetSVC, BudgetSVR
from files import summed

X, Y = make_blobs(700, centers=3, n_features=4, random_state=0, cluster_std=3.0)


def models():
    names = np.array(["x", "ü", "z"])
    frame = pd.DataFrame(X, columns=list("abcd"))
    yield "three", BudgetSVC(budget=20, random_state=0).fit(X, Y), X
    yield "binary", BudgetSVC(budget=20, C=2.5, gamma=0.1).fit(X, Y > 0), X
    yield "strings", BudgetSVC(budget=20, class_weight={"x": 2.0}).fit(X, names[Y]), X
    yield "objects", BudgetSVC(budget=20).fit(X, names[Y].astype(object)), X
    yield "float32", BudgetSVC(budget=20).fit(X.astype(np.float32), Y.astype(np.int8)), X
    yield "separate", BudgetSVC(budget=9, shared=False).fit(X, Y * 1.0), X
    yield "poly", BudgetSVC(budget=9, kernel="poly", degree=2, coef0=1.0).fit(X, Y), X
    yield "csr", BudgetSVC(budget=9).fit(sparse.csr_matrix(X), Y), sparse.csr_matrix(X)
    yield "frame", BudgetSVC(budget=9, fit_intercept=True).fit(frame, Y), frame
    yield "bsgd", BudgetSVC(budget=9, solver="bsgd", polishing=False).fit(X, Y), X
    yield "regression", BudgetSVR(budget=20, epsilon=0.2).fit(X, X[:, 0]), X
    yield "exact", BudgetSVR(budget=800).fit(X, X[:, 0]), X


MODELS = {name: (model, rows) for name, model, rows in models()}


def values(model, rows):
    return getattr(model, "decision_function", model.predict)(rows)


def same(model, again, rows):
    np.testing.assert_array_equal(values(model, rows), values(again, rows))
    np.testing.assert_array_equal(model.predict(rows), again.predict(rows))
    assert type(again) is type(model)
    assert again.n_iter_ == model.n_iter_
    assert again.stop_reason_ == model.stop_reason_
    assert again.objective_ == model.objective_
    assert again.n_features_in_ == model.n_features_in_
    for name in ("classes_", "feature_names_in_", "support_vectors_", "dual_coef_", "intercept_"):
        assert hasattr(model, name) == hasattr(again, name)
        if hasattr(model, name):
            np.testing.assert_array_equal(getattr(model, name), getattr(again, name))
            assert getattr(model, name).dtype == getattr(again, name).dtype
    for name, curve in model.history_.items():
        np.testing.assert_array_equal(curve, again.history_[name])


@pytest.mark.parametrize("name", MODELS)
def test_save_and_load(name, tmp_path):
    model, rows = MODELS[name]
    path = tmp_path / "model.safetensors"
    model.save(path)
    again = budgetsvm.load(path)
    same(model, again, rows)
    assert again.get_params() == model.get_params()
    other = tmp_path / "again.safetensors"
    again.save(other)
    assert other.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", MODELS)
def test_pickle_copy_joblib(name, tmp_path):
    model, rows = MODELS[name]
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        same(model, pickle.loads(pickle.dumps(model, protocol)), rows)
    same(model, copy.copy(model), rows)
    same(model, copy.deepcopy(model), rows)
    joblib.dump(model, tmp_path / "model.joblib")
    same(model, joblib.load(tmp_path / "model.joblib"), rows)
    assert not hasattr(clone(model), "support_vectors_")


@pytest.mark.parametrize("name", ["three", "separate", "bsgd"])
def test_training_goes_on_the_same_after_loading(name, tmp_path):
    model, rows = MODELS[name]
    model = copy.deepcopy(model).set_params(random_state=1)
    model.save(tmp_path / "model.safetensors")
    loaded = budgetsvm.load(tmp_path / "model.safetensors")
    y = model.predict(rows)
    np.testing.assert_array_equal(
        values(model.partial_fit(rows, y), rows), values(loaded.partial_fit(rows, y), rows)
    )


def test_what_cannot_be_saved_says_so(tmp_path):
    model = MODELS["three"][0]
    with pytest.raises(ValueError, match="safetensors"):
        model.save(tmp_path / "model.pkl")
    with pytest.raises(OSError, match="missing"):
        model.save(tmp_path / "missing" / "model.safetensors")
    with pytest.raises(FileNotFoundError):
        budgetsvm.load(tmp_path / "none.safetensors")
    # A callback and a generator stay behind.
    odd = BudgetSVC(budget=5, random_state=np.random.RandomState(0), callback=print)
    odd.fit(X, Y).save(tmp_path / "odd.safetensors")
    assert budgetsvm.load(tmp_path / "odd.safetensors").callback is None


def test_damaged_files_are_refused(tmp_path):
    model = MODELS["three"][0]
    path = tmp_path / "model.safetensors"
    model.save(path)
    good = path.read_bytes()
    rng = np.random.default_rng(0)
    for length in [0, 1, 7, 8, 9, *rng.integers(10, len(good), 60)]:
        path.write_bytes(good[:length])
        with pytest.raises(ValueError, match="not a valid budgetsvm model file"):
            budgetsvm.load(path)
    path.write_bytes(good + b"\0")
    with pytest.raises(ValueError, match="not a valid"):
        budgetsvm.load(path)
    path.write_bytes(pickle.dumps(model))
    with pytest.raises(ValueError, match="not a valid"):
        budgetsvm.load(path)
    with pytest.raises(ValueError, match="not a valid"):
        budgetsvm._core.Machine.from_bytes(good[:-1])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('kind\\":\\"BudgetSVC', 'kind\\":\\"BudgetSVX'),
        ('kind\\":\\"BudgetSVC', 'kind\\":\\"BudgetSVR'),
        ('max_iter\\"', 'min_iter\\"'),
        ('fitted\\"', 'fatted\\"'),
        ('stop_reason_\\"', 'step_reason_\\"'),
        ("int64", "int65"),
        ("int64", "<U999"),
    ],
)
def test_a_changed_description_is_refused(old, new, tmp_path):
    path = tmp_path / "model.safetensors"
    MODELS["three"][0].save(path)
    good = path.read_bytes()
    assert old.encode() in good
    path.write_bytes(summed(good.replace(old.encode(), new.encode())))
    with pytest.raises(ValueError, match="no estimator of" if "SVX" in new else "not a valid"):
        budgetsvm.load(path)


def test_loading_runs_nothing(tmp_path):
    path = tmp_path / "model.safetensors"
    MODELS["strings"][0].save(path)
    script = """
        import sys, budgetsvm, pickle, marshal, importlib, builtins
        # Classes are imported when they are first asked for.
        [getattr(budgetsvm, name) for name in (*budgetsvm.__all__, "load")]
        def no(*_, **__): raise AssertionError("loading ran code")
        for module, names in ((pickle, ("load", "loads", "Unpickler")),
                              (marshal, ("load", "loads")),
                              (importlib, ("import_module",)), (builtins, ("eval", "exec"))):
            for name in names:
                setattr(module, name, no)
        opened = []
        sys.addaudithook(lambda event, args: event == "open" and opened.append(args[0]))
        budgetsvm.load(sys.argv[1])
        assert not opened, opened
    """
    subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), str(path)], check=True, timeout=60
    )


def test_the_file_is_small_and_plain(tmp_path):
    path = tmp_path / "model.safetensors"
    model = MODELS["float32"][0]
    model.save(path, resume=False)
    values_bytes = model.support_vectors_.nbytes + model.dual_coef_.nbytes
    assert path.stat().st_size < values_bytes + 4096
    assert [p.name for p in tmp_path.iterdir()] == ["model.safetensors"]


def test_labels_of_all_of_uint64(tmp_path):
    X, path = np.array([[0.0], [1.0]]), tmp_path / "model.safetensors"
    y = np.array([0, 2**64 - 1], dtype=np.uint64)
    BudgetSVC().fit(X, y).save(path)
    again = budgetsvm.load(path)
    assert again.classes_.dtype == y.dtype
    assert list(again.predict(X)) == list(y)
