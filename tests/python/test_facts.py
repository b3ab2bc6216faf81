"""What was found in all rows of files, kept for other processes: used, made anew, refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from budgetsvm import AssetSVC, BudgetOneClassSVM, BudgetSVC, BudgetSVR, _core, data
from budgetsvm.data._facts import _sum

RNG = np.random.default_rng(3)
X = RNG.normal(size=(700, 3)).astype(np.float32)
Y = (X[:, 0] * X[:, 1] > 0.4).astype(np.int64) * 3
SETTINGS = {"budget": 15, "class_weight": "balanced", "random_state": 0}


@pytest.fixture
def files(tmp_path):
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", Y)
    table = [
        "a,b,c,y",
        *(f"{a!r},{b!r},{c!r},{y}" for (a, b, c), y in zip(X.tolist(), Y, strict=True)),
    ]
    (tmp_path / "t.csv").write_text("\n".join(table))
    data.dump_svmlight_file(X, Y, str(tmp_path / "t.svm"), zero_based=False)
    return tmp_path


SOURCES = {
    "npy": lambda at, **own: data.open(at / "x.npy", target=at / "y.npy", **own),
    "labels": lambda at, **own: data.open(at / "x.npy", target=Y, **own),
    "text": lambda at, **own: data.open(at / "t.svm", **own),
    "csv": lambda at, **own: data.open(at / "t.csv", target="y", **own),
}


class Counted:
    """Counts the readings that `_core` makes of all rows."""

    def __init__(self, monkeypatch):
        self.calls = 0
        for name in ("variance", "scales"):
            plain = getattr(_core, name)
            monkeypatch.setattr(_core, name, lambda *given, plain=plain: self._count(plain, given))

    def _count(self, plain, given):
        self.calls += 1
        return plain(*given)


@pytest.mark.parametrize("name", SOURCES)
def test_facts_are_found_once_and_change_no_bit(name, files, monkeypatch):
    open_, kept = SOURCES[name], files / "facts.json"
    without = BudgetSVC(**SETTINGS).fit(open_(files))
    counted = Counted(monkeypatch)
    for times in (2, 0, 0):
        counted.calls = 0
        clf = BudgetSVC(**SETTINGS).fit(open_(files, facts=kept))
        assert counted.calls == times
        assert np.array_equal(clf.decision_function(X), without.decision_function(X))
        assert clf.classes_.dtype == without.classes_.dtype
    told = json.loads(kept.read_text())["body"]["found"]
    assert told["n_rows"], told["n_features"] == X.shape
    assert told["variance"] == pytest.approx(X.astype(float).var())
    assert told["classes"]["values"] == [0, 3]
    assert told["class_sums"] == [[float((Y == 0).sum()), float((Y == 3).sum())], 700.0]
    for other in (AssetSVC, BudgetSVR, BudgetOneClassSVM):
        counted.calls = 0
        fitted = other(random_state=0).fit(open_(files, facts=kept))
        assert counted.calls == 0
        assert np.array_equal(fitted.predict(X), other(random_state=0).fit(open_(files)).predict(X))


def test_another_process_uses_them(files):
    code = (
        "import sys; from budgetsvm import BudgetSVC, _core, data\n"
        "if sys.argv[2] == 'again':\n"
        "    _core.variance = _core.scales = None\n"
        "s = data.open(sys.argv[1] + '/x.npy', target=sys.argv[1] + '/y.npy', facts=True)\n"
        "print(BudgetSVC(15, random_state=0).fit(s).objective_)"
    )
    said = [
        subprocess.run([sys.executable, "-c", code, str(files), when], capture_output=True,
                       text=True, check=True).stdout
        for when in ("first", "again")
    ]  # fmt: skip
    assert said[0] == said[1]
    assert said[0]
    assert (files / ".x.npy.facts.json").is_file()
    assert len(SOURCES["npy"](files, facts=True)._facts.recalled()) > 4


def test_text_is_read_once_where_its_columns_are_known(files):
    def read(source):
        readings, plain = [], source._as_read
        source._as_read = lambda: readings.append(1) or plain()
        blocks = list(source.blocks())
        assert source.n_rows == 700
        return len(readings), blocks

    first, plain = read(data.open(files / "t.svm", facts=files / "f.json"))
    source = data.open(files / "t.svm", facts=files / "f.json")
    assert (source.n_rows, source.n_features) == (700, 3)
    again, blocks = read(source)
    assert (first, again) == (2, 1)
    for a, b in zip(plain, blocks, strict=True):
        assert (a.X != b.X).nnz == 0
        assert np.array_equal(a.y, b.y)


def test_facts_of_other_rows_are_made_anew(files):
    kept, rows = files / "facts.json", X.copy()

    def gamma(**own):
        given = {"target": files / "y.npy", "facts": kept} | own
        return BudgetSVC(15, random_state=0).fit(data.open(files / "x.npy", **given))._machine.gamma

    first = gamma()
    written = kept.read_bytes()
    assert gamma() == first
    assert kept.read_bytes() == written
    rows *= 2
    np.save(files / "x.npy", rows)
    assert gamma() == pytest.approx(first / 4)
    assert kept.read_bytes() != written
    # Rows that are read otherwise: other columns, types, targets and weights.
    assert gamma(features=[0]) == pytest.approx(1 / rows[:, 0].astype(float).var())
    weights = RNG.uniform(0, 2, 700)
    assert gamma(weight=weights) != gamma() != gamma(weight=weights**2)
    assert gamma(dtype=np.float64) == pytest.approx(first / 4)
    assert gamma(target=(Y > 0).astype(float)) == pytest.approx(first / 4)
    # A time alone tells.
    data.open(files / "x.npy", target=Y, facts=kept).stored()
    at = os.stat(files / "x.npy")
    os.utime(files / "x.npy", ns=(at.st_atime_ns, at.st_mtime_ns + 1))
    assert not data.open(files / "x.npy", target=Y, facts=kept)._facts.recalled()


def test_rows_that_change_on_the_way_leave_no_facts(files):
    source = data.open(files / "x.npy", target=Y, facts=files / "f.json")
    plain = source._checked

    def changed(pieces):
        for piece in plain(pieces):
            os.utime(files / "x.npy", ns=(1, 1))
            yield piece

    source._checked = changed
    with pytest.raises(ValueError, match=r"x\.npy: the file has changed"):
        source.stored()
    assert not (files / "f.json").exists()


def kept_by(files, **changed):
    """A whole file of facts with other contents."""
    BudgetSVC(15, random_state=0).fit(SOURCES["npy"](files, facts=files / "f.json"))
    told = json.loads((files / "f.json").read_text())
    told["body"]["found"] |= changed
    told["sum"] = _sum(told["body"])
    (files / "f.json").write_text(json.dumps(told))
    return files / "f.json"


@pytest.mark.parametrize(
    "changed",
    [
        {"variance": -1.0},
        {"variance": "1"},
        {"variance": True},
        {"n_rows": 0},
        {"n_rows": 1e300},
        {"scales": [1, 2]},
        {"scales": 5},
        {"bounds": [3, 1]},
        {"bounds": [0, 2**40]},
        {"classes": {"values": [3, 0], "dtype": "<i8"}},
        {"classes": {"values": [0, 3], "dtype": "O"}},
        {"classes": {"values": [0, 300], "dtype": "|u1"}},
        {"classes": {"values": [[0, 3]], "dtype": "<i8"}},
        {"classes": {"values": [0, 3], "dtype": ["<i8", 10**9]}},
        {"classes": 4},
        {"class_sums": [[1.0, 2.0, 3.0], 6.0]},
        {"class_sums": [[1.0, -2.0], 6.0]},
        {"more": 1},
    ],
)
def test_hostile_facts_are_refused(changed, files):
    kept = kept_by(files, **changed)
    with pytest.raises(ValueError, match=r"f\.json'.*delete it"):
        SOURCES["npy"](files, facts=kept)


def test_facts_that_are_not_true_are_refused(files):
    for changed in (
        {"n_rows": 699},
        {"n_features": 4},
        {"classes": {"values": [0, 3, 4], "dtype": "<i8"}},
        {"classes": {"values": [0, 4], "dtype": "<i8"}},
        {"classes": {"values": [1, 3], "dtype": "<i8"}},
    ):
        (files / "f.json").unlink(missing_ok=True)
        source = SOURCES["npy"](files, facts=kept_by(files, **changed))
        clf = BudgetSVC(15, random_state=0)
        with pytest.raises(ValueError, match=r"f\.json'.*delete it"):
            clf.fit(source)
        assert not hasattr(clf, "classes_")


def test_damaged_files_are_refused_and_nothing_else_is_overwritten(files):
    whole = kept_by(files).read_bytes()
    for damaged in (
        b"", whole[:-20], whole.replace(b"700", b"701"), b"[" * 10**5, b"\xff" + whole, b"{}",
        b'{"sum": NaN}', b"[1]", b"notes of somebody",
    ):  # fmt: skip
        (files / "f.json").write_bytes(damaged)
        with pytest.raises(ValueError, match=r"f\.json'.*delete it"):
            SOURCES["npy"](files, facts=files / "f.json")
        assert (files / "f.json").read_bytes() == damaged
    for place in (files / "x.npy", files / "y.npy"):
        with pytest.raises(ValueError, match="file of the rows themselves"):
            SOURCES["npy"](files, facts=place)
    with pytest.raises(ValueError, match="facts must be"):
        SOURCES["npy"](files, facts=3)
    with pytest.raises(ValueError, match="facts: of rows in files alone"):
        data.open((X, Y), facts=True)


def test_facts_that_cannot_be_written_cost_no_fit(files):
    source = SOURCES["npy"](files, facts=files / "nowhere" / "f.json")
    with pytest.warns(UserWarning, match=r"nowhere.*was not written"):
        clf = BudgetSVC(15, random_state=0).fit(source)
    assert clf.score(X, Y) > 0.6
