"""Fits on sources: what is found once, rows to score on, a disk that fills."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np
import pytest
import scipy.sparse as sp

from budgetsvm import BudgetSVC, BudgetSVCCV, BudgetSVR, _core, data
from budgetsvm.data import _stored_rows

RNG = np.random.default_rng(3)
N = 1200
X = RNG.normal(size=(N, 4)).astype(np.float32)
VALUE = X[:, 0] * X[:, 1] + 0.3 * X[:, 2]
Y = (VALUE > 0).astype(np.int64)
TRAIN, TEST = slice(0, 900), slice(900, N)
SOME = {"budget": 20, "C": 10, "random_state": 0}
STOPS = SOME | {"early_stopping": True, "max_iter": 6, "n_iter_no_change": 2}


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_what_all_rows_say_is_found_once(kind, tmp_path, monkeypatch):
    """Labels, γ and the scales of the features, as long as the files stay."""
    calls = []
    for name in ("variance", "scales"):
        find = getattr(_core, name)
        monkeypatch.setattr(
            _core, name, lambda *given, name=name, find=find: calls.append(name) or find(*given)
        )
    union = np.union1d
    monkeypatch.setattr(
        _stored_rows.np, "union1d", lambda a, b: calls.append("labels") or union(a, b)
    )
    rows, labels = tmp_path / ("x.npy" if kind == "dense" else "x.npz"), tmp_path / "y.npy"

    def write(x):
        if kind == "dense":
            np.save(rows, x)
        else:
            sp.save_npz(rows, sp.csr_matrix(x))

    write(X)
    np.save(labels, Y)
    source = data.open(rows, target=labels)
    first = BudgetSVC(**SOME).fit(source)
    assert sorted(calls) == ["labels", "scales", "variance"]
    calls.clear()
    again = BudgetSVC(**SOME).fit(source)
    assert not calls
    np.testing.assert_array_equal(again.decision_function(X), first.decision_function(X))
    # A part that is held out leaves other rows, and scales make others of them.
    BudgetSVC(**STOPS).fit(source)
    assert "variance" in calls
    calls.clear()
    scaled = BudgetSVC(**SOME, feature_scales=[1, 2, 3, 4]).fit(source)
    same = X if kind == "dense" else sp.csr_matrix(X)
    plain = BudgetSVC(**SOME, feature_scales=[1, 2, 3, 4]).fit(same, Y)
    np.testing.assert_array_equal(scaled.decision_function(X), plain.decision_function(X))
    calls.clear()
    write(2 * X)
    BudgetSVC(**SOME).fit(source)
    assert sorted(calls) == ["labels", "scales", "variance"]


@pytest.mark.parametrize("kind", ["arrays", "source", "both"])
def test_rows_to_score_on_may_be_given(kind, tmp_path):
    given = (X[TEST], Y[TEST])
    if kind != "arrays":
        given = data.open(lambda: iter([given_part(900, 1000), given_part(1000, N)]))
    rows = (data.open((X[TRAIN], Y[TRAIN])),) if kind == "both" else (X[TRAIN], Y[TRAIN])
    found = BudgetSVC(**STOPS).fit(*rows, validation=given)
    scores = found.history_["validation_score"]
    passes = found.history_["phase"] == 0
    # The score after the last pass is that of the machine of the passes on these rows.
    for count in (1, 2):
        params = STOPS | {"max_iter": count, "polishing": False, "n_iter_no_change": 9}
        one = BudgetSVC(**params).fit(X[TRAIN], Y[TRAIN], validation=(X[TEST], Y[TEST]))
        best = max(one.history_["validation_score"])
        assert best == pytest.approx(one.score(X[TEST], Y[TEST]))
        np.testing.assert_array_equal(
            one.history_["validation_score"][:count], scores[passes][:count]
        )
    plain = BudgetSVC(**STOPS).fit(X[TRAIN], Y[TRAIN], validation=(X[TEST], Y[TEST]))
    np.testing.assert_array_equal(found.decision_function(X), plain.decision_function(X))


def given_part(first, last):
    return X[first:last], Y[first:last]


def test_values_and_weights_and_text_to_score_on():
    reg = BudgetSVR(**STOPS).fit(X[TRAIN], VALUE[TRAIN], validation=(X[TEST], VALUE[TEST]))
    assert np.isfinite(reg.history_["validation_score"][0])
    names = np.array(["no", "yes"])[Y]
    weights = np.r_[np.zeros(150), np.ones(150)]
    clf = BudgetSVC(**STOPS, gamma=0.5)
    clf.fit(X[TRAIN], names[TRAIN], validation=(X[TEST], names[TEST], weights))
    other = BudgetSVC(**STOPS, gamma=0.5)
    other.fit(X[TRAIN], Y[TRAIN], validation=(X[1050:], Y[1050:]))
    np.testing.assert_allclose(clf.history_["validation_score"], other.history_["validation_score"])


def test_rows_to_score_on_that_are_refused():
    clf = BudgetSVC(**STOPS).fit(X[TRAIN], Y[TRAIN])
    before = clf.decision_function(X)
    bad = X[TEST].copy()
    bad[3, 1] = np.nan
    for given, told in (
        ((bad, Y[TEST]), "validation: .*NaN"),
        ((X[TEST, :3], Y[TEST]), "validation: .*3 features"),
        ((X[TEST], Y[TEST] + 7), "validation: "),
        ((X[TEST], Y[TRAIN]), "validation: .*inconsistent"),
        ((X[TEST], Y[TEST], np.zeros(300)), "validation: .*non-zero"),
        (X[TEST], "validation must be"),
    ):
        with pytest.raises(ValueError, match=told):
            clf.fit(X[TRAIN], Y[TRAIN], validation=given)
        np.testing.assert_array_equal(clf.decision_function(X), before)
        assert "_validation" not in clf.__dict__
    with pytest.raises(ValueError, match="validation: only with early_stopping"):
        BudgetSVC(**SOME).fit(X[TRAIN], Y[TRAIN], validation=(X[TEST], Y[TEST]))
    with pytest.raises(ValueError, match="validation: BudgetSVCCV fits many"):
        BudgetSVCCV(random_state=0, early_stopping=True).fit(X, Y, validation=(X, Y))


def test_a_checkpoint_knows_the_rows_to_score_on(tmp_path):
    path, source = tmp_path / "c.safetensors", data.open((X[TRAIN], Y[TRAIN]))

    def dies(told):
        if told["phase"] == "end_of_pass" and told["iteration"] == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        BudgetSVC(**STOPS, callback=dies).fit(
            source, checkpoint=path, every=0, validation=(X[TEST], Y[TEST])
        )
    with pytest.raises(ValueError, match="other rows"):
        BudgetSVC(**STOPS).fit(source, checkpoint=path, validation=(X[TEST], 1 - Y[TEST]))
    found = BudgetSVC(**STOPS).fit(source, checkpoint=path, validation=(X[TEST], Y[TEST]))
    whole = BudgetSVC(**STOPS).fit(source, validation=(X[TEST], Y[TEST]))
    np.testing.assert_array_equal(found.decision_function(X), whole.decision_function(X))
    assert not path.exists()


# What is to be written does not fit: no file may be longer than 20 kB.
FULL = """
    import resource, sys, os
    import numpy as np
    from budgetsvm import BudgetSVC, data

    what, folder = sys.argv[1:]
    X, y = np.load(folder + "/x.npy"), np.load(folder + "/y.npy")
    many = what == "checkpoint"
    params = dict(budget=2000 if many else 20, polishing=not many, C=1e-3, random_state=0)
    clf = BudgetSVC(**params).fit(X[:300], y[:300])
    before = clf.decision_function(X)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
    source = data.open(lambda: ((np.tile(X, (1, 9)), y) for _ in range(3)), cache=folder)
    try:
        if what == "fit":
            clf.fit(source)
        elif what == "predict":
            clf.decision_function(data.open(lambda: ((X, y) for _ in range(9))),
                                  out=folder + "/said.npy")
        else:
            clf.fit(data.open(lambda: iter([(X, y)]), cache=folder),
                    checkpoint=folder + "/c.safetensors")
    except OSError as error:
        print(type(error).__name__, error)
    assert np.array_equal(clf.decision_function(X), before)
    print(sorted(os.listdir(folder)))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits as Linux has them")
