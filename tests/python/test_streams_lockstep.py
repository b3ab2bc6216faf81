"""The recursion beside its NumPy twin, block by block, on the points that the machine chose."""

from __future__ import annotations

import numpy as np
import pytest

from budgetsvm import BudgetSVR

BLOCK, GAMMA, C = 512, 2.0, 4.0
#: The first blocks are shorter: they double what is known.
ENDS = [256, *range(BLOCK, 7 * BLOCK, BLOCK)]
#: What a direction outside the points costs, of what it is thought to see.
PRICE = 0.03


def kernel(a, b):
    return np.exp(-GAMMA * ((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=2))


def solved(matrix, right, jitter):
    """By a matrix with jitter relative to its diagonal, as the machine's factors have it."""
    diagonal = np.diag(matrix)
    return np.linalg.solve(matrix + np.diag(jitter * (diagonal + diagonal.mean())), right)


class Twin:
    """Summary of a squared loss `C (y - f)²`: H, g, τ, and the points."""

    def __init__(self, points, coef, X, y, forgetting):
        count = C * forgetting ** np.arange(len(y))[::-1]
        features, self.points = kernel(X, points), points
        self.H = 2 * features.T @ (count[:, None] * features)
        # The first block is solved for as a fit: its solution is the minimum.
        self.g = (kernel(points, points) + self.H) @ coef
        pull = 2 * features.T @ (count * y)
        assert np.abs(self.g - pull).max() < 1e-3 * np.abs(pull).max()
        self.unseen = 0.0
        self.take(X, count)

    def take(self, X, count):
        """τ: the weight of the rows times what a direction outside the points sees of a row."""
        sample = X[:: len(X) // 128]
        known = kernel(sample, self.points)
        rest = kernel(sample, sample)
        rest -= known @ solved(kernel(self.points, self.points), known.T, 5e-7)
        own, n = np.diag(rest), len(sample)
        pairs = (rest**2).sum() - (own**2).sum()
        self.unseen += PRICE * pairs / (n - 1) / own.sum() * 2 * count.sum()

    def move(self, points):
        old = kernel(self.points, self.points)
        P = solved(old, kernel(self.points, points), 5e-7).T
        for row, point in enumerate(points):
            same = np.flatnonzero((self.points == point).all(axis=1))
            if len(same):
                P[row] = np.eye(len(self.points))[same[0]]
        # The kept points have no part outside the old ones.
        kept = (points[:, None] == self.points[None]).all(axis=2).any(axis=1)
        apart = kernel(points, points) - P @ kernel(self.points, points)
        apart[kept] = apart[:, kept] = 0
        self.H, self.g, self.points = P @ self.H @ P.T + self.unseen * apart, P @ self.g, points

    def block(self, X, y, forgetting):
        """Newton's step from the minimum of what was known; then the block is taken in."""
        count = C * forgetting ** np.arange(len(y))[::-1]
        self.H *= forgetting ** len(y)
        self.g *= forgetting ** len(y)
        self.unseen *= forgetting ** len(y)
        K, features = kernel(self.points, self.points), kernel(X, self.points)
        coef = solved(K + self.H, self.g, 1e-12)
        hessian = 2 * features.T @ (count[:, None] * features)
        pull = 2 * features.T @ (count * y)
        gradient = (K + self.H + hessian) @ coef - self.g - pull
        step = -solved(K + self.H + hessian, gradient, 1e-11)
        worth = 0.5 * coef @ K @ coef + count @ (y - features @ coef) ** 2
        if -0.5 * step @ gradient > 1e-4 * worth:
            coef = coef + step
        self.H += hessian
        self.g += pull
        self.take(X, count)
        return coef


@pytest.mark.parametrize("forgetting", [1.0, 0.999])
def test_it_walks_in_step_with_its_twin(forgetting):
    rng = np.random.default_rng(3)
    X = rng.uniform(-2, 2, size=(6 * BLOCK, 2))
    # The function changes half way: points move.
    bend = np.where(np.arange(len(X)) < 3 * BLOCK, 1.0, -1.0)
    y = np.sin(2 * X[:, 0]) + bend * X[:, 1] + 0.1 * rng.normal(size=len(X))
    machine = BudgetSVR(
        budget=25, C=C, gamma=GAMMA, loss="squared_epsilon_insensitive", epsilon=0.0,
        forgetting=forgetting, fit_intercept=False, random_state=0,
    )  # fmt: skip
    twin, moved, unseen = None, 0, 0.0
    for first, end in zip([0, *ENDS], ENDS, strict=False):
        rows = slice(first, end)
        machine.partial_fit(X[rows], y[rows])
        points, coef = machine.support_vectors_.copy(), machine.dual_coef_[0]
        if twin is None:
            twin = Twin(points, coef, X[rows], y[rows], forgetting)
            continue
        if len(points) != len(twin.points) or not np.array_equal(points, twin.points):
            twin.move(points)
            moved, unseen = moved + 1, max(unseen, twin.unseen)
        expected = twin.block(X[rows], y[rows], forgetting)
        values = kernel(X[:200], points)
        np.testing.assert_allclose(values @ coef, values @ expected, rtol=1e-9, atol=1e-9)
    assert moved
    assert unseen > 1  # it is seen in the coefficients
