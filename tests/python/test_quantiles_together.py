"""Several quantiles on shared terms."""

from __future__ import annotations

import io
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics import d2_pinball_score

import budgetsvm as b
import budgetsvm.data
from budgetsvm import serve
from budgetsvm.convert import to_c, to_libsvm

LEVELS = [0.05, 0.5, 0.95]


def noisy(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Noise whose width depends on x."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (n, 2))
    return X, np.sin(2 * X[:, 0]) + (0.3 + 0.2 * np.abs(X[:, 1])) * rng.normal(size=n)


def machine(**params) -> b.BudgetSVR:
    own = {"budget": 50, "C": 2, "gamma": 0.8, "quantile": LEVELS, "random_state": 0}
    return b.BudgetSVR(**{"loss": "quantile", **own, **params})


def coverage(reg, X, y) -> np.ndarray:
    return (y[:, None] <= reg.predict(X)).mean(axis=0)


@pytest.mark.parametrize("rows", [np.asarray, sp.csr_matrix, np.float32])
def test_each_column_covers_its_share_and_none_cross(rows) -> None:
    X, y = noisy(3000)
    X = rows(X)
    fitted = machine().fit(X, y)
    said = fitted.predict(X)
    assert said.shape == (3000, 3)
    assert np.all(np.diff(said, axis=1) >= 0)
    assert np.abs(coverage(fitted, X, y) - LEVELS).max() < 0.015
    each = [d2_pinball_score(y, said[:, at], alpha=q) for at, q in enumerate(LEVELS)]
    assert fitted.score(X, y) == pytest.approx(np.mean(each))


def test_each_is_the_machine_that_it_is_alone_where_every_row_is_a_term() -> None:
    X, y = noisy(40)
    for fit_intercept in (True, False):
        together = machine(fit_intercept=fit_intercept).fit(X, y)
        alone = [
            machine(quantile=q, fit_intercept=fit_intercept).fit(X, y).predict(X) for q in LEVELS
        ]
        assert np.allclose(together.predict(X), np.sort(np.stack(alone, axis=1)), atol=1e-6)


@pytest.mark.parametrize(
    "params",
    [
        {"refine": True, "refine_iter": 20},
        {"early_stopping": True, "max_iter": 3},
        {"solver": "bsgd"},
        {"fit_intercept": False},
        {"C": "tune", "gamma": "tune"},
        {"feature_scales": "learn", "gamma": "scale"},
        {"quantile": (0.2, 0.8)},
        {"quantile": np.linspace(0.1, 0.9, 9)},
    ],
    ids=str,
)
def test_with_what_a_budget_can(params) -> None:
    X, y = noisy(2000)
    fitted = machine(**params).fit(X, y)
    assert np.abs(coverage(fitted, X, y) - np.array(fitted.quantile)).max() < 0.03


def test_weights_are_copies() -> None:
    X, y = noisy(600)
    weights = np.arange(600) % 3
    fitted = machine(budget=700).fit(X, y, weights)
    repeated = machine(budget=700).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert np.allclose(fitted.predict(X), repeated.predict(X), atol=1e-5)


def test_streams_files_and_copies(tmp_path) -> None:
    X, y = noisy(3000)
    whole = machine().partial_fit(X, y)
    parts = machine()
    for first in range(0, 3000, 700):
        parts.partial_fit(X[first : first + 700], y[first : first + 700])
    assert np.array_equal(whole.predict(X), parts.predict(X))
    assert np.abs(coverage(parts, X, y) - LEVELS).max() < 0.03
    path = tmp_path / "a.safetensors"
    for fitted in (parts, machine().fit(X, y), machine(quantile=[0.3]).fit(X, y)):
        said = fitted.predict(X)
        fitted.save(path)
        again = b.load(path)
        assert again.quantile == fitted.quantile
        for other in (again, pickle.loads(pickle.dumps(fitted)), serve.load(path)):
            assert np.array_equal(other.predict(X), said)
        fitted.partial_fit(X[:900], y[:900])
        again.partial_fit(X[:900], y[:900])
        assert np.array_equal(again.predict(X), fitted.predict(X))
    fitted = machine().fit(X, y).polish(X, y)
    assert np.abs(coverage(fitted, X, y) - LEVELS).max() < 0.015


def test_onnx_and_c_rise_too(tmp_path) -> None:
    X, y = noisy(60)
    # Of few rows, so that outputs cross.
    fitted = machine(budget=10, quantile=np.linspace(0.3, 0.7, 9)).fit(X, y)
    wide = np.random.default_rng(1).uniform(-3, 3, (300, 2))
    said = fitted.predict(wide)
    assert np.any(np.diff(fitted._decision(wide), axis=1) < 0)
    assert "own = values[i]" in to_c(fitted)
    with pytest.raises(ValueError, match="several values a row"):
        to_libsvm(fitted, io.BytesIO())
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    from budgetsvm.onnx import to_onnx

    model = to_onnx(fitted, dtype=np.float64).SerializeToString()
    session = runtime.InferenceSession(model, providers=["CPUExecutionProvider"])
    assert np.allclose(session.run(["value"], {"X": wide})[0], said, atol=1e-9)


def test_a_grid_of_quantiles() -> None:
    X, y = noisy(600)
    found = b.BudgetSVRCV(
        budget=20, loss="quantile", quantile=LEVELS, Cs=2, gammas=2, cv=2, random_state=0
    ).fit(X, y)
    assert found.predict(X).shape == (600, 3)
    assert found.best_score_ < 0
    assert clone(found).quantile == LEVELS


@pytest.mark.parametrize(
    "levels", [[0.5, 0.1], [0.5, 0.5], [0.0, 0.5], [0.5, 1.0], [], [[0.5]], "a", None, [None]]
)
def test_lists_that_are_none_are_refused(levels) -> None:
    X, y = noisy(30)
    with pytest.raises(ValueError, match="quantile must be"):
        machine(quantile=levels).fit(X, y)


def test_several_quantiles_are_of_one_target() -> None:
    X, y = noisy(50)
    with pytest.raises(ValueError, match="1d array"):
        machine().fit(X, np.stack([y, y], axis=1))
    for cls in (b.PrimalSVR, b.AssetSVR):
        with pytest.raises(ValueError, match="quantile must be"):
            cls(loss="quantile", quantile=LEVELS).fit(X, y)
    # Without that loss a list means nothing.
    assert b.BudgetSVR(quantile=LEVELS).fit(X, y).predict(X).shape == (50,)


def test_a_fit_of_a_source_with_a_checkpoint(tmp_path) -> None:
    X, y = noisy(2000)

    def parts():
        for first in range(0, 2000, 500):
            yield X[first : first + 500], y[first : first + 500]

    source = b.data.open(parts, block_rows=100)
    whole = machine().fit(source)
    again = machine().fit(source, checkpoint=tmp_path / "checkpoint.safetensors")
    assert np.array_equal(again.predict(X), whole.predict(X))
    assert np.abs(coverage(whole, X, y) - LEVELS).max() < 0.03
