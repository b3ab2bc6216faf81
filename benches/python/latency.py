"""How long one row waits for its class: a labelled `predict`, from Python, beside scikit-learn's.

Two classes in 123 features, float64 and float32; every machine is asked for one row at a time.
Microseconds: the median over all calls, and what one call in a hundred takes at least.

    python benches/python/latency.py [--calls 5000] [--profile]
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


def main() -> None:
    """Print the table."""
    made = parser(__doc__ or "")
    made.add_argument("--calls", type=int, default=5000)
    made.add_argument("--profile", action="store_true", help="what BudgetSVC's calls are made of")
    options = made.parse_args()
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
