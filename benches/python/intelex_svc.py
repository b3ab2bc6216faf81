"""scikit-learn-intelex's exact SVC in an environment and a process of its own.

Run as a program it is the process: a line of JSON with a folder and settings in, a line of JSON
with seconds and accuracy out. `Intelex` is the other end, for `engine_bars.py`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from importlib import metadata
from pathlib import Path

import numpy as np
import scipy.sparse as sp

PARTS = ("X", "y", "X_test", "y_test")


def save(folder: Path, data) -> None:
    """The parts of a data set as files, sparse ones as CSR."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, part in zip(PARTS, data, strict=True):
        if sp.issparse(part):
            sp.save_npz(folder / f"{name}.npz", part, compressed=False)
        else:
            np.save(folder / f"{name}.npy", part)


def read(folder: Path):
    for name in PARTS:
        sparse = folder / f"{name}.npz"
        yield sp.load_npz(sparse) if sparse.is_file() else np.load(folder / f"{name}.npy")


class Intelex:
    """A new environment with scikit-learn-intelex, and the process that fits in it."""

    def __init__(self):
        self._temporary = tempfile.TemporaryDirectory(prefix="budgetsvm-intelex-")
        self.folder = Path(self._temporary.name)
        self._process = None
        self.version = ""

    def install(self) -> bool:
        """Whether the environment could be made."""
        print("installing scikit-learn-intelex in a temporary environment", flush=True)
        venv.create(self.folder / "venv", with_pip=True)
        python = self.folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
        command = [python, "-m", "pip", "install", "--quiet", "scikit-learn-intelex"]
        if subprocess.run([str(part) for part in command]).returncode != 0:
            print("scikit-learn-intelex cannot be installed here: its rows are left out.")
            return False
        self._process = subprocess.Popen(
            [str(python), __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        greeting = self._process.stdout.readline()
        if not greeting:
            print("scikit-learn-intelex does not run here: its rows are left out.")
            return False
        self.version = json.loads(greeting)["version"]
        return True

    def offer(self, name: str, data) -> None:
        """Put a data set where the process reads it."""
        save(self.folder / name, data)

    def run(self, name: str, **settings) -> dict:
        """Fit and predict once."""
        order = {"folder": str(self.folder / name), "settings": settings}
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            sys.exit("scikit-learn-intelex ended before it answered.")
        return json.loads(answer)

    def close(self) -> None:
        if self._process is not None:
            self._process.stdin.close()
            self._process.wait()
        self._temporary.cleanup()


def serve() -> None:
    from sklearnex.svm import SVC

    names = ("scikit-learn-intelex", "scikit-learn")
    answer = {"version": ", ".join(f"{name} {metadata.version(name)}" for name in names)}
    print(json.dumps(answer), flush=True)
    known = {}
    for line in sys.stdin:
        order = json.loads(line)
        folder = order["folder"]
        if folder not in known:
            known[folder] = tuple(read(Path(folder)))
        X, y, X_test, y_test = known[folder]
        model = SVC(**order["settings"])
        start = time.perf_counter()
        model.fit(X, y)
        middle = time.perf_counter()
        predicted = model.predict(X_test)
        end = time.perf_counter()
        answer = {
            "fit": middle - start,
            "predict": end - middle,
            "accuracy": float(np.mean(predicted == y_test)),
            "terms": len(model.support_),
        }
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    serve()
