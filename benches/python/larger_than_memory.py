"""Fits on files against fits in memory: time, peak memory, bits; reading against fitting.

- npy: 10^7 made-up rows of 20 float32 features in an .npy file, B = 100, one pass and polishing
  (`order="blocks"`): the same fit in memory and on the file, each in a process of its own. Bars: at
  most 1.3 times the time; at most 300 MB above the interpreter with its imports (the most that was
  resident at any time, mapped pages and all).
- stream: `partial_fit` on rows made by a generator: seconds a million rows and the most memory, for
  10^6 rows and for more (`--rows`), and the accuracy against a fit on 10^6 rows.
- svmlight: reading text (`--megabytes`) against a fit on it, and against scikit-learn's reader.
- bits: covtype-2v3 and Adult as Parquet and CSV, fitted from files and in memory: equal or not.

Usage: python benches/python/larger_than_memory.py [--quick] [--only npy stream svmlight bits]
Temporary files (about 1 GB) go to --cache and are deleted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from common import load, machine, parser, require

FEATURES, BLOCK = 20, 1 << 16
PARAMS = {"budget": 100, "C": 1.0, "gamma": 0.1, "random_state": 0, "order": "blocks"}


def rows_of(seed: int, n: int = BLOCK) -> tuple[np.ndarray, np.ndarray]:
    """Rows around 8 centres, two classes by the nearest one's, one label in 20 wrong."""
    centres = np.random.default_rng(0).normal(size=(8, FEATURES))
    rng = np.random.default_rng([seed, 1])
    X = rng.normal(size=(n, FEATURES)) + centres[rng.integers(8, size=n)]
    distance = ((centres**2).sum(axis=1) - 2 * X @ centres.T).argmin(axis=1)
    y = (distance % 2) ^ (rng.random(n) < 0.05)
    return X.astype(np.float32), y.astype(np.int8)


def write_npy(folder: Path, n: int) -> None:
    """The rows, block after block."""
    X = np.lib.format.open_memmap(folder / "x.npy", "w+", np.float32, (n, FEATURES))
    y = np.lib.format.open_memmap(folder / "y.npy", "w+", np.int8, (n,))
    for at, first in enumerate(range(0, n, BLOCK)):
        part = rows_of(at, min(BLOCK, n - first))
        X[first : first + BLOCK], y[first : first + BLOCK] = part
    X.flush()
    y.flush()


# A fit in a process of its own: what it takes beyond the interpreter and its imports.
CHILD = """
import json, os, sys, threading, time
import numpy as np
from budgetsvm import BudgetSVC, data
def told(name):
    with open("/proc/self/status") as status:
        return next((int(l.split()[1]) / 1024 for l in status if l.startswith(name + ":")), 0.0)
class Peak:
    def __enter__(self):
        self.before, self.most, self.own, self.end = told("VmRSS"), 0.0, 0.0, threading.Event()
        self.thread = threading.Thread(target=self.watch); self.thread.start()
        return self
    def watch(self):
        while not self.end.wait(0.005):
            self.own = max(self.own, told("RssAnon"))
    def __exit__(self, *_):
        self.end.set(); self.thread.join()
        self.most = told("VmHWM") - self.before
how, folder, params = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
x, y = os.path.join(folder, "x.npy"), os.path.join(folder, "y.npy")
clf = BudgetSVC(**params)
clf.fit(np.eye(30, 4, dtype="f4"), np.arange(30) % 2)
own = told("RssAnon")
with Peak() as peak:
    begun, cpu = time.perf_counter(), time.process_time()
    if how == "memory":
        X, Y = np.load(x), np.load(y)
        begun, cpu = time.perf_counter(), time.process_time()
        clf.fit(X, Y)
    else:
        clf.fit(data.open(x, target=y, cache=folder))
    took, cpu = time.perf_counter() - begun, time.process_time() - cpu
rows = np.load(x, mmap_mode="r")[:20000]
print(json.dumps({"s": took, "cpu": cpu, "mb": peak.most, "anonymous": peak.own - own,
                  "bits": hash(clf.decision_function(rows).tobytes())}))
"""


def fitted(how: str, folder: Path, params: dict) -> dict:
    """What a fit in a process of its own took."""
    command = [sys.executable, "-c", CHILD, how, str(folder), json.dumps(params)]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return json.loads(done.stdout)


def npy(folder: Path, n: int, repeats: int) -> None:
    write_npy(folder, n)
    print(f"\nnpy: {n:,} x {FEATURES} float32 ({n * FEATURES * 4 / 1e6:.0f} MB), {PARAMS}")
    print("| fit | s | CPU s | MB above the interpreter | of them its own | bits |")
    for own in ({}, {"cache_size": 50}):
        found: dict[str, list[dict]] = {"memory": [], "file": []}
        for _ in range(repeats):
            for how, runs in found.items():
                runs.append(fitted(how, folder, {**PARAMS, **own}))
        for how, runs in found.items():
            best = min(runs, key=lambda run: run["s"])
            peak, anonymous = (max(run[name] for run in runs) for name in ("mb", "anonymous"))
            print(
                f"| {how} {own or ''} | {best['s']:.1f} | {best['cpu']:.1f} | {peak:.0f} | "
                f"{anonymous:.0f} | {'same' if len({r['bits'] for r in runs}) == 1 else 'others'} |"
            )
        same = {run["bits"] for runs in found.values() for run in runs}
        ratio = min(r["s"] for r in found["file"]) / min(r["s"] for r in found["memory"])
        print(
            f"time {ratio:.2f} of memory's (bar 1.3), bits {'equal' if len(same) == 1 else 'NOT'}"
        )
    for name in ("x.npy", "y.npy"):
        (folder / name).unlink()


