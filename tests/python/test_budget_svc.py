"""BudgetSVC: what it promises beyond the scikit-learn contract."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_blobs, make_classification, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from budgetsvm import BudgetOGD, BudgetSVC


@pytest.fixture(scope="module")
def moons():
    return make_moons(1500, noise=0.15, random_state=0)


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(900, centers=4, n_features=3, cluster_std=1.2, random_state=1)


def test_decision_function_is_the_expansion(moons):
    X, y = moons
    model = BudgetSVC(budget=20, C=10, gamma=1.5, random_state=0).fit(X, y)
    distances = ((X[:, None, :] - model.support_vectors_[None]) ** 2).sum(axis=2)
    expected = np.exp(-1.5 * distances) @ model.dual_coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-9)
    assert model.support_vectors_.shape == (model.n_terms_, 2)
    assert model.dual_coef_.shape == (1, model.n_terms_)
    assert model.intercept_.shape == (1,)
    assert model.n_terms_ <= 20


@pytest.mark.parametrize("shared", [True, False])
def test_several_classes(blobs, shared):
    X, y = blobs
    model = BudgetSVC(budget=40, C=10, shared=shared, random_state=0).fit(X, y)
    assert model.decision_function(X).shape == (len(X), 4)
    assert model.dual_coef_.shape == (4, model.n_terms_)
    assert model.n_terms_ <= (40 if shared else 160)
    assert model.score(X, y) > SVC(C=10).fit(X, y).score(X, y) - 0.03


def test_independent_machines_are_the_binary_ones(blobs):
    X, y = blobs
    all_classes = BudgetSVC(budget=30, C=3, gamma=0.1, shared=False, random_state=5).fit(X, y)
    for label in range(4):
        binary = BudgetSVC(budget=30, C=3, gamma=0.1, random_state=5).fit(X, y == label)
        np.testing.assert_array_equal(
            all_classes.decision_function(X)[:, label], binary.decision_function(X)
        )


def test_no_larger_than_the_budget_is_solved_exactly(moons):
    X, y = moons[0][:150], moons[1][:150]
    model = BudgetSVC(budget=150, C=2, gamma=1.0, smoothing=1e-4).fit(X, y)
    # The exact machine without an offset: coordinate ascent in the dual.
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    signs = 2.0 * y - 1
    alpha, f = np.zeros(150), np.zeros(150)
    for _ in range(5000):
        for i in range(150):
            new = np.clip(alpha[i] + 1 - signs[i] * f[i], 0, 2)
            f += (new - alpha[i]) * signs[i] * K[i]
            alpha[i] = new
    np.testing.assert_allclose(model.decision_function(X), f, atol=5e-3)
    primal = 0.5 * (alpha * signs) @ f + 2 * np.maximum(0, 1 - signs * f).sum()
    assert model.objective_["primal"] == pytest.approx(primal, rel=1e-3)
    assert model.objective_["smoothed"] <= model.objective_["primal"] + 1e-4 * 2 * 150


@pytest.mark.parametrize("budget", [200, 15])
def test_weights_are_copies_and_order_does_not_matter(moons, budget):
    X, y = moons[0][:100], moons[1][:100]
    weight = np.arange(100) % 3
    weighted = BudgetSVC(budget=200, C=1).fit(X, y, weight)
    copied = BudgetSVC(budget=200, C=1).fit(np.repeat(X, weight, 0), np.repeat(y, weight))
    np.testing.assert_allclose(
        weighted.decision_function(X), copied.decision_function(X), atol=1e-10, rtol=0
    )


@pytest.mark.parametrize("solver", ["bsca", "bsgd"])
@pytest.mark.parametrize(
    "maintenance",
    ["auto", "merge", "multi-merge", "remove-smallest", "remove-random", "remove-oldest",
     "project", "stop"],
)  # fmt: skip
def test_every_maintenance_keeps_the_budget(moons, solver, maintenance):
    X, y = moons
    for polishing in (True, False):
        model = BudgetSVC(
            budget=15, C=1, gamma=2, solver=solver, maintenance=maintenance, merge_size=3,
            polishing=polishing, random_state=0,
        ).fit(X, y)  # fmt: skip
        assert 0 < model.n_terms_ <= 15
        assert np.isfinite(model.decision_function(X)).all()
        if polishing and maintenance != "stop":
            assert model.score(X, y) > 0.85


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "sigmoid", "linear"])
def test_every_kernel(moons, kernel):
    X, y = moons
    model = BudgetSVC(budget=30, kernel=kernel, gamma=0.5, coef0=0.1, random_state=0).fit(X, y)
    assert model.n_terms_ <= 30
    assert model.score(X, y) > 0.6


def test_dtypes_layouts_and_containers_agree(moons):
    X, y = moons
    model = BudgetSVC(budget=25, C=5, gamma=1.0, random_state=3)
    base = clone(model).fit(X, y)
    expected = base.decision_function(X)
    wide = np.zeros((len(X), 5))
    wide[:, 1:5:2] = X
    readonly = X.copy()
    readonly.setflags(write=False)
    backwards = X[::-1].copy()[::-1]
    packed = np.zeros(len(X), dtype=[("flag", "i1"), ("x", "f8", 2)])
    packed["x"] = X
    for same in (np.asfortranarray(X), wide[:, 1:5:2], readonly, backwards, packed["x"]):
        got = clone(model).fit(same, y).decision_function(same)
        np.testing.assert_array_equal(got, expected)
    frame = pd.DataFrame(X, columns=["a", "b"])
    named = clone(model).fit(frame, y)
    np.testing.assert_array_equal(named.decision_function(frame), expected)
    assert list(named.feature_names_in_) == ["a", "b"]
    single = clone(model).fit(X.astype(np.float32), y)
    assert single.support_vectors_.dtype == np.float32
    assert base.support_vectors_.dtype == np.float64
    assert clone(model).fit((X * 8).astype(int), y).support_vectors_.dtype == np.float64


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_csr(index):
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(150, 12)) * (rng.random((150, 12)) < 0.3)
    y = dense.sum(axis=1) > 0
    X = sparse.csr_matrix(dense)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    before = X.copy()
    model = BudgetSVC(C=2, gamma=0.3)
    got = clone(model).fit(X, y).decision_function(X)
    np.testing.assert_allclose(got, clone(model).fit(dense, y).decision_function(dense), atol=1e-9)
    assert (X != before).nnz == 0
    unsorted = X.copy()
    for row in range(150):
        part = slice(unsorted.indptr[row], unsorted.indptr[row + 1])
        unsorted.indices[part] = unsorted.indices[part][::-1].copy()
        unsorted.data[part] = unsorted.data[part][::-1].copy()
    unsorted.has_sorted_indices = False
    np.testing.assert_array_equal(clone(model).fit(unsorted, y).decision_function(X), got)


@pytest.mark.parametrize("labels", [["no", "yes"], [-1, 1], [False, True], [2.0, 7.0], [10**12, 3]])
def test_labels_of_any_kind(moons, labels):
    X, y = moons[0][:100], np.asarray(labels)[moons[1][:100]]
    model = BudgetSVC().fit(X, y)
    assert list(model.classes_) == sorted(labels)
    assert model.predict(X).dtype == y.dtype
    assert model.score(X, y) > 0.9


def test_class_weight(moons):
    X, y = moons
    model = BudgetSVC(budget=30, random_state=0)
    counts = [(clone(model).set_params(class_weight={1: w}).fit(X, y).predict(X) == 1).sum()
              for w in (0.1, 1, 10)]  # fmt: skip
    assert counts[0] < counts[1] < counts[2]
    names = np.array(["a", "b"])[y]
    by_weight = clone(model).set_params(class_weight={"a": 2.0, "b": 2.0}).fit(X, names)
    np.testing.assert_allclose(
        by_weight.decision_function(X),
        clone(model).set_params(C=2.0).fit(X, names).decision_function(X),
    )
    keep = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:75]]
    balanced = clone(model).set_params(class_weight="balanced").fit(X[keep], y[keep])
    weights = np.where(y[keep] == 1, len(keep) / 150, len(keep) / (2 * (len(keep) - 75)))
    by_hand = clone(model).set_params(gamma=1 / (2 * X[keep].var())).fit(X[keep], y[keep], weights)
    np.testing.assert_allclose(
        balanced.set_params().decision_function(X), by_hand.decision_function(X), atol=0.2
    )


def test_history_and_objective(moons):
    X, y = moons
    model = BudgetSVC(budget=40, max_iter=3, tol=0, record_objective=True, random_state=0)
    history = model.fit(X, y).history_
    assert set(history) == {
        "time", "n_sv", "moved", "maintained", "degradation", "primal", "dual", "validation_score",
        "phase",
    }  # fmt: skip
    assert list(history["phase"]) == [0, 0, 0, 1]
    assert model.n_iter_ == 3
    assert model.stop_reason_ == "max_iter"
    assert np.all(np.diff(history["time"]) >= 0)
    assert history["primal"][-1] == model.objective_["primal"]
    assert history["primal"][-1] <= history["primal"][:3].min()
    f = model.decision_function(X)
    K = np.exp(
        -(1 / (2 * X.var()))
        * ((model.support_vectors_[:, None] - model.support_vectors_[None]) ** 2).sum(axis=2)
    )
    beta = model.dual_coef_[0]
    primal = 0.5 * beta @ K @ beta + np.maximum(0, 1 - (2 * y - 1) * f).sum()
    assert model.objective_["primal"] == pytest.approx(primal, rel=1e-8)


@pytest.mark.parametrize("fraction", [0.1, 0.5, 0.9])
def test_early_stopping_trains_on_a_row_of_every_class(fraction):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(203, 2))
    y = np.where(X[:, 0] > 0, 1, 0)
    y[200:202], y[202] = 2, 3
    X[200:, 1] += 9.0
    svc = BudgetSVC(
        budget=20, C=100.0, early_stopping=True, validation_fraction=fraction, random_state=0
    )
    assert {2, 3} <= set(svc.fit(X, y).predict(X))


def test_early_stopping(moons):
    X, y = moons
    model = BudgetSVC(
        budget=20, max_iter=200, tol=0, early_stopping=True, n_iter_no_change=3, random_state=0
    ).fit(X, y)
    scores = model.history_["validation_score"][:-1]
    assert model.stop_reason_ == "early_stopping"
    assert model.n_iter_ == len(scores) == np.argmax(scores) + 1 + 3
    assert model.score(X, y) > 0.9


def test_max_time_leaves_a_usable_model(moons):
    X, y = np.tile(moons[0], (40, 1)), np.tile(moons[1], 40)
    X = X + np.random.default_rng(0).normal(scale=0.01, size=X.shape)
    model = BudgetSVC(budget=50, max_iter=10**6, tol=0, max_time=0.5, random_state=0).fit(X, y)
    assert model.stop_reason_ == "max_time"
    assert model.score(X, y) > 0.9
    assert model.history_["time"][-1] < 1.5


def test_warm_start(moons):
    X, y = moons
    model = BudgetSVC(budget=20, gamma=1.0, warm_start=True, polishing=False, random_state=0)
    first = model.fit(X, y).decision_function(X)
    second = model.fit(X, y).decision_function(X)
    cold = BudgetSVC(budget=20, gamma=1.0, polishing=False, random_state=0).fit(X, y)
    np.testing.assert_array_equal(first, cold.decision_function(X))
    assert not np.array_equal(first, second)
    with pytest.raises(ValueError, match="warm_start"):
        model.fit(X, y + 1)


def test_no_budget(moons):
    X, y = moons[0][:300], moons[1][:300]
    model = BudgetSVC(budget=None, C=1, gamma=1.0, max_iter=500, tol=1e-3, random_state=0)
    model.fit(X, y)
    assert model.stop_reason_ == "converged"
    exact = BudgetSVC(budget=300, C=1, gamma=1.0, smoothing=1e-4).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), exact.decision_function(X), atol=2e-2)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        BudgetSVC(budget=None, max_iter=1, tol=1e-9, random_state=0).fit(X, y)


def test_fit_intercept_fits_an_offset():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    y = X[:, 0] > 1.0
    model = BudgetSVC(C=10, kernel="linear", fit_intercept=True).fit(X, y)
    assert model.intercept_[0] < -0.5
    exact = SVC(C=10, kernel="linear").fit(X, y)
    assert model.intercept_[0] == pytest.approx(exact.intercept_[0], abs=0.15)
    assert BudgetSVC(C=10, kernel="linear").fit(X, y).intercept_[0] == 0


def test_gamma_scale_is_scikit_learns(moons):
    X, y = moons
    for data in (X, X.astype(np.float32), sparse.csr_matrix(X)):
        model = BudgetSVC(budget=10, random_state=0).fit(data, y)
        expected = 1 / (2 * np.asarray(X.astype(data.dtype), dtype=np.float64).var())
        assert model._machine.gamma == pytest.approx(expected, rel=1e-12)
    assert BudgetSVC(budget=10, gamma="auto").fit(X, y)._machine.gamma == 0.5


def test_scripted_order_is_followed(moons):
    X, y = moons[0][:40], moons[1][:40]
    script = BudgetSVC(budget=5, polishing=False, order=list(range(40)), gamma=1.0).fit(X, y)
    given = BudgetSVC(budget=5, polishing=False, order="sequential", gamma=1.0).fit(X, y)
    np.testing.assert_array_equal(script.dual_coef_, given.dual_coef_)
    other = BudgetSVC(budget=5, polishing=False, order=np.arange(39, -1, -1), gamma=1.0)
    assert not np.array_equal(other.fit(X, y).dual_coef_, given.dual_coef_)


def test_in_scikit_learns_company(moons):
    X, y = moons
    pipe = make_pipeline(StandardScaler(), BudgetSVC(budget=20, random_state=0))
    grid = GridSearchCV(pipe, {"budgetsvc__C": [0.1, 10]}, cv=3).fit(X, y)
    assert grid.best_score_ > 0.9
    calibrated = CalibratedClassifierCV(BudgetSVC(budget=20, random_state=0), cv=3).fit(X, y)
    assert calibrated.predict_proba(X).shape == (len(X), 2)
    with config_context(enable_metadata_routing=True):
        routed = BudgetSVC(budget=20, random_state=0)
        routed.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        result = cross_validate(routed, X, y, params={"sample_weight": np.ones(len(X))}, cv=3)
    assert result["test_score"].min() > 0.85


@pytest.mark.parametrize("maintenance", ["merge", "remove-smallest"])
@pytest.mark.parametrize("seed", range(4))
def test_single_precision_polishes_as_well_as_double(maintenance, seed):
    """Kernel matrices of crowded terms are indefinite in float32; the objective is not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    y = X.sum(axis=1) > 0
    scores = []
    for dtype in (np.float32, np.float64):
        clf = BudgetSVC(budget=50, gamma=0.5, maintenance=maintenance, random_state=seed)
        scores.append(clf.fit(X.astype(dtype), y).score(X.astype(dtype), y))
        assert 0 < clf.objective_["smoothed"] < 1e4
    assert min(scores) > 0.97


