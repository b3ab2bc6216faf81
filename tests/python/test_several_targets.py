"""Several columns of y on shared terms."""

from __future__ import annotations

import io
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import budgetsvm as b
from budgetsvm import serve
from budgetsvm.convert import to_c, to_libsvm

K = 3
#: The unit of smoothing is that of all columns together: where it hardly counts a column is alone.
SHARP = 1e-7


def data(n: int = 400, k: int = K) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).normal(size=(n, 4))
    Y = np.stack([np.sin(X[:, 0]), X[:, 1] * X[:, 2], np.cos(X[:, 3]) + 0.1 * X[:, 0]], axis=1)
    return X, Y[:, :k]


MACHINES = [
    b.BudgetSVR(budget=40, C=10, gamma=0.2, random_state=0),
    b.BudgetSVR(budget=40, C=10, gamma=0.2, fit_intercept=False, random_state=0),
    b.PrimalSVR(C=10, gamma=0.2),
    b.PrimalSVR(C=10, gamma=0.2, basis="random", n_components=30, random_state=0),
    b.PrimalSVR(C=10, kernel="linear"),
    b.AssetSVR(C=10, gamma=0.2, random_state=0),
    b.AssetSVR(C=10, gamma=0.2, solver="dual", random_state=0),
    b.AssetSVR(C=10, gamma=0.2, features="fourier", random_state=0),
]
IDS = [f"{type(m).__name__}-{at}" for at, m in enumerate(MACHINES)]
machines = pytest.mark.parametrize("machine", MACHINES, ids=IDS)


def fresh(machine):
    return type(machine)(**machine.get_params())


@machines
def test_predictions_have_the_shape_of_y(machine) -> None:
    X, Y = data()
    fitted = fresh(machine).fit(X, Y)
    assert fitted.predict(X).shape == Y.shape
    assert fitted.intercept_.shape == (K,)
    column = fresh(machine).fit(X, Y[:, :1])
    flat = fresh(machine).fit(X, Y[:, 0])
    assert column.predict(X).shape == (len(X), 1)
    assert flat.predict(X).shape == (len(X),)
    assert np.array_equal(column.predict(X)[:, 0], flat.predict(X))
    refitted = column.fit(X, Y[:, 0])
    assert refitted.predict(X).shape == (len(X),)


@machines
@pytest.mark.parametrize("rows", [np.asarray, sp.csr_matrix, np.float32])
def test_each_column_is_learnt(machine, rows) -> None:
    X, Y = data()
    X = rows(X)
    weights = 1.0 + np.arange(len(Y)) % 3
    fitted = fresh(machine).fit(X, Y, weights)
    alone = [fresh(machine).fit(X, Y[:, c], weights).score(X, Y[:, c], weights) for c in range(K)]
    together = [
        float(1 - np.average((Y[:, c] - fitted.predict(X)[:, c]) ** 2, weights=weights)
              / np.average((Y[:, c] - np.average(Y[:, c], weights=weights)) ** 2, weights=weights))
        for c in range(K)
    ]  # fmt: skip
    assert np.mean(together) == pytest.approx(fitted.score(X, Y, weights))
    # Shared terms of a budget may do a little less than terms of one's own.
    slack = 0.15 if isinstance(machine, b.BudgetSVR) else 0.03
    assert all(t > a - slack for t, a in zip(together, alone, strict=True)), (together, alone)


def test_with_a_term_for_every_row_each_column_is_the_machine_that_it_is_alone() -> None:
    X, Y = data(60)
    for fit_intercept in (True, False):
        one = b.BudgetSVR(budget=80, C=5, gamma=0.2, fit_intercept=fit_intercept, smoothing=SHARP)
        together = one.fit(X, Y).predict(X)
        for c in range(K):
            assert np.allclose(together[:, c], one.fit(X, Y[:, c]).predict(X), atol=1e-6)


def test_on_one_basis_each_column_has_the_coefficients_that_it_has_alone() -> None:
    X, Y = data()
    basis = b.BudgetSVR(budget=40, C=10, gamma=0.2, random_state=0).fit(X, Y).support_vectors_
    one = b.PrimalSVR(
        C=10,
        gamma=0.2,
        basis=basis,
        tol=1e-10,
        max_iter=500,
        loss="squared_epsilon_insensitive",  # which has no corner to smooth
    )
    together = one.fit(X, Y)
    coef, intercept = together.dual_coef_.copy(), together.intercept_.copy()
    for c in range(K):
        alone = one.fit(X, Y[:, c])
        size = np.abs(alone.dual_coef_).max()
        assert np.abs(coef[c] - alone.dual_coef_[0]).max() < 1e-6 * size
        assert intercept[c] == pytest.approx(alone.intercept_[0], abs=1e-6 * size)


