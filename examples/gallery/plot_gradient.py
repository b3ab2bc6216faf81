"""
What a model looks at
=====================

Left: the gradient of the decision value, an arrow for every tenth row, across the boundary. Right:
the importances of ten features of which five count, from gradients (`feature_importances`), beside
scikit-learn's permutation importance.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1, make_moons
from sklearn.inspection import permutation_importance

from budgetsvm import BudgetSVC, BudgetSVR

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4))

X, y = make_moons(1500, noise=0.2, random_state=0)
clf = BudgetSVC(budget=40, C=10, gamma=1, random_state=0).fit(X, y)
grid = np.stack(np.meshgrid(np.linspace(-1.6, 2.6, 80), np.linspace(-1.2, 1.7, 60)), axis=-1)
values = clf.decision_function(grid.reshape(-1, 2)).reshape(60, 80)
left.contourf(*np.moveaxis(grid, 2, 0), values, levels=20, cmap="coolwarm", alpha=0.6)
left.contour(*np.moveaxis(grid, 2, 0), values, levels=[0], colors="k")
slopes = clf.gradient(X[::10])
left.quiver(*X[::10].T, *slopes.T, angles="xy")
left.set_title("gradient of the decision value")

X, y = make_friedman1(2000, 10, noise=0.5, random_state=0)
model = BudgetSVR(budget=100, C=10, random_state=0).fit(X[:1500], y[:1500])
permuted = permutation_importance(model, X[1500:], y[1500:], random_state=0).importances_mean
places = np.arange(10)
right.barh(places - 0.2, model.feature_importances(X[:1500]), 0.4, label="gradient")
right.barh(places + 0.2, permuted / permuted.sum(), 0.4, label="permutation")
right.set_yticks(places, [f"x{k}" for k in places])
right.invert_yaxis()
right.legend()
right.set_title("importance")
plt.tight_layout()
plt.show()
