"""PrimalSVC and PrimalSVR: optimality, agreement with the exact machines, bases."""

import pickle
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification, make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC as LibSVC
from sklearn.svm import SVR as LibSVR
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import budgetsvm
from budgetsvm import BudgetSVC, PrimalSVC, PrimalSVR


@parametrize_with_checks(
    [
        PrimalSVC(),
        PrimalSVR(),
        PrimalSVC(kernel="linear", loss="hinge"),
        PrimalSVR(kernel="linear", loss="least_squares"),
        PrimalSVC(basis="cholesky", n_components=1000, warm_start=True),
        PrimalSVR(basis="kmeans++", n_components=1000, refine=True, warm_start=True),
    ]
)
def test_contract(estimator, check):
    check(estimator)


def moons(n=300, seed=0):
    X, y = make_moons(n, noise=0.25, random_state=seed)
    return X, np.where(y > 0, 1, -1)


def full_coef(model, n):
    beta = np.zeros(n)
    beta[model.support_] = model.dual_coef_[0]
    return beta


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("n", [500, 3000])
def test_squared_hinge_against_a_quadratic_programme(n, fit_intercept):
    # A reference in the dual, max 1ᵀα - 1/2 αᵀ(Q + I/(2C))α, α >= 0 (yᵀα = 0 with an offset). Its
    # certificate is the duality gap, computed here: below 1e-8 both are the optimum to that.
    X, y = moons(n)
    C, gamma = 5.0, 2.0
    model = PrimalSVC(C=C, gamma=gamma, fit_intercept=fit_intercept).fit(X, y)
    K = rbf_kernel(X, gamma=gamma)
    beta = full_coef(model, n)
    f = K @ beta + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), f, atol=1e-9)
    primal = 0.5 * beta @ K @ beta + C * np.sum(np.maximum(0, 1 - y * f) ** 2)
    alpha = np.maximum(0, y * beta)
    if fit_intercept:
        assert abs(y @ alpha) < 1e-8
    v = y * alpha
    dual = alpha.sum() - 0.5 * v @ K @ v - alpha @ alpha / (4 * C)
    assert primal - dual <= 1e-8 * primal
    assert model.objective_["primal"] == pytest.approx(primal, rel=1e-10)
    # Strong convexity of the loss in f: the gap bounds the distance of decision values.
    assert np.sqrt(2 * max(primal - dual, 0) / (2 * C)) < 1e-6 * max(1, np.abs(f).max()) * 10
    assert model.n_iter_ <= 10


def test_squared_hinge_decisions_against_an_interior_solution():
    # n small enough for a dense reference by active sets in NumPy, without the library's path.
    X, y = moons(120)
    C, K = 3.0, rbf_kernel(X, gamma=1.0)
    active = np.ones(len(y), dtype=bool)
    for _ in range(100):
        q = np.flatnonzero(active)
        beta = np.zeros(len(y))
        beta[q] = np.linalg.solve(K[np.ix_(q, q)] + np.eye(len(q)) / (2 * C), y[q])
        now = y * (K @ beta) < 1
        if np.array_equal(now, active):
            break
        active = now
    model = PrimalSVC(C=C, gamma=1.0, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), K @ beta, atol=1e-6)


@pytest.mark.parametrize("fit_intercept", [True])
def test_huberised_hinge_tends_to_the_exact_machine(fit_intercept):
    X, y = moons(400)
    C, gamma = 2.0, 1.5
    exact = LibSVC(C=C, gamma=gamma, tol=1e-9).fit(X, y)
    K = rbf_kernel(X, gamma=gamma)
    v = np.zeros(len(y))
    v[exact.support_] = exact.dual_coef_[0]
    f = K @ v + exact.intercept_[0]
    objective = 0.5 * v @ K @ v + C * np.sum(np.maximum(0, 1 - y * f))
    gaps = []
    for h in (0.3, 0.03, 0.003, 0.0003):
        model = PrimalSVC(
            C=C, gamma=gamma, loss="hinge", smoothing=h, fit_intercept=fit_intercept
        ).fit(X, y)
        assert model.stop_reason_ == "converged"
        gaps.append(model.objective_["primal"] / objective - 1)
    assert gaps[-1] < 1e-5
    assert gaps == sorted(gaps, reverse=True)
    np.testing.assert_allclose(model.decision_function(X), f, atol=0.02)


