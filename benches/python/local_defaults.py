"""LocalBudgetSVC at its defaults beside SVC at the same C and gamma: accuracy and time.

    python benches/python/local_defaults.py
    python benches/python/local_defaults.py --quick

All classification sets, dense ones standardised but for the images, gamma="scale", C = 1, 10 and
100. A share of the time is that of one process's CPU time and of the clock, both machines with all
cores. `--choose` is how the defaults were chosen, by a 20 % part of the training sets: from how
many rows on they are divided, the cells that learn from a row, the directions that wide rows are
projected on, and the machine on a budget in the place of the exact one.
The tables are kept in docs/records/defaults.md.
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
# How many rows are left to learn from, where not all are.
CHOOSING = {
    "adult": (None,), "ijcnn1": (None,), "cod-rna": (None,), "skin": (None,),
    "covtype-2v3": (25_000, 50_000, 100_000, None), "mnist": (None,),
}  # fmt: skip
CHOICES = {
    "one cell": {"size": None},
    **{f"overlap={o}": {"overlap": o} for o in (1, 2, 3, 5)},
    "overlap=2, 2,000 rows a cell": {"overlap": 2, "size": 2000},
    "overlap=4, bsca, budget=200": {"local": "bsca", "budget": 200, "overlap": 4},
}
WIDE = {
    "one cell": {"size": None, "n_components": 784},
    "overlap=2": {"overlap": 2, "n_components": 784},
    **{f"one cell, n_components={p}": {"size": None, "n_components": p} for p in (64, 128, None)},
    **{f"{r:,} rows a cell, overlap={o}, n_components=None": {"overlap": o, "size": r}
       for r, o in ((1000, 4), (2500, 3), (5000, 2))},
}  # fmt: skip


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
            made = f"{cells}" if model.n_components_ == X.shape[1] else f"{cells}, projected"
            yield [
                name, f"{len(y):,}", f"{C:g}", made, f"{exact:.2f}", f"{local:.2f}",
                f"{local - exact:+.2f}", f"{cpu:.2f}", f"{own_cpu:.2f}", f"{own_cpu / cpu:.2f}",
                f"{own_clock / clock:.2f}",
            ]  # fmt: skip


def choose(options):
    for name in options.data_sets:
        X, y, _, _ = rows_of(options, name)
        every, X_held, labels, y_held = train_test_split(X, y, test_size=0.2, random_state=0)
        for n, C in ((n, C) for n in CHOOSING[name] for C in options.costs):
            X, y = every[:n], labels[:n]
            exact = SVC(C=C)
            cpu, _ = spent(exact.fit, X, y)
            base = 100 * exact.score(X_held, y_held)
            for label, choice in (WIDE if name in IMAGES else CHOICES).items():
                settings = {"size": 1000, "C": C, "random_state": 0, **choice}
                size = settings.pop("size") or len(y)
                model = LocalBudgetSVC(max(1, len(y) // size), **settings)
                own, _ = spent(model.fit, X, y)
                score = 100 * model.score(X_held, y_held)
                shown = (f"{base:.2f}", f"{score - base:+.2f}", f"{own / cpu:.2f}")
                yield [name, f"{len(y):,}", f"{C:g}", label, *shown]


def main():
    made = parser(__doc__)
    made.add_argument("--choose", action="store_true", help="how the defaults were chosen")
    made.add_argument("--data-sets", nargs="+", choices=SETS)
    made.add_argument("--costs", nargs="+", type=float, default=[1.0, 10.0, 100.0])
    options = made.parse_args()
    options.data_sets = options.data_sets or list(CHOOSING if options.choose else SETS)
    if options.quick:
        options.data_sets = ["ijcnn1"] if options.choose else list(QUICK)
        options.costs = [1.0]
    require(options.data, options.data_sets)
    rows = []
    for row in choose(options) if options.choose else beside(options):
        print(" | ".join(row), flush=True)
        rows.append(row)
    header = (
        ["data", "rows", "C", "machine", "SVC %", "points", "share of SVC's CPU time"]
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
