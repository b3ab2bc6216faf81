"""
Accuracy against the number of terms
====================================

How many kernel values a prediction costs, and what it buys, on the bundled Adult data: machines on
a budget, refined or not, beside Nyström features with a linear machine and the exact machine.
"""

import matplotlib.pyplot as plt

from budgetsvm import SVC, AssetSVC, BudgetSVC
from budgetsvm.datasets import load_adult

X, y, X_test, y_test = load_adult()
common = {"C": 32, "gamma": 2**-7, "random_state": 0}
sizes = [5, 10, 20, 50, 100, 200, 500]

exact = SVC(C=32, gamma=2**-7).fit(X, y)
scores = {
    "BudgetSVC": [BudgetSVC(size, **common) for size in sizes],
    "BudgetSVC, refined": [BudgetSVC(size, refine=True, **common) for size in sizes[:4]],
    "AssetSVC (Nyström)": [AssetSVC(n_components=size, max_iter=10, **common) for size in sizes],
}
fig, ax = plt.subplots(figsize=(7, 4))
for name, machines in scores.items():
    found = [100 * machine.fit(X, y).score(X_test, y_test) for machine in machines]
    ax.semilogx(sizes[: len(found)], found, "o-", label=name)
ax.axhline(100 * exact.score(X_test, y_test), color="k", ls="--", label="SVC, exact")
ax.text(5, 100 * exact.score(X_test, y_test) + 0.03, f"{len(exact.support_):,} terms", fontsize=8)
ax.set(xlabel="terms", ylabel="test accuracy, %", ylim=(82.5, 85.5))
ax.legend()
plt.show()
