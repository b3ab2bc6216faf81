"""
Support vectors as images
=========================

The terms of a machine that tells threes from other digits, drawn by `budgetsvm.plot.terms`, those
of the largest coefficients first: threes, and what could be taken for one.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from budgetsvm import BudgetSVC, plot

X, y = load_digits(return_X_y=True)
clf = BudgetSVC(budget=36, C=10, gamma=1e-3, random_state=0).fit(X, y == 3)

fig, ax = plt.subplots(figsize=(5, 5))
plot.terms(clf, shape=(8, 8), n_terms=36, ax=ax)
plt.show()