@pytest.mark.parametrize("what", ["fit", "predict", "checkpoint"])
def test_a_disk_that_fills_leaves_nothing_half_done(what, tmp_path):
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", Y)
    command = [sys.executable, "-c", textwrap.dedent(FULL), what, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told, left = done.stdout.splitlines()
    assert told.startswith("OSError")
    assert {"fit": "cache=", "predict": "said.npy", "checkpoint": "c.safetensors"}[what] in told
    assert left == "['x.npy', 'y.npy']"


def test_a_folder_that_is_not_there_is_told_by_the_name_that_was_asked_for(tmp_path):
    clf = BudgetSVC(**SOME).fit(X[TRAIN], Y[TRAIN])
    out = tmp_path / "no" / "said.npy"
    with pytest.raises(FileNotFoundError) as told:
        clf.predict(data.open(lambda: iter([(X, None)])), out=out)
    assert told.value.filename == str(out)


def test_a_weight_that_only_some_parts_have_is_missing_in_the_others():
    def parts():
        yield np.ones((3, 2)), np.arange(3) % 2
        yield np.ones((3, 2)), np.arange(3) % 2, np.ones(3)

    with pytest.raises(ValueError, match="part 0: a weight is missing, but part 1 has one"):
        BudgetSVC(budget=5).fit(data.open(parts))
