"""Importances of features from gradients beside permutation importance: how alike they rank.

    python benches/python/importances.py [--quick]

On each set a machine is fitted to two thirds of the rows. Spearman's rank correlation of
`feature_importances(X)` (training rows) and of `feature_importances_` (the terms) with
scikit-learn's permutation importance on the rest (30 repeats, of the score), and the seconds of
each.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from scipy.stats import spearmanr
from sklearn.datasets import load_diabetes, load_wine, make_friedman1
from sklearn.inspection import permutation_importance
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from budgetsvm import SVC, SVR, BudgetSVC, BudgetSVR
from common import REGRESSION, load, machine, markdown, parser, require, write

SETS = ["abalone", "california-housing", "cod-rna"]


def sets(folder):
    rng = np.random.default_rng(0)
    X, y = make_friedman1(3000, 10, noise=0.5, random_state=0)
    yield "Friedman 1", X, (y - y.mean()) / y.std()
    # Ten features of falling weight and one product.
    X = rng.normal(size=(3000, 10))
    y = X @ 0.7 ** np.arange(10) + 0.5 * X[:, 2] * X[:, 5]
    yield "falling weights", X, (y + 0.3 * rng.normal(size=3000) > 0).astype(int)
    yield "diabetes", *load_diabetes(return_X_y=True)
    yield "wine", *load_wine(return_X_y=True)
    for name in SETS:
        X, y, _, _ = load(folder, name)
        some = rng.permutation(len(X))[:6000]
        yield name, X[some], y[some] if name in REGRESSION else (y[some] == y.max()).astype(int)


def machines(classes):
    if classes:
        yield "SVC", SVC(C=10)
        yield "BudgetSVC", BudgetSVC(budget=200, C=10, random_state=0)
    else:
        yield "SVR", SVR(C=10)
        yield "BudgetSVR", BudgetSVR(budget=200, C=10, random_state=0)


def main():
    options = parser(__doc__).parse_args()
    require(options.data, SETS)
    warnings.simplefilter("ignore")
    lines = []
    for name, X, y in sets(options.data):
        X = StandardScaler().fit_transform(X)
        y = (y - y.mean()) / y.std() if y.dtype.kind == "f" else y
        classes = y.dtype.kind == "i"
        X, X_test, y, y_test = train_test_split(X, y, test_size=1 / 3, random_state=0)
        for kind, model in machines(classes):
            model.fit(X, y)
            start = time.perf_counter()
            ours = model.feature_importances(X)
            seconds = time.perf_counter() - start
            start = time.perf_counter()
            permuted = permutation_importance(
                model, X_test, y_test, n_repeats=5 if options.quick else 30, random_state=0
            ).importances_mean
            others = time.perf_counter() - start
            ranks = [spearmanr(own, permuted)[0] for own in (ours, model.feature_importances_)]
            lines.append(
                [name, str(X.shape[1]), kind, f"{model.score(X_test, y_test):.3f}",
                 f"{ranks[0]:.3f}", f"{ranks[1]:.3f}", f"{seconds:.3f}", f"{others:.3f}"]
            )  # fmt: skip
            print(*lines[-1], flush=True)
    header = (
        "set, features, machine, score, rank correlation, of the terms, s, permutation s"
    ).split(", ")
    write(options.out / "importances.md", f"{machine()}\n\n{markdown(header, lines)}")


if __name__ == "__main__":
    main()
