"""Reading rows of text beside scikit-learn, as ratios of one run.

    python benches/python/svmlight.py

Writes the training rows of the sets that are there (BUDGETSVM_DATA), and rows of our own, as text
into a temporary folder, and reads them by `budgetsvm.data.load_svmlight_file` and by
`sklearn.datasets.load_svmlight_file` in turn. The least of five times each.
"""

from __future__ import annotations

import os
import tempfile
import time
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


def least(read, path):
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        read(path)
        times.append(time.perf_counter() - begin)
    return min(times)


def main():
    print(f"{os.cpu_count()} cores")
    print("| rows | MB | scikit-learn s | one thread | all threads |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, X in sets():
            path = os.path.join(folder, name)
            dump_svmlight_file(X, np.arange(X.shape[0]) % 2, path)
            known, ours_, (one, all_) = theirs(path)[0], ours(path)[0], (None, None)
            assert (known != ours_).nnz == 0
            one = least(lambda path: ours(path, n_jobs=1), path)
            all_, base = least(ours, path), least(theirs, path)
            size = os.path.getsize(path) / 1e6
            print(
                f"| {name} | {size:.1f} | {base:.2f} | {base / one:.1f} x | {base / all_:.1f} x |"
            )


if __name__ == "__main__":
    main()
