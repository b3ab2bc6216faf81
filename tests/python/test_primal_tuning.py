"""Leave-one-out values of the primal machines, and C and γ by them."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_moons

from budgetsvm import PrimalSVC, PrimalSVR


def moons(n=300, seed=0):
    X, y = make_moons(n, noise=0.25, random_state=seed)
    return X, np.where(y > 0, 1, -1)


def test_leave_one_out_against_brute_force():
    X, y = moons(60)
    model = PrimalSVC(C=1, gamma=1, leave_one_out=True).fit(X, y)
    brute = np.empty(60)
    same = np.zeros(60, dtype=bool)
    for p in range(60):
        rest = np.delete(np.arange(60), p)
        without = PrimalSVC(C=1, gamma=1).fit(X[rest], y[rest])
        brute[p] = without.decision_function(X[p : p + 1])[0]
        same[p] = set(rest[without.support_]) == set(model.support_) - {p}
    assert same.sum() >= 20
    np.testing.assert_allclose(model.loo_decision_[same], brute[same], atol=1e-8)
    assert model.loo_score_ == np.mean(np.sign(model.loo_decision_) == y)
    assert abs(model.loo_score_ - np.mean(np.sign(brute) == y)) <= 2 / 60
    rng = np.random.default_rng(0)
    values = np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=60)
    reg = PrimalSVR(C=1, gamma=1, loss="least_squares", leave_one_out=True).fit(X, values)
    out = [
        PrimalSVR(C=1, gamma=1, loss="least_squares")
        .fit(np.delete(X, p, 0), np.delete(values, p))
        .predict(X[p : p + 1])[0]
        for p in range(60)
    ]
    np.testing.assert_allclose(reg.loo_decision_, out, atol=1e-8)
    with pytest.raises(ValueError, match="leave_one_out"):
        PrimalSVC(leave_one_out=True, solver="cg").fit(X, y)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_tuning_ends_where_the_fewest_are_wrong_around_the_criterions_minimum(n_classes):
    rng = np.random.default_rng(n_classes)
    y = rng.integers(n_classes, size=150)
    X = np.column_stack([np.cos(2 * y), np.sin(2 * y)]) + 0.8 * rng.normal(size=(150, 2))

    def judged(C, gamma):
        """(leave-one-out errors, the criterion)."""
        f = PrimalSVC(C=C, gamma=gamma, leave_one_out=True).fit(X, y).loo_decision_
        signs = np.where(y > 0, 1, -1) if n_classes == 2 else 2 * np.eye(n_classes)[y] - 1
        wrong = (f > 0) != y if n_classes == 2 else f.argmax(axis=1) != y
        return int(wrong.sum()), float((np.maximum(0, 1 - signs * f) ** 2).sum())

    model = PrimalSVC(tune=True).fit(X, y)
    places = [(c, g) for g, c in itertools.product((0.5, 0.71, 1, 1.41, 2), (0.25, 1, 4))]
    # The criterion's minimum is the place around which the result is one of these.
    C, gamma = min(
        ((model.C_ / c, model.gamma_ / g) for c, g in places), key=lambda place: judged(*place)[1]
    )
    fewest = min(
        places,
        key=lambda place: (judged(C * place[0], gamma * place[1])[0], np.abs(np.log(place)).sum()),
    )
    np.testing.assert_allclose((model.C_, model.gamma_), (C * fewest[0], gamma * fewest[1]))


def test_tuning_keeps_the_time_and_stops_when_told():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 10))
    y = X[:, 0] + X[:, 1] ** 2 > 1
    limited = PrimalSVC(tune=True, max_time=1.0, random_state=0).fit(X, y)
    # Half of the time is for the machine itself.
    assert limited.score(X, y) > 0.9
    assert limited.n_iter_ > 0
    calls = []

    def stop(progress):
        calls.append(progress["time"])
        return len(calls) >= 2

    told = PrimalSVC(tune=True, random_state=0, callback=stop).fit(X, y)
    assert told.stop_reason_ == "callback"
    assert len(calls) <= 5


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_tuning_does_not_hang_on_where_it_begins(n_classes, kernel):
    """From places too, where every machine is the same and the criterion has no slope."""
    rng = np.random.default_rng(4)
    X = rng.normal(scale=30.0, size=(1300, 2))
    angle = np.arctan2(X[:, 0], X[:, 1])
    y = np.sin(2 * angle) if n_classes == 0 else np.digitize(angle, [-1, 1][: n_classes - 1])
    cls, loss = (PrimalSVC, "squared_hinge") if n_classes else (PrimalSVR, "least_squares")
    scores = []
    for C, gamma in [(1, "scale"), (1e-6, 1.0), (1e8, 1e5), (1.0, 1e-9), (1e300, 1e-300)]:
        model = cls(C=C, gamma=gamma, kernel=kernel, loss=loss, tune=True).fit(X[:300], y[:300])
        scores.append(model.score(X[300:], y[300:]))
    assert min(scores) > scores[0] - 0.02
    assert scores[0] > (0.9 if n_classes else 0.8)


@pytest.mark.parametrize("X", [np.ones((20, 3)), np.eye(2), sp.eye(30, format="csr")])
def test_tuning_where_there_is_nothing_to_see(X):
    y = np.arange(X.shape[0]) % 2
    model = PrimalSVC(tune=True).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert np.isfinite([model.C_, model.gamma_]).all()


def test_tuning_finds_a_better_criterion():
    X, y = moons(500, seed=3)
    model = PrimalSVC(C=0.01, gamma=0.01, tune=True, leave_one_out=True).fit(X, y)
    plain = PrimalSVC(C=0.01, gamma=0.01, leave_one_out=True).fit(X, y)
    assert model.C_ > 0.05
    assert model.gamma_ > 0.05
    assert (model.C, model.gamma) == (0.01, 0.01)
    assert model.loo_score_ > plain.loo_score_
    again = PrimalSVC(C=model.C_, gamma=model.gamma_).fit(X, y)
    np.testing.assert_allclose(again.decision_function(X), model.decision_function(X), atol=1e-6)
    with pytest.raises(ValueError, match="tune=True needs kernel"):
        PrimalSVC(kernel="poly", tune=True).fit(X, y)
    with pytest.raises(ValueError, match="tune=True needs a squared loss"):
        PrimalSVC(loss="hinge", tune=True).fit(X, y)
    with pytest.raises(ValueError, match="tune=True needs a squared loss"):
        PrimalSVR(tune=True).fit(X, y)
