"""The exact machines against LIBSVM through scikit-learn, and their own promises."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.datasets import load_iris, make_classification, make_regression
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel

import budgetsvm
from budgetsvm import SVC, SVR, BudgetSVC, NuSVC, NuSVR, OneClassSVM
from interrupting import ctrl_c

KERNELS = [
    {"kernel": "rbf", "gamma": 0.3},
    {"kernel": "linear", "gamma": 1.0},
    {"kernel": "poly", "gamma": 0.2, "coef0": 1.0, "degree": 2},
    {"kernel": "sigmoid", "gamma": 0.01, "coef0": 0.1},
]


def data(n_classes=3, n=220, seed=0):
    X, y = make_classification(
        n, 6, n_informative=4, n_classes=n_classes, random_state=seed, class_sep=0.7
    )
    return X, y, make_regression(n, 6, noise=10.0, random_state=seed)[1] / 50


def fitted_pair(name, X, y, weights=None, **params):
    ours = getattr(budgetsvm, name)(tol=1e-10, **params)
    # Float32 rows keep LIBSVM from meeting this tolerance now and then.
    theirs = getattr(sklearn.svm, name)(tol=1e-10, max_iter=300_000, **params)
    if name == "OneClassSVM":
        return ours.fit(X, sample_weight=weights), theirs.fit(X, sample_weight=weights)
    return ours.fit(X, y, sample_weight=weights), theirs.fit(X, y, sample_weight=weights)


def assert_same(ours, theirs, X):
    """Equal up to what LIBSVM's own float32 kernel rows err by."""
    f, g = (
        m.decision_function(X) if hasattr(m, "decision_function") else m.predict(X)
        for m in (ours, theirs)
    )
    name = {"coef0": ours.coef0, "gamma": ours.gamma, "degree": ours.degree}
    kernel = pairwise_kernels(X, metric=ours.kernel, filter_params=True, **name)
    alphas = np.abs(theirs.dual_coef_).sum() / max(1, len(theirs.n_support_) - 1)
    size = alphas * max(1.0, np.abs(kernel).max())
    np.testing.assert_allclose(f, g, rtol=0, atol=1e-6 + 1e-7 * size)
    assert ours.dual_coef_.shape[0] == theirs.dual_coef_.shape[0]
    assert ours.intercept_.shape == theirs.intercept_.shape
    assert ours.n_support_.shape == theirs.n_support_.shape
    assert ours.support_.dtype == theirs.support_.dtype


@pytest.mark.filterwarnings("ignore:Solver terminated early")
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k["kernel"])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("C", [0.1, 20.0])
def test_svc_agrees_with_libsvm(kernel, n_classes, C):
    X, y, _ = data(n_classes)
    weights = np.linspace(0.2, 2, len(X))
    for shape in ("ovr", "ovo"):
        params = {**kernel, "C": C, "class_weight": "balanced", "decision_function_shape": shape}
        ours, theirs = fitted_pair("SVC", X, y, weights, **params)
        if shape == "ovo" or n_classes == 2:
            assert_same(ours, theirs, X)
        assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.995
        np.testing.assert_allclose(ours.class_weight_, theirs.class_weight_)
    if kernel["kernel"] == "linear":
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-3, atol=1e-3)


@pytest.mark.filterwarnings("ignore:Solver terminated early")
@pytest.mark.parametrize("kernel", KERNELS[:3], ids=lambda k: k["kernel"])
@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("NuSVC", {"nu": 0.2, "decision_function_shape": "ovo"}),
        ("SVR", {"C": 3.0, "epsilon": 0.05}),
        ("NuSVR", {"C": 2.0, "nu": 0.4}),
        ("OneClassSVM", {"nu": 0.15}),
    ],
)
def test_the_other_machines_agree_with_libsvm(name, params, kernel):
    X, labels, values = data()
    y = labels if name == "NuSVC" else values
    ours, theirs = fitted_pair(name, X, y, **params, **kernel)
    assert_same(ours, theirs, X)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k["kernel"])
def test_storage_does_not_matter(kernel):
    X, y, _ = data()
    X[np.abs(X) < 0.7] = 0
    dense = SVC(**kernel).fit(X, y)
    sparse = SVC(**kernel).fit(sp.csr_matrix(X), y)
    assert sp.issparse(sparse.dual_coef_)
    assert sp.issparse(sparse.support_vectors_)
    for rows in (X, sp.csr_matrix(X)):
        np.testing.assert_allclose(
            dense.decision_function(X), sparse.decision_function(rows), atol=1e-8
        )


