"""Every online learner on a stream, row by row: tested on each row, then trained with it.

Run it with the folder of ``elec2-stream.npz`` (the Electricity data, 45,312 half-hours in order
of time) as argument or in BUDGETSVM_DATA; without it, on a small drifting stream made up here. It
reads an iterator of chunks and holds one chunk, so the stream may be larger than memory.

The no-change rule says that the price moves as it moved half an hour ago: on Electricity it is
right 85 % of the time, and no learner is worth its name that is not above it. The answer there is
whether the price is above its mean of the last day, so that mean, of the rows seen so far, is given
to the learners as one more feature; the answers of the past are not. That feature was thought of
knowing how the answer of this very stream is made, so the features as they were published are run
as well: the difference is what that knowledge is worth.
"""

from __future__ import annotations

import argparse
import os
import pickle
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.base import clone

import budgetsvm as b

Chunk = tuple[np.ndarray, np.ndarray]
LEARNERS = {
    "KernelPerceptron": b.KernelPerceptron(),
    "KernelOGD": b.KernelOGD(learning_rate=0.3, regularization=1e-3),
    "RandomizedBudgetPerceptron": b.RandomizedBudgetPerceptron(200),
    "Stoptron": b.Stoptron(200),
    "Forgetron": b.Forgetron(200),
    "Projectron": b.Projectron(200, threshold=0.3),
    "ProjectronPlusPlus": b.ProjectronPlusPlus(200, threshold=0.3),
    "BudgetPassiveAggressive": b.BudgetPassiveAggressive(200),
    "BudgetOGD": b.BudgetOGD(200, learning_rate=0.3, regularization=1e-3),
    "SparsePassiveAggressive": b.SparsePassiveAggressive(200),
    "FourierOGD": b.FourierOGD(n_frequencies=200, learning_rate=1.0),
    "NystroemOGD": b.NystroemOGD(200),
}


def electricity(folder: Path, size: int = 1000) -> Iterator[Chunk]:
    """The Electricity stream in chunks."""
    with np.load(folder / "elec2-stream.npz", allow_pickle=False) as stored:
        X = np.concatenate([stored["X_train"], stored["X_test"]])
        y = np.concatenate([stored["y_train"], stored["y_test"]])
    for first in range(0, len(y), size):
        yield X[first : first + size], y[first : first + size]


def made_up(rows: int, size: int = 500) -> Iterator[Chunk]:
    """A slow wave whose boundary drifts: the answer rarely changes from row to row."""
    for first in range(0, rows, size):
        t = np.arange(first, min(first + size, rows))
        phase = t / 5
        noise = np.random.default_rng(first).normal(scale=0.3, size=(len(t), 3))
        X = np.column_stack([np.sin(phase), np.cos(phase), np.cos(phase / 7)]) + noise
        yield X, np.where(np.sin(phase + t / 2000) > 0, 1, -1)


def with_daily_mean(chunks: Iterator[Chunk], column: int = 3, day: int = 48) -> Iterator[Chunk]:
    """Rows with one more feature: the price less its mean over the day before, squashed."""
    past = np.zeros(day)
    for X, y in chunks:
        price = np.concatenate([past, X[:, column]])
        total = np.concatenate([[0.0], np.cumsum(price)])
        mean = (total[day : day + len(y)] - total[: len(y)]) / day
        yield np.column_stack([X, np.tanh(30 * (X[:, column] - mean))]), y
        past = price[-day:]


class Score:
    """Accuracy and Cohen's kappa of predictions of -1 or 1, overall and chunk by chunk."""

    def __init__(self) -> None:
        self.tables: list[np.ndarray] = []

    def add(self, predicted: np.ndarray, y: np.ndarray) -> None:
        rows, columns = (predicted > 0).astype(int), (y > 0).astype(int)
        self.tables.append(np.bincount(2 * rows + columns, minlength=4).reshape(2, 2))

    def accuracy(self, first: int = 0) -> float:
        table = sum(self.tables[first:])
        return float(np.trace(table) / table.sum())

    def kappa(self, first: int = 0) -> float:
        table = sum(self.tables[first:]) / sum(t.sum() for t in self.tables[first:])
        chance = table.sum(axis=0) @ table.sum(axis=1)
        return float((np.trace(table) - chance) / (1 - chance)) if chance < 1 else 0.0

    def running(self, kind: str) -> list[float]:
        """The score up to each chunk."""
        short = [Score() for _ in self.tables]
        for end, score in enumerate(short, start=1):
            score.tables = self.tables[:end]
        return [getattr(score, kind)() for score in short]


