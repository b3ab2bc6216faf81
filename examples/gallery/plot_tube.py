"""
Regression inside a tube
========================

Errors smaller than ε cost nothing: the wider the tube, the fewer rows an exact machine keeps. A
budget says how many terms there are whatever ε.
"""

import matplotlib.pyplot as plt
import numpy as np

from budgetsvm import SVR, BudgetSVR

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(-3, 3, 600))
y = np.sinc(x) + 0.1 * rng.normal(size=x.size)
grid = np.linspace(-3, 3, 300)[:, None]

fig, axes = plt.subplots(1, 3, figsize=(11, 3.3), sharey=True)
for ax, machine in zip(
    axes,
    [
        SVR(C=10, gamma=2.0, epsilon=0.05),
        SVR(C=10, gamma=2.0, epsilon=0.25),
        BudgetSVR(10, C=10, gamma=2.0, epsilon=0.05, random_state=0),
    ],
    strict=True,
):
    found = machine.fit(x[:, None], y).predict(grid)
    ax.plot(x, y, ".", ms=2, color="0.6")
    ax.plot(grid, found)
    ax.fill_between(grid[:, 0], found - machine.epsilon, found + machine.epsilon, alpha=0.2)
    terms = len(machine.support_vectors_)
    ax.set_title(f"{type(machine).__name__}, ε={machine.epsilon}: {terms} terms", fontsize=10)
fig.tight_layout()
plt.show()
