"""Every hyperparameter of every estimator: a wrong value is named before the data are looked at."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import budgetsvm
from budgetsvm import _parameters
from budgetsvm._exact import ExactEstimator

ESTIMATORS = [
    cls for cls in (getattr(budgetsvm, name) for name in budgetsvm.__all__) if isinstance(cls, type)
]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)

HUGE = 10**400
LONG = 10**5000  # more digits than Python prints
NO_NUMBER = ["1", "", "scale", math.nan, math.inf, -math.inf, 1j, HUGE, -HUGE, LONG, True,
             np.array([1.0]), np.array(1.0), [1.0], {}, b"1", object()]  # fmt: skip
NO_COUNT = [*NO_NUMBER, 0, -1, 1.5, 2.0, 10**30, -(10**30), np.float64(3.0), np.array([3])]
NO_FLAG = ["a", "True", "", 1, 0, 1.0, math.nan, HUGE, None, b"", [], [True], {}, object(),
           np.array([True, False]), np.array(1)]  # fmt: skip
NO_NAME = ["nonsense", "", None, 3, True, math.nan, HUGE, b"rbf", ["rbf"], {}, object(),
           np.array(["rbf"]), np.array("rbf")]  # fmt: skip
NAMES = (
    "assign features kernel local loss maintenance merge_search pruning sampling solver waves "
    "update decision_function_shape"
).split()
POSITIVE = (
    "C cache_size epsilon learning_rate max_coef max_intercept max_time nu regularization "
    "sampling_denominator sampling_numerator smoothing threshold tol coef0 center_step "
    "eigenvalue_threshold validation_fraction constraint_tol constraint_atol intercept_penalty "
    "relaxation quantile"
).split()
COUNTS = (
    "budget degree max_iter merge_size n_clusters n_components n_expected n_frequencies "
    "n_iter_no_change n_landmarks overlap refine_iter tune_size working_set"
).split()
FLAGS = (
    "average break_ties early_stopping fit_intercept halving learn_scales leave_one_out orthogonal "
    "polishing record_objective record_history refine refit shared shrinking strongly_convex tune "
    "warm_start probability"
).split()
BEYOND = {
    "center_step": [-0.1, 1.1], "coef0": [None], "eigenvalue_threshold": [-0.1, 1.0],
    "epsilon": [-1, None], "max_intercept": [0, -1], "max_time": [0, -1], "nu": [0, -1, 1.1, None],
    "regularization": [-1, None], "threshold": [-1, None], "tol": [-1, None],
    "validation_fraction": [0, 1, 1.5, -1, None], "degree": [2**40, None], "merge_size": [1],
    "quantile": [0, 1, -1, None], "constraint_tol": [0, -1], "constraint_atol": [-1, None],
    "intercept_penalty": [-1, None], "relaxation": [0, -1, 2.0, None],
}  # fmt: skip
NO_PLACES = ["ten", "", 0, -1, 1.5, math.nan, None, True, HUGE, [], [0.0], [-1.0], ["a"], [None],
             [[1.0]], {}, object()]  # fmt: skip
OTHERS = {
    "Cs": NO_PLACES,
    "gammas": NO_PLACES,
    "cv": ["five", "", 1, 0, -1, 1.5, math.nan, True, object()],
    "scoring": ["nonsense", "", 3, math.nan, True, [], ["accuracy"], {}, object()],
    "averaging": ["all", "", 0, -1, 1.5, math.nan, True, [3], {}, HUGE, np.array(3)],
    "basis": ["nonsense", "", 3, math.nan, {}, object(), True],
    "callback": ["a", 3, {}, [], True, math.nan],
    "class_weight": ["even", "", 3, math.nan, [1.0], {0: -1.0}, {0: math.nan}, {0: "1"},
                     {0: math.inf}, {0: HUGE}, {0: None}, {0: [1]}, np.array([1.0])],
    "feature_scales": ["nonsense", "", 3, math.nan, {}, object(), True, [], [[1.0]], ["1"], [True],
                       [HUGE], [1.0, -1.0], [0.0], [math.nan], [math.inf], np.zeros(3)],
    "forgetting": [*NO_NUMBER, 0, -1, 1.5, None],
    "functions": ["a", 3, object()],
    "gamma": [*NO_NUMBER[:2], *NO_NUMBER[3:], -1, "wide", None],
    "n_jobs": [0, "2", 1.5, math.nan, math.inf, HUGE, [1], {}, np.array([1]), ""],
    "order": ["random", "", None, 3, [], [-1], [0.5], ["0"], [True], {}, math.nan, HUGE, [HUGE],
              np.zeros((2, 2), int), np.array([-1]), np.array([0.5]), np.array([], dtype=int)],
    "random_state": ["seed", "", -1, 1.5, math.nan, HUGE, 2**40, {}, [1.5], object()],
    "resumable": [value for value in NO_FLAG if value is not None],
    "verbose": ["yes", "", -1, 1.5, math.nan, None, [], {}, np.array([1, 2])],
}  # fmt: skip


def wrong_values(cls, name):
    """What this parameter of this class may never be."""
    if name in FLAGS:
        values = NO_FLAG
    elif name in NAMES:
        values = NO_NAME
    elif name in COUNTS:
        values = NO_COUNT + BEYOND.get(name, [])
    elif name in POSITIVE:
        values = NO_NUMBER + BEYOND.get(name, [0, -1, None])
    else:
        values = OTHERS[name]
    allowed = [0] if name == "degree" else []
    if issubclass(cls, ExactEstimator):
        # What scikit-learn's machines take, ours that are named alike take too: True as a number,
        # an infinite C, kernels that are functions, weights of any kind that it can multiply.
        allowed += [True, math.inf] if name in (*POSITIVE, "gamma") else []
        allowed += [-1, 0, True] if name in ("max_iter", "working_set") else []
        if name == "working_set":
            allowed = [True]
        if name == "class_weight":
            values = ["even", "", 3, math.nan, [1.0], np.array([1.0])]
        allowed += [0] if name == "gamma" else []
    elif name == "cache_size" and "Asset" in cls.__name__:
        allowed += [0]
    return [value for value in values if not any(same(value, other) for other in allowed)]


def same(a, b):
    return type(a) is type(b) and not isinstance(a, np.ndarray) and a == b


class Untouchable:
    """Data that must not be looked at."""

    def __getattr__(self, name):
        raise AssertionError(f"X was asked for {name}")

    def __len__(self):
        raise AssertionError("X was asked for its length")

    def __array__(self, *args, **kwargs):
        raise AssertionError("X was asked for its values")


def fitted(cls):
    params = cls().get_params()
    start = {name: value for name, value in [
        ("budget", 10), ("n_components", 10), ("n_frequencies", 10), ("n_clusters", 2),
        ("random_state", 0), ("gamma", 0.5),
    ] if name in params}  # fmt: skip
    return cls(**start).fit(X, Y)


def output(model):
    for method in ("decision_function", "transform", "predict"):
        if hasattr(model, method):
            return getattr(model, method)(X)
    raise AssertionError("nothing to compare")


def tries(model):
    """The calls that train, by name."""
    # One class makes its targets of the number of rows.
    one_class = (budgetsvm.OneClassSVM, budgetsvm.SemiparametricOneClassSVM)
    X_none = X if isinstance(model, one_class) else Untouchable()
    yield "fit", lambda: model.fit(X_none, Y)
    for name in ("partial_fit", "polish", "test_then_train"):
        if hasattr(type(model), name):
            yield name, lambda name=name: getattr(model, name)(X_none, Y)


CASES = [(cls, name) for cls in ESTIMATORS for name in cls().get_params(deep=False)]


@pytest.mark.parametrize(
    ("cls", "name"), CASES, ids=[f"{cls.__name__}-{name}" for cls, name in CASES]
)
def test_a_wrong_value_is_named_and_changes_nothing(cls, name):
    model = fitted(cls)
    before, kept = output(model), model.get_params(deep=False)[name]
    for value in wrong_values(cls, name):
        setattr(model, name, value)
        state = {key: id(item) for key, item in model.__dict__.items()}
        for call, train in tries(model):
            # An AttributeError: a stream that these hyperparameters do not have.
            missing = () if call == "fit" else (AttributeError,)
            with pytest.raises((ValueError, TypeError, *missing)) as raised:
                train()
            told = str(raised.value)
            named = "partial_fit" if raised.type is AttributeError else name
            assert re.search(rf"\b{named}\b", told), f"{call}, {value!r:.50}: {told}"
        assert {key: id(item) for key, item in model.__dict__.items()} == state
    setattr(model, name, kept)
    np.testing.assert_array_equal(output(model), before)


def test_every_hyperparameter_has_a_rule():
    without = {
        f"{cls.__name__}.{name}"
        for cls, name in CASES
        if name not in _parameters.RULES and name not in getattr(cls, "_parameter_constraints", ())
    }
    assert not without


@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_numpys_scalars_are_numbers(cls):
    """Hyperparameters out of a grid are often NumPy's."""
    model = fitted(cls)
    as_numpy = {}
    for name, value in model.get_params(deep=False).items():
        if isinstance(value, bool) and not issubclass(cls, ExactEstimator):
            as_numpy[name] = np.bool_(value)
        elif type(value) is int:
            as_numpy[name] = np.int32(value)
        elif type(value) is float:
            as_numpy[name] = np.float64(value)
    again = cls(**{**model.get_params(deep=False), **as_numpy}).fit(X, Y)
    np.testing.assert_array_equal(output(again), output(model))


COUNTED = [(cls, name) for cls, name in CASES if name in COUNTS and name != "degree"]


@pytest.mark.parametrize(
    ("cls", "name"), COUNTED, ids=[f"{cls.__name__}-{name}" for cls, name in COUNTED]
)
def test_a_count_beyond_all_memory_ends(cls, name):
    """The largest counts that a file holds: done with less, or refused; never a dead process."""
    model = fitted(cls)
    before, kept = output(model), model.get_params(deep=False)[name]
    for value in (2**63 - 1, 2**62, 2**53, 2**40):
        limit = {"max_time": 0.2} if "max_time" in model.get_params() else {}
        model.set_params(**{name: value}, **limit)
        try:
            model.fit(X, Y)
            before = output(model)
        except MemoryError:
            # Beyond the rank, features are columns of zeros: as many as were asked for.
            model = fitted(cls)
        except ValueError:
            setattr(model, name, kept)
            np.testing.assert_array_equal(output(model), before)
        else:
            assert np.isfinite(before).all()
