"""refine=True: the points move, the objective falls, and the promises hold."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs, make_moons

import budgetsvm
from budgetsvm import BudgetSVC, BudgetSVR

X, Y = make_moons(3000, noise=0.2, random_state=0)


def test_a_lower_objective_with_as_many_terms():
    plain = BudgetSVC(budget=8, C=10, gamma=2, random_state=0).fit(X, Y)
    refined = BudgetSVC(budget=8, C=10, gamma=2, refine=True, random_state=0).fit(X, Y)
    assert refined.n_terms_ == plain.n_terms_ == 8
    assert refined.objective_["smoothed"] < 0.97 * plain.objective_["smoothed"]
    assert not np.array_equal(refined.support_vectors_, plain.support_vectors_)
    assert 2 in refined.history_["phase"]
    assert 2 not in plain.history_["phase"]


def test_the_gradient_in_the_points_falls():
    """By the formula written in NumPy. Refining ends by the decrease of the objective, not by the
    gradient, so this is the median of five seeds: a wrong gradient would not fall at all."""
    gamma, C, h = 2.0, 10.0, 0.3
    sign = np.where(Y == 1, 1.0, -1.0)

    def gradient(model):
        points, coef = model.support_vectors_, model.dual_coef_[0]

        def kernel(a, b):
            return np.exp(-gamma * ((a[:, None] - b[None]) ** 2).sum(axis=2))

        K, G = kernel(X, points), kernel(points, points)
        slope = np.clip((1 - sign * (K @ coef) + h) / (2 * h), 0, 1)
        weights = -C * (sign * slope)[:, None] * K
        pull = weights.T @ X - weights.sum(axis=0)[:, None] * points
        pull += G @ (coef[:, None] * points) - (G @ coef)[:, None] * points
        return np.linalg.norm(2 * gamma * coef[:, None] * pull)

    left = []
    for seed in range(5):
        kwargs = {"budget": 4, "C": C, "gamma": gamma, "random_state": seed}
        plain = BudgetSVC(**kwargs).fit(X, Y)
        refined = BudgetSVC(refine=True, refine_iter=2000, **kwargs).fit(X, Y)
        left.append(gradient(refined) / gradient(plain))
    assert np.median(left) < 0.25


@pytest.mark.parametrize("shared", [True, False])
def test_several_classes_and_sparse_rows(shared):
    rows, labels = make_blobs(1200, centers=4, n_features=5, cluster_std=3, random_state=0)
    kwargs = {"budget": 12, "C": 5, "gamma": 0.02, "shared": shared, "random_state": 0}
    plain = BudgetSVC(**kwargs).fit(rows, labels)
    dense = BudgetSVC(refine=True, **kwargs).fit(rows, labels)
    csr = BudgetSVC(refine=True, **kwargs).fit(sparse.csr_matrix(rows), labels)
    assert dense.objective_["smoothed"] < plain.objective_["smoothed"]
    assert csr.objective_["smoothed"] < plain.objective_["smoothed"]


def test_regression_offset_and_refine_iter():
    kwargs = {"budget": 6, "C": 5, "gamma": 1.0, "fit_intercept": True, "random_state": 0}
    target = np.sin(2 * X[:, 0]) + X[:, 1] + 3
    scores = [
        BudgetSVR(refine=n > 0, refine_iter=max(n, 1), **kwargs).fit(X, target).objective_["primal"]
        for n in (0, 3, 200)
    ]
    assert scores[2] < scores[1] <= scores[0]


def test_threads_change_no_bit_and_files_keep_it(tmp_path):
    one, three = (
        BudgetSVC(budget=9, refine=True, random_state=0, n_jobs=n).fit(X, Y) for n in (1, 3)
    )
    np.testing.assert_array_equal(one.support_vectors_, three.support_vectors_)
    np.testing.assert_array_equal(one.dual_coef_, three.dual_coef_)
    one.save(tmp_path / "model.safetensors")
    again = budgetsvm.load(tmp_path / "model.safetensors")
    assert again.refine is True
    np.testing.assert_array_equal(again.decision_function(X), one.decision_function(X))


@pytest.mark.parametrize(("params", "message"), [
    ({"kernel": "laplacian"}, "refine=True needs kernel='rbf'"),
    ({"polishing": False}, "refine=True needs polishing=True"),
    ({"budget": None}, "refine=True needs polishing=True and a budget"),
    ({"refine_iter": 0}, "refine_iter must be >= 1"),
    ({"refine": 2}, "refine must be"),
])  # fmt: skip
def test_bad_input(params, message):
    with pytest.raises(ValueError, match=message):
        BudgetSVC(**{"refine": True, "budget": 5, **params}).fit(X, Y)


def test_a_callback_ends_it_with_a_usable_model():
    phases = []

    def watch(progress):
        phases.append(progress["phase"])
        return progress["phase"] == "refine"

    rows = np.random.default_rng(0).normal(size=(60_000, 40))
    labels = (rows[:, 0] * rows[:, 1] > 0).astype(int)
    model = BudgetSVC(
        budget=100, refine=True, refine_iter=100_000, callback=watch, random_state=0
    ).fit(rows, labels)
    assert "refine" in phases
    assert model.stop_reason_ == "callback"
    assert np.isfinite(model.dual_coef_).all()
