"""
Scales that are learnt
======================

Twenty features, of which three matter, one of them little: ``AutoSVC`` finds a scale for each.
"""

import matplotlib.pyplot as plt
import numpy as np

from budgetsvm import SVC, AutoSVC

rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 20))
y = np.sin(2 * X[:, 3]) + X[:, 7] ** 2 + 0.3 * X[:, 12] > 1
train, test = slice(0, 2000), slice(2000, None)

clf = AutoSVC(random_state=0).fit(X[train], y[train])
plain = SVC(C=10).fit(X[train], y[train])
fig, ax = plt.subplots(figsize=(8, 3.5))
ax.bar(range(20), clf.feature_scales_)
ax.set_xticks(range(20))
ours, theirs = 100 * clf.score(X[test], y[test]), 100 * plain.score(X[test], y[test])
ax.set(xlabel="feature", ylabel="learnt scale")
ax.set_title(f"AutoSVC {ours:.1f} %, one scale for all {theirs:.1f} %")
fig.tight_layout()
plt.show()
