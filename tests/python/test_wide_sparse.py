"""What sparse rows cost follows their entries, not the columns that there might be."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import budgetsvm

WIDE = 10**7
#: Left out: those that draw a frequency for every column, those that search a scale for every
#: column and refuse so many, and those that train others.
NOT = {
    "RandomFourier", "FourierOGD", "AutoSVC", "AutoSVR", "BudgetSVCCV", "BudgetSVRCV",
}  # fmt: skip
ESTIMATORS = [
    name
    for name in budgetsvm.__all__
    if isinstance(getattr(budgetsvm, name), type)
    and hasattr(getattr(budgetsvm, name), "fit")
    and name not in NOT
    and not name.startswith("Semiparametric")  # their functions are of dense rows
]
#: How far apart answers may be: single precision where float64 rows do not decide.
NEAR = 1e-6


def rows(width, place, n=40, seed=0):
    """Rows with entries in 30 columns, and the same in 40 columns with ten that they lack."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, 40)) * (rng.random((n, 40)) < 0.4)
    if seed == 0:
        values[:, 30:] = 0.0
    narrow = sp.csr_matrix(values)
    return sp.csr_matrix((narrow.data, place[narrow.indices], narrow.indptr), shape=(n, width))


def make(name, **more):
    kind = getattr(budgetsvm, name)
    known = kind().get_params()
    options = {"gamma": 0.05, "random_state": 0, "max_iter": 5, "n_components": 12, **more}
    if name in ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"):
        options.pop("max_iter")
    return kind(**{key: value for key, value in options.items() if key in known})


def answers(name, width, place, **more):
    model, X, new = make(name, **more), rows(width, place), rows(width, place, seed=1)
    y = X[:, place[0]].toarray()[:, 0] + X[:, place[1]].toarray()[:, 0]
    y = y if name.endswith("SVR") else (y > 0).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
        call = next(c for c in ("decision_function", "transform", "predict") if hasattr(model, c))
        return model, np.abs(getattr(model, call)(new))  # features may change their sign


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "linear"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_answers_are_those_of_the_columns_that_occur(name, kernel, tmp_path):
    more = {"kernel": kernel, "maintenance": "remove-smallest"}
    known = getattr(budgetsvm, name)().get_params()
    if "kernel" not in known and kernel != "rbf":
        pytest.skip("one kernel")
    places = np.sort(np.random.default_rng(5).choice(WIDE, 40, replace=False))
    try:
        _, wanted = answers(name, 40, np.arange(40), **more)
    except ValueError as error:
        pytest.skip(f"not with this kernel: {error}")
    model, found = answers(name, WIDE, places, **more)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=NEAR, atol=NEAR * (1 + np.abs(wanted).max()))
    assert model.n_features_in_ == WIDE
    # A file keeps which columns they are.
    model.save(tmp_path / "wide.safetensors")
    again = budgetsvm.load(tmp_path / "wide.safetensors")
    new = rows(WIDE, places, seed=1)
    call = next(c for c in ("decision_function", "transform", "predict") if hasattr(model, c))
    np.testing.assert_array_equal(getattr(again, call)(new), getattr(model, call)(new))


PEAK = """
    import json, re, sys, warnings
    import numpy as np, scipy.sparse as sp
    import budgetsvm

    warnings.simplefilter("ignore")
    name, width = json.loads(sys.argv[1])

    def status(name):
        with open("/proc/self/status") as told:
            return int(re.search(name + r":\\s+(\\d+)", told.read())[1]) // 1024

    def rows(width):
        columns = np.array([0, 5, 7, width - 1, 3, 5, 8, width - 1000])
        X = sp.csr_matrix((np.ones(8), columns, np.arange(0, 9, 2)), shape=(4, width))
        X.sort_indices()
        return X

    def used(X):
        model = getattr(budgetsvm, name)()
        model.fit(X, [0, 0, 1, 1])
        call = next(c for c in ("predict", "transform") if hasattr(model, c))
        getattr(model, call)(X)

    used(rows(2000))
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")
    before = status("VmRSS")
    used(rows(width))
    print(status("VmHWM") - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc as Linux has it")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_memory_follows_the_entries(name):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PEAK), json.dumps([name, WIDE])],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    if "clear_refs" in done.stderr:
        pytest.skip("this system does not forget a peak")
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) < 300


def test_gamma_is_that_of_all_columns():
    X = rows(WIDE, np.sort(np.random.default_rng(5).choice(WIDE, 40, replace=False)))
    y = np.arange(X.shape[0]) % 2
    variance = X.multiply(X).mean() - X.mean() ** 2
    assert budgetsvm.SVC().fit(X, y)._gamma == pytest.approx(1 / (WIDE * variance))
    found = budgetsvm.BudgetSVC(random_state=0).fit(X, y).decision_function(X)
    told = budgetsvm.BudgetSVC(gamma=1 / (WIDE * variance), random_state=0).fit(X, y)
    np.testing.assert_allclose(found, told.decision_function(X), rtol=1e-9)


def test_training_goes_on_with_columns_that_were_seen():
    places = np.sort(np.random.default_rng(5).choice(WIDE, 40, replace=False))
    X, other = rows(WIDE, places), rows(WIDE, places, seed=1)
    y = np.arange(X.shape[0]) % 2
    model = budgetsvm.BudgetSVC(gamma=0.05, random_state=0).fit(X, y)
    model.partial_fit(X, y)
    with pytest.raises(ValueError, match="columns that fit has not seen"):
        model.partial_fit(other, y)
    slopes = model.gradient(other[:1])
    eps, at = 1e-5, other[:1].indices
    for column in at[:3]:
        move = sp.csr_matrix(([eps], ([0], [column])), shape=other[:1].shape)
        up, down = (model.decision_function(other[:1] + s * move)[0] for s in (1, -1))
        assert slopes.reshape(-1)[column] == pytest.approx((up - down) / (2 * eps), abs=1e-5)