def resident() -> float:
    """Megabytes of the process."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS:"))


def stream(n: int) -> None:
    from budgetsvm import BudgetSVC, data

    test = rows_of(10**6, 100_000)
    first = [rows_of(at) for at in range(16)]
    X, y = (np.concatenate(part)[: 10**6] for part in zip(*first, strict=True))
    whole = BudgetSVC(**PARAMS).fit(X, y)
    print(f"\nstream: partial_fit on rows made on the way; a fit on 10^6: {whole.score(*test):.4f}")
    print("| rows | CPU s a million rows, without making them | most MB | accuracy |")
    del X, y, first
    for rows in sorted({min(10**6, n), n}):
        spent = 0.0

        def parts(rows: int = rows):
            nonlocal spent
            for at, begin in enumerate(range(0, rows, BLOCK)):
                before = time.process_time()
                part = rows_of(at, min(BLOCK, rows - begin))
                spent += time.process_time() - before
                yield part

        most, end = [resident()], threading.Event()

        def watch(most: list = most, end: threading.Event = end) -> None:
            while not end.wait(0.05):
                most[0] = max(most[0], resident())

        thread = threading.Thread(target=watch)
        thread.start()
        before, begun = resident(), time.process_time()
        clf = BudgetSVC(**PARAMS).partial_fit(data.open(parts), classes=[0, 1])
        took = time.process_time() - begun - spent
        end.set()
        thread.join()
        print(
            f"| {rows:,} | {took / rows * 1e6:.2f} | {most[0] - before:.0f} | "
            f"{clf.score(*test):.4f} |"
        )


def svmlight(folder: Path, megabytes: int) -> None:
    from sklearn.datasets import load_svmlight_file

    from budgetsvm import BudgetSVC, data

    path = folder / "rows.svm"
    piece = folder / "piece.svm"
    data.dump_svmlight_file(*rows_of(0), str(piece), zero_based=False)
    text = piece.read_bytes()
    with open(path, "wb") as file:
        for _ in range(max(megabytes * 10**6 // len(text), 1)):
            file.write(text)
    size = path.stat().st_size / 1e6
    begun, cpu = time.perf_counter(), time.process_time()
    source = data.open(path, cache=folder)
    source.stored()
    read, cpu = time.perf_counter() - begun, time.process_time() - cpu
    begun = time.perf_counter()
    BudgetSVC(**PARAMS).fit(source)
    fit = time.perf_counter() - begun
    small = folder / "small.svm"
    small.write_bytes(text * 4)
    begun, own = time.perf_counter(), time.process_time()
    load_svmlight_file(str(small), dtype=np.float32)
    theirs = (time.perf_counter() - begun) / (4 * len(text)) * 1e6
    own = (time.process_time() - own) / (4 * len(text)) * 1e6
    for name in (path, piece, small):
        name.unlink()
    print(
        f"\nsvmlight, {size:.0f} MB, {source.n_rows:,} rows: read {read:.1f} s, fit {fit:.1f} s "
        f"(ratio {read / fit:.2f}, bar 1); {size / read:.0f} MB/s, scikit-learn {1 / theirs:.0f} "
        f"MB/s (ratio {theirs * size / read:.1f}, bar 5; {own * size / cpu:.1f} in CPU seconds)"
    )


def bits(folder: Path, sets: Path) -> None:
    import pandas as pd

    from budgetsvm import BudgetSVC, data

    print("\nbits: from files and in memory")
    for name in ("adult", "covtype-2v3"):
        X, y, *_ = load(sets, name)
        X = X.toarray() if hasattr(X, "toarray") else X
        frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])]).assign(label=y)
        whole = BudgetSVC(budget=100, random_state=0).fit(X, y).decision_function(X[:5000])
        cut = len(frame) // 3
        for kind in ("parquet", "csv"):
            for at, part in enumerate((frame[:cut], frame[cut:])):
                path = folder / f"{at}.{kind}"
                part.to_parquet(path) if kind == "parquet" else part.to_csv(path, index=False)
            source = data.open(str(folder / f"?.{kind}"), target="label", dtype=X.dtype)
            clf = BudgetSVC(budget=100, random_state=0).fit(source)
            same = np.array_equal(clf.decision_function(X[:5000]), whole)
            print(f"| {name} | {kind} | {len(X):,} rows | {'equal' if same else 'NOT EQUAL'} |")
            for at in range(2):
                (folder / f"{at}.{kind}").unlink()


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--only", nargs="*", choices=["npy", "stream", "svmlight", "bits"])
    options.add_argument("--cache", type=Path, help="folder for temporary files")
    options.add_argument("--rows", type=int, default=10**7)
    options.add_argument("--megabytes", type=int, default=500)
    options.add_argument("--repeats", type=int, default=2)
    given = options.parse_args()
    parts = given.only or ["npy", "stream", "svmlight", "bits"]
    n = 300_000 if given.quick else given.rows
    print(machine())
    with tempfile.TemporaryDirectory(dir=given.cache) as name:
        folder = Path(name)
        if "npy" in parts:
            npy(folder, n, 1 if given.quick else given.repeats)
        if "stream" in parts:
            stream(n)
        if "svmlight" in parts:
            svmlight(folder, 20 if given.quick else given.megabytes)
        if "bits" in parts:
            require(given.data, ["adult", "covtype-2v3"])
            bits(folder, given.data)


if __name__ == "__main__":
    main()
