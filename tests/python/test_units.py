"""Units: the same machine for y, C and epsilon in other units, and for X with gamma to match."""

import inspect
import warnings

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import make_friedman1

import budgetsvm

pytestmark = pytest.mark.filterwarnings("ignore")

X, Y = make_friedman1(240, noise=0.5, random_state=0)
NEW, _ = make_friedman1(100, noise=0.5, random_state=1)
UNITS = [1e-6, 1e6]

MACHINES = {
    name: getattr(budgetsvm, name)
    for name in budgetsvm.__all__
    if inspect.isclass(getattr(budgetsvm, name))
}
REGRESSORS = {name: cls for name, cls in MACHINES.items() if is_regressor(cls())}
CLASSIFIERS = {name: cls for name, cls in MACHINES.items() if is_classifier(cls())}

#: What is tried beside the defaults, where a machine has it.
VARIANTS = [
    {}, {"budget": 30}, {"budget": 240}, {"budget": 30, "refine": True, "refine_iter": 20},
    {"budget": 30, "solver": "bsgd"}, {"budget": 30, "polishing": False, "max_iter": 3},
    {"budget": 30, "kernel": "laplacian"}, {"budget": 30, "loss": "quantile", "quantile": 0.8},
    {"budget": 30, "loss": "quantile", "quantile": [0.1, 0.5, 0.9]},
    {"loss": "squared_epsilon_insensitive"}, {"loss": "quantile", "quantile": 0.3},
    {"fit_intercept": False}, {"kernel": "linear"}, {"solver": "cg"}, {"solver": "mpd"},
    {"solver": "dual"}, {"solver": "dual", "loss": "squared_epsilon_insensitive"},
    {"features": "fourier"}, {"basis": "cholesky", "n_components": 30},
    {"basis": "greedy", "n_components": 40},
    {"basis": "random", "n_components": 20, "refine": True},
]  # fmt: skip


def cases():
    for name, cls in REGRESSORS.items():
        if name == "AutoSVR":  # it searches: see above
            continue
        for variant in VARIANTS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    cls().set_params(**variant).fit(X[:40], Y[:40])
                except (ValueError, AttributeError):
                    continue  # not a choice of this machine
            yield pytest.param(cls, variant, id=f"{name} {variant}")


def in_unit(cls, variant, unit, gamma=0.1):
    """A machine whose C and ε are in the unit of y; where the loss is squared C has none."""
    model = cls(**variant)
    known = model.get_params()
    squared = "squared" in str(known.get("loss"))
    wanted = {
        "random_state": 0,
        "gamma": gamma,
        "epsilon": 0.1 * unit,
        "C": 10.0 if squared else 10.0 * unit,
        "Cs": [1.0, 10.0] if squared else [unit, 10.0 * unit],
        "gammas": [gamma],
    }
    return model.set_params(**{key: v for key, v in wanted.items() if key in known})


def allowed(variant):
    """What rounding may come to, in standard deviations of the predictions.

    Refining is not convex, and several outputs at a time are solved up to `tol`, a share of the
    objective, by steps whose number rounding may change. Conjugate gradients end within 1e-5 of the
    objective, which is the square of what predictions may be off by.
    """
    if variant.get("refine") or isinstance(variant.get("quantile"), list):
        return 0.05
    return 1e-2 if variant.get("solver") == "cg" else 1e-3


def spread_of_difference(found, wanted):
    return np.abs(found - wanted).max() / np.std(wanted)


def test_a_search_in_other_units_finds_as_good_a_machine():
    """AutoSVR compares candidates, so that rounding may choose another one that is as good."""
    scores = [
        in_unit(budgetsvm.AutoSVR, {}, unit).fit(X, unit * Y).score(X, unit * Y)
        for unit in (1.0, *UNITS)
    ]
    assert np.ptp(scores) < 0.005, scores


@pytest.mark.parametrize(("cls", "variant"), list(cases()))
def test_y_in_other_units(cls, variant):
    wanted = in_unit(cls, variant, 1.0).fit(X, Y).predict(NEW)
    for unit in UNITS:
        found = in_unit(cls, variant, unit).fit(X, unit * Y).predict(NEW) / unit
        assert spread_of_difference(found, wanted) < allowed(variant), unit


