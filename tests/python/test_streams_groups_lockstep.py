"""Groups of past rows beside their NumPy twin, block by block, on the points of the machine."""

from __future__ import annotations

import numpy as np
import pytest

from budgetsvm import BudgetSVC
from test_streams_lockstep import kernel, solved

GAMMA, C = 2.0, 4.0
#: The class of each block, all of whose rows are of it, and where it ends.
BLOCKS = [(0, 256), (1, 512), (0, 1024), (1, 1536), (1, 2048), (0, 2560)]
GROUPS, SOFT, PRICE = 400, 0.8, 0.3
NODES, SHARES = np.polynomial.hermite_e.hermegauss(5)
SHARES = SHARES / SHARES.sum()


def log_loss(y, f):
    """Value, slope and curvature."""
    wrong = 1 / (1 + np.exp(y * f))
    return np.logaddexp(0, -y * f), -y * wrong, wrong * (1 - wrong)


def search(at):
    """Where a convex function of t >= 0 has but a tenth of its slope at 0, by Newton's steps."""
    zero, (low, high), t, best = at(0.0), (0.0, np.inf), 1.0, (0.0, at(0.0)[0])
    while True:
        value, slope, curvature = at(t)
        if value < best[1]:
            best = t, value
        if abs(slope) <= -0.1 * zero[1] and value <= zero[0]:
            return best[0]
        low, high = (t, high) if slope < 0 else (low, t)
        newton = t - slope / curvature
        if low < newton < high and newton <= 16 * t:
            t = newton
        else:
            t = 0.5 * (low + high) if np.isfinite(high) else 4 * t


