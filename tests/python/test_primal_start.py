"""PrimalSVC and PrimalSVR: points of a basis that move (`refine`), and `warm_start`."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

import budgetsvm
from budgetsvm import BudgetSVC, PrimalSVC, PrimalSVR


def moons(n=400, seed=0):
    X, y = make_moons(n, noise=0.25, random_state=seed)
    return X, np.where(y > 0, 1, -1)


def smoothed(model, X, y):
    """The objective of a fitted binary machine, and its gradient, written anew in NumPy."""
    S, beta, gamma = model.support_vectors_, model.dual_coef_[0], model.gamma_
    K, G = rbf_kernel(X, S, gamma=gamma), rbf_kernel(S, gamma=gamma)
    f = K @ beta + model.intercept_[0]
    if model.loss == "squared_hinge":
        t = np.maximum(0, 1 - y * f)
        value, slope = t**2, -2 * y * t
    elif model.loss == "least_squares":
        value, slope = (y - f) ** 2, 2 * (f - y)
    else:
        h, t = model.smoothing, 1 - y * f
        value = np.where(t > h, t, np.where(t < -h, 0, (t + h) ** 2 / (4 * h)))
        slope = -y * np.clip((t + h) / (2 * h), 0, 1)
    r = model.C * slope
    by_coef = G @ beta + K.T @ r
    pull = K * np.outer(r, beta)
    pairs = G * np.outer(beta, beta)
    by_point = pull.T @ X - pull.sum(0)[:, None] * S + pairs @ S - pairs.sum(1)[:, None] * S
    objective = 0.5 * beta @ G @ beta + model.C * value.sum()
    return objective, by_coef, 2 * gamma * by_point


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "least_squares"])
@pytest.mark.parametrize("basis", ["random", "greedy"])
def test_refining_moves_the_points_downhill(loss, basis):
    X, y = moons()
    params = {"C": 5.0, "gamma": 2.0, "loss": loss, "smoothing": 0.2, "tol": 1e-9}
    params |= {"basis": basis, "n_components": 12, "random_state": 0}
    plain = PrimalSVC(**params).fit(X, y)
    model = PrimalSVC(refine=True, refine_iter=500, **params).fit(X, y)
    before, _, slope_before = smoothed(plain, X, y)
    after, by_coef, slope = smoothed(model, X, y)
    assert plain.objective_["smoothed"] == pytest.approx(before, rel=1e-9)
    assert model.objective_["smoothed"] == pytest.approx(after, rel=1e-9)
    assert after < 0.98 * before
    assert np.linalg.norm(slope) < 0.2 * np.linalg.norm(slope_before)
    # The coefficients are the best ones for the points as they are stored.
    assert np.abs(by_coef).max() < 1e-3 * params["C"]
    assert not hasattr(model, "support_")
    assert model.support_vectors_.shape == (12, 2)
    assert model.n_iter_ > plain.n_iter_


def test_refining_is_that_of_the_budgeted_machines():
    X, y = moons(600)
    params = {"C": 5.0, "gamma": 2.0, "smoothing": 0.2}
    params |= {"fit_intercept": True, "refine_iter": 300, "random_state": 0}
    start = BudgetSVC(budget=12, **params).fit(X, y)
    refined = BudgetSVC(budget=12, refine=True, **params).fit(X, y)
    model = PrimalSVC(loss="hinge", basis=start, refine=True, n_components=12, **params).fit(X, y)
    # The same points to begin with, but coefficients polished to another tolerance, and many
    # minima: near each other is all that can be asked for.
    ours, theirs = model.objective_["smoothed"], refined.objective_["smoothed"]
    first = start.objective_["smoothed"]
    assert theirs < 0.97 * first
    assert first - ours > 0.5 * (first - theirs)


def test_refining_regression_and_several_classes(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (400, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=400)
    params = {"C": 10.0, "gamma": 0.5, "basis": "random", "n_components": 10, "random_state": 0}
    plain = PrimalSVR(**params).fit(X, y)
    model = PrimalSVR(refine=True, **params).fit(X, y)
    assert model.objective_["smoothed"] < 0.9 * plain.objective_["smoothed"]
    assert model.score(X, y) > plain.score(X, y)
    X, y = make_classification(400, 6, n_informative=4, n_classes=3, random_state=0)
    names = np.array(["a", "b", "c"])[y]
    plain = PrimalSVC(**params).fit(X, names)
    model = PrimalSVC(refine=True, **params).fit(X, names)
    assert model.dual_coef_.shape == (3, 10)
    assert model.objective_["smoothed"] < 0.9 * plain.objective_["smoothed"]
    model.save(tmp_path / "refined.safetensors")
    again = budgetsvm.load(tmp_path / "refined.safetensors")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    # Single precision and sparse rows: points are dense, of the rows' type.
    rows = sp.csr_matrix(X.astype(np.float32))
    single = PrimalSVC(refine=True, **params).fit(rows, names)
    assert single.support_vectors_.dtype == np.float32
    assert not sp.issparse(single.support_vectors_)
    assert single.objective_["smoothed"] < 0.9 * plain.objective_["smoothed"]
    np.testing.assert_allclose(
        single.decision_function(rows), single.decision_function(rows.toarray()), atol=1e-4
    )


def test_a_basis_of_every_sample_has_nothing_to_refine():
    X, y = moons(60)
    params = {"C": 5.0, "gamma": 2.0, "basis": "random", "n_components": 100, "random_state": 0}
    plain = PrimalSVC(**params).fit(X, y)
    model = PrimalSVC(refine=True, **params).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(X))
    np.testing.assert_array_equal(model.support_, plain.support_)


def test_refining_stops_when_told():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 10)), np.sign(rng.normal(size=20_000))
    params = {"C": 50.0, "gamma": 0.1, "basis": "random", "n_components": 100, "random_state": 0}
    phases = []

    def stop(progress):
        phases.append(progress["phase"])
        return progress["phase"] == "refine"

    model = PrimalSVC(refine=True, refine_iter=10**6, callback=stop, **params).fit(X, y)
    assert model.stop_reason_ == "callback"
    assert phases[-1] == "refine"
    plain = PrimalSVC(**params).fit(X, y)
    assert model.objective_["smoothed"] <= plain.objective_["smoothed"]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"refine": True}, "refine=True needs a basis"),
        ({"refine": True, "basis": "random", "kernel": "laplacian"}, "refine=True needs kernel"),
        ({"refine": True, "basis": "random", "refine_iter": 0}, "refine_iter must be >= 1"),
    ],
)
def test_refining_says_what_it_needs(params, message):
    X, y = moons(60)
    with pytest.raises(ValueError, match=message):
        PrimalSVC(**params).fit(X, y)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"loss": "hinge", "smoothing": 0.1},
        {"loss": "least_squares", "fit_intercept": False},
        {"solver": "cg", "tol": 1e-9},
        {"kernel": "linear"},
        {"kernel": "linear", "loss": "hinge"},
        {"basis": "random", "n_components": 40, "random_state": 0, "tol": 1e-10},
    ],
)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_warm_start_changes_the_time_alone(params, classes):
    X, y = make_classification(1500, 6, n_informative=4, n_classes=classes, random_state=0)
    model = PrimalSVC(C=1.0, warm_start=True, **params).fit(X, y)
    cold, values = model.n_iter_, model.decision_function(X)
    again = model.fit(X, y)
    assert again.n_iter_ < cold or cold == 1
    np.testing.assert_allclose(again.decision_function(X), values, atol=2e-3)
    # Other hyperparameters, and other rows, which know nothing of the last fit.
    for C, rows in ((2.0, slice(None)), (1.0, slice(None, None, -1))):
        warm = model.set_params(C=C).fit(X[rows], y[rows])
        fresh = PrimalSVC(C=C, **params)
        if warm.n_iter_ and "basis" in params:
            fresh.set_params(basis=model.support_vectors_)  # these stay
        fresh.fit(X[rows], y[rows])
        assert warm.objective_["smoothed"] == pytest.approx(fresh.objective_["smoothed"], rel=1e-6)
        np.testing.assert_allclose(warm.decision_function(X), fresh.decision_function(X), atol=2e-2)


def test_a_warm_start_in_regression_after_a_file_and_with_more_rows(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (900, 2))
    y = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=900)
    model = PrimalSVR(C=3.0, gamma=0.5, warm_start=True).fit(X[:600], y[:600])
    model.save(tmp_path / "m.safetensors")
    warm = budgetsvm.load(tmp_path / "m.safetensors").fit(X, y)
    fresh = PrimalSVR(C=3.0, gamma=0.5).fit(X, y)
    np.testing.assert_allclose(warm.predict(X), fresh.predict(X), atol=1e-6)
    # Another number of features or precision: begun anew.
    model.fit(X[:, :1], y)
    np.testing.assert_allclose(
        model.predict(X[:, :1]), PrimalSVR(C=3.0, gamma=0.5).fit(X[:, :1], y).predict(X[:, :1])
    )
    model.fit(X.astype(np.float32), y)
    assert model.support_vectors_.dtype == np.float32


def test_a_warm_start_goes_on_refining():
    X, y = moons(500)
    params = {"C": 5.0, "gamma": 2.0, "basis": "random", "n_components": 12, "random_state": 0}
    model = PrimalSVC(refine=True, refine_iter=5, warm_start=True, **params).fit(X, y)
    values = [model.objective_["smoothed"]]
    for _ in range(4):
        values.append(model.fit(X, y).objective_["smoothed"])
    assert values[-1] < 0.97 * values[0]
    assert all(b <= a * (1 + 1e-6) for a, b in pairwise(values))
    cold = PrimalSVC(refine=True, refine_iter=5, **params)
    assert cold.fit(X, y).fit(X, y).objective_["smoothed"] == pytest.approx(values[0], rel=1e-9)


def test_a_warm_start_with_other_classes_begins_anew():
    X, y = moons(200)
    model = PrimalSVC(C=2.0, gamma=1.0, warm_start=True).fit(X, y)
    names = np.where(y > 0, "no", "yes")
    model.fit(X, names)
    fresh = PrimalSVC(C=2.0, gamma=1.0).fit(X, names)
    np.testing.assert_array_equal(model.decision_function(X), fresh.decision_function(X))


@pytest.mark.parametrize("gamma", [0.2, 0.5])
def test_conjugate_gradients_reach_a_hard_margin(gamma):
    # At this C from the first step on, the objective was still 1.7 times its minimum after 200
    # steps: a first long step lands among the walls of the feasible region.
    X, y = make_classification(400, 8, n_informative=6, class_sep=1.5, flip_y=0, random_state=0)
    params = {"C": 1e6, "gamma": gamma, "fit_intercept": False}
    best = PrimalSVC(**params).fit(X, y).objective_["primal"]
    with pytest.warns(ConvergenceWarning):
        model = PrimalSVC(solver="cg", max_iter=100, **params).fit(X, y)
    assert model.objective_["primal"] < 1.02 * best
