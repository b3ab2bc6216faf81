"""Small machines as C: bytes of constants, and accuracy beside the exact machine's.

    python benches/python/deploy_c.py [--data FOLDER] [--exact]

Machines of 30 terms, refined (400 steps), of COD-RNA and IJCNN1, written by
`budgetsvm.convert.to_c`, compiled by the system's C compiler and asked about the test set. The
accuracies of the exact machines are those of LIBSVM with the same C and γ (the README of the data);
with --exact `SVC` is fitted to say them again.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from budgetsvm import SVC, BudgetSVC
from budgetsvm.convert import to_c
from common import load, parser, require

#: Name, hyperparameters, accuracy of the exact machine, bytes at most, points behind it at most.
CASES = (
    ("cod-rna", {"C": 32, "gamma": 8}, 0.9594, 1500, 0.8),
    ("ijcnn1", {"C": 32, "gamma": 2}, 0.9870, 3000, 0.6),
)
MAIN = """
#include <stdio.h>
#include "model.h"
int main(void)
{
    float x[MODEL_FEATURES];
    while (fread(x, sizeof x, 1, stdin) == 1) putchar('0' + model_label(x));
    return 0;
}
"""


def labels_of(text, X, folder):
    """Places of labels as the compiled header says them."""
    (folder / "model.h").write_text(text)
    (folder / "main.c").write_text(MAIN)
    flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O2"]
    program = folder / "main"
    subprocess.run(["cc", *flags, "-o", program, folder / "main.c", "-lm"], check=True)
    rows = np.ascontiguousarray(X, dtype=np.float32).tobytes()
    told = subprocess.run([program], input=rows, capture_output=True, check=True).stdout
    return np.frombuffer(told, dtype=np.uint8) - ord("0")


def main():
    own = parser(__doc__)
    own.add_argument("--exact", action="store_true", help="fit SVC, too")
    options = own.parse_args()
    require(options.data, [case[0] for case in CASES])
    if shutil.which("cc") is None:
        sys.exit("a C compiler (cc) is needed")
    print("| data | type | bytes of constants | accuracy | Python's | exact | points behind |")
    print("|---|---|---|---|---|---|---|")
    for name, params, exact, most, behind in CASES:
        X, y, X_test, y_test = (np.asarray(part) for part in load(options.data, name))
        if options.exact:
            exact = SVC(**params).fit(X, y).score(X_test, y_test)
        machine = BudgetSVC(budget=30, refine=True, refine_iter=400, random_state=0, **params)
        machine.fit(X.astype(np.float32), y)
        python = machine.score(X_test.astype(np.float32), y_test)
        for dtype in ("float32", "int16"):
            text = to_c(machine, dtype=dtype)
            (size,) = re.findall(rf"Constants of {dtype}: (\d+) bytes", text)
            with tempfile.TemporaryDirectory() as folder:
                places = labels_of(text, X_test, Path(folder))
            score = float(np.mean(machine.classes_[places] == y_test))
            lost = 100 * (exact - score)
            fine = "" if int(size) <= most and lost <= behind else " (over the bar)"
            print(
                f"| {name} | {dtype} | {int(size):,} | {100 * score:.2f} % | {100 * python:.2f} % "
                f"| {100 * exact:.2f} % | {lost:.2f}{fine} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
