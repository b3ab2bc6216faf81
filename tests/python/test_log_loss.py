"""The logistic loss in every machine for classes that takes a loss."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel

import budgetsvm as bs

C, GAMMA = 2.0, 0.8


def noisy(n, seed=0):
    """Rows, labels, and the probability that each label had to be 1."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 2))
    p = expit(2 * np.sin(2 * X[:, 0]) + X[:, 1])
    return X, (rng.uniform(size=n) < p).astype(int), p


X, Y, _ = noisy(300)
THREE = Y + (X[:, 1] > 1)
WEIGHTS = np.random.default_rng(1).integers(0, 3, len(Y)).astype(float)
MACHINES = [
    bs.BudgetSVC(budget=60, C=C, gamma=GAMMA, random_state=0),
    bs.PrimalSVC(C=C, gamma=GAMMA),
    bs.PrimalSVC(C=C, gamma=GAMMA, basis="kmeans++", n_components=60, random_state=0),
    bs.AssetSVC(C=C, gamma=GAMMA, n_components=60, random_state=0),
    bs.AssetSVC(C=C, gamma=GAMMA, n_components=60, solver="dual", random_state=0),
]
machines = pytest.mark.parametrize("machine", MACHINES, ids=lambda m: type(m).__name__)


def fitted(machine, X=X, Y=Y, sample_weight=None, **params):
    params = {"loss": "log_loss", **params}
    return type(machine)(**{**machine.get_params(), **params}).fit(X, Y, sample_weight)


def reference(X, y, fit_intercept, sample_weight=None):
    """scikit-learn's logistic regression on features whose products are the kernel's values."""
    values, vectors = np.linalg.eigh(rbf_kernel(X, gamma=GAMMA))
    keep = values > 1e-12
    Z = vectors[:, keep] * np.sqrt(values[keep])
    model = LogisticRegression(C=C, fit_intercept=fit_intercept, tol=1e-10, max_iter=10**5)
    return model.fit(Z, y, sample_weight).decision_function(Z)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("solver", ["newton", "cg"])
def test_primal_machines_are_logistic_regressions(solver, fit_intercept):
    same = {"C": C, "gamma": GAMMA, "loss": "log_loss", "fit_intercept": fit_intercept}
    model = bs.PrimalSVC(solver=solver, tol=1e-12, **same).fit(X, Y, WEIGHTS)
    assert model.stop_reason_ == "converged"
    f = reference(X, Y, fit_intercept, WEIGHTS)
    np.testing.assert_allclose(model.decision_function(X), f, atol=1e-4)
    many = bs.PrimalSVC(solver=solver, tol=1e-12, **same).fit(X, THREE)
    for c in range(3):
        f = reference(X, THREE == c, fit_intercept)
        np.testing.assert_allclose(many.decision_function(X)[:, c], f, atol=1e-4)


@pytest.mark.parametrize("solver", ["newton", "cg"])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_linear_machine_is_scikit_learns(solver, sparse):
    rows = sp.csr_matrix(X) if sparse else X
    model = bs.PrimalSVC(C=C, kernel="linear", loss="log_loss", solver=solver, tol=1e-14)
    other = LogisticRegression(C=C, tol=1e-10).fit(X, Y)
    model.fit(rows, Y)
    np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-5)
    np.testing.assert_allclose(model.intercept_, other.intercept_, atol=1e-5)


def test_more_samples_than_are_solved_for_at_once():
    X, y, _ = noisy(1300, 2)
    model = bs.PrimalSVC(C=C, gamma=GAMMA, loss="log_loss").fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), reference(X, y, True), atol=1e-4)
    assert model.n_iter_ <= 8


