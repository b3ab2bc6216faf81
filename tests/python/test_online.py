"""Online learners: streams cut anywhere, budgets, files, threads, interrupts, bad input."""

from __future__ import annotations

import copy
import pickle
import time
from typing import ClassVar

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_moons

import budgetsvm
from budgetsvm import (
    BudgetOGD,
    BudgetPassiveAggressive,
    Forgetron,
    FourierOGD,
    KernelOGD,
    KernelPerceptron,
    NystroemOGD,
    Projectron,
    ProjectronPlusPlus,
    RandomizedBudgetPerceptron,
    SparsePassiveAggressive,
    Stoptron,
)
from interrupting import ctrl_c

RNG = np.random.default_rng(2)
X, Y = make_moons(900, noise=0.3, random_state=0)
X = np.hstack([X, RNG.normal(size=(900, 2)) * (RNG.random((900, 2)) < 0.5)])
BUDGETED = [
    BudgetOGD(30), BudgetOGD(30, sampling="uniform"), BudgetPassiveAggressive(30), Forgetron(30),
    NystroemOGD(30), Projectron(30), ProjectronPlusPlus(30), RandomizedBudgetPerceptron(30),
    SparsePassiveAggressive(30, average=False), Stoptron(30),
]  # fmt: skip
ALL = [*BUDGETED, KernelOGD(), KernelPerceptron(), FourierOGD(n_frequencies=32)]
EVERY = pytest.mark.parametrize("model", ALL, ids=lambda m: type(m).__name__)
AVERAGE = pytest.mark.parametrize("average", [False, True])


def fresh(model, average=False, **more):
    return clone(model).set_params(gamma=1.0, random_state=3, average=average, **more)


def same(one, other):
    """The same bits, in what predicts and in what learns on."""
    assert one._machine.to_bytes() == other._machine.to_bytes()


@EVERY
@AVERAGE
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_any_cut_of_a_stream_gives_the_same_model(model, average, dtype, form):
    rows = X.astype(dtype)
    whole = fresh(model, average, order="sequential").fit(form(rows), Y)
    for cuts in ([450], [1, 2, 130, 500], list(range(7, 900, 7))):
        parts = fresh(model, average)
        for part in np.split(np.arange(900), cuts):
            parts.partial_fit(form(rows[part]), Y[part], classes=[0, 1])
        same(whole, parts)
    if form is sparse.csr_matrix:
        dense = fresh(model, average, order="sequential").fit(rows, Y)
        difference = dense.decision_function(rows) - whole.decision_function(form(rows))
        assert np.abs(difference).max() < (1e-9 if dtype == np.float64 else 5e-2)


@pytest.mark.parametrize("model", BUDGETED, ids=lambda m: type(m).__name__)
@AVERAGE
@pytest.mark.parametrize("budget", [1, 2, 3, 9, 40])
def test_never_more_terms_than_the_budget(model, average, budget):
    model = fresh(model, average, budget=budget)
    seen = []
    for part in np.array_split(np.arange(900), 60):
        model.partial_fit(X[part], Y[part], classes=[0, 1])
        seen.append(model.n_terms_)
        assert model.support_vectors_.shape == (model.n_terms_, 4)
        assert model.dual_coef_.shape == (1, model.n_terms_)
        assert np.all(np.isfinite(model.dual_coef_))
    assert max(seen) <= budget
    assert model.n_samples_seen_ == 900


@EVERY
@AVERAGE
def test_the_terms_are_the_model(model, average):
    model = fresh(model, average).fit(X, Y)
    if isinstance(model, FourierOGD):
        waves = X @ model.frequencies_.T
        features = np.hstack([np.cos(waves), np.sin(waves)]) / np.sqrt(32)
        values = features @ model.coef_[0]
    else:
        distance = ((X[:, None] - model.support_vectors_) ** 2).sum(axis=2)
        values = np.exp(-distance) @ model.dual_coef_[0]
    np.testing.assert_allclose(model.decision_function(X), values, atol=1e-10)
    assert model.score(X, Y) > (0.7 if average else 0.5)


