"""Trainings on a source that are killed go on from their checkpoint to the same bits."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import budgetsvm
from budgetsvm import _checkpoint, _core, data

RNG = np.random.default_rng(11)
PART, PARTS = 60, 21
X = RNG.normal(size=(PART * PARTS, 3))
Y = (X[:, 0] * X[:, 1] > 0).astype(int)

# Kills itself in the middle of what `kill` names, the `at`-th time.
CHILD = """
    import json, os, signal, sys, warnings
    import numpy as np
    import budgetsvm
    from budgetsvm import _core, data

    warnings.simplefilter("ignore")
    name, params, how, kill, at, folder = json.loads(sys.argv[1])
    X, y = np.load(folder + "/x.npy"), np.load(folder + "/y.npy")
    left = [at]

    def die(what):
        if what == kill:
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def parts():
        for first in range(0, len(X), 60):
            die("rows")
            yield X[first:first + 60], y[first:first + 60]

    save, train = _core.archive_save, _core.train

    def saved(*given):
        die("before a file")
        save(*given)
        die("after a file")

    def trained(*given, **own):
        notify = own.pop("notify", None)
        die("before training")
        found = train(*given, notify=lambda told: die(told["phase"]), **own)
        die("after training")
        return found

    _core.archive_save, _core.train = saved, trained
    model = getattr(budgetsvm, name)(**params)
    path = folder + "/checkpoint.safetensors"
    source = data.open(parts, block_rows=100)
    if how == "fit":
        model.fit(source, checkpoint=path)
    else:
        classes = {"classes": [0, 1]} if not name.endswith(("SVR", "OneClassSVM")) else {}
        model.partial_fit(source, **classes, checkpoint=path, every=0)
    print("not killed")
