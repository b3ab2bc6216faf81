"""Probabilities: `calibrate` on every classifier, what it stands on, and what becomes of it."""

from __future__ import annotations

import warnings
from copy import deepcopy

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, StratifiedKFold

import budgetsvm

ONLINE = {"gamma": 0.2, "random_state": 0}
CLASSIFIERS = [
    budgetsvm.BudgetSVC(budget=20, gamma=0.2, random_state=0),
    budgetsvm.BudgetSVC(budget=20, gamma=0.2, shared=False, random_state=0),
    budgetsvm.BudgetSVC(budget=20, gamma=0.2, polishing=False, random_state=0),
    budgetsvm.BudgetSVC(budget=1000, gamma=0.2, random_state=0),
    budgetsvm.PrimalSVC(gamma=0.2, basis="random", n_components=30, random_state=0),
    budgetsvm.PrimalSVC(gamma=0.2, random_state=0),
    budgetsvm.PrimalSVC(kernel="linear"),
    budgetsvm.AssetSVC(gamma=0.2, n_components=30, random_state=0),
    budgetsvm.LocalBudgetSVC(n_clusters=3, gamma=0.2, random_state=0),
    budgetsvm.SVC(gamma=0.2),
    budgetsvm.NuSVC(gamma=0.2, nu=0.3),
    budgetsvm.KernelPerceptron(**ONLINE),
    budgetsvm.Forgetron(budget=20, **ONLINE),
    budgetsvm.FourierOGD(**ONLINE),
    budgetsvm.AutoSVC(budget=50, random_state=0),
]
METHODS = ["auto", "sigmoid", "isotonic", "temperature"]


def sets(k: int, n: int = 400, seed: int = 1):
    X, y = make_classification(
        2 * n, 6, n_informative=4, n_redundant=0, n_classes=k, flip_y=0.15, random_state=seed
    )
    return X[:n], y[:n], X[n:], y[n:]


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=lambda e: type(e).__name__)
def test_every_classifier_is_calibrated(estimator, k, tmp_path):
    X, y, test, wanted = sets(k)
    labels = np.array(["a", "b", "c"])
    model = clone(estimator).fit(X, labels[y])
    before = model.decision_function(test)
    always = isinstance(model, budgetsvm.AutoSVC)
    assert hasattr(model, "predict_proba") == always
    plain = np.log(k)
    for method in METHODS:
        assert model.calibrate(X, labels[y], method=method, cv=3) is model
        p = model.predict_proba(test)
        assert p.shape == (len(test), k)
        assert (p >= 0).all()
        assert np.allclose(p.sum(axis=1), 1)
        assert log_loss(wanted, p) < 0.95 * plain, method
        np.testing.assert_array_equal(model.predict(test), model.classes_[p.argmax(axis=1)])
        np.testing.assert_array_equal(model.predict_log_proba(test), np.log(p))
        np.testing.assert_array_equal(model.decision_function(test), before)
        model.save(tmp_path / "model.safetensors")
        again = budgetsvm.load(tmp_path / "model.safetensors")
        np.testing.assert_array_equal(again.predict_proba(test), p)
        np.testing.assert_array_equal(again.predict(test), model.predict(test))
    model.fit(X, labels[y])
    assert hasattr(model, "predict_proba") == always


@pytest.mark.parametrize("kind", ["dense", "float32", "csr"])
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log_loss"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_left_out_values_are_those_of_a_machine_polished_without_the_fold(
    kind, k, loss, fit_intercept
):
    """The fast way against the slow one: the same terms, polished on the other folds alone."""
    X, y, _, _ = sets(k, 300)
    model = budgetsvm.BudgetSVC(
        budget=25, C=2, gamma=0.1, loss=loss, fit_intercept=fit_intercept, random_state=0
    )
    X = {"dense": X, "float32": X.astype(np.float32), "csr": sp.csr_matrix(X)}[kind]
    model.fit(X, y)
    index, weights = y.astype(np.uint32), 0.5 + np.random.RandomState(0).rand(len(y))
    model.polish(X, y, sample_weight=weights)
    folds = (np.arange(len(y)) % 4).astype(np.uint32)
    found = model._left_out(X, y, index, weights, (folds, 4))
    wanted = np.empty_like(found)
    for fold in range(4):
        part = deepcopy(model).polish(X, y, sample_weight=weights * (folds != fold))
        wanted[folds == fold] = part._decision(X)[folds == fold]
    # Far less than what leaving out changes; both know the minimum to a share of the objective.
    moved = np.sqrt(np.mean((wanted - model._decision(X)) ** 2))
    assert np.sqrt(np.mean((found - wanted) ** 2)) < 0.25 * moved
    assert moved > 0.02


