"""Cost of a pass and peak memory against n, d, B and threads, on tiled synthetic data.

Every point runs in a process of its own: memory is the peak of the whole fit above what the
process held with its input in place. `--full` goes to n = 10^7 (an input of 800 MB) and B = 5000.
Bars: memory at n = 10^6, d = 20, B = 500; seconds a sample from n = 10^5 on, equal passes.
`--threads` times whole fits of 10^6 rows on two threads beside one instead (a machine at rest);
`--terms` takes the memory of a fit of 10^6 rows, all of them other ones, with 10,000 terms, stopped
after `--seconds`.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from common import interleaved, machine, markdown, parser, write

MEMORY_BAR = 64  # MB
GROWTH_BAR = 1.3
THREADS_BAR = 0.65
TERMS_BAR = 1500  # MB
TILE = 10_000
CENTRE = {"n": 20_000, "d": 20, "budget": 500, "threads": 1, "polishing": False}
QUICK = {
    "n": [10_000, 100_000, 1_000_000],
    "d": [2, 20, 128, 784],
    "budget": [50, 200, 500, 1000, 2000],
}
FULL = {
    "n": [10_000, 100_000, 1_000_000, 10_000_000],
    "d": [2, 8, 22, 54, 123, 256, 784],
    "budget": [50, 100, 200, 500, 1000, 2000, 5000],
}
MEMORY_POINT = {**CENTRE, "n": 1_000_000}


def tiled(n: int, d: int):
    """Rows uniform in the unit cube, over and over; a plane between the classes, a tenth of the
    labels wrong. Written in place, so that making them needs no more memory than they take."""
    rng = np.random.default_rng(0)
    tile = rng.random((TILE, d), dtype=np.float32)
    side = (tile - 0.5) @ (rng.random(d, dtype=np.float32) - 0.5) > 0
    labels = np.where(side != (rng.random(TILE) < 0.1), 1, -1).astype(np.int8)
    X, y = np.empty((n, d), dtype=np.float32), np.empty(n, dtype=np.int8)
    for first in range(0, n, TILE):
        last = min(first + TILE, n)
        X[first:last], y[first:last] = tile[: last - first], labels[: last - first]
    return X, y


def megabytes(peak: bool) -> float:
    """What this process holds, or the most that it has held."""
    status = Path("/proc/self/status")
    if status.is_file():
        # On Linux `ru_maxrss` begins at what the parent process held.
        key = "VmHWM:" if peak else "VmRSS:"
        lines = status.read_text(encoding="utf-8").splitlines()
        found = [line.split()[1] for line in lines if line.startswith(key)]
        if found:
            return int(found[0]) / 1024
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def fit_point(n, d, budget, threads, polishing):
    """Seconds (median of up to three fits) and MB above the input (of the first fit)."""
    from budgetsvm import BudgetSVC

    X, y = tiled(n, d)
    model = BudgetSVC(
        budget=budget,
        C=10,
        gamma=3 / d,
        polishing=polishing,
        random_state=0,
        n_jobs=threads,
    )
    before = megabytes(peak=False)
    seconds = []
    while len(seconds) < 3 and sum(seconds) < 10:
        start = time.perf_counter()
        model.fit(X, y)
        seconds.append(time.perf_counter() - start)
        if len(seconds) == 1:
            above = megabytes(peak=True) - before
    return {"seconds": float(np.median(seconds)), "above": above}


def run_point(**settings) -> dict:
    """`fit_point` in a new process."""
    command = [sys.executable, __file__, "--point", json.dumps(settings)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"The point {settings} failed.")
    return {**settings, **json.loads(done.stdout.splitlines()[-1])}


def microseconds(point) -> float:
    return 1e6 * point["seconds"] / point["n"]


def growth(points) -> tuple[float, int]:
    """Seconds a sample at the largest n over those at 10^5, one thread, and that n."""
    alone = {point["n"]: point for point in points if point["threads"] == 1}
    largest = max(alone)
    return microseconds(alone[largest]) / microseconds(alone[100_000]), largest


def verdict(value, bar) -> str:
    return "met" if value <= bar else "MISSED"


def measure(full: bool) -> dict[str, list[dict]]:
    """Sweep -> its points."""
    sweeps = {}
    for axis, values in (FULL if full else QUICK).items():
        centre = {**CENTRE, "n": 100_000 if full else CENTRE["n"]}
        sweeps[axis] = []
        for value in values:
            for threads in (1, 2):
                point = run_point(**{**centre, axis: value, "threads": threads})
                print(row(axis, point), flush=True)
                sweeps[axis].append(point)
    return sweeps


def row(axis, point):
    settings = [f"{point[key]:,}" for key in ("n", "d", "budget", "threads")]
    figures = [f"{point['seconds']:.3f}", f"{microseconds(point):.2f}", f"{point['above']:.1f}"]
    return [axis, *settings, *figures]


def draw(sweeps, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    panels = [("n", "µs a sample"), ("d", "µs a sample"), ("budget", "µs a sample"), ("n", "MB")]
    figure, all_axes = plt.subplots(1, 4, figsize=(18, 4))
    for axes, (axis, what) in zip(all_axes, panels, strict=True):
        for threads in (1, 2):
            points = [point for point in sweeps[axis] if point["threads"] == threads]
            x = [point[axis] for point in points]
            y = [point["above"] if what == "MB" else microseconds(point) for point in points]
            axes.plot(x, y, marker="o", label=f"{threads} thread{'s' * (threads > 1)}")
        axes.set(xscale="log", yscale="log", xlabel={"budget": "B"}.get(axis, axis), ylabel=what)
        axes.legend()
    all_axes[3].axhline(MEMORY_BAR, color="k", linestyle=":")
    all_axes[3].set_ylabel("peak above the input, MB")
    figure.suptitle("One pass of BSCA; unless varied d = 20, B = 500")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    print(f"written to {path}")


def whole(budget: int, rounds: int) -> str:
    """The least seconds of whole fits of 10^6 rows, in turns."""
    from budgetsvm import BudgetSVC

    X, y = tiled(MEMORY_POINT["n"], MEMORY_POINT["d"])
    one, two = (BudgetSVC(budget, C=1, gamma=1.0, random_state=0, n_jobs=jobs) for jobs in (1, 2))
    times = interleaved(rounds, one=lambda: one.fit(X, y), two=lambda: two.fit(X, y))
    first, second = (min(times[name]) for name in ("one", "two"))
    share = f"{second / first:.3f}, {verdict(second / first, THREADS_BAR)} (≤ {THREADS_BAR})"
    return f"B = {budget}: {first:.2f} s on one thread, {second:.2f} s on two: {share}"


def many_terms(seconds: float) -> str:
    """What a fit of 10^6 rows with 10,000 terms holds above its input, stopped in polishing."""
    from budgetsvm import BudgetSVC

    n, d, budget = 1_000_000, 10, 10_000
    X, y = np.empty((n, d), dtype=np.float32), np.empty(n, dtype=np.int8)
    rng = np.random.default_rng(0)
    for first in range(0, n, TILE):
        rows = X[first : first + TILE]
        rng.random(out=rows, dtype=np.float32)
        side = np.sin(12 * rows[:, 0]) * np.sin(12 * rows[:, 1]) > 0
        y[first : first + TILE] = np.where(side, 1, -1)
    before = megabytes(peak=False)
    model = BudgetSVC(budget, C=32, gamma=8.0, random_state=0, n_jobs=2, max_time=seconds)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    taken, above = time.perf_counter() - start, megabytes(peak=True) - before
    said = f"{len(model.support_vectors_):,} terms, {taken:.0f} s, objective {model.objective_}"
    return f"{said}: {above:.0f} MB above the input, {verdict(above, TERMS_BAR)} (≤ {TERMS_BAR})"


def main():
    options_parser = parser(__doc__)
    options_parser.add_argument("--threads", action="store_true", help="two threads beside one")
    options_parser.add_argument("--terms", action="store_true", help="memory with 10,000 terms")
    options_parser.add_argument("--seconds", type=float, default=300, help="of --terms")
    options_parser.add_argument("--full", action="store_true", help="n to 10^7, B to 5000")
    options_parser.add_argument("--point", type=json.loads, help="one point, as JSON (internal)")
    options = options_parser.parse_args()
    if options.point:
        print(json.dumps(fit_point(**options.point)))
        return
    if options.terms:
        print(many_terms(options.seconds))
        return
    if options.threads:
        for budget, rounds in ((100, 9), (500, 4)):
            print(whole(budget, rounds), flush=True)
        return
    sweeps = measure(options.full)
    default = run_point(**{**MEMORY_POINT, "polishing": True})
    options.out.mkdir(parents=True, exist_ok=True)
    draw(sweeps, options.out / "scaling.png")

    plain = next(p for p in sweeps["n"] if p["n"] == MEMORY_POINT["n"] and p["threads"] == 1)
    ratio, largest = growth(sweeps["n"])
    bars = [
        f"memory, n = 10^6, d = 20, B = 500: {name} {point['above']:.1f} MB above the input, "
        f"{verdict(point['above'], MEMORY_BAR)} (≤ {MEMORY_BAR} MB)"
        for name, point in (("one pass", plain), ("with polishing", default))
    ]
    bars.append(
        f"growth, seconds a sample at n = {largest:,} over those at 100,000: {ratio:.2f}, "
        f"{verdict(ratio, GROWTH_BAR)} (≤ {GROWTH_BAR}"
        f"{'' if options.full else '; the bar is to 10^7: --full'})"
    )
    header = ["varied", "n", "d", "B", "threads", "seconds", "µs a sample", "MB above the input"]
    lines = [row(axis, point) for axis, points in sweeps.items() for point in points]
    text = "\n\n".join([markdown(header, lines), "\n".join(f"- {bar}" for bar in bars), machine()])
    write(options.out / "scaling.md", text)


if __name__ == "__main__":
    main()
