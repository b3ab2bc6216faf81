"""
A fit, pass by pass
===================

`budgetsvm.plot.history` draws what `history_` keeps: how the objective falls and the support
vectors fill the budget. ``record_objective=True`` asks for the first of these.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from budgetsvm import BudgetSVC, plot

X, y = make_moons(4000, noise=0.25, random_state=0)
clf = BudgetSVC(budget=60, C=10, gamma=2, max_iter=8, record_objective=True, random_state=0)
clf.fit(X, y)

fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3.5))
plot.history(clf, curves=["primal"], ax=left)
plot.history(clf, curves=["n_sv"], ax=right)
plt.tight_layout()
plt.show()
