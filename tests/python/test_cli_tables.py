"""The command line's tables: names, labels and bases of the fit, and damaged files (T52)."""

from __future__ import annotations

import csv
import os
import subprocess
import sys

import numpy as np
import pytest

import budgetsvm as b
from budgetsvm._cli import main
from budgetsvm._columns import Layout, layout_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
Y = (X[:, 0] > X[:, 1]).astype(int)
COLUMNS = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": Y}
KINDS = ["csv", "tsv", "parquet"]


def table(kind, names, rows=None, **more):
    """A table with these columns; its file's name."""
    columns = COLUMNS | more
    path = f"{'-'.join(names)}.{kind}"
    if kind == "parquet":
        arrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(
            arrow.table({name: columns[name] for name in names}), path
        )
        return path
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, delimiter="\t" if kind == "tsv" else ",")
        writer.writerow(names)
        writer.writerows(zip(*(columns[name].tolist() for name in names), strict=True))
    return path


def text(path, rows, base):
    with open(path, "w") as file:
        for row, label in zip(rows.tolist(), Y, strict=True):
            told = " ".join(f"{at + base}:{value!r}" for at, value in enumerate(row) if value)
            file.write(f"{label} {told}\n")
    return path


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def predicted(capsys, *given):
    capsys.readouterr()
    assert main(["predict", "m.safetensors", *given]) == 0, capsys.readouterr().err
    return capsys.readouterr()


@pytest.mark.parametrize("estimator", ["BudgetSVC", "SVC", "AutoSVC"])
@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_taken_by_name(kind, estimator, capsys):
    given = ["--label", "y", "--estimator", estimator]
    assert main(["train", table(kind, "yabc"), "m.safetensors", *given]) == 0
    wanted = predicted(capsys, table(kind, "abc")).out
    assert np.mean(np.array(wanted.split(), dtype=int) == Y) > 0.9
    # The label's column is where it is, told or not.
    for names in ("cba", "bca", "yabc", "cyab", "bacy"):
        assert predicted(capsys, table(kind, names)).out == wanted
        said = predicted(capsys, table(kind, names), "out").out
        assert said.startswith(("accuracy 9", "accuracy 100")) == ("y" in names)
        with open("out") as file:
            assert file.read() == wanted
    for names, told in (
        ("ab", "columns of the fit are missing: 'c'"),
        ("aby", "columns of the fit are missing: 'c'"),
        ("abcd", "columns that the fit did not have: 'd'"),
        ("dyabc", "columns that the fit did not have: 'd'"),
    ):
        path = table(kind, names, d=X[:, 0])
        assert main(["predict", "m.safetensors", path]) == 1
        assert capsys.readouterr().err == f"budgetsvm: error: {path}: {told}" + (
            "; leave them out\n" if "did not" in told else "\n"
        )


