"""Many rows of few kinds: a machine whose budget holds every kind is solved exactly, samples of one
row and one class as one of their weight. Beside it the same machine on these, made by hand.

    python benches/python/repeated_rows.py [--kinds 64] [--rounds 3]

Medians of rounds that take turns, two threads; PYTHONPATH says which build. No data set is needed.
"""

from __future__ import annotations

import numpy as np

import budgetsvm
from budgetsvm import BudgetOneClassSVM, BudgetSVC, BudgetSVR
from common import interleaved, machine, markdown, parser, write

SIZES = (100_000, 500_000)


def fits(n, kinds):
    """What is fitted, under its name, on `n` rows of so many kinds."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(kinds, 20)).astype(np.float32)
    which, labels = rng.integers(0, kinds, n), rng.integers(0, 2, n)
    X, value = points[which], points[which, 0] + 0.1 * rng.normal(size=n)
    settings = {"budget": 100, "gamma": 0.1, "n_jobs": 2, "random_state": 0}
    groups, weights = np.unique(2 * which + labels, return_counts=True)
    yield "BudgetSVC", lambda: BudgetSVC(**settings).fit(X, labels)
    yield (
        "BudgetSVC on rows and weights",
        lambda: BudgetSVC(**settings).fit(points[groups // 2], groups % 2, sample_weight=weights),
    )
    yield "BudgetSVR", lambda: BudgetSVR(**settings).fit(X, value)
    yield "BudgetOneClassSVM", lambda: BudgetOneClassSVM(**settings).fit(X)


def main():
    options = parser(__doc__)
    options.add_argument("--kinds", type=int, default=64)
    options.add_argument("--rounds", type=int, default=3)
    options = options.parse_args()
    rows = []
    for n in SIZES:
        times = interleaved(options.rounds, **dict(fits(n, options.kinds)))
        rows += [[f"{n:,}", name, f"{np.median(seconds):.3f}"] for name, seconds in times.items()]
    text = f"{machine()}, {options.kinds} kinds, {budgetsvm.__file__}\n\n"
    write(options.out / "repeated_rows.md", text + markdown(["rows", "machine", "s"], rows))


if __name__ == "__main__":
    main()
