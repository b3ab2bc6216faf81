"""`feature_scales="learn"`: scales found in `fit`, kept only where they help on rows held out."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.datasets import make_friedman1

import budgetsvm
from budgetsvm import SVC, SVR, BudgetSVC, BudgetSVR, NuSVC, NuSVR, PrimalSVC, PrimalSVR

MACHINES = (BudgetSVC, BudgetSVR, SVC, SVR, NuSVC, NuSVR, PrimalSVC, PrimalSVR)


def made(cls: type, **own: Any) -> Any:
    estimator = cls(feature_scales="learn", **own)
    seed = {"random_state": 0} if "random_state" in estimator.get_params() else {}
    return estimator.set_params(**seed)


def problem(cls: type, n: int = 900) -> tuple[np.ndarray, np.ndarray]:
    """Ten features of which two say something, in units of their own."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1]
    X[:, 1] *= 100.0
    X[:, 5] *= 1000.0
    return X, ((y > 0).astype(int) if is_classifier(cls()) else y)


@pytest.mark.parametrize("cls", MACHINES)
def test_what_says_nothing_is_left_out(cls: type, tmp_path: Any) -> None:
    X, y = problem(cls)
    plain = clone(made(cls)).set_params(feature_scales=None).fit(X[:600], y[:600])
    model = made(cls).fit(X[:600], y[:600])
    assert model.score(X[600:], y[600:]) > max(0.85, plain.score(X[600:], y[600:]) + 0.1)
    spread = model.feature_scales_ * X.std(axis=0)
    assert spread[2:].max() < 0.2 * spread[:2].min()
    model.save(tmp_path / "a.safetensors")
    for again in (
        budgetsvm.load(tmp_path / "a.safetensors"), pickle.loads(pickle.dumps(model)),
        clone(model).fit(X[:600], y[:600]),
    ):  # fmt: skip
        assert again.feature_scales == "learn"
        assert np.array_equal(again.feature_scales_, model.feature_scales_)
        assert np.array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("cls", [BudgetSVC, SVR, PrimalSVR])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_the_width_is_in_gamma_or_in_the_scales(cls: type, kernel: str) -> None:
    """What is learnt is one kernel: where γ is a number the scales make up for it."""
    X, y = problem(cls, 400)
    free = made(cls, kernel=kernel).fit(X, y)
    bound = made(cls, kernel=kernel, gamma=0.125).fit(X, y)
    gamma = free._machine.gamma
    assert bound._machine.gamma == 0.125
    power = 1.0 if kernel == "laplacian" else 0.5
    np.testing.assert_allclose(
        bound.feature_scales_ * 0.125**power, free.feature_scales_ * gamma**power, rtol=1e-12
    )


