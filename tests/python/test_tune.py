"""C="tune" and gamma="tune" in the machines that have them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification, make_moons

import budgetsvm
from budgetsvm import SVC, SVR, BudgetSVC, BudgetSVR, NuSVC, PrimalSVC, PrimalSVR

CLASSES, VALUES = (BudgetSVC, SVC, PrimalSVC), (BudgetSVR, SVR, PrimalSVR)
X, Y = make_moons(600, noise=0.2, random_state=0)
#: Far from what `gamma="scale"` is good for: the waves are short.
RNG = np.random.default_rng(0)
WAVES = RNG.uniform(-1, 1, (900, 2))
SIDES = (np.sin(9 * WAVES[:, 0]) * np.sin(9 * WAVES[:, 1]) > 0).astype(int)
HEIGHTS = np.sin(9 * WAVES[:, 0]) + np.sin(9 * WAVES[:, 1])
TUNED = {"C": "tune", "gamma": "tune"}


@pytest.mark.parametrize("cls", CLASSES)
def test_classes_that_a_default_width_misses(cls):
    half = len(WAVES) // 2
    plain = cls().fit(WAVES[:half], SIDES[:half]).score(WAVES[half:], SIDES[half:])
    tuned = cls(**TUNED).fit(WAVES[:half], SIDES[:half])
    assert tuned.score(WAVES[half:], SIDES[half:]) > plain + 0.1
    assert tuned.gamma_ > 4
    assert tuned.C_ > 0


@pytest.mark.parametrize("cls", VALUES)
@pytest.mark.parametrize("unit", [1.0, 1e3])
def test_values_whatever_their_unit(cls, unit):
    half = len(WAVES) // 2
    y = unit * HEIGHTS
    given = {"epsilon": 0.1 * unit}
    if cls is not SVR:
        given["smoothing"] = 0.05 * unit
    tuned = cls(**TUNED, **given).fit(WAVES[:half], y[:half])
    assert tuned.score(WAVES[half:], y[half:]) > 0.9


@pytest.mark.parametrize("cls", [*CLASSES, *VALUES])
def test_the_machine_is_that_of_the_numbers_found(cls):
    y = Y if cls in CLASSES else X[:, 0] ** 2
    seed = {} if cls in (SVC, SVR) else {"random_state": 0}
    tuned = cls(**TUNED, **seed).fit(X, y)
    plain = cls(C=tuned.C_, gamma=tuned.gamma_, **seed).fit(X, y)
    np.testing.assert_array_equal(tuned.predict(X), plain.predict(X))
    one = cls(C="tune", gamma=1.5, **seed).fit(X, y)
    assert one.gamma_ == 1.5
    other = cls(C=3.0, gamma="tune", **seed).fit(X, y)
    assert other.C_ == 3.0
    assert other.gamma_ == tuned.gamma_


@pytest.mark.parametrize("cls", [BudgetSVC, SVC])
def test_threads_layout_and_files(cls, tmp_path):
    tuned = cls(**TUNED, n_jobs=1).fit(X, Y)
    again = cls(**TUNED, n_jobs=4).fit(X, Y)
    if cls is SVC:
        assert (tuned.C_, tuned.gamma_) == (again.C_, again.gamma_)
    sparse = SVC(**TUNED).fit(sp.csr_matrix(X), Y)
    single = SVC(**TUNED).fit(X.astype(np.float32), Y)
    assert 0.4 < sparse.gamma_ / single.gamma_ < 2.5
    path = tmp_path / "tuned.safetensors"
    tuned.save(path)
    loaded = budgetsvm.load(path)
    assert (loaded.C, loaded.C_, loaded.gamma_) == ("tune", tuned.C_, tuned.gamma_)
    np.testing.assert_array_equal(loaded.decision_function(X), tuned.decision_function(X))


def test_several_classes_weights_and_other_kernels():
    x, y = make_classification(600, 6, n_informative=4, n_classes=3, random_state=0)
    for kernel in ("rbf", "laplacian", "matern32", "poly", "linear"):
        tuned = SVC(kernel=kernel, **TUNED).fit(x, y, np.where(y == 0, 2.0, 1.0))
        assert tuned.score(x, y) > 0.6
    double = SVC(**TUNED).fit(x, y, np.full(len(y), 2.0))
    plain = SVC(**TUNED).fit(x, y)
    assert double.gamma_ == pytest.approx(plain.gamma_)
    assert double.C_ == pytest.approx(plain.C_ / 2, rel=1e-4)


def test_a_stream_is_tuned_on_its_first_part():
    begun = BudgetSVC(**TUNED, random_state=0).partial_fit(X[:300], Y[:300], classes=[0, 1])
    found = begun.C_, begun.gamma_
    begun.partial_fit(X[300:], Y[300:])
    assert (begun.C_, begun.gamma_) == found
    assert begun.score(X, Y) > 0.9


@pytest.mark.parametrize(("make", "name"), [
    (lambda: SVC(C="tune", kernel="precomputed").fit(X @ X.T, Y), "C='tune'"),
    (lambda: BudgetSVC(C="tune").fit(X[:5], [0, 1, 0, 1, 0]), "C must be"),
    (lambda: BudgetSVC(gamma="tune").fit(X[:5], [0, 1, 0, 1, 0]), "gamma must be"),
    (lambda: BudgetSVC(C="tuned").fit(X, Y), "C must be"),
    (lambda: BudgetSVC(gamma="tuned").fit(X, Y), "gamma must be"),
    (lambda: SVC(C="tuned").fit(X, Y), "'C' parameter"),
    (lambda: NuSVC(gamma="tune").fit(X, Y), "'gamma' parameter"),
    (lambda: PrimalSVC(C="tune", tune=True).fit(X, Y), "tune=True"),
    (lambda: BudgetSVC(**TUNED).fit(X, np.zeros(len(Y))), "class"),
    (lambda: BudgetSVC().fit(X, Y).set_params(C="tune").partial_fit(X, Y), "C='tune'"),
])  # fmt: skip
def test_refusals_name_the_argument(make, name):
    with pytest.raises(ValueError, match=name):
        make()


def test_an_interrupt_leaves_the_estimator_as_it_was():
    svc = BudgetSVC(**TUNED, random_state=0).fit(X, Y)
    before = dict(svc.__dict__)

    def fails(_):
        raise KeyboardInterrupt

    svc.callback = before["callback"] = fails
    with pytest.raises(KeyboardInterrupt):
        svc.fit(X, Y)
    assert svc.__dict__ == before
