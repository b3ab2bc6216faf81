"""What the primal machines refuse, and where time, memory or the user ends them."""

import itertools
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.svm import SVC as LibSVC

from budgetsvm import LocalBudgetSVC, PrimalSVC
from interrupting import ctrl_c


def moons(n=300, seed=0):
    X, y = make_moons(n, noise=0.25, random_state=seed)
    return X, np.where(y > 0, 1, -1)


def test_newton_that_does_not_fit_says_what_does():
    X, y = moons(500)
    before = PrimalSVC().fit(X, y)
    model = PrimalSVC(solver="newton", cache_size=1).fit(X[:50], y[:50])
    state = pickle.dumps(model)
    with pytest.raises(ValueError, match=r"basis='cholesky'.*solver='cg'.*cache_size"):
        model.fit(X, y)
    assert pickle.dumps(model) == state
    assert PrimalSVC(cache_size=1).fit(X, y).score(X, y) == pytest.approx(
        before.score(X, y), abs=0.01
    )


@pytest.mark.parametrize("limit", [{"max_time": 0.2}, {"callback": lambda p: p["time"] > 0.1}])
@pytest.mark.parametrize("more", [{}, {"tune": True}])
def test_a_limit_ends_leave_one_out_with_the_machine(limit, more):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 10))
    model = PrimalSVC(leave_one_out=True, cache_size=4000, random_state=0)
    y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=5000) > 0
    model.fit(X[:300], y[:300])
    assert model.loo_score_ > 0.8
    with warnings.catch_warnings():
        # On a busy machine it may end before the first step.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.set_params(**limit, **more).fit(X, y)
    assert model.stop_reason_ == next(iter(limit))
    assert not hasattr(model, "loo_score_")
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("basis", ["kmeans++", "cholesky", "greedy"])
def test_a_limit_ends_the_choice_of_a_basis(basis):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 10))
    model = PrimalSVC(basis=basis, n_components=3000, random_state=0)
    calls = []

    def stop(progress):
        calls.append(progress["time"])
        return len(calls) >= 3

    with pytest.warns(ConvergenceWarning, match=r"\(callback\) before the first step"):
        model.set_params(callback=stop).fit(X, X[:, 0] > 0)
    assert model.stop_reason_ == "callback"
    assert len(calls) == 3
    assert 1 <= model.support_vectors_.shape[0] < 3000


@pytest.mark.parametrize("solver", ["newton", "cg"])
@pytest.mark.parametrize("basis", [None, "random", "kmeans++"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_kernel_that_is_not_positive_definite_is_named(loss, basis, solver):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = X[:, 0] > 0
    model = PrimalSVC(kernel="sigmoid", coef0=1.0, loss=loss, solver=solver, random_state=0)
    with pytest.raises(ValueError, match="kernel='sigmoid' is not positive definite"):
        model.set_params(basis=basis, n_components=10).fit(X, y)
    assert not hasattr(model, "intercept_")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"leave_one_out": True}, "leave_one_out=True on 300 samples .* cache_size=1 .* fewer"),
        ({"tune": True}, "tune=True on 300 samples .* cache_size=1 .*tune_size"),
        ({"solver": "newton"}, "solver='newton' on 300 samples .*basis='cholesky'"),
    ],
)
def test_too_little_memory_is_told_by_its_name(params, message):
    X, y = moons(300)
    with pytest.raises(ValueError, match=message):
        PrimalSVC(cache_size=1, **params).fit(X, y)


def test_conjugate_gradients_keep_tol_with_an_offset():
    """The slope along the offset says little of how far it is from its best."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    y = (X[:, 0] > 0) ^ (rng.random(600) < 0.1)
    for C, loss in itertools.product((1.0, 10.0), ("squared_hinge", "hinge", "least_squares")):
        model = PrimalSVC(C=C, loss=loss, solver="cg", max_iter=5000).fit(X, y)
        exact = clone(model).set_params(solver="newton").fit(X, y)
        assert model.stop_reason_ == "converged"
        assert model.objective_["smoothed"] <= exact.objective_["smoothed"] * (1 + model.tol)


def test_a_machine_as_basis_must_be_frozen_to_be_cloned():
    X, y = moons(200)
    machine = LibSVC().fit(X, y)
    with pytest.raises(ValueError, match="FrozenEstimator"):
        clone(PrimalSVC(basis=machine, n_components=10)).fit(X, y)
    frozen = clone(PrimalSVC(basis=FrozenEstimator(machine), n_components=10)).fit(X, y)
    assert frozen.support_vectors_.shape == (10, 2)
    with pytest.raises(ValueError, match="basis: a LocalBudgetSVC does not hold"):
        PrimalSVC(basis=LocalBudgetSVC(gamma=1.0).fit(X, y)).fit(X, y)


def test_ctrl_c_and_limits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 10))
    y = np.sign(rng.normal(size=3000))
    model = PrimalSVC(C=1, gamma=1).fit(X[:50], y[:50])
    state = pickle.dumps(model)
    model.set_params(C=1000.0, loss="hinge", smoothing=1e-4)
    with ctrl_c(0.5):
        model.fit(X, y)
    model.set_params(C=1, loss="squared_hinge", smoothing=0.05)
    assert pickle.dumps(model) == state
    steps = []
    stopped = PrimalSVC(
        C=1000.0, gamma=1, loss="hinge", smoothing=1e-4, max_time=0.3, callback=steps.append
    ).fit(X, y)
    assert stopped.stop_reason_ == "max_time"
    assert steps
    assert steps[0]["phase"] == "step"
    assert len(stopped.history_["objective"]) >= 1


def test_a_limit_ends_the_kernel_matrix():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 2000)).astype(np.float32)
    y = X[:, 0] > 0
    model = PrimalSVC(C=1.0, warm_start=True, random_state=0).fit(X[:400], y[:400])
    support, coef = model.support_, model.dual_coef_
    # A fit that goes on from the last one ends with it.
    calls = []
    model.set_params(callback=lambda p: calls.append(p["phase"]) or True).fit(X, y)
    assert (model.stop_reason_, len(calls)) == ("callback", 1)
    np.testing.assert_array_equal(model.support_, support)
    np.testing.assert_array_equal(model.dual_coef_, coef)
