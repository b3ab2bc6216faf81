"""How long one row waits for its class: a labelled `predict`, from Python, beside scikit-learn's.

Two classes in 123 features, float64 and float32; every machine is asked for one row at a time.
Microseconds: the median over all calls, and what one call in a hundred takes at least.

    python benches/python/latency.py [--calls 5000] [--profile] [--batches]

`--batches`: the least time a row of calls of 1 to 4,000 rows, B = 500 on 22 features in float32,
one thread and two.
"""

from __future__ import annotations

import cProfile
import pstats
import time
from typing import Any

import numpy as np
import sklearn.svm
from sklearn.datasets import make_classification

from budgetsvm import SVC, AssetSVC, BudgetSVC, PrimalSVC
from common import parser
from record import Record

MACHINES: dict[str, Any] = {
    "BudgetSVC, budget 100": BudgetSVC(100, random_state=0),
    "BudgetSVC, float32": BudgetSVC(100, random_state=0),
    "SVC": SVC(),
    "PrimalSVC, 100 terms": PrimalSVC(basis="random", n_components=100, random_state=0),
    "PrimalSVC, linear": PrimalSVC(kernel="linear"),
    "AssetSVC, 100 landmarks": AssetSVC(random_state=0),
    "scikit-learn's SVC": sklearn.svm.SVC(),
}


def microseconds(model: Any, rows: np.ndarray, calls: int) -> np.ndarray:
    """The time of each of so many calls."""
    one = [rows[i : i + 1] for i in range(len(rows))]
    for row in one[:100]:
        model.predict(row)
    took = np.empty(calls)
    for call in range(calls):
        row = one[call % len(one)]
        begun = time.perf_counter()
        model.predict(row)
        took[call] = time.perf_counter() - begun
    return took * 1e6


def by_batch(calls: int) -> None:
    """Print the least microseconds a row, by the number of rows of a call."""
    X, y = make_classification(4000, 22, n_informative=10, random_state=0)
    X = X.astype(np.float32)
    sizes = [1, 4, 16, 64, 256, 1000, 4000]
    print("rows a call " + "".join(f"{size:>9,}" for size in sizes))
    for jobs in (1, 2):
        model = BudgetSVC(500, random_state=0, n_jobs=jobs).fit(X, y)
        line = f"{jobs} thread{'s' * (jobs > 1):4} "
        for size in sizes:
            least = float("inf")
            for _ in range(max(20, calls // size)):
                begun = time.perf_counter()
                model.predict(X[:size])
                least = min(least, time.perf_counter() - begun)
            line += f"{1e6 * least / size:9.3f}"
        print(line, flush=True)


def main() -> None:
    """Print the table."""
    made = parser(__doc__ or "")
    made.add_argument("--calls", type=int, default=5000)
    made.add_argument("--profile", action="store_true", help="what BudgetSVC's calls are made of")
    made.add_argument("--batches", action="store_true", help="a row of ever larger batches")
    options = made.parse_args()
    if options.batches:
        by_batch(options.calls)
        return
    X, y = make_classification(2000, 123, n_informative=20, random_state=0)
    table = []
    for name, machine in MACHINES.items():
        rows = X.astype(np.float32) if "float32" in name else X
        model = machine.fit(rows, y)
        took = microseconds(model, rows[:500], options.calls)
        terms = len(model.support_vectors_) if hasattr(model, "support_vectors_") else 0
        median, p99 = np.percentile(took, [50, 99])
        table.append([name, str(terms), f"{median:.1f}", f"{p99:.1f}"])
        print(*table[-1], flush=True)
    with Record(options, "latency", seeds=f"0; {options.calls} calls") as record:
        header = ["machine", "terms", "median, µs", "one in a hundred, µs"]
        record.table("latency", "One row, from Python", header, table)
    if options.profile:
        model = MACHINES["BudgetSVC, budget 100"]
        with cProfile.Profile() as profile:
            microseconds(model, X[:500], options.calls)
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)


if __name__ == "__main__":
    main()
