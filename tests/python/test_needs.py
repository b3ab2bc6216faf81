"""A hyperparameter that means nothing beside the others warns, once a fit, in every estimator."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

import estimators
from budgetsvm import SVC, BudgetSVC, BudgetSVR, KernelOGD
from budgetsvm._needs import NEEDS, idle

#: Of a hyperparameter a value that is not the default of any estimator.
OTHER = {
    "C": 7.0, "Cs": 3, "assign": "kmeans", "averaging": 3, "basis": "random", "budget": 6,
    "center_step": 0.5, "class_weight": {1: 5.0}, "coef0": 0.7, "constraint_atol": 0.1,
    "constraint_tol": 0.1, "cv": 3, "degree": 5, "eigenvalue_threshold": 0.5, "epsilon": 0.3,
    "feature_scales": [2.0, 0.5, 1.0], "features": "fourier", "forgetting": 0.9, "gamma": 1.7,
    "gammas": 3, "intercept_penalty": 0.5, "kernel": "laplacian", "learning_rate": 0.5,
    "local": "bsca", "loss": "quantile", "maintenance": "remove-smallest", "max_coef": 0.5,
    "max_intercept": 0.1, "max_iter": 3, "merge_search": "table", "merge_size": 3,
    "n_clusters": 4, "n_components": 5, "n_expected": 5000, "n_frequencies": 5,
    "n_iter_no_change": 2, "n_landmarks": 20, "nu": 0.4, "order": "sequential", "overlap": 2,
    "pruning": "step", "quantile": 0.8, "refine_iter": 3, "regularization": 0.01,
    "relaxation": 1.3, "sampling": "uniform", "sampling_denominator": 2.0,
    "sampling_numerator": 0.5, "scoring": "balanced_accuracy", "smoothing": 0.6, "solver": "mpd",
    "threshold": 0.5, "tol": 0.2, "tune_size": 20, "update": "newton",
    "validation_fraction": 0.4, "working_set": 3,
}  # fmt: skip
#: Where the one above is none of an estimator's, or its default.
INSTEAD = {
    "waves": ["shifted", "paired"], "loss": ["squared_hinge"], "solver": ["bsgd", "cg", "dual"],
    "scoring": ["neg_mean_squared_error"],
}  # fmt: skip
#: What changes no answer, and need not.
TECHNICAL = {
    "n_jobs", "verbose", "callback", "max_time", "random_state", "cache_size", "warm_start",
    "record_objective", "record_history",
}  # fmt: skip
#: What needs more classes, rows or calls than there are here, by its page.
ELSEWHERE = {
    "break_ties": "of several classes", "decision_function_shape": "of several classes",
    "shared": "of several classes", "forgetting": "of partial_fit", "resumable": "of partial_fit",
    "n_expected": "of partial_fit", "halving": "of folds of 400 rows",
    "shrinking": "of more rows than these", "leave_one_out": "has attributes of its own",
    "probability": "of predict_proba", "functions": "is not of a kind with the others",
    "refit": "leaves no machine",
    "tune": "needs a squared loss",
}  # fmt: skip
#: What happens to change nothing on these rows.
HERE = {
    ("BudgetSVCCV", "Cs"), ("BudgetSVCCV", "scoring"), ("BudgetSVRCV", "cv"),
    ("BudgetSVRCV", "scoring"), ("IncompleteCholesky", "tol"), ("LocalBudgetSVC", "n_components"),
    ("PrimalSVC", "max_iter"), ("PrimalSVC", "tol"), ("PrimalSVR", "tol"), ("Stoptron", "max_iter"),
}  # fmt: skip

CASES = [
    (name, hyperparameter)
    for name in estimators.CLASSES
    for hyperparameter in estimators.CLASSES[name]().get_params(deep=False)
    if hyperparameter not in TECHNICAL | ELSEWHERE.keys() and (name, hyperparameter) not in HERE
]
X = estimators.rows()


def told(call):
    """What a call warns of that was set for nothing, and what it returns."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        done = call()
    return [str(w.message) for w in caught if "change nothing" in str(w.message)], done


@pytest.fixture(scope="module")
def plain():
    """What estimators say as they are, each fitted once."""
    made = {}

    def of(name):
        if name not in made:
            made[name] = estimators.answers(fitted(name), X)
        return made[name]

    return of


def fitted(name, **params):
    return estimators.small(name, **params).fit(X, estimators.target(name, X))


@pytest.mark.parametrize(("name", "hyperparameter"), CASES)
def test_it_changes_something_or_warns_or_is_refused(plain, name, hyperparameter):
    default = estimators.small(name).get_params(deep=False)[hyperparameter]
    values = [OTHER.get(hyperparameter, default), *INSTEAD.get(hyperparameter, [])]
    values = [not default] if isinstance(default, bool) else values
    tried = [value for value in values if np.ndim(value) or value != default]
    assert tried, f"{hyperparameter}: OTHER has no other value"
    for value in tried:
        try:
            warned, model = told(lambda value=value: fitted(name, **{hyperparameter: value}))
        except ValueError:
            continue
        before, after = plain(name), estimators.answers(model, X)
        changed = before.shape != after.shape or not np.array_equal(before, after)
        assert changed or any(f"{hyperparameter} needs" in text for text in warned), value
        assert len(warned) <= 1