def test_what_tune_and_convert_keep(capsys):
    """And what `info` shows of it."""
    given = ["--label", "y", "--estimator", "SVC", "--grid", "C=1,10", "--folds", "3"]
    assert main(["tune", table("csv", "yabc"), "t.safetensors", *given]) == 0
    assert main(["convert", "t.safetensors", "m.safetensors"]) == 0
    layout = layout_of(b.load("m.safetensors"))
    assert layout == Layout(["a", "b", "c"], label="y", place=0, n_features=3)
    capsys.readouterr()
    assert main(["info", "m.safetensors"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert "columns: a, b, c" in told
    assert "label: y" in told
    assert predicted(capsys, table("csv", "cyba"), "out").out.startswith(
        ("accuracy 9", "accuracy 100")
    )


def test_tables_without_names(capsys):
    """The label's column is at the place of the fit's, where there is one."""
    np.save("first.npy", np.column_stack([Y, X]))
    np.save("bare.npy", X)
    for first, bare in (("first.npy", "bare.npy"), ("first.csv", "bare.csv")):
        if first.endswith("csv"):
            np.savetxt(first, np.column_stack([Y, X]), delimiter=",")
            np.savetxt(bare, X, delimiter=",")
        assert main(["train", first, "m.safetensors", "--label", "0"]) == 0
        wanted = predicted(capsys, bare).out
        assert np.mean(np.array(wanted.split(), dtype=int) == Y) > 0.9
        assert predicted(capsys, first).out == wanted
        assert predicted(capsys, first, "out").out.startswith(("accuracy 9", "accuracy 100"))
    assert main(["train", table("csv", "abcy"), "m.safetensors"]) == 0
    told = predicted(capsys, "bare.csv")
    assert np.mean(np.array(told.out.split(), dtype=int) == Y) > 0.9
    assert "budgetsvm: warning: bare.csv: its columns have no names" in told.err
    assert main(["train", "first.csv", "m.safetensors", "--label", "0"]) == 0
    told = predicted(capsys, "a-b-c-y.csv")
    assert "budgetsvm: warning: a-b-c-y.csv: those of the fit have none" in told.err


def test_machines_of_python_know_their_columns(capsys):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({name: COLUMNS[name] for name in "abc"})
    b.BudgetSVC(random_state=0).fit(frame, Y).save("m.safetensors")
    wanted = predicted(capsys, table("csv", "abc")).out
    assert predicted(capsys, table("csv", "cab")).out == wanted
    assert predicted(capsys, table("csv", "caby"), "out").out.startswith(
        ("accuracy 9", "accuracy 100")
    )
    # Names that are numbers, too.
    frame.columns = ["10", "11", "12"]
    b.BudgetSVC(random_state=0).fit(frame, Y).save("m.safetensors")
    frame[["12", "10", "11"]].to_csv("numbers.csv", index=False)
    assert predicted(capsys, "numbers.csv").out == wanted


def test_a_byte_order_mark_is_no_part_of_a_name(capsys):
    assert main(["train", table("csv", "abcy"), "m.safetensors"]) == 0
    wanted = predicted(capsys, "a-b-c-y.csv").out
    with open("a-b-c-y.csv", encoding="utf-8") as file:
        whole = file.read()
    with open("marked.csv", "w", encoding="utf-8-sig") as file:
        file.write(whole)
    assert predicted(capsys, "marked.csv").out == wanted


@pytest.mark.parametrize("base", [0, 1])
def test_the_base_of_indices_is_kept(base, capsys):
    other = X.copy()
    other[:, 0] = other[:, 2] = 0
    assert main(["train", text("train.svm", X, base), "m.safetensors"]) == 0
    assert layout_of(b.load("m.safetensors")).zero_based == (base == 0)
    wanted = b.load("m.safetensors").predict(other).astype(str).tolist()
    assert predicted(capsys, text("test.svm", other, base)).out.split() == wanted
    flag = "--zero-based" if base == 1 else "--no-zero-based"
    assert predicted(capsys, text("other.svm", other, 1 - base), flag).out.split() == wanted
    capsys.readouterr()
    assert main(["info", "m.safetensors"]) == 0
    assert f"first index: {base}\n" in capsys.readouterr().out
    # What was not kept is said where rows do not tell.
    b.BudgetSVC(random_state=0).fit(X, Y).save("m.safetensors")
    assert "do not tell whether indices begin with 0 or 1" in predicted(capsys, "test.svm").err
    assert predicted(capsys, "train.svm").err == ""
    flag = "--zero-based" if base == 0 else "--no-zero-based"
    assert predicted(capsys, "test.svm", flag).err == ""


def test_an_index_0_among_rows_that_begin_with_1(capsys):
    assert main(["train", text("one.svm", X, 1), "m.safetensors"]) == 0
    assert main(["svm-train", "-q", "one.svm", "m.model"]) == 0
    text("zero.svm", X, 0)
    for model in ("m.safetensors", "m.model"):
        assert main(["predict", model, "zero.svm"]) == 1
        said = "zero.svm: an index is 0, but indices begin with 1, as in the rows of the fit"
        assert said in capsys.readouterr().err
        assert main(["predict", model, "zero.svm", "--zero-based"]) == 0
    capsys.readouterr()
    assert main(["train", "zero.svm", "n.safetensors", "--no-zero-based"]) == 1
    assert "zero.svm: an index is 0" in capsys.readouterr().err


def test_a_number_that_is_missing_is_named(capsys):
    """Where the estimator does not take it; one that is infinite always."""
    rows = {"a": np.where(np.arange(200) == 7, np.nan, X[:, 0])}
    path = table("csv", "bacy", **rows)
    ends_with_one_line(capsys, ["train", path, "m.safetensors"], f"{path}: row 7 (the first is 0)")
    assert main(["train", path, "m.safetensors", "--estimator", "AutoSVC"]) == 0
    assert main(["predict", "m.safetensors", path]) == 0
    rows["a"][9] = np.inf
    table("csv", "bacy", **rows)
    ends_with_one_line(capsys, ["predict", "m.safetensors", path], "row 9 (the first is 0) has inf")


def damaged():
    """Names of files, and what is in them or makes them."""

    def saved(save, *arrays, **named):
        return lambda path: save(path, *arrays, **named)

    rows = np.column_stack([X, Y])
    yield from {
        "empty.csv": b"", "blank.csv": b"\n\n", "short.csv": b"a,b,y\n1,2\n",
        "one.csv": b"y\n1\n0\n", "names.csv": b"a,b,y\n",
        "latin.csv": "a,\xe9,y\n1,2,0\n".encode("latin1"),
        "wide.csv": "a,y\n1,0\n".encode("utf16"), "long.csv": b'a,y\n"' + b"1" * 200_000 + b'",1\n',
        "text.csv": b"a,y\nx,0\nz,1\n", "empty.npy": b"", "bytes.npy": bytes(range(100)),
        "flat.npy": saved(np.save, Y), "none.npy": saved(np.save, rows[:0]),
        "narrow.npy": saved(np.save, rows[:, :0]), "label.npy": saved(np.save, rows[:, :1]),
        "complex.npy": saved(np.save, rows * 1j),
        "objects.npy": saved(np.save, rows.astype(object)),
        "empty.npz": b"", "bytes.npz": bytes(range(100)), "names.npz": saved(np.savez, Z=X),
        "length.npz": saved(np.savez, X=X, y=Y[:7]), "flat.npz": saved(np.savez, X=Y, y=Y),
        "narrow.npz": saved(np.savez, X=X[:, :0], y=Y), "empty.parquet": b"",
        "bytes.parquet": bytes(range(100)), "empty.svm": b"", "labels.svm": b"1\n0\n1\n",
        "bytes.svm": bytes(range(256)), "plain.svm.gz": b"1 1:2\n", "cut.svm.xz": b"\xfd7zXZ\x00",
        "folder.csv": os.mkdir, "folder.npy": os.mkdir, "folder.npz": os.mkdir,
        "folder.parquet": os.mkdir, "folder.svm": os.mkdir,
        "pipe.csv": os.mkfifo, "pipe.npy": os.mkfifo, "pipe.svm": os.mkfifo,
        **{f"missing.{end}": lambda path: None for end in ("csv", "npy", "npz", "parquet", "svm")},
    }.items()  # fmt: skip
    for end in ("npy", "npz", "parquet"):
        for share in (3, 2):
            yield f"cut{share}.{end}", lambda path, end=end, share=share: cut(path, end, share)


def cut(path, end, share):
    """The first bytes of a file that is whole."""
    rows = np.column_stack([X, Y])
    if end == "parquet":
        os.rename(table("parquet", "abcy"), path)
    else:
        (np.save(path, rows) if end == "npy" else np.savez(path, X=X, y=Y))
    with open(path, "rb") as file:
        whole = file.read()
    with open(path, "wb") as file:
        file.write(whole[: len(whole) // share])


def ends_with_one_line(capsys, given, path):
    capsys.readouterr()
    assert main(given) == 1, given
    said = capsys.readouterr()
    (line,) = said.err.splitlines()
    assert line.startswith("budgetsvm: error: ")
    assert path in line
    assert len(line) > len(path) + 25
    assert said.out == ""


@pytest.mark.skipif(sys.platform == "win32", reason="other files there")
@pytest.mark.parametrize(("path", "content"), list(damaged()), ids=lambda value: str(value)[:20])
def test_a_damaged_table_is_one_line(path, content, capsys):
    if path.endswith("parquet"):
        pytest.importorskip("pyarrow")
    if isinstance(content, bytes):
        with open(path, "wb") as file:
            file.write(content)
    else:
        content(path)
    for command in ("train", "cv", "tune"):
        more = ["out.safetensors"] if command == "train" else []
        ends_with_one_line(capsys, [command, path, *more], path)
    if path.split(".", 1)[1].startswith("svm"):
        ends_with_one_line(capsys, ["svm-train", path, "out.model"], path)
    if not path.startswith(("labels.", "label.")):  # rows of zeros alone; all that a row has
        b.BudgetSVC(random_state=0).fit(X, Y).save("m.safetensors")
        ends_with_one_line(capsys, ["predict", "m.safetensors", path], path)
    assert not os.path.exists("out.safetensors")


@pytest.mark.skipif(sys.platform == "win32", reason="other files there")
@pytest.mark.parametrize(
    "content",
    [b"", b"\x00" * 100, bytes(range(256)), b"svm_type c_svc\nkernel_type no\n", os.mkdir,
     os.mkfifo, lambda path: None, lambda path: cut_model(path, 100),
     lambda path: cut_model(path, 3000)],
)  # fmt: skip
def test_a_damaged_model_is_one_line(content, capsys):
    table("csv", "abcy")
    if isinstance(content, bytes):
        with open("m.safetensors", "wb") as file:
            file.write(content)
    else:
        content("m.safetensors")
    for given in (["info"], ["predict", "a-b-c-y.csv"], ["convert", "out.onnx"]):
        ends_with_one_line(capsys, [given[0], "m.safetensors", *given[1:]], "m.safetensors")


def cut_model(path, size):
    b.SVC().fit(X, Y).save(path)
    with open(path, "rb+") as file:
        file.truncate(size)


@pytest.mark.skipif(sys.platform == "win32", reason="other streams there")
@pytest.mark.parametrize("closed", [">&-", "> /dev/full", "| true"])
@pytest.mark.parametrize("given", ["predict m.safetensors a-b-c-y.csv", "info m.safetensors"])
def test_standard_output_that_is_closed(given, closed):
    if "full" in closed and not os.path.exists("/dev/full"):
        pytest.skip("there is no such device")
    assert main(["train", table("csv", "abcy"), "m.safetensors"]) == 0
    command = f"({sys.executable} -m budgetsvm {given}; echo $? > code) {closed}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    with open("code") as file:
        assert file.read() == "1\n"
    (line,) = done.stderr.splitlines()
    assert line.startswith("budgetsvm: error: ")
    assert line.endswith(": 'standard output'")


def test_rows_from_standard_input(capsys):
    assert main(["train", table("csv", "abcy"), "m.safetensors"]) == 0
    wanted = predicted(capsys, "a-b-c-y.csv").out
    given = ["predict", "m.safetensors", "/dev/stdin", "--format", "csv"]
    with open(table("csv", "cab"), "rb") as file:
        done = subprocess.run(
            [sys.executable, "-m", "budgetsvm", *given], input=file.read(), capture_output=True,
            check=True,
        )  # fmt: skip
    assert done.stdout.decode() == wanted
