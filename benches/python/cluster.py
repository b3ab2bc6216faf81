"""Dask with two workers of one thread against one process of two threads: seconds, accuracy, bytes.

    python benches/python/cluster.py [--rows 10000000] [--only covtype-2v3 blocks]

`blocks`: rows made on the workers (20 float32 features, B = 100), which hold them; the fit alone is
timed, the same rows in one array in this process. `covtype-2v3`: B = 200, eight partitions. Needs
dask and distributed.
"""

from __future__ import annotations

import pickle
import time

import numpy as np
from distributed import Client, LocalCluster, wait
from sklearn.preprocessing import StandardScaler

from budgetsvm import BudgetSVC
from budgetsvm.dask import DaskBudgetSVC
from common import load, machine, parser, require
from larger_than_memory import BLOCK, rows_of

PARTS = 16


def made(part: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """A partition: blocks that no other has."""
    own = [
        rows_of(part * 1000 + at, min(BLOCK, rows - at * BLOCK)) for at in range(-(-rows // BLOCK))
    ]
    return np.concatenate([x for x, _ in own]), np.concatenate([y for _, y in own])


def timed(work) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def compare(name: str, client: Client, parts, whole, test, params: dict, repeats: int) -> None:
    there = DaskBudgetSVC(**params, client=client)
    here = BudgetSVC(**params, n_jobs=2)
    times = [
        (timed(lambda: there.fit(parts)), timed(lambda: here.fit(*whole))) for _ in range(repeats)
    ]
    first, second = (min(of) for of in zip(*times, strict=True))
    objective = there.objective_["smoothed"] / here.objective_["smoothed"] - 1
    print(
        f"| {name} | {len(whole[1]):,} | {len(parts)} | {first:.1f} | {second:.1f} | "
        f"{first / second:.2f} | {there.score(*test):.4f} | {here.score(*test):.4f} | "
        f"{objective:+.2%} | {len(pickle.dumps(there.to_local())) / 1e6:.2f} |",
        flush=True,
    )


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--rows", type=int, default=10**7)
    options.add_argument("--repeats", type=int, default=2)
    options.add_argument("--only", nargs="*", default=["covtype-2v3", "blocks"])
    given = options.parse_args()
    rows = (300_000 if given.quick else given.rows) // PARTS
    print(machine())
    print(
        "| rows | n | partitions | Dask s | one process s | ratio | accuracy, Dask | one | "
        "objective | machine MB |\n|---|---|---|---|---|---|---|---|---|---|"
    )
    quiet = {"processes": True, "dashboard_address": ":0", "memory_limit": 0}
    with LocalCluster(n_workers=2, threads_per_worker=1, **quiet) as local, Client(local) as client:
        if "covtype-2v3" in given.only:
            require(given.data, ["covtype-2v3"])
            X, y, *test = load(given.data, "covtype-2v3")
            scaler = StandardScaler().fit(X)
            X, test[0] = (scaler.transform(part).astype(np.float32) for part in (X, test[0]))
            order = np.random.default_rng(0).permutation(len(y))
            parts = client.scatter([(X[i], y[i]) for i in np.array_split(order, 8)])
            params = {"budget": 200, "C": 32, "gamma": 1.0, "random_state": 0}
            compare("covtype-2v3", client, parts, (X, y), test, params, given.repeats)
        if "blocks" in given.only:
            parts = [client.submit(made, part, rows) for part in range(PARTS)]
            wait(parts)
            X, y = np.empty((rows * PARTS, 20), np.float32), np.empty(rows * PARTS, np.int8)
            for part, at in enumerate(range(0, len(y), rows)):
                X[at : at + rows], y[at : at + rows] = made(part, rows)
            params = {"budget": 100, "C": 1.0, "gamma": 0.1, "random_state": 0}
            test = rows_of(10**6, 100_000)
            compare("blocks", client, parts, (X, y), test, params, given.repeats)


if __name__ == "__main__":
    main()
