"""Every public call that computes, of every estimator, asks its watch in time and keeps its limit.

What is measured is processor time on one thread: of the longest stretch between two looks at the
watch, and of a limited call in all. However busy the machine, other processes do not count; that
cores which share a cache or a pipeline slow each other down is what `LOADED` is for.
"""

from __future__ import annotations

import functools
import os
import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import budgetsvm
from budgetsvm import _core

# Stretches are those of the whole process.
pytestmark = pytest.mark.thread_unsafe(reason="the process is measured, not a thread of it")

#: What is promised is half a second of a quiet machine; a loaded one computes at half the speed.
LOADED = 2
PROMISE = 0.5 * LOADED
#: Seconds of the limited calls.
LIMIT = 0.2


ESTIMATORS = [name for name in budgetsvm.__all__ if isinstance(getattr(budgetsvm, name), type)]
SHAPES = ("dense", "wide sparse", "many classes", "large budget")
#: What makes a model large.
LARGE = {"budget": 2000, "n_components": 1000, "n_frequencies": 2000, "n_clusters": 200}
#: Slopes that are asked for: 100 MB, and with BUDGETSVM_LONG 400, where 60 classes take minutes.
MOST_SLOPES = 50_000_000 if os.environ.get("BUDGETSVM_LONG") else 12_500_000
#: Learners on a map of their own, which they are nothing without: a limit is heard after it.
MAPPED = {"AssetSVC": "Nystroem", "AssetSVR": "Nystroem", "FourierOGD": "RandomFourier"}


@functools.cache
def data(shape):
    """Rows, values and labels."""
    rng = np.random.default_rng(0)
    if shape in ("dense", "large budget"):
        X = rng.normal(size=(10_000, 20))
        value = X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=len(X))
        return X, value, (value > 0).astype(int)
    n, d, each = 3000, 50_000, 100
    y = np.arange(n) % (60 if shape == "many classes" else 2)
    columns = rng.integers(0, d, (n, each))
    columns[:, :10] = 400 * y[:, None] + rng.integers(0, 400, (n, 10))
    where = (np.repeat(np.arange(n), each), columns.ravel())
    X = sp.csr_matrix((rng.random(n * each), where), shape=(n, d))
    X.sum_duplicates()
    return X, y + 0.1 * rng.normal(size=n), y


def make(name, shape, **options):
    kind = getattr(budgetsvm, name)
    known = kind().get_params()
    options |= {"n_jobs": 1, "random_state": 0}
    if shape == "large budget":
        # Cells that learn online have no map.
        options |= LARGE if name != "LocalBudgetSVC" else {"budget": 2000, "n_clusters": 200}
    return kind(**{key: value for key, value in options.items() if key in known})


def arguments(model, shape):
    X, values, labels = data(shape)
    if not hasattr(model, "predict") or "OneClass" in type(model).__name__:
        return (X,)
    return X, values if "SVR" in type(model).__name__ else labels


def watched(what, call):
    """Seconds that the call computes; it must have asked its watch in time."""
    _core._test_looks(time.process_time)
    began = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    finally:
        spent = time.process_time() - began
        longest, inside = _core._test_looks(None)
    assert longest < PROMISE, f"{what}: {longest:.2f} s without a look, of {inside:.2f}"
    return spent


@functools.cache
def of_map(name, shape):
    """Seconds of the map alone."""
    mine = make(name, shape)
    width = 2 * mine.n_frequencies if name == "FourierOGD" else mine.n_components
    model = getattr(budgetsvm, MAPPED[name])(width, n_jobs=1, random_state=0)
    return watched(f"map of {name}", lambda: model.fit(data(shape)[0]))


CASES = [(name, shape) for name in ESTIMATORS for shape in SHAPES]


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_every_call_asks_in_time(name, shape, tmp_path):
    model = make(name, shape, max_time=LIMIT)
    given = arguments(model, shape)
    if name.startswith("Auto") and shape in SHAPES[1:3]:
        # A scale a feature: thousands of columns are refused, at once.
        with pytest.raises(ValueError, match="can search"):
            model.fit(*given)
        return
    limited = LIMIT + PROMISE if "max_time" in model.get_params() else np.inf
    if name in MAPPED:
        limited += LOADED * of_map(name, shape)
    spent = watched("fit", lambda: model.fit(*given))
    assert spent < limited, f"fit took {spent:.2f} s of {LIMIT}"
    for call in ("partial_fit", "polish"):
        if hasattr(model, call):
            if name == "BudgetOneClassSVM" and call == "partial_fit":
                # One that was cut short has no summary to go on from, and says so.
                model = make(name, shape, max_time=LIMIT)
            spent = watched(call, lambda call=call, model=model: getattr(model, call)(*given))
            assert call == "polish" or spent < limited, f"{call} took {spent:.2f} s of {LIMIT}"
    for call in ("predict", "decision_function", "transform"):
        if hasattr(model, call):
            watched(call, lambda call=call: getattr(model, call)(given[0]))
    if hasattr(model, "gradient"):
        slopes = model.gradient(given[0][:1]).size
        rows = given[0][: np.clip(MOST_SLOPES // slopes, 1, 16)]
        watched("gradient", lambda: model.gradient(rows))
        watched("feature_importances", lambda: model.feature_importances(rows))
    if hasattr(model, "calibrate"):
        watched("calibrate", lambda: model.calibrate(*given, cv="prefit"))
        watched("predict_proba", lambda: model.predict_proba(given[0]))
    watched("save", lambda: model.save(tmp_path / "model.safetensors"))
    loaded = budgetsvm.load(tmp_path / "model.safetensors")
    assert loaded.get_params().keys() == model.get_params().keys()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["PrimalSVC", "PrimalSVR"])
def test_tuning_asks_in_time(name, shape):
    loss = {"loss": "squared_epsilon_insensitive"} if name == "PrimalSVR" else {}
    model = make(name, shape, max_time=LIMIT, tune=True, tune_size=500, **loss)
    spent = watched("tune", lambda: model.fit(*arguments(model, shape)))
    assert spent < LIMIT + PROMISE


def test_the_measure_sees_a_stretch_without_a_look():
    """What the others rely on: a call that looks but once is one long stretch."""
    X = np.random.default_rng(0).normal(size=(60_000, 200))

    def call():
        # A pass over all entries, on one thread.
        for _ in range(20):
            _core.variance(X, np.ones(len(X)))

    _core._test_looks(time.process_time)
    began = time.process_time()
    call()
    spent = time.process_time() - began
    longest, inside = _core._test_looks(None)
    assert spent / 40 < longest <= inside <= spent
    assert _core._test_looks(None) == (0.0, 0.0)
