"""Divide and conquer online ([DCONLINE]): accuracy and throughput on LETTER, USPS and COVTYPE.

C, gamma and center_step by five-fold cross-validation on (at most 5,000 rows of) the training
data, each configuration (n_clusters, budget) on its own; the test set is opened once. The paper's
figures stand beside. `--only ablation` compares the stages of pruning, the two machines of a cell
and the two ways to find the centres.
"""

from __future__ import annotations

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from budgetsvm import SVC, LocalBudgetSVC
from common import load, machine, markdown, parser, require, timed, write

# (n_clusters, budget): the paper's accuracy on LETTER, USPS, COVTYPE; its train and test samples/s.
SIZES = {
    (1000, 1000): ({"letter": 94.82, "usps": 95.71, "covtype-sample": 94.80}, 6_066, 11_100),
    (256, 64): ({"letter": 93.97, "usps": 94.97, "covtype-sample": 78.95}, 16_500, 54_000),
    (16, 64): ({"letter": 83.27, "usps": 85.65, "covtype-sample": 64.35}, 2_962, 81_100),
}
# Exact machines: the settings of the tables elsewhere.
EXACT = {
    "letter": {"C": 16, "gamma": 4},
    "usps": {"C": 10, "gamma": 1 / 128},
    "covtype-sample": {"C": 128, "gamma": 8},
}
GRIDS = {
    "letter": {"gamma": [4, 8], "C": [4, 32], "center_step": [0.0, 0.02]},
    "usps": {"gamma": [1 / 256, 1 / 128, 1 / 64], "C": [10], "center_step": [0.0, 0.02]},
    "covtype-sample": {"gamma": [4, 8, 16], "C": [16, 128], "center_step": [0.0, 0.02]},
}
VARIANTS = [
    {"pruning": "all"}, {"pruning": "step"}, {"pruning": "margin"}, {"pruning": "weight"},
    {"local": "bsca"}, {"assign": "kmeans"}, {"local": "bsca", "assign": "kmeans"},
]  # fmt: skip


def scaled(options, name):
    X, y, X_test, y_test = load(options.data, name)
    if name == "covtype-sample":
        low, width = X.min(axis=0), np.ptp(X, axis=0)
        width[width == 0] = 1
        X, X_test = (X - low) / width, (X_test - low) / width
    return X.astype(np.float32), y, X_test.astype(np.float32), y_test


def tuned(name, n_clusters, budget, X, y, **settings):
    """A machine with the best of the grid, and what was chosen."""
    rows = np.random.default_rng(0).permutation(len(y))[:5_000]
    base = LocalBudgetSVC(n_clusters, budget, max_iter=3, random_state=0, **settings)
    search = GridSearchCV(base, GRIDS[name], cv=5).fit(X[rows], y[rows])
    return clone(base).set_params(**search.best_params_), search.best_params_


def accuracy(options):
    for name in options.data_sets:
        X, y, X_test, y_test = scaled(options, name)
        reference = SVC(**EXACT[name]).fit(X, y).score(X_test, y_test)
        yield [f"SVC, {name}", f"{reference:.2%}", "", "", ""]
        for (n_clusters, budget), (paper, *_) in SIZES.items():
            model, chosen = tuned(name, n_clusters, budget, X, y)
            found = []
            for seed in range(options.seeds):
                model.set_params(random_state=seed)
                found.append((timed(model.fit, X, y)[1], model.score(X_test, y_test)))
            seconds, score = np.median(found, axis=0)
            settings = ", ".join(f"{key}={value:.4g}" for key, value in chosen.items())
            label = f"LocalBudgetSVC({n_clusters}, {budget}), {name}, {settings}"
            yield [label, f"{score:.2%}", f"{paper[name]:.2f} %", f"{seconds:.2f}", ""]


def throughput(options):
    """LETTER, A to M against N to Z, one pass: samples a second."""
    X, y, X_test, _ = scaled(options, "letter")
    halves = y > np.median(np.unique(y))
    for (n_clusters, budget), (_, train, test) in SIZES.items():
        model = LocalBudgetSVC(n_clusters, budget, C=32, gamma=8, random_state=0)
        fits = [timed(model.fit, X, halves)[1] for _ in range(7)]
        tests = [timed(model.predict, X_test)[1] for _ in range(7)]
        rates = len(X) / np.median(fits), len(X_test) / np.median(tests)
        shown = [
            f"{rate:,.0f} ({rate / paper:.1f} x the paper's)"
            for rate, paper in zip(rates, (train, test), strict=True)
        ]
        yield [f"samples/s, LETTER in halves ({n_clusters}, {budget})", "", "", *shown]


def ablation(options):
    for name in ("letter", "usps"):
        X, y, X_test, y_test = scaled(options, name)
        for variant in VARIANTS:
            model, _ = tuned(name, 16, 64, X, y, **variant)
            seconds = timed(model.fit, X, y)[1]
            label = f"{name} (16, 64): {', '.join(f'{k}={v}' for k, v in variant.items())}"
            yield [label, f"{model.score(X_test, y_test):.2%}", "", f"{seconds:.2f}", ""]


def main():
    options_parser = parser(__doc__)
    tables = {"accuracy": accuracy, "throughput": throughput, "ablation": ablation}
    options_parser.add_argument("--only", nargs="+", choices=list(tables), default=list(tables))
    options_parser.add_argument("--data-sets", nargs="+", choices=list(EXACT), default=list(EXACT))
    options_parser.add_argument("--seeds", type=int, default=3)
    options = options_parser.parse_args()
    require(options.data, options.data_sets)
    rows = []
    for group in options.only:
        for row in tables[group](options):
            print(" | ".join(row), flush=True)
            rows.append(row)
    header = ["machine", "test accuracy", "the paper's", "train s or samples/s", "test samples/s"]
    note = f"Medians of {options.seeds} seeds. {machine()}."
    write(options.out / "local.md", "\n" + markdown(header, rows) + "\n\n" + note)


if __name__ == "__main__":
    main()
