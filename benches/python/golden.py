"""Whether a change of structure left the fitted machines alone.

    python benches/python/golden.py write FILE      # before the change: every estimator's decisions
    python benches/python/golden.py compare FILE    # after it: how far they moved

Every estimator is fitted in both floats, on dense and CSR rows, for two and several classes (or
regression), with one and two threads, in the configurations that take another path through the
code; what is kept is the decision values (or features) of unseen rows. `compare` prints the largest
change of each, relative to the largest value, says how many are the same bits, and fails beyond
1e-12 in float64 or 1e-6 in float32.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits

import budgetsvm as b
from budgetsvm.datasets import load_adult

LIMITS = {"float64": 1e-12, "float32": 1e-6}
ONLINE = (
    "KernelPerceptron KernelOGD RandomizedBudgetPerceptron Stoptron Forgetron Projectron "
    "ProjectronPlusPlus BudgetPassiveAggressive BudgetOGD FourierOGD NystroemOGD "
    "SparsePassiveAggressive"
).split()


def data(kind: str, dtype: str, sparse: bool) -> tuple[Any, np.ndarray, Any]:
    """Training rows, targets and unseen rows."""
    if kind == "many":
        X, y = load_digits(return_X_y=True)
        keep = y < 4
        X, y = X[keep] / 16, y[keep]
        train, unseen = slice(0, 480), slice(480, 700)
    else:
        X, y = load_adult()[:2]
        X = X.toarray()
        train, unseen = slice(0, 900), slice(2000, 2300)
        if kind == "values":
            rng = np.random.RandomState(0)
            y = np.tanh(X @ rng.randn(X.shape[1])) + 0.05 * rng.randn(len(X))
    X = X.astype(dtype)
    make: Callable[[Any], Any] = sp.csr_matrix if sparse else np.asarray
    return make(X[train]), y[train], make(X[unseen])


def first_columns(X: Any) -> np.ndarray:
    """Parametric functions of rows."""
    return X[:, :3].toarray() if sp.issparse(X) else X[:, :3]


def estimators(kind: str) -> Iterator[tuple[str, Any]]:
    """Names and unfitted estimators."""
    c = {"gamma": 0.05, "C": 4.0}
    r = {"random_state": 3}
    if kind == "values":
        yield "BudgetSVR", b.BudgetSVR(budget=40, **c, **r)
        yield "BudgetSVR-intercept", b.BudgetSVR(budget=40, fit_intercept=True, **c, **r)
        yield "BudgetSVR-refine", b.BudgetSVR(budget=20, refine=True, refine_iter=15, **c, **r)
        yield "BudgetSVR-exact", b.BudgetSVR(budget=1000, **c, **r)
        yield "SVR", b.SVR(**c)
        yield "SVR-mpd", b.SVR(solver="mpd", **c)
        yield "NuSVR", b.NuSVR(**c)
        yield "OneClassSVM", b.OneClassSVM(gamma=0.05, nu=0.2)
        yield "BudgetOneClassSVM", b.BudgetOneClassSVM(budget=40, gamma=0.05, nu=0.2, **r)
        yield "PrimalSVR", b.PrimalSVR(**c)
        yield "PrimalSVR-basis", b.PrimalSVR(basis="random", n_components=40, **c, **r)
        yield "PrimalSVR-linear", b.PrimalSVR(kernel="linear", C=1)
        yield "AssetSVR", b.AssetSVR(n_components=40, **c, **r)
        yield "AssetSVR-dual", b.AssetSVR(n_components=40, solver="dual", **c, **r)
        yield "SemiparametricSVR", b.SemiparametricSVR(functions=first_columns, **c)
        return
    yield "BudgetSVC", b.BudgetSVC(budget=40, **c, **r)
    for name in ("multi-merge", "remove-smallest", "remove-random", "project", "stop"):
        yield (
            f"BudgetSVC-{name}",
            b.BudgetSVC(budget=40, maintenance=name, polishing=False, **c, **r),
        )
    yield "BudgetSVC-golden", b.BudgetSVC(budget=40, merge_search="golden", **c, **r)
    yield "BudgetSVC-bsgd", b.BudgetSVC(budget=40, solver="bsgd", polishing=False, **c, **r)
    yield "BudgetSVC-separate", b.BudgetSVC(budget=40, shared=False, **c, **r)
    yield "BudgetSVC-refine", b.BudgetSVC(budget=20, refine=True, refine_iter=15, **c, **r)
    yield "BudgetSVC-exact", b.BudgetSVC(budget=1000, **c, **r)
    yield "BudgetSVC-sca", b.BudgetSVC(budget=None, max_iter=5, **c, **r)
    yield "BudgetSVC-early", b.BudgetSVC(budget=40, early_stopping=True, max_iter=6, **c, **r)
    yield (
        "BudgetSVC-square",
        b.BudgetSVC(budget=40, loss="squared_hinge", fit_intercept=True, **c, **r),
    )
    for kernel in ("laplacian", "poly", "sigmoid", "linear"):
        yield f"BudgetSVC-{kernel}", b.BudgetSVC(budget=40, kernel=kernel, gamma=0.02, **r)
    yield "SVC", b.SVC(**c)
    yield "SVC-mpd", b.SVC(solver="mpd", **c)
    yield "SVC-linear", b.SVC(kernel="linear")
    yield "SVC-poly", b.SVC(kernel="poly", gamma=0.1, coef0=1)
    yield "NuSVC", b.NuSVC(nu=0.1, gamma=0.05)
    yield "PrimalSVC", b.PrimalSVC(**c)
    yield "PrimalSVC-hinge", b.PrimalSVC(loss="hinge", **c)
    yield "PrimalSVC-cg", b.PrimalSVC(solver="cg", tol=1e-6, **c)
    yield "PrimalSVC-basis", b.PrimalSVC(basis="kmeans++", n_components=40, **c, **r)
    yield "PrimalSVC-linear", b.PrimalSVC(kernel="linear", C=1)
    yield "PrimalSVC-tune", b.PrimalSVC(tune=True, tune_size=200, **r)
    yield "AssetSVC", b.AssetSVC(n_components=40, **c, **r)
    yield "AssetSVC-fourier", b.AssetSVC(n_components=40, features="fourier", **c, **r)
    yield "AssetSVC-star", b.AssetSVC(n_components=40, strongly_convex=True, **c, **r)
    yield "AssetSVC-dual", b.AssetSVC(n_components=40, solver="dual", **c, **r)
    yield "LocalBudgetSVC", b.LocalBudgetSVC(n_clusters=5, budget=30, **c, **r)
    yield "LocalBudgetSVC-bsca", b.LocalBudgetSVC(n_clusters=5, budget=30, local="bsca", **c, **r)
    yield "SemiparametricSVC", b.SemiparametricSVC(functions=first_columns, **c)
    yield "Nystroem", b.Nystroem(n_components=30, gamma=0.05, **r)
    yield "RandomFourier", b.RandomFourier(n_components=30, gamma=0.05, **r)
    yield "IncompleteCholesky", b.IncompleteCholesky(n_components=30, gamma=0.05)
    for name in ONLINE:
        size = {} if "budget" not in getattr(b, name)().get_params() else {"budget": 30}
        yield name, getattr(b, name)(gamma=0.05, **size, **r)
        yield f"{name}-average", getattr(b, name)(gamma=0.05, average=True, max_iter=2, **size, **r)


def decisions() -> Iterator[tuple[str, np.ndarray]]:
    """What every estimator says of unseen rows."""
    for kind in ("two", "many", "values"):
        for dtype in LIMITS:
            for sparse in (False, True):
                X, y, unseen = data(kind, dtype, sparse)
                for name, estimator in estimators(kind):
                    for threads in (1, 2):
                        key = f"{kind}/{dtype}/{'csr' if sparse else 'dense'}/{threads}/{name}"
                        if "n_jobs" in estimator.get_params():
                            estimator.set_params(n_jobs=threads)
                        yield key, outcome(estimator.fit, X, y, estimator, unseen)
                        if kind != "values" and hasattr(estimator, "partial_fit"):
                            part = outcome(
                                estimator.partial_fit, X[:100], y[:100], estimator, unseen
                            )
                            yield f"{key}-partial", part


def outcome(train: Any, X: Any, y: Any, estimator: Any, unseen: Any) -> np.ndarray:
    try:
        train(X, y)
    except (ValueError, TypeError) as error:
        # Combinations that are refused stay refused.
        return np.array([str(error)])
    return values(estimator, unseen)


def values(estimator: Any, X: Any) -> np.ndarray:
    for name in ("decision_function", "transform", "predict"):
        if hasattr(estimator, name):
            return np.asarray(getattr(estimator, name)(X))
    raise TypeError(estimator)


def compare(before: Any) -> int:
    worst: dict[str, float] = {}
    same, moved, wrong = 0, 0, []
    for key, now in decisions():
        then = before[key]
        if now.dtype.kind == "U" or then.dtype.kind == "U" or now.shape != then.shape:
            if not (now.dtype.kind == then.dtype.kind == "U"):
                wrong.append(f"{key}: {then.shape} {then.dtype} became {now.shape} {now.dtype}")
            continue
        if np.array_equal(now, then, equal_nan=True):
            same += 1
            continue
        moved += 1
        scale = max(float(np.abs(then).max()), 1e-300)
        change = float(np.abs(now - then).max()) / scale
        name = key.split("/")[-1]
        worst[name] = max(worst.get(name, 0.0), change)
        if not change <= LIMITS[key.split("/")[1]]:
            wrong.append(f"{key}: moved by {change:.1e}")
    for name, change in sorted(worst.items(), key=lambda item: -item[1]):
        print(f"{name:40s} {change:.1e}")
    print(f"{same} with the same bits, {moved} moved, {len(wrong)} beyond the limit")
    for line in wrong:
        print("  ", line)
    return bool(wrong)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["write", "compare"])
    parser.add_argument("file")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.what == "write":
        found = dict(decisions())
        np.savez_compressed(arguments.file, **{k.replace("/", "|"): v for k, v in found.items()})
        print(f"{len(found)} decisions written to {arguments.file}")
        return 0
    with np.load(arguments.file) as stored:
        return compare({key.replace("|", "/"): stored[key] for key in stored.files})


if __name__ == "__main__":
    sys.exit(main())
