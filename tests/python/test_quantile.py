"""The quantile loss in every machine for values that takes a loss."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import lsq_linear
from sklearn.linear_model import QuantileRegressor
from sklearn.metrics import mean_pinball_loss
from sklearn.metrics.pairwise import rbf_kernel

import budgetsvm as bs

C, GAMMA = 2.0, 0.8


def noisy(n, seed=0):
    """Noise whose width depends on x."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 2))
    return X, np.sin(2 * X[:, 0]) + (0.3 + 0.2 * np.abs(X[:, 1])) * rng.normal(size=n)


X, Y = noisy(300)
WEIGHTS = np.random.default_rng(1).integers(0, 3, len(Y)).astype(float)
MACHINES = [
    bs.BudgetSVR(budget=60, C=C, gamma=GAMMA, random_state=0),
    bs.PrimalSVR(C=C, gamma=GAMMA),
    bs.PrimalSVR(C=C, gamma=GAMMA, basis="kmeans++", n_components=60, random_state=0),
    bs.AssetSVR(C=C, gamma=GAMMA, n_components=60, random_state=0),
    bs.AssetSVR(C=C, gamma=GAMMA, n_components=60, solver="dual", random_state=0),
]
machines = pytest.mark.parametrize("machine", MACHINES, ids=lambda m: type(m).__name__)


def fitted(machine, X=X, Y=Y, sample_weight=None, **params):
    params = {"loss": "quantile", **params}
    return type(machine)(**{**machine.get_params(), **params}).fit(X, Y, sample_weight)


def exact(K, y, q, C):
    """Decision values at the optimum, by bounded least squares in the dual, without an offset."""
    root = np.linalg.cholesky(K + 1e-12 * np.eye(len(y)))
    bounds = ((q - 1) * C, q * C)
    found = lsq_linear(root.T, np.linalg.solve(root, y), bounds, method="bvls", tol=1e-14)
    return K @ found.x


@pytest.mark.parametrize("q", [0.1, 0.5, 0.8])
def test_all_find_the_exact_optimum(q):
    X, y = noisy(40, 3)
    f = exact(rbf_kernel(X, gamma=GAMMA), y, q, C)
    same = {"C": C, "gamma": GAMMA, "loss": "quantile", "quantile": q}
    same["fit_intercept"] = False
    passes = bs.BudgetSVR(budget=None, max_iter=20_000, tol=1e-9, **same).fit(X, y)
    np.testing.assert_allclose(passes.predict(X), f, atol=1e-6)
    on_all = {"n_components": 40, "solver": "dual", "tol": 1e-9, "max_iter": 10**5}
    asset = bs.AssetSVR(**on_all, **same).fit(X, y)
    np.testing.assert_allclose(asset.predict(X), f, atol=1e-5)
    assert abs(asset.objective_["primal"] - asset.objective_["dual"]) < 1e-4
    for solver in ("newton", "cg"):
        primal = bs.PrimalSVR(solver=solver, smoothing=1e-5, **same)
        np.testing.assert_allclose(primal.set_params(tol=1e-9).fit(X, y).predict(X), f, atol=2e-3)
    polished = bs.BudgetSVR(budget=40, smoothing=1e-5, **same).fit(X, y)
    np.testing.assert_allclose(polished.predict(X), f, atol=2e-3)


@pytest.mark.parametrize("q", [0.2, 0.5, 0.9])
def test_a_linear_machine_without_a_penalty_is_scikit_learns(q):
    other = QuantileRegressor(quantile=q, alpha=0, solver="highs").fit(X, Y)
    own = bs.PrimalSVR(
        C=1e4, kernel="linear", loss="quantile", quantile=q, smoothing=1e-4
    ).fit(X, Y)  # fmt: skip
    least = mean_pinball_loss(Y, other.predict(X), alpha=q)
    assert mean_pinball_loss(Y, own.predict(X), alpha=q) <= least * (1 + 1e-4)
    np.testing.assert_allclose(own.coef_[0], other.coef_, atol=0.01)


@machines
def test_unseen_values_lie_below_as_often_as_asked_for(machine):
    X, Y = noisy(3000, 5)
    new, unseen = noisy(4000, 6)
    below = []
    for q in (0.1, 0.5, 0.9):
        model = fitted(machine, X, Y, quantile=q)
        below.append(np.mean(unseen <= model.predict(new)))
        assert abs(below[-1] - q) < 0.04, below
    assert below == sorted(below)


@machines
def test_the_quantile_changes_something_and_files_keep_it(machine, tmp_path):
    model, other = fitted(machine, quantile=0.8), fitted(machine, quantile=0.3)
    assert np.all(model.predict(X).mean() > other.predict(X).mean() + 0.1)
    model.save(tmp_path / "q.safetensors")
    loaded = bs.load(tmp_path / "q.safetensors")
    assert (loaded.loss, loaded.quantile) == ("quantile", 0.8)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


@machines
def test_weights_are_copies_and_storage_is_the_same(machine):
    if type(machine) is bs.PrimalSVR and machine.basis is None:
        copies = np.repeat(np.arange(len(Y)), WEIGHTS.astype(int))
        weighted = fitted(machine, sample_weight=WEIGHTS).predict(X)
        copied = fitted(machine, X[copies], Y[copies]).predict(X)
        np.testing.assert_allclose(weighted, copied, atol=1e-6)
    dense = fitted(machine).predict(X)
    assert not np.allclose(fitted(machine, sample_weight=WEIGHTS).predict(X), dense)
    # Polishing ends within 1e-3 of the objective's minimum: rounding may end it elsewhere.
    np.testing.assert_allclose(fitted(machine, sp.csr_matrix(X)).predict(X), dense, atol=1e-4)
    single = fitted(machine, X.astype(np.float32)).predict(X.astype(np.float32))
    assert np.sqrt(np.mean((single - dense) ** 2)) < 0.05


@machines
@pytest.mark.parametrize("q", [0, 1, -0.5, np.nan])
def test_no_quantile(machine, q):
    with pytest.raises(ValueError, match="quantile must be > 0 and < 1"):
        fitted(machine, quantile=q)


@pytest.mark.parametrize("cls", [bs.BudgetSVC, bs.PrimalSVC, bs.AssetSVC])
def test_not_for_classes(cls):
    with pytest.raises(ValueError, match="loss must be"):
        cls(loss="quantile").fit(X, Y > 0)
