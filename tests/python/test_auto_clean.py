"""AutoSVC and AutoSVR on clean data: no seed is far off, and nothing is worse than a constant."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as LibSVC
from sklearn.svm import SVR as LibSVR

from budgetsvm import SVC, AutoSVC, AutoSVR, BudgetSVC

FUNCTIONS = {
    "step": lambda X: np.where(X[:, 0] > 0, 1.0, 0.0),
    "line": lambda X: X[:, 0] + 0.5 * X[:, -1],
    "sine": lambda X: np.sin(2 * X[:, 0]),
    "sine and line": lambda X: np.sin(2 * X[:, 0]) + X[:, -1],
    "product": lambda X: X[:, 0] * X[:, -1],
}
BUDGETS = [None, 30, 60, 120]


def rows(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=(400, d))


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_found_about_as_well_as_by_a_plain_machine(name, budget):
    A, T = rows(250, 2)
    f = FUNCTIONS[name]
    mean, spread = f(A).mean(), f(A).std()
    plain = make_pipeline(StandardScaler(), LibSVR(C=100, epsilon=0.01))
    bar = plain.fit(A, (f(A) - mean) / spread).score(T, (f(T) - mean) / spread)
    scores = [AutoSVR(budget, random_state=s).fit(A, f(A)).score(T, f(T)) for s in (6, 8)]
    assert min(scores) > bar - 0.15, (scores, bar)


@pytest.mark.parametrize("budget", BUDGETS)
def test_seeds_agree_on_values(budget):
    A, T = rows(250, 2, seed=8)
    f = FUNCTIONS["sine and line"]
    scores = [AutoSVR(budget, random_state=s).fit(A, f(A)).score(T, f(T)) for s in range(6, 11)]
    assert min(scores) > np.median(scores) - 0.02, scores


@pytest.mark.parametrize("budget", BUDGETS)
def test_seeds_agree_on_separable_classes(budget):
    A, T = rows(60, 2)
    a, t = A[:, 0] > 0, T[:, 0] > 0
    scores = [AutoSVC(budget, random_state=s).fit(A, a).score(T, t) for s in (0, 3, 5, 8, 10, 18)]
    # 30 terms of 60 rows are chosen by the dozen rows held out.
    assert min(scores) > (0.9 if budget == 30 else 0.95), scores


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("budget", [None, 60])
def test_units_of_values_and_columns_hardly_matter(budget, unit):
    A, T = rows(150, 2, seed=3)
    f = FUNCTIONS["sine"]
    A[:, 1], T[:, 1] = 7.0, 7.0  # a constant column
    model = AutoSVR(budget, random_state=1).fit(A * [unit, 1], unit * f(A))
    assert model.score(T * [unit, 1], unit * f(T)) > 0.95


def test_five_ordered_classes_and_a_budget():
    A, T = rows(300, 3, seed=5)
    cuts = np.quantile(A.sum(1), [0.2, 0.4, 0.6, 0.8])
    a, t = np.searchsorted(cuts, A.sum(1)), np.searchsorted(cuts, T.sum(1))
    for budget in (None, 60):
        model = AutoSVC(budget, random_state=0).fit(A, a)
        assert np.isfinite(model.decision_function(T)).all()
        assert model.score(T, t) > 0.6, budget


def test_learnt_scales_are_no_worse_than_none_on_few_rows():
    """A dozen rows held out found scales by chance that lost what the plain machine knew."""
    for seed in range(4):
        A, T = rows(60, 3, seed=seed)
        a, t = A[:, 0] * A[:, -1] > 0, T[:, 0] * T[:, -1] > 0
        for cls in (SVC, BudgetSVC):
            plain = cls(C=100, random_state=0).fit(A, a).score(T, t)
            learnt = cls(C=100, random_state=0, feature_scales="learn").fit(A, a).score(T, t)
            assert learnt > plain - 0.08, (cls, seed)


@pytest.mark.parametrize("classes", [2, 3])
def test_rows_of_no_weight_to_speak_of_do_not_move_the_classes(classes):
    """As scikit-learn's check_class_weight_classifiers, with every seed."""
    X, y = make_blobs(centers=classes, random_state=0, cluster_std=20)
    A, T, a, _ = train_test_split(X, y, test_size=0.5, random_state=0)
    weights = {k: 1000 if k == 0 else 1e-4 for k in range(classes)}
    for seed in range(6):
        labels = AutoSVC(class_weight=weights, random_state=seed).fit(A, a).predict(T)
        assert np.mean(labels == 0) > 0.87, seed


def test_noise_is_no_worse_than_a_constant():
    rng = np.random.default_rng(2)
    for n in (30, 200):
        A, y = rng.normal(size=(n, 4)), rng.normal(size=n)
        for budget in (None, 20):
            model = AutoSVR(budget, random_state=0).fit(A, y)
            assert model.score(A, y) > -1e-3
            label = AutoSVC(budget, random_state=0).fit(A, y > 0.8)
            assert label.score(A, y > 0.8) >= max(np.mean(y > 0.8), np.mean(y <= 0.8)) - 0.05


def test_converged_is_said_without_a_warning():
    A, _ = rows(80, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = AutoSVR(random_state=0).fit(A, A[:, 0])
    assert model.stop_reason_ == "converged"


def test_a_limit_that_ends_the_search_warns():
    A, _ = rows(400, 8)
    for cls, y in ((AutoSVC, A[:, 0] > 0), (AutoSVR, A[:, 0])):
        with pytest.warns(ConvergenceWarning, match=f"{cls.__name__}: max_time ended the search"):
            model = cls(max_time=0.01, random_state=0).fit(A, y)
        assert model.stop_reason_ == "max_time"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_limit_is_kept_on_wide_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 1000))
    y = X[:, 0] + X[:, 1] > 0
    begun = time.process_time()  # of all threads, so that other work on the machine does not count
    AutoSVC(max_time=1, random_state=0, n_jobs=1).fit(X, y)
    whole = time.process_time() - begun
    assert whole < 5, f"{whole:.1f} s in place of 1"


def test_the_machine_of_the_searchs_rows_is_better_than_a_plain_one_of_its_time():
    A, T = rows(3000, 5)
    f = FUNCTIONS["product"]
    bar = make_pipeline(StandardScaler(), LibSVC(C=1)).fit(A, f(A) > 0).score(T, f(T) > 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = AutoSVC(max_time=1.5, random_state=0).fit(A, f(A) > 0)
    assert model.score(T, f(T) > 0) > bar - 0.1
