"""BudgetOneClassSVM beside a twin in NumPy and the exact machine; streams, files, limits."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import roc_auc_score

import budgetsvm
from budgetsvm import BudgetOneClassSVM, OneClassSVM

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3000, 3)) * [1, 2, 0.5]
FEW = X[:120]
NEW = np.concatenate([X[:500], RNG.uniform(-9, 9, size=(100, 3))])
ODD = np.repeat([0, 1], [500, 100])


class Twin:
    """The problem as it is written: coefficients of given terms and a threshold, all Σ α = 1."""

    def __init__(self, rows, terms, weights, nu, gamma, h):
        def kernel(a, b):
            return np.exp(-gamma * ((a[:, None] - b[None]) ** 2).sum(-1))

        self.K, self.Phi = kernel(terms, terms), kernel(rows, terms)
        self.share, self.h = weights / (nu * weights.sum()), h

    def corner(self, t):
        h = self.h
        middle = (t + h) ** 2 / (4 * h)
        return np.where(t <= -h, 0, np.where(t >= h, t, middle)), np.clip((t + h) / 2 / h, 0, 1)

    def objective(self, z):
        beta, rho = z[:-1], z[-1]
        losses = self.corner(rho - self.Phi @ beta)[0]
        return 0.5 * beta @ self.K @ beta - rho + self.share @ losses

    def gradient(self, z):
        beta, rho = z[:-1], z[-1]
        slopes = self.share * self.corner(rho - self.Phi @ beta)[1]
        return np.append(self.K @ beta - self.Phi.T @ slopes, slopes.sum() - 1)

    def hessian(self, z):
        t = z[-1] - self.Phi @ z[:-1]
        Z = np.column_stack([-self.Phi, np.ones(len(t))])
        H = (Z.T * (self.share * (np.abs(t) < self.h) / (2 * self.h))) @ Z
        H[:-1, :-1] += self.K
        return H


def twin_of(model, rows, weights=None):
    """The twin on the terms of a fitted machine, and where the machine stands in it."""
    weights = np.ones(len(rows)) if weights is None else weights
    scale = model.nu * weights.sum()
    z = np.append(model.dual_coef_[0], model.offset_) / scale
    h = model.smoothing * z[-1]
    return Twin(rows, model.support_vectors_, weights, model.nu, model.gamma, h), z


def test_the_twin_has_the_derivatives_of_its_objective():
    twin = Twin(FEW, FEW[:7], np.random.default_rng(7).uniform(0, 2, 120), 0.3, 0.4, 0.02)
    z = np.append(np.random.default_rng(7).uniform(0, 0.2, 7), 0.15)
    for axis in range(8):
        step = np.eye(8)[axis] * 1e-6
        slope = (twin.objective(z + step) - twin.objective(z - step)) / 2e-6
        assert abs(slope - twin.gradient(z)[axis]) < 1e-7
        curve = (twin.gradient(z + step) - twin.gradient(z - step)) / 2e-6
        np.testing.assert_allclose(curve, twin.hessian(z)[axis], atol=1e-5)


@pytest.mark.parametrize("nu", [0.03, 0.2, 0.7])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_fit_is_the_minimum_of_the_twin_on_its_terms(nu, weighted):
    weights = np.random.default_rng(7).uniform(0, 3, 3000) if weighted else None
    model = BudgetOneClassSVM(40, nu, gamma=0.2, smoothing=0.05, random_state=0)
    model.fit(X, sample_weight=weights)
    assert model.n_terms_ == 40
    twin, z = twin_of(model, X, weights)
    reached = twin.objective(z)
    assert abs(reached - model.objective_["smoothed"]) < 0.01 * abs(reached)
    best = z.copy()
    for _ in range(100):
        H = twin.hessian(best) + 1e-12 * np.eye(41)
        step, t = -np.linalg.solve(H, twin.gradient(best)), 1.0
        if -step @ twin.gradient(best) < 1e-9:
            break
        while twin.objective(best + t * step) > twin.objective(best) and t > 1e-9:
            t /= 2
        best += t * step
    assert reached - twin.objective(best) < 2e-3 * abs(reached)


@pytest.mark.parametrize("nu", [0.05, 0.3, 0.8, 1.0])
def test_with_a_term_a_row_it_comes_to_the_exact_machine_as_the_corner_narrows(nu):
    weights = np.random.default_rng(7).uniform(0.1, 2, 120)
    exact = OneClassSVM(nu=nu, gamma=0.3, tol=1e-9).fit(FEW, sample_weight=weights)
    apart = np.inf
    for smoothing in (1e-1, 1e-2, 1e-3, 1e-4):
        before = apart
        model = BudgetOneClassSVM(120, nu, gamma=0.3, smoothing=smoothing)
        model.fit(FEW, sample_weight=weights)
        apart = np.abs(model.decision_function(NEW) - exact.decision_function(NEW)).max()
        # In proportion to the corner.
        assert apart <= 5 * smoothing * exact.offset_[0]
        assert apart <= 0.3 * before or apart < 1e-9
    assert abs(model.offset_[0] - exact.offset_[0]) <= 1e-3 * exact.offset_[0]
    # The coefficients are those of the dual: in their bounds, of the right sum.
    assert model.dual_coef_.min() >= 0
    assert abs(model.dual_coef_.sum() - nu * weights.sum()) < 1e-6


def test_one_term_too_few_is_nearly_as_good():
    """So the steps leave no term unused where ν leaves out few rows."""
    for nu in (0.02, 0.1, 0.5):
        whole = BudgetOneClassSVM(120, nu, gamma=0.3).fit(FEW)
        model = BudgetOneClassSVM(119, nu, gamma=0.3, random_state=0).fit(FEW)
        assert model.n_terms_ > 100
        assert model.objective_["primal"] < 0.97 * whole.objective_["primal"] < 0
        again = BudgetOneClassSVM(119, nu, gamma=0.3, random_state=0).partial_fit(FEW)
        assert again.n_terms_ > 100


@pytest.mark.parametrize("nu", [0.05, 0.2])
def test_a_share_nu_is_outside_and_what_is_far_scores_low(nu):
    model = BudgetOneClassSVM(60, nu, gamma=0.2, random_state=0).fit(X)
    exact = OneClassSVM(nu=nu, gamma=0.2).fit(X)
    assert abs(np.mean(model.predict(X) == -1) - nu) < 0.15 * nu
    assert roc_auc_score(ODD, -model.decision_function(NEW)) > 0.9
    ours, theirs = (
        roc_auc_score(ODD, -machine.decision_function(NEW)) for machine in (model, exact)
    )
    assert abs(ours - theirs) < 0.01
    np.testing.assert_array_equal(
        model.score_samples(NEW) - model.offset_, model.decision_function(NEW)
    )
    same = BudgetOneClassSVM(60, nu, gamma=0.2, random_state=0).fit_predict(X)
    np.testing.assert_array_equal(same, model.predict(X))


def test_weights_are_copies_and_zero_is_none():
    weights = np.random.default_rng(7).integers(0, 3, 120)
    model = BudgetOneClassSVM(120, 0.2, gamma=0.3)
    weighted = clone(model).fit(FEW, sample_weight=weights)
    copied = clone(model).fit(np.repeat(FEW, weights, axis=0))
    np.testing.assert_allclose(
        weighted.decision_function(NEW), copied.decision_function(NEW), atol=1e-9
    )
    # And on a budget they count as such.
    W = np.where(X[:, 0] > 0, 3.0, 1.0)
    model = BudgetOneClassSVM(40, 0.1, gamma=0.2, random_state=0)
    weighted = clone(model).fit(X, sample_weight=W)
    out = weighted.predict(X) == -1
    assert abs((W * out).sum() / W.sum() - 0.1) < 0.02


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_are_as_dense_ones(dtype):
    dense = np.where(np.abs(X) < 0.4, 0, X).astype(dtype)
    model = BudgetOneClassSVM(30, 0.1, gamma=0.2, random_state=0)
    for train in ("fit", "partial_fit"):
        one = getattr(clone(model), train)(dense)
        other = getattr(clone(model), train)(sp.csr_matrix(dense))
        assert one.support_vectors_.dtype == dtype
        a, b = one.decision_function(dense), other.decision_function(sp.csr_matrix(dense))
        assert np.corrcoef(a, b)[0, 1] > 0.999
        assert one.decision_function(dense[:1]).shape == (1,)


def learn(model, rows, call, weights=None):
    model = clone(model)
    for first in range(0, rows.shape[0], call):
        part = slice(first, first + call)
        own = None if weights is None else weights[part]
        if own is None or np.any(own):
            model.partial_fit(rows[part], sample_weight=own)
    return model


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_cut_of_a_stream_gives_the_same_bits(sparse, dtype):
    rows = sp.csr_matrix(X[:1300].astype(dtype)) if sparse else X[:1300].astype(dtype)
    weights = np.random.default_rng(7).uniform(0, 2, 1300)
    weights[::7] = 0
    model = BudgetOneClassSVM(20, 0.1, gamma=0.2, random_state=0)
    found = [learn(model, rows, call, weights) for call in (1300, 700, 211, 13)]
    for other in found[1:]:
        np.testing.assert_array_equal(other.decision_function(NEW), found[0].decision_function(NEW))
    for n_jobs in (1, 3):
        other = learn(clone(model).set_params(n_jobs=n_jobs), rows, 700, weights)
        np.testing.assert_array_equal(other.decision_function(NEW), found[0].decision_function(NEW))


@pytest.mark.parametrize("nu", [0.05, 0.3])
def test_a_stream_is_about_a_fit_of_all_its_rows_whatever_the_order(nu):
    model = BudgetOneClassSVM(50, nu, gamma=0.2, random_state=0)
    fitted = clone(model).fit(X)
    scores = fitted.score_samples(NEW) / fitted.offset_
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(3000)
        streamed = learn(model, X[order], 500)
        assert streamed.n_terms_ <= 50
        assert abs(streamed.offset_[0] / fitted.offset_[0] - 1) < 0.1
        assert np.abs(streamed.score_samples(NEW) / streamed.offset_ - scores).max() < 0.35
        assert abs(np.mean(streamed.predict(X) == -1) - nu) < 0.3 * nu


def test_a_stream_goes_on_from_fit_and_polish():
    model = BudgetOneClassSVM(50, 0.1, gamma=0.2, random_state=0)
    whole = clone(model).fit(X)
    half = clone(model).fit(X[:1500])
    outside = np.mean(half.predict(X) == -1)
    assert abs(outside - 0.1) < 0.03
    half.partial_fit(X[1500:])
    assert abs(half.offset_[0] / whole.offset_[0] - 1) < 0.1
    assert abs(np.mean(half.predict(X) == -1) - 0.1) < 0.02
    # Polishing on all rows is at least as good as the stream.
    polished = copy.deepcopy(half).polish(X)
    np.testing.assert_array_equal(polished.support_vectors_, half.support_vectors_)
    a, z = twin_of(polished.set_params(gamma=0.2), X)
    b, y = twin_of(half, X)
    assert a.objective(z) <= b.objective(y) + 1e-4
    polished.partial_fit(X[:100])
    assert np.isfinite(polished.decision_function(NEW)).all()


def test_what_is_forgotten_is_outside():
    shift = np.array([8.0, 0.0, 0.0])
    old, new = X - shift, X + shift
    kept = learn(BudgetOneClassSVM(40, 0.1, gamma=0.2, random_state=0), old, 1000)
    kept = learn_on(kept, new, 1000)
    drifted = BudgetOneClassSVM(40, 0.1, gamma=0.2, forgetting=0.998, random_state=0)
    drifted = learn_on(learn(drifted, old, 1000), new, 1000)
    assert np.mean(kept.predict(old) == 1) > 0.7
    assert np.mean(drifted.predict(old) == 1) < 0.2
    assert abs(np.mean(drifted.predict(new) == -1) - 0.1) < 0.05


def learn_on(model, rows, call):
    for first in range(0, len(rows), call):
        model.partial_fit(rows[first : first + call])
    return model


def test_files_pickles_and_copies(tmp_path):
    model = learn(BudgetOneClassSVM(20, 0.1, gamma=0.2, random_state=0), X[:1300], 400)
    said = model.decision_function(NEW)
    model.save(tmp_path / "m.safetensors")
    model.save(tmp_path / "small.safetensors", resume=False)
    loaded = budgetsvm.load(tmp_path / "m.safetensors")
    small = budgetsvm.load(tmp_path / "small.safetensors")
    sizes = [(tmp_path / f"{name}.safetensors").stat().st_size for name in ("m", "small")]
    assert sizes[1] < sizes[0] / 2
    others = [loaded, small, pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    for other in others:
        np.testing.assert_array_equal(other.decision_function(NEW), said)
        assert other.get_params() == model.get_params()
    after = model.partial_fit(X[1300:]).decision_function(NEW)
    for other in (others[0], *others[2:]):
        np.testing.assert_array_equal(other.partial_fit(X[1300:]).decision_function(NEW), after)
    # Without its summary it is served, polished, and no more.
    with pytest.raises(ValueError, match=r"no summary.*resume=False"):
        small.partial_fit(X)
    np.testing.assert_array_equal(small.decision_function(NEW), said)
    small.polish(X[:1300]).partial_fit(X[1300:])


@pytest.mark.parametrize("train", ["fit", "partial_fit"])
def test_a_time_limit_and_a_callback_leave_a_machine(train):
    for limit in ({"max_time": 1e-9}, {"callback": lambda _: True}):
        model = BudgetOneClassSVM(30, 0.1, gamma=0.2, random_state=0, **limit)
        getattr(model, train)(X)
        assert model.stop_reason_ == ("max_time" if "max_time" in limit else "callback")
        assert np.isfinite(model.decision_function(NEW)).all()
        assert np.unique(model.score_samples(NEW)).size > 1


def test_an_interrupt_leaves_what_was():
    model = BudgetOneClassSVM(30, 0.1, gamma=0.2, random_state=0).fit(X)

    def stop(_):
        raise KeyboardInterrupt

    model.set_params(callback=stop)
    for train in (model.fit, model.partial_fit, model.polish):
        before = model.__dict__.copy()
        with pytest.raises(KeyboardInterrupt):
            train(X)
        assert model.__dict__ == before


def test_what_is_refused_names_the_argument():
    model = BudgetOneClassSVM(30, 0.1, gamma=0.2, random_state=0)
    for params, name in [
        ({"nu": 0}, "nu"), ({"nu": 1.5}, "nu"), ({"budget": None}, "budget"),
        ({"smoothing": 2.0}, "smoothing"), ({"smoothing": 0.0}, "smoothing"),
        ({"forgetting": 0.0}, "forgetting"), ({"kernel": "precomputed"}, "kernel"),
        ({"maintenance": "merge", "kernel": "linear"}, "maintenance"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=name):
            clone(model).set_params(**params).fit(X)
    with pytest.raises(NotFittedError):
        model.polish(X)
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(X, sample_weight=np.full(3000, 1e306))
    model.fit(X)
    before = model.decision_function(NEW)
    for params, name in [({"nu": 0.2}, "nu"), ({"gamma": 0.1}, "gamma"), ({"budget": 9}, "budget")]:
        with pytest.raises(ValueError, match=name):
            copy.deepcopy(model).set_params(**params).partial_fit(X)
    bad = X[:100].copy()
    bad[50, 1] = np.nan
    for rows in (bad, X[:, :2]):
        with pytest.raises(ValueError, match=r"NaN|features"):
            model.partial_fit(rows)
    np.testing.assert_array_equal(model.decision_function(NEW), before)


def test_a_threshold_of_nothing_is_told():
    """A kernel so narrow that most rows have nothing in common with the terms."""
    with pytest.warns(ConvergenceWarning, match=r"threshold is about 0.*gamma"):
        BudgetOneClassSVM(30, 0.1, gamma=1e3, random_state=0).fit(X)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear", "poly", "sigmoid"])
@pytest.mark.parametrize("rows", [X[:1], X[:2], np.ones((600, 3)), X[:700] + 5])
@pytest.mark.filterwarnings("ignore")
def test_few_rows_equal_rows_and_any_kernel(kernel, rows):
    for train in ("fit", "partial_fit"):
        model = BudgetOneClassSVM(25, 0.3, kernel=kernel, gamma=0.2, random_state=0)
        getattr(model, train)(rows)
        assert np.isfinite(model.decision_function(NEW)).all()
        assert np.isfinite(model.offset_).all()
        assert set(model.predict(rows)) <= {-1, 1}
    if kernel == "rbf" and len(rows) == 600:
        # All rows are as one: none is outside.
        assert np.all(model.predict(rows) == 1)


@pytest.mark.parametrize("scale", [1e-200, 1e-9, 1e9, 1e200])
def test_the_size_of_weights_is_a_unit(scale):
    model = BudgetOneClassSVM(30, 0.1, gamma=0.2, random_state=0)
    for train in ("fit", "partial_fit"):
        one = getattr(clone(model), train)(X)
        other = getattr(clone(model), train)(X, sample_weight=np.full(3000, scale))
        a, b = one.decision_function(NEW), other.decision_function(NEW) / scale
        np.testing.assert_allclose(a, b, atol=0.02 * one.offset_[0])
