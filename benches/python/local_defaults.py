"""LocalBudgetSVC at its defaults beside SVC at the same C and gamma: accuracy and time.

    python benches/python/local_defaults.py
    python benches/python/local_defaults.py --quick

All classification sets, dense ones standardised but for the images, gamma="scale", C = 1 and 10. A
share of the time is that of one process's CPU time and of the clock, both machines with all cores.
`--choose` is how the defaults were chosen: the cells that learn from a row, the rows of a cell, and
the machine on a budget in the place of the exact one, by a 20 % part of the training sets.
The tables are kept in docs/defaults.md.
"""

from __future__ import annotations

import time

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from budgetsvm import SVC, LocalBudgetSVC
from common import load, machine, markdown, parser, require, timed, write

SETS = (
    "adult", "ijcnn1", "cod-rna", "covtype-sample", "covtype-2v3", "skin", "usps", "letter",
    "mnist", "reuters-money-fx", "elec2-stream", "madelon", "spambase", "phishing", "higgs-sample",
    "satimage", "covtype-classes",
)  # fmt: skip
QUICK = ("satimage", "ijcnn1")
IMAGES = ("mnist", "usps")
# Those that the defaults divide, but for the images, which take long.
CHOOSING = ("adult", "ijcnn1", "cod-rna", "covtype-2v3", "skin")
CHOICES = {
    **{f"overlap={o}": {"overlap": o} for o in (1, 2, 4, 8)},
    "500 rows a cell": {"size": 500},
    "2,000 rows a cell": {"size": 2000},
    "bsca, budget=200": {"local": "bsca", "budget": 200, "overlap": 4, "size": 1000},
}


def rows_of(options, name):
    X, y, X_test, y_test = load(options.data, name)
    if not sp.issparse(X) and name not in IMAGES:
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    if options.quick:
        X, y = X[:12_000], y[:12_000]
    return X.astype(np.float32), y, X_test.astype(np.float32), y_test


def spent(action, *arguments):
    """CPU seconds of the process, and seconds of the clock."""
    before = time.process_time()
    _, seconds = timed(action, *arguments)
    return time.process_time() - before, seconds


def beside(options):
    for name in options.data_sets:
        X, y, X_test, y_test = rows_of(options, name)
        for C in options.costs:
            found = []
            for model in (SVC(C=C), LocalBudgetSVC(C=C, random_state=0)):
                times = spent(model.fit, X, y)
                found.append((100 * model.score(X_test, y_test), *times))
            (exact, cpu, clock), (local, own_cpu, own_clock) = found
            cells = len(model.n_support_)
            yield [
                name, f"{len(y):,}", f"{C:g}", f"{cells}", f"{exact:.2f}", f"{local:.2f}",
                f"{local - exact:+.2f}", f"{cpu:.2f}", f"{own_cpu:.2f}", f"{own_cpu / cpu:.2f}",
                f"{own_clock / clock:.2f}",
            ]  # fmt: skip


def choose(options):
    for name in options.data_sets:
        X, y, _, _ = rows_of(options, name)
        X, X_held, y, y_held = train_test_split(X, y, test_size=0.2, random_state=0)
        exact = SVC()
        cpu, _ = spent(exact.fit, X, y)
        base = 100 * exact.score(X_held, y_held)
        for label, choice in CHOICES.items():
            settings = dict(choice)
            if "size" in settings:
                settings["n_clusters"] = max(1, len(y) // settings.pop("size"))
            model = LocalBudgetSVC(**settings, random_state=0)
            own, _ = spent(model.fit, X, y)
            score = 100 * model.score(X_held, y_held)
            yield [name, label, f"{base:.2f}", f"{score - base:+.2f}", f"{own / cpu:.2f}"]


def main():
    made = parser(__doc__)
    made.add_argument("--choose", action="store_true", help="how the defaults were chosen")
    made.add_argument("--data-sets", nargs="+", choices=SETS)
    made.add_argument("--costs", nargs="+", type=float, default=[1.0, 10.0])
    options = made.parse_args()
    options.data_sets = options.data_sets or list(CHOOSING if options.choose else SETS)
    if options.quick:
        options.data_sets, options.costs = list(QUICK), [1.0]
    require(options.data, options.data_sets)
    rows = []
    for row in choose(options) if options.choose else beside(options):
        print(" | ".join(row), flush=True)
        rows.append(row)
    header = (
        ["data", "machine", "SVC %", "points", "share of SVC's CPU time"]
        if options.choose
        else [
            "data", "rows", "C", "cells", "SVC %", "local %", "points", "SVC CPU s",
            "local CPU s", "share of CPU", "share of the clock",
        ]
    )  # fmt: skip
    name = "local_choices.md" if options.choose else "local_defaults.md"
    write(options.out / name, markdown(header, rows) + f"\n\n{machine()}.")


if __name__ == "__main__":
    main()
