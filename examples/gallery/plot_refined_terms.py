"""
A basis before and after refining
=================================

Twelve terms for ten digits. A pass with merging finds terms that are mixtures of rows;
``refine=True`` moves their points along the gradient of the objective. The last row is what the
moves added (red) and took away (blue): a term need not look like a digit any more.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from budgetsvm import BudgetSVC

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X / 16, y, random_state=0)

fig, axes = plt.subplots(3, 12, figsize=(11, 3.6))
shown = []
for row, refine in zip(axes, [False, True], strict=False):
    clf = BudgetSVC(12, C=10, gamma=0.15, refine=refine, random_state=0).fit(X, y)
    shown.append(clf.support_vectors_)
    for ax, term in zip(row, clf.support_vectors_, strict=True):
        ax.imshow(term.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
    score = 100 * clf.score(X_test, y_test)
    what = "refined" if refine else "as merged"
    row[0].set_title(f"{what}: {score:.1f} % on held-out digits", loc="left", fontsize=10)
for ax, move in zip(axes[2], shown[1] - shown[0], strict=True):
    ax.imshow(move.reshape(8, 8), cmap="RdBu_r", vmin=-0.5, vmax=0.5)
axes[2, 0].set_title("the moves", loc="left", fontsize=10)
for ax in axes.flat:
    ax.set(xticks=[], yticks=[])
fig.subplots_adjust(left=0.01, right=0.99, bottom=0.01, top=0.92, wspace=0.05, hspace=0.3)
plt.show()
