"""The transformers: against scikit-learn's kernels and maps, types, threads, files, bad input."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem as Reference
from sklearn.metrics.pairwise import laplacian_kernel, pairwise_kernels
from sklearn.utils.estimator_checks import parametrize_with_checks

import budgetsvm
from budgetsvm import IncompleteCholesky, Nystroem, RandomFourier

X = np.random.default_rng(0).normal(size=(300, 7))
MAPS = [
    Nystroem(30, random_state=0),
    RandomFourier(30, random_state=0),
    RandomFourier(31, random_state=0),
    RandomFourier(31, waves="shifted", orthogonal=True, random_state=0),
    IncompleteCholesky(30),
]


@parametrize_with_checks([Nystroem(), RandomFourier(), IncompleteCholesky()])
def test_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "linear"])
def test_nystroem_is_the_best_that_its_landmarks_allow(kernel):
    options = {} if kernel == "linear" else {"gamma": 0.1}
    if kernel == "poly":
        options |= {"degree": 2, "coef0": 1.0}
    ours = Nystroem(40, kernel=kernel, random_state=1, **options).fit(X)
    Z, S = ours.transform(X), ours.components_
    assert Z.shape == (300, 40)
    to_landmarks = pairwise_kernels(X, S, metric=kernel, **options)
    among = pairwise_kernels(S, metric=kernel, **options)
    expected = to_landmarks @ np.linalg.pinv(among, hermitian=True, rcond=1e-12) @ to_landmarks.T
    np.testing.assert_allclose(Z @ Z.T, expected, atol=1e-8 * np.abs(expected).max())
    assert ours.rank_ == np.linalg.matrix_rank(among, hermitian=True)
    assert np.all(Z[:, ours.rank_ :] == 0)


def test_nystroem_errs_like_scikit_learns():
    K = pairwise_kernels(X, metric="rbf", gamma=0.1)
    errors = {}
    for cls in (Nystroem, Reference):
        maps = [cls(n_components=60, gamma=0.1, random_state=seed) for seed in range(10)]
        errors[cls] = np.mean([np.abs((Z := m.fit_transform(X)) @ Z.T - K).mean() for m in maps])
    assert errors[Nystroem] < 1.1 * errors[Reference]


def test_incomplete_cholesky_bounds_its_error():
    for kernel, K in [("rbf", pairwise_kernels(X, metric="rbf", gamma=0.05)),
                      ("laplacian", laplacian_kernel(X, gamma=0.05))]:  # fmt: skip
        map = IncompleteCholesky(120, kernel=kernel, gamma=0.05).fit(X)
        error = K - (Z := map.transform(X)) @ Z.T
        assert np.abs(error).max() <= map.residual_ + 1e-9
        assert np.trace(error) == pytest.approx(map.trace_residual_, abs=1e-7)
        np.testing.assert_array_equal(X[map.component_indices_], map.components_)
    # Greedy pivots do better than random ones where the spectrum falls.
    K = pairwise_kernels(X, metric="rbf", gamma=0.02)
    greedy = K - (Z := IncompleteCholesky(60, gamma=0.02).fit_transform(X)) @ Z.T
    drawn = K - (Z := Nystroem(60, gamma=0.02, random_state=0).fit_transform(X)) @ Z.T
    assert np.abs(greedy).max() < np.abs(drawn).max()


def test_orthogonal_frequencies_err_less():
    K = pairwise_kernels(X, metric="rbf", gamma=0.05)

    def error(**options):
        maps = [RandomFourier(70, gamma=0.05, random_state=s, **options) for s in range(20)]
        return np.mean([((Z := m.fit_transform(X)) @ Z.T - K).std() for m in maps])

    assert error(orthogonal=True) < 0.9 * error()
    assert error() < 0.9 * error(waves="shifted")


@pytest.mark.parametrize("map", MAPS)
def test_types_threads_storage_and_files(map, tmp_path):
    single = clone(map).fit(X.astype(np.float32))
    Z32, Z = single.transform(X.astype(np.float32)), clone(map).fit(X).transform(X)
    assert (Z32.dtype, Z.dtype) == (np.float32, np.float64)
    K32, K = Z32.astype(float) @ Z32.T.astype(float), Z @ Z.T
    np.testing.assert_allclose(K32, K, atol=1e-4)
    again = clone(map).set_params(n_jobs=1).fit(X)
    np.testing.assert_array_equal(again.transform(X), Z)
    np.testing.assert_array_equal(again.transform(X[50:90]), Z[50:90])
    np.testing.assert_array_equal(again.transform(np.asfortranarray(X)), Z)
    sparse = clone(map).fit(sp.csr_matrix(X)).transform(sp.csr_matrix(X))
    np.testing.assert_allclose(sparse @ sparse.T, K, atol=1e-6)
    again.save(tmp_path / "map.safetensors")
    for copy in (budgetsvm.load(tmp_path / "map.safetensors"), pickle.loads(pickle.dumps(again))):
        np.testing.assert_array_equal(copy.transform(X), Z)
        assert list(copy.get_feature_names_out()) == list(again.get_feature_names_out())


def test_fewer_samples_than_components_are_fewer_columns(tmp_path):
    """As scikit-learn's, and with a warning as there; there were columns of zeros."""
    for cls in (Nystroem, IncompleteCholesky):
        with pytest.warns(UserWarning, match="n_components=20 is more than the 6 rows"):
            map = cls(20, gamma=0.5).fit(X[:6])
        Z = map.transform(X[:6])
        assert Z.shape == (6, 6) == (6, len(map.get_feature_names_out()))
        assert map.rank_ == 6
        map.save(tmp_path / "map.safetensors")
        assert budgetsvm.load(tmp_path / "map.safetensors").transform(X[:6]).shape == (6, 6)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert cls(6, gamma=0.5).fit(X[:6]).transform(X).shape == (len(X), 6)
        K = pairwise_kernels(X[:6], metric="rbf", gamma=0.5)
        np.testing.assert_allclose(Z @ Z.T, K, atol=1e-10)