def test_linear_and_all_samples_each_column_is_the_machine_that_it_is_alone() -> None:
    X, Y = data(200)
    for params in ({"kernel": "linear"}, {"gamma": 0.2}, {"gamma": 0.2, "loss": "least_squares"}):
        one = b.PrimalSVR(C=5, tol=1e-10, smoothing=SHARP, **params)
        together = one.fit(X, Y).predict(X)
        for c in range(K):
            assert np.allclose(together[:, c], one.fit(X, Y[:, c]).predict(X), atol=1e-6)


@pytest.mark.parametrize("solver", ["asset", "dual"])
def test_columns_of_features_are_those_alone(solver) -> None:
    X, Y = data()
    one = b.AssetSVR(C=1, gamma=0.2, solver=solver, tol=1e-6, random_state=0)
    together = one.fit(X, Y).predict(X)
    for c in range(K):
        alone = one.fit(X, Y[:, c]).predict(X)
        # The same random order and, but for D_G, the same steps; coordinates in another order.
        assert np.abs(together[:, c] - alone).max() < (0.1 if solver == "asset" else 1e-3)


@pytest.mark.parametrize(
    "params",
    [
        {"refine": True, "refine_iter": 20},
        {"early_stopping": True, "max_iter": 3},
        {"solver": "bsgd"},
        {"polishing": False},
        {"record_objective": True},
        {"loss": "squared_epsilon_insensitive"},
        {"loss": "quantile", "quantile": 0.7},
        {"feature_scales": "learn", "gamma": "scale"},
        {"kernel": "linear"},
        {"maintenance": "multi-merge"},
        {"maintenance": "project"},
        {"merge_search": "golden"},
        {"maintenance": "stop"},
        {"C": "tune", "gamma": "tune"},
    ],
    ids=str,
)
def test_what_a_budget_can(params) -> None:
    X, Y = data()
    fitted = b.BudgetSVR(**{"budget": 40, "C": 10, "gamma": 0.2, "random_state": 0, **params})
    fitted.fit(X, Y)
    assert fitted.predict(X).shape == Y.shape
    assert np.isfinite(fitted.predict(X)).all()
    if params.get("kernel") != "linear":
        assert fitted.score(X, Y) > 0.4


def test_streams_go_on_and_are_the_same_however_they_are_cut() -> None:
    X, Y = data(3000)
    whole = b.BudgetSVR(budget=30, C=10, gamma=0.2, random_state=0).partial_fit(X, Y)
    parts = b.BudgetSVR(budget=30, C=10, gamma=0.2, random_state=0)
    for first in range(0, 3000, 700):
        parts.partial_fit(X[first : first + 700], Y[first : first + 700])
    assert np.array_equal(whole.predict(X), parts.predict(X))
    assert parts.score(X, Y) > 0.8
    for machine in (b.AssetSVR(gamma=0.2, random_state=0), b.BudgetSVR(polishing=False)):
        for first in range(0, 3000, 1000):
            machine.partial_fit(X[first : first + 1000], Y[first : first + 1000])
        assert machine.predict(X).shape == Y.shape
    with pytest.raises(ValueError, match="number of outputs"):
        parts.partial_fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="number of outputs"):
        parts.polish(X, Y[:, :2])


def test_files_hold_a_stream_in_the_middle_of_a_block(tmp_path) -> None:
    X, Y = data(1000)
    machine = b.BudgetSVR(budget=20, C=10, gamma=0.2, random_state=0).partial_fit(X, Y)
    machine.save(tmp_path / "a.safetensors")
    again = b.load(tmp_path / "a.safetensors")
    machine.partial_fit(X[::-1], Y[::-1])
    again.partial_fit(X[::-1], Y[::-1])
    assert np.array_equal(machine.predict(X), again.predict(X))


