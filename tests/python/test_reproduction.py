"""The record of the papers' tables and figures: `benches/python/record.py` and `reproduce.py`."""

import json
from pathlib import Path
from types import SimpleNamespace

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
