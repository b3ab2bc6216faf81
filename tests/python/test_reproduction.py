"""What documents are made of: `record.py`, `report.py` and `fetch.py` of benches/python."""

import bz2
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCHES = ROOT / "benches" / "python"


@pytest.fixture
def record_class(monkeypatch):
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.syspath_prepend(str(BENCHES))
    from record import Record

    return Record


def test_a_record_keeps_what_an_earlier_run_found(record_class, tmp_path):
    from matplotlib import pyplot as plt

    options = SimpleNamespace(out=tmp_path, quick=True)
    with record_class(options, "part", seeds="0") as record:
        record.compare("one", "Table 1", [("s = 512", 15.1, 15.0234, None)], what="size")
        record.table("two", "Figure 2", ["m"], [[1]])
    with record_class(options, "part", seeds="0") as record:
        record.table("two", "Figure 2", ["m"], [[12_345]])
        record.picture("two", "Figure 2", plt.figure(figsize=(4, 3)), width=200)
    kept = json.loads((tmp_path / "record" / "part" / "record.json").read_text())
    assert list(kept["entries"]) == ["one.table", "two.table", "two.picture"]
    assert kept["done"]
    assert "| s = 512 | 15.1 | 15.02 | – |" in kept["entries"]["one.table"]["text"]
    assert "12,345" in kept["entries"]["two.table"]["text"]
    assert (tmp_path / "record" / "part" / "two.csv").read_text().split() == ["m", "12345"]
    assert (tmp_path / "record" / "part" / "two.png").stat().st_size < 5_000
    with record_class(SimpleNamespace(out=tmp_path, quick=False), "part", seeds="0") as record:
        assert record.entries == {}


def test_a_part_that_was_cut_off_says_so(record_class, tmp_path):
    options = SimpleNamespace(out=tmp_path, quick=True)

    def cut():
        with record_class(options, "part", seeds="0") as record:
            record.text("note", "Half of it.")
            raise ValueError("cut")

    with pytest.raises(ValueError, match="cut"):
        cut()
    kept = json.loads((tmp_path / "record" / "part" / "record.json").read_text())
    assert not kept["done"]
    assert "note.text" in kept["entries"]


@pytest.fixture
def fetch(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHES))
    import fetch

    return fetch


def test_a_fetched_set_is_what_its_text_says(fetch, tmp_path, monkeypatch):
    texts = ["1 1:0.5 3:-1\n2 2:0.25\n", "2 1:1 2:-0.5\n"]
    files = []
    for name, text in zip(("train", "test"), texts, strict=True):
        packed = bz2.compress(text.encode())
        (tmp_path / name).write_bytes(packed)
        files.append(((tmp_path / name).as_uri(), hashlib.md5(packed).hexdigest()))
    X, y = np.array([[0.5, 0, -1], [0, 0.25, 0]], dtype=np.float32), np.array([0, 1])
    expected = fetch.content((X, y)), fetch.content((np.array([[1, -0.5, 0]]), np.array([1])))
    read = fetch.svmlight(3, label=lambda y: y - 1)
    monkeypatch.setattr(fetch, "SETS", {"toy": fetch.Source(tuple(files), read, expected)})
    monkeypatch.setattr(sys, "argv", ["fetch.py", "--data", str(tmp_path / "sets")])
    fetch.main()
    np.testing.assert_array_equal(fetch.stored(tmp_path / "sets" / "toy.npz")[0], X)
    assert fetch.content((X[::-1], y[::-1])) == expected[0], "whatever the order"
    assert fetch.content((X, y[::-1])) != expected[0]
    (tmp_path / "test").write_bytes(bz2.compress(b"2 1:1 2:-0.75\n"))
    (tmp_path / "sets" / "toy.npz").unlink()
    with pytest.raises(SystemExit, match="not as they should be: toy"):
        fetch.main()
    assert not (tmp_path / "sets" / "toy.npz").exists()


