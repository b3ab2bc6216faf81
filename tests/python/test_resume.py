"""A process that learns a stream is killed: from its last file it goes on to the same bits."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import budgetsvm

PART, PARTS = 40, 30

# Learns part after part and saves after each; says so. Killed at any moment.
CHILD = """
    import json, sys, warnings
    import numpy as np
    import budgetsvm

    warnings.simplefilter("ignore")
    name, params, path, data = json.loads(sys.argv[1])
    X, y = np.load(data)["X"], np.load(data)["y"]
    model = getattr(budgetsvm, name)(**params)
    for at in range(0, len(X), 40):
        given = () if "OneClass" in name else (y[at:at + 40],)
        first = {} if given == () or name.endswith("SVR") else {"classes": [0, 1]}
        model.partial_fit(X[at:at + 40], *given, **first)
        model.save(path)
        print(at, flush=True)
"""

MODELS = [
    ("BudgetSVC", {"budget": 20, "gamma": 0.5, "random_state": 0}),
    ("BudgetSVC", {"budget": 20, "gamma": 0.5, "solver": "bsgd", "random_state": 0}),
    ("BudgetSVR", {"budget": 20, "gamma": 0.5, "random_state": 0}),
    ("BudgetOneClassSVM", {"budget": 20, "gamma": 0.5, "nu": 0.2, "random_state": 0}),
    ("AssetSVC", {"n_components": 20, "gamma": 0.5, "random_state": 0}),
    ("LocalBudgetSVC", {"n_clusters": 4, "budget": 20, "gamma": 0.5, "random_state": 0}),
    ("KernelPerceptron", {"gamma": 0.5, "average": True}),
    ("RandomizedBudgetPerceptron", {"budget": 20, "gamma": 0.5, "random_state": 0}),
    ("ProjectronPlusPlus", {"budget": 20, "gamma": 0.5}),
    ("BudgetOGD", {"budget": 20, "gamma": 0.5, "random_state": 0}),
    ("FourierOGD", {"n_frequencies": 30, "gamma": 0.5, "random_state": 0}),
    ("NystroemOGD", {"budget": 20, "gamma": 0.5, "random_state": 0}),
]


@pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them")
@pytest.mark.parametrize(("name", "params"), MODELS)
@pytest.mark.parametrize(
    "said", [1, 13] + [4, 7, 10, 16, 19, 22, 25, 28] * bool(os.environ.get("BUDGETSVM_LONG"))
)
def test_a_killed_stream_goes_on_to_the_same_bits(name, params, said, tmp_path):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(PART * PARTS, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    y = X[:, 0] + 0.1 * y if name.endswith("SVR") else y
    path, data = tmp_path / "model.safetensors", tmp_path / "data.npz"
    np.savez(data, X=X, y=y)
    case = json.dumps([name, params, str(path), str(data)])
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(CHILD), case], stdout=subprocess.PIPE, text=True
    ) as child:
        for _ in range(said):
            assert child.stdout.readline()
        # It is within a part now, or writes a file.
        child.send_signal(signal.SIGKILL)
        child.communicate()

    def learn(model, first):
        for at in range(first, len(X), PART):
            given = () if "OneClass" in name else (y[at : at + PART],)
            of_classes = {"classes": [0, 1]} if given and not name.endswith("SVR") else {}
            model.partial_fit(X[at : at + PART], *given, **of_classes)
        return model

    found = budgetsvm.load(path)
    seen = found._machine.seen
    assert seen % PART == 0
    assert said * PART <= seen <= len(X)
    found = learn(found, seen)
    whole = learn(getattr(budgetsvm, name)(**params), 0)
    ask = "decision_function" if hasattr(whole, "decision_function") else "predict"
    np.testing.assert_array_equal(getattr(found, ask)(X), getattr(whole, ask)(X))
    found.save(path)
    whole.save(tmp_path / "whole.safetensors")
    again = [budgetsvm.load(at) for at in (path, tmp_path / "whole.safetensors")]
    np.testing.assert_array_equal(*(getattr(model, ask)(X) for model in again))
