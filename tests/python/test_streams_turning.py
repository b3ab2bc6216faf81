"""Streams that turn to rows of another kind: their points follow, in the middle of a block too."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import budgetsvm
from budgetsvm import BudgetSVC, BudgetSVR

#: Rows of the first kind; calls and blocks end here (blocks of 512 at 40 terms, of 1,024 at 100).
TURN = 2048


def board(n, turn, seed, share=1.0):
    """A board of nine squares; from row `turn` on this share of the rows is on one far from it."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 3, size=(n, 2))
    y = (np.floor(X[:, 0]) + np.floor(X[:, 1])) % 2
    new = (np.arange(n) >= turn) & (rng.random(n) < share)
    X[new, 0] += 6
    return X, y.astype(int)


X, Y = board(4000, TURN, 0)
THERE, Y_THERE = board(2000, 0, 1)
MODEL = BudgetSVC(budget=40, C=10, gamma=4.0, random_state=0)


@pytest.mark.parametrize(("budget", "least"), [(40, (0.8, 0.85, 0.9)), (100, (0.83, 0.95, 0.96))])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_kind_that_no_point_is_near_is_learnt_and_none_forgotten(budget, least, seed):
    """The price of new directions kept every point where it was: .53 to the end of the stream; then
    passes from less than what steps had come to merged the other board away: .80 of it left."""
    X, y = board(4000, TURN, seed)
    model = clone(MODEL).set_params(budget=budget, random_state=seed)
    for end, new in zip((2400, 2900, 4000), least, strict=True):
        streamed = clone(model).partial_fit(X[:end], y[:end], classes=[0, 1])
        assert streamed.score(THERE, Y_THERE) > new, end
        assert streamed.score(X[:TURN], y[:TURN]) > 0.95, end


def test_a_kind_that_is_half_of_the_rows_is_learnt_by_few_points():
    X, y = board(4000, TURN, 0, share=0.5)
    streamed = clone(MODEL).partial_fit(X, y, classes=[0, 1])
    assert streamed.score(THERE, Y_THERE) > 0.8  # 0.53 before
    assert streamed.score(X[:TURN], y[:TURN]) > 0.95


def test_labels_that_nothing_tells_are_no_news():
    """Where a basis cannot tell the rows and never could, points stay and the past is kept."""
    X, _ = board(4000, 4000, 0)
    noise = np.random.default_rng(0).integers(0, 2, size=4000)
    streamed = clone(MODEL)
    streamed.partial_fit(X[:TURN], noise[:TURN], classes=[0, 1])
    before = streamed.support_vectors_
    streamed.partial_fit(X[TURN:2560], noise[TURN:2560])
    same = [np.isclose(row, before).all(axis=1).any() for row in streamed.support_vectors_]
    assert np.mean(same) > 0.5


def fed(model, X, y, calls, ask=False, **given):
    model, first = clone(model), 0
    for last in calls:
        own = {k: v[first:last] if k == "sample_weight" else v for k, v in given.items()}
        model.partial_fit(X[first:last], y[first:last], **own)
        if ask:
            model.predict(X[:5])
        first = last
    return model


#: In the middle of the first block of the other kind, of the second, and after.
ENDS = (2100, 2112, 2200, 2304, 2305, 2559, 2560, 2700, 3100)


@pytest.mark.parametrize("end", ENDS)
def test_an_answer_depends_on_the_rows_alone(end):
    """Not on calls, nor on what was asked before, nor on files and copies on the way."""
    once = fed(MODEL, X, Y, [end], classes=[0, 1]).decision_function(THERE)
    cuts = [*range(100, end, 100), end]
    assert np.array_equal(fed(MODEL, X, Y, cuts, classes=[0, 1]).decision_function(THERE), once)
    asked = fed(MODEL, X, Y, cuts, ask=True, classes=[0, 1])
    assert np.array_equal(asked.decision_function(THERE), once)
    middle = fed(MODEL, X, Y, [2090], ask=True, classes=[0, 1])
    other = copy.deepcopy(middle)
    middle = pickle.loads(pickle.dumps(middle))
    other.partial_fit(X[:300], Y[:300]).predict(X[:5])
    middle.partial_fit(X[2090:end], Y[2090:end])
    assert np.array_equal(middle.decision_function(THERE), once)


def test_copies_that_part_do_not_share_what_was_learnt_ahead():
    """Both have as many rows that wait, of which others were asked about."""
    base = fed(MODEL, X, Y, [2100], ask=True, classes=[0, 1])
    there, here = copy.deepcopy(base), base
    there.partial_fit(X[2100:2500], Y[2100:2500])
    here.partial_fit(X[:400], Y[:400])
    found = [model.decision_function(THERE) for model in (there, here, there)]
    assert np.array_equal(found[0], found[2])
    assert not np.array_equal(found[0], found[1])
    whole = fed(MODEL, X, Y, [2500], classes=[0, 1])
    assert np.array_equal(whole.decision_function(THERE), found[0])


def test_what_was_lost_is_kept_in_files(tmp_path):
    """A stream read back tells a new kind as the one that was not saved."""
    model = fed(MODEL, X, Y, [TURN], classes=[0, 1])
    model.save(tmp_path / "stream.safetensors")
    again = budgetsvm.load(tmp_path / "stream.safetensors")
    for machine in (model, again):
        machine.partial_fit(X[TURN:2700], Y[TURN:2700])
    assert np.array_equal(model.decision_function(THERE), again.decision_function(THERE))
    assert again.score(THERE, Y_THERE) > 0.9


THREE = Y + (X[:, 1] > 2)
THREE_THERE = Y_THERE + (THERE[:, 1] > 2)


@pytest.mark.parametrize(
    "given",
    [
        {"shared": True},
        {"shared": False},
        {"fit_intercept": True},
        {"loss": "squared_hinge"},
        {"loss": "log_loss"},
        {"solver": "bsgd"},
        {"forgetting": 0.9995},
        {"kernel": "laplacian", "gamma": 2.0},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["dense", "csr", "float32"])
@pytest.mark.parametrize(("budget", "each", "both"), [(40, 0.65, 0.8), (80, 0.95, 0.95)])
def test_every_machine_follows_and_forgets_nothing(given, kind, budget, each, both):
    """Three classes; no point was near the rows that are asked about. 40 terms are few for both
    boards: the old one is kept at the cost of the new one."""
    model = clone(MODEL).set_params(budget=budget, **given)
    as_kind = {"dense": np.asarray, "csr": sp.csr_matrix, "float32": np.float32}[kind]
    weights = np.where(np.arange(4000) % 3 == 0, 2.0, 1.0)
    streamed = fed(
        model, as_kind(X), THREE, [TURN, 2300, 3500], classes=[0, 1, 2], sample_weight=weights
    )
    scores = [
        streamed.score(as_kind(THERE), THREE_THERE),
        streamed.score(as_kind(X[:TURN]), THREE[:TURN]),
    ]
    assert min(scores) > each
    assert np.mean(scores) > both
    assert streamed.n_terms_ <= budget * (1 if given.get("shared", True) else 3)


@pytest.mark.parametrize(("budget", "least"), [(20, 0.6), (40, 0.9)])
def test_values_follow_too(budget, least):
    wave = np.sin(3 * X[:, 0]) + X[:, 1]
    model = BudgetSVR(budget=budget, C=10, gamma=2.0, random_state=0)
    streamed = model.partial_fit(X[:3400], wave[:3400])
    there = np.sin(3 * THERE[:, 0]) + THERE[:, 1]
    assert streamed.score(THERE, there) > least  # .0 before
    assert streamed.score(X[:TURN], wave[:TURN]) > 0.97
