"""A made-up stream that turns to rows of another kind, for `streams.py`."""

from __future__ import annotations

from itertools import product

import numpy as np
from sklearn.base import clone

from budgetsvm import BudgetSVC


def board(n, turn, share, rng):
    """A board of nine squares; from row `turn` on this share of rows is on one that is far away."""
    X = rng.uniform(0, 3, size=(n, 2))
    y = (np.floor(X[:, 0]) + np.floor(X[:, 1])) % 2
    new = (np.arange(n) >= turn) & (rng.random(n) < share)
    X[new, 0] += 6
    return X, y.astype(int)


def turning(seeds, turn=2048):
    """Accuracy on the board that comes after 2,048 rows of another, and on that: of a stream after
    so many rows, and of `fit` on these."""
    lines = []
    for budget, share, rows in product((40, 100), (1.0, 0.5, 0.2), (2400, 2900, 4000)):
        found = []
        for seed in seeds:
            X, y = board(rows, turn, share, np.random.default_rng(seed))
            X_there, y_there = board(2000, 0, 1.0, np.random.default_rng(100 + seed))
            model = BudgetSVC(budget=budget, C=10, gamma=4.0, random_state=seed)
            streamed = clone(model).partial_fit(X, y, classes=[0, 1])
            fitted = clone(model).fit(X, y)
            given = ((X_there, y_there), (X[:turn], y[:turn]))
            found.append([100 * m.score(*of) for of in given for m in (streamed, fitted)])
        lines.append([budget, share, rows, *np.median(found, axis=0)])
        print(*lines[-1], flush=True)
    return lines


TURN = ["B", "share of rows", "rows", "new board: stream", "fit", "old board: stream", "fit "]