@EVERY
def test_threads_do_not_change_a_bit(model):
    rows, labels = np.tile(X, (3, 5)), np.tile(Y, 3) + (np.arange(2700) % 3 == 0)
    one = fresh(model, True, n_jobs=1).fit(rows, labels)
    for n_jobs in (2, 5):
        many = fresh(model, True, n_jobs=n_jobs).fit(rows, labels)
        same(one, many)
        np.testing.assert_array_equal(one.decision_function(rows), many.decision_function(rows))


@EVERY
@AVERAGE
def test_files_pickles_and_copies_learn_on_alike(model, average, tmp_path):
    model = fresh(model, average).partial_fit(X[:500], Y[:500], classes=[0, 1])
    model.save(tmp_path / "model.safetensors")
    others = [budgetsvm.load(tmp_path / "model.safetensors"), pickle.loads(pickle.dumps(model))]
    others.append(copy.deepcopy(model))
    expected = clone(model).partial_fit(X[:500], Y[:500], classes=[0, 1])
    expected.partial_fit(X[500:], Y[500:])
    for other in others:
        assert type(other) is type(model)
        assert other.get_params() == model.get_params()
        np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))
        same(other.partial_fit(X[500:], Y[500:]), expected)
        np.testing.assert_array_equal(other.predict(X), expected.predict(X))


@EVERY
def test_several_classes_are_one_against_the_rest(model):
    names = np.array(["a", "b", "c"])
    labels = names[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0.6)]
    model = fresh(model, order="sequential").fit(X, labels)
    values = model.decision_function(X)
    assert values.shape == (900, 3)
    np.testing.assert_array_equal(model.predict(X), names[values.argmax(axis=1)])
    random = (RandomizedBudgetPerceptron, BudgetOGD, SparsePassiveAggressive, FourierOGD)
    if not isinstance(model, random):
        for c, name in enumerate(names):
            rest = fresh(model, order="sequential").fit(X, labels == name)
            np.testing.assert_array_equal(values[:, c], rest.decision_function(X))


@pytest.mark.parametrize(("model", "changes"), [
    (BudgetOGD(20, regularization=0.1),
     [{"learning_rate": 0.5}, {"regularization": 0.2}, {"max_coef": 1.0}, {"sampling": "uniform"},
      {"budget": 10}]),
    (BudgetPassiveAggressive(20), [{"C": 0.1}, {"budget": 10}]),
    (Projectron(20), [{"threshold": 0.5}, {"budget": 5}]),
    (ProjectronPlusPlus(20), [{"threshold": 0.5}, {"budget": 5}]),
    (KernelOGD(), [{"learning_rate": 0.5}, {"regularization": 0.1}]),
    (SparsePassiveAggressive(20),
     [{"learning_rate": 0.5}, {"sampling_numerator": 0.3}, {"sampling_denominator": 1.5}]),
    (NystroemOGD(20), [{"learning_rate": 0.5}, {"n_components": 3}, {"budget": 10}]),
    (FourierOGD(n_frequencies=20), [{"learning_rate": 0.5}, {"n_frequencies": 10}]),
    (KernelPerceptron(), [{"gamma": 0.3}, {"kernel": "laplacian"}, {"average": True},
     {"max_iter": 2}, {"order": "uniform"}, {"random_state": 4}, {"kernel": "poly"}]),
    (KernelPerceptron(kernel="poly"), [{"degree": 2}, {"coef0": 1.0}]),
])  # fmt: skip
def test_every_hyperparameter_changes_something(model, changes):
    base = fresh(model).fit(X, Y).decision_function(X)
    for change in changes:
        other = fresh(model).set_params(**change).fit(X, Y).decision_function(X)
        assert np.abs(other - base).max() > 1e-6, change


#: Of the distance alone, with known frequencies.
FOURIER_KERNELS = "kernel must be 'rbf', 'laplacian', 'matern32' or 'matern52'"


