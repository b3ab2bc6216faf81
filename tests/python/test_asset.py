"""AssetSVC and AssetSVR: in step with NumPy, against LIBLINEAR, streams, files, bad input."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC, LinearSVR
from sklearn.utils.estimator_checks import parametrize_with_checks

import budgetsvm
from budgetsvm import AssetSVC, AssetSVR, Nystroem
from interrupting import ctrl_c

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 5))
Y = (X[:, 0] * X[:, 1] + 0.2 * RNG.normal(size=400) > 0).astype(int)
THREE = np.digitize(X[:, 0] + X[:, 1] ** 2, [0.3, 1.5])
T = np.sin(2 * X[:, 0]) + 0.1 * RNG.normal(size=400)
WEIGHTS = RNG.uniform(0.2, 2, size=400)


@parametrize_with_checks([AssetSVC(), AssetSVR(), AssetSVC(solver="dual"), AssetSVR(solver="dual")])
def test_contract(estimator, check):
    check(estimator)


def features(model, X):
    """z(x) by NumPy, from the arrays that the model shows."""
    if model.features == "fourier":
        waves = X @ model.frequencies_.T + model.phases_
        return np.sqrt(2 / waves.shape[1]) * np.cos(waves)
    square = ((X[:, None, :] - model.components_) ** 2).sum(axis=2)
    return np.exp(-model.gamma_ * square) @ model.normalization_


def asset_in_numpy(Z, y, C, order, *, star, intercept, tail, most=None, epsilon=None):
    """ASSET's Algorithm 1, plainly; the last `tail` iterates are averaged."""
    n, total = len(y), C.sum()
    lam, p = 1 / total, len(y) * C / total
    first = order[:n]  # a block: the first pass is shorter than 512
    one = 1.0 if intercept else 0.0
    norms = (Z**2).sum(axis=1)
    if epsilon is None:
        moved, radius, top = np.ones(n), 1 / np.sqrt(lam), 1.0
    else:
        excess = np.maximum(np.abs(y) - epsilon, 0)
        moved, top = (excess > 0).astype(float), np.abs(y).max()
        radius = np.sqrt(2 * (C @ excess) / total / lam)
    gradient = np.mean(p[first] ** 2 * moved[first] * (norms[first] + one))
    bound = most or top + np.sqrt(norms[first].max()) * radius
    extent = of_offset = np.sqrt(radius**2 + one * bound**2)
    if epsilon is not None:
        extent, of_offset = radius, C @ np.abs(y) / total
    w, b = np.zeros(Z.shape[1]), 0.0
    mean_w, mean_b, weight = np.zeros_like(w), 0.0, 0.0
    for j, i in enumerate(order, start=1):
        eta = 1 / (lam * j) if star else extent / np.sqrt(gradient * j)
        f = Z[i] @ w + b
        if epsilon is None:
            d = -y[i] if y[i] * f < 1 else 0.0
        else:
            d = -1.0 if y[i] > f + epsilon else 1.0 if y[i] < f - epsilon else 0.0
            # No step goes beyond where the loss of its sample is 0.
            moves = p[i] * (eta * norms[i] + one * of_offset / np.sqrt(gradient * j))
            d *= min(1, (abs(y[i] - f) - epsilon) / moves)
        w = max(1 - eta * lam, 0) * w - eta * p[i] * d * Z[i]
        w *= min(1, radius / max(np.linalg.norm(w), 1e-300))
        if intercept:
            b = np.clip(b - of_offset / np.sqrt(gradient * j) * p[i] * d, -bound, bound)
        if j > len(order) - tail:
            mean_w, mean_b, weight = mean_w + eta * w, mean_b + eta * b, weight + eta
    return (mean_w / weight, mean_b / weight) if weight else (w, b)


def median(y, weights):
    order = np.argsort(y)
    return y[order][np.searchsorted(np.cumsum(weights[order]), weights.sum() / 2)]


