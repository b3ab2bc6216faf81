"""
A small machine in each of many cells
=====================================

``LocalBudgetSVC`` cuts the space into cells and trains a machine of few terms in each; neighbours
overlap, so that the boundary runs on from one cell to the next.
"""

import matplotlib.pyplot as plt
import numpy as np

from budgetsvm import LocalBudgetSVC

rng = np.random.default_rng(0)
X = rng.uniform(-3, 3, size=(6000, 2))
y = np.sin(3 * X[:, 0]) > X[:, 1] / 2
across, down = np.meshgrid(np.linspace(-3, 3, 200), np.linspace(-3, 3, 200))
places = np.column_stack([across.ravel(), down.ravel()])

fig, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True)
for ax, n_clusters in zip(axes, [4, 60], strict=True):
    clf = LocalBudgetSVC(n_clusters=n_clusters, C=10, gamma=1.0, random_state=0).fit(X, y)
    ax.imshow(
        clf.predict(places).reshape(across.shape), extent=(-3, 3, -3, 3), origin="lower",
        cmap="coolwarm", alpha=0.4,
    )  # fmt: skip
    ax.plot(*X.T, ".", ms=0.8, color="0.4")
    ax.set_title(f"{n_clusters} cells, {100 * clf.score(X, y):.1f} %", fontsize=10)
fig.tight_layout()
plt.show()
