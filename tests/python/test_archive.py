"""The archive: whatever a class lists comes back with the same bits, and nothing else is taken."""

from __future__ import annotations

import json
from typing import ClassVar

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.datasets import make_moons

import budgetsvm
from budgetsvm import SVC, SVR, BudgetSVC, BudgetSVR, PrimalSVC, PrimalSVR, _core
from budgetsvm._archive import ESTIMATORS, ArchiveMixin


class Toy(ArchiveMixin, BaseEstimator):
    _archived: ClassVar[dict[str, str]] = {
        "coef_": "array", "rows_": "matrix", "n_iter_": "sizes", "history_": "curves",
        "extra_": "array?",
    }  # fmt: skip

    def __init__(self, C=1.0, basis=None, callback=None, kernel="rbf"):
        self.C, self.basis, self.callback, self.kernel = C, basis, callback, kernel

    def fit(self, X, y=None):
        return self


@pytest.fixture(autouse=True)
def known(monkeypatch):
    monkeypatch.setitem(ESTIMATORS, "Toy", Toy)


def fitted(rows, **params):
    toy = Toy(**params)
    toy.coef_ = np.array([[1.5, -2.0]], dtype=np.float32)
    toy.rows_, toy.n_iter_ = rows, [3, 0, 7]
    toy.history_ = {"time": np.array([0.5, np.nan])}
    toy.classes_ = np.array(["a", "ü"])
    toy.n_features_in_, toy.feature_names_in_ = 2, np.array(["p", "q"], dtype=object)
    return toy


@pytest.mark.parametrize("rows", [
    np.arange(6, dtype=np.int32).reshape(3, 2).copy(order="F"),
    sparse.csr_matrix(np.array([[0, 1.5], [2.0, 0]], dtype=np.float32)),
])  # fmt: skip
def test_everything_comes_back(tmp_path, rows):
    toy = fitted(rows, C=float("inf"), basis=np.array([True, False]), callback=print)
    toy.save(tmp_path / "toy.safetensors")
    again = budgetsvm.load(tmp_path / "toy.safetensors")
    assert type(again) is Toy
    assert again.C == float("inf")
    assert again.callback is None
    np.testing.assert_array_equal(again.basis, toy.basis)
    for name in ("coef_", "classes_", "feature_names_in_"):
        assert getattr(again, name).dtype == getattr(toy, name).dtype
        np.testing.assert_array_equal(getattr(again, name), getattr(toy, name))
    assert type(again.rows_) is type(rows)
    assert again.rows_.dtype == rows.dtype
    assert (again.rows_ != rows).sum() == 0
    assert again.n_iter_ == [3, 0, 7]
    assert not hasattr(again, "extra_")
    np.testing.assert_array_equal(again.history_["time"], toy.history_["time"])


def test_what_a_file_cannot_hold(tmp_path):
    path = tmp_path / "toy.safetensors"
    fitted(np.eye(2)).save(path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="kernel is a function"):
        fitted(np.eye(2), kernel=len).save(path)
    with pytest.raises(ValueError, match="NaN or infinity"):
        fitted(np.array([[np.nan]])).save(path)
    with pytest.raises(ValueError, match="path"):
        fitted(np.eye(2)).save(tmp_path / "toy.bin")
    assert path.read_bytes() == before


@pytest.mark.parametrize("given", [
    [[1, 2], [3, 4]], ((0.5, 2.0),), [np.ones(2), np.zeros(2)], np.array([[1.5]], dtype=object),
    sparse.csr_matrix(np.eye(2)), sparse.coo_matrix(np.eye(3)[:2]),
])  # fmt: skip
def test_points_of_any_container_come_back(tmp_path, given):
    fitted(np.eye(2), basis=given).save(tmp_path / "toy.safetensors")
    again = budgetsvm.load(tmp_path / "toy.safetensors").basis
    assert sparse.issparse(again) == sparse.issparse(given)
    dense = [rows.toarray() if sparse.issparse(rows) else rows for rows in (again, given)]
    np.testing.assert_array_equal(dense[0], np.asarray(dense[1], dtype=np.float64))


@pytest.mark.parametrize("given", [object(), [len], [["a"]], SVC(), {"a": 1}])
def test_other_objects_are_named(tmp_path, given):
    with pytest.raises(ValueError, match=r"basis .*, which a file cannot hold: use pickle"):
        fitted(np.eye(2), basis=given).save(tmp_path / "toy.safetensors")
    model = BudgetSVC(budget=5).fit(np.eye(2), [0, 1]).set_params(gamma=given)
    with pytest.raises(ValueError, match=r"gamma is .*, which a file cannot hold: use pickle"):
        model.save(tmp_path / "model.safetensors")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("machine", [PrimalSVC, PrimalSVR])
