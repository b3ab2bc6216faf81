"""`feature_scales`: the machine of scaled rows, for rows as they come, whatever the machine."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import make_classification

import budgetsvm
from budgetsvm._scales import ScaledFeatures

D = 6
ESTIMATORS = {
    name: cls
    for name in budgetsvm.__all__
    if isinstance(cls := getattr(budgetsvm, name), type) and issubclass(cls, ScaledFeatures)
}
#: More ways to be trained than the defaults.
WAYS: dict[str, list[dict[str, Any]]] = {
    "BudgetSVC": [{}, {"kernel": "linear"}, {"shared": False}, {"refine": True, "refine_iter": 5},
                  {"kernel": "laplacian", "maintenance": "remove-smallest"},
                  {"early_stopping": True}],
    "PrimalSVC": [{}, {"kernel": "linear"}, {"basis": "kmeans++", "n_components": 20}],
    "PrimalSVR": [{}, {"kernel": "linear"}],
    "SVC": [{}, {"kernel": "linear"}, {"kernel": "laplacian"}, {"kernel": "poly"},
            {"probability": True}],
    "AssetSVC": [{}, {"features": "fourier"}, {"solver": "dual"}],
    "LocalBudgetSVC": [{"n_clusters": 4}, {"n_clusters": 4, "budget": 20}, {"assign": "kmeans"}],
}  # fmt: skip
CASES = [(name, way) for name in ESTIMATORS for way in WAYS.get(name, [{}])]


def ids(case: Any) -> str:
    return case if isinstance(case, str) else ",".join(f"{k}={v}" for k, v in case.items())


def made(name: str, way: dict[str, Any], **own: Any) -> Any:
    estimator = ESTIMATORS[name](**way, **own)
    wanted = {"random_state": 0, "max_time": None, "budget": 30, "n_components": 20}
    allowed = estimator.get_params()
    few = {k: v for k, v in wanted.items() if k in allowed and k not in way}
    if name == "LocalBudgetSVC":
        few = {"random_state": 0}
    return estimator.set_params(**few)


def problem(estimator: Any, n: int = 150) -> tuple[np.ndarray, Any]:
    X, labels = make_classification(
        n, D, n_informative=4, n_redundant=0, n_classes=3, random_state=1, n_clusters_per_class=1
    )
    if is_classifier(estimator):
        return X, labels
    if is_regressor(estimator):
        return X, np.sin(X[:, 0]) + X[:, 1]
    return X, None


def told(estimator: Any, X: Any, y: Any) -> np.ndarray:
    if hasattr(estimator, "decision_function"):
        return np.asarray(estimator.decision_function(X))
    if is_regressor(estimator):
        return np.asarray(estimator.predict(X))
    return np.asarray(estimator.transform(X))


POWERS = np.array([2.0, 0.5, 1.0, 4.0, 0.25, 1.0])
OTHERS = np.array([0.3, 1.7, 0.9, 1.0, 2.3, 0.0])


@pytest.mark.parametrize(("name", "way"), CASES, ids=ids)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_is_the_machine_of_scaled_rows(name: str, way: dict[str, Any], sparse: bool) -> None:
    scaled, plain = made(name, way, feature_scales=POWERS), made(name, way)
    X, y = problem(plain)
    Z = X * POWERS
    if sparse:
        X[np.abs(X) < 0.3] = 0.0
        X, Z = sp.csr_matrix(X), sp.csr_matrix(X * POWERS)
    scaled.fit(X, y)
    plain.fit(Z, y)
    assert np.array_equal(told(scaled, X, y), told(plain, Z, y))
    assert np.array_equal(scaled.feature_scales_, POWERS)
    assert np.array_equal(plain.feature_scales_, np.ones(D))


@pytest.mark.parametrize(("name", "way"), CASES, ids=ids)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_any_scales_to_rounding(name: str, way: dict[str, Any], dtype: Any) -> None:
    scaled, plain = made(name, way, feature_scales=OTHERS), made(name, way)
    X, y = problem(plain)
    X = X.astype(dtype)
    scaled.fit(X, y)
    plain.fit(X * OTHERS.astype(dtype), y)
    a, b = told(scaled, X, y), told(plain, X * OTHERS.astype(dtype), y)
    # Exact machines decide about single precision rows in either precision: as close as that is.
    close = 1e-9 if dtype == np.float64 else 2e-5
    np.testing.assert_allclose(a, b, rtol=close, atol=close)
    # A feature of factor 0 is as if it were not there.
    X[:, 5] = 7.0
    assert np.array_equal(told(scaled, X, y), a)


@pytest.mark.parametrize(("name", "way"), CASES, ids=ids)
def test_files_pickles_and_copies(name: str, way: dict[str, Any], tmp_path: Any) -> None:
    estimator = made(name, way, feature_scales=OTHERS)
    X, y = problem(estimator)
    estimator.fit(X, y)
    before = told(estimator, X, y)
    estimator.save(tmp_path / "a.safetensors")
    for again in (
        budgetsvm.load(tmp_path / "a.safetensors"), pickle.loads(pickle.dumps(estimator)),
    ):  # fmt: skip
        assert np.array_equal(told(again, X, y), before)
        assert np.array_equal(again.feature_scales_, OTHERS)
        assert np.array_equal(again.feature_scales, OTHERS)
    again = clone(estimator)
    assert np.array_equal(told(again.fit(X, y), X, y), before)
    estimator.feature_scales = POWERS
    with pytest.raises(ValueError, match="feature_scales"):
        estimator.save(tmp_path / "b.safetensors")


STREAMS = [(name, way) for name, way in CASES if hasattr(made(name, way), "partial_fit")]


@pytest.mark.parametrize(("name", "way"), STREAMS, ids=ids)
def test_streams_go_on_in_the_same_units(name: str, way: dict[str, Any], tmp_path: Any) -> None:
    # A grid's machine has no γ of its own: a stream takes "scale", which is that of scaled rows.
    own = {"gamma": 0.5} if "gamma" in made(name, {}).get_params() else {}
    scaled, plain = made(name, way | own, feature_scales=POWERS), made(name, way | own)
    X, y = problem(plain)
    for estimator, rows in ((scaled, X), (plain, X * POWERS)):
        for part in (slice(0, 70), slice(70, 150)):
            known = {"classes": np.unique(y)} if is_classifier(estimator) else {}
            estimator.partial_fit(rows[part], None if y is None else y[part], **known)
    assert np.array_equal(told(scaled, X, y), told(plain, X * POWERS, y))
    scaled.save(tmp_path / "a.safetensors")
    again = budgetsvm.load(tmp_path / "a.safetensors")
    targets = None if y is None else y[:50]
    again.partial_fit(X[:50], targets)
    plain.partial_fit(X[:50] * POWERS, targets)
    assert np.array_equal(told(again, X, y), told(plain, X * POWERS, y))
    if hasattr(scaled, "polish"):
        scaled.partial_fit(X[:50], targets).polish(X, y)
        plain.polish(X * POWERS, y)
        assert np.array_equal(told(scaled, X, y), told(plain, X * POWERS, y))
    scaled.feature_scales = OTHERS
    with pytest.raises(ValueError, match="feature_scales must stay"):
        scaled.partial_fit(X[:50], targets)
    scaled.feature_scales = None
    with pytest.raises(ValueError, match="feature_scales must stay"):
        scaled.partial_fit(X[:50], targets)


@pytest.mark.parametrize("name", ["SVC", "NuSVC", "SVR", "OneClassSVM", "SemiparametricSVC"])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_support_vectors_are_the_users_rows(name: str, sparse: bool) -> None:
    estimator = made(name, {}, feature_scales=OTHERS)
    X, y = problem(estimator)
    X = sp.csr_matrix(X) if sparse else X
    estimator.fit(X, y)
    found, rows = estimator.support_vectors_, X[estimator.support_]
    assert (found != rows).nnz == 0 if sparse else np.array_equal(found, rows)


@pytest.mark.parametrize("name", ["BudgetSVC", "SVC", "SVR", "PrimalSVC", "PrimalSVR"])
def test_coef_is_of_features_as_they_come(name: str) -> None:
    estimator = made(name, {"kernel": "linear"}, feature_scales=OTHERS)
    X, y = problem(estimator)
    two = y if y.dtype.kind == "f" else (y > 0).astype(int)
    estimator.fit(X, two)
    by_hand = X @ estimator.coef_.ravel() + np.ravel(estimator.intercept_)[0]
    np.testing.assert_allclose(told(estimator, X, two), by_hand, rtol=1e-8, atol=1e-8)
    assert estimator.coef_.ravel()[5] == 0.0


def test_points_are_in_the_users_units() -> None:
    X, y = problem(made("BudgetSVC", {}))
    budget = made("BudgetSVC", {"maintenance": "remove-smallest"}, feature_scales=OTHERS).fit(X, y)
    rows = {row.tobytes() for row in np.round(X[:, :5], 9)}
    assert all(row.tobytes() in rows for row in np.round(budget.support_vectors_[:, :5], 9))
    local = made("LocalBudgetSVC", {"assign": "kmeans"}, feature_scales=POWERS).fit(X, y)
    plain = made("LocalBudgetSVC", {"assign": "kmeans"}).fit(X * POWERS, y)
    assert np.array_equal(local.cluster_centers_ * POWERS, plain.cluster_centers_)
    for way in ({"features": "fourier"}, {}):
        asset = made("AssetSVC", way, feature_scales=POWERS).fit(X, y)
        plain = made("AssetSVC", way).fit(X * POWERS, y)
        if way:
            assert np.array_equal(asset.frequencies_, plain.frequencies_ * POWERS)
        else:
            assert np.array_equal(asset.components_ * POWERS, plain.components_)


def test_a_basis_and_a_warm_start_are_scaled_too() -> None:
    X, y = problem(made("PrimalSVC", {}))
    scaled = made("PrimalSVC", {"basis": X[:25]}, feature_scales=POWERS).fit(X, y)
    plain = made("PrimalSVC", {"basis": X[:25] * POWERS}).fit(X * POWERS, y)
    assert np.array_equal(told(scaled, X, y), told(plain, X * POWERS, y))
    for way in ({}, {"basis": "kmeans++"}, {"kernel": "linear"}):
        warm = {"warm_start": True, "C": 1.0}
        scaled = made("PrimalSVC", way | warm, feature_scales=POWERS).fit(X, y).set_params(C=3.0)
        plain = made("PrimalSVC", way | warm).fit(X * POWERS, y).set_params(C=3.0)
        assert np.array_equal(
            told(scaled.fit(X, y), X, y), told(plain.fit(X * POWERS, y), X * POWERS, y)
        )
        # Other scales: from the start.
        scaled.set_params(feature_scales=OTHERS).fit(X, y)
        anew = made("PrimalSVC", way | warm, feature_scales=OTHERS).set_params(C=3.0).fit(X, y)
        np.testing.assert_array_equal(told(scaled, X, y), told(anew, X, y))
    warm = made("BudgetSVC", {"warm_start": True}, feature_scales=POWERS).fit(X, y)
    warm.fit(X, y)
    with pytest.raises(ValueError, match="feature_scales must stay"):
        warm.set_params(feature_scales=None).fit(X, y)


BAD = [
    ([1.0, -1.0, 1, 1, 1, 1], "feature_scales"), ([1.0, np.nan, 1, 1, 1, 1], "feature_scales"),
    ([np.inf] * 6, "feature_scales"), ([0.0] * 6, "feature_scales"), ([], "feature_scales"),
    ([1.0] * 5, "feature_scales has 5 entries"), (2.0, "feature_scales"),
    ("auto", "feature_scales"), ([[1.0] * 6], "feature_scales"),
]  # fmt: skip


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize(("bad", "message"), BAD)
def test_what_is_no_scale_is_refused_by_name(name: str, bad: Any, message: str) -> None:
    estimator = made(name, {}, feature_scales=bad)
    X, y = problem(estimator, 60)
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, y)
    assert not hasattr(estimator, "_machine")


@pytest.mark.parametrize("kernel", ["precomputed", lambda a, b: a @ b.T])
def test_kernel_values_have_no_features(kernel: Any) -> None:
    X, y = problem(made("SVC", {}), 60)
    with pytest.raises(ValueError, match="feature_scales needs"):
        budgetsvm.SVC(kernel=kernel, feature_scales=np.ones(60)).fit(X @ X.T, y)


def test_scales_that_leave_the_floats_are_refused() -> None:
    X, y = problem(made("SVC", {}), 60)
    with pytest.raises(ValueError, match="feature_scales lead X out of the range"):
        budgetsvm.BudgetSVC(feature_scales=[1e300] * D).fit(1e10 * X, y)


def test_bits_do_not_depend_on_threads_or_on_the_cut() -> None:
    estimator = made("BudgetSVC", {}, feature_scales=OTHERS)
    X, y = problem(estimator)
    estimator.fit(X, y)
    many = np.tile(X, (2000, 1))
    whole = estimator.set_params(n_jobs=4).decision_function(many)
    assert np.array_equal(estimator.set_params(n_jobs=1).decision_function(many), whole)
    alone = np.concatenate([estimator.decision_function(X[i : i + 1]) for i in range(len(X))])
    assert np.array_equal(np.tile(alone, (2000, 1)), whole)
