"""Why the last iterate of a projectron is not within 2 points of the perceptron's.

Perceptron and projectron (B = 500) in plain NumPy, float64, with a Cholesky solve for every
projection, beside the library's, on the training set of ADULT in the same orders. Accuracy on the
test set is looked at after the last sample, and, for the NumPy perceptron, also at 10 points of its
last 2,000 samples: how far the perceptron is from itself a moment before.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_solve, cholesky

import budgetsvm as b
from common import load, machine, markdown, parser, require, write

GAMMA = 2**-7


class Kernel:
    """k(x, ·) against chosen training rows, exactly in float64."""

    def __init__(self, X):
        self.X = X.astype(np.float64)
        self.squares = np.asarray(self.X.multiply(self.X).sum(axis=1)).ravel()

    def __call__(self, rows, other, squares):
        products = (other @ self.X[rows].T).toarray()
        distances = squares[:, None] + self.squares[rows][None] - 2 * products
        return np.exp(-GAMMA * np.maximum(distances, 0))


def perceptron(kernel, y, order, looks):
    """(terms, signs) after every step of `looks`."""
    terms, signs, seen = [], [], {}
    block = 256
    for first in range(0, len(order), block):
        part = order[first : first + block]
        X, squares = kernel.X[part], kernel.squares[part]
        f = kernel(terms, X, squares) @ np.array(signs) if terms else np.zeros(len(part))
        own = kernel(part, X, squares)
        for at, i in enumerate(part):
            if y[i] * f[at] <= 0:
                terms.append(i)
                signs.append(y[i])
                f += y[i] * own[:, at]
            if first + at + 1 in looks:
                seen[first + at + 1] = (list(terms), np.array(signs))
    return seen


def projectron(kernel, y, order, budget, threshold):
    """(terms, coefficients) after the last sample."""
    terms, beta, factor, gram = [], np.zeros(0), None, np.zeros((0, 0))
    for i in order:
        X, squares = kernel.X[i], kernel.squares[i : i + 1]
        row = kernel(terms, X, squares)[0] if terms else np.zeros(0)
        if y[i] * (row @ beta) > 0:
            continue
        d = cho_solve((factor, True), row) if terms else row
        rest = max(0.0, 1 - row @ d)
        if np.sqrt(rest) <= threshold or rest <= 1e-4 or len(terms) >= budget:
            beta = beta + y[i] * d
            continue
        gram = np.block([[gram, row[:, None]], [row[None], np.ones((1, 1))]])
        terms.append(i)
        beta, factor = np.append(beta, y[i]), cholesky(gram, lower=True)
    return terms, beta


def main():
    options = parser(__doc__)
    options.add_argument("--orders", type=int, default=3)
    options.add_argument("--threshold", type=float, default=0.1)
    asked = options.parse_args()
    require(asked.data, ["adult"])
    X, y, X_test, y_test = load(asked.data, "adult")
    kernel, y = Kernel(X), np.asarray(y, dtype=float)
    test = X_test.astype(np.float64)
    squares = np.asarray(test.multiply(test).sum(axis=1)).ravel()

    def accuracy(terms, beta):
        right = 0
        for first in range(0, test.shape[0], 2000):
            part = slice(first, first + 2000)
            values = kernel(terms, test[part], squares[part]) @ beta
            right += int(((values > 0) == (y_test[part] > 0)).sum())
        return 100 * right / test.shape[0]

    rows = []
    for seed in range(asked.orders):
        order = np.random.default_rng(seed).permutation(len(y))
        looks = set(range(len(y), len(y) - 2000, -200))
        path = [
            accuracy(*found) for _, found in sorted(perceptron(kernel, y, order, looks).items())
        ]
        plain = accuracy(*projectron(kernel, y, order, 500, asked.threshold))
        common = {"gamma": GAMMA, "average": False, "order": order.tolist()}
        wide = X.astype(np.float64)
        ours = [
            100 * model.fit(wide, y).score(X_test.astype(np.float64), y_test)
            for model in (
                b.KernelPerceptron(**common),
                b.Projectron(500, threshold=asked.threshold, **common),
            )
        ]
        rows.append([
            str(seed), f"{path[-1]:.2f}", f"{ours[0]:.2f}", f"{plain:.2f}", f"{ours[1]:.2f}",
            f"{min(path):.2f} to {max(path):.2f}",
        ])  # fmt: skip
        print(" | ".join(rows[-1]), flush=True)
    header = [
        "order", "perceptron, NumPy", "KernelPerceptron", "projectron, NumPy", "Projectron",
        "NumPy perceptron over its last 2,000 samples",
    ]  # fmt: skip
    note = f"ADULT, γ = 2⁻⁷, test accuracy in %, η = {asked.threshold:g}. {machine()}."
    write(asked.out / "projectron_swing.md", markdown(header, rows) + "\n\n" + note)


if __name__ == "__main__":
    main()
