"""Every estimator under a limit on address space: it succeeds, or says MemoryError, and lives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap

import pytest
from sklearn.base import ClassifierMixin

import budgetsvm

LONG = bool(os.environ.get("BUDGETSVM_LONG"))
#: Megabytes beyond what the process has when the call begins.
ROOM = [2, 4, 8, 12, 16, 24, 32, 40, 48, 64, 80, 100, 130, 160, 200, 250, 300, 400, 500]
SHORT = [8, 40, 64]
ESTIMATORS = [
    name
    for name in budgetsvm.__all__
    if isinstance(getattr(budgetsvm, name), type) and hasattr(getattr(budgetsvm, name), "fit")
]


def is_classifier_class(name):
    return issubclass(getattr(budgetsvm, name), ClassifierMixin)


#: What makes a machine large on few rows: name of the class -> hyperparameters.
LARGE = {
    "Nystroem": {"n_components": 1200},
    "IncompleteCholesky": {"n_components": 600, "tol": 0.0, "gamma": 1.0},
    "RandomFourier": {"n_components": 4000},
    "BudgetSVC": {"budget": 1000},
    "BudgetSVR": {"budget": 1000},
    "AssetSVC": {"n_components": 900},
    "AssetSVR": {"n_components": 900},
    "FourierOGD": {"n_frequencies": 4000},
    "NystroemOGD": {"budget": 700},
}

# Each case in a child of a process that has made its threads' libraries ready. The child writes
# how it ended; a signal, an exit of the runtime's own or a hang are what must not be.
CASES = """
    import json, os, resource, signal, sys, time, warnings
    import numpy as np
    import scipy.sparse as sp
    import budgetsvm

    warnings.simplefilter("ignore")
    name, params, room, seconds, shape = json.loads(sys.argv[1])
    chance = np.random.default_rng(0)
    X = chance.normal(size=(3000 if len(room) > 5 else 800, 40))
    cls = getattr(budgetsvm, name)
    y = X[:, 0] * X[:, 1] if name.endswith("SVR") else (X[:, 0] > 0) + (X[:, 1] > 1)
    few = X[:100]
    small = cls(**{**params, **{k: 10 for k in params if isinstance(params[k], int)}})
    small.fit(few, y[:100])
    if shape == "wide":
        columns = np.sort(chance.choice(400_000, 300, replace=False)).astype(np.int32)
        X = sp.csr_matrix((np.ones(300), columns, np.arange(301)), (300, 400_000))
        y = np.arange(300) % 2 + (0.5 if name.endswith("SVR") else 0)
    if shape == "classes":
        X, y = chance.normal(size=(20_000, 5)), np.arange(20_000) // 2

    def used(model, X):
        for method in ("predict", "transform"):
            if hasattr(model, method):
                return getattr(model, method)(X)

    before = used(small, few)

    def vast():
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[0]) * resource.getpagesize()

    def child(megabytes):
        limit = vast() + (megabytes << 20)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        model = cls(**params)
        if "max_time" in model.get_params():
            model.set_params(max_time=5)
        try:
            used(model.fit(X, y), X)
            told = "success"
        except MemoryError as error:
            told = "MemoryError"
            del error
        except BaseException as error:
            told = f"{type(error).__name__}: {error}"
        # With room again the process works as before.
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
        same = (used(small, few) == before).all()
        return told if same else f"{told}, and other predictions"

    ends = {}
    for megabytes in room:
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read)
            # The hard limit cannot be raised again: only the soft one is set.
            resource.setrlimit = (lambda set_: lambda what, limits: set_(
                what, (limits[0], resource.RLIM_INFINITY)))(resource.setrlimit)
            told = child(megabytes)
            os.write(write, told.encode()[:4000])
            os._exit(0)
        os.close(write)
        end, status = time.monotonic() + seconds, None
        while time.monotonic() < end:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                break
            time.sleep(0.005)
        else:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            status = "a hang"
        told = os.read(read, 4000).decode()
        os.close(read)
        ends[megabytes] = told if status == 0 else f"status {status} {told}"
    print(json.dumps(ends))
