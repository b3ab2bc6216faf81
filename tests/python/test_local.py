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


@pytest.mark.parametrize("local", ["exact", "online", "bsca"])
@pytest.mark.parametrize("assign", ["lvq", "kmeans"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_several_classes(local, assign, form):
    rows, labels = BLOBS
    budget = None if local == "exact" else 40
    model = LocalBudgetSVC(8, budget, C=5, gamma=0.05, local=local, assign=assign, random_state=1)
    model.fit(form(rows), labels)
    assert model.decision_function(form(rows)).shape == (2000, 5)
    assert model.score(form(rows), labels) > SVC(C=5, gamma=0.05).fit(*BLOBS).score(*BLOBS) - 0.04
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(
        again.decision_function(form(rows)), model.decision_function(form(rows))
    )


@pytest.mark.parametrize("local", ["exact", "online", "bsca"])
def test_cells_of_few_samples_learn_from_their_neighbours(local):
    """Ten samples a cell are too few; with those of its neighbours it is a local machine."""
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, size=(2000, 4))
    labels = np.sin(3 * rows[:, 0]) + 2 * rows[:, 1] * rows[:, 2] > 0
    budget = None if local == "exact" else 150
    few = {"n_clusters": 150, "budget": budget, "C": 10, "gamma": 1, "random_state": 0}
    alone, together = (
        LocalBudgetSVC(**few, local=local, overlap=overlap).fit(rows[:1500], labels[:1500])
        for overlap in (1, 12)
    )
    assert together.n_support_.sum() > 3 * alone.n_support_.sum()
    scores = [model.score(rows[1500:], labels[1500:]) for model in (alone, together)]
    assert scores[1] > scores[0] + 0.04


@pytest.mark.parametrize("local", ["exact", "online", "bsca"])
@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_files_and_threads(tmp_path, local, classes, dtype):
    settings = {**SETTINGS, "budget": None if local == "exact" else 25}
    rows, labels = (X, Y) if classes == 2 else BLOBS
    rows, labels = rows.astype(dtype), np.array(list("abcde"))[labels]
    one, three = (
        LocalBudgetSVC(**settings, local=local, n_jobs=n).fit(rows, labels) for n in (1, 3)
    )
    told = one.decision_function(rows)
    np.testing.assert_array_equal(told, three.decision_function(rows))
    one.save(tmp_path / "model.safetensors")
    again = budgetsvm.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.decision_function(rows), told)
    np.testing.assert_array_equal(again.predict(rows), one.predict(rows))
    assert again.get_params() == one.get_params()
    np.testing.assert_array_equal(again.n_support_, one.n_support_)
    for i in range(3):
        np.testing.assert_allclose(one.decision_function(rows[i : i + 1]), told[i : i + 1])


def rings(n, seed=0):
    """Rings of three classes, and some labels wrong."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 3))
    labels = (np.hypot(rows[:, 0], rows[:, 1]) * 2).astype(int) % 3
    wrong = rng.random(n) < 0.05
    return rows, np.where(wrong, rng.integers(3, size=n), labels)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_defaults_are_nearly_the_exact_machine(classes):
    """Cells by size, exact machines, neighbours' rows: within half a point of SVC."""
    rows, labels = rings(102_000)
    labels = np.minimum(labels, classes - 1)
    train, test = slice(0, 100_000), slice(100_000, None)
    model = LocalBudgetSVC(gamma=1.0, random_state=0).fit(rows[train], labels[train])
    exact = SVC(gamma=1.0).fit(rows[:20_000], labels[:20_000])
    assert len(model.n_support_) == 100
    assert model.n_components_ == rows.shape[1]
    assert model.decision_function(rows[test]).shape == ((2000,) if classes == 2 else (2000, 3))
    score = model.score(rows[test], labels[test])
    assert score > exact.score(rows[test], labels[test]) - 0.005
    few = LocalBudgetSVC(overlap=1, gamma=1.0, random_state=0).fit(rows[train], labels[train])
    assert few.n_support_.sum() < 0.7 * model.n_support_.sum()


@pytest.mark.parametrize(("classes", "cells"), [(2, 120), (3, 120), (4, 60), (10, 24), (40, 24)])
def test_cells_are_larger_where_classes_are_many(classes, cells):
    """A pair of k classes has 2/k of a cell; below a hundred cells one machine is the better."""
    told = budgetsvm._core.local_clusters("{}", 120_000, classes)
    assert told == (cells if cells >= 100 else 1)
    assert budgetsvm._core.local_clusters("{}", 600_000, classes) == 5 * cells
    assert budgetsvm._core.local_clusters('{"n_clusters": 7}', 120_000, classes) == 7


