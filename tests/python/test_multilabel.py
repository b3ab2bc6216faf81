"""Labels that do not exclude each other."""

from __future__ import annotations

import io
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import accuracy_score

import budgetsvm as b
from budgetsvm import serve
from budgetsvm.convert import to_c, to_libsvm

MACHINES = [
    b.BudgetSVC(budget=40, C=10, gamma=0.5, random_state=0),
    b.BudgetSVC(budget=40, C=10, gamma=0.5, shared=False, random_state=0),
    b.BudgetSVC(budget=40, C=10, gamma=0.5, loss="log_loss", fit_intercept=True, random_state=0),
    b.PrimalSVC(C=10, gamma=0.5),
    b.PrimalSVC(C=10, kernel="linear"),
    b.AssetSVC(C=10, gamma=0.5, random_state=0),
    b.AssetSVC(C=10, gamma=0.5, solver="dual", max_iter=5000, random_state=0),
]
IDS = [f"{type(m).__name__}-{at}" for at, m in enumerate(MACHINES)]
machines = pytest.mark.parametrize("machine", MACHINES, ids=IDS)


def data(n: int = 400, k: int = 3) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).normal(size=(n, 3))
    Y = np.stack([X[:, 0] > 0, X[:, 1] + X[:, 0] > 0.5, X[:, 2] ** 2 < 0.5], axis=1)
    return X, Y[:, :k].astype(int)


def fresh(machine):
    return type(machine)(**machine.get_params())


@machines
@pytest.mark.parametrize("k", [2, 3])
def test_each_label_is_learnt(machine, k) -> None:
    X, Y = data(k=k)
    weights = 1.0 + np.arange(len(Y)) % 2
    fitted = fresh(machine).fit(X, Y, weights)
    assert fitted.decision_function(X).shape == Y.shape
    said = fitted.predict(X)
    assert said.shape == Y.shape
    assert said.dtype == np.int64
    assert np.array_equal(fitted.classes_, np.arange(k))
    assert fitted.score(X, Y) == accuracy_score(Y, said)
    alone = np.stack([fresh(machine).fit(X, Y[:, c], weights).predict(X) for c in range(k)], axis=1)
    assert (said == Y).mean() > (alone == Y).mean() - 0.05


def test_with_a_term_for_every_row_each_label_is_the_machine_of_two_classes() -> None:
    X, Y = data(60)
    for params in ({}, {"fit_intercept": True}, {"loss": "squared_hinge"}, {"loss": "log_loss"}):
        one = b.BudgetSVC(budget=80, C=5, gamma=0.5, **params)
        together = one.fit(X, Y).decision_function(X)
        for c in range(3):
            assert np.allclose(together[:, c], one.fit(X, Y[:, c]).decision_function(X), atol=1e-6)


def test_on_one_basis_each_label_has_the_coefficients_that_it_has_alone() -> None:
    X, Y = data()
    one = b.PrimalSVC(C=10, gamma=0.5, basis=X[:30], tol=1e-10, max_iter=500)
    together = one.fit(X, Y).dual_coef_.copy()
    for c in range(3):
        alone = one.fit(X, Y[:, c]).dual_coef_[0]
        assert np.abs(together[c] - alone).max() < 1e-6 * np.abs(alone).max()


@machines
@pytest.mark.parametrize("rows", [sp.csr_matrix, np.float32])
def test_rows_and_labels_of_other_kinds(machine, rows) -> None:
    X, Y = data()
    said = fresh(machine).fit(rows(X), Y).predict(X)
    for other in (sp.csr_matrix(Y), Y.astype(bool), Y.astype(float)):
        assert np.array_equal(fresh(machine).fit(rows(X), other).predict(X), said)


@machines
@pytest.mark.parametrize("k", [2, 3])
def test_files_copies_and_forms(machine, k, tmp_path) -> None:
    X, Y = data(200, k)
    fitted = fresh(machine).fit(X, Y)
    said, values = fitted.predict(X), fitted.decision_function(X)
    path = tmp_path / "a.safetensors"
    fitted.save(path)
    served = serve.load(path)
    for other in (b.load(path), pickle.loads(pickle.dumps(fitted)), served):
        assert np.array_equal(other.predict(X), said)
        assert np.array_equal(other.decision_function(X), values)
    if hasattr(fitted, "predict_proba"):
        assert np.allclose(fitted.predict_proba(X), 1 / (1 + np.exp(-values)))
        assert np.allclose(served.predict_proba(X), fitted.predict_proba(X), atol=1e-12)
    assert f"MODEL_OUTPUTS {k}" in to_c(fitted)
    with pytest.raises(ValueError, match="sets of labels"):
        to_libsvm(fitted, io.BytesIO())
    again = fresh(machine).fit(X, Y[:, 0])
    assert again.predict(X).shape == (200,)
    assert again.fit(X, Y).predict(X).shape == Y.shape


