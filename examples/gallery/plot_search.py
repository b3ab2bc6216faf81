"""
A search over C
===============

`budgetsvm.plot.path` draws what a search of scikit-learn's found along one hyperparameter: the
score on rows left out, and how far the folds differ.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.model_selection import GridSearchCV

from budgetsvm import BudgetSVC, plot

X, y = make_moons(1500, noise=0.3, random_state=0)
grid = {"C": 10.0 ** np.arange(-2, 5), "gamma": [0.5, 2, 20]}
search = GridSearchCV(BudgetSVC(budget=40, random_state=0), grid, cv=3).fit(X, y)

fig, ax = plt.subplots(figsize=(6, 4))
plot.path(search, param="C", ax=ax)
plt.show()
