"""C="tune" and gamma="tune" in the machines that have them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification, make_moons
from sklearn.metrics import average_precision_score

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
    # γ is judged by the machine's own loss, too, which depends on C.
    assert 1 / 8 < other.gamma_ / tuned.gamma_ < 8


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


@pytest.mark.parametrize("cls", [BudgetSVC, SVC])
def test_no_seed_loses_a_rare_class(cls):
    """A draw without regard to classes held some fifteen of the rare rows."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(22_000, 4))
    y = ((np.abs(np.hypot(x[:, 0], x[:, 1]) - 2.6) < 0.25) & (x[:, 2] > 1)).astype(int)
    few = 12_000
    assert 30 < y[:few].sum() < 0.02 * few

    def judged(seed, **given):
        if cls is BudgetSVC:
            given["random_state"] = seed
        machine = cls(**given).fit(x[:few], y[:few])
        return average_precision_score(y[few:], machine.decision_function(x[few:]))

    plain = np.median([judged(s) for s in range(2)])
    assert min(judged(s, **TUNED) for s in range(2)) > plain - 0.03


@pytest.mark.parametrize("cls", CLASSES)
def test_few_rows_of_a_class_are_warned_of(cls):
    rare = np.flatnonzero(Y == 1)[10:]
    few = np.delete(np.arange(len(Y)), rare)
    with pytest.warns(UserWarning, match="10 rows of class"):
        cls(**TUNED).fit(X[few], Y[few])
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        cls(**TUNED).fit(X, Y)


#: (function of two columns, rows, columns, classes) without noise.
CLEAN = [
    (f, n, d, k)
    for f in (
        lambda x: x.sum(axis=1),
        lambda x: np.sin(3 * x[:, 0]),
        lambda x: x[:, 0] * x[:, -1],
        lambda x: np.sign(x[:, 0]) + 1e-3 * x[:, -1],
    )
    for n, d in ((60, 2), (200, 5))
    for k in (2, 5)
]


@pytest.mark.parametrize("cls", [BudgetSVC, PrimalSVC])
@pytest.mark.filterwarnings("ignore:C and gamma are tuned")
def test_tuned_is_not_below_the_default_on_clean_problems(cls):
    """Thresholds of a sum, steps, sines, products: the default is a candidate."""
    lost = []
    for at, (f, n, d, k) in enumerate(CLEAN):
        rng = np.random.default_rng(at)
        x = rng.normal(size=(n + 1000, d))
        value = f(x)
        y = np.digitize(value, np.quantile(value, np.arange(1, k) / k))
        plain = cls(random_state=0).fit(x[:n], y[:n]).score(x[n:], y[n:])
        tuned = cls(**TUNED, random_state=0).fit(x[:n], y[:n]).score(x[n:], y[n:])
        lost.append(plain - tuned)
    assert max(lost) < 0.06, lost
    assert np.mean(lost) < -0.03, lost


def test_a_board_of_one_hot_columns():
    """Every column is 0 or 1, and no row is near another one."""
    rng = np.random.default_rng(0)
    board = rng.integers(3, size=(2400, 36))
    lines = board.reshape(-1, 6, 6)
    mine, other = ((lines == side).sum(axis=2) for side in (1, 2))
    score = ((mine >= 3) * 1 - (other >= 3) * 1).sum(axis=1)
    y = np.digitize(score, [-0.5, 0.5])
    x = np.eye(3)[board].reshape(len(board), -1)
    for cls in (BudgetSVC, SVC):
        plain = cls().fit(x[:1600], y[:1600]).score(x[1600:], y[1600:])
        assert cls(**TUNED).fit(x[:1600], y[:1600]).score(x[1600:], y[1600:]) > plain - 0.02


def test_many_columns_of_unit_length():
    rng = np.random.default_rng(0)
    middles = rng.normal(size=(12, 768))
    of = rng.integers(12, size=1500)
    x = 0.35 * middles[of] + rng.normal(size=(1500, 768)) * np.exp(-np.arange(768) / 100) * 2
    x = (x / np.linalg.norm(x, axis=1)[:, None]).astype(np.float32)
    y = of % 4
    for cls in (BudgetSVC, SVC):
        plain = cls().fit(x[:900], y[:900]).score(x[900:], y[900:])
        assert cls(**TUNED).fit(x[:900], y[:900]).score(x[900:], y[900:]) > plain - 0.015


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