class Track:
    """A learner, its copy frozen half way, and what they cost."""

    def __init__(self, model) -> None:
        self.model, self.frozen = model, None
        self.score, self.frozen_score = Score(), Score()
        self.micros: list[float] = []
        self.bytes: list[int] = []

    def take(self, X: np.ndarray, y: np.ndarray, half: bool) -> None:
        if half and self.frozen is None:
            self.frozen = pickle.loads(pickle.dumps(self.model))
        start = time.perf_counter()
        values = self.model.test_then_train(X, y, classes=[-1, 1])
        self.micros.append(1e6 * (time.perf_counter() - start) / len(y))
        self.score.add(values, y)
        self.bytes.append(len(pickle.dumps(self.model)))
        if self.frozen is not None:
            self.frozen_score.add(self.frozen.decision_function(X), y)


def run(chunks: Iterator[Chunk], rows: int, gamma: float, names: list[str]):
    """(tracks of the learners by name, score of the no-change rule, chunk of the half)."""
    tracks = {
        name: Track(clone(LEARNERS[name]).set_params(gamma=gamma, random_state=0, average=False))
        for name in names
    }
    rule, last, seen, half = Score(), 1, 0, None
    for X, y in chunks:
        rule.add(np.concatenate([[last], y[:-1]]), y)
        last = y[-1]
        if half is None and seen >= rows / 2:
            half = len(rule.tables) - 1
        for track in tracks.values():
            track.take(X, y, half is not None)
        seen += len(y)
    return tracks, rule, half


def plot(path: Path, tracks: dict[str, Track], rule: Score) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(13, 9), sharex=True)
    for axis, kind in zip(axes[0], ("accuracy", "kappa"), strict=True):
        for name, track in tracks.items():
            axis.plot(track.score.running(kind), label=name, linewidth=1)
        axis.plot(rule.running(kind), "k--", label="no change")
        axis.set_title(f"{kind} up to each chunk")
    for axis, kind in zip(axes[1], ("micros", "bytes"), strict=True):
        for track in tracks.values():
            axis.plot(getattr(track, kind), linewidth=1)
        axis.set(title={"micros": "µs a row", "bytes": "bytes of the model"}[kind], yscale="log")
        axis.set_xlabel("chunk")
    axes[0, 1].legend(fontsize=7)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    print(f"drawn to {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="?", default=os.environ.get("BUDGETSVM_DATA", ""))
    parser.add_argument("--rows", type=int, default=4000, help="of the stream that is made up")
    parser.add_argument("--only", nargs="+", choices=LEARNERS, default=list(LEARNERS))
    parser.add_argument("--gamma", type=float, default=None)
    parser.add_argument("--plot", type=Path, help="where to draw the curves")
    asked = parser.parse_args()
    real = bool(asked.data) and (Path(asked.data) / "elec2-stream.npz").is_file()
    rows = 45_312 if real else asked.rows
    gamma = asked.gamma if asked.gamma is not None else (2.0 if real else 0.5)
    if real:
        folder = Path(asked.data)
        report("Electricity, features as published", electricity(folder), rows, gamma, asked.only)
        chunks, name = with_daily_mean(electricity(folder)), "Electricity and the daily mean"
    else:
        chunks, name = made_up(rows), "A made-up stream"
    tracks, rule = report(name, chunks, rows, gamma, asked.only)
    if asked.plot:
        plot(asked.plot, tracks, rule)


def report(name: str, chunks: Iterator[Chunk], rows: int, gamma: float, names: list[str]):
    """Run the learners and print a table: (their tracks, the score of the no-change rule)."""
    tracks, rule, half = run(chunks, rows, gamma, names)
    print(f"{name}, {rows:,} rows, gamma={gamma:g}")
    print(f"{'learner':28} accuracy kappa %  2nd half  frozen %  terms  µs first, last  KB")
    line = f"{'no-change rule':28} {rule.accuracy():.3f} {100 * rule.kappa():10.1f}"
    print(line, f"{100 * rule.accuracy(half):9.1f}")
    for name, track in tracks.items():
        score, quarter = track.score, max(1, len(track.micros) // 4)
        first, last = np.median(track.micros[:quarter]), np.median(track.micros[-quarter:])
        print(
            f"{name:28} {score.accuracy():.3f} {100 * score.kappa():10.1f}"
            f" {100 * score.accuracy(half):9.1f} {100 * track.frozen_score.accuracy():9.1f}"
            f" {track.model.n_terms_:6} {first:9.0f} {last:5.0f} {track.bytes[-1] / 1000:8.0f}"
        )
    return tracks, rule


if __name__ == "__main__":
    main()
