"""Streams: every row is new, C is per sample, no polishing inside."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons

from budgetsvm import (
    AssetSVC,
    AssetSVR,
    BudgetOGD,
    BudgetPassiveAggressive,
    BudgetSVC,
    BudgetSVR,
    FourierOGD,
    KernelOGD,
    KernelPerceptron,
    LocalBudgetSVC,
    NystroemOGD,
    Projectron,
    ProjectronPlusPlus,
    RandomizedBudgetPerceptron,
    SparsePassiveAggressive,
    Stoptron,
)

X, Y = make_moons(3000, noise=0.15, random_state=0)


@pytest.mark.parametrize("solver", ["bsca", "bsgd"])
def test_a_stream_is_learnt_within_the_budget(solver):
    model = BudgetSVC(budget=40, gamma=2.0, solver=solver, random_state=0)
    for part in np.array_split(np.arange(3000), 30):
        model.partial_fit(X[part], Y[part], classes=[0, 1])
        assert model.n_terms_ <= 40
    assert model.score(X, Y) > 0.85
    assert model.polish(X, Y).score(X, Y) > 0.95
    assert model.n_terms_ <= 40


def test_it_goes_on_from_a_polished_fit():
    model = BudgetSVC(budget=40, gamma=2.0, fit_intercept=True, random_state=0).fit(X, Y)
    before, offset = model.decision_function(X), model.intercept_
    model.partial_fit(X[:1], Y[:1])
    assert model.n_terms_ <= 40
    np.testing.assert_array_equal(model.intercept_, offset)
    assert np.abs(model.decision_function(X) - before).mean() < 0.5


def test_a_part_may_have_one_class_and_classes_any_order():
    model = BudgetSVC(budget=30, gamma=2.0, random_state=0)
    names = np.array(["b", "a"])[Y]
    for label in ("a", "b", "a", "b"):
        model.partial_fit(X[names == label][:300], names[names == label][:300], ["b", "a"])
    assert list(model.classes_) == ["a", "b"]


def test_several_classes_one_unseen():
    for shared in (True, False):
        model = BudgetSVC(budget=30, gamma=2.0, shared=shared, random_state=0)
        model.partial_fit(X, Y, classes=[0, 1, 2])
        assert model.decision_function(X).shape == (3000, 3)
        assert model.score(X, Y) > 0.6


def test_weights_multiply_c():
    weighted = BudgetSVC(budget=None, C=1.0, gamma=2.0, random_state=0)
    costly = BudgetSVC(budget=None, C=3.0, gamma=2.0, random_state=0)
    weighted.partial_fit(X[:50], Y[:50], [0, 1], sample_weight=np.full(50, 3.0))
    costly.partial_fit(X[:50], Y[:50], [0, 1])
    np.testing.assert_array_equal(weighted.dual_coef_, costly.dual_coef_)


def test_without_a_budget_a_row_gets_its_coordinate_step():
    model = BudgetSVC(budget=None, C=0.7, gamma=2.0, order="sequential")
    model.partial_fit(X[:2], [1, 0], classes=[0, 1])
    k = np.exp(-2.0 * ((X[0] - X[1]) ** 2).sum())
    expected = [0.7, -min(0.7, 1 + 0.7 * k)]
    np.testing.assert_allclose(sorted(model.dual_coef_[0]), sorted(expected), rtol=1e-12)


def test_n_expected_sets_the_step_of_bsgd():
    model = BudgetSVC(budget=20, gamma=2.0, solver="bsgd", random_state=0)
    plain = clone(model).partial_fit(X[:100], Y[:100], [0, 1])
    told = clone(model).set_params(n_expected=3000).partial_fit(X[:100], Y[:100], [0, 1])
    assert not np.array_equal(plain.dual_coef_, told.dual_coef_)


def test_an_error_leaves_the_stream_as_it_was():
    model = BudgetSVC(budget=20, gamma=2.0, random_state=0).partial_fit(X[:100], Y[:100], [0, 1])
    before = model.__dict__.copy()
    with pytest.raises(ValueError, match="label"):
        model.partial_fit(X, Y + 1)
    model.set_params(kernel="poly")
    with pytest.raises(ValueError, match="kernel"):
        model.partial_fit(X, Y)
    model.set_params(kernel="rbf")
    with pytest.raises(ValueError, match="balanced"):
        model.set_params(class_weight="balanced").partial_fit(X, Y)
    model.set_params(class_weight=None)
    assert model.__dict__ == before


def test_regression_stream():
    target = np.sin(3 * X[:, 0])
    model = BudgetSVR(budget=40, gamma=2.0, C=5, random_state=0)
    for part in np.array_split(np.arange(3000), 10):
        model.partial_fit(X[part], target[part])
    assert model.n_terms_ <= 40
    assert model.polish(X, target).score(X, target) > 0.9


@pytest.mark.parametrize("model", [
    BudgetSVC(), KernelOGD(), FourierOGD(), NystroemOGD(), LocalBudgetSVC(budget=100), AssetSVC(),
], ids=lambda model: type(model).__name__)  # fmt: skip
def test_another_gamma_is_refused_on_the_way(model):
    model = clone(model).set_params(gamma=2.0, random_state=0).partial_fit(X[:500], Y[:500], [0, 1])
    before = model.__dict__ | {"gamma": 3.0}
    with pytest.raises(ValueError, match=r"gamma must stay .*2.*got 3.0"):
        model.set_params(gamma=3.0).partial_fit(X[500:], Y[500:])
    assert model.__dict__ == before
    # The one in use, and a name, which stands for it now.
    for gamma in (2.0, "scale"):
        model.set_params(gamma=gamma).partial_fit(X[500:], Y[500:])


@pytest.mark.parametrize("model", [
    BudgetSVC(), BudgetSVR(), AssetSVC(), AssetSVR(), LocalBudgetSVC(budget=100),
    KernelPerceptron(), KernelOGD(), RandomizedBudgetPerceptron(), Stoptron(), Projectron(),
    ProjectronPlusPlus(),
    BudgetPassiveAggressive(), BudgetOGD(), SparsePassiveAggressive(), NystroemOGD(),
], ids=lambda model: type(model).__name__)  # fmt: skip
def test_a_linear_kernel_has_no_gamma_to_contradict(model):
    parts = (X[:500], Y[:500]), (X[500:1000], Y[500:1000])
    model = clone(model).set_params(kernel="linear", random_state=0)
    plain = clone(model).set_params(gamma=1.0).fit(*parts[0]).partial_fit(*parts[1])
    model.set_params(gamma=0.02).fit(*parts[0])
    model.set_params(gamma=0.5).partial_fit(*parts[1])
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    with pytest.raises(ValueError, match="kernel"):
        model.set_params(kernel="rbf", gamma="scale").partial_fit(*parts[1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kernel": "laplacian"}, "kernel"),
        ({"kernel": "poly"}, "kernel"),
        ({"features": "fourier"}, "features"),
    ],
)
def test_another_feature_map_is_refused_on_the_way(change, message):
    model = AssetSVC(gamma=1.0, random_state=0).partial_fit(X, Y, [0, 1])
    expected = model.decision_function(X)
    with pytest.raises(ValueError, match=f"{message}.* must stay"):
        model.set_params(**change).partial_fit(X, Y)
    np.testing.assert_array_equal(model.decision_function(X), expected)
