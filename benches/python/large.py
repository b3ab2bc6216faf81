"""Large budgets and many rows: seconds and memory of whole fits, polish included.

    python benches/python/large.py [--only covtype million growth] [--seconds 3000] [--jobs 2]

`covtype`: B = 10,000 on covtype-2v3. `million`: B = 10,000 on 10^6 rows of 20 features, no two
alike. `growth`: B = 1000 at 10^6 and 10^7 rows of 20 features; the time a row may grow 1.2-fold.
Each fit runs in a process of its own: memory is the peak above what the process held with its input
in place, and `--seconds` is its `max_time`, which a row names when it ended there.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import budgetsvm
import polish
from budgetsvm import BudgetSVC
from common import machine, markdown, parser, require, write
from scaling import megabytes

GROWTH_BAR = 1.2
MEMORY_BAR = 1500  # MB
SPREAD = {"C": 10, "gamma": 0.15}
CASES = {
    "covtype": [("covtype-2v3", 10_000)],
    "million": [(1_000_000, 10_000)],
    "growth": [(1_000_000, 1000), (10_000_000, 1000)],
}


def distinct(n: int, seed: int):
    """Rows that are all different, made a part at a time; five of 20 features matter."""
    rng = np.random.default_rng(seed)
    X, y = np.empty((n, 20), dtype=np.float32), np.empty(n, dtype=np.int8)
    for first in range(0, n, 100_000):
        part = X[first : first + 100_000]
        part[:] = rng.random(part.shape, dtype=np.float32)
        side = (part[:, 0] - 0.5) * (part[:, 1] - 0.5) * 4 + np.sin(4 * part[:, 2]) - part[:, 3]
        y[first : first + 100_000] = np.where(side > 0, 1, -1)
    return X, y


def fit(case: dict) -> dict:
    """One fit, in this process."""
    what, budget = case["what"], case["budget"]
    if isinstance(what, str):
        X, y, X_test, y_test = polish.data(Path(case["data"]), what)
        settings = next(found[1] for found in polish.CASES if found[0] == what)
    else:
        (X, y), (X_test, y_test), settings = distinct(what, 0), distinct(20_000, 1), SPREAD
    model = BudgetSVC(
        budget, **settings, random_state=0, n_jobs=case["jobs"], max_time=case["seconds"]
    )
    held, wall, processor = megabytes(peak=False), time.perf_counter(), time.process_time()
    model.fit(X, y)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    above, history = megabytes(peak=True) - held, model.history_
    return {
        "rows": len(X),
        "wall": wall,
        "processor": processor,
        "above": above,
        "passes": float(history["time"][history["phase"] == 0][-1]),
        "score": float(model.score(X_test, y_test)),
        "stop": model.stop_reason_,
    }


def measured(case: dict) -> dict:
    """The same in a new process."""
    command = [sys.executable, __file__, "--case", json.dumps(case)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{case} failed.")
    return json.loads(done.stdout.splitlines()[-1])


def main():
    options = parser(__doc__)
    options.add_argument("--only", nargs="*", choices=list(CASES), default=list(CASES))
    options.add_argument("--seconds", type=float, default=3000)
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--case", help="one fit, for a process of its own")
    options = options.parse_args()
    if options.case:
        print(json.dumps(fit(json.loads(options.case))))
        return
    if "covtype" in options.only:
        require(options.data, ["covtype-2v3"])
    lines = []
    for name in options.only:
        found = []
        for what, budget in CASES[name]:
            case = {"what": what, "budget": budget, "data": str(options.data)}
            run = measured({**case, "jobs": options.jobs, "seconds": options.seconds})
            found.append(run)
            share = 1e6 * run["processor"] / run["rows"]
            lines.append(
                [
                    name,
                    f"{run['rows']:,}",
                    f"{budget:,}",
                    f"{run['wall']:.1f}",
                    f"{run['processor']:.1f}",
                    f"{run['passes']:.1f}",
                    f"{share:.2f}",
                    f"{run['above']:.0f}",
                    f"{run['score']:.2%}",
                    run["stop"],
                ]
            )
            print(" | ".join(lines[-1]), flush=True)
        if name == "growth":
            small, large = (run["processor"] / run["rows"] for run in found)
            verdict = "met" if large <= GROWTH_BAR * small else "MISSED"
            print(f"time a row, 10^7 over 10^6: {large / small:.2f} (<= {GROWTH_BAR}) {verdict}")
        if name == "million":
            verdict = "met" if found[0]["above"] <= MEMORY_BAR else "MISSED"
            print(f"memory: {found[0]['above']:.0f} MB (<= {MEMORY_BAR}) {verdict}")
    header = ["what", "rows", "B", "wall s", "processor s", "passes s", "µs a row", "MB", "test"]
    text = f"{machine()}, {options.jobs} threads, {budgetsvm.__file__}\n\n"
    write(options.out / "large.md", text + markdown([*header, "end"], lines))


if __name__ == "__main__":
    main()
