"""What it takes to begin to predict: time and memory of `import budgetsvm.serve`.

    python benches/python/serving.py [--rounds 10]

Each round is a process of its own; medians, beside those of `import numpy`, of
`import sklearn.svm`, and of loading a file and predicting one row.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import make_moons

from budgetsvm import BudgetSVC
from common import machine, markdown, parser, write

#: Peak memory is read from /proc, which is Linux's; elsewhere it is left out.
PROGRAM = """
import sys, time
def peak():
    try:
        lines = open("/proc/self/status").read().splitlines()
    except OSError:
        return float("nan")
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))
before, start, spent = peak(), time.perf_counter(), time.process_time()
{action}
print(time.perf_counter() - start, time.process_time() - spent, peak() - before)
"""


def main():
    options = parser(__doc__)
    options.add_argument("--rounds", type=int, default=10)
    options = options.parse_args()
    X, y = make_moons(1000, noise=0.2, random_state=0)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        BudgetSVC(budget=100, random_state=0).fit(X, y).calibrate(X, y).save(path, resume=False)
        load = f"from budgetsvm import serve; m = serve.load({str(path)!r})"
        actions = {
            "import numpy": "import numpy",
            "import budgetsvm.serve": "import budgetsvm.serve",
            "serve.load and one row": f"{load}; m.predict_proba([[0.0, 0.0]])",
            "import budgetsvm, BudgetSVC": "from budgetsvm import BudgetSVC",
            "import sklearn.svm": "import sklearn.svm",
        }
        for name, action in actions.items():
            told = [
                subprocess.run(
                    [sys.executable, "-c", PROGRAM.format(action=action)],
                    check=True, capture_output=True, text=True,
                ).stdout.split()
                for _ in range(3 if options.quick else options.rounds)
            ]  # fmt: skip
            seconds, spent, megabytes = np.median(np.array(told, dtype=float), axis=0)
            rows.append([name, f"{seconds:.3f}", f"{spent:.3f}", f"{megabytes:.1f}"])
    write(options.out / "serving.md", f"{machine()}\n\n{markdown(['', 's', 'CPU s', 'MB'], rows)}")


if __name__ == "__main__":
    main()
