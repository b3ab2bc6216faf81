"""One class on a budget beside the exact machine: area under the ROC curve, streams, time.

    python benches/python/novelty.py [--seeds 5] [--budget 200] [--quick]

Rows are standardised, γ is 1/d, and the anomalies of the test part are what is to be ranked first.
Machines are trained on all rows of the training part, anomalies among them, and on its normal rows
alone. For every ν: the exact machine; `fit` with a budget; `partial_fit` of the rows in calls of
700; `fit` of a half and `partial_fit` of the other; `fit` with wider corners. Medians over the
seeds, which set the order of the rows too. Then: a million normal rows of 20 features, with the
processor time, which other work on the machine does not change.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.metrics import roc_auc_score

from budgetsvm import BudgetOneClassSVM, OneClassSVM
from common import load, machine, markdown, parser, require, timed, write

NAMES = ("anomaly-mammography", "anomaly-shuttle")
NUS = (0.05, 0.2)
CALL = 700
WIDER = (0.1, 0.3)


def parts(folder, name, normal):
    """Standardised rows to train on, rows to rank, and which of these are anomalies."""
    X, y, X_test, y_test = load(folder, name)
    labels, counts = np.unique(y, return_counts=True)
    odd = labels[np.argmin(counts)]
    if normal:
        X = X[y != odd]
    X = np.asarray(X, dtype=np.float64)
    centre, spread = X.mean(axis=0), X.std(axis=0)
    return (X - centre) / spread, (X_test - centre) / spread, y_test == odd


def ranked(model, X_test, odd):
    return roc_auc_score(odd, -model.decision_function(X_test))


def row_of(X, X_test, odd, nu, options):
    """What the machines come to: (exact, its seconds, one list a way of training)."""
    gamma = 1.0 / X.shape[1]
    exact, seconds = timed(OneClassSVM(nu=nu, gamma=gamma).fit, X)
    found = []
    for seed in range(options.seeds):
        rows = X[np.random.default_rng(seed).permutation(len(X))]

        def made(seed=seed, **own):
            how = {"gamma": gamma, "random_state": seed, **own}
            return BudgetOneClassSVM(options.budget, nu, **how)

        fitted, spent = timed(made().fit, rows)
        outside = np.mean(fitted.predict(rows) == -1)
        stream = made()
        for first in range(0, len(rows), CALL):
            stream.partial_fit(rows[first : first + CALL])
        half = made().fit(rows[: len(rows) // 2]).partial_fit(rows[len(rows) // 2 :])
        wider = [made(smoothing=smoothing).fit(rows) for smoothing in WIDER]
        scores = [ranked(m, X_test, odd) for m in (fitted, stream, half, *wider)]
        found.append([*scores, outside, spent])
    return ranked(exact, X_test, odd), seconds, np.array(found)


def large(n, nu, budget):
    """Seconds of `fit` of n normal rows of 20 features, and of a tenth more."""
    rows = np.random.default_rng(0).normal(size=(n, 20))
    rows = rows.astype(np.float32)
    model = BudgetOneClassSVM(budget, nu, gamma=1 / 20, random_state=0)
    begun = time.process_time()
    _, first = timed(model.fit, rows)
    spent = time.process_time() - begun
    outside = np.mean(model.predict(rows[: n // 10]) == -1)
    _, more = timed(lambda: model.partial_fit(rows[: n // 10]).predict(rows[:1]))
    return [
        f"{n:,}",
        f"{nu:g}",
        f"{first:.2f}",
        f"{spent:.2f}",
        f"{more:.2f}",
        f"{100 * outside:.2f}",
    ]


def main() -> None:
    """Measure and print."""
    options_of = parser(__doc__)
    options_of.add_argument("--seeds", type=int, default=5)
    options_of.add_argument("--budget", type=int, default=200)
    options = options_of.parse_args()
    if options.quick:
        options.seeds = 1
    require(options.data, list(NAMES))
    table = []
    for name in NAMES[: 1 if options.quick else None]:
        for normal in (False, True):
            X, X_test, odd = parts(options.data, name, normal)
            for nu in NUS:
                exact, seconds, found = row_of(X, X_test, odd, nu, options)
                middle = np.median(found, axis=0)
                spread = f"{found[:, 0].min():.4f} to {found[:, 0].max():.4f}"
                row = [name, "normal rows" if normal else "all rows", f"{nu:g}", f"{exact:.4f}"]
                row += [f"{value:.4f}" for value in middle[:5]]
                row += [spread, f"{100 * middle[5]:.2f}", f"{seconds:.2f}", f"{middle[6]:.2f}"]
                table.append(row)
                print(" ".join(row), flush=True)
    header = ["data", "trained on", "ν", "exact", f"fit, B={options.budget}", "stream"]
    header += ["half, then half", *(f"fit, smoothing {s:g}" for s in WIDER)]
    header += ["fit, range", "outside %", "exact s", "fit s"]
    n = 20_000 if options.quick else 1_000_000
    times = [large(n, nu, options.budget) for nu in (0.01, 0.05, 0.2)]
    text = f"{machine()}\n\n{markdown(header, table)}\n\n"
    columns = [
        "rows x 20, float32",
        "ν",
        "fit s",
        "CPU s",
        "a tenth more, and a prediction, s",
        "outside %",
    ]
    text += markdown(columns, times)
    write(options.out / "novelty.md", f"{text}\n")


if __name__ == "__main__":
    main()
