"""Weights, labels and numbers that are unusual but right, or wrong in unusual ways: every
estimator and call."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.utils import compute_class_weight

import budgetsvm
import estimators
from budgetsvm import SVC, NuSVC, _validation
from budgetsvm.serve import load as load_to_serve

X = estimators.rows()
WEIGHTED = [
    name for name in estimators.CLASSES
    if "sample_weight" in inspect.signature(estimators.CLASSES[name].fit).parameters
]  # fmt: skip
STREAMS = [
    name for name in estimators.names(having="partial_fit")
    if "sample_weight" in inspect.signature(estimators.CLASSES[name].partial_fit).parameters
]  # fmt: skip
WITH_CLASS_WEIGHT = [
    name for name in estimators.names("classifier")
    if "class_weight" in estimators.CLASSES[name]().get_params()
]  # fmt: skip
HUGE = 10**400


def test_the_lists_are_not_empty():
    assert len(WEIGHTED) > 15
    assert len(STREAMS) > 5
    assert len(WITH_CLASS_WEIGHT) > 5


@pytest.mark.parametrize("name", WITH_CLASS_WEIGHT)
def test_class_weights_of_labels_that_y_lacks(name):
    y = estimators.target(name, X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", r"nu=|Few")
        model = estimators.small(name, class_weight={0: 2.0, 1: 1.5, 7: 3.0}).fit(X, y)
        plain = estimators.small(name, class_weight={0: 2.0, 1: 1.5}).fit(X, y)
    np.testing.assert_array_equal(estimators.answers(model, X), estimators.answers(plain, X))
    with pytest.warns(UserWarning, match="class_weight names no class of y: its labels are 7, 'a'"):
        estimators.small(name, class_weight={7: 3.0, "a": 1.0}).fit(X, y)


@pytest.mark.parametrize("cls", [SVC, NuSVC])
def test_balanced_counts_rows_as_scikit_learn_does(cls):
    y = (X[:, 0] > 0.5).astype(int)
    counts = np.random.default_rng(1).integers(1, 4, len(X))
    weighted = cls(class_weight="balanced", gamma=0.5).fit(X, y, sample_weight=counts)
    known = compute_class_weight("balanced", classes=np.array([0, 1]), y=y)
    plain = cls(class_weight="balanced").fit(X, y)
    np.testing.assert_array_equal(plain.class_weight_, known)
    np.testing.assert_array_equal(weighted.class_weight_, known)


@pytest.mark.parametrize("name", WEIGHTED)
def test_a_fit_without_any_weight_is_refused(name):
    y = estimators.target(name, X)
    with pytest.raises(ValueError, match=r"(?i)weight"):
        estimators.small(name).fit(X, y, sample_weight=np.zeros(len(X)))


@pytest.mark.parametrize("name", STREAMS)
def test_a_part_without_any_weight_is_nothing(name):
    y = estimators.target(name, X)
    targets = () if y is None else (y,)
    options = {"classes": [0, 1]} if estimators.kind(name) == "classifier" else {}
    nothing = {"sample_weight": np.zeros(len(X))}
    model = estimators.small(name)
    before = model.__dict__.copy()
    model.partial_fit(X, *targets, **options, **nothing)
    assert model.__dict__ == before
    with pytest.raises(NotFittedError):
        estimators.answers(model, X)
    model.partial_fit(X, *targets, **options)
    before = model.__dict__.copy()
    for weights in (np.zeros(len(X)), [0] * len(X), 0.0):
        assert model.partial_fit(X, *targets, sample_weight=weights) is model
    assert model.__dict__ == before
    with pytest.raises(ValueError, match=r"(?i)weight"):
        model.partial_fit(X, *targets, sample_weight=np.zeros(3))


@pytest.mark.parametrize("name", estimators.CLASSES)
def test_integers_beyond_floats_name_their_argument(name):
    y = estimators.target(name, X)
    wide = X.astype(object)
    wide[3, 1] = HUGE
    model = estimators.small(name).fit(X, y)
    calls = [lambda rows: estimators.small(name).fit(rows, y)]
    for method in ("predict", "decision_function", "transform", "predict_proba", "partial_fit"):
        if hasattr(model, method):
            more = (y,) if method == "partial_fit" else ()
            ask = getattr(model, method)
            calls.append(lambda rows, ask=ask, more=more: ask(rows, *more))
    for call in calls:
        for rows in (wide, wide.tolist()):
            with pytest.raises(ValueError, match=r"\bX\b"):
                call(rows)
    if estimators.kind(name) == "regressor":
        values = y.astype(object)
        values[2] = HUGE
        with pytest.raises(ValueError, match=r"\by\b"):
            estimators.small(name).fit(X, values)
    if name in WEIGHTED:
        with pytest.raises(ValueError, match="sample_weight"):
            estimators.small(name).fit(X, y, sample_weight=[HUGE] * len(X))


def test_integers_beyond_floats_are_refused_by_what_serves(tmp_path):
    path = tmp_path / "model.safetensors"
    estimators.fitted("SVC").save(path)
    served = load_to_serve(path)
    wide = X.astype(object)
    wide[0, 0] = HUGE
    for rows in (wide, wide.tolist()):
        with pytest.raises(ValueError, match=r"\bX\b"):
            served.predict(rows)


@pytest.mark.parametrize("kind", [str, object])
def test_labels_of_text_are_numbered_some_at_a_time(monkeypatch, kind):
    monkeypatch.setattr(_validation, "_SORTED", 64)
    labels = np.random.default_rng(0).integers(0, 50, 1000).astype(str).astype(kind)
    labels[-1] = "zz"
    classes, index = _validation.numbered(labels)
    wanted, places = np.unique(labels, return_inverse=True)
    assert classes.dtype == wanted.dtype
    np.testing.assert_array_equal(classes, wanted)
    np.testing.assert_array_equal(index, places)


def test_warnings_of_code_that_has_no_module():
    y = X[:, 0]
    for scope in ({}, {"__builtins__": {}}):
        scope |= {"model": budgetsvm.BudgetSVR(budget=10, quantile=0.9), "X": X, "y": y}
        with pytest.warns(UserWarning, match="quantile needs"):
            exec("model.fit(X, y)", scope)
    scope = {"warn": _validation.warn}
    with pytest.warns(UserWarning, match="plain"):
        exec("warn('plain')", scope)


@pytest.mark.parametrize("name", estimators.names("classifier"))
def test_a_lone_surrogate_is_refused_where_it_is_saved(name, tmp_path):
    y = np.array(["b\ud800", "ü😀"])[estimators.target(name, X)]
    model = estimators.small(name).fit(X, y)
    assert set(model.predict(X)) <= set(y)
    path = tmp_path / "model.safetensors"
    with pytest.raises(ValueError, match=r"class labels: text with the lone surrogate '\\ud800'"):
        model.save(path)
    assert not path.exists()
    fine = estimators.small(name).fit(X, np.array(["b", "ü😀"])[estimators.target(name, X)])
    fine.save(path)
    assert budgetsvm.load(path).classes_.tolist() == ["b", "ü😀"]


def test_other_text_with_a_lone_surrogate(tmp_path):
    path, y = tmp_path / "model.safetensors", estimators.target("SVC", X)
    named = SVC().fit(X, y)
    named.feature_names_in_ = np.array(["a", "b\udfff", "c"], dtype=object)
    with pytest.raises(ValueError, match="feature names"):
        named.save(path)
    weighted = SVC(class_weight={0: 1.0, 1: 2.0, "\ud800": 2.0}).fit(X, y)
    with pytest.raises(ValueError, match="hyperparameters"):
        weighted.save(path)
