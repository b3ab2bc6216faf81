"""Seconds of a fit that polishes, beside our exact machine: what the solvers of `src/solver/polish`
are chosen by.

    python benches/python/polish.py [--jobs 2] [--rounds 3] [--only letter usps] [--tol 1e-4]

Minima over interleaved rounds, of wall and of processor seconds; PYTHONPATH says which build. Where
passes take most of a fit, `passes` says how much.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.preprocessing import MinMaxScaler

import budgetsvm
from budgetsvm import SVC, BudgetSVC
from common import load, machine, markdown, parser, require, write

# (data, settings, budgets, whether the exact machine is timed too)
CASES = [
    ("adult", {"C": 32, "gamma": 2**-7}, [100], False),
    ("ijcnn1", {"C": 32, "gamma": 2}, [500], False),
    ("cod-rna", {"C": 32, "gamma": 8}, [500], False),
    ("satimage", {"C": 10, "gamma": 1}, [200], True),
    ("usps", {"C": 10, "gamma": 1 / 128}, [1000], True),
    ("letter", {"C": 16, "gamma": 4}, [1000], True),
    ("mnist", {"C": 10, "gamma": 0.02}, [1000], True),
    ("covtype-2v3", {"C": 32, "gamma": 32}, [1000, 2000, 4000], True),
]
SCALED = {"satimage", "covtype-2v3"}


def data(folder, name):
    X, y, X_test, y_test = load(folder, name)
    if name in SCALED:
        scaler = MinMaxScaler().fit(X)
        X, X_test = (scaler.transform(part).astype(np.float32) for part in (X, X_test))
    return X, y, X_test, y_test


def settings_of(name):
    """C and γ of a set."""
    return next(case[1] for case in CASES if case[0] == name)


def clocked(model, X, y):
    """Wall and processor seconds of a fit."""
    wall, processor = time.perf_counter(), time.process_time()
    model.fit(X, y)
    return time.perf_counter() - wall, time.process_time() - processor


def rows(options):
    for name, settings, budgets, exact in CASES:
        if options.only and name not in options.only:
            continue
        X, y, X_test, y_test = data(options.data, name)
        shared = {**settings, "n_jobs": options.jobs}
        models = {}
        for budget in budgets:
            machine_of = {**shared, "budget": budget, "tol": options.tol, "random_state": 0}
            models[f"B = {budget}"] = BudgetSVC(**machine_of)
            models[f"B = {budget}, passes"] = BudgetSVC(**machine_of, polishing=False)
            if options.refine:
                models[f"B = {budget}, refined"] = BudgetSVC(**machine_of, refine=True)
        if exact:
            models["SVC"] = SVC(**shared)
        times = {label: [] for label in models}
        for _ in range(options.rounds):
            for label, model in models.items():
                times[label].append(clocked(model, X, y))
        for label, model in models.items():
            wall, processor = np.min(times[label], axis=0)
            smoothed = getattr(model, "objective_", {}).get("smoothed")
            yield [
                name,
                label,
                f"{wall:.2f}",
                f"{processor:.2f}",
                f"{model.score(X_test, y_test):.2%}",
                "" if smoothed is None else f"{smoothed:,.1f}",
            ]


def main():
    options = parser(__doc__)
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--only", nargs="*", default=[])
    options.add_argument("--tol", type=float, default=1e-3, help="of the machines on a budget")
    options.add_argument("--refine", action="store_true")
    options = options.parse_args()
    require(
        options.data, [case[0] for case in CASES if not options.only or case[0] in options.only]
    )
    header = ["data", "machine", "wall s", "processor s", "accuracy", "objective"]
    text = f"{machine()}, {options.jobs} threads, {budgetsvm.__file__}\n\n"
    write(options.out / "polish.md", text + markdown(header, list(rows(options))))


if __name__ == "__main__":
    main()
