"""
What a smaller budget gives up
==============================

The exact machine keeps hundreds of rows as terms. Merged and polished, twenty draw nearly the same
boundary; five draw its outline.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from budgetsvm import SVC, BudgetSVC

X, y = make_moons(2000, noise=0.25, random_state=0)
across, down = np.meshgrid(np.linspace(-1.8, 2.8, 160), np.linspace(-1.4, 1.9, 120))
places = np.column_stack([across.ravel(), down.ravel()])

machines = {
    "SVC": SVC(C=10, gamma=1.0),
    "B = 20": BudgetSVC(20, C=10, gamma=1.0, random_state=0),
    "B = 5": BudgetSVC(5, C=10, gamma=1.0, random_state=0),
    "B = 5, refined": BudgetSVC(5, C=10, gamma=1.0, refine=True, random_state=0),
}
fig, axes = plt.subplots(1, 4, figsize=(12, 3), sharex=True, sharey=True)
for ax, (name, clf) in zip(axes, machines.items(), strict=True):
    values = clf.fit(X, y).decision_function(places).reshape(across.shape)
    ax.contourf(across, down, values, levels=[-1e9, 0, 1e9], colors=["#dbe7f5", "#f7ddd4"])
    ax.contour(across, down, values, levels=[0], colors="k")
    terms = clf.support_vectors_
    ax.plot(*terms.T, "k.", ms=3 if len(terms) > 50 else 8)
    ax.set_title(f"{name}: {len(terms)} terms, {100 * clf.score(X, y):.1f} %", fontsize=9)
fig.tight_layout()
plt.show()
