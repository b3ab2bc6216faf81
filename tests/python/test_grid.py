"""BudgetSVCCV and BudgetSVRCV: the grid of scikit-learn's search, and conventions of its own."""

from __future__ import annotations

import time

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_classification, make_moons
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

import budgetsvm
from budgetsvm import SVC, BudgetSVC, BudgetSVCCV, BudgetSVR, BudgetSVRCV

CS, GAMMAS = [0.1, 1.0, 10.0], [0.3, 1.0, 3.0]
X, Y = make_moons(400, noise=0.25, random_state=0)
FEW = {"Cs": CS, "gammas": GAMMAS, "random_state": 0}


@parametrize_with_checks([BudgetSVCCV(Cs=2, gammas=2, cv=3), BudgetSVRCV(Cs=2, gammas=2, cv=3)])
def test_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "given", [{"budget": 400}, {"budget": 20, "refine": True}, {"budget": None}]
)
def test_where_every_place_is_a_fit_the_scores_are_those_of_a_search(given):
    given |= {"random_state": 0, "max_iter": 3}
    folds = list(StratifiedKFold(3, shuffle=True, random_state=1).split(X, Y))
    ours = BudgetSVCCV(Cs=CS, gammas=GAMMAS, cv=folds, **given).fit(X, Y)
    theirs = GridSearchCV(BudgetSVC(**given), {"C": CS, "gamma": GAMMAS}, cv=folds).fit(X, Y)
    for name in ("mean_test_score", "std_test_score", "split2_test_score"):
        np.testing.assert_allclose(ours.cv_results_[name], theirs.cv_results_[name], atol=1e-12)
    np.testing.assert_array_equal(
        ours.cv_results_["rank_test_score"], theirs.cv_results_["rank_test_score"]
    )
    assert ours.best_params_ == theirs.best_params_
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("kind", ["two", "several", "values"])
def test_shared_terms_come_near_a_search(kind):
    if kind == "several":
        x, y = make_classification(
            500, 6, n_informative=4, n_classes=3, random_state=0, class_sep=1.5
        )
    else:
        x, y = X, Y if kind == "two" else np.sin(3 * X[:, 0]) + X[:, 1] ** 2
    one, cv = (BudgetSVR, BudgetSVRCV) if kind == "values" else (BudgetSVC, BudgetSVCCV)
    folds = list(KFold(3, shuffle=True, random_state=0).split(x))
    ours = cv(budget=40, cv=folds, **FEW).fit(x, y)
    theirs = GridSearchCV(one(budget=40, random_state=0), {"C": CS, "gamma": GAMMAS}, cv=folds).fit(
        x, y
    )
    apart = np.abs(ours.cv_results_["mean_test_score"] - theirs.cv_results_["mean_test_score"])
    assert np.median(apart) < 0.01
    assert theirs.cv_results_["mean_test_score"][np.argmin(ours.cv_results_["rank_test_score"])] > (
        theirs.best_score_ - 0.01
    )


