"""AutoSVC, AutoSVR and learnt scales do not depend on the order of the columns."""

from __future__ import annotations

import numpy as np
import pytest

from budgetsvm import SVC, AutoSVC, AutoSVR


@pytest.mark.parametrize("n", [400, 3600])
@pytest.mark.parametrize("kind", ["two", "several", "values"])
def test_permuted_columns_are_the_same_machine(kind: str, n: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 7))
    X[:, 6] = rng.integers(0, 3, n)
    value = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 6] + 0.3 * rng.normal(size=n)
    y = {"two": value > 0, "several": np.digitize(value, [-0.7, 0.7]), "values": value}[kind]
    order = rng.permutation(7)
    made = AutoSVR if kind == "values" else AutoSVC
    plain = made(random_state=0).fit(X[: n // 2], y[: n // 2])
    moved = made(random_state=0).fit(X[: n // 2, order], y[: n // 2])
    # The search is the same to the bit; the last solution is by sums in another order.
    assert [r["error"] for r in plain.leaderboard_] == [r["error"] for r in moved.leaderboard_]
    np.testing.assert_allclose(plain.feature_scales_[order], moved.feature_scales_, rtol=1e-12)
    found, again = plain.predict(X[n // 2 :]), moved.predict(X[n // 2 :, order])
    if kind == "values":
        np.testing.assert_allclose(found, again, atol=1e-2 * value.std())
    else:
        assert (found == again).mean() >= 0.998


def test_learnt_scales_go_with_their_columns() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 6))
    y = (X[:, 0] * X[:, 3] > 0).astype(int)
    order = rng.permutation(6)
    plain = SVC(feature_scales="learn", random_state=0).fit(X, y).feature_scales_
    moved = SVC(feature_scales="learn", random_state=0).fit(X[:, order], y).feature_scales_
    np.testing.assert_allclose(plain[order], moved, rtol=1e-12)