@machines
def test_onnx(machine) -> None:
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    from budgetsvm.onnx import to_onnx

    X, Y = data(200)
    fitted = fresh(machine).fit(X, Y)
    model = to_onnx(fitted, dtype=np.float64).SerializeToString()
    session = runtime.InferenceSession(model, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    said = dict(zip(names, session.run(None, {"X": X}), strict=True))
    assert np.array_equal(said["labels"], fitted.predict(X))
    assert np.allclose(said["decision"], fitted.decision_function(X), atol=1e-9)
    if hasattr(fitted, "predict_proba"):
        assert np.allclose(said["probabilities"], fitted.predict_proba(X), atol=1e-9)


def test_streams(tmp_path) -> None:
    X, Y = data(3000)
    whole = b.BudgetSVC(budget=30, C=10, gamma=0.5, random_state=0).partial_fit(X, Y)
    parts = b.BudgetSVC(budget=30, C=10, gamma=0.5, random_state=0)
    for first in range(0, 3000, 700):
        parts.partial_fit(X[first : first + 700], Y[first : first + 700], np.arange(3))
    assert np.array_equal(whole.decision_function(X), parts.decision_function(X))
    assert parts.score(X, Y) > 0.8
    parts.save(tmp_path / "a.safetensors")
    again = b.load(tmp_path / "a.safetensors")
    for one in (parts, again):
        one.partial_fit(X[:600], Y[:600])
    assert np.array_equal(again.decision_function(X), parts.decision_function(X))
    for wrong in (Y[:, 0], Y[:, :2]):
        with pytest.raises(ValueError, match="columns, as where training began"):
            parts.partial_fit(X, wrong)
    with pytest.raises(ValueError, match="one label a row"):
        b.BudgetSVC().fit(X, Y[:, 0]).partial_fit(X, Y)
    with pytest.raises(ValueError, match="numbers of the columns"):
        b.BudgetSVC().partial_fit(X, Y, classes=[0, 1])
    asset = b.AssetSVC(gamma=0.5, random_state=0).partial_fit(X, Y).partial_fit(X, Y)
    assert asset.predict(X).shape == Y.shape


def test_options_of_a_budget() -> None:
    X, Y = data(1000)
    for params in (
        {"early_stopping": True, "max_iter": 3}, {"refine": True, "refine_iter": 20},
        {"solver": "bsgd"}, {"polishing": False}, {"C": "tune", "gamma": "tune"},
        {"feature_scales": "learn"}, {"record_objective": True},
    ):  # fmt: skip
        own = {"budget": 40, "C": 10, "gamma": 0.5, "random_state": 0, **params}
        assert (b.BudgetSVC(**own).fit(X, Y).predict(X) == Y).mean() > 0.85, params
    found = b.BudgetSVCCV(budget=30, Cs=2, gammas=2, cv=2, random_state=0).fit(X, Y)
    assert found.best_score_ > 0.6


def test_warm_starts_and_leaving_one_out() -> None:
    X, Y = data()
    for one in (b.BudgetSVC(gamma=0.5, warm_start=True), b.PrimalSVC(gamma=0.5, warm_start=True)):
        assert one.fit(X, Y).fit(X, Y).score(X, Y) > 0.7
    for wrong in (Y[:, :2], Y[:, 0]):
        with pytest.raises(ValueError, match="last fit"):
            b.BudgetSVC(gamma=0.5, warm_start=True).fit(X, Y).fit(X, wrong)
    left = b.PrimalSVC(gamma=0.5, leave_one_out=True).fit(X[:80], Y[:80])
    assert left.loo_decision_.shape == (80, 3)
    assert left.loo_score_ == pytest.approx(accuracy_score(Y[:80], left.loo_decision_ > 0))


def test_a_column_of_one_value_and_rows_without_labels() -> None:
    X, Y = data()
    Y = np.column_stack([Y, np.zeros(len(Y), dtype=int)])
    fitted = b.BudgetSVC(gamma=0.5, random_state=0).fit(X, Y)
    assert not fitted.predict(X)[:, 3].any()


@pytest.mark.parametrize("weight", ["balanced", {0: 2.0}])
def test_what_sets_of_labels_have_not(weight) -> None:
    X, Y = data(100)
    with pytest.raises(ValueError, match="class_weight is of classes"):
        b.BudgetSVC(class_weight=weight).fit(X, Y)
    fitted = b.BudgetSVC().fit(X, Y)
    with pytest.raises(ValueError, match=r"BudgetSVC: .*calibrate a machine a label"):
        fitted.calibrate(X, Y[:, 0])
    for cls in (b.SVC, b.AutoSVC, b.LocalBudgetSVC, b.KernelOGD):
        with pytest.raises(ValueError, match=r"1d array|[Mm]ultilabel|multi"):
            cls().fit(X, Y)
    with pytest.raises(ValueError, match="1d array"):
        b.BudgetSVC().fit(X, Y + Y[:, :1])
