"""Small exact problems beside scikit-learn: `SVC` and `SVR` from 50 to 2,000 rows.

Processor time and time on the clock of one fit, the least of several, taken in turns; ratios below
1 are in our favour. Rows are drawn with fixed seeds: no data set is needed.

    python benches/python/small_exact.py [--probability] [--quick]
"""

from __future__ import annotations

import functools
import time
import warnings

import numpy as np
import sklearn.svm
from sklearn.exceptions import ConvergenceWarning

import budgetsvm
from common import parser
from record import Record

SIZES = (50, 100, 200, 500, 1000, 2000)


def rows(n, n_classes, noise, seed=0):
    """Normal rows of 20 features; the class is the sector of the first two, blurred by noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 20))
    angle = np.arctan2(*(X[:, :2] + noise * 0.2 * rng.normal(size=(n, 2))).T)
    return X, np.floor((angle + np.pi) / (2 * np.pi) * n_classes).astype(int) % n_classes


def least(fits, repeats):
    """For each of the fits the least processor time and time on the clock, in ms."""
    best = [[np.inf, np.inf] for _ in fits]
    for _ in range(repeats):
        for at, fit in enumerate(fits):
            cpu, wall = time.process_time(), time.perf_counter()
            fit()
            taken = time.process_time() - cpu, time.perf_counter() - wall
            best[at] = [min(a, 1e3 * b) for a, b in zip(best[at], taken, strict=True)]
    return best


def main():
    options = parser(__doc__)
    options.add_argument("--probability", action="store_true", help="with probability=True")
    asked = options.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", FutureWarning)
    sizes = SIZES[:2] if asked.quick else SIZES
    extra = {"probability": True, "random_state": 0} if asked.probability else {}
    header = ["machine", "n", "C", "ours, CPU ms", "scikit-learn", "ratio", "on the clock, ms",
              "scikit-learn", "ratio"]  # fmt: skip
    table = []
    for name, n_classes in (("2 classes", 2), ("5 classes", 5), ("values", 0)):
        if asked.probability and not n_classes:
            continue
        for n in sizes:
            for C in (1.0, 100.0):
                X, y = rows(n, n_classes or 2, 0.5 if C == 1.0 else 2.0)
                kind = "SVC"
                if not n_classes:
                    kind, y = "SVR", np.sin(X[:, 0]) + X[:, 1] * 0.5
                ours = getattr(budgetsvm, kind)(C=C, **extra)
                other = getattr(sklearn.svm, kind)(C=C, **extra)
                repeats = 3 if asked.quick else 5 + 4000 // n
                if asked.probability:
                    repeats = 3 + 400 // n
                fits = [functools.partial(model.fit, X, y) for model in (ours, other)]
                for fit in fits:
                    fit()
                (cpu, wall), (cpu_other, wall_other) = least(fits, repeats)
                times = (cpu, cpu_other, cpu / cpu_other, wall, wall_other, wall / wall_other)
                table.append([name, str(n), f"{C:g}", *(f"{value:.2f}" for value in times)])
                print(*table[-1], flush=True)
    which = "with probabilities" if asked.probability else "classes and values"
    with Record(asked, "small_exact", seeds="fixed rows; the least of several fits") as record:
        record.table(which, f"Small exact problems, 20 features, {which}", header, table)


if __name__ == "__main__":
    main()
