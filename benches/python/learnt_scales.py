"""`feature_scales="learn"` beside the same machine without, and descent on the training cost.

    python benches/python/learnt_scales.py
    python benches/python/learnt_scales.py --only puma32h,madelon --rows 2000

Chapelle's paper on the primal (section 6.3) proposes to learn hyperparameters by descent on the
training cost itself, jointly with the coefficients: here for reduced least squares on 300 landmarks
in NumPy, from the standardised features with the width and λ that exact leave-one-out likes best,
λ held (the cost falls without end with it), 40 evaluations of L-BFGS. The machine is SVC or SVR at
its defaults, but standardised values of y, on at most so many training rows.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from scipy.optimize import minimize

from auto import CLASSES, raw
from budgetsvm import SVC, SVR
from common import machine, parser, require

SETS = "madelon spambase satimage higgs-sample usps puma32h cpuact abalone".split()


def cost(theta: np.ndarray, X: np.ndarray, Y: np.ndarray, m: int, lam: float) -> tuple:
    """The training cost of ridge regression on m landmarks, and its gradient by log scales."""
    x = X * np.exp(theta)
    z = x[:m]
    squares = (x**2).sum(1)
    K = np.exp(-np.maximum(squares[:, None] + squares[None, :m] - 2 * x @ z.T, 0.0))
    n = len(X)
    normal = K.T @ K / n + lam * K[:m] + 1e-7 * np.eye(m)
    A = np.linalg.solve(normal, K.T @ Y / n)
    R = K @ A - Y
    whole = (Y**2).mean(0).sum()
    value = ((R**2).sum() / n + lam * (A * (K[:m] @ A)).sum()) / whole
    # A is at its least: only K moves.
    pulls = 2.0 / n * R @ A.T
    pulls[:m] += lam * A @ A.T
    v = -2.0 * pulls * K / whole
    gradient = (x**2 * v.sum(1)[:, None]).sum(0) + (z**2 * v.sum(0)[:, None]).sum(0)
    gradient -= 2.0 * ((v @ z) * x).sum(0)
    return value, gradient


def check_gradient() -> None:
    rng = np.random.default_rng(0)
    X, Y, theta = rng.normal(size=(50, 4)), rng.normal(size=(50, 2)), 0.2 * rng.normal(size=4)
    _, gradient = cost(theta, X, Y, 12, 0.05)
    for k in range(4):
        step = 1e-5 * (np.arange(4) == k)
        slope = (
            cost(theta + step, X, Y, 12, 0.05)[0] - cost(theta - step, X, Y, 12, 0.05)[0]
        ) / 2e-5
        assert abs(slope - gradient[k]) < 1e-5 * (1 + abs(slope)), (k, slope, gradient[k])


def left_out(X: np.ndarray, Y: np.ndarray, m: int) -> tuple[float, float]:
    """The width and λ of the least leave-one-out error (landmarks apart)."""
    best = (np.inf, 1.0, 1.0)
    squares = (X**2).sum(1)
    D = np.maximum(squares[:, None] + squares[None, :m] - 2 * X @ X[:m].T, 0.0)
    for width in 2.0 ** np.arange(-4, 5):
        K = np.exp(-width * D / D.mean())
        for lam in 10.0 ** np.arange(-6, 1):
            normal = K.T @ K / len(X) + lam * K[:m] + 1e-7 * np.eye(m)
            H = K @ np.linalg.solve(normal, K.T) / len(X)
            missed = ((Y - H @ Y) / (1 - np.diag(H)).clip(0.01)[:, None])[m:]
            best = min(best, ((missed**2).sum(), width / D.mean(), lam))
    return best[1], best[2]


def by_training_cost(X: np.ndarray, y: np.ndarray, classify: bool) -> tuple[np.ndarray, float]:
    """Scales of X, and γ."""
    spread = X.std(0)
    factor = np.divide(1.0, spread, where=spread > 0, out=np.zeros_like(spread))
    Z = (X - X.mean(0)) * factor
    labels = np.unique(y)
    targets = np.where(y[:, None] == labels, 1.0, -1.0) if classify else y[:, None]
    Y, m = targets - targets.mean(0), min(300, len(X) // 3)
    gamma, lam = left_out(Z, Y, m)
    root = np.sqrt(gamma)
    found = minimize(
        cost, np.zeros(X.shape[1]), args=(root * Z, Y, m, lam), jac=True, method="L-BFGS-B",
        bounds=[(-6, 3)] * X.shape[1], options={"maxfun": 40},
    )  # fmt: skip
    scales = root * np.exp(found.x)
    return scales / scales.max() * factor, float(scales.max() ** 2)


def main() -> None:
    options = parser(__doc__ or "")
    options.add_argument("--only", default=",".join(SETS))
    options.add_argument("--rows", type=int, default=2000)
    given = options.parse_args()
    names = given.only.split(",")
    if given.quick:
        names, given.rows = ["spambase"], 400
    require(given.data, names)
    print(machine())
    check_gradient()
    print(f"{'':16}{'standardised':>14}{'learn':>14}{'training cost':>14}   seconds of each")
    warnings.simplefilter("ignore")
    for name in names:
        X, y, X_test, y_test = raw(given.data, name)
        keep = np.random.default_rng(0).permutation(len(X))[: given.rows]
        X, y = X[keep].astype(float), y[keep]
        X_test, y_test = X_test[:10_000].astype(float), y_test[:10_000]
        classify = name in CLASSES
        if not classify:
            y, y_test = (y - y.mean()) / y.std(), (y_test - y.mean()) / y.std()
        cls: Any = SVC if classify else SVR
        spread = X.std(0)
        standard = np.divide(1.0, spread, where=spread > 0, out=np.zeros_like(spread))
        scores, seconds = [], []
        for way in ("standardised", "learn", "training cost"):
            begun = time.perf_counter()
            own: dict[str, Any] = {"feature_scales": "learn"}
            if way == "standardised":
                own = {"feature_scales": standard}
            elif way == "training cost":
                scales, gamma = by_training_cost(X, y, classify)
                own = {"feature_scales": scales, "gamma": gamma}
            model = cls(**own).fit(X, y)
            seconds.append(time.perf_counter() - begun)
            scores.append(100 * model.score(X_test, y_test))
        print(f"{name:16}" + "".join(f"{s:14.2f}" for s in scores), "  ",
              " ".join(f"{s:.1f}" for s in seconds), flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
