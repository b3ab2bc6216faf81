"""BSCA and BSGD with merging ([BSCA], Algorithms 1 and 2): plain NumPy, a sample a step."""

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
        same = np.flatnonzero(coef * coef[a] > 0)
        same = same[same != a]
        if not same.size:
            rest = [b for b in range(len(coef)) if b != a]
            b = max(rest, key=lambda b: kappa[b])
            self.coef[b] += kappa[b] * self.coef[a]
            self.owner[b] = -1
            self.drop(a)
            return
        other, near = coef[same], kappa[same]
        h = best_h(other / (coef[a] + other), near)
        merged = coef[a] * near ** (h**2) + other * near ** ((1 - h) ** 2)
        lost = coef[a] ** 2 + other**2 + 2 * coef[a] * other * near - merged**2
        best = int(np.argmin(lost))
        b, h = int(same[best]), h[best]
        self.points[b] = (1 - h) * self.points[a] + h * self.points[b]
        self.coef[b], self.owner[b] = float(merged[best]), -1
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