def test_the_others_find_the_same_optimum():
    f = reference(X, Y, False)
    same = {"C": C, "gamma": GAMMA, "loss": "log_loss"}
    for more in ({"budget": None, "max_iter": 5000, "tol": 1e-9}, {"budget": 300}):
        passes = bs.BudgetSVC(**more, **same).fit(X, Y)
        np.testing.assert_allclose(passes.decision_function(X), f, atol=1e-4)
    asset = bs.AssetSVC(n_components=300, solver="dual", tol=1e-8, max_iter=10**5, **same)
    asset.fit(X, Y)
    np.testing.assert_allclose(asset.decision_function(X), f, atol=1e-4)
    assert abs(asset.objective_["primal"] - asset.objective_["dual"]) < 1e-6
    stochastic = bs.AssetSVC(n_components=300, max_iter=300, random_state=0, **same).fit(X, Y)
    assert np.sqrt(np.mean((stochastic.decision_function(X) - f) ** 2)) < 0.1
    offset = bs.AssetSVC(
        n_components=300, max_iter=300, fit_intercept=True, random_state=0, **same
    ).fit(X, Y)  # fmt: skip
    f = reference(X, Y, True)
    assert np.sqrt(np.mean((offset.decision_function(X) - f) ** 2)) < 0.1


@machines
def test_odds_are_those_of_unseen_samples(machine):
    X, y, _ = noisy(3000, 5)
    new, _, p = noisy(3000, 6)
    error = {}
    for loss in ("hinge", "log_loss"):
        model = fitted(machine, X, y, loss=loss)
        error[loss] = np.mean(np.abs(expit(model.decision_function(new)) - p))
    assert error["log_loss"] < 0.06
    assert error["log_loss"] < 0.6 * error["hinge"]


def test_left_out_values_are_near_those_of_machines_without_them():
    model = bs.PrimalSVC(C=C, gamma=GAMMA, loss="log_loss", leave_one_out=True).fit(X, Y)
    for i in range(0, 300, 60):
        rest = np.arange(300) != i
        without = fitted(bs.PrimalSVC(C=C, gamma=GAMMA), X[rest], Y[rest])
        assert abs(without.decision_function(X[[i]])[0] - model.loo_decision_[i]) < 0.02


@machines
def test_weights_storage_and_files(machine, tmp_path):
    model = fitted(machine)
    told = model.decision_function(X)
    if type(machine) is bs.PrimalSVC and machine.basis is None:
        copies = np.repeat(np.arange(len(Y)), WEIGHTS.astype(int))
        weighted = fitted(machine, sample_weight=WEIGHTS).decision_function(X)
        copied = fitted(machine, X[copies], Y[copies]).decision_function(X)
        np.testing.assert_allclose(weighted, copied, atol=1e-6)
    assert not np.allclose(fitted(machine, sample_weight=WEIGHTS).decision_function(X), told)
    assert not np.allclose(fitted(machine, loss="hinge").decision_function(X), told)
    sparse = fitted(machine, sp.csr_matrix(X)).decision_function(X)
    # Polishing ends within 1e-3 of the objective's minimum: rounding may end it elsewhere.
    np.testing.assert_allclose(sparse, told, atol=1e-4)
    single = fitted(machine, X.astype(np.float32)).decision_function(X.astype(np.float32))
    assert np.sqrt(np.mean((single - told) ** 2)) < 0.05
    assert fitted(machine, Y=THREE).decision_function(X).shape == (300, 3)
    model.save(tmp_path / "l.safetensors")
    loaded = bs.load(tmp_path / "l.safetensors")
    assert loaded.loss == "log_loss"
    np.testing.assert_array_equal(loaded.decision_function(X), told)


def test_refused_where_it_has_no_meaning():
    for cls in (bs.BudgetSVR, bs.PrimalSVR, bs.AssetSVR):
        with pytest.raises(ValueError, match="loss must be"):
            cls(loss="log_loss").fit(X, X[:, 0])
    with pytest.raises(ValueError, match="squared loss"):
        bs.PrimalSVC(loss="log_loss", tune=True).fit(X, Y)
