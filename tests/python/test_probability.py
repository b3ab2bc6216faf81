"""Probabilities of SVC and NuSVC: the coupling against LIBSVM's iteration, log losses against its.

Not the numbers themselves: LIBSVM draws other folds.
"""

import json

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import rbf_kernel

import budgetsvm
from budgetsvm import SVC, NuSVC, _core, _one_vs_one

pytestmark = pytest.mark.filterwarnings("ignore:.*probability:FutureWarning")


def noisy(n_classes, seed=0, n=900):
    return make_classification(
        n, 8, n_informative=5, n_classes=n_classes, flip_y=0.3, random_state=seed
    )


def probabilities(values, sigmoids, k):
    """What sigmoids of pairs make of values that are positive for the first of each pair."""
    machine = SVC().fit(np.arange(float(2 * k))[:, None], np.repeat(np.arange(k), 2))._machine
    own = np.ascontiguousarray(-values if k == 2 else values)
    found = _one_vs_one.with_pair_sigmoids(machine, sigmoids, k).probabilities(own, k, 1)
    return _one_vs_one.clip_pair_probabilities(found)


def libsvms_iteration(r):
    """Algorithm 2 of Wu, Lin and Weng for one row, until nothing moves."""
    k = len(r)
    q = -r.T * r
    np.fill_diagonal(q, (r**2).sum(axis=0) - np.diag(r) ** 2)
    p = np.full(k, 1 / k)
    for _ in range(100_000):
        before = p.copy()
        for t in range(k):
            p[t] += (p @ q @ p - q[t] @ p) / q[t, t]
            p /= p.sum()
        if np.abs(p - before).max() < 1e-14:
            break
    return p


@pytest.mark.parametrize("k", [2, 3, 7])
@pytest.mark.parametrize("spread", [1.0, 4.0])
def test_coupling_is_libsvms(k, spread):
    first, second = np.triu_indices(k, 1)
    values = np.random.default_rng(k).normal(scale=spread, size=(20, len(first)))
    sigmoids = np.vstack([np.full(len(first), -1.0), np.zeros(len(first))])
    found = probabilities(values, sigmoids, k)
    for row, p in zip(values, found, strict=True):
        r = np.zeros((k, k))
        r[first, second] = 1 / (1 + np.exp(-row))
        r[second, first] = 1 - r[first, second]
        np.testing.assert_allclose(p, libsvms_iteration(r), atol=1e-9)
    if k == 2:
        np.testing.assert_allclose(found[:, 0], 1 / (1 + np.exp(-values[:, 0])))


def test_certain_and_contradicting_pairs_are_probabilities():
    for k in (2, 3, 10):
        pairs = k * (k - 1) // 2
        signs = np.random.default_rng(k).choice([-1e6, 0.0, 1e6], size=(3000, pairs))
        found = probabilities(signs, np.vstack([-np.ones(pairs), np.zeros(pairs)]), k)
        assert np.all(found >= 0)
        np.testing.assert_allclose(found.sum(axis=1), 1)
    # A class that wins everything has everything; the order of the rows changes nothing.
    sure = probabilities(np.array([[1e6, 1e6, 0.0]]), np.array([[-1.0] * 3, [0.0] * 3]), 3)
    np.testing.assert_allclose(sure, [[1, 0, 0]], atol=10 * _one_vs_one.MIN_PROBABILITY)


@pytest.mark.parametrize("name", ["SVC", "NuSVC"])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_the_log_loss_is_no_worse_than_scikit_learns(name, n_classes):
    X, y = noisy(n_classes, n=1500)
    params = {"probability": True, "random_state": 0}
    if name == "NuSVC":
        params["nu"] = 0.5
    losses = [
        log_loss(
            y[700:], getattr(source, name)(**params).fit(X[:700], y[:700]).predict_proba(X[700:])
        )
        for source in (budgetsvm, sklearn.svm)
    ]
    assert losses[0] <= losses[1] + 0.02


def test_every_form_of_the_rows_has_the_same_probabilities():
    X, y = noisy(3, n=200)
    params = {"probability": True, "random_state": 0}
    expected = SVC(gamma=0.1, **params).fit(X, y).predict_proba(X)
    sparse = sp.csr_matrix(X)
    kernel = rbf_kernel(X, gamma=0.1)
    for model, train in (
        (SVC(gamma=0.1, **params), sparse),
        (SVC(kernel="precomputed", **params), kernel),
        (SVC(kernel=lambda A, B: rbf_kernel(A, B, gamma=0.1), **params), X),
    ):
        np.testing.assert_allclose(model.fit(train, y).predict_proba(train), expected, atol=1e-4)


def test_labels_weights_and_a_class_of_one_row():
    X, y = noisy(3, n=150)
    names = np.array(["a", "b", "c"])[y]
    model = SVC(class_weight={"a": 5.0}, probability=True, random_state=0).fit(X, names)
    even = SVC(probability=True, random_state=0).fit(X, names)
    assert model.predict_proba(X)[:, 0].mean() > even.predict_proba(X)[:, 0].mean() - 0.05
    weights = np.where(y == 0, 20.0, 1.0)
    heavy = SVC(probability=True, random_state=0).fit(X, names, sample_weight=weights)
    assert heavy.predict_proba(X)[:, 0].mean() > even.predict_proba(X)[:, 0].mean() + 0.1
    lonely = np.append(np.flatnonzero(y < 2), np.flatnonzero(y == 2)[:1])
    few = SVC(probability=True).fit(X[lonely], names[lonely]).predict_proba(X)
    assert few.shape == (150, 3)
    np.testing.assert_allclose(few.sum(axis=1), 1)


def test_the_slopes_have_scikit_learns_sign():
    for k in (2, 3):
        X, y = noisy(k)
        found = []
        for source in (budgetsvm, sklearn.svm):
            model = source.SVC(probability=True, random_state=0).fit(X, y)
            found.append([model.probA_, model.probB_])
        assert np.shape(found[0]) == np.shape(found[1]) == (2, k * (k - 1) // 2)
        np.testing.assert_allclose(found[0], found[1], atol=0.3)
    assert SVC().fit(X, y).probA_.size == 0


@pytest.mark.parametrize("cls", [SVC, NuSVC])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_saved(tmp_path, cls, n_classes):
    X, y = noisy(n_classes, n=150)
    path = tmp_path / "model.safetensors"
    model = cls(probability=True, random_state=0).fit(X, y)
    model.save(path)
    again = budgetsvm.load(path)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    text, arrays, machine = _core.archive_load(path)
    damaged = {**arrays, "_sigmoids": arrays["_sigmoids"][:, :0]}
    _core.archive_save(path, text, damaged, machine)
    with pytest.raises(ValueError, match="not a valid budgetsvm model file"):
        budgetsvm.load(path)
    assert "_sigmoids" in json.loads(text)["fitted"]
    # A fit without them forgets them.
    model.set_params(probability="deprecated").fit(X, y).save(path)
    assert not hasattr(budgetsvm.load(path), "predict_proba")
    assert not hasattr(model, "_sigmoids")
