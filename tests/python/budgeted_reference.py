"""BSCA and BSGD with merging ([BSCA], Algorithms 1 and 2): plain NumPy, a sample a step."""

from __future__ import annotations

import numpy as np


def best_h(m: float, kappa: float) -> float:
    """The weight of the heavier term in the merged point, to rounding error.

    The root of ``ln(h/(1-h)) - L (2h-1) = ln(m/(1-m))`` in [1/2, 1], L = -ln kappa; golden section
    would stop at 1e-8, where the maximum is flat.
    """
    low, high = 0.5, 1 - 1e-16
    for _ in range(100):
        h = (low + high) / 2
        slope = np.log(h / (1 - h)) + np.log(kappa) * (2 * h - 1) - np.log(m / (1 - m))
        low, high = (h, high) if slope < 0 else (low, h)
    return (low + high) / 2


class Model:
    """Terms (point, coefficient, sample that it still is)."""

    def __init__(self, gamma: float, budget: int) -> None:
        self.gamma, self.budget = gamma, budget
        self.points: list[np.ndarray] = []
        self.coef: list[float] = []
        self.owner: list[int] = []

    def kernel(self, x: np.ndarray) -> np.ndarray:
        distance = ((np.array(self.points) - x) ** 2).sum(axis=1)
        return np.exp(-self.gamma * distance)

    def decision(self, x: np.ndarray) -> float:
        return float(self.kernel(x) @ np.array(self.coef)) if self.points else 0.0

    def add(self, sample: int, x: np.ndarray, amount: float) -> None:
        if sample in self.owner:
            at = self.owner.index(sample)
            self.coef[at] += amount
            if self.coef[at] == 0:
                for part in (self.points, self.coef, self.owner):
                    del part[at]
            return
        self.points.append(x)
        self.coef.append(amount)
        self.owner.append(sample)
        if len(self.points) > self.budget:
            self.merge()

    def merge(self) -> None:
        """One term fewer (Algorithm 1; the roles of h put right)."""
        coef = np.array(self.coef)
        a = int(np.argmin(np.abs(coef)))
        kappa = self.kernel(self.points[a])
        same = [b for b in range(len(coef)) if b != a and coef[b] * coef[a] > 0]
        if not same:
            rest = [b for b in range(len(coef)) if b != a]
            b = max(rest, key=lambda b: kappa[b])
            self.coef[b] += kappa[b] * self.coef[a]
            self.owner[b] = -1
            self.drop(a)
            return
        found = []
        for b in same:
            h = best_h(coef[b] / (coef[a] + coef[b]), kappa[b])
            merged = coef[a] * kappa[b] ** (h**2) + coef[b] * kappa[b] ** ((1 - h) ** 2)
            lost = coef[a] ** 2 + coef[b] ** 2 + 2 * coef[a] * coef[b] * kappa[b] - merged**2
            found.append((lost, b, h, merged))
        _, b, h, merged = min(found)
        self.points[b] = (1 - h) * self.points[a] + h * self.points[b]
        self.coef[b], self.owner[b] = merged, -1
        self.drop(a)

    def drop(self, at: int) -> None:
        for part in (self.points, self.coef, self.owner):
            del part[at]


def bsca(X, y, C, gamma, budget, order) -> Model:
    """Dual coordinate ascent (Algorithm 2), y in {-1, +1}, a cost C a sample."""
    model, alpha = Model(gamma, budget), np.zeros(len(X))
    for i in order:
        target = np.clip(alpha[i] + 1 - y[i] * model.decision(X[i]), 0, C[i])
        delta = target - alpha[i]
        alpha[i] = target
        if delta != 0:
            model.add(i, X[i], y[i] * delta)
    return model


def bsgd(X, y, C, gamma, budget, order) -> Model:
    """Stochastic gradient descent with the step 1/t: f before the shrink (eq. 4)."""
    model = Model(gamma, budget)
    for t, i in enumerate(order, start=1):
        f = model.decision(X[i])
        model.coef = [coef * (1 - 1 / t) for coef in model.coef]
        if y[i] * f < 1:
            model.add(i, X[i], y[i] * len(X) * C[i] / t)
    return model