@pytest.mark.parametrize(("model", "params", "message"), [
    (Stoptron(), {"budget": 0}, "budget must be >= 1, got 0"),
    (KernelOGD(), {"learning_rate": 0.0}, "learning_rate must be > 0 and finite, got 0"),
    (KernelOGD(), {"regularization": 5.0}, "regularization must be >= 0 and below"),
    (BudgetOGD(), {"max_coef": -1.0}, "max_coef must be > 0"),
    (BudgetOGD(), {"sampling": "best"}, "sampling must be 'uniform' or 'weighted', got 'best'"),
    (BudgetPassiveAggressive(), {"C": float("inf")}, "C must be > 0"),
    (Projectron(), {"threshold": -0.1}, "threshold must be >= 0"),
    (SparsePassiveAggressive(), {"sampling_numerator": 9.0}, "sampling_numerator must be <="),
    (FourierOGD(), {"n_frequencies": 0}, "n_frequencies must be >= 1"),
    (FourierOGD(), {"kernel": "poly"}, FOURIER_KERNELS),
    (NystroemOGD(), {"n_components": 0}, "n_components must be >= 1"),
    (Forgetron(), {"kernel": "linear"}, FOURIER_KERNELS),
    (Stoptron(), {"kernel": "precomputed"}, "kernel must be"),
    (Stoptron(), {"gamma": -1.0}, "gamma must be > 0"),
    (Stoptron(), {"max_iter": 0}, "max_iter must be >= 1, got 0"),
    (Stoptron(), {"order": "random"}, "order must be"),
    (Stoptron(), {"max_time": 0.0}, "max_time must be > 0"),
    (Stoptron(), {"n_jobs": 0}, "n_jobs must be"),
    (Stoptron(), {"random_state": "x"}, "random_state"),
])  # fmt: skip
def test_bad_hyperparameters_are_named_and_change_nothing(model, params, message):
    model = fresh(model).fit(X, Y)
    model.set_params(**params)
    before = model.__dict__.copy()
    for call in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=message):
            call(X, Y)
        assert model.__dict__ == before


@pytest.mark.parametrize(("params", "message"), [
    ({"budget": 2.5}, "budget must be an integer"), ({"average": "yes"}, "average must be True"),
    ({"order": 3}, "order must be"), ({"kernel": 3}, "kernel must be"),
])  # fmt: skip
def test_wrong_types(params, message):
    with pytest.raises(TypeError, match=message):
        fresh(Stoptron()).set_params(**params).fit(X, Y)


def test_a_stream_refuses_what_does_not_fit():
    model = fresh(Stoptron(20)).partial_fit(X, Y, classes=[0, 1])
    before = model.__dict__.copy()
    wrong = [
        ({}, X, Y + 1, "label"), ({}, X[:, :2], Y, "features"), ({"budget": 5}, X, Y, "budget"),
        ({"kernel": "linear"}, X, Y, "same kernel"), ({"average": True}, X, Y, "average"),
    ]  # fmt: skip
    for params, rows, labels, message in wrong:
        other = copy.deepcopy(model).set_params(**params)
        with pytest.raises(ValueError, match=message):
            other.partial_fit(rows, labels)
        assert other._machine is model._machine
    with pytest.raises(ValueError, match="classes must be given"):
        fresh(Stoptron()).partial_fit(X, Y)
    assert model.__dict__ == before


def test_numbers_that_leave_the_floats_are_an_error():
    huge = X * 1e200
    model = fresh(BudgetPassiveAggressive(5, kernel="poly"))
    with pytest.raises(ValueError, match="range of floating point"):
        model.fit(huge, Y)
    assert not hasattr(model, "_machine")


LONG = np.random.default_rng(0).normal(size=(60_000, 20))
LONG_Y = (LONG[:, 0] * LONG[:, 1] > 0).astype(int)


