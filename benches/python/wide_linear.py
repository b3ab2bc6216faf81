"""Linear machines of many classes on wide sparse rows, beside LIBLINEAR: processor seconds.

Rows are drawn with a fixed seed: no data set is needed.

    python benches/python/wide_linear.py [--quick]
"""

from __future__ import annotations

import time

import numpy as np
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from budgetsvm import SVC, PrimalSVC
from common import parser


def main():
    asked = parser(__doc__).parse_args()
    X = sp.random(3734, 55_197, density=0.002, format="csr", random_state=0)
    print("| classes | C | machine | CPU s | steps | training accuracy |")
    print("|---|---|---|---|---|---|")
    for n_classes in (5,) if asked.quick else (10, 60, 105):
        y = np.arange(X.shape[0]) % n_classes
        for C in (1.0,) if asked.quick else (1.0, 100.0):
            machines = LinearSVC(C=C), PrimalSVC(kernel="linear", C=C), SVC(kernel="linear", C=C)
            for machine in machines:
                started = time.process_time()
                machine.fit(X, y)
                taken = time.process_time() - started
                steps = np.max(machine.n_iter_)
                print(
                    f"| {n_classes} | {C:g} | {type(machine).__module__.split('.')[0]} "
                    f"{type(machine).__name__} | {taken:.2f} | {steps} | "
                    f"{machine.score(X, y):.3f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
