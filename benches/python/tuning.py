"""What choosing C and γ costs, and how good the choice is.

    python benches/python/tuning.py                       # all sets
    python benches/python/tuning.py --only letter --rows 3000
    python benches/python/tuning.py --seeds 3             # three draws of rows and folds a set

For every development set, so many rows of it drawn at random, standardised: a fit at the defaults;
scikit-learn's `GridSearchCV` of 25 places on five folds; `BudgetSVCCV` (`BudgetSVRCV`) on the same
places and folds; and ``C="tune", gamma="tune"``. Processor time, on one thread, as multiples of one
fit at the place that `GridSearchCV` chose (the median of three), and the score on the test rows of
a machine fitted with each choice; of the place that ours chose also what `GridSearchCV`'s table
says of it, less its best: how much of a difference on the test rows is the choice, not luck. With
``--again`` the same of a second `GridSearchCV`, whose machines draw other numbers at random: what
the choices of one and the same search differ by. The
last lines are means over the sets: the differences to `GridSearchCV` in points, and geometric means
of the times.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler

from budgetsvm import SVC, SVR, BudgetSVC, BudgetSVCCV, BudgetSVR, BudgetSVRCV
from common import machine, markdown, parser, require, rows_of, write

CLASSES = (
    "spambase phishing higgs-sample adult ijcnn1 cod-rna satimage usps letter covtype-classes"
).split()
VALUES = "cpuact california-housing abalone protein puma32h".split()
CS = np.geomspace(0.1, 1000, 5)
GAMMAS = np.geomspace(1 / 16, 16, 5)


def drawn(folder, name: str, rows: int, seed: int = 0):
    """Training rows, at most so many, and test rows; both standardised by the first."""
    with np.load(folder / f"{name}.npz", allow_pickle=False) as stored:
        parts = {key: stored[key] for key in stored.files}
    rng = np.random.default_rng(seed)
    found = []
    for part, most in (("train", rows), ("test", 8000)):
        X, y = rows_of(parts, part), parts[f"y_{part}"]
        chosen = rng.permutation(X.shape[0])[:most]
        X = X[chosen]
        found += [np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float32), y[chosen]]
    X, y, X_test, y_test = found
    scaler = StandardScaler().fit(X)
    X, X_test = (scaler.transform(part).astype(np.float32) for part in (X, X_test))
    if name in VALUES:
        y, y_test = (y - y.mean()) / y.std(), (y_test - y.mean()) / y.std()
    return X, y, X_test, y_test


def spent(action) -> tuple:
    start = time.process_time()
    result = action()
    return result, time.process_time() - start


def measured(given, name: str, seed: int) -> tuple[list[str], list[float], list[float]]:
    """The line of a set, points to `GridSearchCV` and times in fits."""
    X, y, X_test, y_test = drawn(given.data, name, given.rows, seed)
    values = name in VALUES
    own: dict = {"n_jobs": 1}
    lost, again = 0.0, 0.0
    if given.exact:
        one, cv = (SVR if values else SVC), None
    else:
        own |= {"budget": given.budget, "random_state": seed}
        one, cv = (BudgetSVR, BudgetSVRCV) if values else (BudgetSVC, BudgetSVCCV)
    gammas = GAMMAS / (X.shape[1] * X.var(dtype=np.float64))
    kind = KFold if values else StratifiedKFold
    folds = list(kind(5, shuffle=True, random_state=seed).split(X, y))
    places = {"C": CS, "gamma": gammas}
    search = GridSearchCV(one(**own), places, cv=folds, refit=False)
    _, of_grid = spent(lambda: search.fit(X, y))

    def scored(C, gamma):
        return 100 * one(C=C, gamma=gamma, **own).fit(X, y).score(X_test, y_test)

    best = search.best_params_
    fits = [spent(lambda: one(**best, **own).fit(X, y))[1] for _ in range(3)]
    fit = float(np.median(fits))
    found = {"one fit": (scored(1.0, "scale"), fit), "GridSearchCV": (scored(**best), of_grid)}
    if cv is not None:
        ours = cv(Cs=CS, gammas=gammas, cv=folds, refit=False, **own)
        _, of_cv = spent(lambda: ours.fit(X, y))
        found["CV"] = (scored(ours.C_, ours.gamma_), of_cv)
        table = 100 * search.cv_results_["mean_test_score"]
        at = [p == {"C": ours.C_, "gamma": ours.gamma_} for p in search.cv_results_["params"]]
        lost = float(table[at.index(True)] - table.max())
    if given.again:
        other = GridSearchCV(
            one(**{**own, "random_state": seed + 1}), places, cv=folds, refit=False
        )
        _, of_other = spent(lambda: other.fit(X, y))
        found["again"] = (scored(**other.best_params_), of_other)
        of_table = 100 * search.cv_results_["mean_test_score"][other.best_index_]
        again = float(of_table - 100 * search.best_score_)
    tuned = one(C="tune", gamma="tune", **own)
    _, of_tuned = spent(lambda: tuned.fit(X, y))
    found["tune"] = (100 * tuned.score(X_test, y_test), of_tuned)
    line = [name, f"{fit:.3f}", f"{lost:+.2f}" + (f", {again:+.2f}" if given.again else "")]
    for who, (score, seconds) in found.items():
        line.append(f"{score:.2f}" + ("" if who == "one fit" else f" ({seconds / fit:.1f})"))
    line.append(f"{of_tuned - 2 * fit:.2f}")
    points = [score - found["GridSearchCV"][0] for score, _ in found.values()]
    return line, [lost, again, *points], [seconds / fit for _, seconds in found.values()]


def main() -> None:
    options = parser(__doc__ or "")
    options.add_argument("--only", help="names of sets, by commas")
    options.add_argument("--rows", type=int, default=4000)
    options.add_argument("--seeds", type=int, default=1)
    options.add_argument("--budget", type=int, default=200)
    options.add_argument("--again", action="store_true", help="GridSearchCV of another seed too")
    options.add_argument("--exact", action="store_true", help="tune SVC and SVR, without a grid")
    given = options.parse_args()
    names = given.only.split(",") if given.only else [*CLASSES, *VALUES]
    if given.quick:
        names, given.rows = ["spambase"], 600
    require(given.data, names)
    warnings.simplefilter("ignore")
    found = []
    for name in names:
        for seed in range(given.seeds):
            found.append(measured(given, name, seed))
            print(" | ".join(found[-1][0]), flush=True)
    lines, points, times = zip(*found, strict=True)
    (lost, again, *mean), ratio = np.mean(points, axis=0), np.exp(np.mean(np.log(times), axis=0))
    each = (f"{m:+.2f} ({r:.1f})" for m, r in zip(mean, ratio, strict=True))
    spread = np.std(points, axis=0) / np.sqrt(len(points))
    of_table = [f"{lost:+.2f}" + (f", {again:+.2f}" if given.again else "")]
    last = ["mean", "", *of_table, *each, ""]
    errors = [f"{spread[0]:.2f}" + (f", {spread[1]:.2f}" if given.again else "")]
    noise = ["standard error", "", *errors, *(f"{e:.2f}" for e in spread[2:]), ""]
    who = ["C = 1, scale", "GridSearchCV", *([] if given.exact else ["CV"])]
    who += [*(["GridSearchCV again"] if given.again else []), "tune"]
    heads = ["set", "one fit, s", "choice by its table", *who, "tune beyond two fits, s"]
    table = markdown(heads, [*lines, last, noise])
    write(given.out / f"tuning{'-exact' if given.exact else ''}.md", f"{machine()}\n\n{table}")


if __name__ == "__main__":
    main()