@pytest.mark.parametrize("kind", ["nystroem", "fourier"])
@pytest.mark.parametrize(
    "options",
    [
        {}, {"fit_intercept": True}, {"averaging": 100}, {"averaging": None},
        {"fit_intercept": True, "max_intercept": 0.05}, {"fit_intercept": True, "max_intercept": 2},
        {"strongly_convex": True}, {"strongly_convex": True, "averaging": None},
        {"cache_size": 0},
    ],
)  # fmt: skip
def test_in_step_with_numpy(kind, options):
    order = np.random.default_rng(1).integers(400, size=800)
    common = {
        "features": kind, "C": 2.0, "gamma": 0.3, "n_components": 40,
        "order": order[:400].tolist(),
    }  # fmt: skip
    order = np.concatenate([order[:400], order[:400]])
    tail = {None: 0, 100: 100}.get(options.get("averaging", "auto"), 400)
    for cls, y in ((AssetSVC, Y), (AssetSVR, T)):
        epsilon = {} if cls is AssetSVC else {"epsilon": 0.1}
        model = cls(max_iter=2, random_state=0, **common, **options, **epsilon)
        model.fit(X, y, sample_weight=WEIGHTS)
        centre = median(y, WEIGHTS) if cls is AssetSVR else 0.0
        star = model.strongly_convex
        w, b = asset_in_numpy(
            features(model, X), np.where(y, 1, -1) if cls is AssetSVC else y - centre,
            2.0 * WEIGHTS, order, star=star, intercept=model.fit_intercept and not star,
            tail=tail, most=model.max_intercept, **epsilon,
        )  # fmt: skip
        b += centre
        np.testing.assert_allclose(model.coef_[0], w, rtol=1e-6, atol=1e-6 * np.abs(w).max())
        np.testing.assert_allclose(model.intercept_[0], b, rtol=1e-6, atol=1e-9)
        told = model.decision_function(X) if cls is AssetSVC else model.predict(X)
        np.testing.assert_allclose(told, features(model, X) @ w + b, atol=1e-5)


def test_dual_agrees_with_liblinear():
    model = AssetSVC(solver="dual", gamma=0.3, n_components=40, random_state=0, tol=1e-6)
    for loss in ("hinge", "squared_hinge"):
        model.set_params(loss=loss, max_iter=100_000).fit(X, Y, sample_weight=WEIGHTS)
        Z = features(model, X)
        other = LinearSVC(loss=loss, fit_intercept=False, tol=1e-8, max_iter=10**6, dual=True)
        other.fit(Z, Y, sample_weight=WEIGHTS)
        np.testing.assert_allclose(
            model.decision_function(X), other.decision_function(Z), atol=1e-4
        )
        assert 0 <= model.objective_["primal"] - model.objective_["dual"] < 1e-3
    several = AssetSVC(solver="dual", gamma=0.3, n_components=40, random_state=0, tol=1e-6)
    several.set_params(loss="squared_hinge").fit(X, THREE)
    other = LinearSVC(loss="squared_hinge", fit_intercept=False, tol=1e-8, max_iter=10**6)
    other.fit(features(several, X), THREE)
    told = other.decision_function(features(several, X))
    np.testing.assert_allclose(several.decision_function(X), told, atol=1e-4)
    values = AssetSVR(solver="dual", gamma=0.3, n_components=40, random_state=0, tol=1e-6)
    values.set_params(max_iter=100_000)
    for offset in (False, True):
        values.set_params(fit_intercept=offset).fit(X, T)
        Z, centre = features(values, X), median(T, np.ones(len(T))) if offset else 0.0
        other = LinearSVR(epsilon=0.1, fit_intercept=offset, tol=1e-8, max_iter=10**6)
        told = other.fit(Z, T - centre).predict(Z) + centre
        np.testing.assert_allclose(values.predict(X), told, atol=1e-3)


def test_enough_passes_reach_the_objective():
    def primal(model):
        w = model.coef_[0]
        return w @ w / 2 + np.maximum(0, 1 - (2 * Y - 1) * model.decision_function(X)).sum()

    options = {"gamma": 0.3, "n_components": 40, "random_state": 0}
    best = AssetSVC(solver="dual", tol=1e-5, **options).fit(X, Y).objective_["primal"]
    for star in (False, True):
        few, many = (
            primal(AssetSVC(strongly_convex=star, max_iter=passes, **options).fit(X, Y))
            for passes in (2, 200)
        )
        assert best <= many < 1.02 * best, star
        assert many < few


