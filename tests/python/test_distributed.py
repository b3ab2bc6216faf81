"""Training in parts: sums against NumPy, shards against a fit, bits, and what is refused."""

import copy
import doctest
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel

from budgetsvm import BudgetSVC, BudgetSVR, _core, _weighted_subsample, distributed
from budgetsvm.distributed import add, finish, join, polish_sums, settle, shard_pass, survey

X, Y = make_moons(1200, noise=0.2, random_state=0)
CLF = BudgetSVC(budget=25, C=10, random_state=3)


@pytest.mark.thread_unsafe(reason="a doctest takes the standard output")
def test_the_example_of_the_page():
    failed, attempted = doctest.testmod(distributed)
    assert attempted > 5
    assert not failed


def cut(parts, *arrays):
    index = np.array_split(np.arange(len(Y)), parts)
    return [tuple(None if a is None else a[i] for a in arrays) for i in index]


def train(estimator, parts):
    """Every step, of parts (X, y, weights)."""
    estimator = settle(estimator, add([survey(estimator, *part) for part in parts]))
    parts = [part for part in parts if part[0].shape[0]]
    shards = [shard_pass(estimator, *part, n_shards=len(parts)) for part in parts]
    joined = join(shards)

    def sums_of(now, point):
        return add([polish_sums(now, x, y, point, *w) for x, y, *w in parts])

    return finish(joined, sums_of)


def same(a, b):
    return np.array_equal(a.decision_function(X), b.decision_function(X))


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("rule", [0, 1, 2, 3])
def test_sums_are_those_of_numpy(offset, rule):
    clf = CLF.__class__(**CLF.get_params() | {"gamma": 0.7, "fit_intercept": offset})
    joined = join([shard_pass(clf, *p, classes=[0, 1]) for p in cut(2, X, Y)])
    rng = np.random.default_rng(rule)
    b = joined.n_terms_
    coef, shift, h, every = rng.normal(size=b), 0.3 * offset, 0.4, 3
    point = np.r_[every, h, rule, shift, coef]
    weights = rng.uniform(0, 2, len(Y))
    sums = polish_sums(joined, X, Y, point, weights)

    x, y, cost = X[::every], np.where(Y[::every] == 1, 1, -1), 10 * every * weights[::every]
    k = rbf_kernel(x, joined.support_vectors_, gamma=0.7)
    t = 1 - y * (k @ coef + shift)

    def loss(t, h):
        value = np.where(t > h, t, np.where(t < -h, 0, (t + h) ** 2 / (4 * h)))
        slope = np.clip((t + h) / (2 * h), 0, 1)
        return value, slope, (np.abs(t) < h) / (2 * h)

    value, slope, bend = loss(t, h)
    if rule == 2:
        bend = np.where(slope > 0, 1 / (2 * np.maximum(np.abs(t), h)), 0)
    if rule == 3:
        bend = loss(t, 3 * h)[2]
    if offset:
        k = np.c_[k, np.ones(len(x))]
    r, d = -cost * y * slope, cost * bend
    hessian = (k * d[:, None]).T @ k
    wanted = [cost @ value, cost @ np.maximum(t, 0), cost @ loss(1 - y * shift, h)[0]]
    np.testing.assert_allclose(sums[:3], wanted, rtol=1e-9)
    order = k.shape[1]
    np.testing.assert_allclose(sums[4 : 4 + order], k.T @ r, rtol=1e-8, atol=1e-8)
    packed = sums[4 + order :]
    if rule != 2:  # the parabola above the loss is the loss's own business
        np.testing.assert_allclose(sums[3], d.sum(), rtol=1e-6)
        own = hessian[np.tril_indices(order)]
        np.testing.assert_allclose(packed, own, rtol=2e-5, atol=1e-5 * np.abs(own).max())
    assert len(packed) == order * (order + 1) // 2


