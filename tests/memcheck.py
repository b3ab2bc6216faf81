"""A life of every estimator, small, for valgrind: `make fuzz` runs it under memcheck.

    python tests/memcheck.py  # fits, predictions, files, streams, each once
    python tests/memcheck.py LOG  # what memcheck said of it: the errors in our library

Python and the dynamic loader have errors of their own there, of which nobody is told.
"""

from __future__ import annotations

import gc
import re
import sys
import tempfile
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "python"))

import numpy as np
import scipy.sparse as sp

import budgetsvm

warnings.simplefilter("ignore")


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)
    path = Path(tempfile.mkdtemp()) / "model.safetensors"
    for name in budgetsvm.__all__:
        cls = getattr(budgetsvm, name)
        if not (isinstance(cls, type) and hasattr(cls, "fit")):
            continue
        params = cls().get_params()
        small = {"budget": 8, "n_components": 8, "n_frequencies": 8, "n_clusters": 3, "n_jobs": 2}
        chosen = {name: value for name, value in small.items() if name in params}
        if "nu" in params:
            chosen["nu"] = 0.1
        for rows in (X, X.astype(np.float32), sp.csr_matrix(X)):
            model = cls(**chosen).fit(rows, X[:, 0] if name.endswith("SVR") else y)
            if hasattr(model, "partial_fit"):
                model.partial_fit(rows, X[:, 0] if name.endswith("SVR") else y)
            model.save(path)
            again = budgetsvm.load(path)
            (again.predict if hasattr(again, "predict") else again.transform)(rows)
        print(name, flush=True)
    del model, again
    gc.collect()


def judge(log: Path) -> int:
    """Prints the errors that have a frame in the library; how many there are."""
    errors = re.split(r"(?m)^==\d+== (?=[A-Z])", log.read_text(encoding="utf-8", errors="replace"))
    ours = [error for error in errors if "_core.abi3" in error]
    print("".join(ours) or f"{len(errors) - 1} errors, none in the library")
    return len(ours)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(judge(Path(sys.argv[1])) > 0)
    main()
