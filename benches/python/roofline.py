"""Kernel rows as a share of the machine's multiply-add peak, both measured by one run of
`cargo bench --bench roofline` (one thread, float32, B = 512, the exponential included).

Prints the rows with their bars and draws out/roofline.png.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import NamedTuple

import matplotlib
import numpy as np

from common import ROOT, machine, markdown, parser, write

matplotlib.use("Agg")
import matplotlib.pyplot as plt

#: Features, and the least share of the peak.
BARS = {22: 0.5, 54: 0.6, 128: 0.7, 256: 0.7, 784: 0.7}
#: What a Gaussian kernel uses, at the level in use.
CHOSEN = "chosen"


class Row(NamedTuple):
    """One line of the bench's table; rates in GFLOP/s."""

    level: str
    d: int
    metric: str
    peak: float
    rate: float

    @property
    def share(self) -> float:
        return self.rate / self.peak


def add_profile(options_parser) -> None:
    options_parser.add_argument("--profile", default="bench", help="cargo profile of the benches")


def measure(profile: str) -> list[Row]:
    """The table of the bench, run here and now."""
    if shutil.which("cargo") is None:
        sys.exit("Nothing measured: the bench `roofline` needs cargo, the Rust toolchain.")
    command = ["cargo", "bench", "--workspace", "--locked", "--bench", "roofline"]
    done = subprocess.run(
        [*command, "--profile", profile],
        cwd=ROOT,
        env={"PYO3_PYTHON": sys.executable, **os.environ},
        stdout=subprocess.PIPE,
        text=True,
    )
    if done.returncode != 0:
        sys.exit(f"Nothing measured: `{' '.join(command)}` failed.")
    rows = parse(done.stdout)
    if not any(row.metric == CHOSEN for row in rows):
        sys.exit("Nothing measured: no table in what the bench `roofline` printed.")
    return rows


def parse(text: str) -> list[Row]:
    """The lines of the table that hold numbers."""
    rows = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 6 and cells[1].isdigit():
            level, d, metric, peak, rate, _ = cells
            rows.append(Row(level, int(d), metric, float(peak), float(rate)))
    return rows


def in_use(rows: list[Row]) -> dict[int, Row]:
    """Features -> what is reached with the level and the metric that the kernel chooses."""
    return {row.d: row for row in rows if row.metric == CHOSEN}


def figures(row: Row) -> list[str]:
    return [f"{row.peak:.1f}", f"{row.rate:.1f}", f"{row.share:.0%}"]


def judged(row: Row) -> str:
    bar = BARS.get(row.d) if row.metric == CHOSEN else None
    if bar is None:
        return ""
    return f"{'met' if row.share >= bar else 'MISSED'} (≥ {bar:.0%})"


def draw(rows: list[Row], path) -> None:
    figure, axes = plt.subplots(figsize=(7, 4.5))
    for level, metric in dict.fromkeys((row.level, row.metric) for row in rows):
        kept = [row for row in rows if (row.level, row.metric) == (level, metric)]
        style = "o-" if metric == CHOSEN else ".--"
        axes.plot(
            [row.d for row in kept], [row.rate for row in kept], style, label=f"{level} {metric}"
        )
    chosen = in_use(rows)
    axes.plot(list(chosen), [row.peak for row in chosen.values()], "k:", label="peak, level in use")
    bars = {d: BARS[d] * row.peak for d, row in chosen.items() if d in BARS}
    axes.plot(list(bars), list(bars.values()), "k_", markersize=18, label="bar")
    axes.set(xscale="log", xlabel="features", ylabel="GFLOP/s")
    ticks = [d for d in chosen if d != 123]  # too near to 128
    axes.set_xticks(ticks, ticks)
    axes.minorticks_off()
    axes.set_title("Kernel rows, B = 512, float32, one thread")
    axes.legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)
    print(f"written to {path}")


def main():
    options_parser = parser(__doc__)
    add_profile(options_parser)
    options = options_parser.parse_args()
    rows = measure(options.profile)
    options.out.mkdir(parents=True, exist_ok=True)
    draw(rows, options.out / "roofline.png")
    lines = [[row.level, str(row.d), row.metric, *figures(row), judged(row)] for row in rows]
    header = ["level", "d", "metric", "peak GFLOP/s", "kernel rows GFLOP/s", "share", "bar"]
    spread = np.ptp([row.peak for row in in_use(rows).values()])
    note = f"{machine()}; profile {options.profile}. The peak varied by {spread:.1f} GFLOP/s."
    write(options.out / "roofline.md", markdown(header, lines) + "\n\n" + note)


if __name__ == "__main__":
    main()
