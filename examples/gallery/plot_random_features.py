"""
A kernel from random features
=============================

The Gaussian kernel of a thousand pairs of rows, and what its approximations make of them: Fourier
features are noisy everywhere, Nyström features are exact where the data have few directions.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from budgetsvm import Nystroem, RandomFourier

X = load_digits().data / 16
gamma = 0.05
first, second = np.random.default_rng(0).integers(len(X), size=(2, 1000))
exact = np.exp(-gamma * ((X[first] - X[second]) ** 2).sum(axis=1))

fig, axes = plt.subplots(1, 2, figsize=(8, 3.8), sharex=True, sharey=True)
for ax, kind in zip(axes, [RandomFourier, Nystroem], strict=True):
    for n_components in [50, 400]:
        Z = kind(n_components=n_components, gamma=gamma, random_state=0).fit_transform(X)
        ax.plot(exact, (Z[first] * Z[second]).sum(axis=1), ".", ms=2, label=str(n_components))
    ax.plot([0, 1], [0, 1], "k", lw=0.8)
    ax.set(title=kind.__name__, xlabel="kernel")
    ax.legend(title="components", markerscale=4)
axes[0].set_ylabel("product of features")
plt.show()
