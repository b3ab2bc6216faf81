"""The exact machines beside scikit-learn's and, where it is installed, scikit-learn-intelex.

Fits of the same problem at cache_size=200 and tol=1e-3, two-class and one-vs-one: seconds of fit
(and of the processor, over all threads) and of prediction, each over this package's; test accuracy,
dual objective recomputed in float64 from what was learnt. All get the same dense rows, `--dtype`
float64 or (as the data are stored) float32. Every machine has fitted a few rows
before; what takes less than `SHORT` seconds is measured `--rounds` times, and the median told.

    python benches/python/exact.py [--data FOLDER] [--only NAME ...] [--without sklearn]
"""

from __future__ import annotations

import importlib
import importlib.metadata
import time
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn
import sklearn.svm
from sklearn.metrics.pairwise import rbf_kernel

import budgetsvm
import common
from record import Record

#: Seconds of a fit that is measured once.
SHORT = 8.0

#: Data set -> C, gamma.
PROBLEMS = {
    "adult": (32.0, 2.0**-7),
    "ijcnn1": (32.0, 2.0),
    "cod-rna": (32.0, 8.0),
    "usps": (10.0, 2.0**-7),
    "letter": (16.0, 4.0),
}


def contenders(without: list[str]) -> dict[str, Any]:
    """The classes to compare, by name and version."""
    found = {f"budgetsvm {budgetsvm.__version__}": budgetsvm.SVC}
    if "intelex" not in without:
        try:
            version = importlib.metadata.version("scikit-learn-intelex")
            found[f"intelex {version}"] = importlib.import_module("sklearnex.svm").SVC
        except (ImportError, importlib.metadata.PackageNotFoundError):
            print("scikit-learn-intelex is not installed: left out")
    if "sklearn" not in without:
        found[f"scikit-learn {sklearn.__version__}"] = sklearn.svm.SVC
    return found


def dense(rows: Any, dtype: str) -> np.ndarray:
    """Dense rows, for all alike; LIBSVM is faster on Adult's CSR rows (flagship.py)."""
    return np.ascontiguousarray(rows.toarray() if sp.issparse(rows) else rows, dtype=dtype)


def dual(model: Any, gamma: float) -> float:
    """The dual objective of a two-class machine, in float64, by blocks."""
    rows, beta = model.support_vectors_, np.asarray(model.dual_coef_)[0]
    quadratic = sum(
        beta[at : at + 1000] @ (rbf_kernel(rows[at : at + 1000], rows, gamma=gamma) @ beta)
        for at in range(0, len(rows), 1000)
    )
    return float(np.abs(beta).sum() - 0.5 * quadratic)


def measure(models: dict[str, Any], data: tuple, rounds: int) -> dict[str, tuple]:
    """Seconds of fit, of the processor in it and of prediction; what was predicted.

    Round by round in turn, so that what else the machine does falls on all alike.
    """
    X, y, X_test = data
    times: dict[str, list] = {label: [] for label in models}
    predicted = {}
    for turn in range(rounds):
        for label, model in models.items():
            if turn and times[label][0][0] >= SHORT:
                continue
            before = time.process_time()
            _, fit = common.timed(model.fit, X, y)
            processor = time.process_time() - before
            predicted[label], predict = common.timed(model.predict, X_test)
            times[label].append((fit, processor, predict))
    return {label: (*np.median(found, axis=0), predicted[label]) for label, found in times.items()}


def main() -> None:
    """Measure and print."""
    parser = common.parser(__doc__)
    parser.add_argument("--only", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--without", nargs="+", choices=["sklearn", "intelex"], default=[])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float64")
    options = parser.parse_args()
    if options.quick:
        options.only, options.rounds = ["usps"], 1
    common.require(options.data, options.only)
    machines = contenders(options.without)
    table, own = [], (np.nan, np.nan)
    for name in options.only:
        X, y, X_test, y_test = common.load(options.data, name)
        X, X_test = dense(X, options.dtype), dense(X_test, options.dtype)
        C, gamma = PROBLEMS[name]
        few = np.concatenate([np.flatnonzero(y == c)[:3] for c in np.unique(y)])
        models = {}
        for label, cls in machines.items():
            models[label] = cls(C=C, gamma=gamma, tol=1e-3, cache_size=200)
            models[label].fit(X[few], y[few]).predict(X_test[:5])
        found = measure(models, (X, y, X_test), options.rounds)
        for label, model in models.items():
            fit, processor, predict, predicted = found[label]
            own = (fit, predict) if machines[label] is budgetsvm.SVC else own
            objective = f"{dual(model, gamma):.2f}" if len(model.classes_) == 2 else ""
            accuracy = 100 * np.mean(predicted == y_test)
            times = [f"{seconds:.3f}" for seconds in (fit, processor, predict)]
            ratios = [f"{fit / own[0]:.1f}", f"{predict / own[1]:.1f}"]
            row = [name, label, *times, *ratios, f"{accuracy:.2f}"]
            table.append([*row, str(len(model.support_)), objective])
            print(" ".join(table[-1]), flush=True)
    times = ["fit s", "fit processor s", "predict s", "fit ratio", "predict ratio"]
    header = ["data", "machine", *times, "accuracy %", "SVs", "dual objective"]
    with Record(options, "exact", seeds=f"none; the median of up to {options.rounds}") as record:
        title = f"Exact machines, dense {options.dtype} rows, cache_size=200, tol=1e-3"
        record.table(f"exact_{options.dtype}", title, header, table)


if __name__ == "__main__":
    main()