def test_streams():
    options = {
        "gamma": 0.3, "n_components": 60, "random_state": 0, "C": 10, "n_expected": 4000
    }  # fmt: skip
    stream = AssetSVC(**options)
    for _ in range(10):
        for part in np.array_split(np.arange(400), 4):
            stream.partial_fit(X[part], THREE[part], classes=[0, 1, 2])
    assert stream.score(X, THREE) > 0.85
    assert stream._machine.seen == 4000
    # As many steps as a fit of 20 passes, with the same λ in the end.
    regression = AssetSVR(**options | {"C": 1, "n_expected": 400})
    for part in np.tile(np.array_split(np.arange(400), 4), (20, 1)):
        regression.partial_fit(X[part], T[part])
    whole = AssetSVR(**options | {"C": 1}).fit(X, T).score(X, T)
    assert regression.score(X, T) > whole - 0.05
    # A fit can be gone on from; the dual cannot.
    AssetSVC(gamma=0.3).fit(X, Y).partial_fit(X, Y)
    assert not hasattr(AssetSVC(solver="dual"), "partial_fit")
    with pytest.raises(ValueError, match="dual"):
        AssetSVC(solver="dual").fit(X, Y).set_params(solver="asset").partial_fit(X, Y)


@pytest.mark.parametrize(
    "model",
    [
        AssetSVC(random_state=0),
        AssetSVC(features="fourier", strongly_convex=True, random_state=0),
        AssetSVC(solver="dual", random_state=0),
    ],
)
def test_types_threads_storage_and_files(model, tmp_path):
    model = clone(model).set_params(gamma=0.3, n_components=50).fit(X, THREE)
    told = model.decision_function(X)
    assert told.shape == (400, 3)
    np.testing.assert_array_equal(
        clone(model).set_params(n_jobs=1).fit(X, THREE).decision_function(X), told
    )
    no_cache = clone(model).set_params(cache_size=0).fit(X, THREE)
    np.testing.assert_array_equal(no_cache.decision_function(X), told)
    sparse = clone(model).fit(sp.csr_matrix(X), THREE).decision_function(sp.csr_matrix(X))
    single = clone(model).fit(X.astype(np.float32), THREE).decision_function(X.astype(np.float32))
    assert np.mean(sparse.argmax(axis=1) == told.argmax(axis=1)) > 0.97
    assert np.mean(single.argmax(axis=1) == told.argmax(axis=1)) > 0.95
    model.save(tmp_path / "model.safetensors")
    for copy in (
        budgetsvm.load(tmp_path / "model.safetensors"), pickle.loads(pickle.dumps(model))
    ):  # fmt: skip
        np.testing.assert_array_equal(copy.decision_function(X), told)
        if model.solver == "asset":
            one, two = copy.partial_fit(X, THREE), clone(model).fit(X, THREE)
            np.testing.assert_array_equal(one.coef_, two.partial_fit(X, THREE).coef_)


def test_features_are_those_of_the_transformer():
    model = AssetSVC(gamma=0.3, n_components=50, random_state=3).fit(X, Y)
    map = Nystroem(50, gamma=0.3, random_state=3).fit(X)
    np.testing.assert_array_equal(map.components_, model.components_)
    Z = map.transform(X)[:, : map.rank_]
    np.testing.assert_allclose(Z @ model.coef_[0], model.decision_function(X), atol=1e-8)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"C": 0}, "C must be > 0"),
        ({"features": "poly"}, "features must be 'nystroem' or 'fourier', got 'poly'"),
        ({"n_components": 0}, "n_components must be >= 1, got 0"),
        ({"kernel": "cosine"}, "kernel"),
        ({"gamma": 0}, "gamma"),
        (
            {"features": "fourier", "kernel": "poly"},
            "kernel must be 'rbf', 'laplacian', 'matern32' or 'matern52'",
        ),
        ({"solver": "sgd"}, "solver must be 'asset' or 'dual', got 'sgd'"),
        ({"strongly_convex": True, "fit_intercept": True}, "strongly_convex=True needs"),
        ({"max_intercept": 1.0}, "max_intercept needs fit_intercept"),
        ({"max_intercept": 0.0, "fit_intercept": True}, "max_intercept must be"),
        (
            {"max_intercept": 1.0, "fit_intercept": True, "solver": "dual"},
            "max_intercept needs solver='asset'",
        ),
        ({"averaging": 0}, "averaging"),
        ({"averaging": 1.5}, "averaging must be .* share in"),
        ({"averaging": "all"}, "averaging"),
        ({"loss": "squared_hinge"}, "solver='dual'"),
        ({"loss": "logistic"}, "loss"),
        ({"max_iter": 0}, "max_iter must be >= 1 or None, got 0"),
        ({"solver": "dual", "tol": 0}, "tol must be > 0"),
        ({"order": "random"}, "order"),
        ({"max_time": 0}, "max_time must be > 0"),
        ({"cache_size": -1}, "cache_size"),
        ({"n_expected": 0}, "n_expected"),
        ({"eigenvalue_threshold": 2}, "eigenvalue_threshold"),
        ({"class_weight": "even"}, "class_weight"),
        ({"random_state": "x"}, "random_state"),
    ],
)
def test_bad_parameters_are_named_and_change_nothing(options, text):
    model = AssetSVC(random_state=0).fit(X, Y)
    model.set_params(**options)
    before = model.__dict__.copy()
    with pytest.raises(ValueError, match=text):
        model.fit(X, Y)
    assert model.__dict__ == before


