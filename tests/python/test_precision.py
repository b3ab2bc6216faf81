"""What fits tell of themselves, computed again with fifty digits."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest

import budgetsvm

RNG = np.random.default_rng(3)
X = RNG.normal(size=(60, 3))
LABELS = (X[:, 0] * X[:, 1] + 0.4 * RNG.normal(size=60) > 0).astype(int)
VALUES = np.sin(2 * X[:, 0]) + 0.2 * RNG.normal(size=60)
GAMMA, C = 0.4, 2.0
#: Of the objective: what is told agrees to this.
OFF = Decimal("1e-10")


@pytest.fixture(autouse=True)
def digits():
    with localcontext() as context:
        context.prec = 50
        yield


def decimals(values):
    """The numbers as they are, every bit of them."""
    return [Decimal(float(value)) for value in np.ravel(values)]


def kernel(rows, points):
    """exp(-γ |x - z|²), a list a row."""
    rows, points = [decimals(x) for x in rows], [decimals(z) for z in points]
    gamma = Decimal(GAMMA)

    def value(x, z):
        return (-gamma * sum((a - b) ** 2 for a, b in zip(x, z, strict=True))).exp()

    return [[value(x, z) for z in points] for x in rows]


def product(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]


def dot(one, other):
    return sum(a * b for a, b in zip(one, other, strict=True))


def agree(told, found, size):
    assert abs(Decimal(float(told)) - found) <= OFF * max(abs(size), 1)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "how", [{"max_iter": 25}, {"tol": 1e-3}, {"C": 1e4, "max_iter": 200}], ids=str
)
@pytest.mark.parametrize("name", ["SVC", "SVR"])
def test_the_gap_of_an_exact_machine(name, how):
    classes = name == "SVC"
    own = {"C": C, "gamma": GAMMA, **({} if classes else {"epsilon": 0.1}), **how}
    model = getattr(budgetsvm, name)(**own).fit(X, LABELS if classes else VALUES)
    beta = [Decimal(0)] * len(X)
    for at, coef in zip(model.support_, decimals(model.dual_coef_), strict=True):
        beta[at] = coef
    f = product(kernel(X, X), beta)
    values = [g + Decimal(float(model.intercept_[0])) for g in f]
    if classes:
        signs = [Decimal(2 * int(y) - 1) for y in LABELS]
        losses = [max(Decimal(0), 1 - s * v) for s, v in zip(signs, values, strict=True)]
        linear = dot(signs, beta)
    else:
        y, tube = decimals(VALUES), decimals([0.1])[0]
        losses = [max(Decimal(0), abs(a - b) - tube) for a, b in zip(y, values, strict=True)]
        linear = dot(y, beta) - tube * sum(map(abs, beta))
    square, cost = dot(beta, f) / 2, Decimal(own["C"]) * sum(losses)
    gap = model.duality_gap_[0] if classes else model.duality_gap_
    agree(gap, square + cost - (linear - square), square + cost)
    if "tol" not in how:
        assert gap > 1e-3  # stopped: there is something to tell


def expansion(model):
    """½ βᵀKβ of a machine of one output, and its values at the rows."""
    beta = decimals(model.dual_coef_[0])
    points = model.support_vectors_
    square = dot(beta, product(kernel(points, points), beta)) / 2
    offset = Decimal(float(model.intercept_[0]))
    return square, [value + offset for value in product(kernel(X, points), beta)]


def violations(values):
    signs = [2 * int(y) - 1 for y in LABELS]
    return [max(Decimal(0), 1 - sign * value) for sign, value in zip(signs, values, strict=True)]


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize(
    "how", [{"budget": 20}, {"budget": 100}, {"budget": 10, "refine": True}], ids=str
)
def test_the_objective_of_a_machine_on_a_budget(how, fit_intercept):
    model = budgetsvm.BudgetSVC(
        C=C, gamma=GAMMA, fit_intercept=fit_intercept, random_state=0, **how
    )
    square, values = expansion(model.fit(X, LABELS))
    found = square + Decimal(C) * sum(violations(values))
    agree(model.objective_["primal"], found, found)


@pytest.mark.parametrize("solver", ["newton", "cg"])
def test_the_objective_of_a_machine_in_the_primal(solver):
    model = budgetsvm.PrimalSVC(C=C, gamma=GAMMA, solver=solver)
    square, values = expansion(model.fit(X, LABELS))
    found = square + Decimal(C) * sum(v * v for v in violations(values))
    agree(model.objective_["primal"], found, found)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_objectives_of_a_machine_on_features(loss):
    model = budgetsvm.AssetSVC(
        C=C, gamma=GAMMA, features="fourier", n_components=16, solver="dual", loss=loss,
        random_state=0,
    ).fit(X, LABELS)  # fmt: skip
    assert model.objective_["primal"] >= model.objective_["dual"]
    w = decimals(model.coef_[0])
    values = decimals(model.decision_function(X))
    losses = [v if loss == "hinge" else v * v for v in violations(values)]
    found = dot(w, w) / 2 + Decimal(C) * sum(losses)
    agree(model.objective_["primal"], found, found)
