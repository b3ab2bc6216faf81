"""BudgetSVR: what it promises beyond the scikit-learn contract."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.svm import SVR

from budgetsvm import BudgetSVR


@pytest.fixture(scope="module")
def wave():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 6, size=(1200, 2))
    return X, np.sin(X[:, 0]) + 0.3 * X[:, 1] + rng.normal(scale=0.05, size=1200)


def test_close_to_the_exact_machine(wave):
    X, y = wave
    model = BudgetSVR(budget=60, C=10, gamma=0.5, fit_intercept=True, random_state=0).fit(X, y)
    assert model.n_terms_ <= 60
    assert model.score(X, y) > SVR(C=10, gamma=0.5).fit(X, y).score(X, y) - 0.02


def test_no_larger_than_the_budget_is_solved_exactly(wave):
    X, y = wave[0][:150], wave[1][:150]
    ours = BudgetSVR(C=2, gamma=0.5, epsilon=0.1, smoothing=1e-4, fit_intercept=True).fit(X, y)
    exact = SVR(C=2, gamma=0.5, epsilon=0.1, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), exact.predict(X), atol=5e-3)


@pytest.mark.parametrize(
    ("solver", "loss"),
    [
        ("bsca", "epsilon_insensitive"),
        ("bsca", "squared_epsilon_insensitive"),
        ("bsgd", "epsilon_insensitive"),
    ],
)
def test_losses_and_solvers(wave, solver, loss):
    X, y = wave
    model = BudgetSVR(budget=50, C=5, gamma=0.5, solver=solver, loss=loss, random_state=0)
    assert model.fit(X, y).score(X, y) > 0.9


def test_weights_are_copies(wave):
    X, y = wave[0][:90], wave[1][:90]
    weight = np.arange(90) % 3
    weighted = BudgetSVR().fit(X, y, weight)
    copied = BudgetSVR().fit(np.repeat(X, weight, 0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.predict(X), copied.predict(X), atol=1e-10, rtol=0)


def test_a_tube_that_holds_every_target_needs_no_support_vector(wave):
    X, y = wave
    with pytest.warns(UserWarning, match="ended without a term"):
        model = BudgetSVR(epsilon=100.0, random_state=0).fit(X, y)
    assert model.n_terms_ == 0
    np.testing.assert_array_equal(model.predict(X), np.sort(y)[599])
    assert model.support_vectors_.shape == (0, 2)


def test_sparse_is_dense(wave):
    X, y = wave[0][:150], wave[1][:150]
    dense = BudgetSVR(gamma=0.3).fit(X, y).predict(X)
    rows = sparse.csr_matrix(X)
    np.testing.assert_allclose(BudgetSVR(gamma=0.3).fit(rows, y).predict(rows), dense, atol=1e-9)


def test_early_stopping_scores_r2(wave):
    X, y = wave
    model = BudgetSVR(budget=30, max_iter=50, tol=0, early_stopping=True, random_state=0)
    model.fit(X, y)
    assert 0.5 < np.nanmax(model.history_["validation_score"]) <= 1


@pytest.mark.parametrize(
    ("name", "value"),
    [("epsilon", 0.5), ("C", 9.0), ("budget", 8), ("smoothing", 0.4), ("solver", "bsgd")],
)
def test_hyperparameters_change_something(wave, name, value):
    X, y = wave
    base = BudgetSVR(budget=20, gamma=0.5, random_state=0)
    changed = clone(base).set_params(**{name: value}).fit(X, y)
    assert not np.array_equal(changed.predict(X), base.fit(X, y).predict(X))