def run(script, *arguments):
    """Without data: what needs them says so and leaves."""
    environment = {key: value for key, value in os.environ.items() if key != "BUDGETSVM_DATA"}
    words = [sys.executable, str(BENCHES / script), *map(str, arguments)]
    done = subprocess.run(words, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_quick_parts_make_a_document(tmp_path):
    """Those that need no data; the others say so."""
    pytest.importorskip("matplotlib")
    folders = ("--quick", "--out", tmp_path, "--data", tmp_path / "none")
    said = run("primal_paper.py", *folders, "--figures", 4)
    assert "adult not found" in said
    assert not (tmp_path / "record").exists()
    run("primal_paper.py", *folders, "--figures", 1)
    said = run("reproduce.py", *folders, "--only", "none")
    assert "written to" in said
    text = (tmp_path / "reproduction.md").read_text(encoding="utf-8")
    assert "### Figure 1. Least squares" in text
    assert "| n = 10, d = 100 | 1 |" in text
    assert "`bsca_paper.py`: not run." in text
    said = run("reproduce.py", *folders, "--only", "local", "asset_paper")
    assert re.search(r"not run, no data: local \(.+\) *\n?", said)
    text = (tmp_path / "reproduction.md").read_text(encoding="utf-8")
    assert re.search(r"`asset_paper.py --only .*`: not run; not at hand: adult", text)
    assert "### Figure 1. Least squares" in text, "what was kept is kept"
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)
    assert pictures == ["reproduction/primal_paper_figure_1.png"]
    assert (tmp_path / pictures[0]).is_file()


@pytest.fixture
def reproduce(monkeypatch, tmp_path):
    """The command, with parts of its own: one is whole, one fails halfway, one is cut off."""
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(str(BENCHES))
    import report

    script = """
        import sys
        sys.path.insert(0, {benches!r})
        import common
        from record import Record
        made = common.parser("")
        made.add_argument("mode")
        options = made.parse_args()
        with Record(options, "part", seeds="0") as record:
            record.text("note", options.mode + " has begun")
            if options.mode == "failing":
                raise ValueError("a reason")
            if options.mode == "cut":
                raise KeyboardInterrupt
    """
    lines = script.format(benches=str(BENCHES)).splitlines()
    (tmp_path / "part.py").write_text("\n".join(line[8:] for line in lines))
    parts = [report.Part(mode, f"part.py {mode}") for mode in ("failing", "whole", "cut", "last")]
    paper = report.Section("A paper", "Of nothing.", tuple(parts), "As it is.")
    monkeypatch.setattr(report, "HERE", tmp_path)
    return lambda: report.main(report.Document("reproduction", "Papers", "", (paper,)), "")


def test_what_fails_is_said_and_the_rest_is_run(reproduce, monkeypatch, tmp_path, capfd):
    def call(*arguments):
        words = ["reproduce.py", "--out", str(tmp_path / "out"), *arguments]
        monkeypatch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as left:
            reproduce()
        return str(left.value), (tmp_path / "out" / "reproduction.md").read_text()

    said, text = call("--document", str(tmp_path / "docs"))
    assert "stopped in cut" in said
    assert "`part.py failing`: FAILED, status 1" in text
    assert "failing has begun" in text
    assert re.search(r"Part `whole`: \d+ s\.", text)
    assert "`part.py last`: not run." in text
    assert not (tmp_path / "docs").exists(), "the document is of whole runs"
    assert "a reason" in (tmp_path / "out" / "record" / "failing" / "log.txt").read_text()
    # It goes on: what is whole is kept, and nothing of another version is left beside the new.
    file = tmp_path / "out" / "record" / "failing" / "record.json"
    kept = json.loads(file.read_text())
    kept["entries"]["old.text"] = {**kept["entries"]["note.text"], "version": "of before"}
    file.write_text(json.dumps(kept))
    capfd.readouterr()
    call()
    assert "whole: kept" in capfd.readouterr().out
    assert list(json.loads(file.read_text())["entries"]) == ["note.text"]
    # A file that was cut off is as none.
    (tmp_path / "out" / "record" / "whole" / "record.json").write_text('{"done": true, "ent')
    said, text = call("--only", "whole", "failing", "--document", str(tmp_path / "docs"))
    assert said == "failed: failing"
    assert "whole has begun" in text
    document = (tmp_path / "docs" / "reproduction.md").read_text()
    assert "- time:" in document
    assert "FAILED" in document


def test_a_commit_in_the_middle_of_a_run_loses_no_entry(monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(str(BENCHES))
    import record as records
    import report

    versions = iter(["before", "after", "later"])
    monkeypatch.setattr(records, "version", lambda: next(versions))
    options = SimpleNamespace(out=tmp_path, quick=True)
    for names in (["first"], ["second", "third"]):
        with records.Record(options, "part", seeds="0") as record:
            for name in names:
                record.text(name, "found")
    path = tmp_path / "record" / "part" / "record.json"
    report._of_this_version(path)
    entries = json.loads(path.read_text())["entries"]
    assert {key: entry["version"] for key, entry in entries.items()} == {
        "second.text": "after", "third.text": "after",
    }  # fmt: skip
