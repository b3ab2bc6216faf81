"""What a hostile user found: each case once more, so that it stays mended."""

from __future__ import annotations

import numpy as np
import pytest

from budgetsvm import (
    AssetSVC,
    BudgetSVC,
    FourierOGD,
    IncompleteCholesky,
    LocalBudgetSVC,
    Nystroem,
    PrimalSVC,
    RandomFourier,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)


@pytest.mark.parametrize("n_clusters", [2**40, 2**62])
def test_more_cells_than_anybody_has_samples(n_clusters):
    model = LocalBudgetSVC(n_clusters=n_clusters, random_state=0).fit(X, Y)
    assert len(model.cluster_centers_) == len(X)


@pytest.mark.parametrize(
    "model",
    [
        AssetSVC(n_components=20, random_state=0),
        PrimalSVC(),
        Nystroem(20, random_state=0),
        IncompleteCholesky(20),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_fitted_model_keeps_its_kernel(model):
    model.fit(X, Y)
    use = getattr(model, "decision_function", getattr(model, "transform", None))
    before = use(X)
    for params in ({"kernel": "linear"}, {"kernel": "bogus"}, {"degree": 7}, {"coef0": None}):
        model.set_params(**params)
        np.testing.assert_array_equal(use(X), before)


@pytest.mark.parametrize("features", ["fourier", "nystroem"])
@pytest.mark.parametrize(("params", "weight"), [
    ({"C": 5e-324}, None), ({"gamma": 1e300}, None), ({}, 1e308), ({}, 1e-320),
])  # fmt: skip
def test_never_a_model_that_is_not_finite(features, params, weight):
    model = AssetSVC(features=features, n_components=20, random_state=0).fit(X, Y)
    before = model.decision_function(X)
    weights = None if weight is None else np.full(len(X), weight)
    kept = {name: model.get_params()[name] for name in params}
    try:
        model.set_params(**params).fit(X, Y, weights)
    except ValueError:
        model.set_params(**kept)
        np.testing.assert_array_equal(model.decision_function(X), before)
    else:
        assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize(("model", "name"), [
    (PrimalSVC(C=10**400), "C"), (PrimalSVC(gamma=10**400), "gamma"),
    (PrimalSVC(coef0="a"), "coef0"), (Nystroem(n_components=10**30), "n_components"),
    (AssetSVC(C=10**400), "C"),
])  # fmt: skip
def test_integers_that_no_float_holds(model, name):
    with pytest.raises(ValueError, match=name):
        model.fit(X, Y)


def test_a_class_that_is_no_label():
    for model in (LocalBudgetSVC(budget=100), FourierOGD(), AssetSVC(), BudgetSVC()):
        with pytest.raises(ValueError, match="classes contains NaN"):
            model.partial_fit(X, Y, classes=[0.0, 1.0, float("nan")])


def test_products_out_of_range_are_an_error():
    with pytest.raises(ValueError, match="gamma"):
        RandomFourier(gamma=1e300).fit_transform(X)
    model = FourierOGD().fit(X, Y)
    with pytest.raises(ValueError, match="X leads out of the range"):
        model.decision_function(X * 1e160)
