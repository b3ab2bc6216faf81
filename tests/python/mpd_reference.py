"""A general QP solver and the MPD paper's example, for tests."""

import numpy as np


def interior_point(H, q, upper, F, totals=0.0, steps=60):
    """`min 1/2 aᵀHa + qᵀa`, `0 <= a <= upper`, `Fᵀa = totals`: a general primal-dual QP solver."""
    n, k = F.shape
    a, z, w, eta = upper / 2, np.ones(n), np.ones(n), np.zeros(k)
    for _ in range(steps):
        s = upper - a
        mu = (a @ z + s @ w) / (2 * n)
        if mu < 1e-14:
            break
        target = 0.1 * mu
        dual = H @ a + q + F @ eta - z + w
        D = H + np.diag(z / a + w / s)
        rhs = -dual + (target - a * z) / a - (target - s * w) / s
        solved = np.linalg.solve(D, np.column_stack([rhs, F]))
        step_eta = np.linalg.solve(F.T @ solved[:, 1:], F.T @ solved[:, 0] + F.T @ a - totals)
        da = solved[:, 0] - solved[:, 1:] @ step_eta
        dz = (target - a * z - z * da) / a
        dw = (target - s * w + w * da) / s
        ratios = [
            np.min(np.where(d < 0, -v / np.minimum(d, -1e-300), np.inf))
            for v, d in ((a, da), (z, dz), (s, -da), (w, dw))
        ]
        t = min(1.0, 0.99 * min(ratios))
        a, z, w, eta = a + t * da, z + t * dz, w + t * dw, eta + t * step_eta
    return a, eta


def sinc_data(m, seed=0):
    """The example of the paper's section 6."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 10, (m, 1))
    noise = rng.uniform(-0.2 * np.sqrt(3), 0.2 * np.sqrt(3), m)
    return X, np.sin(X[:, 0]) + np.sinc(2 * (X[:, 0] - 5)) + noise


def sine(X):
    return np.sin(X[:, 0])


def sinc(X):
    return np.sinc(2 * (X[:, 0] - 5))