def test_precomputed_and_callable_kernels_are_the_kernel():
    X, y, _ = data()
    plain = SVC(gamma=0.3).fit(X, y)
    given = SVC(kernel="precomputed").fit(rbf_kernel(X, gamma=0.3), y)
    called = SVC(kernel=lambda a, b: rbf_kernel(a, b, gamma=0.3)).fit(X, y)
    new = X[:50] + 0.1
    expected = plain.decision_function(new)
    np.testing.assert_allclose(
        given.decision_function(rbf_kernel(new, X, gamma=0.3)), expected, atol=1e-9
    )
    np.testing.assert_allclose(called.decision_function(new), expected, atol=1e-9)


@pytest.mark.parametrize("params", [{}, {"tol": 1e-5}])
def test_large_problems_reach_libsvms_objective(params):
    X, y, _ = data(2, 3000)
    ours = SVC(C=5, **params).fit(X, y)
    theirs = sklearn.svm.SVC(C=5, tol=1e-6).fit(X, y)

    def dual(model):
        beta, rows = model.dual_coef_[0], model.support_vectors_
        kernel = rbf_kernel(rows, gamma=model._gamma)
        return np.abs(beta).sum() - 0.5 * beta @ kernel @ beta

    best = dual(theirs)
    assert dual(ours) >= best - ours.duality_gap_[0] - 1e-6 * best
    assert ours.duality_gap_[0] <= 1e-2 * best
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.998
    assert ours.stop_reason_ == "converged"


def test_the_same_bits_for_any_number_of_threads():
    X, y, _ = data(3, 2500)
    values = [SVC(C=5, n_jobs=n).fit(X, y).decision_function(X) for n in (1, 2, 5)]
    assert np.array_equal(values[0], values[1])
    assert np.array_equal(values[0], values[2])


@pytest.mark.parametrize(("n", "classes", "megabytes"), [(48, 3, 0.1), (700, 8, 0.2), (700, 8, 1)])
def test_the_share_of_a_small_cache_does_not_depend_on_threads(n, classes, megabytes):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 20)), rng.permutation(np.arange(n) % classes)
    models = [SVC(cache_size=megabytes, n_jobs=jobs).fit(X, y) for jobs in (1, 2, 3, 16)]
    assert len({model.dual_coef_.tobytes() for model in models}) == 1


@pytest.mark.parametrize("C", [1e-12, 1e12, np.inf])
@pytest.mark.parametrize("gamma", [1e-12, 1.0, 1e12])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_extreme_parameters_end_in_finite_machines(C, gamma):
    X, y, _ = data(2, 60)
    model = SVC(C=C, gamma=gamma, max_iter=100_000).fit(X, y)
    assert np.all(np.isfinite(model.decision_function(X)))
    theirs = sklearn.svm.SVC(C=C, gamma=gamma, max_iter=100_000).fit(X, y)
    assert model.score(X, y) >= theirs.score(X, y) - 0.02


def test_gamma_zero_is_a_constant_kernel():
    X, y, _ = data(2, 60)
    values = SVC(gamma=0.0).fit(X, y).decision_function(X)
    assert np.ptp(values) == 0


def test_limits_are_told():
    X, y, _ = data(2, 1500)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=3"):
        model = SVC(C=1e4, gamma=1, max_iter=3).fit(X, y)
    assert (model.n_iter_[0], model.fit_status_, model.stop_reason_) == (3, 1, "max_iter")
    with pytest.warns(ConvergenceWarning):
        model = SVC(C=1e6, kernel="linear", max_time=0.05).fit(X, y)
    assert model.stop_reason_ == "max_time"


def test_a_cache_of_less_than_two_rows_is_refused():
    X, y, _ = data(2, 2000)
    with pytest.raises(MemoryError, match="cache_size"):
        SVC(cache_size=0.001).fit(X, y)


@pytest.mark.parametrize(
    ("cls", "params", "message"),
    [
        (SVC, {"C": 0}, "'C' parameter of SVC"),
        (SVC, {"kernel": "laplace"}, "'kernel' parameter of SVC"),
        (NuSVC, {"nu": 1.5}, "'nu' parameter of NuSVC"),
        (SVR, {"epsilon": -1}, "'epsilon' parameter of SVR"),
        (NuSVR, {"gamma": -1.0}, "'gamma' parameter of NuSVR"),
        (NuSVR, {"C": np.inf}, "C must be finite"),
        (OneClassSVM, {"tol": 0.0}, "'tol' parameter of OneClassSVM"),
        (SVR, {"max_time": -1}, "'max_time' parameter of SVR"),
    ],
)
def test_bad_parameters_are_named_and_change_nothing(cls, params, message):
    X, y, _ = data(2)
    model = cls().fit(X, y)
    before = model.decision_function(X) if hasattr(model, "classes_") else model.predict(X)
    with pytest.raises(ValueError, match=message):
        model.set_params(**params).fit(X, y)
    model.set_params(**cls().get_params())
    after = model.decision_function(X) if hasattr(model, "classes_") else model.predict(X)
    assert np.array_equal(before, after)


