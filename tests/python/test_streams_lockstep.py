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
#: From this share of a block's loss on that points cannot tell, where they could tell the rows
#: before, directions outside them have that much less of a price.
TOLD = 0.3


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
        self.unseen, self.lost = 0.0, np.zeros(2)
        self.take(X, y, count, coef)

    def loss(self, X, y, count, coef):
        """At the coefficients, and at nothing."""
        return np.array([count @ (y - kernel(X, self.points) @ coef) ** 2, count @ y**2])

    def take(self, X, y, count, coef):
        """τ: the weight of the rows times what a direction outside the points sees of a row."""
        self.lost += self.loss(X, y, count, coef)
        sample = X[:: len(X) // 128]
        known = kernel(sample, self.points)
        rest = kernel(sample, sample)
        rest -= known @ solved(kernel(self.points, self.points), known.T, 5e-7)
        own, n = np.diag(rest), len(sample)
        pairs = (rest**2).sum() - (own**2).sum()
        self.unseen += PRICE * pairs / (n - 1) / own.sum() * 2 * count.sum()

    def move(self, points, share):
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
        self.H, self.g, self.points = (
            P @ self.H @ P.T + share * self.unseen * apart,
            P @ self.g,
            points,
        )

    def solution(self, X, y, count):
        """Newton's step from the minimum of what was known; what the block adds."""
        K, features = kernel(self.points, self.points), kernel(X, self.points)
        coef = solved(K + self.H, self.g, 1e-12)
        hessian = 2 * features.T @ (count[:, None] * features)
        pull = 2 * features.T @ (count * y)
        gradient = (K + self.H + hessian) @ coef - self.g - pull
        step = -solved(K + self.H + hessian, gradient, 1e-11)
        worth = 0.5 * coef @ K @ coef + count @ (y - features @ coef) ** 2
        if -0.5 * step @ gradient > 1e-4 * worth:
            coef = coef + step
        return coef, hessian, pull

    def block(self, X, y, forgetting, points):
        """Moves to these points if they are others, and learns the block."""
        count = C * forgetting ** np.arange(len(y))[::-1]
        fade = forgetting ** len(y)
        self.H, self.g, self.unseen, self.lost = (
            fade * v for v in (self.H, self.g, self.unseen, self.lost)
        )
        share = None
        if len(points) != len(self.points) or not np.array_equal(points, self.points):
            lost = self.loss(X, y, count, self.solution(X, y, count)[0])
            now, then = lost[0] / lost[1], self.lost[0] / self.lost[1]
            beyond = min((now - then) / (1 - then), 1.0)
            share = 1 - beyond if beyond > TOLD else 1.0
            self.move(points, share)
        coef, hessian, pull = self.solution(X, y, count)
        self.H = self.H + hessian
        self.g = self.g + pull
        self.take(X, y, count, coef)
        return coef, share


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
    twin, shares, unseen = None, [], 0.0
    for first, end in zip([0, *ENDS], ENDS, strict=False):
        rows = slice(first, end)
        machine.partial_fit(X[rows], y[rows])
        points, coef = machine.support_vectors_.copy(), machine.dual_coef_[0]
        if twin is None:
            twin = Twin(points, coef, X[rows], y[rows], forgetting)
            continue
        before = twin.unseen
        expected, share = twin.block(X[rows], y[rows], forgetting, points)
        if share is not None:
            shares, unseen = [*shares, share], max(unseen, before)
        values = kernel(X[:200], points)
        np.testing.assert_allclose(values @ coef, values @ expected, rtol=1e-9, atol=1e-9)
    assert min(shares) < 1  # where the function changes
    assert unseen > 1  # it is seen in the coefficients