def test_components_are_rows_of_the_samples(tmp_path):
    their = Reference(n_components=9, gamma=0.5, random_state=0).fit(X)
    for map in (
        Nystroem(9, gamma=0.5, random_state=0),
        Nystroem(9, gamma=0.5, n_landmarks=12),
        Nystroem(9, gamma=0.5, feature_scales=[0.5] + [2.0] * (X.shape[1] - 1)),
        IncompleteCholesky(9, gamma=0.5),
    ):
        map.fit(X)
        np.testing.assert_array_equal(X[map.component_indices_], map.components_)
        assert map.component_indices_.dtype.kind == their.component_indices_.dtype.kind == "i"
        map.save(tmp_path / "map.safetensors")
        again = budgetsvm.load(tmp_path / "map.safetensors")
        np.testing.assert_array_equal(again.component_indices_, map.component_indices_)


@pytest.mark.parametrize(
    ("map", "text"),
    [
        (Nystroem(0), "n_components must be >= 1, got 0"),
        (Nystroem(2.5), "n_components"),
        (Nystroem(5, n_landmarks=4), "n_landmarks must be >= n_components = 5, got 4"),
        (Nystroem(eigenvalue_threshold=1.0), "eigenvalue_threshold"),
        (Nystroem(kernel="cosine"), "kernel"),
        (Nystroem(gamma=-1), "gamma must be > 0"),
        (
            RandomFourier(kernel="poly"),
            "kernel must be 'rbf', 'laplacian', 'matern32' or 'matern52'",
        ),
        (RandomFourier(kernel="laplacian", orthogonal=True), "orthogonal"),
        (RandomFourier(waves="square"), "waves"),
        (IncompleteCholesky(tol=-1), "tol"),
        (IncompleteCholesky(0), "n_components"),
    ],
)
def test_bad_parameters_are_named_and_change_nothing(map, text):
    with pytest.raises(ValueError, match=text):
        map.fit(X)
    assert not hasattr(map, "n_features_in_")


def test_every_hyperparameter_changes_something():
    base = Nystroem(20, random_state=0).fit_transform(X)
    for change in [
        {"kernel": "laplacian"}, {"gamma": 0.7}, {"n_landmarks": 40}, {"random_state": 1},
        {"eigenvalue_threshold": 0.5}, {"n_components": 19},
    ]:  # fmt: skip
        other = Nystroem(20, random_state=0).set_params(**change).fit_transform(X)
        assert other.shape != base.shape or not np.array_equal(other, base), change
    poly = Nystroem(20, kernel="poly", random_state=0).fit_transform(X)
    for change in [{"degree": 2}, {"coef0": 1.0}]:
        other = Nystroem(20, kernel="poly", random_state=0).set_params(**change).fit_transform(X)
        assert not np.allclose(other, poly), change


@pytest.mark.parametrize("distance", [0.0, 1e-17, 1e-12, 1e-8, 1e-3])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "linear"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_landmarks_that_are_nearly_the_same(distance, kernel, dtype):
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.normal(size=(5, 3)), 8, axis=0)
    rows = (rows + distance * rng.normal(size=rows.shape)).astype(dtype)
    for map in (
        Nystroem(40, kernel=kernel, gamma=0.5, random_state=0),
        IncompleteCholesky(40, kernel=kernel, gamma=0.5),
    ):
        z = map.fit_transform(rows)
        assert np.isfinite(z).all()
        # The kernel on the rows themselves, whatever of it rounding leaves.
        values = pairwise_kernels(rows, metric=kernel, **(
            {} if kernel == "linear" else {"gamma": 0.5, **({"degree": 3, "coef0": 0.0}
            if kernel == "poly" else {})}
        ))  # fmt: skip
        error = np.abs(z @ z.T - values).max() / np.abs(values).max()
        assert error < (1e-3 if dtype == np.float32 else 1e-5)


def test_incomplete_cholesky_refuses_what_is_not_positive_definite():
    X = np.random.default_rng(0).normal(size=(400, 10))
    with pytest.raises(ValueError, match="kernel matrix"):
        IncompleteCholesky(kernel="sigmoid", coef0=1.0).fit(X)
