"""`budgetsvm.serve`: the answers of the estimator, and nothing imported for them."""

from __future__ import annotations

import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_classification

import budgetsvm
from budgetsvm import serve

X, Y = make_classification(300, 6, n_informative=4, n_classes=3, random_state=0)
KIND = {"gamma": 0.2, "random_state": 0}
EXACT = ("svc", "ties", "pairs", "probability", "exact svr", "exact one class")
MODELS = {
    "budget": budgetsvm.BudgetSVC(budget=20, **KIND),
    "each": budgetsvm.BudgetSVC(budget=20, shared=False, **KIND),
    "log_loss": budgetsvm.BudgetSVC(budget=20, loss="log_loss", **KIND),
    "primal": budgetsvm.PrimalSVC(**KIND),
    "linear": budgetsvm.PrimalSVC(kernel="linear"),
    "asset": budgetsvm.AssetSVC(**KIND),
    "local": budgetsvm.LocalBudgetSVC(n_clusters=3, **KIND),
    "svc": budgetsvm.SVC(gamma=0.2),
    "ties": budgetsvm.SVC(gamma=0.2, break_ties=True),
    "pairs": budgetsvm.SVC(gamma=0.2, decision_function_shape="ovo"),
    "probability": budgetsvm.SVC(gamma=0.2, probability=True, random_state=0),
    "online": budgetsvm.BudgetOGD(budget=20, **KIND),
    "fourier": budgetsvm.FourierOGD(**KIND),
    "nystroem": budgetsvm.NystroemOGD(budget=20, **KIND),
    "auto": budgetsvm.AutoSVC(budget=30, random_state=0),
    "svr": budgetsvm.BudgetSVR(budget=20, **KIND),
    "exact svr": budgetsvm.SVR(gamma=0.2),
    "auto svr": budgetsvm.AutoSVR(budget=30, random_state=0),
    "one class": budgetsvm.BudgetOneClassSVM(budget=20, **KIND),
    "exact one class": budgetsvm.OneClassSVM(gamma=0.2),
}


def saved(model, path, k):
    y = Y if k == 3 else (Y > 0).astype(int)
    labels = np.array(["no", "so", "yes"])[y]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if "SVR" in type(model).__name__:
            model.fit(X, X[:, 0] * X[:, 1])
        elif "OneClass" in type(model).__name__:
            model.fit(X)
        else:
            model.fit(X, labels)
    model.save(path)
    return labels


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_the_answers_are_those_of_the_estimator(name, k, tmp_path):
    model, path = clone(MODELS[name]), tmp_path / "model.safetensors"
    labels = saved(model, path, k)

    def same(served):
        for rows in (X, X[:1], X.astype(np.float32), sp.csr_matrix(X), X.tolist()):
            wanted = X if name in EXACT and not isinstance(rows, np.ndarray) else rows
            np.testing.assert_array_equal(served.predict(rows), model.predict(wanted))
            if hasattr(model, "decision_function"):
                np.testing.assert_array_equal(
                    served.decision_function(rows), model.decision_function(wanted)
                )
            if hasattr(model, "predict_proba"):
                np.testing.assert_allclose(
                    served.predict_proba(rows), model.predict_proba(wanted), atol=1e-7
                )
            else:
                with pytest.raises(AttributeError, match="no probabilities"):
                    served.predict_proba(rows)

    same(serve.load(path))
    if hasattr(model, "calibrate"):
        model.calibrate(X, labels, cv=3)
        model.save(path)
        same(serve.load(path, n_jobs=1))


SILENT = """
import sys
from budgetsvm import serve
model = serve.load(sys.argv[1])
import numpy as np
rows = np.load(sys.argv[2])
np.save(sys.argv[3], model.predict_proba(rows))
model.predict(rows), model.decision_function(rows)
found = [name for name in ("sklearn", "scipy", "pandas") if name in sys.modules]
assert not found, found
"""


@pytest.mark.parametrize("name", ["budget", "svc", "auto"])
def test_neither_scikit_learn_nor_scipy_is_imported(name, tmp_path):
    model, path = clone(MODELS[name]), tmp_path / "model.safetensors"
    labels = saved(model, path, 3)
    model.calibrate(X, labels, cv=3).save(path)
    np.save(tmp_path / "rows.npy", X)
    out = tmp_path / "out.npy"
    subprocess.run(
        [sys.executable, "-c", SILENT, str(path), str(tmp_path / "rows.npy"), str(out)], check=True
    )
    np.testing.assert_array_equal(np.load(out), model.predict_proba(X))


IMPORTING = """
import sys


def held():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


before = held()
import budgetsvm.serve
print((held() - before) / 1024, *sorted({"scipy", "sklearn"} & set(sys.modules)))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is told in other places elsewhere")
def test_importing_it_is_small():
    # How long it takes: benches/python/serving.py.
    told = subprocess.check_output([sys.executable, "-c", IMPORTING], text=True).split()
    assert told[1:] == []
    assert 1 < float(told[0]) <= 40


def test_threads_may_predict_at_once(tmp_path):
    model, path = clone(MODELS["budget"]), tmp_path / "model.safetensors"
    saved(model, path, 3)
    served = serve.load(path)
    wanted = served.decision_function(X)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(served.decision_function, [X] * 64):
            np.testing.assert_array_equal(found, wanted)


def test_what_is_refused(tmp_path):
    path = tmp_path / "model.safetensors"
    saved(clone(MODELS["budget"]), path, 3)
    served = serve.load(path)
    for rows, match in [
        (X[:, :3], "must be of shape"),
        (X[0], "must be of shape"),
        (np.full((1, 6), np.nan), "NaN"),
        (sp.csr_matrix(X[:, :3]), "must have 6 features"),
        (sp.csr_matrix(np.full((1, 6), np.inf)), "infinity"),
    ]:
        with pytest.raises(ValueError, match=match):
            served.predict(rows)
    budgetsvm.Nystroem(n_components=5).fit(X).save(path)
    with pytest.raises(ValueError, match=r"Nystroem is a transformer.*budgetsvm\.load"):
        serve.load(path)
    budgetsvm.SemiparametricSVC(X[:, :1]).fit(X, Y > 0).save(path)
    with pytest.raises(ValueError, match=r"SemiparametricSVC has functions.*budgetsvm\.load"):
        serve.load(path)
    path.write_bytes(b"nothing")
    with pytest.raises(ValueError, match="not a valid"):
        serve.load(path)
    with pytest.raises(FileNotFoundError):
        serve.load(tmp_path / "absent.safetensors")


def test_every_name_of_the_package_is_there():
    for name in budgetsvm.__all__:
        assert getattr(budgetsvm, name) is not None
        assert name in dir(budgetsvm)
    places = [name for names in budgetsvm._PLACES.values() for name in names]
    assert sorted([*places, "__version__"]) == sorted([*budgetsvm.__all__, "load"])
    with pytest.raises(AttributeError, match="has no attribute"):
        _ = budgetsvm.NoSuchMachine
