"""
Decision boundaries of each kernel
==================================

The same three hundred points, a budget of 30 terms, and every kernel there is by name. Merging
belongs to the Gaussian kernel; with the others a term over the budget is projected onto the rest.
Polynomials of degree 3 of two features have ten dimensions, straight lines two: more terms than
that say nothing new. The sigmoid of a small ``gamma`` is nearly a line.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from budgetsvm import BudgetSVC

X, y = make_moons(300, noise=0.2, random_state=0)
across, down = np.meshgrid(np.linspace(-1.6, 2.6, 150), np.linspace(-1.2, 1.7, 120))
places = np.column_stack([across.ravel(), down.ravel()])

kernels = ["rbf", "laplacian", "matern32", "matern52", "poly", "sigmoid", "linear"]
fig, axes = plt.subplots(2, 4, figsize=(11, 5), sharex=True, sharey=True)
for ax, kernel in zip(axes.flat, kernels, strict=False):
    gamma = 0.1 if kernel == "sigmoid" else 1.0
    clf = BudgetSVC(
        30, C=10, kernel=kernel, gamma=gamma, coef0=1.0 if kernel == "poly" else 0.0,
        fit_intercept=True, random_state=0,
    ).fit(X, y)  # fmt: skip
    values = clf.decision_function(places).reshape(across.shape)
    ax.contourf(across, down, values, levels=[-1e9, 0, 1e9], colors=["#dbe7f5", "#f7ddd4"])
    ax.contour(across, down, values, levels=[-1, 0, 1], colors="k", linestyles=["--", "-", "--"])
    ax.scatter(*X.T, c=y, cmap="coolwarm", s=6)
    ax.set_title(f"{kernel}, {clf.n_terms_} terms, {100 * clf.score(X, y):.0f} %", fontsize=10)
axes.flat[-1].axis("off")
fig.tight_layout()
plt.show()