@pytest.mark.parametrize("model", [
    ProjectronPlusPlus(800, threshold=0.01), RandomizedBudgetPerceptron(500),
    NystroemOGD(1500), FourierOGD(n_frequencies=2000), KernelOGD(),
], ids=lambda m: type(m).__name__)  # fmt: skip
@pytest.mark.parametrize("delay", [0.1, 0.7])
def test_ctrl_c_ends_learning_within_half_a_second(model, delay):
    model = clone(model).set_params(random_state=0, gamma=0.05).fit(LONG[:300], LONG_Y[:300])
    model.set_params(max_iter=10**6)
    before = model.__dict__.copy()
    with ctrl_c(delay):
        model.fit(LONG, LONG_Y)
    assert model.__dict__ == before


def test_max_time_and_callback_end_with_a_usable_model():
    model = RandomizedBudgetPerceptron(50, max_iter=10**6, max_time=0.2, gamma=0.05)
    start = time.process_time()
    model.fit(LONG, LONG_Y)
    assert time.process_time() - start < 1.5
    assert model.stop_reason_ == "max_time"
    assert model.n_terms_ == 50
    told = []

    def stop(progress):
        told.append(progress)
        return progress["iteration"] >= 2

    model.set_params(max_time=None, callback=stop).fit(X, Y)
    assert model.stop_reason_ == "callback"
    assert model.n_iter_ == len(model.history_["mistakes"]) == 2
    assert {p["phase"] for p in told} <= {"pass", "end_of_pass"}


@EVERY
def test_values_from_before_each_row_was_learnt(model):
    names = np.array(["a", "b", "c"])
    three = names[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0.6)]
    for labels in (Y, three):
        classes = np.unique(labels)
        one, many = fresh(model), fresh(model).partial_fit(X[:300], labels[:300], classes)
        expected = []
        one.partial_fit(X[:300], labels[:300], classes)
        for i in range(300, 380):
            expected.append(one.decision_function(X[i : i + 1])[0])
            one.partial_fit(X[i : i + 1], labels[i : i + 1])
        values = many.test_then_train(X[300:380], labels[300:380])
        np.testing.assert_allclose(values, expected, atol=1e-12)
        same(one, many)


def test_history_counts_mistakes_and_updates():
    model = fresh(KernelPerceptron(), order="sequential", max_iter=3).fit(X, Y)
    history = model.history_
    np.testing.assert_allclose(history["updates"], history["mistakes"])
    np.testing.assert_allclose(history["n_sv"], np.cumsum(900 * history["mistakes"]))
    assert history["n_sv"][-1] == model.n_terms_


@pytest.mark.parametrize("damage", [
    lambda b: b[:-8], lambda b: b.replace(b"centers", b"centres"),
    lambda b: b.replace(b'oldest\\":', b'newest\\":'), lambda b: b"",
])  # fmt: skip
def test_damaged_bytes_are_refused(damage):
    machine = fresh(Forgetron(20), True).fit(X, Y)._machine
    good = machine.to_bytes()
    assert type(machine).from_bytes(good).to_bytes() == good
    bad = damage(good)
    assert bad != good
    with pytest.raises(ValueError, match="not a valid budgetsvm model file"):
        type(machine).from_bytes(bad)


def test_the_window_of_the_mean_is_a_part_of_the_budget():
    """What benches/python/online_window.py compares."""

    class Other(RandomizedBudgetPerceptron):
        _own: ClassVar[dict] = {"learner": "rbp", "aside": 2}

    quarter = RandomizedBudgetPerceptron(30, average=True, gamma=1.0, random_state=0).fit(X, Y)
    half = Other(30, average=True, gamma=1.0, random_state=0).fit(X, Y)
    assert half.n_terms_ <= 30
    assert not np.array_equal(half.decision_function(X), quarter.decision_function(X))
    Other._own["aside"] = 4
    same = Other(30, average=True, gamma=1.0, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(same.decision_function(X), quarter.decision_function(X))
    Other._own["aside"] = 1
    with pytest.raises(ValueError, match="aside must be >= 2"):
        half.fit(X, Y)