@pytest.mark.parametrize("step", [1, 50, 120])
@pytest.mark.parametrize(
    "name",
    # A stream of BudgetSVRCV that begins without a search has the C of the defaults, 1.
    [n for n, cls in REGRESSORS.items() if hasattr(cls, "partial_fit") and n != "BudgetSVRCV"],
)
def test_streams_of_y_in_other_units(name, step):
    def learnt(unit):
        model = in_unit(REGRESSORS[name], {}, unit)
        if "budget" in model.get_params():
            model.set_params(budget=30)
        for first in range(0, 120 if step == 1 else 240, step):
            part = slice(first, first + step)
            model.partial_fit(X[part], unit * Y[part])
        return model.predict(NEW) / unit

    wanted = learnt(1.0)
    for unit in UNITS:
        assert spread_of_difference(learnt(unit), wanted) < 1e-3, unit


def test_polishing_and_warm_starts_in_other_units():
    for after in ("polish", "partial_fit", "fit"):
        found = {}
        for unit in (1.0, *UNITS):
            model = in_unit(budgetsvm.BudgetSVR, {"budget": 30, "warm_start": True}, unit)
            model.fit(X[:120], unit * Y[:120])
            getattr(model, after)(X, unit * Y)
            found[unit] = model.predict(NEW) / unit
        for unit in UNITS:
            assert spread_of_difference(found[unit], found[1.0]) < 1e-3, (after, unit)


def test_several_targets_in_other_units():
    both = np.column_stack([Y, X[:, 0] - 3 * X[:, 3]])
    for name, cls in REGRESSORS.items():
        if not clone(cls()).__sklearn_tags__().target_tags.multi_output:
            continue
        wanted = in_unit(cls, {}, 1.0).fit(X, both).predict(NEW)
        for unit in UNITS:
            found = in_unit(cls, {}, unit).fit(X, unit * both).predict(NEW) / unit
            assert spread_of_difference(found, wanted) < 0.05, (name, unit)


def test_many_rows_of_small_values():
    rows, y = make_friedman1(3000, noise=0.5, random_state=2)
    for options in ({}, {"solver": "mpd"}):
        wanted = in_unit(budgetsvm.SVR, options, 1.0).fit(rows, y).predict(NEW)
        found = in_unit(budgetsvm.SVR, options, 1e-6).fit(rows, 1e-6 * y).predict(NEW)
        assert spread_of_difference(1e6 * found, wanted) < 0.02


@pytest.mark.parametrize("name", [*REGRESSORS, *CLASSIFIERS])
def test_X_in_other_units(name):
    cls = MACHINES[name]
    known = inspect.signature(cls).parameters
    if "gamma" not in known and "gammas" not in known:
        pytest.skip("finds its own width")
    target = Y if name in REGRESSORS else np.where(np.median(Y) < Y, 1, -1)
    gamma = 0.1
    if name == "SemiparametricNuSVC":
        pytest.skip("without functions it is NuSVC, which is here")

    def decided(unit):
        model = in_unit(cls, {}, 1.0, gamma / unit**2).fit(unit * X, target)
        return getattr(model, "decision_function", model.predict)(unit * NEW)

    wanted = decided(1.0)
    for unit in (2.0**-10, 2.0**10):  # no rounding
        np.testing.assert_allclose(decided(unit), wanted, rtol=1e-6, atol=1e-6 * np.std(wanted))


@pytest.mark.parametrize("name", ["BudgetSVR", "PrimalSVR", "AssetSVR"])
def test_a_warning_where_C_is_small_beside_the_values(name):
    cls = REGRESSORS[name]
    with pytest.warns(UserWarning, match="C=1 bounds each coefficient"):
        cls().fit(X, 1e4 * Y)
    with pytest.warns(UserWarning, match="epsilon=0.1 is no less than the spread of y"):
        cls().fit(X, 1e-3 * Y)
    for quiet in (cls(), cls(C=1e3)):
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            quiet.fit(X, (1.0 if quiet.C == 1 else 1e3) * Y)
    if hasattr(cls, "partial_fit"):
        with pytest.warns(UserWarning, match="C=1 bounds each coefficient"):
            cls(gamma=0.1).partial_fit(X, 1e4 * Y)