def wide(n, d=150, seed=3, classes=2):
    """Rows that vary along eight directions, and a little along all others."""
    rng = np.random.default_rng(seed)
    inner = rng.normal(size=(n, 8))
    axes, _ = np.linalg.qr(rng.normal(size=(d, 8)))
    rows = inner @ axes.T + 0.02 * rng.normal(size=(n, d)) + 1.0
    labels = (np.abs(inner[:, 0]) + inner[:, 1] > 0.8).astype(int)
    return rows, labels + (classes > 2) * (inner[:, 2] > 1)


@pytest.mark.parametrize(("classes", "dtype"), [(2, np.float32), (3, np.float64)])
def test_many_wide_rows_are_projected(tmp_path, classes, dtype):
    rows, labels = wide(20_600, classes=classes)
    rows = rows.astype(dtype)
    (X, more), (y, of_more) = np.split(rows, [20_000]), np.split(labels, [20_000])
    models = [LocalBudgetSVC(random_state=0, n_jobs=n).fit(X, y) for n in (1, 3)]
    model = models[0]
    # The eight directions, and that of the mean.
    assert 8 <= model.n_components_ <= 12
    assert model.cluster_centers_.shape == (1, 150)
    exact = SVC().fit(X, y)
    assert abs(model.score(more, of_more) - exact.score(more, of_more)) <= 0.005
    decisions = model.decision_function(more)
    np.testing.assert_array_equal(decisions, models[1].decision_function(more))
    one_by_one = np.array([model.decision_function(row[None])[0] for row in more[:20]])
    np.testing.assert_array_equal(decisions[:20], one_by_one)
    np.testing.assert_allclose(
        model.decision_function(sparse.csr_matrix(more[:50])), decisions[:50], rtol=1e-3, atol=1e-4
    )
    model.save(tmp_path / "wide.safetensors")
    again = budgetsvm.load(tmp_path / "wide.safetensors")
    np.testing.assert_array_equal(decisions, again.decision_function(more))
    np.testing.assert_array_equal(
        decisions, pickle.loads(pickle.dumps(model)).decision_function(more)
    )
    assert again.n_components_ == model.n_components_


@pytest.mark.parametrize("params", [
    {"kernel": "laplacian"}, {"gamma": 30.0}, {"n_components": 150}, {"n_components": 9999},
    {"local": "online", "budget": 30}, {"local": "bsca", "budget": 30},
])  # fmt: skip
def test_wide_rows_are_taken_as_they_are_where_projecting_would_not_do(params):
    """Another kernel, one too narrow, or no wish: and rows that are sparse or not many."""
    rows, labels = wide(20_000)
    params = {"gamma": 0.01, "n_clusters": 40, "overlap": 1, "random_state": 0, **params}
    assert LocalBudgetSVC(**params).fit(rows, labels).n_components_ == 150
    few = LocalBudgetSVC(gamma=0.01).fit(rows[:500], labels[:500])
    stored = LocalBudgetSVC(20, gamma=0.01, overlap=1).fit(sparse.csr_matrix(rows), labels)
    assert (few.n_components_, stored.n_components_) == (150, 150)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("local", ["exact", "bsca"])
def test_given_directions_are_the_leading_ones(local, form):
    """Beside the singular vectors of NumPy: the same machine of the products with them."""
    rows, labels = wide(300, d=40, classes=3)
    _, _, axes = np.linalg.svd(rows, full_matrices=False)
    inner = rows @ axes[:9].T
    settings = {"gamma": 0.2, "C": 3, "local": local, "n_clusters": 3, "overlap": 2}
    settings["budget"] = None if local == "exact" else 500
    model = LocalBudgetSVC(**settings, n_components=9, random_state=0).fit(form(rows), labels)
    plain = LocalBudgetSVC(**settings, random_state=0).fit(inner, labels)
    assert model.n_components_ == 9
    np.testing.assert_array_equal(model.n_support_, plain.n_support_)
    found = model.decision_function(form(rows))
    # Cells solve to a tolerance, from rows that are equal up to signs.
    np.testing.assert_allclose(found, plain.decision_function(inner), atol=2e-3)
    centers = plain.cluster_centers_ @ axes[:9]
    np.testing.assert_allclose(model.cluster_centers_, centers, atol=1e-8)
    means = LocalBudgetSVC(**settings, n_components=9, assign="kmeans", random_state=0)
    assert means.fit(form(rows), labels).score(form(rows), labels) > 0.9