"""


def given():
    for first in range(0, len(X), PART):
        yield X[first : first + PART], Y[first : first + PART]


def trained(name, params, how, path=None):
    model = getattr(budgetsvm, name)(**params)
    source = data.open(given, block_rows=100)
    if how == "fit":
        return model.fit(source, **({} if path is None else {"checkpoint": path}))
    classes = {"classes": [0, 1]} if not name.endswith(("SVR", "OneClassSVM")) else {}
    kept = {} if path is None else {"checkpoint": path, "every": 0}
    return model.partial_fit(source, **classes, **kept)


def said(model):
    return getattr(model, "decision_function", model.predict)(X)


def killed(case, folder):
    np.save(folder / "x.npy", X)
    np.save(folder / "y.npy", Y)
    command = [sys.executable, "-c", textwrap.dedent(CHILD), json.dumps([*case, str(folder)])]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, (done.stdout, done.stderr)


SVC = {"budget": 20, "gamma": 0.5, "C": 5, "random_state": 0}
#: Machines and moments: 20 on 21 parts of the rows, in passes, in polishing, around files.
MOMENTS = [
    *(("BudgetSVC", SVC, "partial_fit", "rows", at) for at in range(1, 21, 3)),
    ("BudgetSVC", SVC, "partial_fit", "before a file", 0),
    ("BudgetSVC", SVC, "partial_fit", "after a file", 5),
    ("BudgetSVC", SVC, "partial_fit", "after training", 8),
    ("BudgetSVR", {**SVC, "C": 1}, "partial_fit", "before training", 7),
    ("BudgetOneClassSVM", {"budget": 20, "gamma": 0.5, "nu": 0.2, "random_state": 0},
     "partial_fit", "after a file", 9),
    ("AssetSVC", {"n_components": 20, "gamma": 0.5, "random_state": 0}, "partial_fit", "rows", 11),
    ("LocalBudgetSVC", {"n_clusters": 4, "budget": 20, "gamma": 0.5, "random_state": 0},
     "partial_fit", "rows", 9),
    ("KernelPerceptron", {"gamma": 0.5, "random_state": 0}, "partial_fit", "after training", 4),
    ("BudgetSVC", SVC, "fit", "rows", 20),
    ("BudgetSVC", SVC, "fit", "before training", 0),
    ("BudgetSVC", SVC, "fit", "end_of_pass", 0),
    ("BudgetSVC", SVC, "fit", "after training", 0),
    ("BudgetSVC", {**SVC, "refine": True, "max_iter": 3}, "fit", "after training", 0),
    ("BudgetSVC", {**SVC, "polishing": False, "order": "blocks"}, "fit", "after training", 0),
    ("BudgetSVC", {**SVC, "early_stopping": True, "max_iter": 4}, "fit", "end_of_pass", 2),
    ("BudgetSVC", {**SVC, "early_stopping": True, "max_iter": 4}, "fit", "after training", 0),
    ("BudgetSVC", {**SVC, "budget": 2000}, "fit", "after training", 0),
    ("BudgetSVR", {**SVC, "loss": "quantile"}, "fit", "after training", 0),
]  # fmt: skip


@pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them")
@pytest.mark.parametrize(
    "case", MOMENTS, ids=lambda case: f"{case[0]}-{case[2]}-{case[3]}-{case[4]}"
)
def test_what_was_killed_goes_on_to_the_same_bits(case, tmp_path, monkeypatch):
    killed(case, tmp_path)
    path = tmp_path / "checkpoint.safetensors"
    assert {file.name for file in tmp_path.iterdir()} <= {
        "x.npy",
        "y.npy",
        "checkpoint.safetensors",
    }
    name, params, how, kill, at = case
    calls = []
    train = _core.train
    seen = []

    def listened(*given, **own):
        calls.append(own)
        return train(*given, **{**own, "notify": seen.append})

    monkeypatch.setattr(_core, "train", listened)
    there = path.exists()
    model = trained(name, params, how, path)
    # Work that a file had was not done again.
    if how == "fit":
        assert len(calls) == 1
        # A machine that holds every distinct row has no passes, and is not made in parts.
        assert there == (kill == "after training" and params["budget"] < len(X))
        assert not there or all(told["phase"] != "pass" for told in seen)
    elif kill == "rows" and at > 1:
        assert len(calls) == 13 - at * PART // 100
    assert not path.exists()
    monkeypatch.undo()
    whole = trained(name, params, how)
    np.testing.assert_array_equal(said(model), said(whole))
    assert model.n_iter_ == whole.n_iter_
    assert model.stop_reason_ == whole.stop_reason_
    for name, curve in whole.history_.items():
        assert len(model.history_[name]) == len(curve)
        if name != "time":
            np.testing.assert_array_equal(model.history_[name], curve)
    if how == "fit":
        # What training goes on from is the same too.
        more = {"classes": [0, 1]} if hasattr(model, "classes_") else {}
        for one in (model, whole):
            one.partial_fit(X[:200], Y[:200], **more)
        np.testing.assert_array_equal(said(model), said(whole))


# A process that makes others which die, by the kernel's hand, after a share of the processor time
# that the first one, which is left alone, took.
MANY = """
    import json, os, signal, sys, time, warnings
    import numpy as np
    import budgetsvm
    from budgetsvm import data

    warnings.simplefilter("ignore")
    params, shares, folder = json.loads(sys.argv[1])

    def child(seconds, path):
        pid = os.fork()
        if pid == 0:
            signal.setitimer(signal.ITIMER_PROF, seconds)
            X, y = np.load(folder + "/x.npy"), np.load(folder + "/y.npy")
            source = data.open((X, y), dtype=np.float32)
            budgetsvm.BudgetSVC(**params).fit(source, checkpoint=path, every=0)
            os._exit(0)
        _, status, used = os.wait4(pid, 0)
        return os.WTERMSIG(status), used.ru_utime + used.ru_stime

    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    # The least of three: what else the machine does makes a run longer, not shorter.
    wholes = [child(1e6, folder + "/whole.safetensors") for _ in range(3)]
    assert all(signal_ == 0 for signal_, _ in wholes)
    seconds = min(used for _, used in wholes)
    print(json.dumps([
        child(share * seconds, f"{folder}/{at}.safetensors")[0] for at, share in enumerate(shares)
    ]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them")
@pytest.mark.parametrize("more", [{"max_iter": 3}, {"budget": 800, "max_iter": 1}], ids=str)
def test_kills_at_random_moments(more, tmp_path):
    params = {**SVC, **more, "n_jobs": 2}
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(3000, 3)).astype(np.float32)
    labels = (rows[:, 0] * rows[:, 1] + 0.2 * rng.normal(size=3000) > 0).astype(int)
    np.save(tmp_path / "x.npy", rows)
    np.save(tmp_path / "y.npy", labels)
    shares = rng.uniform(0.02, 0.98, 10).tolist()
    said = json.dumps([params, shares, str(tmp_path)])
    command = [sys.executable, "-c", textwrap.dedent(MANY), said]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    signals = json.loads(done.stdout)
    assert set(signals) <= {0, signal.SIGPROF}
    assert signals.count(signal.SIGPROF) >= 5
    whole = budgetsvm.BudgetSVC(**params).fit(rows, labels)
    there = 0
    for at in range(len(shares)):
        path = tmp_path / f"{at}.safetensors"
        there += path.exists()
        model = budgetsvm.BudgetSVC(**params)
        model.fit(data.open((rows, labels), dtype=np.float32), checkpoint=path)
        assert not path.exists()
        np.testing.assert_array_equal(model.decision_function(rows), whole.decision_function(rows))
        assert model.n_iter_ == whole.n_iter_
    assert there >= 3


def test_a_fit_in_parts_is_that_of_arrays(tmp_path):
    model = trained("BudgetSVC", SVC, "fit", tmp_path / "c.safetensors")
    np.testing.assert_array_equal(said(model), said(budgetsvm.BudgetSVC(**SVC).fit(
        X.astype(np.float32), Y)))  # fmt: skip
    assert not list(tmp_path.iterdir())


def kept(tmp_path, how="partial_fit"):
    killed(
        ("BudgetSVC", SVC, how, "after training" if how == "fit" else "after a file", 0), tmp_path
    )
    return tmp_path / "checkpoint.safetensors"


@pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them")
@pytest.mark.parametrize("how", ["fit", "partial_fit"])
def test_a_checkpoint_of_something_else_is_refused(how, tmp_path):
    path = kept(tmp_path, how)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"checkpoint=.*another C: 5, not 6"):
        trained("BudgetSVC", {**SVC, "C": 6}, how, path)
    with pytest.raises(ValueError, match="no checkpoint of a BudgetSVR"):
        trained("BudgetSVR", SVC, how, path)
    other = X.copy()
    other[50] += 1
    model = budgetsvm.BudgetSVC(**SVC)
    source = data.open((other, Y), dtype=np.float32, block_rows=100)
    with pytest.raises(ValueError, match="other rows"):
        getattr(model, how)(
            source, **({} if how == "fit" else {"classes": [0, 1]}), checkpoint=path
        )
    assert not hasattr(model, "_machine")
    assert path.read_bytes() == before
    with pytest.raises(ValueError, match="description"):
        budgetsvm.load(path)
    model = budgetsvm.BudgetSVC(**SVC).fit(X, Y)
    model.save(path)
    with pytest.raises(ValueError, match="no checkpoint of a BudgetSVC"):
        trained("BudgetSVC", SVC, how, path)
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(ValueError, match="file"):
        trained("BudgetSVC", SVC, how, path)


