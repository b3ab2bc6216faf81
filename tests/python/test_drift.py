"""Hyperparameters are the same in Rust, in the signatures and in the table of ranges."""

from __future__ import annotations

import inspect
import json
from typing import Literal, get_args, get_origin

import pytest
from sklearn.utils._param_validation import StrOptions

import budgetsvm
from budgetsvm import _core, _names, _parameters
from budgetsvm._exact import ExactEstimator
from budgetsvm._hyperparameters import gathered

ESTIMATORS = [
    cls
    for cls in (getattr(budgetsvm, name) for name in budgetsvm.__all__)
    if isinstance(cls, type) and hasattr(cls, "_family")
]

#: Parameters that no struct in Rust has, beside `_parameters.PYTHON_OWN`.
PYTHON_ALONE = {
    "assign": "k-means is scikit-learn's, which hands its centres over",
    "tune": "Rust's tune_size is none where nothing is tuned",
    "probability": "sigmoids are fitted in Python",
    "break_ties": "a choice among labels",
    "decision_function_shape": "how decision values are shown",
    "degree": "of a kernel that this learner refuses",
    "coef0": "of a kernel that this learner refuses",
}
#: Fields that no estimator shows.
RUST_ALONE = {
    "C": "the classifiers of one class, and online learners without it, have none",
    "gamma": "found on a grid",
    "basis": "Python's may also be points",
    "random_state": "a transformer without chance has none",
    "shared": "of several classes: columns of values share their terms",
    "quantiles": "a list of them is Python's `quantile`",
    "solver": "some exact machines have one alone",
    "update": "a part of that solver",
    "working_set": "a part of that solver",
    "record_history": "a part of that solver",
    "fit_intercept": "a part of that solver",
    "intercept_penalty": "a part of that solver",
    "shrinking": "a part of the other solver",
    "learner": "the class",
    "plus_plus": "the class",
    "kind": "the class",
    "mistakes": "what a Forgetron remembers",
    "damage": "what a Forgetron remembers",
    "oldest": "what a Forgetron remembers",
    "aside": "measured once (benches/python/online_window.py)",
}
#: Parameters whose defaults differ.
OTHER_DEFAULTS = {
    "gamma": "a number in Rust; 'scale' looks at the data",
    "averaging": "'auto' is Rust's default",
    "tune_size": "none in Rust where nothing is tuned",
    "average": "the sparse passive-aggressive learner's own",
}
#: Scikit-learn's -1 for no limit.
EXACT = {"max_iter"}
#: Values of choices that have parts of their own.
CHOICES = [
    ("kernel", "poly"), ("solver", "dual"), ("solver", "mpd"), ("features", "fourier"),
    ("loss", "quantile"),
]  # fmt: skip
#: Values around the bounds that hyperparameters have.
TRIED = [-1, 0, 1, 2, -1.5, -0.5, 0.0, 0.5, 1.0, 1.5]

by_class = pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)


def defaults(cls):
    return {name: p.default for name, p in inspect.signature(cls).parameters.items()}


def rust(cls, **changes):
    """The hyperparameters of this class as Rust has them, with these changes."""
    own = dict(getattr(cls, "_own", {}))
    if issubclass(cls, ExactEstimator):
        own |= {"kind": cls._impl, "solver": "mpd", "nu": 0.5, "epsilon": 0.1}
        own |= {name: value for name, value in defaults(cls).items() if name in ("solver", "nu")}
    return json.loads(_core.hyperparameters(cls._family, json.dumps(own | changes)))


def fields(cls):
    """All fields with their defaults, those of every choice."""
    found = rust(cls)
    allowed = _parameters.rules(cls)
    for name, value in CHOICES:
        if isinstance(defaults(cls).get(name), str) and allowed[name](value) is None:
            try:
                found = rust(cls, **{name: value}) | found
            except ValueError:
                continue  # another family's choice
    return found


