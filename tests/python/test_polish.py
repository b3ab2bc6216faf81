"""Polishing with many terms: the objective that is told is that of the model, recomputed here, and
no point nearby has a lower one."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from budgetsvm import BudgetSVC, BudgetSVR

TERMS = 820


def waves(n, d, dtype):
    rng = np.random.default_rng(4)
    X = rng.uniform(-1, 1, (n, d)).astype(dtype)
    y = np.sign(np.sin(4 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.4 * rng.normal(size=n))
    return X, y


def smoothed_hinge(z, h):
    return np.where(z >= 1 + h, 0, np.where(z <= 1 - h, 1 - z, (1 + h - z) ** 2 / (4 * h)))


def gram(model, A, B):
    A, B = (np.asarray(part.todense() if hasattr(part, "todense") else part) for part in (A, B))
    A, B = A.astype(np.float64), B.astype(np.float64)
    if model.kernel == "rbf":
        squares = (A**2).sum(1)[:, None] + (B**2).sum(1)[None] - 2 * A @ B.T
        return np.exp(-model.gamma * np.maximum(squares, 0))
    return (model.gamma * A @ B.T + model.coef0) ** model.degree


CASES = {
    "float64": ({}, np.float64, False),
    "float32": ({}, np.float32, False),
    "sparse rows": ({}, np.float64, True),
    "another kernel": (
        {
            "kernel": "poly",
            "gamma": 0.5,
            "coef0": 1.0,
            "degree": 3,
            "maintenance": "remove-smallest",
        },
        np.float64,
        False,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_objective_is_that_of_the_model(case):
    settings, dtype, sparse = CASES[case]
    X, y = waves(1500, 4, dtype)
    rows = csr_array(X) if sparse else X
    model = BudgetSVC(**{"C": 3, "gamma": 4.0, "budget": TERMS, "random_state": 0, **settings})
    model.fit(rows, y)
    assert 800 <= model.n_terms_ <= TERMS
    coef, terms = model.dual_coef_[0].astype(np.float64), model.support_vectors_
    K, K_BB = gram(model, X, terms), gram(model, terms, terms)

    def objective(coef):
        losses = smoothed_hinge(y * (K @ coef), model.smoothing)
        return 0.5 * coef @ K_BB @ coef + model.C * losses.sum()

    here, told = objective(coef), model.objective_["smoothed"]
    assert told == pytest.approx(here, rel=1e-5 if dtype == np.float32 else 1e-8)
    z = y * (K @ coef)
    h = model.smoothing
    slope = np.where(z >= 1 + h, 0, np.where(z <= 1 - h, -1, -(1 + h - z) / (2 * h)))
    gradient = K_BB @ coef + model.C * K.T @ (y * slope)
    zone = np.abs(1 - z) < h
    hessian = K_BB + model.C / (2 * h) * K[zone].T @ K[zone] + 1e-6 * np.eye(len(coef))
    step = -np.linalg.solve(hessian, gradient)
    for length in (0.01, 0.1, 0.5, 1.0):
        assert objective(coef + length * step) >= here * (1 - 2e-3)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("terms", [60, TERMS])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log_loss"])
def test_tol_says_how_near_the_minimum(loss, n_classes, terms, dtype):
    X, _ = waves(1500, 4, dtype)
    y = np.digitize(np.sin(4 * X[:, 0]) + X[:, 1], np.linspace(-1, 1, n_classes + 1)[1:-1])
    model = BudgetSVC(C=3, gamma=4.0, budget=terms, loss=loss, random_state=0)
    ends = {
        tol: model.set_params(tol=tol).fit(X, y).objective_["smoothed"]
        for tol in (0, 1e-9, 1e-5, 1e-3, 0.3)
    }
    assert ends[0] == ends[1e-9]
    for tol, end in ends.items():
        # The step that is left out promises `tol`; what it would lead to is seen from there.
        assert end <= ends[1e-9] * (1 + 2 * tol)
    assert ends[1e-9] < ends[1e-3]
    # Both are the minimum to 3e-6 where the first step that tells leads there.
    assert ends[1e-5] <= ends[0.3]


def test_tol_of_values_says_how_near_the_minimum():
    X, _ = waves(1500, 4, np.float64)
    model = BudgetSVR(C=3, gamma=4.0, budget=60, random_state=0)
    ends = [
        model.set_params(tol=tol).fit(X, np.sin(4 * X[:, 0])).objective_["smoothed"]
        for tol in (1e-9, 1e-3, 0.3)
    ]
    assert ends[0] < ends[1] <= ends[0] * (1 + 2e-3)
    assert ends[1] < ends[2]
