"""The command line: its own commands, LIBSVM's flags and lines, what goes wrong."""

from __future__ import annotations

import csv
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

import budgetsvm as b
from budgetsvm._cli import main
from budgetsvm.data import dump_svmlight_file

pytestmark = pytest.mark.filterwarnings("ignore")

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    dump_svmlight_file(X, Y, "iris.svm", zero_based=False)
    dump_svmlight_file(X, load_diabetes().target[:150], "values.svm", zero_based=False)
    with open("iris.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "b", "c", "d", "kind"])
        writer.writerows([*row, NAMES[y]] for row, y in zip(X, Y, strict=True))
    np.save("iris.npy", np.column_stack([X, Y]))
    np.savez("iris.npz", X=X.astype(np.float32), y=Y)
    return tmp_path


def lines(capsys):
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("data", ["iris.svm", "iris.csv", "iris.npy", "iris.npz", "iris.parquet"])
def test_train_and_predict(folder, capsys, data):
    labels = NAMES[Y] if data in ("iris.csv", "iris.parquet") else Y
    if data == "iris.parquet":
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        columns = {name: X[:, at] for at, name in enumerate("abcd")}
        parquet.write_table(pyarrow.table({**columns, "kind": labels}), data)
    assert main(["train", data, "m.safetensors", "--set", "C=10", "--set", "budget=40"]) == 0
    machine = b.load("m.safetensors")
    assert type(machine) is b.BudgetSVC
    assert (machine.C, machine.budget) == (10, 40)
    rows = X.astype(np.float32) if data == "iris.npz" else X
    assert main(["predict", "m.safetensors", data, "out.txt"]) == 0
    told = (folder / "out.txt").read_text().split()
    assert told == machine.predict(rows).astype(str).tolist()
    (line,) = lines(capsys)
    same = int((machine.predict(rows) == labels).sum())
    assert line == f"accuracy {100 * same / 150:.2f} % ({same} of 150)"
    assert main(["predict", "m.safetensors", data, "--decision"]) == 0
    values = np.array([line.split() for line in lines(capsys)], dtype=float)
    np.testing.assert_array_equal(values, machine.decision_function(rows))


def test_a_label_by_name_and_rows_without_labels(folder, capsys):
    with open("iris.csv", newline="") as file:
        rows = list(csv.reader(file))
    with open("turned.csv", "w", newline="") as file:
        csv.writer(file).writerows([row[4], *row[:4]] for row in rows)
    with open("bare.csv", "w", newline="") as file:
        csv.writer(file).writerows(row[:4] for row in rows)
    given = ["--estimator", "SVC"]
    assert main(["train", "turned.csv", "m.safetensors", "--label", "kind", *given]) == 0
    machine = b.load("m.safetensors")
    assert main(["predict", "m.safetensors", "bare.csv"]) == 0
    assert lines(capsys) == machine.predict(X).tolist()
    assert main(["train", "turned.csv", "n.safetensors", "--label", "0", *given]) == 0
    assert main(["train", "turned.csv", "n.safetensors", "--label", "none", *given]) == 1
    assert "no column 'none'" in capsys.readouterr().err


@pytest.mark.parametrize("kinds", [["no", "yes"], ["0", "1"]], ids=str)
@pytest.mark.parametrize("label", [["--label", "kind"], []], ids=str)
def test_columns_that_are_named_by_numbers(folder, kinds, label):
    # As tables without names are written.
    with open("numbered.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["0", "1", "2", "3", "kind"])
        writer.writerows([*row, kinds[at % 2]] for at, row in enumerate(X.tolist()))
    given = ["train", "numbered.csv", "m.safetensors", "--estimator", "SVC", *label]
    if not label and kinds[0] == "no":
        # A text over texts is a label as they are.
        given += ["--label", "kind"]
    assert main(given) == 0
    assert b.load("m.safetensors").classes_.astype(str).tolist() == kinds


def test_cv_and_tune(folder, capsys):
    assert main(["cv", "iris.csv", "--estimator", "SVC", "--folds", "3"]) == 0
    (line,) = lines(capsys)
    assert re.fullmatch(r"0\.9\d* \+- \S+ \(\S+, \S+, \S+\)", line)
    grid = ["--grid", "C=0.001,10", "--grid", "gamma='scale',0.1"]
    assert main(["tune", "iris.svm", "best.safetensors", "--estimator", "SVC", *grid]) == 0
    told = lines(capsys)
    assert len(told) == 4
    best = b.load("best.safetensors")
    assert told[0].endswith(f"C={best.C} gamma={best.gamma}")
    scores = [float(line.split()[0]) for line in told]
    assert scores == sorted(scores, reverse=True)
    assert main(["tune", "iris.svm", "--estimator", "SVC", "--grid", "budget=3"]) == 1


def test_convert_and_info(folder, capsys):
    assert main(["train", "iris.svm", "m.safetensors", "--estimator", "SVC"]) == 0
    machine = b.load("m.safetensors")
    assert main(["convert", "m.safetensors", "m.h", "--dtype", "int16", "--name", "iris"]) == 0
    assert "IRIS_FEATURES 4" in (folder / "m.h").read_text()
    assert main(["convert", "m.safetensors", "m.model"]) == 0
    assert main(["convert", "m.model", "again.safetensors"]) == 0
    again = b.load("again.safetensors")
    np.testing.assert_array_equal(again.predict(X), machine.predict(X))
    if pytest.importorskip("onnx"):
        assert main(["convert", "m.safetensors", "m.onnx", "--dtype", "float64"]) == 0
        assert (folder / "m.onnx").stat().st_size > 1000
    capsys.readouterr()
    for name in ("m.safetensors", "m.model"):
        assert main(["info", name]) == 0
        told = dict(line.split(": ", 1) for line in lines(capsys))
        assert told["estimator"] == "SVC"
        assert told["terms"] == str(machine._machine.n_terms)
        assert told["classes"] == "3 (0, 1, 2)"


FLAGS = [
    (["-s", "0", "-c", "4"], {"C": 4.0}, b.SVC),
    (["-s", "0", "-t", "0"], {"kernel": "linear"}, b.SVC),
    (["-s", "0", "-t", "1", "-d", "2", "-g", "0.5", "-r", "1"],
     {"kernel": "poly", "degree": 2, "gamma": 0.5, "coef0": 1.0}, b.SVC),
    (["-s", "0", "-t", "3", "-g", "0.01"], {"kernel": "sigmoid", "gamma": 0.01}, b.SVC),
    (["-s", "1", "-n", "0.3", "-h", "0", "-m", "50", "-e", "0.01"],
     {"nu": 0.3, "shrinking": False, "tol": 0.01}, b.NuSVC),
    (["-s", "2", "-n", "0.2"], {"nu": 0.2}, b.OneClassSVM),
    (["-s", "3", "-p", "5", "-c", "100"], {"epsilon": 5.0, "C": 100.0}, b.SVR),
    (["-s", "4", "-n", "0.4", "-c", "100"], {"nu": 0.4, "C": 100.0}, b.NuSVR),
    (["-w1", "5", "-w2", "0.5"], {"class_weight": {1: 5.0, 2: 0.5}}, b.SVC),
]  # fmt: skip


@pytest.mark.parametrize(("flags", "params", "cls"), FLAGS)
def test_libsvm_flags(folder, capsys, flags, params, cls):
    data = "values.svm" if cls in (b.SVR, b.NuSVR) else "iris.svm"
    y = load_diabetes().target[:150] if data == "values.svm" else Y
    assert main(["svm-train", *flags, data, "m"]) == 0
    machine = cls(**{"gamma": 0.25, **params}).fit(X, y)
    assert lines(capsys) == [f"Total nSV = {machine.n_support_.sum()}"]
    assert main(["svm-predict", data, "m", "out"]) == 0
    told = np.loadtxt("out")
    mine = machine.predict(X)
    if cls in (b.SVR, b.NuSVR):
        np.testing.assert_allclose(told, mine, rtol=1e-9)
        first, second = lines(capsys)
        assert re.fullmatch(r"Mean squared error = \S+ \(regression\)", first)
        assert re.fullmatch(r"Squared correlation coefficient = \S+ \(regression\)", second)
        assert float(first.split()[4]) == pytest.approx(np.mean((mine - y) ** 2), rel=1e-4)
        assert float(second.split()[4]) == pytest.approx(np.corrcoef(mine, y)[0, 1] ** 2, rel=1e-4)
        return
    if cls is b.OneClassSVM:
        sure = np.abs(machine.decision_function(X)) > 1e-9
        np.testing.assert_array_equal(told[sure], mine[sure])
        return
    np.testing.assert_array_equal(told, mine)
    same = int((mine == y).sum())
    assert lines(capsys) == [f"Accuracy = {100 * same / 150:g}% ({same}/150) (classification)"]


def test_libsvm_cross_validation_and_quiet(folder, capsys):
    # What grid.py reads.
    assert main(["svm-train", "-c", "1", "-g", "0.5", "-v", "5", "iris.svm"]) == 0
    (line,) = lines(capsys)
    assert re.fullmatch(r"Cross Validation Accuracy = [\d.]+%", line)
    assert float(line.split()[-1][:-1]) > 90
    assert main(["svm-train", "-s", "3", "-v", "3", "values.svm"]) == 0
    first, second = lines(capsys)
    assert first.startswith("Cross Validation Mean squared error = ")
    assert second.startswith("Cross Validation Squared correlation coefficient = ")
    assert main(["svm-train", "-q", "iris.svm"]) == 0
    assert (folder / "iris.svm.model").is_file()
    assert main(["svm-predict", "-q", "iris.svm", "iris.svm.model", "out"]) == 0
    assert lines(capsys) == []


def test_a_link_of_libsvm_s_name(folder, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/usr/bin/svm-train", "-v", "3", "iris.svm"])
    assert main() == 0
    assert lines(capsys)[0].startswith("Cross Validation Accuracy = ")


def test_libsvm_probabilities(folder, capsys):
    assert main(["svm-train", "-b", "1", "-q", "iris.svm", "m"]) == 0
    assert main(["svm-predict", "-b", "1", "iris.svm", "m", "out"]) == 0
    head, *rows = (folder / "out").read_text().splitlines()
    assert head == "labels 0 1 2"
    table = np.array([row.split() for row in rows], dtype=float)
    np.testing.assert_allclose(table[:, 1:].sum(axis=1), 1, atol=1e-4)
    np.testing.assert_array_equal(table[:, 0], table[:, 1:].argmax(axis=1))
    assert main(["svm-train", "-q", "iris.svm", "m"]) == 0
    assert main(["svm-predict", "-b", "1", "iris.svm", "m", "out"]) == 1


def test_rows_of_other_widths(folder):
    assert main(["svm-train", "-q", "iris.svm", "m"]) == 0
    wide = np.column_stack([X, np.zeros(150), Y])
    dump_svmlight_file(wide, Y, "wide.svm", zero_based=False)
    narrow = np.where(np.arange(4) < 3, X, 0)
    dump_svmlight_file(narrow, Y, "narrow.svm", zero_based=False)
    machine = b.SVC(gamma=0.25).fit(X, Y)
    assert main(["svm-predict", "narrow.svm", "m", "out"]) == 0
    np.testing.assert_array_equal(np.loadtxt("out"), machine.predict(narrow))
    assert main(["svm-predict", "wide.svm", "m", "out"]) == 0
    same = b.SVC(gamma=0.25).fit(np.column_stack([X, np.zeros((150, 2))]), Y)
    np.testing.assert_array_equal(np.loadtxt("out"), same.predict(wide))


@pytest.mark.parametrize(
    ("given", "code", "told"),
    [
        (["svm-train"], 1, "Usage"), (["svm-train", "-x", "1", "iris.svm"], 1, "Unknown option"),
        (["svm-train", "-s", "9", "iris.svm"], 1, "-s 9"), (["svm-predict", "a"], 1, "Usage"),
        (["svm-train", "-v", "1", "iris.svm"], 1, "n must >= 2"),
        (["svm-train", "none.svm"], 1, "none.svm"),
        (["svm-train", "-t", "4", "iris.svm"], 1, "precomputed"),
        (["train", "none.csv", "m.safetensors"], 1, "none.csv"),
        (["train", "iris.svm", "m.bin"], 1, "safetensors"),
        (["train", "iris.svm", "m.safetensors", "--estimator", "None"], 1, "--estimator"),
        (["train", "iris.svm", "m.safetensors", "--set", "x=1"], 1, "no hyperparameter x"),
        (["train", "iris.svm", "m.safetensors", "--set", "C"], 1, "NAME=VALUE"),
        (["train", "iris.svm", "m.safetensors", "--set", "C=-1"], 1, "C"),
        (["predict", "iris.svm", "iris.svm"], 1, "error"),
        (["train", "iris.svm", "none/m.safetensors"], 1, "no such folder: 'none'"),
        (["tune", "iris.svm", "none/m.safetensors"], 1, "no such folder: 'none'"),
        (["svm-train", "iris.svm", "none/m"], 1, "no such folder: 'none'"),
        (["svm-train", "iris.svm", "."], 1, "directory"),
        (["svm-predict", "iris.svm", "none.model", "none/out"], 1, "no such folder: 'none'"),
        (["info", "iris.csv"], 1, "error"), (["cv", "iris.svm", "--folds", "1"], 1, "--folds"),
    ],
)  # fmt: skip
def test_what_goes_wrong_is_said(folder, capsys, given, code, told):
    before = sorted(path.name for path in folder.iterdir())
    assert main(given) == code
    streams = capsys.readouterr()
    assert told in streams.err
    assert streams.out == ""
    assert sorted(path.name for path in folder.iterdir()) == before


def test_usage_is_argparse_s(folder, capsys):
    for given in ([], ["fly"], ["train"]):
        with pytest.raises(SystemExit) as ended:
            main(given)
        assert ended.value.code == 2
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert b.__version__ in capsys.readouterr().out


def test_as_a_module_quiet_without_a_terminal(folder):
    done = subprocess.run(
        [sys.executable, "-m", "budgetsvm", "train", "iris.csv", "m.safetensors"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (folder / "m.safetensors").is_file()


@pytest.mark.skipif(sys.platform == "win32", reason="no such terminals there")
def test_progress_on_a_terminal(folder):
    import os
    import pty

    own, theirs = pty.openpty()
    given = [sys.executable, "-m", "budgetsvm", "train", "iris.csv", "m.safetensors"]
    for quiet in ([], ["--quiet"]):
        done = subprocess.run([*given, *quiet], stdout=subprocess.PIPE, stderr=theirs, check=False)
        os.write(theirs, b"END")
        told = b""
        while not told.endswith(b"END"):
            told += os.read(own, 4096)
        assert (done.returncode, done.stdout) == (0, b"")
        assert (told == b"END") == bool(quiet)


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is another thing there")
def test_ctrl_c_leaves_no_half_file(folder):
    rng = np.random.default_rng(0)
    dump_svmlight_file(rng.normal(size=(20_000, 30)), rng.integers(0, 2, 20_000), "long.svm")
    program = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from budgetsvm._cli import main; print('ready', flush=True); sys.exit(main(sys.argv[1:]))"
    )
    given = ["train", "long.svm", "m.safetensors", "--estimator", "SVC", "--set", "C=1e6"]
    running = subprocess.Popen(
        [sys.executable, "-c", program, *given], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    assert running.stdout.readline() == "ready\n"
    time.sleep(0.5)
    running.send_signal(signal.SIGINT)
    _, told = running.communicate(timeout=120)
    assert running.returncode == 130
    assert told.splitlines()[-1] == "budgetsvm: interrupted"
    assert not list(folder.glob("*.safetensors"))
    assert not list(folder.glob(".budgetsvm-*"))
