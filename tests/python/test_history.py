"""What `history_` says of maintenance and of the dual, against what the models themselves say."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from budgetsvm import BudgetSVC, BudgetSVR

GAMMA = 0.5
PLAIN = {"gamma": GAMMA, "order": "sequential", "polishing": False, "tol": 0.0, "random_state": 0}


def points(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.where(X[:, 0] + 0.3 * rng.normal(size=n) > 0, 1, -1)


def squared_norm(*models):
    """Of the sum of the first model less the others, in feature space."""
    S = np.vstack([model.support_vectors_ for model in models])
    signs = [1.0, *([-1.0] * (len(models) - 1))]
    coef = np.concatenate([s * m.dual_coef_[0] for s, m in zip(signs, models, strict=True)])
    return coef @ rbf_kernel(S, gamma=GAMMA) @ coef


@pytest.mark.parametrize(
    "maintenance", ["merge", "multi-merge", "project", "remove-smallest", "remove-oldest"]
)
@pytest.mark.parametrize("solver", ["bsca", "bsgd"])
def test_degradation_is_what_one_event_took_from_w(solver, maintenance):
    """All of one class: every row becomes a term, and the last one is too many."""
    X = 2 * points(12)[0]
    X, y = np.vstack([X, 100 + X[:1]]), np.repeat([1, -1], [12, 1])
    X, y = X[[0, 12, *range(1, 12)]], y[[0, 12, *range(1, 12)]]
    size = {"merge_size": 3} if maintenance == "multi-merge" else {}
    machine = {"solver": solver, "C": 0.1 if solver == "bsca" else 1e-4, **PLAIN}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        before = BudgetSVC(None, max_iter=1, **machine).fit(X, y)
    after = BudgetSVC(len(y) - 1, maintenance=maintenance, max_iter=1, **machine, **size).fit(X, y)
    assert before.history_["moved"] == 1
    lost = squared_norm(before, after)
    assert after.history_["degradation"][0] == pytest.approx(lost, rel=1e-4)
    assert lost > 0
    assert before.history_["degradation"][0] == 0


def test_degradation_adds_up_over_outputs():
    X, _ = points(60)
    y = np.arange(60) % 3
    machine = {"C": 1.0, "budget": 20, "max_iter": 2, "shared": False, **PLAIN}
    model = BudgetSVC(**machine).fit(X, y)
    each = [
        BudgetSVC(**machine).fit(X, np.where(y == k, 1, -1)).history_["degradation"]
        for k in range(3)
    ]
    np.testing.assert_allclose(model.history_["degradation"], np.sum(each, axis=0), rtol=1e-6)


@pytest.mark.parametrize("order", ["sequential", "uniform"])
def test_the_dual_of_bsgd_is_that_of_its_own_coefficients(order):
    """Without a budget every coefficient is y α of its sample."""
    X, y = points(50)
    settings = {**PLAIN, "order": order, "solver": "bsgd", "record_objective": True}
    model = BudgetSVC(None, C=2.0, max_iter=4, **settings).fit(X, y)
    beta, K = model.dual_coef_[0], rbf_kernel(model.support_vectors_, gamma=GAMMA)
    dual = np.abs(beta).sum() - 0.5 * beta @ K @ beta
    assert model.history_["dual"][-1] == pytest.approx(dual, rel=1e-6)
    # A sample of each pass cannot leave the box; drawn at random it does, and is not clipped.
    assert (np.abs(beta).max() > 2.0) == (order == "uniform")


def test_the_dual_of_bsgd_on_a_budget_counts_violations():
    X, y = points(80)
    C, passes = 2.0, 5
    model = BudgetSVC(
        15, C=C, solver="bsgd", max_iter=passes, record_objective=True, **PLAIN
    ).fit(X, y)  # fmt: skip
    alpha = C * len(y) * model.history_["moved"].mean()
    dual = alpha - 0.5 * squared_norm(model)
    assert model.history_["dual"][-1] == pytest.approx(dual, rel=1e-5)


def test_the_dual_of_bsgd_for_values():
    X, _ = points(40)
    y = np.sin(X[:, 0])
    model = BudgetSVR(
        None, C=2.0, epsilon=0.1, solver="bsgd", max_iter=3, record_objective=True, **PLAIN
    ).fit(X, y)  # fmt: skip
    rows = rbf_kernel(model.support_vectors_, X, gamma=GAMMA).argmax(axis=1)
    beta, K = model.dual_coef_[0], rbf_kernel(model.support_vectors_, gamma=GAMMA)
    dual = (y[rows] - model.intercept_[0]) @ beta - 0.1 * np.abs(beta).sum() - 0.5 * beta @ K @ beta
    assert model.history_["dual"][-1] == pytest.approx(dual, rel=1e-6)


def test_no_dual_where_alpha_is_not_known():
    X, y = points(40)
    settings = {"solver": "bsgd", "record_objective": True, **PLAIN}
    model = BudgetSVC(10, loss="log_loss", max_iter=2, **settings).fit(X, y)
    assert np.isnan(model.history_["dual"]).all()
    model = BudgetSVC(10, max_iter=2, **settings).fit(X, y)
    assert np.isfinite(model.history_["dual"]).all()
    model.partial_fit(X, y)
    assert np.isnan(model.history_["dual"]).all()