def test_left_out_without_a_budget_that_binds_is_training_anew():
    """Where every row is a term, the minimum without a fold is that of the other rows."""
    X, y, _, _ = sets(2, 150)
    model = budgetsvm.BudgetSVC(budget=1000, C=1, gamma=0.2, random_state=0).fit(X, y)
    folds = (np.arange(len(y)) % 3).astype(np.uint32)
    found = model._left_out(X, y, y.astype(np.uint32), np.ones(len(y)), (folds, 3))[:, 0]
    for fold in range(3):
        part = clone(model).fit(X[folds != fold], y[folds != fold])
        values = part.decision_function(X[folds == fold])
        assert np.abs(found[folds == fold] - values).mean() < 0.05 * np.abs(values).mean()


def test_the_same_bits_for_any_number_of_threads():
    X, y, test, _ = sets(3)
    found = [
        budgetsvm.BudgetSVC(budget=30, gamma=0.2, random_state=0, n_jobs=n)
        .fit(X, y)
        .calibrate(X, y)
        .predict_proba(test)
        for n in (1, 2, 3)
    ]
    assert all(np.array_equal(found[0], p) for p in found)


def test_log_loss_gives_probabilities_without_calibration():
    X, y, test, wanted = sets(2)
    for cls in (budgetsvm.BudgetSVC, budgetsvm.PrimalSVC, budgetsvm.AssetSVC):
        model = cls(loss="log_loss", gamma=0.1, random_state=0).fit(X, y)
        f = model.decision_function(test)
        np.testing.assert_allclose(model.predict_proba(test)[:, 1], 1 / (1 + np.exp(-f)))
        X3, y3, test3, _ = sets(3)
        model = cls(loss="log_loss", gamma=0.1, random_state=0).fit(X3, y3)
        shares = 1 / (1 + np.exp(-model.decision_function(test3)))
        np.testing.assert_allclose(
            model.predict_proba(test3), shares / shares.sum(axis=1, keepdims=True)
        )
    assert log_loss(wanted, budgetsvm.BudgetSVC(loss="log_loss", gamma=0.1).fit(X, y)
                    .predict_proba(test)) < 0.6  # fmt: skip


def test_rows_held_out_are_taken_as_they_are():
    """ "prefit" is Platt's fit to the decision values themselves, checked by its own equations."""
    X, y, test, wanted = sets(2)
    model = budgetsvm.BudgetSVC(budget=20, gamma=0.2, random_state=0).fit(X, y)
    model.calibrate(test, wanted, method="sigmoid", cv="prefit")
    p, f = model.predict_proba(test)[:, 1], model.decision_function(test)
    yes, no = (wanted == 1).sum(), (wanted == 0).sum()
    aim = np.where(wanted == 1, (yes + 1) / (yes + 2), 1 / (no + 2))
    assert abs((p - aim).sum()) < 1e-3
    assert abs(((p - aim) * f).sum()) < 1e-3


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("method", METHODS)
def test_a_row_of_weight_two_is_two_rows(method, k):
    """Of rows held out, and of those of the fit, where repeated rows are in one fold."""
    X, y, test, wanted = sets(k)
    model = budgetsvm.BudgetSVC(budget=20, gamma=0.2, random_state=0).fit(X, y)
    weights = np.random.RandomState(0).randint(0, 4, len(wanted))
    rows = np.repeat(np.arange(len(wanted)), weights)
    folds = np.arange(len(wanted)) % 3
    apart = [(np.flatnonzero(folds != f), np.flatnonzero(folds == f)) for f in range(3)]
    joined = [
        (np.flatnonzero(folds[rows] != f), np.flatnonzero(folds[rows] == f)) for f in range(3)
    ]
    for cv, cv_rows in [("prefit", "prefit"), (apart, joined)]:
        heavy = model.calibrate(test, wanted, method, cv, sample_weight=weights).predict_proba(X)
        twice = model.calibrate(test[rows], wanted[rows], method, cv_rows).predict_proba(X)
        np.testing.assert_allclose(heavy, twice, atol=1e-9 if cv == "prefit" else 2e-2)


def test_training_further_drops_the_curves_and_says_so():
    X, y, _, _ = sets(2)
    model = budgetsvm.BudgetSVC(budget=20, gamma=0.2, random_state=0).fit(X, y)
    for go_on in ("partial_fit", "polish"):
        model.calibrate(X, y)
        with pytest.warns(UserWarning, match="call calibrate again"):
            getattr(model, go_on)(X, y)
        assert not hasattr(model, "predict_proba")
    online = budgetsvm.KernelOGD(gamma=0.2).fit(X, y).calibrate(X, y)
    with pytest.warns(UserWarning, match="call calibrate again"):
        online.partial_fit(X, y)
    assert not hasattr(online, "predict_proba")
    model.calibrate(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y)


