"""BudgetSVCCV and BudgetSVRCV: every scorer by name, probabilities, and groups of rows."""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import pytest
import sklearn
from sklearn.datasets import make_classification, make_moons
from sklearn.metrics import get_scorer_names, log_loss, make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate

from budgetsvm import BudgetSVC, BudgetSVCCV, BudgetSVR, BudgetSVRCV

CS, GAMMAS = [0.1, 10.0], [1.0]
PLACES = {"Cs": CS, "gammas": GAMMAS, "random_state": 0}
GRID = {"C": CS, "gamma": GAMMAS}
X, Y = make_moons(150, noise=0.25, random_state=0)
X3, Y3 = make_classification(
    150, 4, n_informative=3, n_redundant=0, n_classes=3, random_state=0, class_sep=1.5
)
VALUES = np.abs(np.sin(3 * X[:, 0])) + 0.5
#: (machine, grid, rows, targets, hyperparameters whose machine has probabilities of its own)
KINDS = {
    "two": (BudgetSVC, BudgetSVCCV, X, Y, {"loss": "log_loss"}),
    "three": (BudgetSVC, BudgetSVCCV, X3, Y3, {"loss": "log_loss"}),
    "values": (BudgetSVR, BudgetSVRCV, X, VALUES, {}),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scoring", get_scorer_names())
@pytest.mark.filterwarnings("ignore")
def test_every_named_scorer_judges_as_in_a_search_or_is_refused_before_any_work(scoring, kind):
    one, grid, x, y, given = KINDS[kind]
    given = {"budget": 200, **given}
    calls = []
    ours = grid(cv=3, scoring=scoring, callback=calls.append, **PLACES, **given)
    theirs = GridSearchCV(one(random_state=0, **given), GRID, cv=3, scoring=scoring)
    try:
        ours.fit(x, y)
    except ValueError as error:
        assert "scoring=" in str(error)  # noqa: PT017
        assert calls == []
        # A search has no score either, or refuses it, too.
        with contextlib.suppress(ValueError):
            assert np.isnan(theirs.fit(x, y).cv_results_["mean_test_score"]).all()
        return
    theirs.fit(x, y)
    np.testing.assert_allclose(
        ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=1e-9
    )


@pytest.mark.parametrize("kind", ["two", "three"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_probabilities_of_losses_that_have_none_are_of_the_other_folds(kind, loss):
    _, grid, x, y, _ = KINDS[kind]
    labels = np.array(["a", "b", "c"])[y]
    cv = grid(loss=loss, scoring="neg_log_loss", cv=5, **PLACES).fit(x, labels)
    prior = -log_loss(labels, np.tile(np.bincount(y) / len(y), (len(y), 1)))
    assert cv.best_score_ > prior + 0.2
    # The machine has the probabilities that it was chosen by.
    found = cv.predict_proba(x)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert -log_loss(labels, found) > cv.best_score_ - 0.05
    plain = grid(loss=loss, scoring="accuracy", cv=5, **PLACES).fit(x, labels)
    assert not hasattr(plain, "predict_proba")


def test_a_scorer_of_ones_own_may_ask_for_anything():
    def both(estimator, x, y):
        right = estimator.predict_proba(x).argmax(axis=1) == estimator.predict(x)
        return right.mean() + estimator.decision_function(x).size

    cv = BudgetSVCCV(scoring=both, cv=3, **PLACES).fit(X, Y)
    assert cv.best_score_ > 50
    briers = make_scorer(lambda y, p: -np.mean((y - p) ** 2), response_method="predict_proba")
    assert -0.2 < BudgetSVCCV(scoring=briers, cv=3, **PLACES).fit(X, Y).best_score_ < 0
    with pytest.raises(ValueError, match=r"scoring=.*cannot judge"):
        BudgetSVCCV(scoring=lambda *_: "good", cv=3, **PLACES).fit(X, Y)


def test_a_scorer_that_fails_on_some_places_leaves_the_others():
    def fails_at_times(estimator, x, y):
        if np.abs(estimator.decision_function(x)).mean() < 0.7:
            raise ValueError("too small")
        return estimator.score(x, y)

    with pytest.warns(UserWarning, match="too small"):
        cv = BudgetSVCCV(scoring=fails_at_times, Cs=[1e-3, 10.0], gammas=[1.0], cv=3).fit(X, Y)
    assert cv.C_ == 10.0


@pytest.mark.parametrize(("grid", "y"), [(BudgetSVCCV, Y), (BudgetSVRCV, X[:, 0])])
def test_groups_stay_together(grid, y):
    groups = np.random.default_rng(0).integers(12, size=len(y))
    splitter = GroupKFold(4)
    given = grid(cv=list(splitter.split(X, y, groups)), **PLACES).fit(X, y)
    ours = grid(cv=splitter, **PLACES).fit(X, y, groups=groups)
    for fold in range(4):
        name = f"split{fold}_test_score"
        np.testing.assert_array_equal(ours.cv_results_[name], given.cv_results_[name])
    assert "_groups" not in ours.__dict__
    with pytest.raises(ValueError, match="groups"):
        grid(cv=splitter, **PLACES).fit(X, y)
    with pytest.raises(ValueError, match="inconsistent"):
        grid(cv=splitter, **PLACES).fit(X, y, groups=groups[:-1])


def test_groups_are_routed():
    groups = np.arange(len(Y)) % 10
    with sklearn.config_context(enable_metadata_routing=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cv = BudgetSVCCV(cv=GroupKFold(3), **PLACES).set_fit_request(groups=True)
        params = {"groups": groups}
        splitter = GroupKFold(3).set_split_request(groups=True)
        found = cross_validate(cv, X, Y, cv=splitter, params=params, error_score="raise")
    assert np.isfinite(found["test_score"]).all()
