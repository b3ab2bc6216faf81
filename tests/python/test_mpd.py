"""The minimal primal-dual method from Python, and the semi-parametric machines."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, make_classification, make_regression
from sklearn.metrics.pairwise import rbf_kernel

import budgetsvm
from budgetsvm import (
    SVC,
    SVR,
    NuSVC,
    NuSVR,
    OneClassSVM,
    SemiparametricNuSVC,
    SemiparametricNuSVR,
    SemiparametricOneClassSVM,
    SemiparametricSVC,
    SemiparametricSVR,
)
from mpd_reference import interior_point, sinc, sinc_data, sine

TIGHT = {"tol": 1e-6, "constraint_tol": 1e-8}


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_svr_is_the_solution_of_a_general_qp_solver(C):
    m = 500
    X, y = sinc_data(m)
    model = SemiparametricSVR(
        [sine, sinc], C=C / m, gamma=0.5, epsilon=0.05, fit_intercept=False, **TIGHT
    ).fit(X, y)
    K, phi = rbf_kernel(X, gamma=0.5), np.column_stack([sine(X), sinc(X)])
    H = np.block([[K, -K], [-K, K]])
    q = np.concatenate([0.05 - y, 0.05 + y])
    a, eta = interior_point(H, q, np.full(2 * m, C / m), np.vstack([phi, -phi]))
    beta = np.zeros(m)
    beta[model.support_] = model.dual_coef_[0]
    theirs = a[:m] - a[m:]

    def objective(b):
        return 0.5 * b @ K @ b - y @ b + 0.05 * np.abs(b).sum()

    best = objective(theirs)
    assert abs(objective(beta) - best) <= 1e-6 * abs(best)
    np.testing.assert_allclose(model.predict(X), K @ theirs + phi @ eta, atol=2e-4)
    np.testing.assert_allclose(model.parametric_coef_, eta, atol=1e-3)


def test_svc_is_the_solution_of_a_general_qp_solver():
    X, labels = make_classification(300, 4, random_state=1, class_sep=0.5)
    model = SemiparametricSVC(lambda X: X[:, :2], C=2.0, gamma=0.5, **TIGHT).fit(X, labels)
    y, K = 2.0 * labels - 1, rbf_kernel(X, gamma=0.5)
    F = y[:, None] * np.column_stack([np.ones(300), X[:, :2]])
    a, eta = interior_point(y[:, None] * K * y, -np.ones(300), np.full(300, 2.0), F)
    f = K @ (a * y) + eta[0] + X[:, :2] @ eta[1:]
    np.testing.assert_allclose(model.decision_function(X), f, atol=2e-4)
    np.testing.assert_allclose(model.parametric_coef_[0], eta[1:], atol=1e-3)
    np.testing.assert_allclose(model.intercept_, eta[0], atol=1e-3)
    assert model.constraint_violation_[0] <= 1e-6


@pytest.mark.parametrize(
    ("cls", "params"),
    [
        (SVC, {"C": 3.0}),
        (NuSVC, {"nu": 0.2}),
        (SVR, {"C": 3.0, "epsilon": 0.05}),
        (NuSVR, {"C": 2.0, "nu": 0.4}),
        (OneClassSVM, {"nu": 0.15}),
    ],
)
@pytest.mark.parametrize("thresholds", [{"tol": 1e-4, "constraint_tol": 1e-2}, TIGHT])
def test_mpd_fits_the_same_machines(cls, params, thresholds):
    X, labels = make_classification(
        200, 5, n_informative=4, n_redundant=1, n_classes=3, random_state=0
    )
    y = labels if hasattr(cls, "decision_function_shape") or cls in (SVC, NuSVC) else None
    y = make_regression(200, 5, random_state=0)[1] / 50 if cls in (SVR, NuSVR) else y
    smo = cls(tol=1e-8, **params).fit(X, y)
    mpd = cls(solver="mpd", **params, **thresholds).fit(X, y)
    loose = thresholds["constraint_tol"] > 1e-3
    values = [m.predict(X) if cls in (SVR, NuSVR) else m.decision_function(X) for m in (smo, mpd)]
    size = 1 + np.abs(values[0]).max()
    np.testing.assert_allclose(values[1], values[0], atol=(0.1 if loose else 1e-4) * size)
    assert mpd.fit_status_ == 0
    assert np.all(mpd.n_updates_ > 0)


def test_without_an_offset_it_is_the_kernel_adatron():
    X, labels = make_classification(150, 4, random_state=3)
    model = SVC(solver="mpd", fit_intercept=False, C=5.0, gamma=0.3, tol=1e-9).fit(X, labels)
    y, K = 2.0 * labels - 1, rbf_kernel(X, gamma=0.3)
    a = np.zeros(150)
    for _ in range(3000):  # Gauss-Seidel: another order, the same solution
        for i in range(150):
            a[i] = np.clip(a[i] + 1 - y[i] * (K[i] @ (a * y)), 0, 5.0)
    assert np.all(model.intercept_ == 0)
    np.testing.assert_allclose(model.decision_function(X), K @ (a * y), atol=1e-6)
    with pytest.raises(ValueError, match="fit_intercept=False needs"):
        SVC(fit_intercept=False).fit(X, labels)


def test_functions_may_be_a_matrix():
    X, y = sinc_data(200)
    phi = np.column_stack([sine(X), sinc(X)])
    params = {"C": 0.05, "gamma": 0.5, "epsilon": 0.05}
    plain = SemiparametricSVR([sine, sinc], **params).fit(X, y)
    given = SemiparametricSVR(phi, **params).fit(X, y)
    both = SemiparametricSVR(lambda X: np.column_stack([sine(X), sinc(X)]), **params).fit(X, y)
    assert np.array_equal(plain.predict(X), given.predict(X, functions=phi))
    assert np.array_equal(plain.predict(X), both.predict(X))
    with pytest.raises(ValueError, match="pass functions="):
        given.predict(X)
    with pytest.raises(ValueError, match="columns"):
        given.predict(X, functions=phi[:, :1])
    with pytest.raises(ValueError, match="rows"):
        SemiparametricSVR(phi[:50], **params).fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        SemiparametricSVR(np.full((200, 1), np.nan), **params).fit(X, y)


def test_functions_span_decides_not_their_choice():
    X, y = sinc_data(200)
    params = {"C": 0.05, "gamma": 0.5, "epsilon": 0.05, **TIGHT}
    plain = SemiparametricSVR([sine, sinc], **params).fit(X, y)
    mixed = SemiparametricSVR(
        [lambda X: 1e3 * sine(X), lambda X: sine(X) + 1e-2 * sinc(X)], **params
    ).fit(X, y)
    np.testing.assert_allclose(plain.predict(X), mixed.predict(X), atol=1e-5)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"update": "euler"}, "'update' parameter"),
        ({"constraint_tol": 0.0}, "'constraint_tol' parameter"),
        ({"constraint_atol": -1.0}, "'constraint_atol' parameter"),
        ({"relaxation": 2.0}, "'relaxation' parameter"),
        ({"intercept_penalty": -1.0}, "'intercept_penalty' parameter"),
        ({"working_set": 0}, "'working_set' parameter"),
        ({"epsilon": -1.0}, "'epsilon' parameter"),
    ],
)
def test_bad_parameters_are_named(params, message):
    X, y = sinc_data(50)
    with pytest.raises(ValueError, match=message):
        SemiparametricSVR(**params).fit(X, y)


def test_history_is_the_course_of_the_run():
    X, labels = make_classification(40, 2, n_redundant=0, random_state=0)
    model = SemiparametricSVC(
        C=10.0, gamma=0.5, update="newton", working_set=1, tol=0.01, constraint_tol=0.01,
        record_history=True,
    ).fit(X, labels)  # fmt: skip
    history = model.history_
    assert set(history) == {"violation", "constraint", "multiplier_0"}
    assert len(history["violation"]) >= model.n_iter_[0]
    assert history["violation"][-1] <= 0.01
    assert history["constraint"][-1] <= 0.01
    assert -history["multiplier_0"][-1] == pytest.approx(model.intercept_[0], abs=1e-12)


ESTIMATORS = [
    SVC(), SVC(kernel="linear"), NuSVC(nu=0.2), SVR(), NuSVR(), OneClassSVM(), SVC(solver="mpd"),
    SVR(C=float("inf"), kernel="linear", tol=0.5), SemiparametricSVR(), SemiparametricSVC(),
    SemiparametricNuSVR(), SemiparametricNuSVC(nu=0.2), SemiparametricOneClassSVM(),
    SVC(solver="mpd", intercept_penalty=1.0, relaxation=1.3),
]  # fmt: skip


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@pytest.mark.parametrize("sparse", [False, True])
def test_saved_machines_predict_with_the_same_bits(estimator, sparse, tmp_path):
    X, y = load_iris(return_X_y=True)
    X = sp.csr_matrix(X) if sparse else X
    estimator.fit(X, np.array(["a", "b", "c"])[y] if hasattr(estimator, "break_ties") else y)
    estimator.save(tmp_path / "model.safetensors")
    again = budgetsvm.load(tmp_path / "model.safetensors")
    assert type(again) is type(estimator)
    assert again.get_params() == estimator.get_params()
    assert np.array_equal(again.predict(X), estimator.predict(X))
    assert again.shape_fit_ == estimator.shape_fit_
    assert np.array_equal(again.n_iter_, estimator.n_iter_)
    assert np.array_equal(again.n_support_, estimator.n_support_)


def test_functions_that_change_after_the_fit_change_nothing():
    X, y = sinc_data(100)
    functions = [sine]
    model = SemiparametricSVR(functions, C=0.1).fit(X, y)
    expected = model.predict(X)
    functions[0] = sinc
    assert np.array_equal(model.predict(X), expected)
    for other in ([sine, sinc], None, sine(X)[:, None]):
        model.set_params(functions=other)
        assert np.array_equal(model.predict(X), expected)
    given = SemiparametricSVR(sine(X)[:, None], C=0.1).fit(X, y)
    expected = given.predict(X, sine(X)[:, None])
    given.set_params(functions=sinc)
    assert np.array_equal(given.predict(X, sine(X)[:, None]), expected)
    with pytest.raises(ValueError, match="pass functions="):
        given.predict(X)
    plain = SemiparametricSVR(C=0.1).fit(X, y)
    with pytest.raises(ValueError, match="has none"):
        plain.set_params(functions=sine).predict(X, sine(X)[:, None])


def test_a_saved_matrix_of_functions_comes_back(tmp_path):
    X, y = sinc_data(100)
    model = SemiparametricSVR(sine(X)[:, None], C=0.1, record_history=True).fit(X, y)
    model.save(tmp_path / "model.safetensors")
    again = budgetsvm.load(tmp_path / "model.safetensors")
    values = sine(X[:7])[:, None]
    assert np.array_equal(again.predict(X[:7], values), model.predict(X[:7], values))
    with pytest.raises(ValueError, match="function"):
        SemiparametricSVR(sine, C=0.1).fit(X, y).save(tmp_path / "other.safetensors")


def test_a_precomputed_machine_is_saved(tmp_path):
    X, y = load_iris(return_X_y=True)
    K = rbf_kernel(X)
    model = SVC(kernel="precomputed").fit(K, y)
    model.save(tmp_path / "model.safetensors")
    assert np.array_equal(
        budgetsvm.load(tmp_path / "model.safetensors").predict(K), model.predict(K)
    )


def by_class(X, labels):
    """Rows in the order in which a machine of two classes has them: ties fall alike."""
    order = np.argsort(labels, kind="stable")
    return X[order], labels[order]


def algorithm_1(K, signs, bound, tol, allowed, most):
    """The paper's loop for a C-SVC with an offset, as it stands: β, η, steps, updates, whether it
    ended; H in the signed variables is K, f_1 is 1.
    """
    n = len(K)
    beta, f, residual = np.zeros(n), np.zeros(n), np.ones(n)
    eta = g = curvature = 0.0
    lower, upper = np.where(signs > 0, 0.0, -bound), np.where(signs > 0, bound, 0.0)
    steps = updates = 0
    for _ in range(most):
        score = signs - f - eta
        held = np.where(score > 0, beta >= upper, beta <= lower)
        badness = np.where(held, 0.0, np.abs(score))
        j = np.argmax(np.abs(residual))
        by = -residual[j] / K[j, j]
        curvature += by
        residual += by * K[j]
        worst = np.argmax(badness)
        if badness[worst] > tol:
            to = np.clip(beta[worst] + score[worst] / K[worst, worst], lower[worst], upper[worst])
            by, beta[worst] = to - beta[worst], to
            f += by * K[worst]
            g += by
            steps += 1
        elif abs(g) <= allowed:
            return beta, eta, steps, updates, True
        else:
            eta -= g / curvature
            updates += 1
    return beta, eta, steps, updates, False


def test_the_papers_update_goes_on_past_ten_thousand_updates():
    X, labels = by_class(*make_classification(60, 4, random_state=7, class_sep=0.5))
    y, K = 2.0 * labels - 1, rbf_kernel(X, gamma=0.5)
    beta, eta, steps, updates, ended = algorithm_1(K, y, 1.0, 1e-3, 1e-4, 30_000)
    assert ended
    assert updates > 10_000
    model = SVC(solver="mpd", update="newton", constraint_tol=1e-4, gamma=0.5).fit(X, labels)
    assert model.fit_status_ == 0
    assert (model.n_iter_[0], model.n_updates_[0]) == (steps, updates)
    assert model.constraint_violation_[0] <= 1e-4
    np.testing.assert_allclose(model.intercept_, eta, atol=1e-7)
    np.testing.assert_allclose(model.decision_function(X), K @ beta + eta, atol=1e-7)


FIVE = [(SVC, {}), (NuSVC, {"nu": 0.3}), (SVR, {}), (NuSVR, {}), (OneClassSVM, {})]


@pytest.mark.parametrize(("cls", "params"), FIVE)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_papers_update_converges_at_its_default(cls, params, seed):
    X, labels = make_classification(150, 5, random_state=seed)
    y = make_regression(150, 5, random_state=seed)[1] / 50 if cls in (SVR, NuSVR) else labels
    model = cls(solver="mpd", update="newton", **params).fit(X, y)
    exact = cls(**params).fit(X, y)
    assert model.stop_reason_ == "converged"
    values = [m.predict(X) if cls in (SVR, NuSVR) else m.decision_function(X)
              for m in (model, exact)]  # fmt: skip
    size = 1 + np.abs(values[1]).max()
    np.testing.assert_allclose(values[0], values[1], atol=0.03 * size)


def test_a_constraint_tol_that_the_papers_update_cannot_meet_ends():
    X, labels = make_classification(60, 4, random_state=0)
    with pytest.warns(UserWarning, match="terminated early"):
        model = SVC(solver="mpd", update="newton", tol=0.01, constraint_tol=1e-12).fit(X, labels)
    assert model.n_iter_[0] + model.n_updates_[0] < 3_000_000
    assert model.score(X, labels) > SVC().fit(X, labels).score(X, labels) - 0.05


@pytest.mark.parametrize(("m", "C", "rounds"), [(500, 0.1, (812, 99)), (500, 10.0, (951, 1124))])
def test_an_absolute_tolerance_as_the_papers(m, C, rounds):
    """Section 6 at ε_p = ε_d = 0.01; steps and updates are those of a plain twin in C."""
    X, y = sinc_data(m)
    model = SemiparametricSVR(
        [sine, sinc], C=C / m, gamma=0.5, epsilon=0.05, fit_intercept=False, update="newton",
        tol=0.01, constraint_atol=0.01, constraint_tol=1e-9,
    ).fit(X, y)  # fmt: skip
    assert model.stop_reason_ == "converged"
    assert model.constraint_violation_[0] <= 0.01
    assert model.constraint_violation_[0] > 1e-3
    assert (model.n_iter_, model.n_updates_[0]) == rounds


def test_a_penalised_offset_is_a_part_of_the_kernel():
    X, labels = make_classification(150, 4, random_state=3)
    K = rbf_kernel(X, gamma=0.3)
    for penalty in (1.0, 0.1):
        model = SVC(solver="mpd", intercept_penalty=penalty, C=5.0, gamma=0.3).fit(X, labels)
        other = SVC(kernel="precomputed", solver="mpd", fit_intercept=False, C=5.0)
        other.fit(K + 1 / penalty, labels)
        np.testing.assert_allclose(
            model.decision_function(X), other.decision_function(K + 1 / penalty), atol=1e-8
        )
        assert model.intercept_[0] == pytest.approx(model.dual_coef_.sum() / penalty, abs=1e-9)
        assert abs(model.intercept_[0]) > 1e-3
    with pytest.raises(ValueError, match=r"intercept_penalty=1\.0 needs solver='mpd'"):
        SVC(intercept_penalty=1.0).fit(X, labels)
    with pytest.raises(ValueError, match=r"relaxation=1\.5 needs solver='mpd'"):
        SVR(relaxation=1.5).fit(X, labels)


@pytest.mark.parametrize("relaxation", [0.4, 1.5, 1.9])
def test_over_relaxation_takes_its_own_steps_to_the_same_answer(relaxation):
    X, labels = by_class(*make_classification(60, 4, random_state=4))
    y, K = 2.0 * labels - 1, rbf_kernel(X, gamma=0.3) + 1.0
    a, steps = np.zeros(60), 0
    lower, upper = np.where(y > 0, 0.0, -2.0), np.where(y > 0, 2.0, 0.0)
    while True:  # Mangasarian and Musicant's step, of the variable of most gain
        score = y - K @ a
        held = np.where(score > 0, a >= upper, a <= lower)
        badness = np.where(held, 0.0, np.abs(score))
        if badness.max() <= 1e-3:
            break
        by = np.clip(a + score / 2.0, lower, upper) - a
        t = np.argmax(np.where(badness > 1e-3, by * (score - by), -1.0))
        a[t] = np.clip(a[t] + relaxation * score[t] / 2.0, lower[t], upper[t])
        steps += 1
    params = {"solver": "mpd", "C": 2.0, "gamma": 0.3, "intercept_penalty": 1.0}
    sor = SemiparametricSVC(
        C=2.0, gamma=0.3, intercept_penalty=1.0, relaxation=relaxation, working_set=1
    ).fit(X, labels)
    assert sor.n_iter_[0] == steps
    np.testing.assert_allclose(sor.decision_function(X), K @ a, atol=1e-9)
    model = SVC(relaxation=relaxation, **params).fit(X, labels)
    plain = SVC(**params).fit(X, labels)
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-8)