def test_where_all_features_count_nothing_is_lost() -> None:
    """Where all features count alike, the machine is about as good as without."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(600, 6))
    w = np.array([0.7, -1.2, 0.4, 0.9, -0.3, 1.1])
    y = (X @ w > 0).astype(int)
    plain = BudgetSVC(random_state=0, C=100.0).fit(X[:400], y[:400]).score(X[400:], y[400:])
    learnt = made(BudgetSVC, C=100.0).fit(X[:400], y[:400]).score(X[400:], y[400:])
    assert learnt >= plain - 0.03


def test_one_feature_constants_and_few_rows() -> None:
    X, y = problem(SVC, 60)
    assert np.array_equal(made(SVC).fit(X[:, :1], y).feature_scales_, [1.0])
    held = np.hstack([X, np.ones((60, 1))])
    model = made(SVC).fit(held, y)
    assert np.isfinite(model.decision_function(held)).all()
    made(SVC).fit(X[:6], [0, 1, 0, 1, 0, 1]).predict(X)
    assert np.array_equal(made(SVR).fit(np.ones((9, 2)), np.arange(9)).feature_scales_, [1, 1])


def test_weights_count() -> None:
    """Rows of weight 0 teach nothing."""
    X, y = problem(BudgetSVC, 500)
    noise = np.random.default_rng(1).integers(0, 2, 500)
    both, labels = np.vstack([X, X]), np.r_[y, noise]
    weights = np.r_[np.ones(500), np.zeros(500)]
    alone = made(BudgetSVC).fit(X, y)
    weighed = made(BudgetSVC).fit(both, labels, weights)
    np.testing.assert_array_equal(alone.feature_scales_, weighed.feature_scales_)


def test_the_number_of_threads_changes_no_bit() -> None:
    X, y = problem(BudgetSVC, 300)
    found = [made(BudgetSVC, n_jobs=k).fit(X, y).decision_function(X) for k in (1, 3)]
    assert np.array_equal(*found)


def test_streams_and_warm_starts_keep_the_scales_of_their_beginning() -> None:
    X, y = problem(BudgetSVC, 400)
    model = made(BudgetSVC).partial_fit(X[:200], y[:200], classes=[0, 1])
    scales = model.feature_scales_
    assert scales.std() > 0
    model.partial_fit(X[200:], y[200:]).polish(X, y)
    assert np.array_equal(model.feature_scales_, scales)
    warm = made(BudgetSVC, warm_start=True, gamma=0.5).fit(X, y)
    scales = warm.feature_scales_
    assert np.array_equal(warm.fit(X[:300], y[:300]).feature_scales_, scales)


def test_time_is_kept() -> None:
    """A limit that leaves no time to learn leaves the features as they come."""
    X, y = problem(BudgetSVC, 400)
    model = made(BudgetSVC, max_time=1e-4).fit(X, y)
    assert np.array_equal(model.feature_scales_, np.ones(10))


@pytest.mark.parametrize("kernel", ["linear", "poly", "matern32", "precomputed"])
def test_kernels_without_scales_to_learn(kernel: str) -> None:
    X, y = problem(SVC, 60)
    with pytest.raises(ValueError, match="feature_scales"):
        made(SVC, kernel=kernel).fit(X @ X.T if kernel == "precomputed" else X, y)


@pytest.mark.parametrize("cls", [budgetsvm.OneClassSVM, budgetsvm.AssetSVC, budgetsvm.Nystroem])
def test_who_does_not_learn_says_so(cls: type) -> None:
    X, y = problem(SVC, 60)
    with pytest.raises(ValueError, match="feature_scales must be"):
        cls(feature_scales="learn").fit(X, y)


def test_too_many_features_are_refused_by_name() -> None:
    X = sp.random(40, 900_000, 1e-5, format="csr", random_state=0)
    with pytest.raises(ValueError, match="feature_scales='learn' can search"):
        made(BudgetSVC).fit(X, np.arange(40) % 2)


@pytest.mark.parametrize("cls", [BudgetSVC, SVC, NuSVC, PrimalSVC])
def test_class_weights_count(cls: type) -> None:
    """Scales learnt with weights of classes are those of rows that weigh as much."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 4))
    # Feature 0 tells the first class from the others, feature 1 the second from the third.
    y = np.where(X[:, 0] > 1.0, "a", np.where(X[:, 1] > 0.0, "b", "c"))
    factors = {"a": 20.0, "b": 0.5, "c": 0.5}
    own = {"nu": 0.05} if cls is NuSVC else {}
    plain = made(cls, **own).fit(X, y).feature_scales_
    weighed = made(cls, class_weight=factors, **own).fit(X, y).feature_scales_
    by_rows = made(cls, **own).fit(X, y, [factors[label] for label in y]).feature_scales_
    np.testing.assert_allclose(weighed, by_rows, rtol=1e-10)
    assert weighed[0] / weighed[1] > 1.1 * plain[0] / plain[1]
    if cls is not SVC and cls is not NuSVC:
        counts = {label: len(y) / (3 * np.sum(y == label)) for label in "abc"}
        balanced = made(cls, class_weight="balanced", **own).fit(X, y).feature_scales_
        told = made(cls, class_weight=counts, **own).fit(X, y).feature_scales_
        np.testing.assert_allclose(balanced, told, rtol=1e-10)


@pytest.mark.parametrize("gamma", ["scale", 1.0])
@pytest.mark.parametrize("cls", [SVR, NuSVR, BudgetSVR, PrimalSVR])
def test_nobody_warns_of_scales_that_were_learnt(cls: type, gamma: Any) -> None:
    """Few features own the distances then, and are meant to."""
    X, y = make_friedman1(300, 10, noise=0.5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = made(cls, gamma=gamma).fit(X, y)
    with pytest.warns(UserWarning, match="hardly sees"):
        cls(gamma=gamma).fit(X * model.feature_scales_, y)
