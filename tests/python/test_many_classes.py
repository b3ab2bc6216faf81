"""Machines of many classes: what pairs come to, without the values of all pairs of all rows."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import budgetsvm
from budgetsvm import _one_vs_one, serve


def data(classes, each, seed=0):
    rng = np.random.default_rng(seed)
    centres = 3 * rng.normal(size=(classes, 12))
    y = np.repeat(np.arange(classes), each)
    new = centres[rng.integers(0, classes, 90)] + rng.normal(size=(90, 12))
    return centres[y] + rng.normal(size=(len(y), 12)), y, new


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("each", [3, 25])
@pytest.mark.parametrize("name", ["SVC", "NuSVC"])
def test_answers_are_what_the_pairs_say(name, each, dtype, tmp_path):
    X, y, new = data(30, each)
    X, new = X.astype(dtype), new.astype(dtype)
    model = getattr(budgetsvm, name)(break_ties=False).fit(X, y)
    pairs = model.set_params(decision_function_shape="ovo").decision_function(new)
    assert pairs.shape == (90, 30 * 29 // 2)
    model.set_params(decision_function_shape="ovr")
    np.testing.assert_array_equal(model.predict(new), _one_vs_one.vote(pairs, 30))
    by_class = _one_vs_one.ovr_decision_function(pairs, 30)
    np.testing.assert_array_equal(model.decision_function(new), by_class)
    model.set_params(break_ties=True)
    np.testing.assert_array_equal(model.predict(new), by_class.argmax(axis=1))
    model.save(tmp_path / "model.safetensors")
    served = serve.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(served.predict(new), model.predict(new))
    np.testing.assert_array_equal(served.decision_function(new), by_class)
    model.calibrate(X, y, cv="prefit")
    one_by_one = np.concatenate([model.predict_proba(row[None]) for row in new])
    found = model.predict_proba(new)
    np.testing.assert_array_equal(found, one_by_one)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(new), found.argmax(axis=1))
    np.testing.assert_array_equal(model.set_params(n_jobs=1).predict_proba(new), found)


def test_pairs_of_few_rows_are_trained_as_any_others():
    """The values of all samples are computed at once where classes are small, else pair by pair."""
    X, y, _ = data(20, 4)
    whole = budgetsvm.SVC(cache_size=200).fit(X, y)
    pairs = budgetsvm.SVC(cache_size=0.09).fit(X, y)  # no room for them
    np.testing.assert_array_equal(whole.dual_coef_, pairs.dual_coef_)
    np.testing.assert_array_equal(whole.intercept_, pairs.intercept_)


PEAK = """
    import json, re, sys
    import numpy as np
    import budgetsvm

    call, = json.loads(sys.argv[1])

    def status(name):
        with open("/proc/self/status") as told:
            return int(re.search(name + r":\\s+(\\d+)", told.read())[1]) // 1024

    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(150), 3)
    X = 3 * rng.normal(size=(150, 20))[y] + rng.normal(size=(450, 20))
    model = budgetsvm.SVC().fit(X, y)
    if call == "predict_proba":
        model.calibrate(X, y, cv="prefit")
    new = rng.normal(size=(2500, 20))
    getattr(model, call)(new[:1])
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")
    before = status("VmRSS")
    getattr(model, call)(new)
    print(status("VmHWM") - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc as Linux has it")
@pytest.mark.parametrize("call", ["predict", "decision_function", "predict_proba"])
def test_no_call_holds_the_values_of_all_pairs(call):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PEAK), json.dumps([call])],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    if "clear_refs" in done.stderr:
        pytest.skip("this system does not forget a peak")
    assert done.returncode == 0, done.stderr[-2000:]
    # All of them are 223 MB.
    assert int(done.stdout) < 50
