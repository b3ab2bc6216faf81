"""
A stream whose concept turns
============================

Every row is predicted first and learnt then. At row 8,000 the two classes change places. A machine
that counts all rows alike takes the longer to come back the more it has seen; one that forgets is
back within a few hundred rows, and pays for it with noise while nothing changes.
"""

import matplotlib.pyplot as plt
import numpy as np

from budgetsvm import BudgetSVC

rng = np.random.default_rng(0)
n, turn, block = 12_000, 8000, 100
X = rng.normal(size=(n, 2))
label = np.sign(np.sin(2 * X[:, 0]) + X[:, 1])
label[turn:] *= -1

fig, ax = plt.subplots(figsize=(8, 3.5))
for forgetting in [1.0, 0.999, 0.995]:
    clf = BudgetSVC(100, C=1, gamma=0.5, forgetting=forgetting, random_state=0)
    clf.partial_fit(X[:block], label[:block], classes=[-1, 1])
    right = []
    for first in range(block, n, block):
        part = slice(first, first + block)
        right.extend(clf.predict(X[part]) == label[part])
        clf.partial_fit(X[part], label[part])
    curve = np.convolve(right, np.ones(300) / 300, "valid")
    ax.plot(np.arange(len(curve)) + 300, 100 * curve, label=f"forgetting={forgetting}")
ax.axvline(turn, color="k", lw=0.8)
ax.set(xlabel="rows", ylabel="accuracy of the last 300, %")
ax.legend()
fig.tight_layout()
plt.show()
