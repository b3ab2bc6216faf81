"""Small clean problems: our self-tuning machines and learnt scales beside scikit-learn's machines.

Noiseless and nearly noiseless steps, lines, sines and products of 1 to 10 columns and 20 to 2,000
rows, with repeated rows, a constant column, and small and large units. A line a problem on which a
seed is worse than scikit-learn's machine (C = 100, epsilon 1 % of the spread, standardised columns)
by more than the bar, or worse than the median seed by more than 0.02; then how many these are.

    python benches/python/clean.py [--problems 100] [--seeds 3] [--only AutoSVR]
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as LibSVC
from sklearn.svm import SVR as LibSVR

import budgetsvm

FUNCTIONS = {
    "step": lambda X: np.where(X[:, 0] > 0, 1.0, 0.0),
    "line": lambda X: X[:, 0] + 0.5 * X[:, -1],
    "sine": lambda X: np.sin(2 * X[:, 0]),
    "sine and line": lambda X: np.sin(2 * X[:, 0]) + X[:, -1],
    "product": lambda X: X[:, 0] * X[:, -1],
    "sum": lambda X: X.sum(axis=1),
    "absolute value": lambda X: np.abs(X[:, 0]),
    "waves": lambda X: np.sin(X[:, 0]) * np.cos(X[:, -1]),
    "square": lambda X: (X**2).sum(axis=1),
}
ROWS = [20, 40, 60, 100, 200, 300, 500, 700, 1000, 2000]
#: Seeds may be worse than the median one by this; than scikit-learn by these (classes, values).
SPREAD = 0.02
BARS = (0.08, 0.15)


def problem(number: int, classes: bool) -> tuple[str, tuple, tuple]:
    """What it is, training rows and targets, and fresh ones."""
    rng = np.random.default_rng(number)
    name = list(FUNCTIONS)[number % len(FUNCTIONS)]
    n, d = int(rng.choice(ROWS)), int(rng.choice([1, 2, 3, 5, 10]))
    A, T = rng.normal(size=(n, d)), rng.normal(size=(500, d))
    a, t = FUNCTIONS[name](A), FUNCTIONS[name](T)
    a = a + rng.choice([0, 0, 0.01]) * a.std() * rng.normal(size=n)
    other = str(rng.choice(["plain", "a constant column", "repeated rows", "units"]))
    if other == "a constant column":
        A, T = np.column_stack([A, np.ones(n)]), np.column_stack([T, np.ones(500)])
    elif other == "repeated rows":
        again = rng.integers(0, n, n // 2)
        A, a = np.vstack([A, A[again]]), np.append(a, a[again])
    elif other == "units":
        units = 10.0 ** rng.integers(-3, 4, A.shape[1])
        A, T = A * units, T * units
    if classes:
        k = int(rng.choice([2, 3, 5]))
        cuts = [0.5] if name == "step" else np.quantile(a, np.linspace(0, 1, k + 1)[1:-1])
        a, t = np.searchsorted(cuts, a), np.searchsorted(cuts, t)
    elif other == "units":
        unit = 10.0 ** rng.integers(-6, 7)
        a, t = a * unit, t * unit
    return f"{name}, {len(A)} x {A.shape[1]}, {other}", (A, a), (T, t)


def peer(train: tuple, test: tuple, classes: bool) -> float:
    """The score of scikit-learn's machine."""
    (A, a), (T, t) = train, test
    if classes:
        return make_pipeline(StandardScaler(), LibSVC(C=100)).fit(A, a).score(T, t)
    mean, spread = a.mean(), a.std()
    model = make_pipeline(StandardScaler(), LibSVR(C=100, epsilon=0.01))
    return model.fit(A, (a - mean) / spread).score(T, (t - mean) / spread)


def machines() -> dict[str, Any]:
    """Their names, and how each is made of a seed."""
    made: dict[str, Any] = {}
    for name in ("AutoSVC", "AutoSVR"):
        for budget in (None, 30, 60, 120):
            cls = getattr(budgetsvm, name)
            made[f"{name}(budget={budget})"] = lambda s, cls=cls, b=budget: cls(b, random_state=s)
    for name in ("SVC", "SVR", "BudgetSVC", "BudgetSVR"):
        cls = getattr(budgetsvm, name)
        made[f"{name}(feature_scales='learn')"] = lambda s, cls=cls: cls(
            C=100, feature_scales="learn", random_state=s
        )
    return made


def main() -> None:
    """Print what is worse, and how often."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for name, make in machines().items():
        if args.only not in name:
            continue
        classes = "SVC" in name
        worse = apart = 0
        for number in range(args.problems):
            what, train, test = problem(number, classes)
            if len(np.unique(train[1])) < 2:
                continue
            bar = peer(train, test, classes) - BARS[0 if classes else 1]
            scores = [make(seed).fit(*train).score(*test) for seed in range(args.seeds)]
            is_apart = min(scores) < np.median(scores) - SPREAD
            worse, apart = worse + (min(scores) < bar), apart + is_apart
            if min(scores) < bar or is_apart:
                print(f"{name}: {number}, {what}: {np.round(scores, 3)}, bar {bar:.3f}", flush=True)
        print(f"{name}: {worse} worse than the bar, {apart} with seeds apart", flush=True)


if __name__ == "__main__":
    main()
