"""Files that change while they are read, files that never end, and text that is packed to fill
memory: an error, never a signal, a hang or an answer of other rows.
"""

from __future__ import annotations

import bz2
import gzip
import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
import scipy.sparse as sp

import budgetsvm
from budgetsvm import BudgetSVC, convert, data
from budgetsvm.data import _npy

RNG = np.random.default_rng(3)
N = 90_000
X = RNG.normal(size=(N, 20)).astype(np.float32)
Y = (X[:, 0] * X[:, 1] > 0).astype(int)
KINDS = ["npy", "npy-target", "npy-columns-first", "npy-list", "npz", "csv", "parquet", "svm",
         "svm.gz"]  # fmt: skip


def written(kind, folder):
    """A file of several blocks, how it is opened, and the file that is to change."""
    end = kind.split("-")[0]
    path = folder / f"rows.{end}"
    target = Y
    if kind == "npy-columns-first":
        np.save(path, np.asfortranarray(X))
    elif end == "npy":
        np.save(path, X)
    elif end == "npz":
        sp.save_npz(path, sp.csr_matrix(X), compressed=False)
    elif end == "csv":
        target = "y"
        named = ",".join(["y", *map(str, range(20))])
        table = np.column_stack([Y, X]).astype("f4")
        np.savetxt(path, table, fmt="%.4g", delimiter=",", header=named, comments="")
    elif end == "parquet":
        arrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        target = "y"
        table = arrow.table({"y": Y, **{str(at): X[:, at] for at in range(20)}})
        parquet.write_table(table, path, row_group_size=10_000, compression="none")
    else:
        target = None
        data.dump_svmlight_file(X, Y, path.with_suffix("") if end.endswith("gz") else path)
        if end.endswith("gz"):
            plain = path.with_suffix("")
            path.write_bytes(gzip.compress(plain.read_bytes(), 1))
    if kind == "npy-target":
        np.save(folder / "y.npy", Y)
        return path, folder / "y.npy", lambda: data.open(path, target=folder / "y.npy")
    if kind == "npy-list":
        np.save(folder / "more.npy", X[:10])
        both, labels = [path, folder / "more.npy"], np.concatenate([Y, Y[:10]])
        return path, path, lambda: data.open(both, labels)
    return path, path, lambda: data.open(path, target)


CHANGES = {
    "shorter": lambda path: os.truncate(path, 200),
    "empty": lambda path: os.truncate(path, 0),
    "rewritten": lambda path: path.write_bytes(path.read_bytes()[::-1]),
    "replaced": lambda path: os.replace(path.with_suffix(".other"), path),
    "gone": os.unlink,
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_changes_while_it_is_read(kind, change, tmp_path):
    _, path, opened = written(kind, tmp_path)
    path.with_suffix(".other").write_bytes(path.read_bytes())
    source = opened()
    read = type(source)._checked

    def changed(pieces):
        for number, piece in enumerate(read(source, pieces)):
            if number == 0:
                time.sleep(0.01)  # so that the clock of the files goes on
                CHANGES[change](path)
            yield piece

    source._checked = changed
    model = BudgetSVC(budget=10, max_iter=1, random_state=0)
    with pytest.raises((ValueError, OSError), match=path.name):
        model.fit(source)
    assert not hasattr(model, "classes_")


#: The file is cut in the middle of the passes of a fit, in a process of its own that a signal would
#: end.
CUT = """
    import os, sys
    import numpy as np
    from budgetsvm import BudgetSVC, data

    path, target = sys.argv[1:]
    def cut(progress):
        if progress["phase"] == "end_of_pass" and progress["iteration"] == 1:
            os.truncate(path, 150)
            os.truncate(target, 150)
    own = {"budget": 20, "max_iter": 3, "tol": 0, "random_state": 0}
    X, y = np.load(path), np.load(target)
    model = BudgetSVC(**own, callback=cut).fit(data.open(path, target=target))
    whole = BudgetSVC(**own).fit(X, y)
    print(np.array_equal(model.decision_function(X), whole.decision_function(X)))
"""


def test_a_file_that_is_cut_after_it_was_read_changes_nothing(tmp_path):
    np.save(tmp_path / "x.npy", X[:20_000])
    np.save(tmp_path / "y.npy", Y[:20_000])
    case = [sys.executable, "-c", textwrap.dedent(CUT), tmp_path / "x.npy", tmp_path / "y.npy"]
    done = subprocess.run(case, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "True"), done.stderr


def test_parts_of_an_array_are_those_of_numpy(tmp_path):
    for array in (X[:50], np.asfortranarray(X[:50]), Y[:50], X[:0], np.array(["no", "yes"])):
        np.save(tmp_path / "a.npy", array)
        found = _npy.NpyArray(str(tmp_path / "a.npy"), "rows")
        assert (found.shape, found.dtype, len(found)) == (array.shape, array.dtype, len(array))
        for where in (slice(None), slice(3, 9), slice(0, 0), slice(40, 90)):
            np.testing.assert_array_equal(found[where], array[where])


@pytest.mark.parametrize("shape", [(-1,), (4, -5), (2**70, 3), (0, -1), (3, 4, 5), (), (10**9, 20)])
def test_a_shape_that_no_file_has(shape, tmp_path):
    """A negative one was an OverflowError."""
    np.save(tmp_path / "x.npy", X[:10])
    whole = (tmp_path / "x.npy").read_bytes()
    told = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape!r}, }}"
    header = told.encode().ljust(117) + b"\n"
    (tmp_path / "x.npy").write_bytes(whole[:10] + header + whole[128:])
    with pytest.raises(ValueError, match=r"x\.npy"):
        data.open(tmp_path / "x.npy")
    with pytest.raises(ValueError, match=r"x\.npy"):
        data.open((tmp_path / "x.npy"), target=Y)


