"""The README's figure: test accuracy against the time of a prediction, ours and others'.

Adult and IJCNN1, the C and gamma of the README's table, one seed; microseconds a row of the whole
test set at once, the least of five. Writes docs/figures/accuracy.svg and the numbers beside it
(`--out` for another folder).
"""

from __future__ import annotations

import csv
import time
from pathlib import Path

import matplotlib
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC as TheirSVC
from sklearn.svm import LinearSVC

from budgetsvm import SVC, BudgetSVC
from common import ROOT, load, machine, parser, require

matplotlib.use("agg")
import matplotlib.pyplot as plt

DATA = {
    "adult": ("Adult: 32,561 × 123, C = 32, γ = 2⁻⁷", {"C": 32, "gamma": 2**-7}),
    "ijcnn1": ("IJCNN1: 49,990 × 22, C = 32, γ = 2", {"C": 32, "gamma": 2}),
}
BUDGETS, COMPONENTS = (10, 30, 100, 300, 1000), (30, 100, 300, 1000)


def machines(how):
    """(curve, label of the point, machine) of every point; `how` has C and gamma."""
    for budget in BUDGETS:
        yield "BudgetSVC", budget, BudgetSVC(budget=budget, **how)
    for budget in BUDGETS[:3]:
        refined = BudgetSVC(budget=budget, refine=True, **how)
        yield "BudgetSVC, refined", budget, refined
    yield "SVC (ours, exact)", "", SVC(**how)
    for m in COMPONENTS:
        features = Nystroem(gamma=how["gamma"], n_components=m, random_state=0)
        yield "scikit-learn Nystroem, LinearSVC", m, make_pipeline(features, LinearSVC(C=how["C"]))
    yield "scikit-learn SVC", "", TheirSVC(**how)
    yield "scikit-learn HistGradientBoosting", "", HistGradientBoostingClassifier(random_state=0)


def measured(model, data, dense):
    """Accuracy, microseconds a row, seconds of the fit."""
    X, y, X_test, y_test = data
    if dense and hasattr(X, "toarray"):
        X, X_test = X.toarray(), X_test.toarray()
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    begun = time.perf_counter()
    model.fit(X, y)
    fit, times = time.perf_counter() - begun, []
    for _ in range(5):
        begun = time.perf_counter()
        model.predict(X_test)
        times.append(time.perf_counter() - begun)
    return model.score(X_test, y_test), 1e6 * min(times) / len(y_test), fit


def main() -> None:
    made = parser(__doc__)
    made.set_defaults(out=ROOT / "docs" / "figures")
    options = made.parse_args()
    require(options.data, list(DATA))
    rows, (figure, axes) = [], plt.subplots(1, 2, figsize=(10, 4.2))
    for name, ax in zip(DATA, axes, strict=True):
        title, how = DATA[name]
        data, curves = load(options.data, name), {}
        for curve, label, model in machines(how):
            boosting = "Boosting" in curve
            score, micro, fit = measured(model, data, dense=boosting)
            curves.setdefault(curve, []).append((micro, 100 * score, label))
            rows.append([name, curve, label, f"{100 * score:.2f}", f"{micro:.3f}", f"{fit:.2f}"])
            print(*rows[-1], flush=True)
        for curve, points in curves.items():
            ours = curve.startswith(("BudgetSVC", "SVC"))
            style = {"marker": "o" if ours else "s", "ls": "-" if len(points) > 1 else "none"}
            micro, score, _ = zip(*points, strict=True)
            ax.plot(micro, score, label=curve, lw=2 if ours else 1, ms=5, **style)
            for x, y, label in points:
                ax.annotate(label, (x, y), (3, -9), textcoords="offset points", fontsize=7)
        ax.set(xscale="log", xlabel="microseconds a predicted row", title=title)
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("test accuracy, %")
    axes[1].legend(fontsize=8, loc="lower right")
    figure.text(0.005, 0.005, machine(), fontsize=6, color="0.4")
    figure.tight_layout()
    folder = Path(options.out)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "accuracy.svg", metadata={"Date": None})
    with (folder / "accuracy.csv").open("w", encoding="utf-8", newline="") as file:
        head = ["data", "machine", "terms", "accuracy %", "microseconds a row", "fit s"]
        csv.writer(file, lineterminator="\n").writerows([head, *rows, [machine(), *[""] * 5]])


if __name__ == "__main__":
    main()
