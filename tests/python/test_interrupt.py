"""Ctrl-C, callbacks, panics: the exception comes through and nothing else has changed."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import threading

import numpy as np
import pytest
from sklearn.base import clone

from budgetsvm import BudgetSVC, _core
from budgetsvm._progress import ProgressLine
from interrupting import ctrl_c

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60_000, 20))
Y = (X[:, 0] * X[:, 1] > 0).astype(int)
LONG = {"budget": 400, "max_iter": 10**6, "tol": 0, "random_state": 0}
SHORT = {"budget": 10, "max_iter": 3, "tol": 0, "random_state": 0, "polishing": False}


@pytest.mark.parametrize("delay", [0.05, 0.3, 0.8])
@pytest.mark.parametrize("options", [{}, {"solver": "bsgd"}, {"n_jobs": 1}, {"verbose": 1}])
def test_ctrl_c_ends_a_fit_within_half_a_second(delay, options):
    model = BudgetSVC(budget=5, random_state=0).fit(X[:500], Y[:500])
    model.set_params(**LONG, **options)
    before = model.__dict__.copy()
    with ctrl_c(delay):
        model.fit(X, Y)
    assert model.__dict__ == before
    # The next fit is the same as if nothing had happened.
    small = clone(model).set_params(**SHORT, verbose=0)
    np.testing.assert_array_equal(
        small.fit(X[:900], Y[:900]).dual_coef_, clone(small).fit(X[:900], Y[:900]).dual_coef_
    )


@pytest.mark.thread_unsafe(reason="Ctrl-C is for the main thread")
def test_ctrl_c_in_partial_fit_leaves_whole_parts():
    model = BudgetSVC(budget=500, random_state=0)
    model.partial_fit(X[:1000], Y[:1000], [0, 1])
    big, labels = np.tile(X, (8, 1)), np.tile(Y, 8)
    timer = threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT))
    before = model.__dict__.copy()
    # On a busy machine Ctrl-C may come before `start` has returned.
    with contextlib.suppress(KeyboardInterrupt):
        timer.start()
        while True:
            model.partial_fit(big, labels)
            before = model.__dict__.copy()
    assert model.__dict__ == before


class Oops(Exception):
    pass


def test_an_exception_in_a_callback_comes_through():
    model = BudgetSVC(budget=5, random_state=0).fit(X[:500], Y[:500])

    def callback(progress):
        raise Oops(progress["phase"])

    model.set_params(**LONG, callback=callback)
    before = model.__dict__.copy()
    with pytest.raises(Oops):
        model.fit(X, Y)
    assert model.__dict__ == before


def test_a_callback_sees_progress_and_may_stop():
    seen = []

    def callback(progress):
        seen.append(progress)
        return progress["phase"] == "end_of_pass" and progress["iteration"] == 2

    model = BudgetSVC(budget=20, max_iter=50, tol=0, callback=callback, random_state=0)
    model.fit(X[:3000], Y[:3000])
    assert model.stop_reason_ == "callback"
    assert model.n_iter_ == 2
    assert np.isfinite(model.decision_function(X[:10])).all()
    assert set(seen[0]) == {
        "phase", "iteration", "seen", "n_samples", "n_sv", "moved", "maintained", "objective",
        "validation_score", "time",
    }  # fmt: skip
    assert [p["iteration"] for p in seen if p["phase"] == "end_of_pass"] == [1, 2]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_callback_may_train_another_and_itself(n_jobs):
    inner = []
    model = BudgetSVC(**SHORT, n_jobs=n_jobs)

    def callback(progress):
        if progress["phase"] == "end_of_pass" and not inner:
            inner.append(None)
            inner[0] = clone(model).set_params(callback=None).fit(X[:2000], Y[:2000])
            inner[0].predict(X[:50_000])

    model.set_params(callback=callback).fit(X[:2000], Y[:2000])
    np.testing.assert_array_equal(model.dual_coef_, inner[0].dual_coef_)


def test_a_callback_may_drop_the_estimator():
    holder = [BudgetSVC(**SHORT, callback=lambda _: holder.clear())]
    fitted = holder[0].fit(X[:2000], Y[:2000])
    assert fitted.n_terms_ == 10
    assert not holder


def test_a_panic_is_an_exception_and_the_pool_lives():
    for _ in range(3):
        with pytest.raises(RuntimeError, match="a test of panics"):
            _core._test_panic()
    assert BudgetSVC(**SHORT).fit(X[:900], Y[:900]).n_terms_ == 10


def test_verbose_writes_lines(capsys):
    BudgetSVC(**SHORT, verbose=1).fit(X[:900], Y[:900])
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in lines] == [
        "budgetsvm: pass 1.00 of 3", "budgetsvm: pass 2.00 of 3", "budgetsvm: pass 3.00 of 3",
        "budgetsvm: done (max_iter)",
    ]  # fmt: skip
    assert all("10 SVs" in line for line in lines)
    BudgetSVC(**SHORT).fit(X[:900], Y[:900])
    assert capsys.readouterr() == ("", "")


def test_a_terminal_gets_one_live_line():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stream = Terminal()
    line = ProgressLine(2, stream)
    progress = {
        "phase": "pass", "iteration": 0, "seen": 50, "n_samples": 100, "n_sv": 7,
        "objective": None, "time": 1.0,
    }  # fmt: skip
    line.show(progress)
    line.show({**progress, "phase": "polish", "iteration": 3, "objective": 12.5})
    line.close()
    assert stream.getvalue() == (
        "\r\x1b[Kbudgetsvm: pass 0.50 of 2, 50 rows/s, at most 3.0 s left, 7 SVs, 1.0 s"
        "\r\x1b[Kbudgetsvm: polish step 3, 7 SVs, objective 12.5, 1.0 s\n"
    )