@pytest.mark.parametrize("count", [10, 500])
def test_a_machine_as_basis_is_saved_as_its_points(tmp_path, machine, count):
    X, y = make_moons(200, noise=0.2, random_state=0)
    test = X + 0.01
    for source in (SVC(gamma=1.0), BudgetSVC(budget=20), SVR(), BudgetSVR(budget=20)):
        model = machine(basis=source.fit(X, y), n_components=count, random_state=0).fit(X, y)
        model.save(tmp_path / "model.safetensors")
        again = budgetsvm.load(tmp_path / "model.safetensors")
        np.testing.assert_array_equal(again.basis, model.support_vectors_)
        np.testing.assert_array_equal(again.predict(test), model.predict(test))
        values = again.fit(X, y).predict(test)
        np.testing.assert_allclose(values, model.predict(test), atol=1e-6)
    linear = PrimalSVC(kernel="linear").fit(X, y).set_params(basis=SVC().fit(X, y))
    with pytest.raises(ValueError, match="basis is of type SVC"):
        linear.save(tmp_path / "linear.safetensors")


def test_an_infinite_gap_is_saved(tmp_path):
    X, y = make_moons(60, random_state=0)
    model = SVC(C=float("inf"), gamma=2.0).fit(X, y)
    model.save(tmp_path / "model.safetensors")
    again = budgetsvm.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.duality_gap_, model.duality_gap_)
    assert again.duality_gap_.dtype == np.float64


def damaged(description, arrays):
    yield "kind", {**description, "kind": "load"}, arrays
    yield "unknown key", {**description, "more": 1}, arrays
    yield "unknown parameter", {**description, "params": {"alpha": 1}}, arrays
    yield "unknown attribute", {
        **description, "fitted": {**description["fitted"], "save": 1}
    }, arrays  # fmt: skip
    missing = {k: v for k, v in description["fitted"].items() if k != "coef_"}
    yield "missing attribute", {**description, "fitted": missing}, arrays
    yield "superfluous array", description, {**arrays, "more": np.zeros(1)}
    yield "missing array", description, {k: v for k, v in arrays.items() if k != "coef_"}
    yield "names", description, {**arrays, "feature_names": np.frombuffer(b'["p"]', np.uint8)}
    yield "indices", description, {**arrays, "rows_.indices": np.array([5, 0])}
    params = description["params"]
    yield "points of C", {**description, "params": {**params, "C": {"fitted": "coef_"}}}, arrays
    yield "rows of C", {**description, "params": {**params, "C": {"csr": {}}}}, arrays
    yield "labels", {**description, "labels": ["int64", ["a"]]}, arrays
    yield "types", {
        **description, "fitted": {**description["fitted"], "coef_": {"array": "object"}}
    }, arrays  # fmt: skip


def test_a_damaged_file_is_refused(tmp_path):
    path = tmp_path / "toy.safetensors"
    fitted(sparse.csr_matrix(np.eye(2))).save(path)
    text, arrays, machine = _core.archive_load(path)
    assert machine is None
    for what, description, content in damaged(json.loads(text), arrays):
        _core.archive_save(path, json.dumps(description), content, None)
        with pytest.raises(ValueError, match=r"not a valid budgetsvm model file|no estimator of"):
            print(what, budgetsvm.load(path))


def test_every_flipped_byte_is_an_error_or_other_numbers(tmp_path):
    path = tmp_path / "toy.safetensors"
    fitted(np.eye(2)).save(path)
    whole = path.read_bytes()
    for at in range(0, len(whole), 3):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x15]) + whole[at + 1 :])
        try:
            again = budgetsvm.load(path)
        except (ValueError, OSError):
            continue
        assert isinstance(again, Toy)
    for size in range(0, len(whole), 7):
        path.write_bytes(whole[:size])
        with pytest.raises(ValueError, match="not a valid"):
            budgetsvm.load(path)


@pytest.mark.parametrize("labels", [[], [0], [1, 0], [0, 0], [[0, 1]]])
def test_labels_are_two_and_more_and_in_order(labels, tmp_path):
    path = tmp_path / "model.safetensors"
    BudgetSVC().fit([[0.0], [1.0]], [0, 1]).save(path)
    text, arrays, machine = _core.archive_load(str(path))
    description = json.loads(text)
    description["labels"] = ["int64", labels]
    _core.archive_save(str(path), json.dumps(description), arrays, machine)
    with pytest.raises(ValueError, match="not a valid budgetsvm model file"):
        budgetsvm.load(path)
