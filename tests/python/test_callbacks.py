"""scikit-learn's callbacks: tasks in order, a wish to stop is heard, all is undone."""

from __future__ import annotations

import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.model_selection import GridSearchCV

from budgetsvm import (
    AssetSVC,
    AssetSVR,
    BudgetOneClassSVM,
    BudgetSVC,
    BudgetSVR,
    LocalBudgetSVC,
    NystroemOGD,
    PrimalSVC,
    PrimalSVR,
    Stoptron,
)

pytest.importorskip("sklearn.callback")
X, Y = make_moons(2000, noise=0.2, random_state=0)


class Recorder:
    """A FitCallback that writes down what happens and stops after so many passes."""

    def __init__(self, passes=None):
        self.passes, self.events = passes, []

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None, metadata=None):
        self.events.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, metadata=None):
        self.events.append(f"end {context.task_name}")
        return self.passes is not None and self.events.count("end pass") >= self.passes


@pytest.mark.parametrize("kind", [BudgetSVC, BudgetSVR])
def test_a_fit_and_its_passes_are_tasks(kind):
    recorder = Recorder()
    model = kind(budget=20, max_iter=3, tol=0).set_callbacks(recorder).fit(X, Y)
    passes = ["begin pass", "end pass"] * 3
    assert recorder.events == ["setup", "begin fit", *passes, "end fit", "teardown"]
    plain = kind(budget=20, max_iter=3, tol=0, random_state=0).fit(X, Y)
    assert set(vars(model)) - set(vars(plain)) == {"_skl_callbacks"}


ALL = [
    BudgetSVC(10), BudgetSVR(10), BudgetSVC(200), PrimalSVC(), PrimalSVR(), PrimalSVC(solver="cg"),
    PrimalSVC(kernel="linear"), PrimalSVC(basis="random", n_components=10),
    AssetSVC(n_components=10), AssetSVC(solver="dual"), AssetSVR(solver="dual"), Stoptron(20),
    NystroemOGD(20), LocalBudgetSVC(4), LocalBudgetSVC(4, local="bsca"), BudgetOneClassSVM(10),
    BudgetOneClassSVM(200),
]  # fmt: skip


@pytest.mark.parametrize("model", ALL, ids=str)
def test_a_small_fit_is_told_as_a_large_one(model):
    """However short a fit is, both kinds of callback are called."""
    told, recorder = [], Recorder()
    model = clone(model).set_params(callback=lambda progress: bool(told.append(progress)))
    model.set_callbacks(recorder).fit(X[:60], Y[:60])
    assert told
    assert {"phase", "iteration", "objective", "time"} <= set(told[0])
    assert recorder.events[:2] == ["setup", "begin fit"]
    assert recorder.events[-2:] == ["end fit", "teardown"]
    before = len(told)
    if hasattr(model, "partial_fit"):
        model.partial_fit(X[:60], Y[:60])
        assert len(told) > before


def test_the_score_of_the_validation_part_is_told(capsys):
    told = []
    model = BudgetSVC(
        20, max_iter=3, tol=0, early_stopping=True, verbose=1, random_state=0,
        callback=lambda progress: bool(told.append(progress)),
    ).fit(X, Y)  # fmt: skip
    ends = [p["validation_score"] for p in told if p["phase"] == "end_of_pass"]
    passes = model.history_["phase"] == 0
    assert ends == list(model.history_["validation_score"][passes])
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= len(ends) == 3
    for score, line in zip(ends, lines, strict=False):
        assert f"validation score {score:.4f}" in line
    told.clear()
    model.set_params(early_stopping=False, verbose=0).fit(X, Y)
    assert {p["validation_score"] for p in told} == {None}


def test_a_callback_stops_the_fit():
    recorder = Recorder(passes=2)
    model = BudgetSVC(budget=20, max_iter=50, tol=0).set_callbacks(recorder).fit(X, Y)
    assert model.stop_reason_ == "callback"
    assert model.n_iter_ == 2


def test_a_failing_callback_and_a_failing_fit_tear_down():
    class Failing(Recorder):
        def on_fit_task_end(self, estimator, context):
            raise RuntimeError("mine")

    model = BudgetSVC(budget=20).fit(X, Y)
    before = model.dual_coef_.copy()
    failing = Failing()
    with pytest.raises(RuntimeError, match="mine"):
        model.set_callbacks(failing).fit(X, Y)
    assert failing.events[-1] == "teardown"
    assert (model.dual_coef_ == before).all()
    recorder = Recorder()
    with pytest.raises(ValueError, match="C must be"):
        model.set_params(C=-1).set_callbacks(recorder).fit(X, Y)
    assert recorder.events == ["setup", "begin fit", "teardown"]


def test_inside_a_search():
    recorder = Recorder()
    search = GridSearchCV(BudgetSVC(budget=10).set_callbacks(recorder), {"C": [1, 10]}, cv=2)
    search.fit(X, Y)
    # Two candidates on two folds, and the refit.
    assert recorder.events.count("end fit") in (1, 5)
    assert search.best_score_ > 0.8
