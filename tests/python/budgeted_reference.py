"""BSCA and BSGD with merging ([BSCA], Algorithms 1 and 2; [QG18]): plain NumPy, a sample a step."""

from __future__ import annotations

import numpy as np


def best_h(m: np.ndarray, kappa: np.ndarray) -> np.ndarray:
    """The weight of the heavier term in each merged point, to rounding error.

    The root of ``ln(h/(1-h)) - L (2h-1) = ln(m/(1-m))`` in [1/2, 1], L = -ln kappa; golden section
    would stop at 1e-8, where the maximum is flat.
    """
    low, high = np.full_like(m, 0.5), np.full_like(m, 1 - 1e-16)
    with np.errstate(divide="ignore", invalid="ignore"):  # a term that weighs nothing, or is far
        length, odds = np.log(kappa), np.log(m / (1 - m))
        for _ in range(60):
            h = (low + high) / 2
            below = np.log(h / (1 - h)) + length * (2 * h - 1) < odds
            low, high = np.where(below, h, low), np.where(below, high, h)
    return (low + high) / 2


def best_shared_h(a: float, d: np.ndarray, p: np.ndarray, kappa: np.ndarray) -> np.ndarray:
    """The same for coefficient vectors with ``a = |beta_a|^2``, ``d = |beta_b|^2``, ``p`` their
    product: a grid over [0, 1], then bisection of the slope of ``|beta_z|^2``."""

    def bells(h):
        return kappa ** (h**2), kappa ** ((1 - h) ** 2)

    def height(h):
        u, v = bells(h)
        return a * u**2 + d * v**2 + 2 * p * u * v

    grid = np.linspace(0, 1, 201)
    top = np.argmax([height(h) for h in grid], axis=0)
    low, high = grid[np.maximum(top - 1, 0)], grid[np.minimum(top + 1, 200)]
    for _ in range(60):
        h = (low + high) / 2
        u, v = bells(h)
        rises = (1 - h) * d * v**2 - h * a * u**2 + (1 - 2 * h) * p * u * v > 0
        low, high = np.where(rises, h, low), np.where(rises, high, h)
    return (low + high) / 2


class Model:
    """Terms (point, coefficients of the outputs, sample that it still is)."""

    def __init__(self, gamma: float, budget: int, size: int = 2) -> None:
        self.gamma, self.budget, self.size = gamma, budget, size
        self.points: list[np.ndarray] = []
        self.coef: list[np.ndarray] = []
        self.owner: list[int] = []
        self.events = 0

    def kernel(self, x: np.ndarray) -> np.ndarray:
        distance = ((np.array(self.points) - x) ** 2).sum(axis=1)
        return np.exp(-self.gamma * distance)

    def decision(self, x: np.ndarray, outputs: int) -> np.ndarray:
        return self.kernel(x) @ np.array(self.coef) if self.points else np.zeros(outputs)

    def add(self, sample: int, x: np.ndarray, amount: np.ndarray) -> None:
        if sample in self.owner:
            at = self.owner.index(sample)
            self.coef[at] = self.coef[at] + amount
            if not self.coef[at].any():
                self.drop([at])
            return
        self.points.append(x)
        self.coef.append(amount)
        self.owner.append(sample)
        if len(self.points) > self.budget:
            self.merge()

    def merge(self) -> None:
        """Fewer terms (Algorithm 1, the roles of h put right; multi-merge for a size above 2)."""
        self.events += 1
        coef = np.array(self.coef)
        a = int(np.argmin((coef**2).sum(axis=1)))
        kappa = self.kernel(self.points[a])
        size = np.sqrt((coef**2).sum(axis=1))
        alike = coef @ coef[a] > 1e-12 * size * size[a]
        alike[a] = False
        everybody = np.flatnonzero(np.arange(len(coef)) != a)
        partners = everybody
        if coef.shape[1] == 1 or (self.size > 2 and alike.any()):
            partners = np.flatnonzero(alike)
        if not partners.size:
            b = max(everybody, key=lambda b: kappa[b])
            self.coef[b] = self.coef[b] + kappa[b] * self.coef[a]
            # Still the sample's own term: its coefficient may change in place.
            self.drop([a])
            return
        near, other = kappa[partners], coef[partners]
        if coef.shape[1] == 1:
            h = best_h(other[:, 0] / (coef[a] + other)[:, 0], near)
        else:
            h = best_shared_h(coef[a] @ coef[a], (other**2).sum(axis=1), other @ coef[a], near)
        merged = np.outer(near ** (h**2), coef[a]) + (near ** ((1 - h) ** 2))[:, None] * other
        before = coef[a] @ coef[a] + (other**2).sum(axis=1) + 2 * near * (other @ coef[a])
        found = np.argsort(before - (merged**2).sum(axis=1), kind="stable")
        members = [a, *(int(b) for b in partners[found[: self.size - 1]])]
        if self.size > 2 and alike.any():
            point = self.mean_shift(members)
        else:
            share = h[found[0]]
            point = (1 - share) * self.points[a] + share * self.points[members[1]]
        into = members[-1]
        self.coef[into] = self.kernel(point)[members] @ coef[members]
        self.points[into], self.owner[into] = point, -1
        self.drop(members[:-1])

    def mean_shift(self, members: list[int]) -> np.ndarray:
        """The highest point of the members' sum that the steps find, from one or two places."""
        points, coef = np.array(self.points)[members], np.array(self.coef)[members]
        size = np.sqrt((coef**2).sum(axis=1))
        starts = [size]
        if coef.shape[1] > 1:
            starts.append(np.arange(len(members)) == np.argmax(size))
        best = (-1.0, points[0])
        for weights in starts:
            height = 0.0
            for _ in range(100):
                z = weights @ points / weights.sum()
                k = np.exp(-self.gamma * ((points - z) ** 2).sum(axis=1))
                merged = k @ coef
                new = np.sqrt(merged @ merged)
                if new > best[0]:
                    best = (new, z)
                if new <= height * (1 + 1e-10):
                    break
                height, weights = new, np.maximum(coef @ merged * k, 0)
        return best[1]

    def drop(self, slots: list[int]) -> None:
        for part in (self.points, self.coef, self.owner):
            for slot in sorted(slots, reverse=True):
                del part[slot]


def _columns(y: np.ndarray) -> np.ndarray:
    return y.reshape(len(y), -1)


def bsca(X, y, C, gamma, budget, order, size=2) -> Model:
    """Dual coordinate ascent (Algorithm 2): y in {-1, +1}, a column an output; a cost a sample."""
    y = _columns(y)
    model, alpha = Model(gamma, budget, size), np.zeros(y.shape)
    for i in order:
        target = np.clip(alpha[i] + 1 - y[i] * model.decision(X[i], y.shape[1]), 0, C[i])
        delta = target - alpha[i]
        alpha[i] = target
        if delta.any():
            model.add(i, X[i], y[i] * delta)
    return model


def bsgd(X, y, C, gamma, budget, order, size=2) -> Model:
    """Stochastic gradient descent with the step 1/t: f before the shrink (eq. 4)."""
    y = _columns(y)
    model = Model(gamma, budget, size)
    for t, i in enumerate(order, start=1):
        f = model.decision(X[i], y.shape[1])
        model.coef = [coef * (1 - 1 / t) for coef in model.coef]
        violates = y[i] * f < 1
        if violates.any():
            model.add(i, X[i], np.where(violates, y[i] * len(X) * C[i] / t, 0.0))
    return model