"""


def ends_of(name, params, room, shape, refused=()):
    """How fits in so many megabytes ended: in an answer, MemoryError, or as what is refused."""
    case = [name, params, room, 200, shape]
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CASES), json.dumps(case)],
        capture_output=True, text=True, timeout=900, check=False,
        env={**os.environ, "RUST_BACKTRACE": "1", "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    ends = json.loads(done.stdout)
    fine = ("success", "MemoryError")
    other = {
        room: end
        for room, end in ends.items()
        if end not in fine and not (end.startswith(refused) and "other predictions" not in end)
    }
    assert not other, f"{other}\n{done.stderr[-2000:]}"
    return ends


@pytest.mark.skipif(sys.platform != "linux", reason="limits and /proc as Linux has them")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_memory_error_or_success(name):
    ends = ends_of(name, LARGE.get(name, {}), ROOM if LONG else SHORT, "dense")
    # No call is refused where there is room for it all.
    assert not LONG or ends[str(ROOM[-1])] == "success"


#: Megabytes beyond what the process has when a fit of few entries in 400,000 columns begins, of
#: which a hundred dense rows are 320 MB; or one of 10,000 classes.
WIDE, CLASSES = [200, 800, 1400], [20, 150, 1000]


@pytest.mark.skipif(sys.platform != "linux", reason="limits and /proc as Linux has them")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_few_entries_in_very_many_columns(name):
    # What searches for a machine takes no such columns.
    refused = ("ValueError: X has 400000 features",) if name.startswith("Auto") else ()
    ends_of(name, {}, WIDE, "wide", refused)


@pytest.mark.skipif(sys.platform != "linux", reason="limits and /proc as Linux has them")
@pytest.mark.parametrize("name", [name for name in ESTIMATORS if is_classifier_class(name)])
def test_very_many_classes(name):
    # Two rows of a class are in two folds.
    params = {"cv": 2, "Cs": [1.0], "gammas": [0.1]} if name == "BudgetSVCCV" else {}
    ends_of(name, params, CLASSES, "classes")


PEAK = """
    import json, re, sys, warnings
    import numpy as np
    import budgetsvm

    warnings.simplefilter("ignore")
    name, n, d, own, classes, kinds = json.loads(sys.argv[1])

    def status(name):
        with open("/proc/self/status") as told:
            return int(re.search(name + r":\\s+(\\d+)", told.read())[1]) * 1024

    chance = np.random.default_rng(0)
    X = chance.normal(size=(n, d))
    if kinds:
        X = X[chance.integers(0, kinds, n)]
    y = X[:, 0] * X[:, 1] > 0 if classes == 2 else np.floor(3 * X[:, 0]) % classes
    y = X[:, 0] + 0.1 * chance.normal(size=n) if name.endswith("SVR") else y
    model = getattr(budgetsvm, name)(n_jobs=2, **own)
    model.fit(X[:300], y[:300])
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")
    before = status("VmRSS")
    model.fit(X, y)
    print(status("VmHWM") - before)
"""

#: Machine, features, bytes a sample that a fit may hold; ν-machines have all samples in one part
#: from the start, which takes most.
PEAKS = [
    ("SVC", 5, 300, {"max_iter": 5000}), ("NuSVC", 5, 300, {"max_iter": 1000, "nu": 0.01}),
    ("NuSVC", 30, 300, {"max_iter": 1000, "nu": 0.01}),
    ("NuSVR", 5, 450, {"max_iter": 1000, "nu": 0.01}), ("SVR", 5, 450, {"max_iter": 1000}),
]  # fmt: skip


def peak(name, d, own, classes=2, kinds=0):
    """Bytes that a fit of many rows, of so many kinds or none twice, has held at its peak."""
    case = json.dumps([name, MANY, d, own, classes, kinds])
    # What glibc keeps of what threads gave back is by which of its arenas they were in, and when: a
    # tenth of a megabyte with one arena, up to 12 MB more beside other processes with two.
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PEAK), case],
        capture_output=True, text=True, timeout=600, check=False,
        env={**os.environ, "MALLOC_ARENA_MAX": "1"},
    )  # fmt: skip
    if "clear_refs" in done.stderr:
        pytest.skip("this system does not forget a peak")
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


MANY = 400_000


@pytest.mark.skipif(sys.platform != "linux", reason="/proc as Linux has it")
@pytest.mark.parametrize(("name", "d", "each", "own"), PEAKS)
def test_an_exact_fit_holds_what_cache_size_says(name, d, each, own):
    rows = 2 * 4 * d  # twice, in float32
    assert peak(name, d, {"cache_size": 50, **own}) <= 50e6 + MANY * (each + rows) + 4e6


#: Machine, budget, classes, cache_size: the solvers of polishing one after another (Hessians; rows
#: that matter, made again or kept; the dual of several outputs), many terms.
POLISHED = [
    ("BudgetSVC", 100, 2, 1), ("BudgetSVC", 100, 2, 200), ("BudgetSVC", 400, 2, 50),
    ("BudgetSVC", 1000, 2, 1), ("BudgetSVC", 100, 6, 1), ("BudgetSVC", 100, 6, 200),
    ("BudgetSVR", 100, 2, 50), ("BudgetOneClassSVM", 100, 2, 50),
]  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="/proc as Linux has it")
@pytest.mark.parametrize(("name", "budget", "classes", "cache"), POLISHED)
def test_a_polished_fit_holds_what_cache_size_says(name, budget, classes, cache):
    outputs = classes if classes > 2 else 1
    promised = 1e6 * cache + MANY * (200 + 60 * outputs) + 160 * budget**2 + 16e6
    held = peak(name, 5, {"budget": budget, "cache_size": cache}, classes)
    assert held <= promised, f"{held / 1e6:.0f} MB of {promised / 1e6:.0f}"


@pytest.mark.skipif(sys.platform != "linux", reason="/proc as Linux has it")
@pytest.mark.parametrize("name", ["BudgetSVC", "BudgetSVR", "BudgetOneClassSVM"])
def test_rows_of_few_kinds_hold_no_row_of_terms_each(name):
    budget = 500
    held = peak(name, 5, {"budget": budget}, kinds=400)
    assert held <= MANY * 260 + 160 * budget**2 + 16e6, f"{held / 1e6:.0f} MB"
