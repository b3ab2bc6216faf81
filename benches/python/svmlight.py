"""Reading rows of text beside scikit-learn, as ratios of one run.

    python benches/python/svmlight.py

Writes the training rows of the sets that are there (BUDGETSVM_DATA), and rows of our own, as text
into a temporary folder, and reads them by `budgetsvm.data.load_svmlight_file` and by
`sklearn.datasets.load_svmlight_file` in turn, to float64 and to float32. The least of five times
each, by the clock and of the processor (all threads together), which other work on the machine
disturbs less. Bar: five times as fast.
"""

from __future__ import annotations

import os
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file as theirs

from budgetsvm.data import dump_svmlight_file
from budgetsvm.data import load_svmlight_file as ours
from common import load


def sets():
    """Names and rows."""
    rng = np.random.default_rng(0)
    yield "sparse", sp.random(50_000, 1000, 0.05, format="csr", random_state=0)
    yield "dense", rng.normal(size=(50_000, 30))
    folder = os.environ.get("BUDGETSVM_DATA")
    for name in ("adult", "cod-rna", "letter"):
        if folder is None or not (Path(folder) / f"{name}.npz").is_file():
            print(f"left out, not in BUDGETSVM_DATA: {name}")
            continue
        X = load(Path(folder), name)[0]
        yield name, X.astype(np.float64)


def least(reads, path):
    """Seconds by the clock and of the processor of each, least of five turns."""
    times = [[] for _ in reads]
    for _ in range(5):
        for read, own in zip(reads, times, strict=True):
            begin, cpu = time.perf_counter(), time.process_time()
            read(path)
            own.append((time.perf_counter() - begin, time.process_time() - cpu))
    return [tuple(map(min, zip(*own, strict=True))) for own in times]


def main():
    print(f"{os.cpu_count()} cores")
    print("| rows | MB | scikit-learn s | one thread | its CPU | all threads | their CPU |")
    print("|---|---|---|---|---|---|---|")
    worst = np.inf
    with tempfile.TemporaryDirectory() as folder:
        for name, X in sets():
            path = os.path.join(folder, name)
            dump_svmlight_file(X, np.arange(X.shape[0]) % 2, path)
            assert (theirs(path)[0] != ours(path)[0]).nnz == 0
            size = os.path.getsize(path) / 1e6
            for dtype in (np.float64, np.float32):
                base, one, every = least(
                    [
                        partial(theirs, dtype=dtype),
                        partial(ours, dtype=dtype, n_jobs=1),
                        partial(ours, dtype=dtype),
                    ],
                    path,
                )
                ratios = [base[at] / own[at] for own in (one, every) for at in (0, 1)]
                worst = min(worst, ratios[0], ratios[1])
                told = " | ".join(f"{ratio:.1f} x" for ratio in ratios)
                kind = f"{name}, {np.dtype(dtype)}"
                print(f"| {kind} | {size:.1f} | {base[0]:.2f} | {told} |", flush=True)
    print(f"one thread, the least ratio: {worst:.1f} (bar 5)")


if __name__ == "__main__":
    main()
