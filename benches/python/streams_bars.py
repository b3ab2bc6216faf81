"""What streams were to show beside what the records of streams.py and prequential.py hold."""

from __future__ import annotations

import json

import numpy as np

from record import written

#: Most that a stream may be below `fit` at a checkpoint, median of seeds, where it is not 0.6.
ALLOWED = {
    "ijcnn1, file": 1.0,
    "letter, shuffled": 1.5,
    "letter, file": 1.5,
    "california-housing, shuffled": 1.0,
    "california-housing, file": 1.0,
}


class Numbers:
    """What the parts of streams.py found, kept in a file."""

    def __init__(self, folder):
        self.file = folder / "numbers.json"
        self.kept = json.loads(self.file.read_text(encoding="utf-8")) if self.file.is_file() else {}

    def __getitem__(self, name):
        return self.kept[name]

    def __contains__(self, name):
        return name in self.kept

    def put(self, name, value):
        self.kept[name] = value
        written(self.file, self.kept)

    def streams(self):
        """The sets and orders that were run."""
        return [name for name, value in self.kept.items() if "runs" in str(value)[:40]]

    def end(self, name):
        return np.median([run["seen"][-1] for run in self[name]["runs"]])

    def fit(self, name):
        return np.median([run["fit"] for run in self[name]["runs"]])

    def below(self, name):
        """Most below `fit` at a checkpoint: median of seeds, at worst."""
        gaps = np.array([run["gaps"] for run in self[name]["runs"]])
        return np.median(gaps, axis=0).max(), gaps.max()

    def least(self, name, first):
        """Of all looks from a row on, on any seed."""
        return min(
            score
            for run in self[name]["runs"]
            for rows, score in zip(run["rows"], run["seen"], strict=True)
            if rows >= first
        )

    def beside_fit(self):
        """(header, lines) of all streams."""
        header = [
            "set, order", "B", "stream, end", "fit on all", "most below fit at a checkpoint",
            "at worst", "least from row 6,000 on", "processor time / that of fit",
        ]  # fmt: skip
        lines = []
        for name in self.streams():
            cost = np.median([run["cost"] for run in self[name]["runs"]])
            figures = (self.end(name), self.fit(name), *self.below(name), self.least(name, 6000))
            figures = [f"{v:.2f}" for v in figures]
            lines.append([name, self[name]["budget"], *figures, f"{cost:.1f}"])
        return header, lines


def yes(met):
    return "yes" if met else "**no**"


def bars(numbers, out):
    """(what, bar, measured, met) for all that was run."""
    told_lines = []

    def add(what, bar, measured, met):
        told_lines.append([what, bar, measured, yes(met)])

    for name in numbers.streams():
        end, fit, (below, worst) = numbers.end(name), numbers.fit(name), numbers.below(name)
        if name.startswith("adult"):
            add(f"{name}: end", "84.9 %", f"{end:.2f}", end >= 84.9)
        if name == "adult, shuffled":
            least = numbers.least(name, 6000)
            add(f"{name}: any of 50 looks from row 6,000 on", "84.4", f"{least:.2f}", least >= 84.4)
        if name.startswith("ijcnn1"):
            bar = 98.3 if "shuffled" in name else 98.0
            add(f"{name}: end", f"{bar}", f"{end:.2f}", end >= bar)
        if name.startswith("cod-rna"):
            add(f"{name}: end, below fit", "0.4", f"{fit - end:.2f}", fit - end <= 0.4)
        if name.startswith(("letter", "california")):
            bar = ALLOWED[name]
            add(f"{name}: end, below fit", f"{bar:g}", f"{fit - end:.2f}", fit - end <= bar)
        allowed = ALLOWED.get(name, 0.6)
        met = below <= allowed and worst <= 2
        measured = f"{below:.2f}, {worst:.2f}"
        add(f"{name}: below fit at a checkpoint; any seed", f"{allowed:g}; 2", measured, met)
    if "past" in numbers:
        _, below, worst, *_ = numbers["past"][0]
        what = "ijcnn1, file, on rows held out of those so far: the same"
        add(what, "1; 2", f"{below:.2f}, {worst:.2f}", below <= 1 and worst <= 2)
    if "cuts" in numbers:
        add("Adult in calls of 1, 100, 2,000 rows", "the same bits", "", numbers["cuts"])
    for name, (before, least, end, whole) in numbers.kept.get("halves", {}).items():
        met = least >= before - 0.2 and end >= whole - 0.2
        measured = f"{before - least:.2f}, {whole - end:.2f}"
        what = f"{name}, `fit` on half, `partial_fit` on the rest: below before; below fit on all"
        add(what, "0.2; 0.2", measured, met)
    for name, (*_, ratio, _, forest) in numbers.kept.get("times", {}).items():
        met = ratio <= 3 and forest >= 20
        what = f"{name}, B = 500: time of a pass over that of `fit`; the forest's over the pass's"
        add(what, "3; 20", f"{ratio:.2f}, {forest:.0f}", met)
    for kind, _, _, forgetting, after, known, *_ in numbers.kept.get("drifts", []):
        if kind == "sudden" and forgetting != "1":
            below = known - after
            what = "sudden drift: below the machine that knows it, after 2,000 rows"
            add(what, "1", f"{below:.2f}", below <= 1)
        elif forgetting != "1":
            *_, last, knows = next(
                line for line in numbers["drifts"] if line[0] == kind and line[3] != "1"
            )
            what = "gradual drift: the same, mean of the last 8,000 rows"
            add(what, "1", f"{knows - last:.2f}", knows - last <= 1)
    for features, asked, alone in numbers.kept.get("one by one", []):
        met = asked <= 1000 and alone <= 30
        what = f"river, {features} features: µs a row learnt and predicted; learnt alone"
        add(what, "1,000; 30", f"{asked:.0f}, {alone:.0f}", met)
    file = out / "record" / "prequential" / "elec2.lines.json"
    if file.is_file():
        told = {
            name: line[1]
            for name, line in json.loads(file.read_text("utf-8")).items()
            if name != "rows"
        }
        ours, none = told.get("BudgetSVC with forgetting"), told["no change"]
        forest = told.get("adaptive random forest")
        if ours and forest:
            measured = f"{ours:.2f} ({none:.2f}, {forest:.2f})"
            what = "elec2: accuracy (no change, adaptive random forest)"
            add(what, "above both", measured, ours > none and ours > forest)
    return told_lines
