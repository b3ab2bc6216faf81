"""The semi-parametric machines: with ν, for one class, and on targets of any size."""

import warnings

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from budgetsvm import (
    SVC,
    SVR,
    NuSVC,
    OneClassSVM,
    SemiparametricNuSVC,
    SemiparametricNuSVR,
    SemiparametricOneClassSVM,
    SemiparametricSVC,
    SemiparametricSVR,
)
from mpd_reference import interior_point, sinc, sinc_data, sine


def test_nu_svc_is_the_solution_of_a_general_qp_solver():
    X, labels = make_classification(200, 4, random_state=1, class_sep=0.5)
    phi = np.sin(3 * X[:, :2])
    model = SemiparametricNuSVC(lambda X: np.sin(3 * X[:, :2]), nu=0.3, gamma=0.5).fit(X, labels)
    y, K = 2.0 * labels - 1, rbf_kernel(X, gamma=0.5)
    F = np.column_stack([y, np.ones(200), y[:, None] * phi])
    totals = np.array([0.0, 0.3 * 200, 0.0, 0.0])
    a, eta = interior_point(y[:, None] * K * y, np.zeros(200), np.ones(200), F, totals)
    rho = -eta[1]
    f = (K @ (a * y) + eta[0] + phi @ eta[2:]) / rho
    np.testing.assert_allclose(model.decision_function(X), f, atol=1e-5)
    np.testing.assert_allclose(model.parametric_coef_[0], eta[2:] / rho, atol=1e-4)
    assert np.array_equal(model.predict(X), model.classes_[(f > 0).astype(int)])


def test_nu_svr_is_the_solution_of_a_general_qp_solver():
    X, y = sinc_data(200)
    model = SemiparametricNuSVR([sine, sinc], C=2.0, nu=0.4, gamma=0.5).fit(X, y)
    K, phi = rbf_kernel(X, gamma=0.5), np.column_stack([sine(X), sinc(X)])
    signs = np.r_[np.ones(200), -np.ones(200)]
    F = np.column_stack([signs, np.ones(400), np.vstack([phi, -phi])])
    totals = np.array([0.0, 2.0 * 0.4 * 200, 0.0, 0.0])
    H = np.block([[K, -K], [-K, K]])
    a, eta = interior_point(H, np.r_[-y, y], np.full(400, 2.0), F, totals)
    f = K @ (a[:200] - a[200:]) + eta[0] + phi @ eta[2:]
    np.testing.assert_allclose(model.predict(X), f, atol=1e-4)
    np.testing.assert_allclose(model.parametric_coef_, eta[2:], atol=1e-3)


def test_one_class_is_the_solution_of_a_general_qp_solver():
    X = np.random.default_rng(0).normal(size=(200, 2))
    model = SemiparametricOneClassSVM(lambda X: X, nu=0.2, gamma=0.5).fit(X)
    K = rbf_kernel(X, gamma=0.5)
    F, totals = np.column_stack([np.ones(200), X]), np.array([0.2 * 200, 0.0, 0.0])
    a, eta = interior_point(K, np.zeros(200), np.ones(200), F, totals)
    f = K @ a + eta[0] + X @ eta[1:]
    np.testing.assert_allclose(model.decision_function(X), f, atol=1e-5)
    np.testing.assert_allclose(model.parametric_coef_, eta[1:], atol=1e-5)
    np.testing.assert_allclose(model.score_samples(X), f - eta[0], atol=1e-5)
    inside = model.decision_function(X) >= 0
    assert np.array_equal(model.predict(X), np.where(inside, 1, -1))
    with pytest.raises(ValueError, match="infeasible"):
        SemiparametricOneClassSVM(lambda X: X + 100, nu=0.2, gamma=0.5).fit(X)


@pytest.mark.parametrize("size", [1e4, 1e6, 1e9, 1e15, 1e100, 1e300, 1e308])
@pytest.mark.parametrize("functions", [None, lambda X: X, lambda X: 1e150 * X, lambda X: 1e-9 * X])
def test_targets_of_any_size_end_soon_in_a_usable_machine(size, functions):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 3)), rng.normal(size=100)
    y *= size / np.abs(y).max()
    if size == 1e308 and functions is not None and functions(1.0) < 1:
        with pytest.raises(ValueError, match="not finite"):  # parameters of 1e316
            SemiparametricSVR(functions).fit(X, y)
        return
    for params in ({}, {"max_iter": 100}, {"max_time": 1e-6}):
        model = SemiparametricSVR(functions, **params)
        if params:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(X, y)
        else:
            model.fit(X, y)
            assert model.stop_reason_ == "converged"
            assert model.n_iter_ < 100_000
        assert np.all(np.isfinite(model.predict(X)))
        assert np.all(np.isfinite(model.parametric_coef_))
    plain = SVR(solver="mpd").fit(X, y)
    assert np.all(np.isfinite(plain.predict(X)))
    assert plain.n_iter_ < 100_000


def test_functions_with_which_small_steps_crawled():
    """It took 27 million steps; the parameters are those of a fit in the first norm."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 3)), 1e6 * rng.normal(size=100)
    model = SemiparametricSVR(lambda X: X).fit(X, y)
    assert model.n_iter_ < 20_000
    phi = np.column_stack([np.ones(100), X])
    cost = np.r_[np.zeros(8), np.ones(200)]
    A = np.hstack([phi, -phi, np.eye(100), -np.eye(100)])
    best = linprog(cost, A_eq=A, b_eq=y).fun
    ours = np.abs(y - phi @ np.r_[model.intercept_, model.parametric_coef_]).sum()
    assert ours <= best * (1 + 1e-4)


@pytest.mark.parametrize(
    "model",
    [SVC(solver="mpd"), NuSVC(solver="mpd", nu=0.3), SemiparametricSVC(lambda X: np.sin(X)),
     SemiparametricNuSVC(lambda X: np.sin(X), nu=0.3), OneClassSVM(solver="mpd")],
    ids=lambda model: type(model).__name__,
)  # fmt: skip
def test_small_problems_do_not_depend_on_the_order_of_the_rows(model):
    X, labels = make_classification(300, 4, random_state=5, class_sep=0.5)
    order = np.random.default_rng(1).permutation(300)
    values = model.fit(X, labels).decision_function(X)
    again = model.fit(X[order], labels[order]).decision_function(X)
    np.testing.assert_allclose(again, values, atol=1e-8 * (1 + np.abs(values).max()))