def unmet(need, name):
    """Values of the other hyperparameter with which a need is not met."""
    values = [False, True, None, "linear", "poly", "hinge", "squared_hinge", "stop", "smo", "mpd",
              "bsca", "bsgd", "asset", "dual", "newton", "nystroem", "fourier", "kmeans", "exact",
              "balanced_accuracy", "epsilon_insensitive", "random", "quantile",
              "newton"]  # fmt: skip
    for value in values:
        model = estimators.small(name)
        setattr(model, need.other, value)
        try:
            model._check_hyperparameters()
        except (ValueError, TypeError):
            continue
        if not need.is_met(model):
            yield value


@pytest.mark.parametrize("need", NEEDS, ids=lambda need: f"{need.settings}: {need.words}")
def test_every_row_of_the_table(need):
    seen = 0
    for name in estimators.CLASSES:
        params = estimators.small(name).get_params(deep=False)
        if need.beside and need.beside not in params:
            continue
        for setting in need.settings.split():
            if setting not in params or need.other not in params:
                continue
            default = estimators.CLASSES[name]().get_params(deep=False)[setting]
            other = OTHER.get(setting, "shifted" if default == "paired" else "paired")
            changed = not default if isinstance(default, bool) else other
            for value in unmet(need, name):
                model = estimators.small(name, **{need.other: value, setting: changed})
                assert setting in idle(model), (name, value)
                # At its default it says nothing, whatever the other is.
                setattr(model, setting, default)
                assert setting not in idle(model)
                seen += 1
    assert seen > 0


def test_one_warning_a_fit_that_names_all():
    y = estimators.target("BudgetSVR", X)
    warned, model = told(lambda: BudgetSVR(budget=10, quantile=0.9, degree=5).fit(X, y))
    assert len(warned) == 1
    assert "quantile needs loss='quantile'" in warned[0]
    assert "degree needs kernel='poly'" in warned[0]
    # Training that goes on is not told again.
    assert told(lambda: model.partial_fit(X, y))[0] == []
    begun = BudgetSVR(budget=10, quantile=0.9)
    assert len(told(lambda: begun.partial_fit(X, y))[0]) == 1


def test_a_grid_search_is_not_drowned():
    y = estimators.target("SVC", X)
    grid = GridSearchCV(SVC(), {"kernel": ["rbf", "poly"], "degree": [2, 3, 4]}, cv=3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        grid.fit(X, y)
    assert [str(w.message) for w in caught if "degree needs" in str(w.message)] != []
    # At most once a fit: four places with folds, and the fit to all rows.
    assert len([w for w in caught if "change nothing" in str(w.message)]) <= 4 * 3 + 1
    assert {w.filename for w in caught} == {__file__}


@pytest.mark.parametrize("name", estimators.CLASSES)
def test_defaults_say_nothing(name):
    assert idle(estimators.CLASSES[name]()) == {}
    assert idle(estimators.small(name)) == {}


@pytest.mark.parametrize("name", estimators.CLASSES)
def test_a_mistyped_name_gets_the_nearest(name):
    cls = estimators.CLASSES[name]
    for hyperparameter in cls().get_params(deep=False):
        if len(hyperparameter) < 4:
            continue
        wrong = hyperparameter[:-2] + hyperparameter[-1]
        if wrong in cls().get_params(deep=False):
            continue
        nearest = rf"{wrong}.*Did you mean '\w+'\?"
        with pytest.raises(TypeError, match=nearest):
            cls(**{wrong: 1})
        with pytest.raises(ValueError, match=nearest):
            cls().set_params(**{wrong: 1})
    with pytest.raises(TypeError, match=r"'zzzz' \(an unexpected keyword argument\)\.$"):
        cls(zzzz=1)


def test_methods_that_need_a_setting_say_the_cure():
    cures = {
        "predict_proba": [BudgetSVC(), KernelOGD(), SVC()],
        "predict_log_proba": [BudgetSVC(), SVC()],
    }
    for method, models in cures.items():
        for model in models:
            cure = rf"no attribute '{method}'.*call calibrate\(X, y\) after fit"
            with pytest.raises(AttributeError, match=cure) as raised:
                getattr(model, method)
            assert isinstance(raised.value.__cause__, AttributeError)
            assert not hasattr(model, method)
            # Of the class it is a function, whose page can be read.
            assert "Returns" in getattr(type(model), method).__doc__
    with pytest.raises(AttributeError, match=r'fit with loss="log_loss"'):
        BudgetSVC().predict_proba(X)
    for name in ("AssetSVC", "AssetSVR"):
        with pytest.raises(AttributeError, match="partial_fit needs solver='asset'"):
            estimators.small(name, solver="dual").partial_fit(X, X[:, 0] > 0)
    with pytest.raises(AttributeError, match="partial_fit needs local='online' or a budget"):
        estimators.small("LocalBudgetSVC", budget=None).partial_fit(X, X[:, 0] > 0)
