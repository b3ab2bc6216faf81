"""Every public call that computes, of every estimator, asks its watch in time and keeps its limit.

What is measured is processor time: of the longest stretch between two looks at the watch, of the
longest time in which no other thread of Python runs, and of a limited call in all. However busy the
machine, other processes do not count; that cores which share a cache or a pipeline slow each other
down is what `LOADED` is for.
"""

from __future__ import annotations

import functools
import io
import os
import pickle
import threading
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


class Ticking(threading.Thread):
    """Another thread of Python, and the longest time, of the process, between two of its turns."""

    def __init__(self):
        super().__init__(daemon=True)
        self.longest, self._ends = 0.0, threading.Event()

    def run(self):
        last = time.process_time()
        while not self._ends.wait(0.002):
            now = time.process_time()
            self.longest, last = max(self.longest, now - last), now
        self.longest = max(self.longest, time.process_time() - last)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self._ends.set()
        self.join()


def watched(what, call):
    """Seconds that the call computes; it must have asked its watch, and let others run, in time."""
    _core._test_looks(time.process_time)
    began = time.process_time()
    ticking = Ticking()
    try:
        with warnings.catch_warnings(), ticking:
            warnings.simplefilter("ignore")
            call()
    finally:
        spent = time.process_time() - began
        longest, inside = _core._test_looks(None)
    assert longest < PROMISE, f"{what}: {longest:.2f} s without a look, of {inside:.2f}"
    assert ticking.longest < PROMISE, f"{what}: {ticking.longest:.2f} s without Python"
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
    watched("load", lambda: budgetsvm.load(tmp_path / "model.safetensors"))
    watched("pickle", lambda: pickle.loads(pickle.dumps(model)))
    loaded = budgetsvm.load(tmp_path / "model.safetensors")
    assert loaded.get_params().keys() == model.get_params().keys()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["PrimalSVC", "PrimalSVR"])
def test_tuning_asks_in_time(name, shape):
    loss = {"loss": "squared_epsilon_insensitive"} if name == "PrimalSVR" else {}
    model = make(name, shape, max_time=LIMIT, tune=True, tune_size=500, **loss)
    spent = watched("tune", lambda: model.fit(*arguments(model, shape)))
    assert spent < LIMIT + PROMISE


def of_many_rows():
    """A million rows of two classes, and a machine of them."""
    X = np.random.default_rng(0).normal(size=(1_000_000, 2))
    y = (X[:, 0] > 0).astype(int)
    return budgetsvm.BudgetSVC(budget=5, random_state=0).fit(X[:2000], y[:2000]), X, y


def of_many_classes():
    """Rows of sixty classes, and a calibrated machine of some of them."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(60), 340)
    X = 3 * rng.normal(size=(60, 10))[y] + rng.normal(size=(len(y), 10))
    return budgetsvm.SVC().fit(X[::17], y[::17]).calibrate(X[::17], y[::17], cv="prefit"), X


def of_text():
    """Rows whose text is some hundred megabytes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300_000, 40))
    return X, X[:, 0]


class Nothing(io.RawIOBase):
    def writable(self):
        return True

    def write(self, data):
        return len(data)


@pytest.mark.parametrize("method", ["auto", "sigmoid", "isotonic", "temperature"])
def test_calibration_of_many_rows_lets_others_run(method):
    model, X, y = of_many_rows()
    watched("calibrate", lambda: model.calibrate(X, y, method=method, cv="prefit"))
    watched("predict_proba", lambda: model.predict_proba(X))
    watched("predict", lambda: model.predict(X))


def test_probabilities_of_many_classes_let_others_run():
    model, X = of_many_classes()
    watched("predict_proba", lambda: model.predict_proba(X))
    watched("predict", lambda: model.predict(X))


def test_what_follows_the_input_lets_others_run(tmp_path):
    X, y = of_text()
    watched("dump", lambda: budgetsvm.data.dump_svmlight_file(X, y, Nothing()))
    weight = np.ones(len(X))
    watched("variance", lambda: _core.variance(X, weight))
    watched("scales", lambda: _core.scales(X, weight))
    model = budgetsvm.SVR(feature_scales=np.ones(X.shape[1]), max_iter=1, gamma=0.1)
    some = slice(None, None, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[some], y[some])
    watched("pickle", lambda: pickle.loads(pickle.dumps(model)))
    watched("save", lambda: model.save(tmp_path / "model.safetensors"))
    watched("load", lambda: budgetsvm.load(tmp_path / "model.safetensors"))


def test_the_measure_sees_what_it_is_for():
    """A call that looks but once is one long stretch, and so is one that keeps Python waiting."""
    values = np.random.default_rng(0).normal(size=2_000_000)
    _core._test_looks(time.process_time)
    began = time.process_time()
    _core.sigmoid(values, values > 0.5, np.ones(len(values)))
    spent = time.process_time() - began
    longest, inside = _core._test_looks(None)
    assert spent / 100 < longest <= inside <= spent
    assert _core._test_looks(None) == (0.0, 0.0)
    with Ticking() as ticking:
        time.sleep(0.02)
        list(range(10_000_000))  # in one piece
    assert ticking.longest > 0.02
