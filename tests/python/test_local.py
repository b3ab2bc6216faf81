"""LocalBudgetSVC: the partition, the promises, and what it refuses."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_moons
from sklearn.svm import SVC

import budgetsvm
from budgetsvm import LocalBudgetSVC

X, Y = make_moons(4000, noise=0.15, random_state=0)
BLOBS = make_blobs(2000, centers=5, n_features=4, cluster_std=2.0, random_state=0)
SETTINGS = {"n_clusters": 12, "budget": 25, "C": 10, "gamma": 3, "random_state": 0}


def test_a_cell_decides_alone():
    model = LocalBudgetSVC(**SETTINGS).fit(X, Y)
    assert model.cluster_centers_.shape == (12, 2)
    assert model.n_support_.max() <= 25
    assert model.n_samples_seen_ == len(X)
    assert model.score(X, Y) > SVC(C=10, gamma=3).fit(X, Y).score(X, Y) - 0.02
    # Far from every other cell's samples, a point is judged by the nearest centre's sign.
    np.testing.assert_array_equal(
        model.predict(X), model.classes_[(model.decision_function(X) > 0) * 1]
    )


@pytest.mark.parametrize("local", ["online", "bsca"])
@pytest.mark.parametrize("assign", ["lvq", "kmeans"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_several_classes(local, assign, form):
    rows, labels = BLOBS
    model = LocalBudgetSVC(8, 40, C=5, gamma=0.05, local=local, assign=assign, random_state=1)
    model.fit(form(rows), labels)
    assert model.decision_function(form(rows)).shape == (2000, 5)
    assert model.score(form(rows), labels) > SVC(C=5, gamma=0.05).fit(*BLOBS).score(*BLOBS) - 0.04
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(
        again.decision_function(form(rows)), model.decision_function(form(rows))
    )


@pytest.mark.parametrize("local", ["online", "bsca"])
def test_cells_of_few_samples_learn_from_their_neighbours(local):
    """Ten samples a cell are too few; with those of its neighbours it is a local machine."""
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, size=(2000, 4))
    labels = np.sin(3 * rows[:, 0]) + 2 * rows[:, 1] * rows[:, 2] > 0
    few = {"n_clusters": 150, "budget": 150, "C": 10, "gamma": 1, "random_state": 0}
    alone, together = (
        LocalBudgetSVC(**few, local=local, overlap=overlap).fit(rows[:1500], labels[:1500])
        for overlap in (1, 12)
    )
    assert together.n_support_.sum() > 3 * alone.n_support_.sum()
    scores = [model.score(rows[1500:], labels[1500:]) for model in (alone, together)]
    assert scores[1] > scores[0] + 0.04


@pytest.mark.parametrize("local", ["online", "bsca"])
def test_files_and_threads(tmp_path, local):
    one, three = (
        LocalBudgetSVC(**SETTINGS, local=local, n_jobs=n).fit(X, np.array(["a", "b"])[Y])
        for n in (1, 3)
    )
    np.testing.assert_array_equal(one.decision_function(X), three.decision_function(X))
    one.save(tmp_path / "model.safetensors")
    again = budgetsvm.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.decision_function(X), one.decision_function(X))
    np.testing.assert_array_equal(again.predict(X), one.predict(X))
    assert again.get_params() == one.get_params()


def test_a_stream_in_any_parts_is_the_fit_as_given():
    whole = LocalBudgetSVC(**SETTINGS, order="sequential").fit(X, Y)
    for size in (1, 700, 4000):
        parts = LocalBudgetSVC(**SETTINGS)
        n = 300 if size == 1 else len(X)
        for first in range(0, n, size):
            part = slice(first, min(first + size, n))
            parts.partial_fit(X[part], Y[part], classes=[0, 1])
        expected = whole if n == len(X) else LocalBudgetSVC(**SETTINGS, order="sequential")
        if n < len(X):
            expected.fit(X[:n], Y[:n])
        np.testing.assert_array_equal(parts.decision_function(X), expected.decision_function(X))


@pytest.mark.parametrize(("name", "value"), [
    ("n_clusters", 2), ("budget", 5), ("C", 0.1), ("gamma", 0.2), ("kernel", "laplacian"),
    ("center_step", 0.5), ("overlap", 3), ("pruning", "weight"), ("local", "bsca"),
    ("assign", "kmeans"),
    ("class_weight", {0: 5.0}), ("max_iter", 3), ("order", "uniform"), ("random_state", 7),
])  # fmt: skip
def test_every_hyperparameter_matters(name, value):
    noisy = np.where(np.random.default_rng(0).random(len(Y)) < 0.1, 1 - Y, Y)
    base = LocalBudgetSVC(**SETTINGS).fit(X, noisy)
    other = LocalBudgetSVC(**{**SETTINGS, name: value}).fit(X, noisy)
    assert not np.array_equal(base.decision_function(X), other.decision_function(X))


@pytest.mark.parametrize(("params", "message"), [
    ({"n_clusters": 0}, "n_clusters must be"),
    ({"budget": -1}, "budget must be"),
    ({"C": 0}, "C must be"),
    ({"gamma": -1.0}, "gamma must be"),
    ({"center_step": 2.0}, "center_step must be"),
    ({"overlap": 0}, "overlap must be"),
    ({"pruning": "none"}, "pruning must be"),
    ({"local": "smo"}, "local must be"),
    ({"assign": "random"}, "assign must be"),
    ({"max_iter": 0}, "max_iter must be"),
    ({"max_time": 0.0}, "max_time must be"),
    ({"kernel": "cosine"}, "kernel must be"),
])  # fmt: skip
def test_bad_input_names_the_argument_and_changes_nothing(params, message):
    model = LocalBudgetSVC(**SETTINGS).fit(X, Y)
    before = model.decision_function(X)
    model.set_params(**params)
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, Y)
    model.set_params(**{name: LocalBudgetSVC().get_params()[name] for name in params})
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_streams_need_the_online_machine():
    for params in ({"local": "bsca"}, {"assign": "kmeans"}):
        assert not hasattr(LocalBudgetSVC(**params), "partial_fit")
        with pytest.raises(AttributeError, match="partial_fit"):
            LocalBudgetSVC(**params).partial_fit(X, Y, classes=[0, 1])
    model = LocalBudgetSVC(**SETTINGS).partial_fit(X, Y, classes=[0, 1])
    with pytest.raises(ValueError, match="n_clusters"):
        model.set_params(n_clusters=3).partial_fit(X, Y)


def test_a_callback_stops_it():
    rows = np.tile(X, (50, 1))
    model = LocalBudgetSVC(4, 500, C=10, gamma=3, callback=lambda progress: True)
    model.fit(rows, np.tile(Y, 50))
    assert model.stop_reason_ == "callback"
    assert 0 < model.n_samples_seen_ <= len(rows)


def test_kmeans_takes_wide_indices_and_few_rows():
    wide = sparse.csr_matrix(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    model = LocalBudgetSVC(4, 10, assign="kmeans", gamma=1.0, random_state=0)
    np.testing.assert_array_equal(
        clone(model).fit(wide, Y).decision_function(X),
        clone(model).fit(sparse.csr_matrix(X), Y).decision_function(X),
    )
    many = clone(model).set_params(n_clusters=1000).fit(X[:50], Y[:50])
    assert many.cluster_centers_.shape == (50, X.shape[1])
