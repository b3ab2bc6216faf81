"""The compiled solvers walk in step with plain NumPy under the same order of the samples."""

from __future__ import annotations

import os

import numpy as np
import pytest
from scipy import sparse

from budgeted_reference import bsca, bsgd
from budgetsvm import BudgetSVC

RNG = np.random.default_rng(3)
X = RNG.normal(size=(160, 3))
Y = np.where(X[:, 0] * X[:, 1] + 0.3 * RNG.normal(size=160) > 0, 1.0, -1.0)
# A cost a sample: equal coefficients would leave it open which one is the smallest.
WEIGHT = RNG.uniform(0.5, 2, size=160)
SETTINGS = [(1.0, 0.5, 12), (32.0, 1.5, 25), (4.0, 0.1, 2), (8.0, 1.0, 159)]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize(("C", "gamma", "budget"), SETTINGS)
@pytest.mark.parametrize(("solver", "reference"), [("bsca", bsca), ("bsgd", bsgd)])
def test_same_iterates_as_numpy(form, C, gamma, budget, solver, reference):
    order = np.random.default_rng(budget).integers(len(X), size=len(X))
    # The compiled search ends when the merged weight no longer changes; at its flat maximum the
    # merged point is then known to 1e-8 of itself, and a wrong step would show in the first digit.
    for passes in (1, 3):
        expected = reference(X, Y, C * WEIGHT, gamma, budget, np.tile(order, passes))
        model = BudgetSVC(
            budget=budget, C=C, gamma=gamma, solver=solver, polishing=False, tol=0,
            merge_search="auto", max_iter=passes, order=list(map(int, order)),
        ).fit(form(X), Y, sample_weight=WEIGHT)  # fmt: skip
        assert model.n_terms_ == len(expected.points) <= budget
        # Slots may stand in another order; the terms are the same.
        mine = np.column_stack([model.support_vectors_, model.dual_coef_[0]])
        theirs = np.column_stack([np.array(expected.points), expected.coef])
        size = np.abs(theirs).max()
        for one in (mine, theirs):
            one[:] = one[np.lexsort(np.round(one, 6).T)]
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-7 * size)


def test_scaled_coefficients_are_the_direct_ones_after_many_steps():
    """The machine keeps coefficients times a scale that falls as 1/t; the twin keeps counts."""
    n, passes = 8, 1_000_000 if "BUDGETSVM_LONG" in os.environ else 20_000
    x, y, cost = X[:n], Y[:n], 4.0 * WEIGHT[:n]
    order = [3, 0, 7, 1, 1, 5, 2, 6]
    model = BudgetSVC(
        budget=None, C=4.0, gamma=0.5, solver="bsgd", tol=0, max_iter=passes, order=order,
    ).fit(x, y, sample_weight=WEIGHT[:n])  # fmt: skip
    gram = np.exp(-0.5 * ((x[:, None] - x) ** 2).sum(axis=2))
    moves = (gram * (n * y * cost)).tolist()
    sums, t = [0.0] * n, 0
    counts = [0] * n
    for _ in range(passes):
        for i in order:
            t += 1
            if y[i] * sums[i] < t - 1 or t == 1:
                counts[i] += 1
                for j in range(n):
                    sums[j] += moves[j][i]
    expected = n * y * cost * np.array(counts) / t
    found = model.decision_function(x)
    np.testing.assert_allclose(found, gram @ expected, rtol=1e-9, atol=1e-9)