@machines
@pytest.mark.parametrize("k", [1, 2, 3])
def test_files_and_copies_say_the_same(machine, k, tmp_path) -> None:
    X, Y = data(k=k)
    fitted = fresh(machine).fit(X, Y)
    said = fitted.predict(X)
    path = tmp_path / "a.safetensors"
    fitted.save(path)
    assert np.array_equal(b.load(path).predict(X), said)
    assert np.array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), said)
    served = serve.load(path)
    assert served.predict(X).shape == said.shape
    assert np.array_equal(served.predict(X), said)


@machines
def test_forms(machine) -> None:
    X, Y = data(200)
    fitted = fresh(machine).fit(X, Y)
    assert f"MODEL_OUTPUTS {K}" in to_c(fitted)
    with pytest.raises(ValueError, match="several values a row"):
        to_libsvm(fitted, io.BytesIO())


@machines
def test_onnx_has_a_column_a_target(machine) -> None:
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    from budgetsvm.onnx import to_onnx

    X, Y = data(200)
    fitted = fresh(machine).fit(X, Y)
    model = to_onnx(fitted, dtype=np.float64).SerializeToString()
    session = runtime.InferenceSession(model, providers=["CPUExecutionProvider"])
    (found,) = session.run(["value"], {"X": X})
    assert np.allclose(found, fitted.predict(X), atol=1e-9)


@machines
def test_any_number_of_threads_gives_the_same_bits(machine) -> None:
    X, Y = data(1500)
    said = [fresh(machine).set_params(n_jobs=n).fit(X, Y).predict(X) for n in (1, 3)]
    assert np.array_equal(*said)


def test_warm_starts() -> None:
    X, Y = data()
    for machine in (b.BudgetSVR(gamma=0.2, warm_start=True), b.PrimalSVR(warm_start=True)):
        machine.fit(X, Y)
        assert machine.fit(X, Y).score(X, Y) > 0.5
    # A start with another number of columns is none for a convex problem, and an error for terms.
    assert machine.fit(X, Y[:, 0]).predict(X).shape == (len(X),)
    with pytest.raises(ValueError, match="number of outputs"):
        b.BudgetSVR(gamma=0.2, warm_start=True).fit(X, Y).fit(X, Y[:, 0])


def test_leave_one_out_and_tuning_of_columns() -> None:
    X, Y = data(80)
    one = b.PrimalSVR(C=5, gamma=0.2, leave_one_out=True, smoothing=SHARP)
    together = one.fit(X, Y).loo_decision_
    assert together.shape == Y.shape
    for c in range(K):
        assert np.allclose(together[:, c], one.fit(X, Y[:, c]).loo_decision_, atol=1e-5)
    tuned = b.PrimalSVR(loss="squared_epsilon_insensitive", tune=True).fit(X, Y)
    assert tuned.score(X, Y) > 0.5


@pytest.mark.parametrize("cls", [b.BudgetSVR, b.PrimalSVR, b.AssetSVR])
def test_bad_columns(cls) -> None:
    X, Y = data(50)
    with pytest.raises(ValueError, match="NaN"):
        cls().fit(X, np.where(np.arange(150).reshape(50, 3) == 7, np.nan, Y))
    with pytest.raises(ValueError, match="inconsistent"):
        cls().fit(X, Y[:40])
    with pytest.raises(ValueError, match="a minimum of 1"):
        cls().fit(X, Y[:, :0])
    with pytest.raises(ValueError, match="dim"):
        cls().fit(X, Y[:, :, None])


def test_cost_and_width_by_name() -> None:
    X, Y = data()
    assert b.PrimalSVR(C="tune", gamma="tune").fit(X, Y).score(X, Y) > 0.7


def test_a_grid_of_columns() -> None:
    X, Y = data()
    found = b.BudgetSVRCV(budget=30, random_state=0, cv=3).fit(X, Y)
    assert found.predict(X).shape == Y.shape
    assert found.score(X, Y) > 0.7


@pytest.mark.parametrize("cls", [b.SVR, b.NuSVR, b.AutoSVR])
def test_machines_of_one_value_refuse_several(cls) -> None:
    X, Y = data(50)
    with pytest.raises(ValueError, match="1d array"):
        cls().fit(X, Y)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cls", [b.BudgetSVR, b.PrimalSVR, b.AssetSVR])
def test_one_row_and_equal_rows(cls) -> None:
    Y = np.array([[1.0, 2.0]])
    for n in (1, 5):
        said = cls().fit(np.ones((n, 2)), np.repeat(Y, n, axis=0)).predict(np.ones((1, 2)))
        assert np.allclose(said, Y, atol=0.11)
