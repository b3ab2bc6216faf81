"""
Coordinate ascent and gradient descent on a budget
==================================================

The objective after every pass, by dual coordinate ascent (BSCA) and by stochastic gradient descent
(BSGD), without the polishing that ends a fit. The dual steps need no step size and lie still from
the fourth pass on; those of gradient descent go on swinging. One pass and polishing end below both.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from budgetsvm import BudgetSVC

X, y = make_moons(4000, noise=0.25, random_state=0)
fig, ax = plt.subplots(figsize=(7, 4))
for solver in ["bsca", "bsgd"]:
    for budget in [20, 100]:
        clf = BudgetSVC(
            budget, C=1, gamma=2.0, solver=solver, polishing=False, max_iter=15, tol=0,
            record_objective=True, random_state=0,
        ).fit(X, y)  # fmt: skip
        primal = clf.history_["primal"]
        ax.plot(range(1, len(primal) + 1), primal, "o-", ms=3, label=f"{solver}, B = {budget}")
polished = BudgetSVC(100, C=1, gamma=2.0, random_state=0).fit(X, y)
ax.axhline(polished.objective_["primal"], color="k", ls="--", label="one pass, polished, B = 100")
ax.set(xlabel="passes", ylabel="primal objective")
ax.legend(fontsize=8)
plt.show()