class Groups:
    """Weights, mean features and mean rows of the groups of two classes, and their scatter."""

    def __init__(self, terms):
        self.y, self.weights, self.means = np.zeros(0), np.zeros(0), np.zeros((0, terms))
        self.middles = np.zeros((0, 2))
        self.scatter, self.scattered, self.unseen = np.zeros((terms, terms)), 0.0, 0.0

    def decay(self, factor):
        for name in ("weights", "scatter", "scattered", "unseen"):
            setattr(self, name, factor * getattr(self, name))

    def unseen_of_a_row(self):
        return self.unseen / self.weights.sum()

    def join(self, X, features, y, count, unseen):
        """Rows of one class."""
        own = np.flatnonzero(self.y == y)
        new = min(GROUPS - len(own), -(-len(features) // 4))
        if new > 0:
            begun = features[np.arange(new) * len(features) // new]
            self.y = np.r_[self.y, np.full(new, y)]
            self.weights = np.r_[self.weights, np.zeros(new)]
            self.means = np.r_[self.means, begun]
            self.middles = np.r_[self.middles, X[np.arange(new) * len(X) // new]]
            own = np.flatnonzero(self.y == y)
        far = (self.means[own] ** 2).sum(axis=1) - 2 * features @ self.means[own].T
        places = own[far.argmin(axis=1)]
        for group in np.unique(places):
            here = places == group
            self.weights[group] += count[here].sum()
            apart = count[here] @ (features[here] - self.means[group])
            self.means[group] += apart / self.weights[group]
            apart = count[here] @ (X[here] - self.middles[group])
            self.middles[group] += apart / self.weights[group]
        step = -(-len(features) // 256)
        apart = (features - self.means[places])[::step]
        self.scatter += step * apart.T @ (count[::step, None] * apart)
        self.scattered += step * count[::step].sum()
        self.unseen += PRICE * unseen * count.sum()

    def expansion(self, coef):
        """What they lose, with its gradient, its Hessian, and the sum of the curvatures."""
        S = self.scatter / self.scattered
        spread = np.sqrt(coef @ S @ coef + SOFT**2)
        u = S @ coef / spread
        f = (self.means @ coef)[:, None] + NODES * spread
        share = self.weights[:, None] * SHARES
        value, slope, curvature = (share * part for part in log_loss(self.y[:, None], f))
        across = self.means.T @ (curvature @ NODES)
        pull = (slope * NODES).sum()
        gradient = self.means.T @ slope.sum(axis=1) + pull * u
        hessian = self.means.T @ (curvature.sum(axis=1)[:, None] * self.means)
        hessian += np.outer(across, u) + np.outer(u, across)
        hessian += ((curvature * NODES**2).sum() - pull / spread) * np.outer(u, u)
        return value.sum(), gradient, hessian + pull / spread * S, curvature.sum()


class Twin:
    """Groups, and the summary that is made of them after every block."""

    def __init__(self, points, coef, forgetting):
        self.points, self.coef, self.forgetting = points, coef, forgetting
        self.groups = Groups(len(points))
        self.rows, self.beyond = np.zeros(2), np.zeros(len(points))

    def take(self, X, label):
        """The rows of a block join, on the points as they are."""
        count = C * self.forgetting ** np.arange(len(X))[::-1]
        sample = X[:: -(-len(X) // 128)]
        known = kernel(sample, self.points)
        rest = kernel(sample, sample)
        rest -= known @ solved(kernel(self.points, self.points), known.T, 5e-7)
        own = np.diag(rest)
        unseen = ((rest**2).sum() - (own**2).sum()) / (len(sample) - 1) / own.sum()
        self.groups.join(X, kernel(X, self.points), 2.0 * label - 1, count, unseen)
        self.rows *= self.forgetting ** len(X)
        self.rows[label] += len(X)
        return unseen

    def first(self, X, label):
        """The summary is that of the rows themselves."""
        unseen = self.take(X, label)
        features, K = kernel(X, self.points), kernel(self.points, self.points)
        count = C * self.forgetting ** np.arange(len(X))[::-1]
        curved = count * log_loss(2.0 * label - 1, features @ self.coef)[2]
        self.H = features.T @ (curved[:, None] * features)
        self.unseen = PRICE * unseen * curved.sum()
        self.g = (K + self.H) @ self.coef

    def summarise(self, pull):
        K = kernel(self.points, self.points)
        _, gradient, self.H, bend = self.groups.expansion(self.coef)
        self.beyond = self.beyond - pull - gradient - K @ self.coef
        self.unseen = self.groups.unseen_of_a_row() * bend
        self.g = (K + self.H) @ self.coef

    def move(self, points, pull):
        before, old = self.points, kernel(self.points, self.points)
        P = solved(old, kernel(self.points, points), 5e-7).T
        same = (points[:, None] == self.points[None]).all(axis=2)
        kept = same.any(axis=1)
        P[kept] = same[kept]
        apart = kernel(points, points) - P @ kernel(self.points, points)
        apart[kept] = apart[:, kept] = 0
        self.H, self.g, self.points = P @ self.H @ P.T + self.unseen * apart, P @ self.g, points
        self.beyond = P @ self.beyond
        groups = self.groups
        # What a mean row has along new points, as far as the group is like it on the old ones.
        held, there = (kernel(groups.middles, which) for which in (before, points))
        like = ((groups.means * held).sum(axis=1) / (held**2).sum(axis=1)).clip(0, 1)[:, None]
        lifted = (groups.means - like * held) @ P.T + like * there
        groups.means = np.where(kept, groups.means @ P.T, lifted)
        groups.scatter = P @ groups.scatter @ P.T
        groups.scatter += groups.scattered * groups.unseen_of_a_row() * apart
        return P @ pull

    def block(self, X, label, points):
        """Newton's steps from the minimum of what was known."""
        factor = self.forgetting ** len(X)
        self.groups.decay(factor)
        for name in ("H", "g", "unseen", "beyond"):
            setattr(self, name, factor * getattr(self, name))
        share = self.rows[label] / self.rows.sum()
        K = kernel(self.points, self.points)
        lacking = -self.groups.expansion(self.coef)[1] - factor * K @ self.coef
        pull = self.beyond + share**4 * (lacking - self.beyond)
        moved = points.shape != self.points.shape or not np.array_equal(points, self.points)
        if moved:
            pull = self.move(points, pull)
        self.coef = self.solve(X, 2.0 * label - 1, pull)
        self.take(X, label)
        self.summarise(pull)
        return moved

    def solve(self, X, y, pull):
        count = C * self.forgetting ** np.arange(len(X))[::-1]
        K, features = kernel(self.points, self.points), kernel(X, self.points)

        def along(coef, step, t):
            """The objective, its slope and its curvature a step t away."""
            coef = coef + t * step
            past, gradient, hessian, _ = self.groups.expansion(coef)
            loss, slope, curvature = log_loss(y, features @ coef)
            pushed = features @ step
            value = past + pull @ coef + 0.5 * coef @ K @ coef + count @ loss
            slope = step @ (gradient + pull + K @ coef) + count * slope @ pushed
            return value, slope, step @ (hessian + K) @ step + count * curvature @ pushed**2

        coef = solved(K + self.H, self.g, 1e-12)
        for _ in range(60):
            f = features @ coef
            loss, slope, curvature = log_loss(y, f)
            _, gradient, hessian, _ = self.groups.expansion(coef)
            gradient = gradient + K @ coef + pull + features.T @ (count * slope)
            hessian = hessian + K + features.T @ ((count * curvature)[:, None] * features)
            step = -solved(hessian, gradient, 1e-11)
            promised = -step @ gradient
            if 0.5 * promised <= 1e-4 * (0.5 * coef @ K @ coef + count @ loss):
                break
            coef = coef + search(lambda t, at=coef, step=step: along(at, step, t)) * step
        return coef


@pytest.mark.parametrize("forgetting", [1.0, 0.9995])
def test_groups_walk_in_step_with_their_twin(forgetting):
    rng = np.random.default_rng(3)
    machine = BudgetSVC(
        budget=25, C=C, gamma=GAMMA, loss="log_loss", forgetting=forgetting,
        fit_intercept=False, random_state=0,
    )  # fmt: skip
    test = rng.uniform(-2, 2, size=(200, 2))
    twin, moves, first = None, 0, 0
    for label, end in BLOCKS:
        X = rng.uniform(-2, 2, size=(2 * (end - first), 2))
        X = X[np.argsort((X[:, 0] * X[:, 1] > 0) != label, kind="stable")][: end - first]
        machine.partial_fit(X, np.full(len(X), label), classes=[0, 1])
        points, coef = machine.support_vectors_.copy(), machine.dual_coef_[0]
        if twin is None:
            twin = Twin(points, coef, forgetting)
            twin.first(X, label)
        else:
            moves += twin.block(X, label, points)
            values = kernel(test, points)
            np.testing.assert_allclose(values @ coef, values @ twin.coef, rtol=1e-9, atol=1e-9)
        first = end
    assert moves