def test_one_exact_cell_is_svc():
    """Few rows are one cell: the exact machine, its pairs and its votes."""
    rows, labels = rings(1500)
    for classes in (2, 3):
        labels = np.minimum(labels, classes - 1)
        model = LocalBudgetSVC(C=3, gamma=1.0).fit(rows, labels)
        exact = budgetsvm.SVC(C=3, gamma=1.0, tol=1e-4).fit(rows, labels)
        assert len(model.n_support_) == 1
        np.testing.assert_array_equal(model.predict(rows) == labels, exact.predict(rows) == labels)
        if classes == 2:
            np.testing.assert_allclose(
                model.decision_function(rows), exact.decision_function(rows), atol=5e-3
            )


def test_a_cell_of_pairs_votes_as_svc_does():
    """Classes that a cell does not have are at -1, below the one with most votes."""
    rows, labels = BLOBS
    model = LocalBudgetSVC(6, overlap=1, gamma=0.05, C=1.0, assign="kmeans", random_state=0)
    model.fit(rows, labels)
    told = model.decision_function(rows)
    square = ((rows[:, None, :] - model.cluster_centers_) ** 2).sum(axis=2)
    cell = square.argmin(axis=1)
    absent = 0
    for k in range(len(model.cluster_centers_)):
        own = cell == k
        present = np.unique(labels[own])
        others = np.setdiff1d(np.arange(5), present)
        if len(present) < 2:
            continue
        assert (told[own][:, others] == -1).all()
        machine = SVC(gamma=0.05, tol=1e-6).fit(rows[own], labels[own])
        agree = np.mean(machine.predict(rows[own]) == model.predict(rows[own]))
        assert agree > 0.99
        absent += len(others)
    assert absent > 0


def test_what_the_defaults_are_where_there_is_a_budget_or_a_stream():
    """As they were: the paper's machine, 16 cells of 100 support vectors."""
    whole = LocalBudgetSVC(budget=100, gamma=3.0, order="sequential").fit(X, Y)
    named = LocalBudgetSVC(16, 100, overlap=1, local="online", gamma=3.0, order="sequential")
    parts = LocalBudgetSVC(gamma=3.0, local="online")
    for first in (0, 1500):
        part = slice(first, first + 1500 if first == 0 else None)
        parts.partial_fit(X[part], Y[part], classes=[0, 1])
    told = named.fit(X, Y).decision_function(X)
    np.testing.assert_array_equal(whole.decision_function(X), told)
    np.testing.assert_array_equal(parts.decision_function(X), told)
    assert whole.partial_fit(X[:10], Y[:10]).n_samples_seen_ == len(X) + 10
    # A stream does not go on from exact cells.
    exact = LocalBudgetSVC(gamma=3.0).fit(X, Y)
    assert not hasattr(exact, "partial_fit")
    with pytest.raises(ValueError, match="needs all rows"):
        exact.set_params(budget=100).partial_fit(X, Y)


def test_what_is_not_one_array_is_none_and_cannot_be_set():
    model = LocalBudgetSVC(**SETTINGS).fit(X, Y)
    for name in ("support_vectors_", "dual_coef_", "intercept_", "n_terms_"):
        assert getattr(model, name) is None
        with pytest.raises(AttributeError):
            setattr(model, name, None)


@pytest.mark.parametrize("local", ["exact", "online"])
def test_kernel_values_out_of_range_are_refused(local):
    """They were cells without support vectors."""
    model = LocalBudgetSVC(4, kernel="poly", gamma=1e300, local=local)
    with pytest.raises(ValueError, match="scale"):
        model.fit(X + 3, Y)


def test_time_ends_exact_cells_too():
    rows, labels = rings(20_000)
    model = LocalBudgetSVC(20, gamma=1.0, C=1e4, max_time=0.3, n_jobs=1).fit(rows, labels)
    assert model.stop_reason_ == "max_time"
    assert len(model.predict(rows[:10])) == 10


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
    ("budget", None),
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
    ({"local": "exact"}, "budget must be None where cells are exact"),
    ({"n_components": 0}, "n_components must be"),
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
    for params in ({"local": "bsca"}, {"local": "exact"}, {"assign": "kmeans"}, {}):
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