def test_regression_tends_to_the_exact_machine():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (300, 2))
    y = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=300)
    exact = LibSVR(C=3.0, gamma=0.5, epsilon=0.1, tol=1e-9).fit(X, y)
    model = PrimalSVR(C=3.0, gamma=0.5, epsilon=0.1, smoothing=1e-3).fit(X, y)
    np.testing.assert_allclose(model.predict(X), exact.predict(X), atol=0.01)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_linear_is_liblinear(sparse, dtype):
    X, y = make_classification(600, 30, random_state=0)
    X = X.astype(dtype)
    reference = LinearSVC(C=0.5, dual=False, fit_intercept=False, tol=1e-12).fit(X, y)
    model = PrimalSVC(C=0.5, kernel="linear", fit_intercept=False)
    model.fit(sp.csr_matrix(X) if sparse else X, y)
    np.testing.assert_allclose(model.coef_, reference.coef_, atol=1e-5)
    truncated = PrimalSVC(C=0.5, kernel="linear", fit_intercept=False, solver="cg", tol=1e-12)
    np.testing.assert_allclose(truncated.fit(X, y).coef_, reference.coef_, atol=1e-4)


def test_conjugate_gradients_agree_with_newton():
    X, y = moons(500)
    by_newton = PrimalSVC(C=5, gamma=1).fit(X, y)
    by_cg = PrimalSVC(C=5, gamma=1, solver="cg", tol=1e-8).fit(X, y)
    frugal = PrimalSVC(C=5, gamma=1, solver="cg", tol=1e-8, cache_size=0.01).fit(X, y)
    assert by_cg.objective_["primal"] == pytest.approx(by_newton.objective_["primal"], rel=1e-6)
    np.testing.assert_array_equal(by_cg.dual_coef_, frugal.dual_coef_)


@pytest.mark.parametrize("basis", ["random", "kmeans++", "cholesky", "greedy"])
def test_a_basis_of_all_samples_is_the_whole_machine(basis):
    X, y = moons(120)
    whole = PrimalSVC(C=2, gamma=1).fit(X, y)
    model = PrimalSVC(C=2, gamma=1, basis=basis, n_components=500, tol=1e-9).fit(X, y)
    assert model.objective_["primal"] == pytest.approx(whole.objective_["primal"], rel=1e-6)
    small = PrimalSVC(C=2, gamma=1, basis=basis, n_components=20, random_state=0).fit(X, y)
    assert small.dual_coef_.shape == (1, 20)
    assert len(set(small.support_)) == 20
    np.testing.assert_array_equal(small.support_vectors_, X[small.support_])
    assert small.objective_["primal"] >= whole.objective_["primal"]


def test_the_worked_example_of_the_docs():
    text = (Path(__file__).resolve().parents[2] / "docs" / "primal.md").read_text("utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(compile(code, "docs/primal.md", "exec"), {})


def test_cholesky_pivots_in_lockstep_with_numpy():
    # A kernel whose diagonal has one largest entry: every pivot is determined.
    X, y = moons(80)
    K = (1.5 * X @ X.T + 1) ** 4
    rest, chosen = K.copy(), []
    for _ in range(10):
        pivot = int(np.argmax(np.diag(rest)))
        chosen.append(pivot)
        rest = rest - np.outer(rest[:, pivot], rest[pivot]) / rest[pivot, pivot]
    model = PrimalSVC(
        kernel="poly", degree=4, gamma=1.5, coef0=1, basis="cholesky", n_components=10
    ).fit(X, y)
    np.testing.assert_array_equal(model.support_, sorted(chosen))


def test_machines_are_compressed():
    X, y = moons(600)
    exact = LibSVC(C=2, gamma=1).fit(X, y)
    budgeted = BudgetSVC(budget=30, C=2, gamma=1, random_state=0).fit(X, y)
    for source in (exact, budgeted):
        model = PrimalSVC(C=2, gamma=1, loss="hinge", basis=source, n_components=25).fit(X, y)
        assert model.dual_coef_.shape == (1, 25)
        assert not hasattr(model, "support_")
        assert model.score(X, y) >= exact.score(X, y) - 0.02
    points = X[:40]
    model = PrimalSVC(C=2, gamma=1, basis=points, n_components=10).fit(X, y)
    np.testing.assert_array_equal(model.support_vectors_, points)
    sparse = PrimalSVC(C=2, gamma=1, basis=sp.csr_matrix(points)).fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(
        sparse.decision_function(X), model.decision_function(X), rtol=1e-3, atol=1e-3
    )


@pytest.mark.parametrize(
    "model",
    [
        PrimalSVC(C=2),
        PrimalSVC(kernel="linear"),
        PrimalSVC(basis="random", n_components=15, leave_one_out=False),
        PrimalSVC(leave_one_out=True),
    ],
)
def test_files(model, tmp_path):
    X, y = make_classification(200, 6, n_informative=4, n_classes=3, random_state=0)
    names = np.array(["a", "b", "c"])[y]
    model.fit(X, names)
    model.save(tmp_path / "m.safetensors")
    again = budgetsvm.load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.get_params() == model.get_params()
    assert (again.C_, again.gamma_) == (model.C_, model.gamma_)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))


