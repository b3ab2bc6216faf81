"""The online learners in plain NumPy, a sample a step, every iterate kept.

A kernel takes one row or several against one row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

MASK = 2**64 - 1


class Xoshiro:
    """xoshiro256++ seeded by SplitMix64: the generator of the compiled library."""

    def __init__(self, seed: int, step: int) -> None:
        state = (seed ^ ((step + 1) * 0x9E3779B97F4A7C15 & MASK)) & MASK
        self.s = []
        for _ in range(4):
            state = (state + 0x9E3779B97F4A7C15) & MASK
            z = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 & MASK
            z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
            self.s.append(z ^ (z >> 31))

    def bits(self) -> int:
        s = self.s
        result = (rotate(s[0] + s[3] & MASK, 23) + s[0]) & MASK
        t = s[1] << 17 & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotate(s[3], 45)
        return result

    def below(self, n: int) -> int:
        while True:
            product = self.bits() * n
            if product & MASK >= (2**64 - n) % n:
                return product >> 64

    def uniform(self) -> float:
        return (self.bits() >> 11) * 2.0**-53


def rotate(x: int, k: int) -> int:
    return ((x << k) | (x >> (64 - k))) & MASK


class Model:
    """Terms in slots, and every iterate since the start."""

    def __init__(self, kernel: Callable, budget: int | None, seed: int, half: int) -> None:
        self.kernel, self.budget, self.seed, self.half = kernel, budget, seed, half
        self.points: list[np.ndarray] = []
        self.beta = np.zeros(0)
        self.step = 0
        self.memory: dict[str, Any] = {}
        self.iterates: list[tuple[list[np.ndarray], np.ndarray]] = []
        # The mean is over the iterates from `start`; its newer half begins at `middle`.
        self.start = self.middle = self.gone = 0

    def row(self, x: np.ndarray) -> np.ndarray:
        return self.kernel(np.array(self.points), x) if self.points else np.zeros(0)

    def full(self) -> bool:
        return self.budget is not None and len(self.points) == self.budget

    def random(self) -> Xoshiro:
        return Xoshiro(self.seed, self.step)

    def add(self, x: np.ndarray, coef: float) -> None:
        self.points.append(x)
        self.beta = np.append(self.beta, coef)

    def replace(self, slot: int, x: np.ndarray, coef: float) -> None:
        if self.gone == self.half:
            self.start, self.middle, self.gone = self.middle, self.step, 0
        if self.half == 0:
            self.start = self.step
        self.gone += self.half > 0
        self.points[slot] = x
        self.beta[slot] = coef

    def gram(self) -> np.ndarray:
        return np.array([self.row(s) for s in self.points])

    def kernel_matrix(self, X: np.ndarray) -> np.ndarray:
        return np.column_stack([self.kernel(X, s) for s in self.points])

    def mean(self, X: np.ndarray) -> np.ndarray:
        """Decision values of the mean of the iterates."""
        total = np.zeros(len(X))
        for points, beta in self.iterates[self.start :]:
            for s, coef in zip(points, beta, strict=True):
                total += coef * self.kernel(X, s)
        return total / len(self.iterates[self.start :])


def run(learn, X, y, order, kernel, budget=None, seed=0, half=0, **parameters) -> Model:
    """Learn from the rows in this order."""
    model = Model(kernel, budget, seed, half)
    for i in order:
        x, label = X[i], y[i]
        row = model.row(x)
        f = float(row @ model.beta) if len(row) else 0.0
        learn(model, x, label, f, row, **parameters)
        model.iterates.append((list(model.points), model.beta.copy()))
        model.step += 1
    return model


def perceptron(model, x, y, f, row):
    if y * f <= 0:
        model.add(x, y)


def stoptron(model, x, y, f, row):
    if y * f <= 0 and not model.full():
        model.add(x, y)


def randomized_budget_perceptron(model, x, y, f, row):
    if y * f > 0:
        return
    if model.full():
        model.replace(model.random().below(len(row)), x, y)
    else:
        model.add(x, y)


def ogd(model, x, y, f, row, learning_rate, regularization):
    model.beta *= 1 - learning_rate * regularization
    if y * f < 1:
        model.add(x, learning_rate * y)


def forgetron(model, x, y, f, row):
    if y * f > 0:
        return
    mistakes = model.memory["mistakes"] = model.memory.get("mistakes", 0) + 1
    if not model.full():
        model.add(x, y)
        return
    damage = model.memory.get("damage", 0.0)
    r = int(model.memory.get("oldest", 0))
    sigma = abs(model.beta[r])
    old = model.row(model.points[r]) @ model.beta
    mu = np.sign(model.beta[r]) * (old + y * model.kernel(model.points[r], x))

    def cost(phi):
        return (sigma * phi) ** 2 + 2 * sigma * phi * (1 - phi * mu)

    allowed = 15 / 32 * mistakes
    phi = 1.0
    if damage + cost(1.0) > allowed:
        # The root in (0, 1) by bisection.
        low, high = 0.0, 1.0
        for _ in range(200):
            phi = (low + high) / 2
            low, high = (phi, high) if damage + cost(phi) <= allowed else (low, phi)
    model.memory["damage"] = damage + cost(phi)
    model.memory["oldest"] = (r + 1) % model.budget
    model.memory["shrunk"] = model.memory.get("shrunk", 0) + (phi < 1)
    model.beta *= phi
    model.replace(r, x, phi * y)


def _project(model, x, row):
    """(coefficients of the nearest point of the span, squared distance to it)."""
    if not model.points:
        return row, model.kernel(x, x)
    d = np.linalg.lstsq(model.gram(), row, rcond=None)[0]
    return d, max(0.0, model.kernel(x, x) - row @ d)


def projectron(model, x, y, f, row, threshold, plus_plus=False):
    if y * f >= 1 or (y * f > 0 and not plus_plus):
        return
    d, squared = _project(model, x, row)
    delta = np.sqrt(squared)
    if y * f <= 0:
        near = delta <= threshold or squared <= 1e-4 * model.kernel(x, x)
        if near or model.full():
            model.beta = model.beta + y * d
        else:
            model.add(x, y)
        return
    loss, p = 1 - y * f, row @ d
    if loss > delta / threshold:
        tau = min(1.0, loss / p, 2 * (loss - delta / threshold) / p)
        model.beta = model.beta + y * tau * d


def passive_aggressive(model, x, y, f, row, C):
    loss, own = max(0.0, 1 - y * f), model.kernel(x, x)
    if loss == 0:
        return
    tau = min(C, loss / own)
    if not model.full():
        model.add(x, y * tau)
        return
    # The whole optimum for every r that may go: the change of the model against the loss left.
    changes = []
    for r, s in enumerate(model.points):
        alpha = model.beta[r] * row[r] / own + y * tau
        new = f - model.beta[r] * row[r] + alpha * own
        norm = (model.beta[r] ** 2 * model.kernel(s, s) + alpha**2 * own
                - 2 * alpha * model.beta[r] * row[r])  # fmt: skip
        changes.append((norm / 2 + C * max(0.0, 1 - y * new), r, alpha))
    _, r, alpha = min(changes)
    model.replace(r, x, alpha)


def budget_ogd(model, x, y, f, row, learning_rate, regularization, max_coef, sampling):
    eta = learning_rate
    model.beta *= 1 - eta * regularization
    if y * f >= 1:
        return
    if model.full():
        B = model.budget
        keep = np.full(B, (B - 1) / B)
        if sampling == "weighted":
            size = np.abs(model.beta) * np.sqrt([model.kernel(s, s) for s in model.points])
            # min(1, s * size) that sums to B - 1, by bisection on s.
            low, high = 0.0, B / size.min()
            for _ in range(200):
                s = (low + high) / 2
                low, high = (s, high) if np.minimum(1, s * size).sum() < B - 1 else (low, s)
            keep = np.minimum(1, s * size)
            r = int(np.searchsorted(np.cumsum(1 - keep), model.random().uniform(), side="right"))
        else:
            r = model.random().below(B)
        model.beta = model.beta / keep
        model.replace(r, x, eta * y)
    else:
        model.add(x, eta * y)
    model.beta *= min(1.0, eta * max_coef / np.abs(model.beta).max())


def sparse_passive_aggressive(model, x, y, f, row, learning_rate, a, b):
    loss = max(0.0, 1 - y * f)
    if loss == 0 or model.full():
        return
    q = min(a, loss) / b
    if model.random().uniform() < q:
        model.add(x, y * min(learning_rate / q, loss / model.kernel(x, x)))


def nystroem_ogd(model, x, y, f, row, learning_rate, n_components):
    """In the features z = D^{-1/2} V' k, as the paper has it, from the step after the B-th term."""
    memory = model.memory
    if model.full() and "features" not in memory:
        values, V = np.linalg.eigh(model.gram())
        values, V = values[::-1], V[:, ::-1]
        k = min(int((values > 1e-10 * values[0]).sum()), n_components or len(values))
        memory["features"] = (V[:, :k] / np.sqrt(values[:k])).T
        memory["w"] = np.sqrt(values[:k]) * (V[:, :k].T @ model.beta)
    if "features" in memory:
        z = memory["features"] @ row
        if y * (memory["w"] @ z) < 1:
            memory["w"] = memory["w"] + learning_rate * y * z
        model.beta = memory["features"].T @ memory["w"]
    elif y * f < 1:
        model.add(x, learning_rate * y)


def fourier_ogd(X, y, order, frequencies, learning_rate):
    """(w, mean of w over the steps, features of X)."""
    waves = X @ frequencies.T
    Z = np.hstack([np.cos(waves), np.sin(waves)]) / np.sqrt(len(frequencies))
    w = np.zeros(Z.shape[1])
    total = np.zeros_like(w)
    for i in order:
        if y[i] * (w @ Z[i]) < 1:
            w = w + learning_rate * y[i] * Z[i]
        total += w
    return w, total / len(order), Z
