"""Whatever listens to a fit (verbose, the logger, a terminal, a callback), the fit ends."""

from __future__ import annotations

import contextlib
import logging
import os
import pty
import re
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import budgetsvm
from budgetsvm import SVC, AutoSVC, AutoSVR, BudgetSVC

ESTIMATORS = [
    name
    for name in budgetsvm.__all__
    if isinstance(getattr(budgetsvm, name), type) and hasattr(getattr(budgetsvm, name), "fit")
]
#: What ends the text of a terminal.
END = b"\x03"
LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
VALUE = np.sin(2 * X[:, 0]) + X[:, 1]


def make(name, **options):
    kind = getattr(budgetsvm, name)
    options |= {"budget": 12, "n_components": 8, "n_frequencies": 8, "n_clusters": 2, "cv": 2}
    options |= {"Cs": 2, "gammas": 2, "max_iter": 2, "random_state": 0, "n_jobs": 1}
    known = kind().get_params()
    return kind(**{key: value for key, value in options.items() if key in known})


def trainings(model):
    """The calls that train."""
    name = type(model).__name__
    given = (X,)
    if hasattr(model, "predict") and "OneClass" not in name:
        given = (X, VALUE if "SVR" in name else (VALUE > 0).astype(int))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield model.fit(*given)
        if hasattr(model, "partial_fit"):
            yield model.partial_fit(*given)


@contextlib.contextmanager
def terminal():
    """A terminal as standard error; the list has all that it was shown, once it is closed."""
    master, slave = pty.openpty()
    shown: list[bytes] = []

    def read():
        # What a closed terminal still holds may be lost, so that the end is written, too.
        while not shown or not shown[-1].endswith(END):
            part = os.read(master, 1 << 16)
            shown[-1:] = [b"".join([*shown[-1:], part])]
        shown[-1] = shown[-1].removesuffix(END)

    reader = threading.Thread(target=read)
    reader.start()
    stream = os.fdopen(slave, "w")
    try:
        with contextlib.redirect_stderr(stream):
            yield shown
    finally:
        stream.write(END.decode())
        stream.flush()
        reader.join()
        stream.close()
        os.close(master)


@contextlib.contextmanager
def listening(level):
    """The logger at this level, with somebody who reads the records."""
    logger, records = logging.getLogger("budgetsvm"), []
    handler = logging.Handler()
    handler.emit = lambda record: records.append(record.getMessage())
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(level)
    try:
        yield records
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


@pytest.mark.thread_unsafe(reason="standard error and the logger are the process's")
@pytest.mark.parametrize("on_terminal", [False, True])
@pytest.mark.parametrize("verbose", [0, 1, 2])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_fit_ends_whatever_listens(name, verbose, on_terminal, capsys):
    if verbose and "verbose" not in make(name).get_params():
        pytest.skip("has no line of progress")
    for level in LEVELS:
        place = terminal() if on_terminal else contextlib.nullcontext([])
        with listening(level), place as shown:
            for model in trainings(make(name, verbose=verbose)):
                assert model.__sklearn_is_fitted__()
        said = b"".join(shown).decode() if on_terminal else capsys.readouterr().err
        # A line that was rewritten is ended, so that what follows has a line of its own.
        assert ("done (" in said and said.endswith("\n")) if verbose else not said


@pytest.mark.thread_unsafe(reason="standard error is the process's")
def test_a_fit_ends_without_standard_error(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    for name in ("AutoSVC", "BudgetSVC", "SVC"):
        list(trainings(make(name, verbose=1)))


def steps_told(model, y):
    told = []
    rows = RNG.normal(size=(len(y), 3))
    model.set_params(callback=told.append).fit(rows, y)
    return told


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("budget", [None, 20])
def test_a_search_tells_steps_candidates_error_and_time_left(budget, n_jobs):
    model = AutoSVR(budget, random_state=0, n_jobs=n_jobs)
    told = steps_told(model, RNG.normal(size=700))
    assert {one["phase"] for one in told} == {"search"}
    steps = [one["iteration"] for one in told]
    candidates = [one["candidates"] for one in told]
    assert steps == sorted(steps)
    assert candidates == sorted(candidates)
    assert candidates[-1] > 10
    assert all(step <= one["planned"] for step, one in zip(steps, told, strict=True))
    assert steps[-1] > 0
    # Before the first step is done nobody can say how long the others take.
    assert all((one["time_left"] is None) == (one["iteration"] == 0) for one in told)
    assert told[-1]["error"] > 0
    history = model.history_
    assert set(history) == {"time", "error"}
    assert len(history["time"]) == len(history["error"]) > 3
    assert (np.diff(history["time"]) >= 0).all()
    assert (history["error"] > 0).all()


def test_the_time_left_keeps_the_limit():
    model = AutoSVC(random_state=0, max_time=4.0)
    told = steps_told(model, RNG.normal(size=300) > 0)
    left = [one["time_left"] for one in told if one["time_left"] is not None]
    assert left
    assert max(left) <= 4.0


@pytest.mark.thread_unsafe(reason="standard error is the process's")
def test_the_line_of_a_search(capsys):
    with terminal() as shown:
        AutoSVC(random_state=0, verbose=1).fit(RNG.normal(size=(300, 3)), RNG.normal(size=300) > 0)
    said = b"".join(shown).decode()
    assert "pass" not in said
    line = (
        r"budgetsvm: search step \d+ of at most \d+, \d+ candidates, best error [\d.e-]+, "
        r"about [\d.]+ s left, [\d.]+ s"
    )
    assert re.search(line, said)
    assert re.search(r"budgetsvm: done \(converged\), \d+ SVs, [\d.]+ s\r?\n$", said)


@pytest.mark.parametrize("model", [SVC(gamma=1.0), BudgetSVC(20, random_state=0)])
def test_learning_scales_is_a_search(model):
    told = []
    rows = RNG.normal(size=(400, 3))
    if "callback" in model.get_params():
        model.set_params(callback=told.append)
        model.set_params(feature_scales="learn").fit(rows, rows[:, 0] > 0)
        assert "search" in {one["phase"] for one in told}
    else:
        model.set_params(feature_scales="learn", verbose=1).fit(rows, rows[:, 0] > 0)


@pytest.mark.parametrize("name", ["AutoSVC", "BudgetSVC", "SVC"])
def test_the_command_line_trains_in_a_terminal(name, tmp_path):
    table = tmp_path / "rows.csv"
    lines = [f"{a},{b},{int(value > 0)}" for (a, b), value in zip(X, VALUE, strict=True)]
    table.write_text("\n".join(["a,b,y", *lines]))
    master, slave = pty.openpty()
    command = [
        sys.executable,
        "-m",
        "budgetsvm",
        "train",
        str(table),
        str(tmp_path / "m.safetensors"),
    ]
    with subprocess.Popen([*command, "--estimator", name], stderr=slave, stdout=slave) as process:
        os.close(slave)
        said = b""
        with contextlib.suppress(OSError):
            while part := os.read(master, 1 << 16):
                said += part
        assert process.wait() == 0, said.decode()
    os.close(master)
    assert b"done (" in said