def test_single_precision_stays_single():
    X, y = moons(300)
    model = PrimalSVC(C=2, gamma=1, solver="cg", tol=1e-7).fit(X.astype(np.float32), y)
    assert model.support_vectors_.dtype == np.float32
    double = PrimalSVC(C=2, gamma=1).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(X.astype(np.float32)), double.decision_function(X), atol=0.02
    )


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": 0}, "C must be > 0"),
        ({"gamma": -1.0}, "gamma must be > 0"),
        ({"loss": "nonsense"}, "loss must be one of"),
        ({"solver": "smo"}, "solver must be"),
        ({"smoothing": 0}, "smoothing must be > 0"),
        ({"tol": 0}, "tol must be > 0"),
        ({"max_iter": 0}, "max_iter must be >= 1"),
        ({"cache_size": -1}, "cache_size must be > 0"),
        ({"max_time": 0}, "max_time must be > 0"),
        ({"basis": "nonsense"}, "basis must be"),
        ({"basis": "random", "n_components": 0}, "n_components must be >= 1"),
        ({"basis": np.ones((3, 5))}, "basis has 5 features"),
        ({"basis": LibSVC()}, "basis must be fitted"),
        ({"basis": np.full((3, 2), np.nan)}, "NaN"),
        ({"tune": True, "tune_size": 0}, "tune_size must be >= 1"),
        ({"random_state": "x"}, "random_state"),
        ({"degree": -1}, "degree"),
        ({"kernel": "precomputed"}, "kernel must be"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_bad_hyperparameters(params, message):
    X, y = moons(40)
    model = PrimalSVC().fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match=message):
        model.set_params(**params).fit(X, y)
    np.testing.assert_array_equal(
        model.set_params(**PrimalSVC().get_params()).decision_function(X), before
    )


@pytest.mark.parametrize(
    "name", ["C", "gamma", "smoothing", "fit_intercept", "loss", "class_weight", "kernel", "degree"]
)
def test_every_hyperparameter_changes_something(name):
    X, y = moons(150)
    base = {"C": 1.0, "gamma": 1.0, "loss": "hinge", "kernel": "poly", "smoothing": 0.1}
    other = {
        "C": 2.0, "gamma": 2.0, "smoothing": 0.5, "fit_intercept": False,
        "loss": "squared_hinge", "class_weight": {1: 3.0}, "kernel": "rbf", "degree": 2,
    }  # fmt: skip
    one = PrimalSVC(**base).fit(X, y).decision_function(X)
    two = PrimalSVC(**{**base, name: other[name]}).fit(X, y).decision_function(X)
    assert np.abs(one - two).max() > 1e-3


def test_threads_do_not_change_a_bit():
    X, y = moons(1500)
    for params in ({}, {"solver": "cg"}, {"basis": "greedy", "n_components": 50}):
        one = PrimalSVC(C=3, gamma=1, random_state=0, n_jobs=1, **params).fit(X, y)
        two = PrimalSVC(C=3, gamma=1, random_state=0, n_jobs=2, **params).fit(X, y)
        np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