@pytest.mark.parametrize("parts", [2, 3, 5])
def test_shards_are_as_good_as_a_fit_and_at_their_minimum(parts):
    found = train(CLF, cut(parts, X, Y))
    fitted = clone(CLF).fit(X, Y)
    assert found.n_terms_ <= 25
    assert found.stop_reason_ == "converged"
    assert found.objective_["smoothed"] < 1.05 * fitted.objective_["smoothed"]
    assert found.score(X, Y) > fitted.score(X, Y) - 0.01
    before = found.objective_["smoothed"]
    found.polish(X, Y)
    assert abs(before / found.objective_["smoothed"] - 1) < 2e-3


def test_pairs_joined_are_all_joined_and_threads_change_nothing():
    clf = settle(CLF, survey(CLF, X, Y))
    parts = cut(5, X, Y)
    shards = [shard_pass(clf, *p, n_shards=5) for p in parts]
    at_once = join(shards)
    pairs = join([join([join(shards[:2]), join(shards[2:4])]), shards[4]])
    assert same(at_once, pairs)
    found = train(CLF, parts)
    for threads in (1, 2, 3):
        assert same(found, train(clone(CLF).set_params(n_jobs=threads), parts))


def test_steps_travel_as_pickles():
    def there(value):
        return pickle.loads(pickle.dumps(value))

    parts = cut(3, X, Y)
    clf = there(settle(CLF, there(add([there(survey(CLF, *p)) for p in parts]))))
    joined = join([there(shard_pass(clf, *p, n_shards=3)) for p in parts])
    found = finish(
        joined, lambda now, at: add([there(polish_sums(there(now), *p, at)) for p in parts])
    )
    assert same(found, train(CLF, parts))
    assert same(there(found), found)


@pytest.mark.parametrize("kind", ["csr", "float32", "weights", "scales", "offset", "laplacian"])
def test_every_kind_of_rows_and_machine(kind):
    rows, weights, clf = X, None, clone(CLF)
    if kind == "csr":
        rows = sp.csr_matrix(X)
    if kind == "float32":
        rows = X.astype(np.float32)
    if kind == "weights":
        weights = np.random.default_rng(1).uniform(0.5, 2, len(Y))
        clf.set_params(class_weight="balanced")
    if kind == "scales":
        clf.set_params(feature_scales=[1.0, 0.5])
    if kind == "offset":
        clf.set_params(fit_intercept=True)
    if kind == "laplacian":
        clf.set_params(kernel="laplacian")
    parts = cut(3, rows, Y) if weights is None else cut(3, rows, Y, weights)
    found = train(clf, parts)
    fitted = clone(clf).fit(rows, Y, weights)
    assert found._machine.gamma == pytest.approx(fitted._machine.gamma, rel=1e-6)
    assert found.objective_["smoothed"] < 1.06 * fitted.objective_["smoothed"]
    assert found.n_terms_ <= 25


@pytest.mark.parametrize("shared", [True, False])
def test_classes_of_which_a_shard_knows_some(shared):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1200, 2))
    names = np.array(["a", "bb", "ccc"])
    labels = names[(rows[:, 0] > 0).astype(int) + (rows[:, 1] > 0.5)]
    order = np.argsort(labels, kind="stable")  # shards of one class, and two
    rows, labels = rows[order], labels[order]
    clf = BudgetSVC(budget=25, C=10, shared=shared, random_state=0)
    found = train(clf, cut(4, rows, labels))
    assert found.classes_.tolist() == names.tolist()
    assert found.score(rows, labels) > clf.fit(rows, labels).score(rows, labels) - 0.02


def test_values_far_from_zero():
    rows = np.linspace(0, 6, 1200)[:, None]
    values = np.sin(rows[:, 0]) + 1000
    reg = BudgetSVR(budget=20, C=10, random_state=0)
    found = train(reg, cut(4, rows, values))
    assert found.score(rows, values) > 0.97
    assert abs(found.intercept_[0] - 1000) < 2


def test_empty_parts_say_nothing():
    parts = cut(3, X, Y)
    empty = (X[:0], Y[:0])
    assert same(train(CLF, [empty, parts[0], empty, *parts[1:]]), train(CLF, parts))
    with pytest.raises(ValueError, match="no rows in any part"):
        settle(CLF, survey(CLF, *empty))


