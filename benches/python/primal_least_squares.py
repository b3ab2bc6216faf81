"""Section 2, Appendix A and Figure 1 of the primal paper: regularised least squares.

    P(w) = λ‖w‖² + ‖Xw - y‖²                      (2.1)
    D(α) = 2αᵀy - αᵀ(XXᵀ + λI)α/λ,  w = Xᵀα/λ     (2.3, 2.5)

Conjugate gradients from 0 on each; what counts is P. The appendix shows for one step that the
primal's is never above the dual's. It holds for every number of steps k: the dual's w after k steps
is Xᵀ times a vector of the Krylov space of (XXᵀ, y), which is a vector of that of (XᵀX, Xᵀy), and
in that space the primal's w is where P is least. The values that the appendix gives are half of P.
"""

from __future__ import annotations

import numpy as np

SHAPES = ((10, 100), (100, 10))
PENALTY = 1.0
STEPS = 10
DRAWS = 20


def conjugate_gradients(product, target, steps: int):
    """Iterates 0 ... steps of the system `product(v) = target`, from 0."""
    v, residual = np.zeros_like(target), target.copy()
    direction, iterates = residual.copy(), [v]
    for _ in range(steps):
        square = residual @ residual
        image = product(direction)
        length = square / (direction @ image) if square > 0 else 0.0
        v = v + length * direction
        residual = residual - length * image
        direction = residual + (residual @ residual / square if square > 0 else 0.0) * direction
        iterates.append(v)
    return iterates


def suboptimality(X, y, steps: int = STEPS):
    """P less its least value, after each step: (on the primal, on the dual)."""

    def objective(w):
        return PENALTY * w @ w + np.sum((X @ w - y) ** 2)

    primal = conjugate_gradients(lambda w: X.T @ (X @ w) + PENALTY * w, X.T @ y, steps)
    dual = conjugate_gradients(lambda a: X @ (X.T @ a) + PENALTY * a, PENALTY * y, steps)
    H = X.T @ X + PENALTY * np.eye(X.shape[1])
    least = objective(np.linalg.solve(H, X.T @ y))
    seen = (
        [objective(w) - least for w in primal],
        [objective(X.T @ a / PENALTY) - least for a in dual],
    )
    return np.array(seen[0]), np.array(seen[1])


def difference(X, y) -> float:
    """Appendix A: dual less primal after one step, as P counts (twice the paper's)."""
    z = X.T @ y
    A, B, C = y @ y, z @ z, np.sum((X @ z) ** 2)
    return (B**2 - A * C) ** 2 / ((B + PENALTY * A) ** 2 * (C + PENALTY * B))


def figure_1(record) -> None:
    """Curves of one draw, and a table of medians over draws."""
    from matplotlib import pyplot as plt

    rows, checks = [], []
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.6))
    for axes, (n, d) in zip(panels, SHAPES, strict=True):
        draws = []
        for seed in range(DRAWS):
            rng = np.random.default_rng(seed)
            X, y = rng.normal(size=(n, d)), rng.normal(size=n)
            draws.append(suboptimality(X, y))
            measured = draws[-1][1][1] - draws[-1][0][1]
            checks.append(abs(measured / difference(X, y) - 1))
        for curve, name in zip(draws[0], ("primal", "dual"), strict=True):
            # What rounding leaves is no curve.
            axes.semilogy(np.where(curve > 1e-12 * curve[0], curve, np.nan), "o-", label=name)
        axes.set(title=f"n = {n}, d = {d}", xlabel="steps", ylabel="P - least P")
        axes.legend()
        for k in (1, 2, 4, 8):
            # Relative to the start.
            at = np.array([[p[k] / p[0], q[k] / q[0]] for p, q in draws])
            rows.append([f"n = {n}, d = {d}", k, *np.median(at, axis=0), int(np.sum(
                at[:, 0] <= at[:, 1] + 1e-13))])  # fmt: skip
    figure.tight_layout()
    title = "Figure 1. Least squares: P above its least value by conjugate gradients"
    header = ["", "steps", "primal, of the start", "dual", f"draws of {DRAWS} with primal <= dual"]
    record.table("figure_1", title, header, rows)
    record.picture("figure_1", title, figure, width=800)
    record.text("appendix_a", "Appendix A: the difference after one step is that of its formula "
                f"in all {len(checks)} draws, to {max(checks):.0e} of it (the appendix's values "
                "are half of equation 2.1's).")  # fmt: skip
