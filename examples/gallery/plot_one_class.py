"""
Level sets of one class
=======================

``BudgetOneClassSVM`` learns where normal rows lie, without labels: outside the thick line a row is
new. ``nu`` is about the share of training rows left outside.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from budgetsvm import BudgetOneClassSVM

middles = [(-1, 0), (1.2, 0.7), (0.4, -1.4)]
X, _ = make_blobs(2000, centers=middles, cluster_std=0.35, random_state=0)
across, down = np.meshgrid(np.linspace(-2.6, 2.8, 150), np.linspace(-3, 2.3, 150))
places = np.column_stack([across.ravel(), down.ravel()])

fig, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True)
for ax, nu in zip(axes, [0.02, 0.2], strict=True):
    machine = BudgetOneClassSVM(budget=50, nu=nu, gamma=2.0, random_state=0).fit(X)
    values = machine.decision_function(places).reshape(across.shape)
    ax.contourf(across, down, values, levels=12, cmap="Blues")
    ax.contour(across, down, values, levels=[0], colors="k", linewidths=2)
    ax.plot(*X.T, ".", ms=1.5, color="0.3")
    outside = np.mean(machine.predict(X) < 0)
    ax.set_title(f"nu={nu}: {100 * outside:.1f} % outside, {machine.n_terms_} terms", fontsize=10)
fig.tight_layout()
plt.show()