PIPES = {
    "open": lambda path: data.open(path),
    "open npy": lambda path: data.open(path, format="npy"),
    "open npz": lambda path: data.open(path, format="npz"),
    "open csv": lambda path: data.open(path, format="csv"),
    "open parquet": lambda path: data.open(path, format="parquet"),
    "target": lambda path: data.open((X[:9], Y[:9])) and data.open(path.parent / "x.npy", path),
    "facts": lambda path: data.open(path.parent / "x.npy", Y[:9], facts=path),
    "load_svmlight_file": data.load_svmlight_file,
    "from_libsvm": lambda path: convert.from_libsvm(path),
    "load": budgetsvm.load,
}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without named pipes")
@pytest.mark.parametrize("end", ["", ".gz", ".npy"])
@pytest.mark.parametrize("name", PIPES)
def test_a_pipe_is_refused_at_once(name, end, tmp_path):
    """Opening it waited for a writer, whom nobody sends, and did not hear Ctrl-C."""
    np.save(tmp_path / "x.npy", X[:9])
    path = tmp_path / f"pipe{end}"
    os.mkfifo(path)
    before = signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(60)
    try:
        with pytest.raises(OSError, match=rf"pipe{end}.*regular|regular.*pipe{end}"):
            PIPES[name](path)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def test_an_open_file_is_read_whatever_it_is(tmp_path):
    read, write = os.pipe()
    with os.fdopen(write, "wb") as to:
        to.write(b"1 1:2\n-1 2:3\n")
    with os.fdopen(read, "rb") as pipe:
        found, y = data.load_svmlight_file(pipe)
    assert found.shape == (2, 2)
    assert y.tolist() == [1, -1]


#: Reads a text, and tells how it ended, and how many megabytes and seconds it took.
HUGE = """
    import json, resource, sys, time
    from budgetsvm import convert, data

    call, path = sys.argv[1:]
    calls = {
        "load": data.load_svmlight_file,
        "open": lambda path: list(data.open(path).blocks()),
        "libsvm": lambda path: convert.from_libsvm(path),
    }
    open(path + ".few", "w").write("1 1:2\\n-1 1:3\\n")
    calls["load"](path + ".few")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.process_time()
    try:
        calls[call](path)
        told = "read"
    except ValueError as error:
        told = str(error)
    more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(json.dumps([told, more, time.process_time() - begun]))
"""


@pytest.mark.parametrize("call", ["load", "open", "libsvm"])
@pytest.mark.parametrize("pack", ["gz", "bz2", "plain"])
@pytest.mark.parametrize("text", ["1 ", "7", "\n"], ids=["blanks", "digits", "lines"])
def test_text_without_rows_takes_little_memory(text, pack, call, tmp_path):
    """Of 379 kB, packed, it took 1.3 GB; and a second for every 40 MB, squared."""
    path = tmp_path / f"huge.{pack}"
    content = text.encode().ljust(1 << 20, text.encode()[-1:]) * 300
    if pack == "plain":
        path.write_bytes(content)
    else:
        path.write_bytes(gzip.compress(content, 1) if pack == "gz" else bz2.compress(content, 1))
    del content
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(HUGE), call, path],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told, more, seconds = json.loads(done.stdout)
    expected = {"1 ": "longer than", "7": "longer than", "\n": "no rows"}[text]
    assert expected in told or call == "libsvm", told
    assert "LIBSVM" in told or call != "libsvm", told
    assert more < (600 if call == "libsvm" else 250)
    assert seconds < 60


def test_a_line_may_be_long(tmp_path):
    """Some million pairs are a row."""
    pairs = b" ".join(b"%d:1" % at for at in range(1, 3_000_000))
    path = tmp_path / "long.svm"
    path.write_bytes(b"1 " + pairs + b"\n-1 1:1\n")
    assert path.stat().st_size > 1 << 24
    found, y = data.load_svmlight_file(path)
    assert (found.nnz, y.tolist()) == (3_000_000, [1, -1])
    with data.open(path) as source:
        blocks = list(source.blocks())
    assert (blocks[0].X != found.astype(np.float32)).nnz == 0


def test_what_a_packed_file_raises_is_raised(tmp_path):
    path = tmp_path / "rows.svm.gz"
    path.write_bytes(gzip.compress(b"1 1:2\n" * 1000)[:-12])
    for read in (data.load_svmlight_file, lambda path: list(data.open(path).blocks())):
        with pytest.raises(ValueError, match=r"rows\.svm\.gz: the file is damaged"):
            read(path)
