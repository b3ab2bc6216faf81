"""Shapley values against the sum over all sets of features, and against shapiq."""

from __future__ import annotations

from itertools import combinations
from math import factorial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification, make_friedman1
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

import budgetsvm as b
from budgetsvm.explain import shapley_values, to_shapiq

X, Y = make_classification(150, 4, n_informative=4, n_redundant=0, n_classes=3,
                           n_clusters_per_class=1, random_state=0)  # fmt: skip
X /= X.std(axis=0)
FEW = X[::15]


def brute(value, d):
    """Shapley values of a game, from the value of every set."""
    of_set = {s: value(list(s)) for k in range(d + 1) for s in combinations(range(d), k)}
    out = []
    for k in range(d):
        total = 0.0
        for s, without in of_set.items():
            if k not in s:
                weight = factorial(len(s)) * factorial(d - len(s) - 1) / factorial(d)
                total = total + weight * (of_set[tuple(sorted((*s, k)))] - without)
        out.append(total)
    return np.stack(out, axis=1), of_set[()]


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("scales", [None, [2.0, 0.0, 0.5, 1.0]])
def test_they_are_those_of_all_sets(kernel, scales):
    model = b.BudgetSVC(
        budget=20, kernel=kernel, gamma=0.3, feature_scales=scales, random_state=0,
        maintenance="remove-smallest",
    ).fit(X, Y)  # fmt: skip
    factors = np.ones(4) if scales is None else np.array(scales)
    points, rows = model.support_vectors_ * factors, FEW * factors
    function = rbf_kernel if kernel == "rbf" else laplacian_kernel

    def value(features):
        if not features:
            return np.tile(model.dual_coef_.sum(axis=1) + model.intercept_, (len(FEW), 1))
        kernel_values = function(rows[:, features], points[:, features], gamma=0.3)
        return kernel_values @ model.dual_coef_.T + model.intercept_

    wanted, empty = brute(value, 4)
    values, base = shapley_values(model, FEW)
    assert values.shape == (10, 4, 3)
    np.testing.assert_allclose(values, wanted, atol=1e-11)
    np.testing.assert_allclose(base, empty[0], atol=1e-12)
    np.testing.assert_allclose(values.sum(axis=1) + base, model.decision_function(FEW), atol=1e-9)


def machines():
    two = (Y > 0).astype(int)
    yield b.SVC(C=2).fit(X, two), False
    yield b.SVC(C=2, decision_function_shape="ovo").fit(X, Y), True
    yield b.SVR(C=5).fit(sp.csr_matrix(X), X[:, 0] ** 2), False
    yield b.PrimalSVC(C=2).fit(X.astype(np.float32), Y), True
    yield b.BudgetSVC(budget=10, shared=False, random_state=0).fit(X, Y), True
    yield b.AssetSVC(n_components=20, random_state=0).fit(X, two), False
    yield b.OneClassSVM(nu=0.3).fit(X), False
    yield b.KernelOGD(random_state=0).fit(X, two), False


@pytest.mark.parametrize(("model", "several"), list(machines()), ids=lambda m: type(m).__name__)
def test_they_sum_to_the_decision_value(model, several):
    rows = sp.csr_matrix(FEW) if isinstance(model, b.SVR) else FEW
    decide = getattr(model, "decision_function", model.predict)
    values, base = shapley_values(model, rows)
    assert values.ndim == 2 + several
    off = np.abs(values.sum(axis=1) + base - decide(rows))
    assert off.max() < (1e-4 if model._machine.dtype == "float32" else 1e-9)


def test_many_features_stay_exact():
    rows, y = make_friedman1(120, 60, random_state=0)
    model = b.SVR(C=5).fit(rows, y)
    values, base = shapley_values(model, rows)
    np.testing.assert_allclose(values.sum(axis=1) + base, model.predict(rows), atol=1e-8)
    # What makes no difference to the machine gets nothing.
    model = b.SVR(C=5, feature_scales=[1.0] * 30 + [0.0] * 30).fit(rows, y)
    assert np.all(shapley_values(model, rows[:5])[0][:, 30:] == 0)


def test_what_has_none_says_why():
    with pytest.raises(NotFittedError):
        shapley_values(b.SVC(), X)
    for model, word in [
        (b.SVC(kernel="poly").fit(X, Y), "no product"),
        (b.PrimalSVC(kernel="linear").fit(X, Y), "linear"),
        (b.LocalBudgetSVC(n_clusters=2, random_state=0).fit(X, Y), "cells"),
        (b.Nystroem(n_components=5, random_state=0).fit(X), "alone"),
        (b.SVC(kernel="precomputed").fit(X @ X.T, Y), "precomputed"),
    ]:
        with pytest.raises(ValueError, match=f"{type(model).__name__}.*{word}"):
            shapley_values(model, X)
    model = b.SVC().fit(X, Y)
    with pytest.raises(ValueError, match="output"):
        to_shapiq(model, 3)
    with pytest.raises(ValueError, match="rbf"):
        to_shapiq(b.SVC(kernel="laplacian").fit(X, Y))
    with pytest.raises(ValueError, match="shapley_values"):
        to_shapiq(b.SVC(feature_scales=[1, 2, 1, 1]).fit(X, Y))


def test_shapiq_finds_the_same():
    product_kernel = pytest.importorskip("shapiq.explainer.product_kernel")
    model = b.SVC(C=2, gamma=0.3, decision_function_shape="ovo").fit(X, Y)
    values, base = shapley_values(model, FEW)
    for output in range(3):
        machine = to_shapiq(model, output)
        np.testing.assert_allclose(
            machine.predict(FEW), model.decision_function(FEW)[:, output], atol=1e-9
        )
        explainer = product_kernel.ProductKernelExplainer(machine)
        for row, wanted in zip(FEW[:3], values[:3, :, output], strict=True):
            told = explainer.explain_function(row)
            np.testing.assert_allclose([told[(k,)] for k in range(4)], wanted, atol=1e-10)
            np.testing.assert_allclose(told.baseline_value, base[output], atol=1e-10)
