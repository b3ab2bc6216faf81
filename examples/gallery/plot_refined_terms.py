"""
A basis before and after refining
=================================

Ten terms for ten digits. A pass with merging finds terms that look like mixtures of rows;
``refine=True`` moves their points along the gradient of the objective. They need not look like
digits any more: they are where the machine wants to look.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from budgetsvm import BudgetSVC

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X / 16, y, random_state=0)

fig, axes = plt.subplots(2, 20, figsize=(11, 1.9))
for row, refine in zip(axes, [False, True], strict=True):
    clf = BudgetSVC(20, C=10, gamma=0.15, refine=refine, random_state=0).fit(X, y)
    for ax, term in zip(row, clf.support_vectors_, strict=False):
        ax.imshow(term.reshape(8, 8), cmap="gray_r")
    for ax in row:
        ax.set_xticks([])
        ax.set_yticks([])
    score = 100 * clf.score(X_test, y_test)
    what = "refined" if refine else "as merged"
    row[0].set_title(f"{what}: {score:.1f} % on held-out digits", loc="left", fontsize=10)
fig.tight_layout()
plt.show()
