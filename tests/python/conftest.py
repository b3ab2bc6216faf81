"""Shared by all Python tests."""

from __future__ import annotations

import copy
import functools
import os

# Before SciPy is imported: scikit-learn's checks of other libraries' arrays need it.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import hypothesis
import matplotlib
import pytest
from sklearn.base import BaseEstimator

matplotlib.use("Agg")

# `make long` sets BUDGETSVM_LONG; timings vary too much on shared machines for a deadline.
hypothesis.settings.register_profile("quick", max_examples=50, deadline=None)
hypothesis.settings.register_profile("long", max_examples=10_000, deadline=None)
hypothesis.settings.load_profile("long" if os.environ.get("BUDGETSVM_LONG") else "quick")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """A check of scikit-learn's contract that is skipped has failed.

    But for that of probabilities of sets of labels where a machine has none: it runs with the
    logistic loss.
    """
    report = yield
    if report.skipped and "does not have a predict_proba" in str(call.excinfo.value):
        return report
    if report.skipped and not hasattr(report, "wasxfail") and "check" in item.fixturenames:
        report.outcome, report.longrepr = "failed", f"a check was skipped: {call.excinfo.value}"
    return report


def pytest_collection_modifyitems(config, items):
    """Under pytest-run-parallel (`make free-threaded`) every thread has estimators of its own.

    Those that parametrise a test are made once, and that several threads fit one is nobody's
    promise. Ctrl-C is for the main thread alone.
    """
    if config.getoption("parallel_threads", 1) in (1, "1"):
        return
    for item in items:
        if not isinstance(item, pytest.Function):
            continue
        code = item.function.__code__
        if "ctrl_c" in code.co_names:
            item.add_marker(pytest.mark.thread_unsafe(reason="Ctrl-C is for the main thread"))
        others = set(item.fixturenames) - set(code.co_varnames[: code.co_argcount])
        if others & {"tmp_path", "tmp_path_factory"}:
            item.add_marker(pytest.mark.thread_unsafe(reason="a fixture's folder is shared"))
        item.obj = with_own_estimators(item.obj)


def with_own_estimators(test):
    @functools.wraps(test)
    def run(*args, **kwargs):
        own = {
            name: copy.deepcopy(value) if isinstance(value, BaseEstimator) else value
            for name, value in kwargs.items()
        }
        return test(*args, **own)

    return run


@pytest.fixture(scope="session")
def adult():
    """(X_train, y_train, X_test, y_test) of the bundled Adult data; do not write to them."""
    from budgetsvm.datasets import load_adult

    return load_adult()