def test_surveys_add_up_to_the_survey_of_all():
    weights = np.random.default_rng(2).uniform(0, 3, len(Y))
    for rows in (X + 100, sp.csr_matrix(X), X.astype(np.float32)):
        told = add([survey(CLF, *p) for p in cut(7, rows, Y, weights)])
        whole = survey(CLF, rows, Y, weights)
        assert (told.n_rows, told.n_features, told.dtype) == (1200, 2, str(rows.dtype))
        for name in ("weight", "mean", "spread"):
            assert getattr(told, name) == pytest.approx(getattr(whole, name), rel=1e-9)
        dense = rows.toarray() if sp.issparse(rows) else rows.astype(float)
        mean = np.average(dense.ravel(), weights=np.repeat(weights, 2))
        spread = np.repeat(weights, 2) @ (dense.ravel() - mean) ** 2
        assert told.spread == pytest.approx(spread, rel=1e-6)


def test_what_is_refused():
    with pytest.raises(ValueError, match="gamma='scale' depends on all rows"):
        shard_pass(CLF, X, Y, classes=[0, 1])
    plain = clone(CLF).set_params(gamma=1.0)
    with pytest.raises(ValueError, match="classes: give all labels"):
        shard_pass(plain, X, Y)
    with pytest.raises(ValueError, match="no class of this machine: 1"):
        shard_pass(plain, X, Y, classes=[0, 2])
    with pytest.raises(ValueError, match="n_shards must be"):
        shard_pass(plain, X, Y, classes=[0, 1], n_shards=0)
    for name, value in [("refine", True), ("budget", None), ("early_stopping", True)]:
        with pytest.raises(ValueError, match=f"{name}=.*cannot be used on shards"):
            shard_pass(clone(plain).set_params(**{name: value}), X, Y, classes=[0, 1])
    with pytest.raises(ValueError, match="class_weight='balanced' depends on all rows"):
        shard_pass(clone(plain).set_params(class_weight="balanced"), X, Y, classes=[0, 1])
    with pytest.raises(TypeError, match="a BudgetSVC or a BudgetSVR"):
        shard_pass(object(), X, Y)
    for call in (lambda: survey([CLF], X, Y), lambda: settle(None, survey(CLF, X, Y))):
        with pytest.raises(TypeError, match="a BudgetSVC or a BudgetSVR"):
            call()
    with pytest.raises(TypeError, match="told must be a Survey"):
        settle(CLF, [survey(CLF, X, Y)])
    with pytest.raises(ValueError, match="1 class of positive weight"):
        settle(CLF, survey(CLF, X, np.zeros(len(Y))))
    with pytest.raises(ValueError, match="2 and 1 features"):
        survey(CLF, X, Y) + survey(CLF, X[:, :1], Y)
    with pytest.raises(ValueError, match="float64 and float32"):
        survey(CLF, X, Y) + survey(CLF, X.astype(np.float32), Y)
    with pytest.raises(ValueError, match="none to join"):
        join([])
    with pytest.raises(ValueError, match="nothing to add"):
        add([])
    one = shard_pass(plain, X, Y, classes=[0, 1])
    other = shard_pass(plain, X, Y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="different classes"):
        join([one, other])
    wider = shard_pass(clone(plain).set_params(gamma=2.0), X, Y, classes=[0, 1])
    with pytest.raises(ValueError, match="same kernel"):
        join([one, wider])
    with pytest.raises(ValueError, match="point"):
        polish_sums(one, X, Y, np.ones(3))
    with pytest.raises(ValueError, match="point"):
        polish_sums(one, X, Y, np.full(4 + one.n_terms_, 0.5))
    with pytest.raises(ValueError, match="sums has"):
        finish(one, lambda now, at: np.zeros(2))
    with pytest.raises(ZeroDivisionError):
        finish(one, lambda now, at: 1 / 0)


def test_many_rows_are_looked_at_in_part_first():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(90_000, 2)).astype(np.float32)
    labels = (np.abs(rows).sum(axis=1) > 1.3).astype(int)
    clf = BudgetSVC(budget=10, random_state=0)
    clf = settle(clf, survey(clf, rows, labels))
    joined = join([shard_pass(clf, rows[i::2], labels[i::2], n_shards=2) for i in range(2)])
    asked = []

    def sums_of(now, point):
        asked.append((int(point[0]), now.n_terms_))
        return polish_sums(now, rows, labels, point)

    found = finish(joined, sums_of)
    whole = [terms for every, terms in asked if every == 1]
    assert 1 <= len(whole) <= 6
    assert set(whole) == {found.n_terms_} == {10}
    assert found.score(rows, labels) > 0.97


