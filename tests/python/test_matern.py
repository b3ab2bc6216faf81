"""The Matérn kernels in every machine that takes a kernel, against scikit-learn's."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.gaussian_process.kernels import Matern

import budgetsvm as bs

rng = np.random.default_rng(3)
X = rng.normal(size=(240, 5))
F = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
Y = np.where(F + 0.2 * rng.normal(size=240) > 0, "b", "a")
GAMMA = 0.3
KERNELS = {"matern32": 1.5, "matern52": 2.5}


def gram(kernel, a, b):
    return Matern(length_scale=1 / np.sqrt(2 * GAMMA), nu=KERNELS[kernel])(a, b)


@pytest.fixture(params=KERNELS)
def kernel(request):
    return request.param


def test_exact_machines_agree_with_scikit_learn_on_its_matrix(kernel):
    own = bs.SVC(kernel=kernel, gamma=GAMMA, tol=1e-6).fit(X, Y)
    other = svm.SVC(kernel=lambda a, b: gram(kernel, a, b), tol=1e-6).fit(X, Y)
    np.testing.assert_allclose(own.decision_function(X), other.decision_function(X), atol=2e-5)
    own = bs.SVR(kernel=kernel, gamma=GAMMA, tol=1e-6).fit(X, F)
    other = svm.SVR(kernel=lambda a, b: gram(kernel, a, b), tol=1e-6).fit(X, F)
    np.testing.assert_allclose(own.predict(X), other.predict(X), atol=2e-5)


@pytest.mark.parametrize("solver", ["newton", "cg"])
def test_primal_machines_have_the_gradient_of_their_objective(kernel, solver):
    machine = bs.PrimalSVC(kernel=kernel, gamma=GAMMA, solver=solver, tol=1e-12).fit(X, Y)
    y = np.where(Y == "b", 1.0, -1.0)
    f = machine.decision_function(X)
    beta = 2 * machine.C * y * np.maximum(0, 1 - y * f)
    # At the minimum β = -C L'(f), and the decision values are those of β.
    expected = gram(kernel, X, X) @ beta + machine.intercept_
    np.testing.assert_allclose(f, expected, atol=1e-4)


def classifiers():
    return [
        bs.BudgetSVC(budget=40, max_iter=2),
        bs.BudgetSVC(budget=40, solver="bsgd", maintenance="remove-smallest"),
        bs.AssetSVC(n_components=60),
        bs.AssetSVC(features="fourier", n_components=600),
        bs.LocalBudgetSVC(n_clusters=2, budget=40),
        bs.PrimalSVC(n_components=40),
        bs.Projectron(budget=40),
        bs.Forgetron(budget=40),
        bs.NystroemOGD(budget=40),
        bs.FourierOGD(n_frequencies=200),
    ]


@pytest.mark.parametrize("machine", classifiers(), ids=lambda m: type(m).__name__)
def test_machines_fit_and_dense_and_sparse_rows_agree(machine, kernel):
    machine.set_params(kernel=kernel, gamma=GAMMA)
    if "random_state" in inspect.signature(type(machine)).parameters:
        machine.set_params(random_state=0)
    fitted = machine.fit(X, Y)
    assert fitted.score(X, Y) > 0.6
    dense = fitted.decision_function(X)
    scale = np.abs(dense).max()
    np.testing.assert_allclose(fitted.decision_function(sp.csr_array(X)), dense, atol=1e-10 * scale)
    single = fitted.fit(X.astype(np.float32), Y).decision_function(X.astype(np.float32))
    assert np.mean((single > 0) == (dense > 0)) > 0.9


def test_decisions_are_the_expansion_of_their_terms(kernel):
    machine = bs.BudgetSVC(kernel=kernel, gamma=GAMMA, budget=30).fit(X, Y)
    expected = gram(kernel, X, machine.support_vectors_) @ machine.dual_coef_.ravel()
    expected += np.ravel(machine.intercept_)
    np.testing.assert_allclose(machine.decision_function(X), expected, atol=1e-10)


def test_fourier_features_estimate_the_kernel(kernel):
    for orthogonal in (False, True):
        map_ = bs.RandomFourier(
            n_components=20_000, kernel=kernel, gamma=GAMMA, orthogonal=orthogonal, random_state=1
        )
        z = map_.fit_transform(X[:20])
        np.testing.assert_allclose(z @ z.T, gram(kernel, X[:20], X[:20]), atol=0.05)


def test_what_is_not_derived_is_refused(kernel):
    for params in ({"maintenance": "merge"}, {"maintenance": "multi-merge"}, {"refine": True}):
        with pytest.raises(ValueError, match=f"kernel='rbf'.*{kernel}"):
            bs.BudgetSVC(kernel=kernel, **params).fit(X, Y)
    with pytest.raises(ValueError, match="tune=True needs kernel"):
        bs.PrimalSVC(kernel=kernel, tune=True).fit(X, Y)
