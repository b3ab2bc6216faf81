"""Every online learner walks in step with plain NumPy under the same order of the samples."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy import sparse

import online_reference as plain
from budgetsvm import (
    BudgetOGD,
    BudgetPassiveAggressive,
    Forgetron,
    FourierOGD,
    KernelOGD,
    KernelPerceptron,
    NystroemOGD,
    Projectron,
    ProjectronPlusPlus,
    RandomizedBudgetPerceptron,
    SparsePassiveAggressive,
    Stoptron,
)

RNG = np.random.default_rng(5)
X = RNG.normal(size=(300, 3))
X[RNG.random(size=X.shape) < 0.3] = 0
Y = np.where(X[:, 0] * X[:, 1] + 0.4 * RNG.normal(size=300) > 0, 1.0, -1.0)
ORDER = RNG.integers(300, size=300)
SEED = 7


def rbf(a, b):
    return np.exp(-0.8 * ((a - b) ** 2).sum(axis=-1))


def laplacian(a, b):
    return np.exp(-0.8 * np.abs(a - b).sum(axis=-1))


def poly(a, b):
    return (0.8 * (a @ b) + 1.0) ** 2


KERNELS = {"rbf": rbf, "laplacian": laplacian, "poly": poly}
GRADIENT = {"learning_rate": 0.3, "regularization": 0.05}
CASES = [
    (KernelPerceptron, plain.perceptron, {}, {}, "rbf"),
    (KernelPerceptron, plain.perceptron, {}, {}, "poly"),
    (KernelOGD, plain.ogd, GRADIENT, GRADIENT, "rbf"),
    (KernelOGD, plain.ogd, {"learning_rate": 0.9, "regularization": 0.8},
     {"learning_rate": 0.9, "regularization": 0.8}, "laplacian"),
    (RandomizedBudgetPerceptron, plain.randomized_budget_perceptron, {"budget": 12}, {}, "rbf"),
    (RandomizedBudgetPerceptron, plain.randomized_budget_perceptron, {"budget": 1}, {}, "poly"),
    (Stoptron, plain.stoptron, {"budget": 12}, {}, "rbf"),
    (Forgetron, plain.forgetron, {"budget": 12}, {}, "rbf"),
    (Forgetron, plain.forgetron, {"budget": 25}, {}, "laplacian"),
    (Projectron, plain.projectron, {"budget": 15, "threshold": 0.2}, {"threshold": 0.2}, "rbf"),
    (Projectron, plain.projectron, {"budget": 200, "threshold": 0.4}, {"threshold": 0.4},
     "laplacian"),
    (ProjectronPlusPlus, plain.projectron, {"budget": 15, "threshold": 0.6},
     {"threshold": 0.6, "plus_plus": True}, "rbf"),
    (ProjectronPlusPlus, plain.projectron, {"budget": 200, "threshold": 0.8},
     {"threshold": 0.8, "plus_plus": True}, "laplacian"),
    (BudgetPassiveAggressive, plain.passive_aggressive, {"budget": 15, "C": 0.7}, {"C": 0.7},
     "rbf"),
    (BudgetPassiveAggressive, plain.passive_aggressive, {"budget": 8, "C": 2.0}, {"C": 2.0},
     "poly"),
    *[(BudgetOGD, plain.budget_ogd, {**p, "budget": 10}, p, kernel)
      for sampling, kernel in (("uniform", "rbf"), ("weighted", "rbf"), ("weighted", "poly"))
      for p in [{**GRADIENT, "max_coef": 3.0, "sampling": sampling}]],
    (SparsePassiveAggressive, plain.sparse_passive_aggressive,
     {"budget": 60, "learning_rate": 0.2, "sampling_numerator": 0.8, "sampling_denominator": 2.0},
     {"learning_rate": 0.2, "a": 0.8, "b": 2.0}, "poly"),
    (SparsePassiveAggressive, plain.sparse_passive_aggressive,
     {"budget": 20, "learning_rate": 0.2, "sampling_numerator": 1.0, "sampling_denominator": 1.0},
     {"learning_rate": 0.2, "a": 1.0, "b": 1.0}, "rbf"),
]  # fmt: skip


def seed_of(random_state):
    return int(np.random.RandomState(random_state).randint(np.iinfo(np.int32).max))


#: Those that drop terms: with `average` a quarter of the budget is for terms that went.
DROPPING = (RandomizedBudgetPerceptron, Forgetron, BudgetPassiveAggressive, BudgetOGD)


@functools.cache
def walk(reference, passes, kernel, budget, half, parameters):
    order = np.tile(ORDER, passes)
    return plain.run(
        reference, X, Y, order, KERNELS[kernel], budget, seed_of(SEED), half, **dict(parameters)
    )


def fitted(cls, mine, kernel, form, average=False, max_iter=1):
    model = cls(
        **mine, kernel=kernel, gamma=0.8, degree=2, coef0=1.0, order=list(map(int, ORDER)),
        random_state=SEED, average=average, max_iter=max_iter,
    )  # fmt: skip
    return model.fit(form(X), Y)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize(("cls", "reference", "mine", "theirs", "kernel"), CASES)
def test_same_iterates_as_numpy(form, cls, reference, mine, theirs, kernel):
    for passes in (1, 2):
        budget, parameters = mine.get("budget"), tuple(sorted(theirs.items()))
        expected = walk(reference, passes, kernel, budget, 0, parameters)
        model = fitted(cls, mine, kernel, form, max_iter=passes)
        assert model.n_samples_seen_ == passes * len(ORDER)
        assert model.n_terms_ == len(expected.points) <= (budget or 600)
        points = np.array(expected.points)
        np.testing.assert_allclose(model.support_vectors_, points, rtol=0, atol=1e-14)
        coef = expected.beta
        size = max(1.0, np.abs(coef).max())
        np.testing.assert_allclose(model.dual_coef_[0], coef, rtol=0, atol=1e-12 * size)
        f = np.array([expected.row(x) @ coef for x in X])
        scale = max(1.0, np.abs(f).max())
        np.testing.assert_allclose(model.decision_function(form(X)), f, atol=1e-11 * scale)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize(("cls", "reference", "mine", "theirs", "kernel"), CASES)
def test_same_mean_as_of_all_iterates_kept(form, cls, reference, mine, theirs, kernel):
    budget, parameters = mine.get("budget"), tuple(sorted(theirs.items()))
    half = budget // 4 // 2 if cls in DROPPING else 0
    live = None if budget is None else budget - 2 * half
    expected = walk(reference, 1, kernel, live, half, parameters)
    model = fitted(cls, mine, kernel, form, average=True)
    assert model.n_terms_ <= (budget or 300)
    values = expected.mean(X)
    size = max(1.0, np.abs(values).max())
    np.testing.assert_allclose(model.decision_function(form(X)), values, rtol=0, atol=1e-12 * size)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize(("budget", "n_components", "kernel"), [
    (20, None, "rbf"), (5, None, "rbf"), (30, 12, "laplacian"), (9, 4, "poly"),
])  # fmt: skip
@pytest.mark.parametrize("average", [False, True])
def test_nystroem(form, budget, n_components, kernel, average):
    parameters = (("learning_rate", 0.2), ("n_components", n_components))
    expected = walk(plain.nystroem_ogd, 1, kernel, budget, 0, parameters)
    assert "features" in expected.memory
    mine = {"budget": budget, "learning_rate": 0.2, "n_components": n_components}
    model = fitted(NystroemOGD, mine, kernel, form, average=average)
    assert model.n_terms_ == budget
    values = expected.mean(X) if average else expected.kernel_matrix(X) @ expected.beta
    size = max(1.0, np.abs(values).max())
    np.testing.assert_allclose(model.decision_function(form(X)), values, rtol=0, atol=1e-11 * size)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_fourier(form):
    for kernel in ("rbf", "laplacian"):
        for average in (False, True):
            mine = {"n_frequencies": 15, "learning_rate": 0.2}
            model = fitted(FourierOGD, mine, kernel, form, average=average)
            assert model.frequencies_.shape == (15, 3)
            w, mean, Z = plain.fourier_ogd(X, Y, ORDER, model.frequencies_, 0.2)
            coef = mean if average else w
            np.testing.assert_allclose(model.coef_[0], coef, rtol=0, atol=1e-12)
            f = Z @ coef
            np.testing.assert_allclose(model.decision_function(form(X)), f, rtol=0, atol=1e-12)
            assert model.n_terms_ == 0
    # Many features approach the kernel: N(0, 2 gamma I) it is.
    many = fitted(FourierOGD, {"n_frequencies": 10_000}, "rbf", np.asarray)
    Z = plain.fourier_ogd(X[:20], Y, [0], many.frequencies_, 0.2)[2]
    exact = np.array([rbf(X[:20], x) for x in X[:20]])
    np.testing.assert_allclose(Z @ Z.T, exact, atol=0.05)


def test_the_cases_reach_what_they_are_for():
    """Budgets fill, quadratics bind, both kinds of projection happen."""
    forgetron = plain.run(plain.forgetron, X, Y, ORDER, rbf, 12)
    assert forgetron.full()
    assert forgetron.memory["shrunk"] > 5
    projectron = plain.run(plain.projectron, X, Y, ORDER, rbf, 15, threshold=0.2)
    assert projectron.full()
    for sampling in ("uniform", "weighted"):
        parameters = {**GRADIENT, "max_coef": 3.0, "sampling": sampling}
        assert plain.run(plain.budget_ogd, X, Y, ORDER, rbf, 10, **parameters).full()
