"""What an answer does not depend on: whether a weight is in C, the unit of a feature beside γ."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import is_classifier

from budgetsvm import SVC, SVR, AssetSVC, AssetSVR, BudgetSVC, BudgetSVR, PrimalSVC, PrimalSVR

MACHINES = (BudgetSVC, BudgetSVR, SVC, SVR, AssetSVC, AssetSVR, PrimalSVC, PrimalSVR)


def made(cls: type, **own: Any) -> Any:
    seed = {"random_state": 0} if "random_state" in cls().get_params() else {}
    few = {"budget": 20} if "budget" in cls().get_params() else {}
    return cls(**own, **seed, **few)


def problem(cls: type, n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1]
    return X, ((y > 0).astype(int) if is_classifier(cls()) else y)


@pytest.mark.parametrize("cls", MACHINES)
def test_all_weights_doubled_is_c_doubled(cls: type) -> None:
    """To the bit: a weight and C are multiplied before anything is done."""
    X, y = problem(cls)
    weights = np.random.default_rng(1).uniform(0.1, 2.0, len(y))
    for C in (0.5, 3.0):
        one = made(cls, C=2.0 * C, gamma=0.5).fit(X, y, weights)
        other = made(cls, C=C, gamma=0.5).fit(X, y, 2.0 * weights)
        np.testing.assert_array_equal(one.predict(X), other.predict(X))
        if hasattr(one, "decision_function"):
            np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))


@pytest.mark.parametrize("cls", MACHINES)
@pytest.mark.parametrize("power", [-20, 20])
def test_units_by_powers_of_two_change_no_bit(cls: type, power: int) -> None:
    """All features in another unit, γ with them; "scale" finds it by itself."""
    X, y = problem(cls)
    for gamma in (0.5, "scale"):
        other: Any = gamma if gamma == "scale" else gamma * 2.0 ** (-2 * power)
        one = made(cls, gamma=gamma).fit(X, y).predict(X)
        scaled = X * 2.0**power
        np.testing.assert_array_equal(made(cls, gamma=other).fit(scaled, y).predict(scaled), one)
        # The same by scales in its place.
        back = np.full(4, 2.0**-power)
        again = made(cls, gamma=gamma, feature_scales=back).fit(scaled, y).predict(scaled)
        np.testing.assert_array_equal(again, one)
