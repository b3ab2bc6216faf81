"""AutoSVC and AutoSVR of few terms: the terms move, and the machine is one all the same."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

import budgetsvm
from budgetsvm import AutoSVC, AutoSVR


def spiral(n, seed=0):
    """Three classes that wind about each other, and two features that say nothing."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    r = rng.uniform(0.3, 1.5, n)
    angle = 4 * r + 2 * np.pi / 3 * y + 0.15 * rng.normal(size=n)
    X = np.column_stack([r * np.cos(angle), r * np.sin(angle), rng.normal(size=(n, 2))])
    return X, y


@pytest.mark.parametrize("values", [False, True])
def test_terms_that_moved_are_better_than_those_drawn(values):
    X, y = make_friedman1(1600, 8, noise=0.3, random_state=0) if values else spiral(1600)
    cls = AutoSVR if values else AutoSVC
    drawn = cls(budget=15, random_state=0)
    drawn._recipe = json.dumps({"moved": False})
    moved = cls(budget=15, random_state=0).fit(X[:1000], y[:1000])
    drawn.fit(X[:1000], y[:1000])
    assert moved.n_terms_ <= 15
    assert moved.score(X[1000:], y[1000:]) > drawn.score(X[1000:], y[1000:]) + 0.02
    np.testing.assert_allclose(moved.weights_, [1.0])


def test_half_as_many_terms_as_rows_are_nearly_as_good():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(2500, 30))
    # Five features say something, and every fourth label is wrong: terms that serve the sides alone
    # learn these by heart (0.60 where squared errors have 0.66).
    y = (X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] + 0.5 * X[:, 4] > 0) ^ (rng.random(2500) < 1 / 4)
    every, half = AutoSVC(random_state=0), AutoSVC(500, random_state=0)
    scores = [model.fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]) for model in (every, half)]
    assert half.n_terms_ <= 500
    assert scores[1] > scores[0] - 0.03, scores


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_small_machine_is_kept_and_the_same_again(dtype, tmp_path):
    X, y = spiral(700)
    X = X.astype(dtype)
    made = [AutoSVC(20, random_state=0, n_jobs=k).fit(X, y) for k in (1, 3)]
    expected = made[0].decision_function(X)
    np.testing.assert_array_equal(made[1].decision_function(X), expected)
    made[0].save(tmp_path / "a.safetensors")
    for again in (budgetsvm.load(tmp_path / "a.safetensors"), pickle.loads(pickle.dumps(made[0]))):
        np.testing.assert_array_equal(again.decision_function(X), expected)
    shares = made[0].predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_array_equal(made[0].classes_[shares.argmax(axis=1)], made[0].predict(X))


def test_weights_are_repetitions_of_rows():
    X, y = spiral(240)
    weights = np.arange(240) // 3 % 3
    one = AutoSVC(10, random_state=0).fit(X, y, weights)
    repeated = AutoSVC(10, random_state=0).fit(np.repeat(X, weights, 0), np.repeat(y, weights))
    np.testing.assert_allclose(
        one.decision_function(X), repeated.decision_function(X), rtol=0, atol=1e-9
    )


def test_columns_in_another_order_are_the_same_terms():
    X, y = spiral(500)
    order = np.array([2, 0, 3, 1])
    one = AutoSVC(15, random_state=0).fit(X, y)
    other = AutoSVC(15, random_state=0).fit(X[:, order], y)
    np.testing.assert_allclose(
        one.decision_function(X), other.decision_function(X[:, order]), rtol=0, atol=1e-3
    )


def test_a_limit_leaves_a_small_machine():
    X, y = spiral(3000)
    clf = AutoSVC(50, max_time=0.01, random_state=0).fit(X, y)
    assert clf.stop_reason_ == "max_time"
    assert clf.n_terms_ <= 50
    assert np.isfinite(clf.predict_proba(X)).all()
    one = AutoSVR(30, random_state=0).fit(np.column_stack([X[:400], X[:400]]), np.ones(400))
    assert np.ptp(one.predict(np.column_stack([X, X]))) < 1e-6