def test_every_hyperparameter_changes_something():
    base = AssetSVC(C=10, n_components=30, random_state=0)
    told = clone(base).fit(X, Y).decision_function(X)
    for change in [
        {"C": 1.0}, {"features": "fourier"}, {"n_components": 29}, {"kernel": "laplacian"},
        {"gamma": 0.9}, {"eigenvalue_threshold": 0.1}, {"solver": "dual"},
        {"strongly_convex": True}, {"averaging": 10}, {"fit_intercept": True}, {"max_iter": 3},
        {"order": "uniform"}, {"class_weight": {0: 3}}, {"random_state": 1},
    ]:  # fmt: skip
        other = clone(base).set_params(**change).fit(X, Y).decision_function(X)
        assert not np.allclose(other, told), change
    dual = clone(base).set_params(solver="dual", tol=1.0)
    told = clone(dual).fit(X, Y).decision_function(X)
    for change in [{"tol": 1e-4}, {"loss": "squared_hinge"}]:
        assert not np.allclose(
            clone(dual).set_params(**change).fit(X, Y).decision_function(X), told
        )
    offset = clone(base).set_params(fit_intercept=True)
    told = clone(offset).fit(X, Y).decision_function(X)
    bound = clone(offset).set_params(max_intercept=0.5).fit(X, Y)
    assert not np.allclose(bound.decision_function(X), told)
    assert np.abs(bound.intercept_).max() <= 0.5
    waves = clone(base).set_params(features="fourier")
    told = clone(waves).fit(X, Y).decision_function(X)
    for change in [{"orthogonal": True}, {"waves": "paired"}]:
        other = clone(waves).set_params(**change).fit(X, Y).decision_function(X)
        assert not np.allclose(other, told), change


BIG = np.random.default_rng(1).normal(size=(60_000, 20))
LABELS = (BIG[:, 0] * BIG[:, 1] > 0).astype(int)


@pytest.mark.parametrize(
    "options",
    [
        {"cache_size": 0}, {}, {"n_components": 1200},
        {"solver": "dual", "tol": 1e-12, "C": 1e6}, {"features": "fourier"},
    ],
)  # fmt: skip
@pytest.mark.parametrize("delay", [0.1, 1.0])
def test_ctrl_c_ends_a_fit_within_half_a_second(options, delay):
    model = AssetSVC(gamma=0.1, random_state=0).fit(X, Y)
    model.set_params(**{"n_components": 500, "max_iter": 10**6} | options)
    before = model.__dict__.copy()
    with ctrl_c(delay):
        model.fit(BIG, LABELS)
    assert model.__dict__ == before


def test_callbacks_and_time_limits_end_a_fit_with_a_machine():
    seen = []
    model = AssetSVC(max_iter=10**6, n_components=50, random_state=0)
    model.set_params(callback=lambda progress: seen.append(progress) or len(seen) > 3).fit(X, Y)
    assert model.stop_reason_ == "callback"
    assert model.score(X, Y) > 0.6
    assert {"phase", "iteration", "time"} <= set(seen[0])
    model = AssetSVC(max_iter=10**6, max_time=0.2, n_components=50, random_state=0).fit(X, Y)
    assert model.stop_reason_ == "max_time"
    assert 0.1 < model.history_["time"][-1] < 2


def test_coordinate_ascent_keeps_max_iter():
    for shrinking in (False, True):
        model = AssetSVC(100.0, solver="dual", gamma=1.0, tol=1e-12, shrinking=shrinking)
        with pytest.warns(ConvergenceWarning):
            model.set_params(max_iter=20, random_state=0).fit(X, Y)
        assert model.n_iter_ == 20


