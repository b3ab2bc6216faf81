"""
What one prediction costs
=========================

From one row to a thousand in a call, by the number of terms: the time of a small call is Python's,
that of a large one is kernel values.
"""

import timeit

import matplotlib.pyplot as plt
import numpy as np

from budgetsvm import BudgetSVC

rng = np.random.default_rng(0)
X = rng.normal(size=(5000, 20)).astype(np.float32)
y = X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=len(X)) > 0
rows = [1, 4, 16, 64, 256, 1024]

fig, ax = plt.subplots(figsize=(7, 4))
for budget in [10, 100, 1000]:
    clf = BudgetSVC(budget, C=1, gamma=0.05, random_state=0).fit(X, y)
    taken = []
    for n in rows:
        names = {"clf": clf, "part": X[:n]}
        times = timeit.repeat("clf.predict(part)", number=5, repeat=20, globals=names)
        taken.append(min(times) / 5)
    ax.loglog(rows, 1e6 * np.array(taken), "o-", label=f"{budget} terms")
ax.set(xlabel="rows in a call", ylabel="microseconds a call")
ax.legend()
plt.show()
