"""ν-SVC where ν is larger than the classes allow, and weights of classes."""

import warnings

import numpy as np
import pytest

from budgetsvm import SVC, NuSVC, SemiparametricNuSVC


def rows(n=90, share=0.2, seed=0):
    """Two classes of unequal size, or three; the last has `share` of the rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = (X[:, 0] + rng.normal(size=n) > np.sqrt(2) * 0.84).astype(int)
    assert 0.1 < y.mean() < 0.35
    return X, y


MACHINES = [NuSVC, lambda **more: NuSVC(solver="mpd", **more), SemiparametricNuSVC]


@pytest.mark.parametrize("machine", MACHINES)
def test_a_nu_too_large_is_the_largest(machine):
    X, y = rows()
    most = 2 * min(np.bincount(y)) / len(y)
    with pytest.warns(UserWarning, match=f"nu=0.9 is infeasible.*have {most:.3g} at most"):
        largest = machine(nu=0.9).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        near = machine(nu=most * (1 - 1e-6)).fit(X, y)
    values = largest.decision_function(X)
    np.testing.assert_allclose(values, near.decision_function(X), atol=1e-4)
    # All of the smaller class are support vectors, on the margin or within it.
    assert set(np.flatnonzero(y)) <= set(largest.support_)
    assert values[y == 1].max() <= 1 + 1e-6
    with pytest.raises(ValueError, match="specified nu is infeasible: all samples"):
        machine(nu=0.5).fit(X, y, sample_weight=y)


@pytest.mark.parametrize("machine", MACHINES)
def test_light_rows_have_the_machine_of_svc(machine):
    X, y = rows()
    weights = np.random.default_rng(1).uniform(0.01, 0.02, size=len(y))
    with pytest.warns(UserWarning, match="infeasible"):
        values = machine(nu=0.9, gamma=0.2).fit(X, y, weights).decision_function(X)
    expected = SVC(C=1.0, gamma=0.2).fit(X, y, weights).decision_function(X)
    np.testing.assert_allclose(values, expected, atol=1e-5)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_of_classes_are_weights_of_their_samples(machine, n_classes):
    X, y = rows()
    y = y + (n_classes == 3) * 2 * (X[:, 1] > 0.5)
    y = np.minimum(y, n_classes - 1)
    given = {0: 1.0, 1: 3.0, 2: 2.0}
    given = {label: given[label] for label in range(n_classes)}
    sums = np.array([given[label] for label in range(n_classes)]) * np.bincount(y)
    nu = 0.9 * 2 * sums.min() / (sums.min() + sums.max())
    weights = np.random.default_rng(2).uniform(0.95, 1.05, size=len(y))
    by_class = machine(nu=nu, gamma=0.3, class_weight=given).fit(X, y, weights)
    by_row = machine(nu=nu, gamma=0.3).fit(X, y, weights * np.array([given[c] for c in y]))
    expected = by_row.decision_function(X)
    np.testing.assert_array_equal(by_class.decision_function(X), expected)
    plain = machine(nu=0.3 * nu, gamma=0.3).fit(X, y, weights)
    assert np.abs(plain.decision_function(X) - expected).max() > 0.1


def test_balanced_classes_allow_every_nu():
    X, y = rows()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        machine = NuSVC(nu=0.9, class_weight="balanced").fit(X, y)
    with pytest.warns(UserWarning, match="class_weight='balanced'"):
        plain = NuSVC(nu=0.9).fit(X, y)
    found = [m.predict(X)[y == 1].mean() for m in (machine, plain)]
    assert found[0] >= found[1]
    assert machine.score(X[y == 1], y[y == 1]) > 0.6
