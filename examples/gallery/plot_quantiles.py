"""
Bands of quantiles
==================

The quantile loss asks not for the mean but for the value that a share of the targets stays below.
A list of quantiles is one machine: they share the support vectors, and do not cross.
"""

import matplotlib.pyplot as plt
import numpy as np

from budgetsvm import BudgetSVR

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 6, 1500))
y = np.sin(x) + rng.normal(size=x.size) * (0.1 + 0.12 * x)
grid = np.linspace(0, 6, 200)

fig, ax = plt.subplots(figsize=(7, 4))
ax.plot(x, y, ".", ms=2, color="0.7")
quantiles = [0.05, 0.25, 0.5, 0.75, 0.95]
machine = BudgetSVR(50, loss="quantile", quantile=quantiles, C=10, gamma=1.0, random_state=0)
machine.fit(x[:, None], y)
below = (y[:, None] < machine.predict(x[:, None])).mean(axis=0)
curves = machine.predict(grid[:, None]).T
for quantile, share, curve in zip(quantiles, below, curves, strict=True):
    ax.plot(grid, curve, label=f"{quantile}: {100 * share:.0f} % below")
for lower, upper in [(0, 4), (1, 3)]:
    ax.fill_between(grid, curves[lower], curves[upper], color="C0", alpha=0.15, lw=0)
ax.set(xlabel="x", ylabel="y")
ax.legend(ncols=2, fontsize=8)
plt.show()
