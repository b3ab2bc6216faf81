"""Whether classifiers gain by an offset: the flagship's sets, with `fit_intercept` and without.

Accuracy on a 20 % part of the training sets that no fit sees (the test sets are not opened), and
the processor's time of both, run in turn. The rule: the offset is on by default where it gains
accuracy on the mean and costs at most 5 % of time. The table is kept in docs/records/defaults.md.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.model_selection import train_test_split

from budgetsvm import BudgetSVC
from common import load, machine, markdown, parser, require, write

CASES = [
    ("adult", {"C": 32, "gamma": 2**-7, "budget": 100}),
    ("ijcnn1", {"C": 32, "gamma": 2, "budget": 500}),
    ("cod-rna", {"C": 32, "gamma": 8, "budget": 500}),
    ("usps", {"C": 10, "gamma": 1 / 128, "budget": 300}),
    ("letter", {"C": 16, "gamma": 4, "budget": 1000}),
    ("adult", {"C": 32, "gamma": 2**-7, "budget": 10, "refine": True}),
    ("ijcnn1", {"C": 32, "gamma": 2, "budget": 30, "refine": True}),
    ("cod-rna", {"C": 32, "gamma": 8, "budget": 30, "refine": True}),
]


def fitted(model, X, y):
    """The model, and the processor's seconds that it took, all threads together."""
    start = time.process_time()
    model.fit(X, y)
    return model, time.process_time() - start


def row(options, name, settings):
    """A line of the table, and by how much accuracy and time differ."""
    X, y, _, _ = load(options.data, name)
    X, X_held, y, y_held = train_test_split(X, y, test_size=0.2, random_state=0)
    scores, seconds = np.empty((2, options.seeds)), np.empty((2, options.seeds))
    for seed in range(options.seeds):
        for i, offset in enumerate((False, True)):
            model = BudgetSVC(**settings, fit_intercept=offset, random_state=seed)
            model, seconds[i, seed] = fitted(model, X, y)
            scores[i, seed] = model.score(X_held, y_held)
    without, with_offset = 100 * scores.mean(axis=1)
    # The least of each: other work on the machine only adds.
    ratio = seconds[1].min() / seconds[0].min()
    how = ", refined" if settings.get("refine") else ""
    line = [f"{name}, B = {settings['budget']}{how}", f"{without:.2f}", f"{with_offset:.2f}"]
    return [*line, f"{seconds[0].min():.2f}", f"{ratio:.2f}"], with_offset - without, ratio


def main():
    options_parser = parser(__doc__)
    options_parser.add_argument("--seeds", type=int, default=5)
    options = options_parser.parse_args()
    require(options.data, sorted({name for name, _ in CASES}))
    rows, gains, ratios = [], [], []
    for name, settings in CASES:
        line, gain, ratio = row(options, name, settings)
        print(" | ".join(line), flush=True)
        rows.append(line)
        gains.append(gain)
        ratios.append(ratio)
    rows.append(["mean", "", f"{np.mean(gains):+.2f}", "", f"{np.mean(ratios):.2f}"])
    header = ["data", "without, %", "with an offset, %", "CPU s without", "time with / without"]
    note = f"Means of {options.seeds} seeds, least times. {machine()}."
    write(options.out / "offset.md", "\n\n".join([markdown(header, rows), note]))


if __name__ == "__main__":
    main()
