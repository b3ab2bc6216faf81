"""The kernels and the losses by name: what the hyperparameters allow and what the pages say.

A new one is a line here; a loss with a hyperparameter of its own has a line in `LOSS_PARAMETERS`
too, and is declared in the base of the estimators that take it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

# The names as types, which checkers of users' code read: `test_drift.py` holds them to the tables.
Kernel: TypeAlias = Literal["rbf", "laplacian", "matern32", "matern52", "poly", "sigmoid", "linear"]
AnyKernel: TypeAlias = Kernel | Literal["precomputed"] | Callable[[Any, Any], Any]
Gamma: TypeAlias = Literal["scale", "auto"] | float
TunedGamma: TypeAlias = Literal["scale", "auto", "tune"] | float
TunedCost: TypeAlias = Literal["tune"] | float
ClassLoss: TypeAlias = Literal["hinge", "squared_hinge", "log_loss"]
ValueLoss: TypeAlias = Literal["epsilon_insensitive", "squared_epsilon_insensitive", "quantile"]
LeastSquares: TypeAlias = Literal["least_squares"]
Order: TypeAlias = (
    Literal["shuffled", "blocks", "uniform", "sequential"] | Sequence[int] | np.ndarray
)
RandomState: TypeAlias = int | np.random.RandomState | None
ClassWeight: TypeAlias = Literal["balanced"] | dict[Any, float] | None

#: Kernels, with their formulas.
KERNELS = {
    "rbf": "``exp(-γ ‖x-z‖²)``",
    "laplacian": "``exp(-γ ‖x-z‖₁)``",
    "matern32": "``(1 + t) exp(-t)`` with ``t = √(6γ) ‖x-z‖``: Matérn, length scale ``1/√(2γ)``",
    "matern52": "``(1 + t + t²/3) exp(-t)`` with ``t = √(10γ) ‖x-z‖``, smoother",
    "poly": "``(γ x·z + coef0)^degree``",
    "sigmoid": "``tanh(γ x·z + coef0)``",
    "linear": "``x·z``",
}
#: Those of a distance: they have random Fourier features.
DISTANCES = ("rbf", "laplacian", "matern32", "matern52")

#: Losses for labels y = ±1.
CLASS_LOSSES = {
    "hinge": "``max(0, 1 - y f)``",
    "squared_hinge": "``max(0, 1 - y f)²``",
    "log_loss": "``ln(1 + exp(-y f))``, f the logarithm of the odds",
}
#: Losses for values.
VALUE_LOSSES = {
    "epsilon_insensitive": "``max(0, |y - f| - ε)``",
    "squared_epsilon_insensitive": "``max(0, |y - f| - ε)²``",
    "quantile": "``max(q (y - f), (1 - q) (f - y))``",
}
#: Those of them in which errors up to ε cost nothing.
WITH_TUBE = ("epsilon_insensitive", "squared_epsilon_insensitive")
#: Those of them whose slope has a bound: there C bounds the coefficients, in the units of y.
OF_BOUNDED_SLOPE = ("epsilon_insensitive", "quantile")
#: A loss that the primal machines alone have, for labels and for values.
LEAST_SQUARES = {"least_squares": "``(y - f)²``"}
#: Hyperparameters that one of them has: bounds, default, and what a page says.
LOSS_PARAMETERS = {
    "epsilon": ({"least": 0}, "0.1", "Half-width ε >= 0 of the tube in which errors cost nothing."),
    "quantile": ({"above": 0, "below": 1}, "0.5", "The quantile q of y at x that f(x) is to be."),
}
