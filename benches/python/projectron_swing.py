"""Why the last iterate of a projectron is not within 2 points of the perceptron's.

Perceptron and projectron (B = 500) in plain NumPy, float64, with a Cholesky solve for every
projection, beside the library's, on the training set of ADULT in the same orders. Accuracy on the
test set is looked at after the last sample, and, for the NumPy perceptron, also at 5 points of its
last 2,000 samples: how far the perceptron is from itself a moment before.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_solve, cholesky

import budgetsvm as b
from common import load, machine, markdown, parser, require, write

GAMMA = 2**-7
BLOCK = 256


def kernel(A, B):
    """Gaussian kernel of all pairs of rows, float64."""
    squares = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1)[None]
    return np.exp(-GAMMA * np.maximum(squares - 2 * A @ B.T, 0))


def perceptron(X, y, order, looks):
    """(terms, signs) after every step of `looks`."""
    terms, signs, seen = [], [], {}
    for first in range(0, len(order), BLOCK):
        part = order[first : first + BLOCK]
        f = kernel(X[part], X[terms]) @ np.array(signs) if terms else np.zeros(len(part))
        own = kernel(X[part], X[part])
        for at, i in enumerate(part):
            if y[i] * f[at] <= 0:
                terms.append(i)
                signs.append(y[i])
                f += y[i] * own[:, at]
            if first + at + 1 in looks:
                seen[first + at + 1] = (list(terms), np.array(signs))
    return seen


def projectron(X, y, order, budget, threshold):
    """(terms, coefficients) after the last sample."""
    terms, beta, gram = [], np.zeros(0), np.zeros((0, 0))
    factor = None
    for first in range(0, len(order), BLOCK):
        part = order[first : first + BLOCK]
        rows = kernel(X[part], X[terms]) if terms else np.zeros((len(part), 0))
        own = kernel(X[part], X[part])
        for at, i in enumerate(part):
            row = rows[at]
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
            rows = np.hstack([rows, own[:, at : at + 1]])
    return terms, beta


def main():
    options = parser(__doc__)
    options.add_argument("--orders", type=int, default=3)
    options.add_argument("--threshold", type=float, default=0.1)
    asked = options.parse_args()
    require(asked.data, ["adult"])
    X, y, X_test, y_test = load(asked.data, "adult")
    X, X_test = X.toarray().astype(np.float64), X_test.toarray().astype(np.float64)
    y = np.asarray(y, dtype=float)

    def accuracy(terms, beta):
        parts = np.array_split(np.arange(len(y_test)), 16)
        values = [kernel(X_test[part], X[terms]) @ beta for part in parts]
        return 100 * np.mean((np.concatenate(values) > 0) == (y_test > 0))

    rows = []
    for seed in range(asked.orders):
        order = np.random.default_rng(seed).permutation(len(y))
        looks = set(range(len(y), len(y) - 2000, -400))
        path = [accuracy(*found) for _, found in sorted(perceptron(X, y, order, looks).items())]
        plain = accuracy(*projectron(X, y, order, 500, asked.threshold))
        common = {"gamma": GAMMA, "average": False, "order": order.tolist()}
        ours = [
            100 * model.fit(X, y).score(X_test, y_test)
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
