"""PrimalSVC and PrimalSVR: optimality, agreement with the exact machines, bases, leave-one-out."""

import itertools
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
from interrupting import ctrl_c


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


def test_leave_one_out_against_brute_force():
    X, y = moons(60)
    model = PrimalSVC(C=1, gamma=1, leave_one_out=True).fit(X, y)
    brute = np.empty(60)
    same = np.zeros(60, dtype=bool)
    for p in range(60):
        rest = np.delete(np.arange(60), p)
        without = PrimalSVC(C=1, gamma=1).fit(X[rest], y[rest])
        brute[p] = without.decision_function(X[p : p + 1])[0]
        same[p] = set(rest[without.support_]) == set(model.support_) - {p}
    assert same.sum() >= 20
    np.testing.assert_allclose(model.loo_decision_[same], brute[same], atol=1e-8)
    assert model.loo_score_ == np.mean(np.sign(model.loo_decision_) == y)
    assert abs(model.loo_score_ - np.mean(np.sign(brute) == y)) <= 2 / 60
    rng = np.random.default_rng(0)
    values = np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=60)
    reg = PrimalSVR(C=1, gamma=1, loss="least_squares", leave_one_out=True).fit(X, values)
    out = [
        PrimalSVR(C=1, gamma=1, loss="least_squares")
        .fit(np.delete(X, p, 0), np.delete(values, p))
        .predict(X[p : p + 1])[0]
        for p in range(60)
    ]
    np.testing.assert_allclose(reg.loo_decision_, out, atol=1e-8)
    with pytest.raises(ValueError, match="leave_one_out"):
        PrimalSVC(leave_one_out=True, solver="cg").fit(X, y)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_tuning_ends_where_the_fewest_are_wrong_around_the_criterions_minimum(n_classes):
    rng = np.random.default_rng(n_classes)
    y = rng.integers(n_classes, size=150)
    X = np.column_stack([np.cos(2 * y), np.sin(2 * y)]) + 0.8 * rng.normal(size=(150, 2))

    def judged(C, gamma):
        """(leave-one-out errors, the criterion)."""
        f = PrimalSVC(C=C, gamma=gamma, leave_one_out=True).fit(X, y).loo_decision_
        signs = np.where(y > 0, 1, -1) if n_classes == 2 else 2 * np.eye(n_classes)[y] - 1
        wrong = (f > 0) != y if n_classes == 2 else f.argmax(axis=1) != y
        return int(wrong.sum()), float((np.maximum(0, 1 - signs * f) ** 2).sum())

    model = PrimalSVC(tune=True).fit(X, y)
    places = [(c, g) for g, c in itertools.product((0.5, 0.71, 1, 1.41, 2), (0.25, 1, 4))]
    # The criterion's minimum is the place around which the result is one of these.
    C, gamma = min(
        ((model.C_ / c, model.gamma_ / g) for c, g in places), key=lambda place: judged(*place)[1]
    )
    fewest = min(
        places,
        key=lambda place: (judged(C * place[0], gamma * place[1])[0], np.abs(np.log(place)).sum()),
    )
    np.testing.assert_allclose((model.C_, model.gamma_), (C * fewest[0], gamma * fewest[1]))


def test_tuning_keeps_the_time_and_stops_when_told():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 10))
    y = X[:, 0] + X[:, 1] ** 2 > 1
    limited = PrimalSVC(tune=True, max_time=1.0, random_state=0).fit(X, y)
    # Half of the time is for the machine itself.
    assert limited.score(X, y) > 0.9
    assert limited.n_iter_ > 0
    calls = []

    def stop(progress):
        calls.append(progress["time"])
        return len(calls) >= 2

    told = PrimalSVC(tune=True, random_state=0, callback=stop).fit(X, y)
    assert told.stop_reason_ == "callback"
    assert len(calls) <= 5


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_tuning_does_not_hang_on_where_it_begins(n_classes, kernel):
    """From places too, where every machine is the same and the criterion has no slope."""
    rng = np.random.default_rng(4)
    X = rng.normal(scale=30.0, size=(1300, 2))
    angle = np.arctan2(X[:, 0], X[:, 1])
    y = np.sin(2 * angle) if n_classes == 0 else np.digitize(angle, [-1, 1][: n_classes - 1])
    cls, loss = (PrimalSVC, "squared_hinge") if n_classes else (PrimalSVR, "least_squares")
    scores = []
    for C, gamma in [(1, "scale"), (1e-6, 1.0), (1e8, 1e5), (1.0, 1e-9), (1e300, 1e-300)]:
        model = cls(C=C, gamma=gamma, kernel=kernel, loss=loss, tune=True).fit(X[:300], y[:300])
        scores.append(model.score(X[300:], y[300:]))
    assert min(scores) > scores[0] - 0.02
    assert scores[0] > (0.9 if n_classes else 0.8)


@pytest.mark.parametrize("X", [np.ones((20, 3)), np.eye(2), sp.eye(30, format="csr")])
def test_tuning_where_there_is_nothing_to_see(X):
    y = np.arange(X.shape[0]) % 2
    model = PrimalSVC(tune=True).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert np.isfinite([model.C_, model.gamma_]).all()


def test_tuning_finds_a_better_criterion():
    X, y = moons(500, seed=3)
    model = PrimalSVC(C=0.01, gamma=0.01, tune=True, leave_one_out=True).fit(X, y)
    plain = PrimalSVC(C=0.01, gamma=0.01, leave_one_out=True).fit(X, y)
    assert model.C_ > 0.05
    assert model.gamma_ > 0.05
    assert (model.C, model.gamma) == (0.01, 0.01)
    assert model.loo_score_ > plain.loo_score_
    again = PrimalSVC(C=model.C_, gamma=model.gamma_).fit(X, y)
    np.testing.assert_allclose(again.decision_function(X), model.decision_function(X), atol=1e-6)
    with pytest.raises(ValueError, match="tune=True needs kernel"):
        PrimalSVC(kernel="poly", tune=True).fit(X, y)
    with pytest.raises(ValueError, match="tune=True needs a squared loss"):
        PrimalSVC(loss="hinge", tune=True).fit(X, y)
    with pytest.raises(ValueError, match="tune=True needs a squared loss"):
        PrimalSVR(tune=True).fit(X, y)


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
        ({"class_weight": {7: 1.0}}, "class_weight names 7"),
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
