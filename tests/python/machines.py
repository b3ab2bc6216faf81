"""Fitted machines of every kind, by name, for the tests of what is written of them."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons

import budgetsvm as b
import files

FOLDER = Path(__file__).resolve().parents[1] / "files" / "2"
KERNELS = ["rbf", "laplacian", "matern32", "matern52", "poly", "sigmoid", "linear"]


def rows(n: int = 300, seed: int = 0) -> np.ndarray:
    """Rows about those of `files`, some of them the same."""
    known = files.rows(False, False)
    rng = np.random.default_rng(seed)
    drawn = known[rng.integers(0, len(known), n)]
    return np.concatenate([known, drawn + rng.normal(scale=0.3, size=drawn.shape)])


#: Beside the files: every kernel, votes and their ties, probabilities, what is missing.
MORE: dict[str, Any] = {
    **{f"BudgetSVC {kernel}": b.BudgetSVC(
        budget=10, kernel=kernel, maintenance="remove-smallest", random_state=0)
        for kernel in KERNELS if kernel != "sigmoid"},  # indefinite: its values have no bound
    **{f"SVC {kernel}": b.SVC(kernel=kernel) for kernel in KERNELS},
    "SVC ovo": b.SVC(decision_function_shape="ovo"),
    "SVC break_ties": b.SVC(break_ties=True, kernel="laplacian"),
    "SVC probability": b.SVC(probability=True, random_state=0),
    "NuSVC probability": b.NuSVC(probability=True, nu=0.3, random_state=0),
    "BudgetSVC scaled": b.BudgetSVC(budget=10, feature_scales=[2, 0, 0.5], random_state=0),
    "SVC scaled": b.SVC(feature_scales=[2, 0.1, 0.5]),
    "Nystroem scaled": b.Nystroem(n_components=5, feature_scales=[2, 1, 0.5], random_state=0),
    "PrimalSVC scaled": b.PrimalSVC(kernel="linear", feature_scales=[2, 1, 0.5]),
    "PrimalSVC matern52": b.PrimalSVC(kernel="matern52"),
    "LocalBudgetSVC exact": b.LocalBudgetSVC(n_clusters=3, random_state=0),
    "LocalBudgetSVC laplacian": b.LocalBudgetSVC(
        n_clusters=3, local="bsca", kernel="laplacian", random_state=0),
    "RandomFourier odd": b.RandomFourier(n_components=9, random_state=0),
    "RandomFourier shifted": b.RandomFourier(n_components=8, waves="shifted", random_state=0),
    "Nystroem wide": b.Nystroem(n_components=100, random_state=0),
    "AutoSVC double": b.AutoSVC(random_state=0),
    "AutoSVC missing": b.AutoSVC(random_state=0),
    "BudgetSVR quantiles": b.BudgetSVR(
        budget=8, loss="quantile", quantile=[0.1, 0.5, 0.9], random_state=0),
    "OneClassSVM laplacian": b.OneClassSVM(kernel="laplacian", nu=0.3),
}  # fmt: skip

NAMES = sorted(name for name, *_ in files.cases()) + sorted(MORE)


@cache
def machine(name: str) -> Any:
    """A fitted machine of three features, float64 unless its file is of float32."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name not in MORE:
            return b.load(FOLDER / f"{name}.safetensors")
        X = files.rows(False, False)
        if "missing" in name:
            X = X.copy()
            X[::5, 1] = np.nan
        return clone(MORE[name]).fit(X, files.targets("values" if "SVR" in name else "several"))


@cache
def of_iris(probability: bool = True) -> Any:
    """Four features, three classes that are text."""
    X, y = load_iris(return_X_y=True)
    return b.SVC(probability=probability, random_state=0).fit(X, np.array(["a", "bb", "c"])[y])


@cache
def of_moons() -> Any:
    return b.BudgetSVC(budget=20, random_state=0).fit(*make_moons(500, noise=0.1, random_state=0))


#: Machines, numbers of classes and methods of `calibrate`; the logistic loss needs none.
CALIBRATED = [
    f"{name} {kind} {method}"
    for name in ("BudgetSVC", "SVC")
    for kind in ("two", "several")
    for method in ("sigmoid", "isotonic", "temperature", "log_loss")
    if (name, method) != ("SVC", "log_loss")
]


@cache
def calibrated(name: str) -> Any:
    """A machine with probabilities."""
    cls, kind, method = name.split()
    machine = getattr(b, cls)(**({"budget": 10, "random_state": 0} if cls == "BudgetSVC" else {}))
    X, y = files.rows(False, False), files.targets(kind)
    if method == "log_loss":
        return machine.set_params(loss="log_loss").fit(X, y)
    return machine.fit(X, y).calibrate(X, y, method=method, cv="prefit")