def test_pairs_are_pruned_by_rows_and_not_by_the_kernel(monkeypatch):
    """Against the same terms merged to the budget, both with the best coefficients."""
    rng = np.random.default_rng(2)
    x = rng.uniform(size=(4000, 2))
    y = (np.floor(5 * x).sum(axis=1) % 2).astype(int)
    clf = BudgetSVC(budget=40, C=10, gamma=20, random_state=0)
    shards = [shard_pass(clf, x[i::2], y[i::2], classes=[0, 1], n_shards=4) for i in range(2)]
    pair = join(shards)
    assert pair.n_terms_ > 40
    assert pair._subsample.X.shape == (4000, 2)
    pruned = distributed._prune(pair).polish(x, y)
    assert pruned.n_terms_ == 40
    merged = copy.copy(pair)
    half = clone(clf).set_params(budget=20)
    merged._machine = _core.join(distributed._config(half), [shard._machine for shard in shards], 1)
    assert merged.n_terms_ == 40
    merged.polish(x, y)
    assert pruned.objective_["smoothed"] < merged.objective_["smoothed"]
    # The bits do not depend on who joins what first, also where few rows speak for many.
    monkeypatch.setattr(_weighted_subsample, "_MIN_ROWS", 300)
    monkeypatch.setattr(_weighted_subsample, "_ROWS_PER_TERM", 2)
    few = [shard_pass(clf, x[i::8], y[i::8], classes=[0, 1], n_shards=8) for i in range(8)]
    assert few[0]._subsample.X.shape[0] <= 300
    whole = join(few)
    nested = join([join([join(few[:2]), join(few[2:4])]), join(few[4:])])
    assert np.array_equal(whole.decision_function(x), nested.decision_function(x))
    assert whole._subsample.X.shape[0] <= 600
    assert np.isclose(whole._subsample.cost.sum(), 10 * 4000)


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_a_weighted_subsample_stands_for_all_rows(kind):
    rows = X if kind == "dense" else sp.csr_matrix(X)
    own = _weighted_subsample.WeightedSubsample(
        rows, Y.astype(np.uint32), np.linspace(1, 2, len(Y))
    )
    some = own.subsample(500)
    assert some.X.shape == (400, 2)
    assert np.isclose(some.cost.sum(), own.cost.sum(), rtol=1e-2)
    assert own.subsample(1200) is own
    both = some + own
    assert sp.issparse(both.X) == (kind == "csr")
    assert both.X.shape == (1600, 2)
    assert np.array_equal(both.target, np.r_[Y[::3], Y])


@pytest.mark.parametrize("outputs", [1, 3])
def test_bytes_that_are_moved(outputs):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(1500, 6)).astype(np.float32)
    side = (rows[:, 0] * rows[:, 1] > 0).astype(int)
    labels = side if outputs == 1 else side + (rows[:, 2] > 0.5)
    clf = settle(BudgetSVC(budget=30, C=10, random_state=0), survey(CLF, rows, labels))
    parts = [(rows[i::3], labels[i::3]) for i in range(3)]
    shards = [shard_pass(clf, *part, n_shards=3) for part in parts]
    for shard, (own, _) in zip(shards, parts, strict=True):
        terms = 8 * 30 * (6 + outputs + 2)
        speak = len(own) * (own.itemsize * 6 + 12)
        assert len(pickle.dumps(shard)) <= terms + speak + 8192
    widths = []

    def sums_of(now, point):
        sums = [polish_sums(now, *part, point) for part in parts]
        b = now.n_terms_
        assert sums[0].size + point.size <= b * (6 + outputs * b)
        assert sums[0].size <= outputs * (b * b / 2 + 3 * b / 2 + 4)
        widths.append(b)
        return add(sums)

    finish(join(shards), sums_of)
    assert max(widths) > 30 == min(widths)