@pytest.mark.parametrize("make", ["budget", "online"])
def test_max_time_is_shared_by_the_machines_of_all_classes(make):
    X, y = make_classification(
        2000, 10, n_informative=8, n_classes=8, n_clusters_per_class=1, random_state=0
    )
    limit = {"max_iter": 10**6, "max_time": 0.4, "n_jobs": 1, "random_state": 0}
    if make == "budget":
        model = BudgetSVC(budget=30, tol=0, shared=False, **limit)
    else:
        model = BudgetOGD(30, **limit)
    model.fit(X, y)
    assert model.stop_reason_ == "max_time"
    # Eight machines one after another, far from eight times the limit; every one has learnt.
    assert max(model.history_["time"]) < 8 * 0.4 / 2
    # How well is chance: with 30 terms the last rows decide.
    assert np.all(np.ptp(model.decision_function(X), axis=0) > 0)


def test_a_pass_visits_no_more_rows_than_terms_can_use():
    """Before polishing: 3,000 rows a term. Alone, in a given order or in a stream it is a pass."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 3))
    y = X[:, 0] * X[:, 1] > 0

    def visited(call="fit", **options):
        ends = []
        model = BudgetSVC(
            2, random_state=0, callback=lambda told: ends.append((told["phase"], told["seen"])),
            **options,
        )  # fmt: skip
        getattr(model, call)(X, y, **({"classes": [False, True]} if call == "partial_fit" else {}))
        return [seen for phase, seen in ends if phase == "end_of_pass"]

    assert visited() == [6000]
    assert visited(max_iter=2) == [6000, 6000]
    assert visited(polishing=False) == [20_000]
    assert visited(order="sequential") == [20_000]
    assert all(seen == 20_000 for seen in visited("partial_fit"))


@pytest.mark.parametrize("dtype", "?bBhHiIqQ")
def test_labels_close_together_are_numbered_as_by_sorting(dtype):
    from budgetsvm._validation import numbered

    rng = np.random.default_rng(0)
    for low, high in ((0, 2), (-128, 128), (0, 60_000), (2**62, 2**63 - 1)):
        info = None if dtype == "?" else np.iinfo(dtype)
        known = (info.min, info.max) if info else (0, 1)
        y = rng.integers(
            max(min(low, known[1]), known[0]), min(high, known[1]), 9000, endpoint=True
        )
        y = y.astype(dtype)
        for labels in (y, y[::2], np.where(y == y[0], y.min(), y.max())):
            classes, index = numbered(labels)
            expected, places = np.unique(labels, return_inverse=True)
            assert classes.dtype == expected.dtype
            np.testing.assert_array_equal(classes, expected)
            np.testing.assert_array_equal(index, places)