@pytest.mark.parametrize(
    "weights", [np.nan, np.inf, [[1.0]], [1.0, 2.0], -1.0, 0.0], ids=lambda w: str(w)
)
def test_bad_weights_are_refused(weights):
    X, y, _ = data(2)
    given = np.full(len(X), weights) if np.isscalar(weights) else np.array(weights)
    with pytest.raises(ValueError, match=r"sample_weight|weights"):
        SVC().fit(X, y, sample_weight=given)


@pytest.mark.parametrize("cls", [SVC, NuSVC, SVR, NuSVR, OneClassSVM])
def test_pickles_predict_with_the_same_bits(cls):
    X, y = load_iris(return_X_y=True)
    model = cls().fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(model.predict(X), again.predict(X))


def test_ctrl_c_leaves_the_estimator_as_it_was():
    X, y, _ = data(2, 20_000)
    model = SVC(C=1.0).fit(X[:500], y[:500])
    model.set_params(C=1e7, kernel="linear", tol=1e-9)
    before = model.__dict__.copy()
    with ctrl_c(0.7):
        model.fit(X, y)
    assert model.__dict__ == before


@pytest.mark.parametrize("name", ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"])
@pytest.mark.parametrize("form", [np.asarray, np.float32, sp.csr_matrix])
def test_gamma_scale_is_scikit_learns_of_repeated_rows(name, form):
    X, y, _ = data(2, n=60)
    counts = np.random.default_rng(0).integers(0, 4, len(y))
    ours, theirs = getattr(budgetsvm, name)(), getattr(sklearn.svm, name)()
    expected = theirs.fit(form(X), y)._gamma
    assert ours.fit(form(X), y)._gamma == pytest.approx(expected, rel=1e-12)
    expected = theirs.fit(form(X.repeat(counts, axis=0)), y.repeat(counts))._gamma
    assert ours.fit(form(X), y, sample_weight=counts)._gamma == pytest.approx(expected, rel=1e-12)


def test_probability_is_calibration():
    X, y, _ = data(3)
    with pytest.warns(FutureWarning, match="CalibratedClassifierCV"):
        model = SVC(probability=True, random_state=0).fit(X, y)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert np.mean(proba.argmax(axis=1) == model.predict(X)) > 0.8
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(proba))
    assert not hasattr(SVC(), "predict_proba")


@pytest.mark.parametrize("make", [sp.csr_matrix, np.asarray], ids=["csr", "dense"])
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_float32_rows_are_decided_in_float32_where_that_is_as_good(kernel, make):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5)).astype(np.float32)
    y = (X[:, 0] * X[:, 1] > 0).astype(int) + 2 * (X[:, 2] > 0.5)
    model = SVC(kernel=kernel, gamma=0.5, C=3.0).fit(make(X.astype(np.float64)), y)
    double = model.decision_function(make(X.astype(np.float64)))
    single = model.decision_function(make(X))
    assert single.dtype == np.float64
    if kernel == "poly":
        np.testing.assert_array_equal(single, double)
    else:
        assert np.any(single != double)
        np.testing.assert_allclose(single, double, atol=1e-7 * np.abs(model.dual_coef_).sum())
    # Squares that overflow in float32: float64 it is, for those rows alone.
    far = np.where(X > 2, np.float32(1e25), X)
    beyond = (X > 2).any(axis=1)
    values = model.decision_function(make(far))
    wide = model.decision_function(make(far.astype(np.float64)))
    np.testing.assert_array_equal(values[beyond], wide[beyond])
    np.testing.assert_array_equal(values[~beyond], single[~beyond])


def test_a_value_of_zero_is_the_first_class_in_every_machine():
    X, y = load_iris(return_X_y=True)
    X, y = X[y < 2], y[y < 2]
    far = X[:1] + 1e3
    exact = SVC(solver="mpd", fit_intercept=False, gamma=1.0).fit(X, y)
    budgeted = BudgetSVC(budget=20, gamma=1.0, random_state=0).fit(X, y)
    assert exact.decision_function(far) == budgeted.decision_function(far) == [0.0]
    assert exact.predict(far) == budgeted.predict(far) == [0]
