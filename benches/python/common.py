"""Shared by the benchmark scripts: data, machine, tables, curves.

Scripts of a paper's tables and figures give them to a `Record` (record.py), of which
`make reproduce` makes docs/reproduction.md.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import MinMaxScaler, StandardScaler

ROOT = Path(__file__).resolve().parents[2]
REGRESSION = ("california-housing", "abalone", "cpusmall", "protein")


def parser(description: str) -> argparse.ArgumentParser:
    """The options that every script has."""
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument(
        "--data",
        type=Path,
        default=Path(os.environ.get("BUDGETSVM_DATA", ROOT.parent / "shared" / "data")),
        help="folder with the data sets as .npz files (or set BUDGETSVM_DATA)",
    )
    made.add_argument("--out", type=Path, default=ROOT / "out", help="folder for the results")
    made.add_argument("--part", help="name of the record, where a script has several")
    made.add_argument("--quick", action="store_true", help="few and small problems: does it run?")
    return made


#: What `require` says, with the names of the sets.
NO_DATA = r"No data, nothing measured: (.+) not found in"


def require(folder: Path, names: list[str]) -> None:
    """Leave, saying so, when the data are not there: they are no part of the project."""
    missing = [name for name in names if not (folder / f"{name}.npz").is_file()]
    if missing:
        print(
            f"No data, nothing measured: {', '.join(missing)} not found in {folder}.\n"
            "Name the folder with --data or the environment variable BUDGETSVM_DATA."
        )
        sys.exit(0)


def load(folder: Path, name: str):
    """(X_train, y_train, X_test, y_test), scaled as the papers do, by the training part alone."""
    with np.load(folder / f"{name}.npz", allow_pickle=False) as stored:
        parts = {key: stored[key] for key in stored.files}
    X, X_test = rows_of(parts, "train"), rows_of(parts, "test")
    y, y_test = parts["y_train"], parts["y_test"]
    if name in ("cod-rna", "covtype-sample"):
        scaler = MinMaxScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    elif name == "mnist":
        X, X_test = X.astype(np.float32) / 255, X_test.astype(np.float32) / 255
    elif name in REGRESSION:
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
        centre, spread = y.mean(), y.std()
        y, y_test = (y - centre) / spread, (y_test - centre) / spread
    return X, y, X_test, y_test


def rows_of(parts, part):
    if f"{part}_data" not in parts:
        return parts[f"X_{part}"]
    arrays = tuple(parts[f"{part}_{key}"] for key in ("data", "indices", "indptr"))
    return sp.csr_matrix(arrays, shape=tuple(parts[f"{part}_shape"]))


def machine() -> str:
    """The processor's name and the number of cores this process may use."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        lines = info.read_text(encoding="utf-8").splitlines()
        model = next((line.split(":", 1)[1] for line in lines if "model name" in line), model)
    allowed = getattr(os, "sched_getaffinity", None)
    cores = len(allowed(0)) if allowed else os.cpu_count()
    return (
        f"{model.strip()}, {cores} cores, {platform.system()}, Python {platform.python_version()}"
    )


def timed(action, *arguments):
    """(result, seconds)."""
    start = time.perf_counter()
    result = action(*arguments)
    return result, time.perf_counter() - start


def interleaved(rounds: int, **actions) -> dict[str, np.ndarray]:
    """Seconds of every action in every round, after a round that does not count.

    An action that returns a float has measured itself.
    """
    for action in actions.values():
        action()
    times = {name: [] for name in actions}
    for _ in range(rounds):
        for name, action in actions.items():
            result, seconds = timed(action)
            times[name].append(result if isinstance(result, float) else seconds)
    return {name: np.array(seconds) for name, seconds in times.items()}


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """A markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write(path: Path, text: str) -> None:
    """Print, and keep beside the pictures."""
    print(text)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="utf-8")
    print(f"\nwritten to {path}")


def curve(history, key: str):
    """(seconds, values) after each pass, where the column was recorded."""
    values = np.asarray(history[key], dtype=float)
    known = np.isfinite(values) & (np.asarray(history["phase"]) == 0)
    return np.asarray(history["time"], dtype=float)[known], values[known]
