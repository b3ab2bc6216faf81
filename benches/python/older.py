"""Fits on a budget beside those of an older build, which take turns: one line a bar.

    python benches/python/older.py PYTHON [--only letter] [--rounds 3]

PYTHON is the interpreter of an environment that the older build is installed in. A bar is the ratio
of the seconds that fits were to take to those that they took at commit e03be67, before polishing
had a choice of solvers, both on another machine.
"""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np

from common import machine, markdown, parser, require, write

# (data, budget, whether refined, seconds over the older build's at most, least accuracy)
CASES = [
    ("adult", 100, False, 1, None),
    ("ijcnn1", 500, False, 1, None),
    ("cod-rna", 500, False, 1, None),
    ("satimage", 200, False, 1, None),
    ("usps", 1000, False, 0.35 / 1.8, 0.949),
    ("letter", 1000, False, 0.8 / 11.6, 0.961),
    ("letter", 1000, True, 5 / 38, 0.971),
    ("covtype-2v3", 1000, False, 1 / 2.65, None),
    ("covtype-2v3", 1000, True, 4 / 9.8, 0.989),
    ("covtype-2v3", 4000, False, 5 / 36, 0.991),
]
HEADER = ["data", "machine", "bar", "measured", "seconds", "older", "accuracy", "older"]


def work(options):
    """The build of this interpreter: seconds of a fit, or accuracy, for every line read."""
    import polish
    from budgetsvm import BudgetSVC

    name, budget, refined = json.loads(options.worker)
    X, y, X_test, y_test = polish.data(options.data, name)
    settings = polish.settings_of(name)
    model = BudgetSVC(budget, **settings, refine=refined, random_state=0, n_jobs=2)
    for line in sys.stdin:
        told = polish.clocked(model, X, y)[0] if line == "fit\n" else model.score(X_test, y_test)
        print(told, flush=True)


def asked(worker, what):
    """What a worker says."""
    worker.stdin.write(f"{what}\n")
    worker.stdin.flush()
    line = worker.stdout.readline()
    if not line:
        sys.exit("A build ended in the middle: see above.")
    return float(line)


def rows(options):
    for name, budget, refined, bar, least in CASES:
        if options.only and name not in options.only:
            continue
        case = json.dumps([name, budget, refined])
        command = [__file__, "--data", str(options.data), "--worker", case, "-"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        builds = [
            subprocess.Popen([python, *command], **pipes)
            for python in (sys.executable, options.python)
        ]
        # The first does not count.
        seconds = np.array(
            [[asked(build, "fit") for build in builds] for _ in range(options.rounds + 1)]
        )[1:]
        own, older = (asked(build, "score") for build in builds)
        for build in builds:
            build.stdin.close()
            build.wait()
        ratio = np.median(seconds[:, 0] / seconds[:, 1])
        met = ratio <= bar and (least is None or own >= least)
        yield [
            name,
            f"B = {budget}{', refined' * refined}",
            f"{bar:.3g}" + (f", {least:.1%}" if least else ""),
            f"{ratio:.3g}, {'met' if met else 'MISSED'}",
            *(f"{value:.3g}" for value in np.median(seconds, axis=0)),
            f"{own:.2%}",
            f"{older:.2%}",
        ]
        print(name, budget, refined, seconds.round(4).tolist(), file=sys.stderr, flush=True)


def main():
    options = parser(__doc__)
    options.add_argument("python", help="interpreter that has the older build")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--only", nargs="*", default=[])
    options.add_argument("--worker", help="a case, for the processes that this one starts")
    options = options.parse_args()
    if options.worker:
        return work(options)
    require(options.data, [case[0] for case in CASES if case[0] in (options.only or [case[0]])])
    write(options.out / "older.md", f"{machine()}\n\n" + markdown(HEADER, list(rows(options))))


if __name__ == "__main__":
    main()