@by_class
def test_names_and_defaults(cls):
    found = fields(cls)
    other = OTHER_DEFAULTS.keys() | (EXACT if issubclass(cls, ExactEstimator) else set())
    for name, default in defaults(cls).items():
        if name in found and name not in other | _parameters.PYTHON_OWN:
            assert found[name] == default, name
        elif name not in found:
            alone = _parameters.PYTHON_OWN | PYTHON_ALONE.keys() | other
            assert name in alone, f"Rust has no {name}"
    assert found.keys() - defaults(cls).keys() <= RUST_ALONE.keys()


@by_class
def test_ranges(cls):
    """What the table lets through Rust takes, and the other way round."""
    if issubclass(cls, ExactEstimator):
        pytest.skip("these have scikit-learn's own ranges")
    rules = _parameters.rules(cls)
    chosen = {"loss": "quantile"} if "quantile" in defaults(cls) else {}
    for name, default in (rust(cls) | rust(cls, **chosen)).items():
        if name not in defaults(cls).keys() - OTHER_DEFAULTS.keys():
            continue
        if isinstance(default, (bool, str)):
            continue
        for value in TRIED:
            wrong = rules[name](value)
            try:
                rust(cls, **({} if name == "epsilon" else chosen), **{name: value})
                told = None
            except ValueError as error:
                told = str(error)
            # Bounds that depend on other hyperparameters are no ranges.
            beside = told is not None and any(
                f"{o} =" in told or f"{o}=" in told for o in defaults(cls)
            )
            assert (told is None) == (wrong is None) or beside, (name, value, told, wrong)
            assert told is None or name in told


@by_class
def test_a_value_of_a_wrong_type_is_named(cls):
    choices = ("kernel", "solver", "features", "learner", "kind", "loss")
    for name, default in rust(cls).items():
        for value in ({"a": 1}, "wrong", -1.5, None):
            try:
                rust(cls, **{name: value})
            except ValueError as error:
                named = [n for n in (name, *choices) if n in str(error)]
                assert named, error  # noqa: PT017
            else:
                assert value in (None, -1.5) or default is not None, (name, value)


@pytest.mark.parametrize("text", [
    "", "[]", "null", "{", '{"C": 1e999}', '{"budget": -1}', '{"kernel": {"name": "rbf"}}',
    '{"kernel": null}', '{"order": [[]]}', '{"order": [-1]}', '{"loss": []}', "[" * 10_000,
])  # fmt: skip
@pytest.mark.parametrize("family", ["budget_svc", "online", "local", "asset_svc", "primal_svr"])
def test_hostile_json(family, text):
    """It is refused, or it changes nothing."""
    try:
        read = _core.hyperparameters(family, text)
    except ValueError:
        return
    assert read == _core.hyperparameters(family)


def alternatives(kind):
    """The names that a type lists, those of its parts among them."""
    if get_origin(kind) is Literal:
        return set(get_args(kind))
    return set().union(*map(alternatives, get_args(kind)), set())


@by_class
def test_types_list_the_names_that_are_taken(cls):
    """What a checker of types lets through is what `fit` takes, name by name."""
    allowed = _parameters.rules(cls) | getattr(cls, "_parameter_constraints", {})
    known = {*_names.KERNELS, *_names.CLASS_LOSSES, *_names.VALUE_LOSSES, *_names.LEAST_SQUARES}
    seen = set()
    for name, declared in gathered(cls, "_declared").items():
        names = {value for value in alternatives(declared.type) if isinstance(value, str)}
        rule = allowed.get(name)
        if isinstance(rule, list):
            options = [option.options for option in rule if isinstance(option, StrOptions)]
            assert not names or names == set().union(*options), name
        else:
            for value in names | known:
                taken = rule is not None and not isinstance(rule(value), str)
                assert taken == (value in names) or rule is None, (name, value)
        seen |= names
    assert not hasattr(cls, "_family") or "kernel" not in defaults(cls) or "rbf" in seen
