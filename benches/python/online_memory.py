"""Memory and time a sample over a stream of ten million samples: both have to stay flat.

The stream is made up, chunk by chunk (10 features, a boundary that turns slowly), so that no part
of it is kept; what the process holds is the learner. `--samples` and `--only` make it shorter.
"""

from __future__ import annotations

import os
import time

import numpy as np

import budgetsvm as b
from common import machine, markdown, parser, write

CHUNK = 20_000
COMMON = {"gamma": 0.2, "random_state": 0}
LEARNERS = {
    "RandomizedBudgetPerceptron, mean": b.RandomizedBudgetPerceptron(100, average=True, **COMMON),
    "Forgetron": b.Forgetron(100, average=False, **COMMON),
    "BudgetPassiveAggressive, mean": b.BudgetPassiveAggressive(100, average=True, **COMMON),
    "BudgetOGD, mean": b.BudgetOGD(100, average=True, **COMMON),
    "ProjectronPlusPlus": b.ProjectronPlusPlus(100, threshold=0.3, average=False, **COMMON),
    "NystroemOGD": b.NystroemOGD(100, average=False, **COMMON),
    "FourierOGD": b.FourierOGD(n_frequencies=100, average=False, **COMMON),
    "LocalBudgetSVC": b.LocalBudgetSVC(64, 32, **COMMON),
}


def chunk(number: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(number)
    X = rng.standard_normal((CHUNK, 10), dtype=np.float32)
    turn = number / 100
    value = X[:, 0] * X[:, 1] + np.cos(turn) * X[:, 2] + np.sin(turn) * X[:, 3]
    return X, np.where(value + 0.3 * X[:, 4] > 0, 1, -1)


def resident() -> float:
    """MB that the process holds now (Linux)."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def run(model, samples: int, looks: int):
    """(µs a sample, MB, share right) of each part of the stream."""
    n_chunks = max(looks, samples // CHUNK)
    parts = np.array_split(np.arange(n_chunks), looks)
    found = []
    for part in parts:
        seconds, right = 0.0, 0
        for number in part:
            X, y = chunk(number)
            start = time.perf_counter()
            if hasattr(model, "test_then_train"):
                values = model.test_then_train(X, y, classes=[-1, 1])
                seconds += time.perf_counter() - start
                right += int(((values > 0) == (y > 0)).sum())
            else:
                model.partial_fit(X, y, classes=[-1, 1])
                seconds += time.perf_counter() - start
        rows = len(part) * CHUNK
        found.append((1e6 * seconds / rows, resident(), right / rows))
    return np.array(found)


def main():
    options = parser(__doc__)
    options.add_argument("--samples", type=int, default=10_000_000)
    options.add_argument("--looks", type=int, default=10, help="parts of the stream")
    options.add_argument("--only", nargs="+", choices=LEARNERS, default=list(LEARNERS))
    asked = options.parse_args()
    rows = []
    for name in asked.only:
        found = run(LEARNERS[name], asked.samples, asked.looks)
        micros, held, right = found.T
        rows.append([
            name, " ".join(f"{v:.2f}" for v in micros), " ".join(f"{v:.1f}" for v in held),
            f"{held[-1] - held[0]:+.1f}", f"{right.mean():.1%}" if right.any() else "-",
        ])  # fmt: skip
        print(" | ".join(rows[-1]), flush=True)
    header = ["learner", "µs a sample", "MB held", "growth, MB", "right before learning"]
    text = f"{asked.samples:,} samples, {asked.looks} parts one after the other. {machine()}."
    write(asked.out / "online_memory.md", text + "\n\n" + markdown(header, rows))


if __name__ == "__main__":
    main()
