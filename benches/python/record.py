"""What a script of a paper found: tables and pictures, of which `reproduce.py` makes a document.

    with Record(options, "mpd_paper", seeds="0") as record:
        record.compare("table_1", "Table 1. Error %, ADULT", [("s = 512", 15.1, 15.02, 15.0)])
        record.table("figure_2", "Figure 2. Seconds against m", ["m", "s"], [[50, 0.01]])
        record.picture("figure_2", "Figure 2. Seconds against m", figure)
        record.text("CCAT", "CCAT is not at hand; reuters-money-fx stands in its place.")

`options` are those of `common.parser`. All lands in `options.out / "record" / NAME`:
`record.json`, a CSV file of every table, a PNG of every picture. What has the name of an earlier
run's table or picture takes its place, so that a part of a script can be run again alone; each
keeps its own machine, version and command.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import sklearn

import budgetsvm
from common import ROOT, machine, markdown

#: Colours of a picture's palette: enough for lines and their edges, a third of the size.
COLOURS = 64


class Record:
    """A section of the document, kept after every entry."""

    def __init__(self, options, name: str, seeds: str):
        self.name, self.seeds = getattr(options, "part", None) or name, seeds
        self.folder = Path(options.out) / "record" / self.name
        self.quick = options.quick

    def __enter__(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        self.file = self.folder / "record.json"
        try:
            kept = json.loads(self.file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            kept = {}
        self.entries = kept.get("entries", {}) if kept.get("quick") == self.quick else {}
        self.start, self.done = time.perf_counter(), False
        # Of the code that was loaded: a commit in the middle of a run does not change it.
        self.version = version()
        return self

    def __exit__(self, kind, *_):
        self.done = kind is None
        self._keep()

    def compare(self, name: str, title: str, rows, what: str = "", peer: str = "a peer's") -> None:
        """A table of what the paper says beside ours.

        `rows` are (what, the paper's, ours, a peer's), numbers or text, None where there is none;
        `what` and `peer` head the first and the last column.
        """
        self.table(name, title, [what, "the paper's", "ours", peer], rows)

    def table(self, name: str, title: str, header: list[str], rows) -> None:
        """A table; numbers are kept as they are in the CSV file, and shown with four digits."""
        rows = [list(row) for row in rows]
        with (self.folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *rows])
        cells = [[shown(value).replace("|", "\\|") for value in row] for row in (header, *rows)]
        text = markdown(cells[0], cells[1:])
        print(f"\n{title}\n\n{text}\n", flush=True)
        self._add(f"{name}.table", {"kind": "table", "title": title, "text": text})

    def picture(self, name: str, title: str, figure, width: float = 900) -> None:
        """A figure of matplotlib, `width` pixels wide, which is closed."""
        from matplotlib import pyplot as plt

        path = self.folder / f"{name}.png"
        figure.savefig(path, dpi=width / figure.get_size_inches()[0])
        plt.close(figure)
        _shrink(path)
        print(f"written to {path}", flush=True)
        self._add(f"{name}.picture", {"kind": "picture", "title": title, "file": path.name})

    def text(self, name: str, text: str) -> None:
        """A paragraph of markdown."""
        print(f"\n{text}\n", flush=True)
        self._add(f"{name}.text", {"kind": "text", "text": text})

    def _add(self, key: str, entry: dict) -> None:
        about = {
            "machine": machine(), "version": self.version, "seeds": self.seeds,
            "command": command(),
        }  # fmt: skip
        self.entries[key] = {**entry, **about}
        self._keep()

    def _keep(self) -> None:
        seconds = time.perf_counter() - self.start
        kept = {"quick": self.quick, "done": self.done, "seconds": seconds}
        written(self.file, {**kept, "version": self.version, "entries": self.entries})


def written(path: Path, kept: dict) -> None:
    """A file of JSON, whole or as it was."""
    text = json.dumps(kept, indent=1, ensure_ascii=False)
    part = path.with_suffix(".part")
    part.write_text(text + "\n", encoding="utf-8")
    part.replace(path)


def shown(value) -> str:
    """A cell of a table."""
    if value is None or (isinstance(value, float | np.floating) and np.isnan(value)):
        return "–"
    if isinstance(value, float | np.floating):
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def version() -> str:
    """Of the package and the commit, and of the peer."""
    found = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True
    )
    commit = f" ({found.stdout.strip()})" if found.returncode == 0 else ""
    return f"budgetsvm {budgetsvm.__version__}{commit}, scikit-learn {sklearn.__version__}"


def command() -> str:
    """What was typed, without the folders."""
    words = [Path(sys.argv[0]).name]
    rest = iter(sys.argv[1:])
    for word in rest:
        if word in ("--data", "--out", "--part"):
            next(rest, None)
        elif not word.startswith(("--data=", "--out=", "--part=")):
            words.append(word)
    return " ".join(["python", "benches/python/" + words[0], *words[1:]])


def _shrink(path: Path) -> None:
    """A palette in place of true colours; matplotlib brings Pillow along."""
    from PIL import Image

    with Image.open(path) as image:
        small = image.convert("RGB").quantize(COLOURS)
    small.save(path, optimize=True)
