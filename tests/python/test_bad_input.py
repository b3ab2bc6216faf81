"""Bad input gives an error that names the argument, and leaves the estimator as it was."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVC

from budgetsvm import (
    SVR,
    AssetSVR,
    BudgetSVC,
    BudgetSVR,
    BudgetSVRCV,
    NuSVR,
    PrimalSVC,
    PrimalSVR,
    SemiparametricSVR,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] > 0).astype(int)


def with_bad(array, value, at=7):
    bad = np.array(array, dtype=float)
    bad.flat[at] = value
    return bad


def refuses(call, match, error=ValueError):
    with pytest.raises(error, match=match):
        call()


@pytest.fixture
def fitted():
    return BudgetSVC(budget=10, random_state=0).fit(X, Y)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_not_finite(fitted, value, dtype, form):
    before = fitted.__dict__.copy()
    bad = form(with_bad(X, value).astype(dtype))
    for call in (
        lambda: fitted.fit(bad, Y),
        lambda: fitted.partial_fit(bad, Y),
        lambda: fitted.polish(bad, Y),
        lambda: fitted.predict(bad),
    ):
        refuses(call, "NaN|infinity|inf")
    refuses(lambda: fitted.fit(X, Y, with_bad(np.ones(60), value)), "sample_weight")
    refuses(lambda: BudgetSVR().fit(X, with_bad(Y, value)), "NaN|infinity")
    assert fitted.__dict__ == before


def test_shapes(fitted):
    before = fitted.__dict__.copy()
    refuses(lambda: fitted.fit(X[:0], Y[:0]), "0 sample")
    refuses(lambda: fitted.fit(X[:, :0], Y), "0 feature")
    refuses(lambda: fitted.fit(X[0], Y), "2D array")
    refuses(lambda: fitted.fit(X[None], Y), "dim 3|3 dim|Found array with dim")
    refuses(lambda: fitted.fit(X, Y[:-1]), "inconsistent")
    refuses(lambda: fitted.fit(X, Y, np.ones(59)), "sample_weight")
    refuses(lambda: fitted.predict(X[:, :2]), "features")
    refuses(lambda: fitted.partial_fit(X[:, :2], Y), "features")
    refuses(lambda: fitted.polish(X[:, :2], Y), "features")
    assert fitted.__dict__ == before


def test_labels(fitted):
    before = fitted.__dict__.copy()
    refuses(lambda: fitted.fit(X, np.ones(60)), "class")
    refuses(lambda: fitted.fit(X, Y, np.where(Y == 1, 1.0, 0.0)), "class")
    refuses(lambda: fitted.fit(X, X[:, 0]), "label type|continuous")
    refuses(lambda: fitted.partial_fit(X, Y + 5), "label")
    refuses(lambda: fitted.polish(X, Y + 5), "label")
    refuses(lambda: fitted.partial_fit(X, Y, classes=[0, 1, 2]), "classes")
    refuses(lambda: BudgetSVC().partial_fit(X, Y), "classes")
    refuses(lambda: BudgetSVC().partial_fit(X, Y, classes=[1]), "classes")
    assert fitted.__dict__ == before


def test_weights(fitted):
    refuses(lambda: fitted.fit(X, Y, np.zeros(60)), "[Ss]ample.weight")
    refuses(lambda: fitted.fit(X, Y, -np.ones(60)), "[Ss]ample.weight")
    refuses(lambda: fitted.polish(X, Y, sample_weight=np.zeros(60)), "[Ss]ample.weight")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("budget", [0, -1, 1.5, "many", True]),
        ("C", [0, -1, np.nan, np.inf, "1"]),
        ("gamma", [0, -1, np.nan, np.inf, "wide", None]),
        ("coef0", [np.nan, np.inf, "0"]),
        ("degree", [-1, 1.5]),
        ("kernel", ["gaussian", "precomputed", len, 3]),
        ("loss", ["huber", "epsilon_insensitive", 1]),
        ("solver", ["smo", None]),
        ("maintenance", ["keep", 1]),
        ("merge_search", ["grid"]),
        ("merge_size", [1, 0, 12, 2.5]),
        ("polishing", ["yes", 1]),
        ("smoothing", [0, -1, np.nan]),
        ("max_iter", [0, -1, 1.5]),
        ("tol", [-1, np.nan, "0"]),
        ("order", ["random", [60], [-1], [], 3]),
        ("shared", [None]),
        ("class_weight", ["even", {0: -1.0}, {0: np.nan}, 3]),
        ("max_time", [0, -1, "long"]),
        ("n_expected", [0, -1]),
        ("cache_size", [0, -1]),
        ("n_iter_no_change", [0]),
        ("n_jobs", [0, 1.5]),
        ("random_state", ["seed", -1]),
    ],
)
def test_hyperparameters(fitted, name, values):
    before = fitted.__dict__.copy()
    for value in values:
        refuses(lambda v=value: fitted.set_params(**{name: v}).fit(X, Y), name,
                (ValueError, TypeError))  # fmt: skip
        fitted.__dict__.update(before)
    assert fitted.__dict__ == before


def test_validation_fraction(fitted):
    fitted.set_params(early_stopping=True)
    for value in (0, 1.0, -0.1, "half"):
        refuses(lambda v=value: fitted.set_params(validation_fraction=v).fit(X, Y), "validation")


def test_merging_needs_the_gaussian():
    for maintenance in ("merge", "multi-merge"):
        model = BudgetSVC(budget=5, kernel="poly", maintenance=maintenance)
        refuses(lambda m=model: m.fit(X, Y), "rbf.*project|project.*rbf")


def test_multi_merge_needs_three_terms():
    model = BudgetSVC(budget=1, maintenance="multi-merge", polishing=False)
    refuses(lambda: model.fit(X, Y), "budget must be at least 2 .*multi-merge")
    refuses(lambda: model.set_params(budget=2, merge_size=4).fit(X, Y), "merge_size must be <= ")


def test_stochastic_gradients_need_a_bounded_slope():
    model = BudgetSVC(solver="bsgd", loss="squared_hinge")
    refuses(lambda: model.fit(X, Y), "squared_hinge.*bsca")


def test_an_offset_needs_polishing():
    refuses(lambda: BudgetSVC(fit_intercept=True, polishing=False).fit(X, Y), "fit_intercept")


def test_precomputed_and_callable_name_what_works():
    for kernel in ("precomputed", lambda a, b: a @ b.T):
        refuses(lambda k=kernel: BudgetSVR(kernel=k).fit(X, Y), "rbf.*laplacian")


@pytest.mark.parametrize("damage", ["column", "negative", "indptr", "end", "start"])
def test_csr_with_indices_out_of_range(fitted, damage):
    before = fitted.__dict__.copy()
    bad = sparse.csr_matrix(X)
    if damage == "column":
        bad.indices[5] = 3
    elif damage == "negative":
        bad.indices[5] = -1
    elif damage == "indptr":
        bad.indptr[3] = 100
    elif damage == "end":
        bad.indptr[-1] = 10**6
    else:
        bad.indptr[0] = 1
    for call in (lambda: fitted.fit(bad, Y), lambda: fitted.predict(bad)):
        refuses(call, "CSR|indptr|ind")
    assert fitted.__dict__ == before
    # Of a linear machine SciPy makes the products, and follows every index.
    for cls in (PrimalSVC, PrimalSVR):
        linear = cls(kernel="linear").fit(X, Y)
        refuses(lambda m=linear: m.predict(bad), "CSR|indptr|ind")


def test_duplicate_entries_are_summed():
    # Even rows store column 0 twice, odd rows column 2 once.
    data, columns = [1.0, 2.0, 5.0] * 20, [0, 0, 2] * 20
    starts = np.r_[0, np.cumsum([2, 1] * 20)]
    X2 = sparse.csr_matrix((data, columns, starts), shape=(40, 3))
    y2 = np.arange(40) % 2
    summed = BudgetSVC(gamma=0.1).fit(X2, y2).decision_function(X2)
    np.testing.assert_allclose(
        summed, BudgetSVC(gamma=0.1).fit(X2.toarray(), y2).decision_function(X2.toarray())
    )


@pytest.mark.parametrize("cls", [BudgetSVC, BudgetSVR])
def test_unfitted(cls, tmp_path):
    model = cls()
    refuses(lambda: model.predict(X), "not fitted", NotFittedError)
    refuses(lambda: model.polish(X, Y), "not fitted", NotFittedError)
    refuses(lambda: model.save(tmp_path / "a.safetensors"), "not fitted", NotFittedError)
    for name in ("support_vectors_", "dual_coef_", "intercept_", "n_terms_"):
        assert not hasattr(model, name)


def test_degenerate_data_ends():
    for data in (np.zeros((60, 3)), np.ones((60, 3)), np.tile([[1.0, 2.0, 3.0]], (60, 1))):
        model = BudgetSVC().fit(data, Y)
        assert np.isfinite(model.decision_function(data)).all()
    copies = np.tile([[1.0, 2.0]], (1000, 1))
    model = BudgetSVC(budget=5).fit(copies, np.arange(1000) % 2)
    assert np.isfinite(model.decision_function(copies)).all()


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "longdouble", ">f8"])
def test_dtypes_that_scikit_learn_takes(dtype):
    data = (X * 4).astype(dtype)
    with np.errstate(all="ignore"):
        assert BudgetSVC().fit(data, Y).predict(data).shape == (60,)


@pytest.mark.parametrize("dtype", ["complex128", "datetime64[s]", "S3", "O", "U5"])
def test_other_dtypes_are_taken_or_refused_as_by_scikit_learn(dtype):
    data = (X * 4).astype(int).astype(dtype)
    try:
        SVC().fit(data, Y)
    except (ValueError, TypeError):
        with pytest.raises((ValueError, TypeError)):
            BudgetSVC().fit(data, Y)
    else:
        assert np.isfinite(BudgetSVC().fit(data, Y).decision_function(data)).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@given(
    params=st.fixed_dictionaries(
        {
            "budget": st.one_of(st.none(), st.integers(-1, 70)),
            "C": st.floats(1e-12, 1e12),
            "kernel": st.sampled_from(["rbf", "laplacian", "poly", "sigmoid", "linear"]),
            "gamma": st.one_of(st.just("scale"), st.floats(1e-12, 1e12)),
            "degree": st.integers(0, 5),
            "coef0": st.floats(-10, 10),
            "loss": st.sampled_from(["hinge", "squared_hinge"]),
            "solver": st.sampled_from(["bsca", "bsgd"]),
            "maintenance": st.sampled_from(
                ["auto", "merge", "multi-merge", "remove-smallest", "project", "stop"]
            ),
            "merge_size": st.integers(2, 5),
            "polishing": st.booleans(),
            "order": st.sampled_from(["shuffled", "uniform", "sequential"]),
        }
    ),
    n=st.integers(1, 60),
    n_classes=st.integers(1, 4),
    seed=st.integers(0, 100),
)
def test_only_documented_exceptions(params, n, n_classes, seed):
    rng = np.random.default_rng(seed)
    data = rng.normal(size=(n, 3)) * 10.0 ** rng.integers(-3, 3)
    y = rng.integers(n_classes, size=n)
    try:
        model = BudgetSVC(**params, random_state=seed).fit(data, y)
    except ValueError:
        return
    assert np.isfinite(model.decision_function(data)).all()
    if params["budget"] is not None:
        assert model.n_terms_ <= params["budget"]


@pytest.mark.parametrize(
    "cls", [BudgetSVR, BudgetSVRCV, PrimalSVR, AssetSVR, SVR, NuSVR, SemiparametricSVR]
)
def test_targets_that_are_text(cls):
    """scikit-learn's SVR takes them; numpy's own error spoke of add.reduce."""
    y = X[:, 0]
    given = {"random_state": 0} if "random_state" in cls().get_params() else {}
    text = y.astype(str)
    of_text, of_numbers = cls(**given).fit(X, text), cls(**given).fit(X, text.astype(float))
    assert np.array_equal(of_text.predict(X), of_numbers.predict(X))
    for bad in ["a", "nan", "inf"]:
        refuses(lambda bad=bad: cls().fit(X, np.where(np.arange(60) == 3, bad, text)), "y")
