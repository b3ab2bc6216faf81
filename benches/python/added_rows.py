"""Whether rows that are added help: accuracy of one fit on ever more rows of one distribution.

50 normal features, of which five matter, through a product and sines: the sign of
``x0 x1 + sin(2 x2) + x3 sin(x4)``. A machine on a budget chooses its terms in one pass; each row of
a long pass beyond the budget merges two of them, so that terms drift into the middle of the rows
(their norm is told; that of the rows is 7). No data set is needed.

    python benches/python/added_rows.py [--budget 200] [--seeds 3] [--most 1000000] [--beside]
"""

from __future__ import annotations

import time

import numpy as np

from budgetsvm import BudgetSVC
from common import parser

SIZES = (100_000, 200_000, 400_000, 1_000_000, 2_000_000, 5_000_000)


def rows(n, seed):
    X = np.random.default_rng(seed).normal(size=(n, 50)).astype(np.float32)
    return X, np.sign(X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3] * np.sin(X[:, 4]))


def main():
    options = parser(__doc__)
    options.add_argument("--budget", type=int, default=200)
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--most", type=int, default=1_000_000)
    options.add_argument("--beside", action="store_true", help="what else gains accuracy")
    asked = options.parse_args()
    sizes = [20_000, 50_000] if asked.quick else [n for n in SIZES if n <= asked.most]
    X, y = rows(max(sizes), 0)
    X_test, y_test = rows(50_000, 1)
    print("| rows | accuracy (each seed) | mean | norm of terms | CPU s |")
    print("|---|---|---|---|---|")
    for n in sizes:
        accuracy, norm, began = [], [], time.process_time()
        for seed in range(asked.seeds):
            model = BudgetSVC(asked.budget, random_state=seed).fit(X[:n], y[:n])
            accuracy.append(100 * model.score(X_test, y_test))
            norm.append(np.linalg.norm(model.support_vectors_, axis=1).mean())
        each = ", ".join(f"{a:.2f}" for a in accuracy)
        seconds = (time.process_time() - began) / asked.seeds
        print(f"| {n:,} | {each} | {np.mean(accuracy):.2f} | {np.mean(norm):.2f} | {seconds:.1f} |")
    if asked.beside:
        for how in ({"refine": True}, {"budget": 1000}, {"feature_scales": "learn"}):
            began = time.process_time()
            model = BudgetSVC(**{"budget": asked.budget, "random_state": 0, **how}).fit(X, y)
            seconds, accuracy = time.process_time() - began, 100 * model.score(X_test, y_test)
            print(f"{len(y):,} rows, {how}: {accuracy:.2f} %, {seconds:.1f} CPU s")


if __name__ == "__main__":
    main()
