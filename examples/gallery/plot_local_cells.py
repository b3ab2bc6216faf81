"""
A machine in each of many cells
===============================

``LocalBudgetSVC`` cuts the space into cells (thin lines) and trains a machine in each, here the
exact one: a prediction costs the kernel values of one cell. Cells overlap: a row is learnt by the
nearest few, so that the boundary runs on from one cell to the next.
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
    centres = clf.cluster_centers_
    cell = ((places[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1).reshape(across.shape)
    for k in range(len(centres)):
        ax.contour(across, down, cell == k, levels=[0.5], colors="0.3", linewidths=0.5)
    ax.plot(*centres.T, "k.", ms=3)
    title = f"{n_clusters} cells, about {clf.n_support_.mean():.0f} terms each"
    ax.set_title(f"{title}, {100 * clf.score(X, y):.1f} %", fontsize=10)
fig.tight_layout()
plt.show()
