"""Train on real data, compare with an exact machine, draw how training went.

Run it as ``python -m budgetsvm.demo`` or ``make demo``; the picture goes to ``out/demo.png``.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from sklearn.svm import SVC

from budgetsvm import BudgetSVC
from budgetsvm.datasets import load_adult

matplotlib.use("Agg")

C, GAMMA, BUDGET = 32, 2**-7, 100
SUBSAMPLE = 4_000
PASSES = 5  # that are drawn; the table's model makes one


@dataclass
class Row:
    """One line of the table."""

    name: str
    accuracy: float
    n_terms: int
    fit_seconds: float
    predict_seconds: float


QUOTED = Row("scikit-learn SVC, all rows (quoted, see below)", 0.8507, 11_385, 42.6, 11.4)
QUOTED_SOURCE = (
    "Quoted, not run here: the README's table, from benches/python/flagship.py with scikit-learn\n"
    "1.9.1 on two cores of an Intel Xeon (AVX-512), CSR rows. Its primal objective: 343,145."
)


def measure(name: str, model: Any, data: tuple[Any, ...]) -> Row:
    """Fit and predict once, with a clock beside."""
    X, y, X_test, y_test = data
    start = time.perf_counter()
    model.fit(X, y)
    fitted = time.perf_counter()
    accuracy = float(np.mean(model.predict(X_test) == y_test))
    done = time.perf_counter()
    return Row(name, accuracy, model.support_vectors_.shape[0], fitted - start, done - fitted)


def table(rows: list[Row]) -> str:
    """The rows under each other."""
    width = max(len(row.name) for row in rows)
    lines = [f"{'':{width}}  accuracy   terms     fit s  predict s"]
    for row in rows:
        lines.append(
            f"{row.name:{width}}  {row.accuracy:7.2%}  {row.n_terms:6,}"
            f"  {row.fit_seconds:8.3g}  {row.predict_seconds:9.3g}"
        )
    return "\n".join(lines)


@dataclass
class Curve:
    """Models after 1, 2, ... passes: when, and how good."""

    seconds: np.ndarray
    primal: np.ndarray
    accuracy: np.ndarray


def follow(settings: dict[str, Any], data: tuple[Any, ...]) -> tuple[Curve, Curve, np.ndarray]:
    """The models after each pass, the same models polished, the dual objective after each pass.

    With the same seed a fit of more passes begins as one of fewer.
    """
    X, y, X_test, y_test = data
    settings = {**settings, "tol": 0, "record_objective": True}
    accuracy, took, points = [], [], []
    for passes in range(1, PASSES + 1):
        plain = BudgetSVC(**settings, max_iter=passes, polishing=False).fit(X, y)
        polished = BudgetSVC(**{**settings, "tol": 1e-3}, max_iter=passes).fit(X, y)
        accuracy.append((plain.score(X_test, y_test), polished.score(X_test, y_test)))
        took.append(np.diff(polished.history_["time"])[-1])
        points.append(polished.history_["primal"][-1])
    # One clock for all: the longest fit's, and what polishing took after it.
    history = plain.history_
    without, with_polish = np.array(accuracy).T
    return (
        Curve(history["time"], history["primal"], without),
        Curve(history["time"] + took, np.array(points), with_polish),
        history["dual"],
    )


def draw(plain: Curve, polished: Curve, dual: np.ndarray, path: Path) -> None:
    """Objective and accuracy over time: passes joined by a line, polished models as points."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
    panels = (
        (left, "primal", "objective", "primal objective, ", "C0", (0.03, 0.24)),
        (right, "accuracy", "accuracy on the test rows", "", "C1", (0.03, 0.5)),
    )
    for axes, name, title, label, colour, place in panels:
        values, points = getattr(plain, name), getattr(polished, name)
        axes.plot(plain.seconds, values, "o-", color=colour, label=f"{label}passes only")
        axes.plot(polished.seconds, points, "*", ms=9, color="C3", label=f"{label}then polished")
        axes.annotate(
            "the table's model:\none pass, polished", (polished.seconds[0], points[0]),
            xytext=place, textcoords="axes fraction", arrowprops={"arrowstyle": "->"},
        )  # fmt: skip
        axes.set(xlabel="seconds, with the time to record the objective", title=title)
    left.plot(plain.seconds, dual, "o-", color="C2", label="dual objective, passes only")
    left.yaxis.set_major_formatter("{x:,.0f}")
    left.legend(loc="center right", bbox_to_anchor=(1, 0.3))
    right.legend(loc="lower left")
    figure.suptitle(
        f"BudgetSVC on Adult, budget {BUDGET}: the model after each of {PASSES} passes, "
        "and the same model polished"
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main() -> None:
    """Run the demo."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/demo.png"), help="the picture")
    picture = parser.parse_args().out

    X, y, X_test, y_test = data = load_adult()
    print(
        f"UCI Adult: {X.shape[0]:,} rows to train on, {X_test.shape[0]:,} to test, "
        f"{X.shape[1]} features. C={C}, gamma={GAMMA}.\n"
    )
    settings: dict[str, Any] = {"budget": BUDGET, "C": C, "gamma": GAMMA, "random_state": 0}
    model = BudgetSVC(**settings, verbose=1)
    budgeted = measure(f"BudgetSVC, all rows, budget {BUDGET}", model, data)
    print(f"\nscikit-learn's exact SVC on {SUBSAMPLE:,} of the rows...\n", flush=True)
    chosen = np.random.default_rng(0).permutation(X.shape[0])[:SUBSAMPLE]
    few = X[chosen], y[chosen], X_test, y_test
    exact = measure(f"scikit-learn SVC, {SUBSAMPLE:,} rows", SVC(C=C, gamma=GAMMA), few)
    print(table([budgeted, exact, QUOTED]))
    print(f"\n{QUOTED_SOURCE}")

    draw(*follow(settings, data), picture)
    print(
        f"\nObjective and accuracy after each of {PASSES} passes, and polished (the table's "
        f"model is one pass, polished): {picture}"
    )


if __name__ == "__main__":
    main()