def test_arguments_are_refused_by_name(tmp_path):
    source, path = data.open((X, Y)), tmp_path / "c.safetensors"
    for params, told in (
        ({"random_state": None}, "random_state"), ({"warm_start": True}, "warm_start"),
        ({"feature_scales": [1, 2, 3]}, "feature_scales"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=f"checkpoint: .*{told}"):
            budgetsvm.BudgetSVC(**{**SVC, **params}).fit(source, checkpoint=path)
    with pytest.raises(ValueError, match="checkpoint must be a file name ending"):
        budgetsvm.BudgetSVC(**SVC).fit(source, checkpoint="c")
    with pytest.raises(ValueError, match="every"):
        budgetsvm.BudgetSVC(**SVC).fit(source, checkpoint=path, every=-1)
    with pytest.raises(ValueError, match="checkpoint: only for rows from a source"):
        budgetsvm.BudgetSVC(**SVC).fit(X, Y, checkpoint=path)
    with pytest.raises(ValueError, match="checkpoint: only for rows from a source"):
        budgetsvm.BudgetSVC(**SVC).partial_fit(X, Y, classes=[0, 1], checkpoint=path)
    with pytest.raises(ValueError, match="checkpoint: BudgetSVCCV fits many"):
        budgetsvm.BudgetSVCCV(random_state=0).fit(source, checkpoint=path)


def test_control_c_keeps_the_checkpoint(tmp_path):
    path, calls = tmp_path / "c.safetensors", []

    def parts():
        for at, part in enumerate(given()):
            if at == 12 and not calls:
                calls.append(at)
                raise KeyboardInterrupt
            yield part

    model = budgetsvm.BudgetSVC(**SVC)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(data.open(parts, block_rows=100), classes=[0, 1], checkpoint=path)
    assert path.exists()
    again = budgetsvm.BudgetSVC(**SVC).partial_fit(
        data.open(parts, block_rows=100), classes=[0, 1], checkpoint=path
    )
    np.testing.assert_array_equal(said(again), said(trained("BudgetSVC", SVC, "partial_fit")))


def test_checksums_tell_rows_apart():
    one = _checkpoint.checksum((X, Y), X[0])
    assert one == _checkpoint.checksum((X.copy(), Y.copy()), X[0])
    changed = X.copy()
    changed[-1, -1] = np.nextafter(changed[-1, -1], 9)
    assert one != _checkpoint.checksum((changed, Y), X[0])