def test_what_is_refused():
    X, y, _, _ = sets(2, 60)
    model = budgetsvm.BudgetSVC(budget=20, gamma=0.2, random_state=0)
    with pytest.raises(NotFittedError):
        model.calibrate(X, y)
    model.fit(X, y)
    before = model.__dict__.copy()
    for match, kwargs in [
        ("method must be one of", {"method": "platt"}),
        ("cv must be >= 2", {"cv": 1}),
        ("rows of every class", {"cv": 40}),
        ('or "prefit"', {"cv": "loo"}),
        ("every row in one test part", {"cv": [(np.arange(30), np.arange(30, 60))]}),
        ("not of these rows", {"cv": [(["a"], ["b"])]}),
        ("not of these rows", {"cv": [(np.arange(60), np.arange(60, 90))]}),
        ("sample_weight", {"sample_weight": -np.ones(60)}),
    ]:
        with pytest.raises(ValueError, match=match):
            model.calibrate(X, y, **kwargs)
    with pytest.raises(ValueError, match="no class of this machine"):
        model.calibrate(X, y + 5)
    with pytest.raises(ValueError, match="features"):
        model.calibrate(X[:, :3], y)
    with pytest.raises(AttributeError, match="predict_proba"):
        model.predict_proba(X)
    assert model.__dict__ == before


@pytest.mark.parametrize("method", ["auto", "sigmoid", "isotonic", "temperature"])
def test_weights_whose_sum_no_float_holds(method):
    """They gave probabilities of NaN where a learner takes such weights."""
    X, y, _, _ = sets(2, 60)
    model = budgetsvm.KernelPerceptron(gamma=0.2, random_state=0).fit(X, y)
    for large in (1e308, 1e200):
        with pytest.raises(ValueError, match="sample_weight must be a sum of 1e150 at most"):
            model.calibrate(X, y, sample_weight=np.full(60, large), method=method)
    model.calibrate(X, y, sample_weight=np.full(60, 1e140), method=method)
    assert np.isfinite(model.predict_proba(X)).all()


def test_splitters_and_precomputed_kernels():
    X, y, test, _ = sets(2)
    model = budgetsvm.BudgetSVC(budget=20, gamma=0.2, random_state=0).fit(X, y)
    a = model.calibrate(X, y, cv=4).predict_proba(test)
    b = model.calibrate(X, y, cv=StratifiedKFold(4)).predict_proba(test)
    np.testing.assert_array_equal(a, b)
    c = model.calibrate(X, y, cv=KFold(4, shuffle=True, random_state=0)).predict_proba(test)
    assert np.abs(a - c).max() < 0.1
    exact = budgetsvm.SVC(kernel="linear").fit(X, y).calibrate(X, y)
    kernel = budgetsvm.SVC(kernel="precomputed").fit(X @ X.T, y).calibrate(X @ X.T, y)
    np.testing.assert_allclose(
        exact.predict_proba(test), kernel.predict_proba(test @ X.T), atol=1e-2
    )


def test_calibrated_pairs_are_what_probability_true_learns():
    """Sigmoids of pairs, coupled: libsvm's, but for which rows are in which fold."""
    X, y, test, _ = sets(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        old = budgetsvm.SVC(gamma=0.2, probability=True, random_state=0).fit(X, y)
    new = budgetsvm.SVC(gamma=0.2).fit(X, y).calibrate(X, y)
    assert np.abs(old.predict_proba(test) - new.predict_proba(test)).mean() < 0.02
    # The same curves, coupled by both.
    slopes, offsets = old._sigmoids
    curves = np.ascontiguousarray(np.stack([slopes, offsets], axis=1))
    machine = old._machine.with_sigmoids(curves, 3)
    found = machine.probabilities(np.ascontiguousarray(old._values(test)), 3, 1)
    np.testing.assert_allclose(found, old.predict_proba(test), atol=1e-10)


def test_scaled_features_are_those_of_scaled_rows():
    X, y, test, _ = sets(2)
    scales = np.array([1.0, 2.0, 0.5, 1.0, 0.0, 1.0])
    how = {"budget": 20, "gamma": 0.2, "random_state": 0}
    a = budgetsvm.BudgetSVC(feature_scales=scales, **how).fit(X, y).calibrate(X, y)
    b = budgetsvm.BudgetSVC(**how).fit(X * scales, y).calibrate(X * scales, y)
    np.testing.assert_allclose(a.predict_proba(test), b.predict_proba(test * scales), atol=1e-9)
    assert not any(name.startswith("_scales_in") for name in vars(a))


@pytest.mark.parametrize(
    "model",
    [budgetsvm.SVC(), budgetsvm.PrimalSVC(), budgetsvm.BudgetSVC(budget=10, random_state=0)],
    ids=str,
)
def test_one_weight_is_that_of_every_row(model):
    X, y = make_classification(80, random_state=0)
    model.fit(X, y)
    one = clone(model).fit(X, y).calibrate(X, y, sample_weight=2.0)
    each = clone(model).fit(X, y).calibrate(X, y, sample_weight=np.full(80, 2.0))
    assert np.array_equal(one.predict_proba(X), each.predict_proba(X))
