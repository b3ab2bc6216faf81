"""Learn from a stream part by part, and test on each part before it is learnt from.

The concept drifts: the boundary turns a little with every part. The model never holds more than
its budget, and no row is seen twice.
"""

import numpy as np

from budgetsvm import BudgetSVC


def part(number: int, n: int = 500):
    """Points around the origin; the line between the classes turns by two degrees a part."""
    X = np.random.default_rng(number).normal(size=(n, 2))
    angle = np.radians(2 * number)
    return X, np.where(X @ [np.cos(angle), np.sin(angle)] > 0, "right", "left")


# A row counts half after 700 more: the boundary has turned by three degrees then.
clf = BudgetSVC(budget=50, gamma=0.5, forgetting=0.999, random_state=0)
scores = []
for number in range(30):
    X, y = part(number)
    if number > 0:
        scores.append(clf.score(X, y))
    clf.partial_fit(X, y, classes=["left", "right"])

print(f"{clf.n_terms_} support vectors after {30 * len(y):,} rows")
print(f"accuracy on parts not yet seen: {np.mean(scores):.3f} on average")
