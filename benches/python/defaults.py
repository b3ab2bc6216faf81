"""How the defaults of BudgetSVC and BudgetSVR were chosen: passes, smoothing, order of a pass.

Every choice is scored on a 20 % part of the training sets that the fit does not see; the test sets
are not opened. The rule: of the choices whose score, averaged over the data sets, is within
0.1 point of the best, the one that fits fastest. The table is kept in docs/records/defaults.md.
"""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import train_test_split

from budgetsvm import BudgetSVC, BudgetSVR
from common import load, machine, markdown, parser, require, timed, write

CLASSES = [
    ("adult", {"C": 32, "gamma": 2**-7, "budget": 100}),
    ("ijcnn1", {"C": 32, "gamma": 2, "budget": 500}),
    ("cod-rna", {"C": 32, "gamma": 8, "budget": 500}),
    ("usps", {"C": 10, "gamma": 1 / 128, "budget": 300}),
]
VALUES = [
    ("california-housing", {"C": 10, "gamma": 1 / 8, "budget": 500}),
    ("cpusmall", {"C": 10, "gamma": 1 / 12, "budget": 500}),
    ("protein", {"C": 10, "gamma": 1 / 9, "budget": 500}),
]
PASSES = [1, 2, 5]
ORDERS = ["shuffled", "uniform"]
SMOOTHING = [0.02, 0.05, 0.1, 0.3, 0.5, 1.0]
SLACK = 0.001


def halves(options, name):
    X, y, _, _ = load(options.data, name)
    return train_test_split(X, y, test_size=0.2, random_state=0)


def measure(options, kind, cases, choice):
    """Mean score and fit seconds of each data set, over the seeds."""
    found = []
    for name, settings in cases:
        X, X_held, y, y_held = options.parts[name]
        scores, seconds = [], []
        for seed in range(options.seeds):
            model = kind(**settings, **choice, random_state=seed)
            seconds.append(timed(model.fit, X, y)[1])
            scores.append(model.score(X_held, y_held))
        found.append((np.mean(scores), np.mean(seconds)))
    return np.array(found)


def table(options, kind, cases):
    """One row a choice, and the choice that the rule takes."""
    choices = [
        {"max_iter": passes, "smoothing": h, "order": order}
        for passes in PASSES
        for order in ORDERS
        for h in SMOOTHING
    ]
    found = [measure(options, kind, cases, choice) for choice in choices]
    means = [rows[:, 0].mean() for rows in found]
    seconds = [rows[:, 1].sum() for rows in found]
    near = [i for i, mean in enumerate(means) if mean >= max(means) - SLACK]
    best = min(near, key=lambda i: seconds[i])
    rows = []
    for i, (choice, scores) in enumerate(zip(choices, found, strict=True)):
        each = [f"{100 * score:.2f}" for score in scores[:, 0]]
        chosen = "fastest within 0.1 point" if i == best else ""
        shown = [str(value) for value in choice.values()]
        rows.append([*shown, *each, f"{100 * means[i]:.2f}", f"{seconds[i]:.2f}", chosen])
    names = [name for name, _ in cases]
    header = ["max_iter", "smoothing", "order", *names, "mean", "fit s, all", ""]
    return f"## {kind.__name__}\n\n{markdown(header, rows)}"


def main():
    options_parser = parser(__doc__)
    options_parser.add_argument("--seeds", type=int, default=3)
    options = options_parser.parse_args()
    names = [name for name, _ in CLASSES + VALUES]
    require(options.data, names)
    options.parts = {name: halves(options, name) for name in names}
    parts = [table(options, BudgetSVC, CLASSES), table(options, BudgetSVR, VALUES)]
    note = f"Means of {options.seeds} seeds on the held-out part. {machine()}."
    write(options.out / "defaults.md", "\n\n".join([*parts, note]))


if __name__ == "__main__":
    main()
