"""Probabilities of `calibrate` beside scikit-learn's `CalibratedClassifierCV(est, cv=5)`.

    python benches/python/calibration.py [--sets adult usps] [--methods sigmoid] [--quick]

Log loss and Brier score on the test part (several classes: the mean over rows of the sum of
squares), of machines on a budget; "ratio" is that of each of our methods to scikit-learn's default,
sigmoids and the mean of five machines, and to the same with `ensemble=False`, one machine as ours.
"least" is the ratios that the method would have if its curves were fitted to the test rows
themselves: what no curve of its kind for this one machine can fall below by more than luck.
With `--more 1.5` a machine of so many times the terms comes last: scikit-learn's five have five
times as many as one, and take as long to predict. Processor seconds of `fit`, of `calibrate`, and
of scikit-learn's whole fit.
"""

from __future__ import annotations

import time
import warnings

from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss

from budgetsvm import BudgetSVC
from common import load, machine, markdown, parser, require, write

SETS = {
    "adult": {"budget": 200, "C": 32, "gamma": 2**-7},
    "ijcnn1": {"budget": 500, "C": 32, "gamma": 2},
    "cod-rna": {"budget": 200, "C": 32, "gamma": 8},
    "letter": {"budget": 1000, "C": 32, "gamma": "scale"},
    "usps": {"budget": 1000, "C": 10, "gamma": "scale"},
}
METHODS = ("auto", "sigmoid", "isotonic", "temperature")


def spent(action, *arguments):
    start = time.process_time()
    return action(*arguments), time.process_time() - start


def brier(p, y, classes):
    """Of two classes the square of one probability's error, of more the sum over classes."""
    errors = ((p - (y[:, None] == classes)) ** 2).sum(axis=1).mean()
    return errors / 2 if len(classes) == 2 else errors


def measured(p, y, classes):
    return log_loss(y, p, labels=classes), brier(p, y, classes)


def main():
    options = parser(__doc__)
    options.add_argument("--sets", nargs="*", default=list(SETS))
    options.add_argument("--methods", nargs="*", default=list(METHODS))
    options.add_argument("--more", type=float, help="so many times the terms, too")
    options.add_argument("--seed", type=int, default=0)
    options = options.parse_args()
    require(options.data, options.sets)
    warnings.simplefilter("ignore")
    rows = []
    for name in options.sets:
        X, y, X_test, y_test = load(options.data, name)
        if options.quick:
            X, y, X_test, y_test = X[:1500], y[:1500], X_test[:500], y_test[:500]
        est = BudgetSVC(random_state=options.seed, **SETS[name])
        model, fit = spent(clone(est).fit, X, y)
        ways = [(model, fit, method, method) for method in options.methods]
        if options.more:
            wider = clone(est).set_params(budget=round(options.more * est.budget))
            ways.append((*spent(wider.fit, X, y), "auto", f"auto, {wider.budget} terms"))
        losses, seconds = [], []
        for ensemble in (True, False):
            other = CalibratedClassifierCV(est, cv=5, ensemble=ensemble)
            other, took = spent(other.fit, X, y)
            p = other.predict_proba(X_test)
            losses.append(measured(p, y_test, model.classes_))
            seconds.append(f"{took:.1f}")
        for model, fit, method, text in ways:
            _, ours = spent(model.calibrate, X, y, method)
            own = measured(model.predict_proba(X_test), y_test, model.classes_)
            model.calibrate(X_test, y_test, method, cv="prefit")
            best = measured(model.predict_proba(X_test), y_test, model.classes_)
            least = f"{best[0] / losses[0][0]:.3f} / {best[1] / losses[0][1]:.3f}"
            ratios = [f"{own[0] / theirs[0]:.3f} / {own[1] / theirs[1]:.3f}" for theirs in losses]
            rows.append(
                [name, text, f"{fit:.2f}", f"{ours:.2f}", f"{ours / fit:.2f}",
                 f"{own[0]:.4f}", f"{own[1]:.4f}", ratios[0], least, seconds[0],
                 ratios[1], seconds[1]]
            )  # fmt: skip
            print(*rows[-1], flush=True)
    header = (
        "set, method, fit s, calibrate s, calibrate / fit, log loss, Brier, "
        "ratio to five machines, least, their s, ratio to one machine, its s"
    ).split(", ")
    write(options.out / "calibration.md", f"{machine()}\n\n{markdown(header, rows)}")


if __name__ == "__main__":
    main()