def test_the_machine_is_a_budget_svc_of_the_place_chosen(tmp_path):
    cv = BudgetSVCCV(budget=30, **FEW).fit(X, Y)
    plain = BudgetSVC(budget=30, C=cv.C_, gamma=cv.gamma_, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(cv.decision_function(X), plain.decision_function(X))
    assert cv.best_score_ == cv.cv_results_["mean_test_score"].max()
    path = tmp_path / "cv.safetensors"
    cv.save(path)
    again = budgetsvm.load(path)
    np.testing.assert_array_equal(again.decision_function(X), cv.decision_function(X))
    assert (again.C_, again.gamma_, again.best_score_) == (cv.C_, cv.gamma_, cv.best_score_)
    again.partial_fit(X, Y)
    assert clone(cv).get_params() == cv.get_params()


def test_threads_and_layout_change_nothing():
    cv = BudgetSVCCV(budget=30, n_jobs=1, **FEW).fit(X, Y)
    four = BudgetSVCCV(budget=30, n_jobs=4, **FEW).fit(X, Y)
    np.testing.assert_array_equal(
        cv.cv_results_["mean_test_score"], four.cv_results_["mean_test_score"]
    )
    sparse = BudgetSVCCV(budget=30, **FEW).fit(sp.csr_matrix(X), Y)
    assert sparse.best_score_ == pytest.approx(cv.best_score_, abs=0.02)
    single = BudgetSVCCV(budget=30, **FEW).fit(X.astype(np.float32), Y)
    assert single.best_score_ == pytest.approx(cv.best_score_, abs=0.02)


def test_scorers():
    theirs = GridSearchCV(
        BudgetSVC(400, random_state=0), {"C": CS, "gamma": GAMMAS}, cv=3, scoring="roc_auc"
    ).fit(X, Y)
    for scoring in ("roc_auc", theirs.scorer_):
        ours = BudgetSVCCV(400, cv=3, scoring=scoring, **FEW).fit(X, Y)
        np.testing.assert_allclose(
            ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=1e-12
        )
    values = BudgetSVRCV(400, cv=3, scoring="neg_mean_absolute_error", **FEW).fit(X, X[:, 0])
    assert values.best_score_ < 0


def test_weights_of_a_class_and_of_rows_matter():
    weights = np.where(Y == 1, 20.0, 1.0)
    plain = BudgetSVCCV(400, cv=3, **FEW).fit(X, Y)
    heavy = BudgetSVCCV(400, cv=3, class_weight={1: 20.0}, **FEW).fit(X, Y)
    weighed = BudgetSVCCV(400, cv=3, **FEW).fit(X, Y, weights)
    assert (heavy.predict(X) == 1).sum() > (plain.predict(X) == 1).sum()
    assert (weighed.predict(X) == 1).sum() > (plain.predict(X) == 1).sum()


def test_no_time_and_a_callback_that_stops_leave_a_machine():
    cv = BudgetSVCCV(budget=30, max_time=1e-6, random_state=0).fit(X, Y)
    assert cv.stop_reason_ == "max_time"
    assert not hasattr(cv, "best_score_")
    assert cv.predict(X).shape == Y.shape
    stopped = BudgetSVCCV(budget=30, callback=lambda _: True, random_state=0).fit(X, Y)
    assert stopped.stop_reason_ == "callback"
    assert np.isnan(stopped.cv_results_["mean_test_score"]).any()


def test_a_limit_ends_a_grid_of_machines_that_hold_every_row():
    """Each fit forgot the limit of the grid, and ranks took the square of the places."""
    Cs = np.geomspace(1, 1e4, 4000).tolist()
    began = time.process_time()
    cv = BudgetSVRCV(Cs=Cs, gammas=[0.5], max_time=0.2, n_jobs=1, refit=False, cv=3)
    cv.fit(X, X[:, 0])
    assert cv.stop_reason_ == "max_time"
    assert time.process_time() - began < 2
    means, ranks = (cv.cv_results_[f"{of}_test_score"] for of in ("mean", "rank"))
    assert np.isnan(means).any()
    assert ranks.min() == 1
    assert (np.bincount(ranks)[1:].cumsum()[ranks - 1] >= ranks).all()


def test_an_exception_leaves_the_estimator_as_it_was():
    cv = BudgetSVCCV(budget=30, **FEW).fit(X, Y)
    before = dict(cv.__dict__)

    def fails(_):
        raise KeyboardInterrupt

    cv.callback = fails
    before["callback"] = fails
    with pytest.raises(KeyboardInterrupt):
        cv.fit(X, Y)
    assert cv.__dict__ == before


def test_without_refit_there_is_no_machine():
    cv = BudgetSVCCV(budget=30, refit=False, **FEW).fit(X, Y)
    assert cv.best_score_ > 0.8
    with pytest.raises(ValueError, match="not fitted"):
        cv.predict(X)


@pytest.mark.parametrize(("given", "name"), [
    ({"Cs": 0}, "Cs"), ({"Cs": [1.0, -1.0]}, "Cs"), ({"gammas": []}, "gammas"),
    ({"cv": 1}, "cv"), ({"cv": "five"}, "cv"), ({"scoring": 3}, "scoring"), ({"refit": 2}, "refit"),
    ({"cv": [([0, 1], [])]}, "cv"), ({"cv": [([0, 1], [9999])]}, "cv"),
])  # fmt: skip
def test_refusals_name_the_argument(given, name):
    with pytest.raises(ValueError, match=name):
        BudgetSVCCV(**given).fit(X, Y)


def test_the_best_of_few_rows_are_trained_on_all():
    x, y = make_moons(2000, noise=0.25, random_state=0)
    places = {"Cs": [0.01, 0.1, 1.0, 10.0], "gammas": [0.01, 0.1, 1.0, 10.0], "budget": 40}
    part = BudgetSVCCV(**places, random_state=0, refit=False).fit(x, y)
    whole = BudgetSVCCV(**places, random_state=0, refit=False, halving=False).fit(x, y)
    rows = part.cv_results_["n_resources"]
    assert (np.unique(rows) == [500, 1600]).all()
    last = rows == 1600
    assert last.sum() == 3
    assert (whole.cv_results_["n_resources"] == 1600).all()
    assert part.cv_results_["rank_test_score"][last].max() <= 3
    assert part.cv_results_["rank_test_score"][~last].min() > 3
    assert np.isfinite(part.cv_results_["mean_test_score"]).all()
    # All three see two folds, the better two all of them.
    reached = np.sum([np.isfinite(part.cv_results_[f"split{f}_test_score"]) for f in range(5)], 0)
    assert sorted(reached[last]) == [2, 5, 5]
    assert part.cv_results_["rank_test_score"][reached == 2] == [3]
    # What is trained on all rows is what it is without the first round, but for where C began.
    for f in range(5):
        of_part, of_whole = (cv.cv_results_[f"split{f}_test_score"][last] for cv in (part, whole))
        seen = np.isfinite(of_part)
        np.testing.assert_allclose(of_part[seen], of_whole[seen], atol=0.02)
    means = [cv.cv_results_["mean_test_score"][last & (reached == 5)] for cv in (part, whole)]
    np.testing.assert_allclose(*means, atol=0.01)
    assert part.best_score_ > whole.best_score_ - 0.005
    scored = BudgetSVCCV(**places, random_state=0, refit=False, scoring="accuracy").fit(x, y)
    np.testing.assert_allclose(
        scored.cv_results_["mean_test_score"], whole.cv_results_["mean_test_score"], atol=1e-12
    )


def test_few_rows_are_of_every_fold_that_they_serve():
    """Rows of a group tell the group's label: only those who saw the group know it."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(20), 100)
    x = 10 * rng.normal(size=(20, 5))[groups] + 0.1 * rng.normal(size=(2000, 5))
    y = (np.arange(20) % 2)[groups]
    folds = list(GroupKFold(5).split(x, y, groups))
    cv = BudgetSVCCV(Cs=3, gammas=2, budget=80, cv=folds, random_state=0, refit=False).fit(x, y)
    few = cv.cv_results_["n_resources"] < 1600
    assert few.any()
    assert (cv.cv_results_["mean_test_score"] < 0.8).all()
    mixed = StratifiedKFold(5, shuffle=True, random_state=0)
    seen = BudgetSVCCV(Cs=3, gammas=2, budget=80, cv=mixed, random_state=0, refit=False).fit(x, y)
    assert seen.cv_results_["mean_test_score"].max() > 0.95


def test_pandas_reads_the_results():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(BudgetSVCCV(budget=30, cv=3, **FEW).fit(X, Y).cv_results_)
    assert len(frame) == 9
    assert frame.sort_values("rank_test_score").iloc[0]["rank_test_score"] == 1


def test_a_linear_kernel_has_no_gamma():
    cv = BudgetSVCCV(budget=30, kernel="linear", Cs=3, gammas=7, random_state=0).fit(X, Y)
    assert len(cv.cv_results_["params"]) == 3


def test_an_exact_machine_of_the_same_place_agrees():
    cv = BudgetSVCCV(budget=400, cv=3, **FEW).fit(X, Y)
    exact = SVC(C=cv.C_, gamma=cv.gamma_).fit(X, Y)
    assert (exact.predict(X) == cv.predict(X)).mean() > 0.97
