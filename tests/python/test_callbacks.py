"""scikit-learn's callbacks: tasks in order, a wish to stop is heard, all is undone."""

from __future__ import annotations

import pytest
from sklearn.datasets import make_moons
from sklearn.model_selection import GridSearchCV

from budgetsvm import BudgetSVC, BudgetSVR

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
