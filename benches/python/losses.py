"""Which loss the passes of BudgetSVC and BudgetSVR should run with before polishing.

Polishing solves for the coefficients; the passes find the points. Compared are passes with the loss
asked for and with another one, polished with the loss asked for: the objective reached, the mean
loss on a 20 % part of the training set that the fit does not see, and the time. The test sets are
not opened. The table is kept in docs/records/defaults.md.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit
from sklearn.metrics import log_loss, mean_pinball_loss
from sklearn.model_selection import train_test_split

from budgetsvm import BudgetSVC, BudgetSVR
from common import load, machine, markdown, parser, require, timed, write

CLASSES = [
    ("adult", {"C": 32, "gamma": 2**-7}),
    ("ijcnn1", {"C": 32, "gamma": 2}),
    ("cod-rna", {"C": 32, "gamma": 8}),
    ("phishing", {"C": 8, "gamma": 2**-4}),
]
VALUES = [
    ("california-housing", {"C": 10, "gamma": 1 / 8}),
    ("cpusmall", {"C": 10, "gamma": 1 / 12}),
    ("protein", {"C": 10, "gamma": 1 / 9}),
]
BUDGETS = [50, 200]
QUANTILES = [0.1, 0.5, 0.9]


def log_odds(model, X, y):
    """Mean logistic loss."""
    return log_loss(y == model.classes_[1], expit(model.decision_function(X)))


def pinball(model, X, y):
    """Mean loss of the quantile."""
    return mean_pinball_loss(y, model.predict(X), alpha=model.quantile)


def fit(model, X, y, loss):
    """Passes with this loss, polished with the model's own."""
    own = model.loss
    model.set_params(loss=loss, polishing=False).fit(X, y)
    return model.set_params(loss=own, polishing=True).polish(X, y)


def compare(options, name, model, other, mean_loss):
    """A row: medians over the seeds of what either way comes to."""
    X, X_held, y, y_held = options.parts[name]
    found = {}
    for loss in (model.loss, other):
        runs = []
        for seed in range(options.seeds):
            model.set_params(random_state=seed)
            seconds = timed(fit, model, X, y, loss)[1]
            runs.append((model.objective_["primal"], mean_loss(model, X_held, y_held), seconds))
        found[loss] = np.median(runs, axis=0)
    own, its = found.values()
    by = f"{100 * (own[0] / its[0] - 1):+.2f} %"
    what = f"q = {model.quantile}" if hasattr(model, "quantile") else f"B = {model.budget}"
    return [name, what, by, f"{own[1]:.4f} / {its[1]:.4f}", f"{own[2]:.2f} / {its[2]:.2f}"]


def main():
    options_parser = parser(__doc__)
    options_parser.add_argument("--seeds", type=int, default=3)
    options = options_parser.parse_args()
    names = [name for name, _ in CLASSES + VALUES]
    require(options.data, names)
    options.parts = {}
    for name in names:
        X, y, _, _ = load(options.data, name)
        options.parts[name] = train_test_split(X, y, test_size=0.2, random_state=0)
    header = ["data", "", "objective, own less the other's", "mean loss", "fit s"]
    rows = [
        compare(options, name, BudgetSVC(budget, loss="log_loss", **params), "hinge", log_odds)
        for name, params in CLASSES
        for budget in BUDGETS
    ]
    text = f"Passes of `log_loss` / of `hinge`:\n\n{markdown(header, rows)}\n"
    rows = [
        compare(
            options, name, BudgetSVR(100, loss="quantile", quantile=q, **params),
            "epsilon_insensitive", pinball,
        )
        for name, params in VALUES
        for q in QUANTILES
    ]  # fmt: skip
    text += f"\nPasses of `quantile` / of `epsilon_insensitive`:\n\n{markdown(header, rows)}\n"
    write(options.out / "losses.md", f"{text}\nMedians of {options.seeds} seeds. {machine()}.")


if __name__ == "__main__":
    main()
