"""
How training grows with the number of rows
==========================================

A machine on a budget visits every row once or a few times: its time grows in proportion. That of
an exact machine grows with rows times support vectors.
"""

import timeit

import matplotlib.pyplot as plt
import numpy as np

from budgetsvm import SVC, BudgetSVC

rng = np.random.default_rng(0)
X = rng.normal(size=(100_000, 8)).astype(np.float32)
y = np.sin(X[:, 0] * 2) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=len(X)) > 0

fig, ax = plt.subplots(figsize=(7, 4))
for machine, sizes in [
    (SVC(C=1, gamma=0.2), [1000, 2000, 5000, 10_000, 20_000]),
    (BudgetSVC(100, C=1, gamma=0.2, random_state=0), [1000, 5000, 20_000, 50_000, 100_000]),
]:
    taken = []
    for size in sizes:
        names = {"machine": machine, "rows": X[:size], "labels": y[:size]}
        times = timeit.repeat("machine.fit(rows, labels)", number=1, repeat=3, globals=names)
        taken.append(min(times))
    ax.loglog(sizes, taken, "o-", label=type(machine).__name__)
ax.set(xlabel="rows", ylabel="seconds to fit")
ax.legend()
plt.show()
