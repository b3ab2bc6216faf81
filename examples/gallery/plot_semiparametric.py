"""
A trend that is known, and the rest
===================================

A sine and a line, seen with noise from 0 to 10 and asked for from -2 to 15. A Gaussian machine
ends where the data end; with the line as a known function its parameter is found beside the
kernel's, unpenalised, and goes on.
"""

import matplotlib.pyplot as plt
import numpy as np

from budgetsvm import SVR, SemiparametricSVR

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 10, 200))
y = 0.5 * x + np.sin(3 * x) + 0.2 * rng.normal(size=x.size)
grid = np.linspace(-2, 15, 300)

plain = SVR(C=10, gamma=1.0, epsilon=0.1).fit(x[:, None], y)
known = SemiparametricSVR(lambda X: X[:, 0], C=10, gamma=1.0, epsilon=0.1).fit(x[:, None], y)

fig, ax = plt.subplots(figsize=(8, 3.8))
ax.plot(x, y, ".", color="0.6", ms=4)
ax.plot(grid, plain.predict(grid[:, None]), label="SVR")
values = known.predict(grid[:, None])
ax.plot(grid, values, label=f"with a line: slope {known.parametric_coef_[0]:.2f}")
ax.set(xlabel="x", ylabel="y")
ax.legend()
plt.show()
