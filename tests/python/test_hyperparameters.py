"""Every hyperparameter of the machines on a budget, changed, changes what is learnt: for two
classes, for several that share their terms or do not, and for values."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from budgetsvm import BudgetSVC, BudgetSVR

RNG = np.random.default_rng(5)
X = RNG.normal(size=(420, 3))
VALUES = np.sin(2 * X[:, 0]) + 0.4 * X[:, 1] + 0.2 * RNG.normal(size=len(X))

#: Of each kind of output: the estimator and its targets.
OUTPUTS = {
    "two classes": (BudgetSVC(), VALUES > 0),
    "shared terms": (BudgetSVC(), np.digitize(VALUES, [-0.5, 0.5])),
    "terms of their own": (BudgetSVC(shared=False), np.digitize(VALUES, [-0.5, 0.5])),
    "values": (BudgetSVR(), VALUES),
}

#: The names as they are asked for, what is set beside them, and values that are not the default.
POLY = {"kernel": "poly", "gamma": 0.3}
CHANGES = {
    "budget": ({}, [10, None]),
    "C": ({}, [7.0]),
    "kernel": ({}, ["laplacian", "poly", "matern32"]),
    "gamma": ({}, [3.0, "auto"]),
    "feature_scales": ({}, [np.linspace(0.5, 2.0, X.shape[1])]),
    "degree": (POLY, [2]),
    "coef0": (POLY, [1.0]),
    "loss": ({}, ["squared_hinge", "squared_epsilon_insensitive", "quantile", "log_loss"]),
    "epsilon": ({}, [0.3]),
    "quantile": ({"loss": "quantile"}, [0.9]),
    "solver": ({}, ["bsgd"]),
    "maintenance": ({}, [
        "multi-merge", "remove-smallest", "remove-random", "remove-oldest", "project", "stop",
    ]),
    "merge_search": ({}, ["golden", "table"]),
    "merge_size": ({}, [3, 5]),
    "polishing": ({}, [False]),
    "smoothing": ({}, [0.5]),
    "refine": ({}, [True]),
    "refine_iter": ({"refine": True}, [2]),
    "fit_intercept": ({}, [True, False]),
    "max_iter": ({}, [3]),
    "tol": ({"budget": None, "max_iter": 200}, [0.5]),
    "order": ({}, ["uniform", "sequential"]),
    "shared": ({}, [False]),
    "class_weight": ({}, ["balanced", {0: 3.0}]),
    "early_stopping": ({}, [True]),
    "validation_fraction": ({"early_stopping": True}, [0.3]),
    "n_iter_no_change": (
        {"early_stopping": True, "max_iter": 60, "solver": "bsgd", "C": 100.0, "polishing": False},
        [1],
    ),
    "n_expected": ({"solver": "bsgd", "polishing": False}, [5000]),
    "random_state": ({}, [9]),
    "forgetting": ({}, [0.99]),
}  # fmt: skip

#: These change no answer: where they show is tested elsewhere.
NO_ANSWER = {
    "cache_size", "callback", "max_time", "n_jobs", "record_objective", "resumable", "verbose",
    "warm_start",
}  # fmt: skip

#: What means nothing to some outputs, and the pages say so.
ONLY = {"shared": {"shared terms"}}

#: What shows when training goes on with more rows.
STREAM = {"forgetting"}


def cases():
    for outputs, (model, _) in OUTPUTS.items():
        for name, (beside, values) in CHANGES.items():
            if name not in model.get_params() or outputs not in ONLY.get(name, OUTPUTS):
                continue
            for value in values:
                classifies = isinstance(model, BudgetSVC)
                if value is model.get_params()[name]:
                    continue
                if name == "loss" and (value in ("squared_hinge", "log_loss")) != classifies:
                    continue
                yield pytest.param(outputs, name, value, beside, id=f"{outputs}-{name}={value}")


def decided(model, y, settings, stream=False):
    base = {"budget": 20, "gamma": 1.0, "random_state": 0}
    model = clone(model).set_params(**{**base, **settings})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
        if stream:  # of more rows than wait for each other
            model.partial_fit(np.tile(X, (6, 1)), np.tile(y[::-1], 6))
    return getattr(model, "decision_function", model.predict)(X)


@pytest.mark.parametrize(("outputs", "name", "value", "beside"), list(cases()))
def test_changed_it_changes_something(outputs, name, value, beside):
    model, y = OUTPUTS[outputs]
    stream = name in STREAM
    before = decided(model, y, beside, stream)
    assert not np.array_equal(before, decided(model, y, {**beside, name: value}, stream))


@pytest.mark.parametrize("outputs", OUTPUTS)
def test_none_is_forgotten(outputs):
    assert set(OUTPUTS[outputs][0].get_params()) <= set(CHANGES) | NO_ANSWER


@pytest.mark.parametrize("search", ["golden", "table"])
@pytest.mark.parametrize("outputs", OUTPUTS)
def test_searches_of_partners_find_nearly_the_same(outputs, search):
    """Another search is another rounding or another table, not another algorithm."""
    model, y = OUTPUTS[outputs]
    plain = {"polishing": False, "budget": 60}
    before = decided(model, y, plain)
    after = decided(model, y, {**plain, "merge_search": search})
    assert np.corrcoef(before.ravel(), after.ravel())[0, 1] > 0.9


@pytest.mark.parametrize("outputs", OUTPUTS)
def test_multi_merge_is_a_merge_of_three(outputs):
    model, y = OUTPUTS[outputs]
    three = decided(model, y, {"merge_size": 3})
    for size in (2, 3):
        asked = {"maintenance": "multi-merge", "merge_size": size}
        np.testing.assert_array_equal(decided(model, y, asked), three)
    four = decided(model, y, {"maintenance": "multi-merge", "merge_size": 4})
    np.testing.assert_array_equal(four, decided(model, y, {"merge_size": 4}))
