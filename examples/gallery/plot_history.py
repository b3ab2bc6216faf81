"""
A fit, pass by pass
===================

`budgetsvm.plot.history` draws what `history_` keeps, a point a pass. Left: the primal objective
falls and the dual one rises until they nearly meet (``record_objective=True`` asks for them); the
last point is that of polishing, which no dual step can reach. Right: ever fewer rows still change
the model.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from budgetsvm import BudgetSVC, plot

X, y = make_moons(4000, noise=0.25, random_state=0)
clf = BudgetSVC(budget=60, C=1, gamma=2, max_iter=8, tol=0, record_objective=True, random_state=0)
clf.fit(X, y)

fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3.5))
plot.history(clf, curves=["primal", "dual"], ax=left)
plot.history(clf, curves=["moved"], ax=right)
plt.tight_layout()
plt.show()
