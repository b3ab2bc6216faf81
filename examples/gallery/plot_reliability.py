"""
Are the probabilities true?
===========================

Of the rows of which 80 % is said, 80 % should be of the class. `calibrate` fits what
`predict_proba` makes of decision values; `budgetsvm.plot.reliability` compares it with what
happened, on rows that the machine has not seen.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from budgetsvm import BudgetSVC, plot

X, y = make_moons(6000, noise=0.35, random_state=0)
clf = BudgetSVC(budget=40, C=10, gamma=2, random_state=0).fit(X[:2000], y[:2000])

fig, axes = plt.subplots(1, 3, figsize=(10, 3.6))
for ax, method in zip(axes, ["sigmoid", "isotonic", "temperature"], strict=True):
    clf.calibrate(X[:2000], y[:2000], method=method)
    shown = plot.reliability(clf, X[2000:], y[2000:], ax=ax)
    ax.set_title(f"{method}: off by {shown.error_:.3f}")
plt.tight_layout()
plt.show()
