"""The same bits for every number of threads; threads, forks and nesting do no harm."""

from __future__ import annotations

import hashlib
import multiprocessing
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import files
from budgetsvm import BudgetOneClassSVM, BudgetSVC, BudgetSVR

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4000, 12))
Y = (X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0).astype(int) + (X[:, 3] > 1)


def digest(model):
    hashed = hashlib.sha256()
    for array in (model.support_vectors_, model.dual_coef_, model.intercept_):
        hashed.update(array.tobytes())
    rows = X[:500] if model.n_features_in_ == X.shape[1] else model.support_vectors_
    hashed.update(getattr(model, "decision_function", model.predict)(rows).tobytes())
    return hashed.hexdigest()


@pytest.mark.parametrize(
    "model",
    [
        BudgetSVC(budget=100, random_state=3),
        BudgetSVC(budget=30, shared=False, random_state=3),
        BudgetSVC(budget=60, solver="bsgd", max_iter=2, random_state=3),
        BudgetSVC(budget=40, maintenance="project", random_state=3),
        BudgetSVC(budget=4000, random_state=3).set_params(budget=300, merge_size=4),
        BudgetSVR(budget=100, random_state=3, record_objective=True),
        BudgetOneClassSVM(budget=100, nu=0.2, random_state=3),
    ],
)
def test_same_bits_for_any_number_of_threads(model):
    results = {digest(clone(model).set_params(n_jobs=n).fit(X, Y)) for n in (1, 2, 3, 7, None, -1)}
    assert len(results) == 1


def test_same_bits_where_the_terms_fill_more_than_near_memory():
    """A block of rows is then cut by the number of threads: 0.5 MB is the bar, these have 1.1."""
    wide = np.random.default_rng(1).normal(size=(1500, 700))
    model = BudgetSVC(budget=200, gamma=1e-3, random_state=0)
    y = Y[: len(wide)]
    results = {digest(clone(model).set_params(n_jobs=n).fit(wide, y)) for n in (1, 2, 3, 4, 7)}
    assert len(results) == 1


@pytest.mark.parametrize("limit", [2.1, 5.03])
def test_same_bits_where_norms_decide_how_distances_are_computed(limit):
    """Each block of a pass knew how long its own rows had been, and which of two blocks takes which
    rows is a matter of threads: one fit in five had other bits."""
    wide = np.random.default_rng(2).normal(size=(900, 100)).astype(np.float32)
    y, norms = Y[: len(wide)], ((wide - wide[0]) ** 2).sum(axis=1)
    for longest in (norms.max(), np.quantile(norms, 0.99), np.quantile(norms, 0.995)):
        model = BudgetSVC(budget=60, gamma=float(limit / longest), random_state=1, polishing=False)
        results = {digest(clone(model).set_params(n_jobs=n).fit(wide, y)) for n in (1, 2, 2, 2, 3)}
        assert len(results) == 1


def test_prediction_does_not_depend_on_the_batch():
    model = BudgetSVC(budget=150, random_state=0).fit(X, Y)
    whole = model.decision_function(X)
    for size in (1, 7, 64, 1000):
        parts = [model.decision_function(X[i : i + size]) for i in range(0, 1000, size)]
        np.testing.assert_array_equal(np.concatenate(parts)[:1000], whole[:1000])
    rows = sparse.csr_matrix(X)
    np.testing.assert_allclose(model.decision_function(rows), whole, atol=1e-9)


def test_many_threads_predict_while_one_trains():
    model = BudgetSVC(budget=100, random_state=0).fit(X, Y)
    expected = model.decision_function(X)
    with ThreadPoolExecutor(16) as pool:
        training = pool.submit(clone(model).fit, X, Y)
        results = list(pool.map(lambda _: model.decision_function(X), range(32)))
        assert digest(training.result()) == digest(model)
    for result in results:
        np.testing.assert_array_equal(result, expected)


def test_many_threads_train_their_own():
    def train(seed):
        return digest(BudgetSVC(budget=30, random_state=seed % 4).fit(X[:1000], Y[:1000]))

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(train, range(16)))
    assert results == [train(seed) for seed in range(4)] * 4


def _said():
    """What a machine of several classes and every kind of estimator say, fitted here."""
    said = {"large": digest(BudgetSVC(budget=100, random_state=0).fit(X, Y))}
    for name, estimator, kind, single, sparse_rows in files.cases():
        rows = files.rows(single, sparse_rows)
        said[name] = files.said(estimator.fit(rows, files.targets(kind)), rows).tobytes()
    return said


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.thread_unsafe(reason="a fork keeps the locks that other threads of Python hold")
def test_a_forked_child_trains_and_predicts():
    """A child inherits no thread of a pool: what was entered by its parent would hang."""
    expected = _said()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=lambda: queue.put(_said()))
    child.start()
    assert queue.get(timeout=60) == expected
    child.join(30)
    assert child.exitcode == 0


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_nested_parallelism(backend):
    import joblib

    with joblib.parallel_backend(backend):
        grid = GridSearchCV(
            BudgetSVC(budget=30, random_state=0), {"C": [0.1, 1, 10]}, cv=2, n_jobs=2
        ).fit(X[:1500], Y[:1500] > 0)
    assert grid.best_score_ > 0.6
