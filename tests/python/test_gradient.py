"""Gradients are those of differences, for every machine; importances are what they say."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import spearmanr
from sklearn.datasets import load_diabetes, make_classification, make_friedman1, make_regression
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel
from sklearn.inspection import permutation_importance
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import budgetsvm as b
import machines


def value_of(machine):
    """What the gradient is of, shape (n_samples, n_outputs)."""
    decide = getattr(machine, "decision_function", machine.predict)
    return lambda X: decide(X).reshape(len(X), -1)


def rows_away_from_boundaries(machine, X):
    """Rows about which no cell ends and no vote turns: there the values are smooth."""
    value, step = value_of(machine), 1e-2
    fine = np.ones(len(X), bool)
    for k in range(X.shape[1]):
        move = step * np.eye(X.shape[1])[k]
        jump = np.abs(value(X + move) - value(X - move)).max(axis=1)
        fine &= jump < 0.2
    return X[fine]


def by_differences(machine, X, step):
    value = value_of(machine)
    moves = step * np.eye(X.shape[1])
    slopes = [(value(X + move) - value(X - move)) / (2 * step) for move in moves]
    return np.stack(slopes, axis=1)


@pytest.mark.parametrize("name", machines.NAMES)
def test_every_machine(name):
    machine = machines.machine(name)
    if not hasattr(machine, "gradient"):
        assert hasattr(machine, "transform")
        return
    X = machines.rows(60) + 0.0137  # no feature is exactly that of a term
    single = machine._machine.dtype == "float32"
    X = X.astype(np.float32 if single else np.float64)
    if "LocalBudgetSVC" in name or (len(getattr(machine, "classes_", ())) > 2 and "SVC" in name):
        X = rows_away_from_boundaries(machine, X)
        assert len(X) > 5
    got = machine.gradient(X)
    outputs = value_of(machine)(X).shape[1]
    assert got.dtype == np.float64
    assert got.shape == ((len(X), 3) if outputs == 1 else (len(X), 3, outputs))
    step = 1e-2 if single else 1e-5
    wanted = by_differences(machine, X, X.dtype.type(step)).reshape(got.shape)
    scale = 1e-3 + np.abs(wanted).max()
    # Kinks of the Laplacian, and ranks' knots, lie between few of the rows and their neighbours.
    rough = any(word in name for word in ("laplacian", "break_ties", "Auto"))
    off = np.abs(got - wanted) / scale
    allowed = 2e-2 if single else 1e-4 if rough else 1e-6
    assert np.quantile(off, 0.9 if rough else 1.0) < allowed
    assert np.array_equal(machine.gradient(X[:1]), got[:1])


def test_threads_and_rows_of_any_kind_give_the_same():
    X, y = make_classification(3000, 30, n_informative=8, random_state=0)
    model = b.BudgetSVC(budget=100, random_state=0).fit(X, y)
    all_rows = model.gradient(X)
    assert np.array_equal(model.set_params(n_jobs=1).gradient(X), all_rows)
    np.testing.assert_allclose(model.gradient(sp.csr_matrix(X[:50])), all_rows[:50], atol=1e-10)
    np.testing.assert_array_equal(model.gradient(np.asfortranarray(X[:50])), all_rows[:50])


def test_sparse_machines():
    X = sp.random(400, 500, density=0.02, format="csr", random_state=0)
    y = np.asarray(X[:, :20].sum(axis=1)).ravel() > X[:, 20:40].sum(axis=1).A1
    for model in (b.SVC(gamma=0.5), b.BudgetSVC(budget=30, gamma=0.5, random_state=0)):
        model.fit(X, y)
        got = model.gradient(X[:4])
        assert isinstance(got, np.ndarray)
        for k in (3, 25):
            move = sp.csr_matrix(1e-5 * np.eye(500)[[k] * 4])
            wanted = model.decision_function(X[:4] + move) - model.decision_function(X[:4] - move)
            np.testing.assert_allclose(got[:, k], wanted / 2e-5, rtol=1e-4, atol=1e-7)
        importances = model.feature_importances(X)
        assert importances.shape == (500,)
        assert importances[:40].mean() > importances[40:].mean()
        np.testing.assert_allclose(model.feature_importances(X.toarray()) if isinstance(
            model, b.BudgetSVC) else importances, importances, rtol=1e-6)  # fmt: skip


def test_large_float32_rows_are_taken_in_float64():
    X, y = make_classification(200, 4, n_informative=3, n_redundant=0, random_state=0)
    model = b.SVC(gamma=1e-26).fit(1e13 * X, y)
    wanted = model.gradient(1e13 * X[:5])
    got = model.gradient((1e13 * X[:5]).astype(np.float32))
    np.testing.assert_allclose(got, wanted, rtol=1e-4)


def test_a_term_in_the_row_itself_has_no_slope_of_its_own():
    X = np.array([[0.0], [1.0]])
    for kernel in ("rbf", "laplacian", "matern32"):
        model = b.SVR(kernel=kernel, gamma=1.0, C=10, epsilon=0.0).fit(X, [0.0, 1.0])
        h = 1e-4
        wanted = (model.predict([[h]]) - model.predict([[-h]])) / (2 * h)
        np.testing.assert_allclose(model.gradient([[0.0]])[0], wanted, rtol=1e-3)


def test_what_has_no_gradient_says_why():
    X, y = make_classification(60, 4, random_state=0)
    with pytest.raises(NotFittedError):
        b.BudgetSVC().gradient(X)
    for kernel, rows in (("precomputed", X @ X.T), (lambda A, B: A @ B.T, X)):
        model = b.SVC(kernel=kernel).fit(rows, y)
        with pytest.raises(ValueError, match="SVC: gradient needs a kernel by its name"):
            model.gradient(rows)
        assert not hasattr(model, "feature_importances_")
    model = b.SemiparametricSVC(lambda X: X[:, :1]).fit(X, y)
    with pytest.raises(ValueError, match=r"SemiparametricSVC: .*functions.*permutation"):
        model.gradient(X)
    assert not hasattr(model, "feature_importances_")
    frame = pd.DataFrame({"text": np.where(y, "a", "b"), "number": X[:, 0]})
    with pytest.raises(ValueError, match=r"AutoSVC: .*column of text.*pipeline"):
        b.AutoSVC(random_state=0).fit(frame, y).gradient(frame)
    model = b.SVC().fit(X, y)
    with pytest.raises(ValueError, match="4 features"):
        model.gradient(X[:, :3])
    with pytest.raises(ValueError, match="NaN"):
        model.gradient(np.full((1, 4), np.nan))


@pytest.mark.parametrize("name", machines.NAMES)
def test_importances_of_hostile_rows(name):
    """They were a ZeroDivisionError, an IndexError and NaN."""
    machine = machines.machine(name)
    if not hasattr(machine, "feature_importances"):
        return
    X = machines.rows(5)
    for rows in (X[:0], sp.csr_matrix(X[:0]), None, 3, X[0], "rows"):
        with pytest.raises((ValueError, TypeError)):
            machine.feature_importances(rows)
    with np.errstate(over="ignore"):
        large = [X * 1e200, X.astype(np.float32) * np.float32(1e38)]
    for rows in large:
        try:
            shares = machine.feature_importances(rows)
        except ValueError:
            continue
        assert np.isfinite(shares).all()


def test_missing_numbers_of_a_table_have_no_slope():
    X, y = make_friedman1(300, 6, random_state=0)
    X[::7, 2] = np.nan
    model = b.AutoSVR(random_state=0).fit(X, y)
    got = model.gradient(X)
    assert got.shape == X.shape
    assert np.all(got[::7, 2] == 0)
    assert np.any(got[1::7, 2] != 0)
    assert np.isfinite(model.feature_importances(X)).all()


def test_importances_of_a_linear_machine_are_its_weights():
    X, y = make_regression(300, 6, n_informative=3, random_state=0)
    X *= [1, 10, 0.1, 1, 5, 2]
    model = b.PrimalSVR(kernel="linear", C=10).fit(X, y)
    wanted = np.abs(model.coef_.ravel()) * X.std(axis=0)
    np.testing.assert_allclose(model.feature_importances(X), wanted / wanted.sum(), rtol=1e-6)
    assert not hasattr(model, "feature_importances_")
    scaled = b.SVR(kernel="linear", C=10).fit(X, y)
    np.testing.assert_allclose(scaled.gradient(X[:2]), np.tile(scaled.coef_, (2, 1)), rtol=1e-6)


@pytest.mark.parametrize("make", [b.SVR, lambda: b.BudgetSVR(budget=80, random_state=0)])
def test_importances_find_what_values_were_made_of(make):
    X, y = make_friedman1(800, 10, random_state=0)
    model = make().set_params(C=10).fit(X, y)
    for importances in (model.feature_importances(X), model.feature_importances_):
        assert importances.shape == (10,)
        assert abs(importances.sum() - 1) < 1e-12
        assert set(np.argsort(importances)[-5:]) == set(range(5))
    chosen = SelectFromModel(model, prefit=True, max_features=5, threshold=-np.inf)
    assert chosen.get_support().tolist() == [True] * 5 + [False] * 5
    frame = pd.DataFrame(X, columns=[f"c{k}" for k in range(10)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        named = make().set_params(C=10).fit(frame, y)
        np.testing.assert_allclose(named.feature_importances(frame), model.feature_importances(X))


def weights_that_fall():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 10))
    values = X @ 0.7 ** np.arange(10) + 0.5 * X[:, 2] * X[:, 5]
    return X, values + 0.3 * rng.normal(size=len(X)) > 0


def waves_that_fall():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1500, 8))
    values = np.sin(X) @ 0.75 ** np.arange(8) + 0.5 * X[:, 1] * X[:, 4]
    return X, values + 0.2 * rng.normal(size=len(X))


def diabetes():
    return load_diabetes(return_X_y=True)


@pytest.mark.parametrize("data", [weights_that_fall, waves_that_fall, diabetes])
@pytest.mark.parametrize("exact", [True, False])
def test_importances_rank_as_permutations_do(data, exact):
    # benches/python/importances.py does so on larger sets.
    X, y = data()
    X = StandardScaler().fit_transform(X)
    classes = y.dtype == bool
    y = y if classes else (y - y.mean()) / y.std()
    if exact:
        model = b.SVC(C=10) if classes else b.SVR(C=10)
    else:
        model = (b.BudgetSVC if classes else b.BudgetSVR)(200, C=10, random_state=0)
    X, X_test, y, y_test = train_test_split(X, y, test_size=1 / 3, random_state=0)
    model.fit(X, y)
    permuted = permutation_importance(model, X_test, y_test, n_repeats=10, random_state=0)
    rank, _ = spearmanr(model.feature_importances(X), permuted.importances_mean)
    assert rank >= 0.8