@pytest.mark.parametrize("C", [1.0, 1e2, 1e3, 1e4, 1e5])
def test_steps_do_not_grow_with_C_beyond_the_values(C):
    rows, y = load_diabetes(return_X_y=True)
    rows, y = scale(rows), scale(y)
    for options in ({}, {"features": "fourier"}, {"fit_intercept": False}):
        assert AssetSVR(C=C, random_state=0, **options).fit(rows, y).score(rows, y) > 0.45
    together = AssetSVR(C=C, random_state=0).fit(rows, np.column_stack([y, -y]))
    assert together.score(rows, np.column_stack([y, -y])) > 0.45


def test_a_fit_that_did_not_converge_says_so():
    rows = RNG.uniform(size=(300, 1))
    values = np.sin(50 * rows[:, 0])
    model = AssetSVC(C=1e8, gamma=1e3, max_iter=1, averaging=None, random_state=0)
    labels = RNG.integers(2, size=300)
    with pytest.warns(ConvergenceWarning, match="did not converge in 1 passes"):
        model.fit(rows, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AssetSVR(C=10, gamma=1e3, random_state=0).fit(rows, values)


def test_streams_get_all_their_landmarks_whatever_the_cut():
    rows, y = make_moons(900, noise=0.1, random_state=0)
    values = np.sin(2 * rows[:, 0])
    for step in (1, 7, 99, 100, 450):
        svc, svr = AssetSVC(gamma=2.0, random_state=0), AssetSVR(gamma=2.0, random_state=0)
        for first in range(0, len(rows), step):
            part = slice(first, first + step)
            svc.partial_fit(rows[part], y[part], classes=[0, 1])
            svr.partial_fit(rows[part], values[part])
            if first == 28:
                assert 8 <= len(svc.components_) <= 35
                svc, svr = pickle.loads(pickle.dumps((svc, svr)))
        assert len(svc.components_) == len(svr.components_) == 100
        assert svc.score(rows, y) > 0.98
        assert svr.score(rows, values) > 0.9


def test_a_stream_that_waits_for_landmarks_is_kept_in_files(tmp_path):
    parts = [slice(0, 30), slice(30, 45), slice(45, 200)]
    several = np.column_stack([T, -T])
    two, three = {"classes": [0, 1]}, {"classes": [0, 1, 2]}
    kinds = [
        (AssetSVC, Y, two),
        (AssetSVC, THREE, three),
        (AssetSVR, T, {}),
        (AssetSVR, several, {}),
    ]
    for cls, y, kwargs in kinds:
        for rows in (X, sp.csr_matrix(X)):
            model, kept = cls(random_state=0), cls(random_state=0)
            for part in parts:
                model.partial_fit(rows[part], y[part], **kwargs)
                kept.partial_fit(rows[part], y[part], **kwargs)
                kept.save(tmp_path / "model.safetensors")
                kept = budgetsvm.load(tmp_path / "model.safetensors")
            np.testing.assert_array_equal(kept.coef_, model.coef_)
            assert len(model.components_) == 100


def test_rows_before_the_landmarks_count_as_in_one_block():
    # A first part tells gamma="scale": it has to be a number.
    whole, cut = (AssetSVC(gamma=0.2, random_state=0) for _ in range(2))
    whole.partial_fit(X[:150], Y[:150], classes=[0, 1])
    cut.partial_fit(X[:60], Y[:60], classes=[0, 1]).partial_fit(X[60:150], Y[60:150])
    np.testing.assert_array_equal(cut.coef_, whole.coef_)


@pytest.mark.parametrize("step", [1, 10, 50, 200])
def test_streams_sorted_by_label_get_landmarks_of_every_class(step):
    rows, y = make_blobs(600, centers=[[0, 0], [8, 0], [0, 8]], random_state=0)
    order = np.argsort(y, kind="stable")
    rows, y = rows[order], y[order]
    model = AssetSVC(gamma=0.5, n_components=60, random_state=0)
    for first in range(0, len(rows), step):
        part = slice(first, first + step)
        model.partial_fit(rows[part], y[part], classes=[0, 1, 2])
        if first == 210:
            model = pickle.loads(pickle.dumps(model))
    assert len(model.components_) == 60
    assert model.score(rows, y) > 0.97
