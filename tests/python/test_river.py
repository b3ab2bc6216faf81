"""River's interface: rows as dictionaries, one at a time."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

from budgetsvm import BudgetSVC, BudgetSVR, KernelPerceptron

pytest.importorskip("river")

from river import checks, evaluate, metrics, preprocessing

from budgetsvm.river import Classifier, Regressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(700, 3))
Y = X[:, 0] * X[:, 1] > 0
ROWS = [dict(zip("abc", map(float, row), strict=True)) for row in X]


def machines():
    for cls in (Classifier, Regressor):
        for params in cls._unit_test_params():
            yield cls(**params)
    # All labels of river's own sets.
    labels = ("brickface", "cement", "foliage", "grass", "path", "sky", "window", False, True)
    for loss in ("hinge", "log_loss"):
        svc = BudgetSVC(budget=20, gamma=0.1, loss=loss, random_state=0)
        yield Classifier(svc, labels)
    yield Classifier(KernelPerceptron(gamma=0.1))


CHECKS = [(model, check) for model in machines() for check in checks.yield_checks(model)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("model", "check"), CHECKS, ids=[f"{at}-{c.__name__}" for at, (_, c) in enumerate(CHECKS)]
)
def test_rivers_own_checks(model, check):
    if check.__name__ not in model._unit_test_skips():
        check(model.clone())


@pytest.mark.parametrize("asked", [(), (10, 11, 400), range(700)])
def test_the_machine_is_that_of_partial_fit_whenever_predictions_are_asked_for(asked):
    svc = BudgetSVC(budget=20, gamma=0.5, C=4, random_state=0)
    model, plain = Classifier(svc), None
    for i, (row, y) in enumerate(zip(ROWS, Y, strict=True)):
        if i in asked:
            model.predict_one(row)
        model.learn_one(row, bool(y), 1.0 + i % 2)
    plain = svc.partial_fit(X, Y.astype(int), [0, 1], sample_weight=1.0 + np.arange(700) % 2)
    for row, expected in zip(ROWS[:50], plain.predict(X[:50]), strict=True):
        assert model.predict_one(row) is bool(expected)
    np.testing.assert_array_equal(model._machine.decision_function(X), plain.decision_function(X))
    assert not hasattr(model.estimator, "_machine") or model.estimator is svc


def test_values_and_probabilities():
    values = X[:, 0] + np.sin(X[:, 1])
    model = Regressor(BudgetSVR(budget=40, gamma=0.2, C=10, random_state=0))
    assert model.predict_one(ROWS[0]) == 0.0
    for row, y in zip(ROWS, values, strict=True):
        model.learn_one(row, float(y))
    found = np.array([model.predict_one(row) for row in ROWS])
    assert np.abs(found - values).mean() < 0.2
    model = Classifier(BudgetSVC(budget=40, gamma=0.5, loss="log_loss", random_state=0))
    assert model.predict_proba_one(ROWS[0]) == {False: 0.5, True: 0.5}
    assert Classifier(BudgetSVC(gamma=0.5)).predict_one(ROWS[0]) is None
    for row, y in zip(ROWS, Y, strict=True):
        model.learn_one(row, bool(y))
    told = np.array([model.predict_proba_one(row)[True] for row in ROWS])
    assert np.mean((told > 0.5) == Y) > 0.9
    with pytest.raises(NotImplementedError, match="log_loss"):
        Classifier(BudgetSVC(gamma=0.5)).predict_proba_one(ROWS[0])


def test_features_have_a_fixed_place_whatever_their_order():
    svc = BudgetSVC(budget=10, gamma=0.5, random_state=0)
    model, turned = Classifier(svc, features=["a", "b", "c"]), Classifier(svc, features="abc")
    for row, y in zip(ROWS[:50], Y[:50], strict=True):
        model.learn_one(row, bool(y))
        turned.learn_one(dict(reversed(row.items())), bool(y))
    np.testing.assert_array_equal(
        model._row(ROWS[60]), turned._row(dict(reversed(ROWS[60].items())))
    )
    # What a row lacks is 0; features of rows before the first prediction all have a place.
    model = Classifier(svc)
    model.learn_one({"a": 1.0}, True)
    model.learn_one({"b": 2.0, "a": -1.0}, False)
    np.testing.assert_array_equal(model._row({"b": 3.0}), [[0.0, 3.0]])
    with pytest.warns(UserWarning, match="'c'"):
        model.learn_one({"a": 1.0, "c": 5.0}, True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(model._row({"d": 3.0, "a": 1.0}), [[1.0, 0.0]])


def test_a_row_that_is_refused_is_not_learnt_and_nothing_else_is_lost():
    svc = BudgetSVC(budget=20, gamma=0.5, random_state=0)
    model, clean = Classifier(svc), Classifier(svc)
    for at, (row, y) in enumerate(zip(ROWS[:300], Y[:300], strict=True)):
        if at % 50 == 10:
            for wrong, error in [
                (np.nan, ValueError),
                (None, TypeError),
                ("x", TypeError),
                (10**400, ValueError),
                (-(10**5000), ValueError),
            ]:
                with pytest.raises(error, match="'b'"):
                    model.learn_one({**row, "b": wrong}, bool(y))
            with pytest.raises(ValueError, match="'maybe'"):
                model.learn_one(row, "maybe")
            with pytest.raises(ValueError, match="w:"):
                model.learn_one(row, bool(y), -1.0)
            with pytest.raises(ValueError, match="w:"):
                model.learn_one(row, bool(y), 10**400)
            model.learn_one(row, not y, 0)  # a row of no weight is none
        for each in (model, clean):
            each.learn_one(row, bool(y))
    model.predict_one(ROWS[0]), clean.predict_one(ROWS[0])
    np.testing.assert_array_equal(
        model._machine.decision_function(X), clean._machine.decision_function(X)
    )


def test_a_value_beyond_floats_is_refused():
    model = Regressor(BudgetSVR(budget=20, gamma=0.5, random_state=0))
    for wrong in (10**400, np.inf):
        with pytest.raises(ValueError, match="y: a finite number"):
            model.learn_one(ROWS[0], wrong)


def test_what_cannot_be_wrapped_is_refused():
    from budgetsvm import SVC

    for wrong, message in [
        (SVC(gamma=1.0), "partial_fit"), (BudgetSVC(), "gamma"),
        (BudgetSVR(gamma=1.0), "no classifier"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=message):
            Classifier(wrong)
    with pytest.raises(ValueError, match="no regressor"):
        Regressor(BudgetSVC(gamma=1.0))
    for classes in [(), (1,), (1, 1)]:
        with pytest.raises(ValueError, match="classes"):
            Classifier(BudgetSVC(gamma=1.0), classes)


def test_it_takes_its_place_in_a_pipeline_and_in_a_file():
    stream = list(zip(ROWS, map(bool, Y), strict=True))
    model = preprocessing.StandardScaler() | Classifier(
        BudgetSVC(budget=40, gamma=0.5, C=10, random_state=0)
    )
    assert evaluate.progressive_val_score(stream, model, metrics.Accuracy()).get() > 0.8
    copied = pickle.loads(pickle.dumps(model))
    assert [copied.predict_one(row) for row in ROWS] == [model.predict_one(row) for row in ROWS]
