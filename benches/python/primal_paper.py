"""Figures 1 and 4 to 9 of the primal paper, measured again: a picture and a table each.

    python benches/python/primal_paper.py --quick

- 1: section 2 and Appendix A in NumPy: conjugate gradients on the primal and on the dual of
  regularised least squares, seen from the primal (2 and 3 are drawings of the losses)
- 4: linear machines on ADULT: seconds against n, Newton on w beside LIBSVM (and LIBLINEAR)
- 5: squared hinge on USPS 0-4 against 5-9 (σ = 8, λ = 1e-8): seconds against n_sv, beside LIBSVM
- 6, 7: the same with 10 % of the labels flipped and λ = 1/8, huberised hinge: test error, seconds,
  and samples in the quadratic and the linear zone, against h
- 8: the same at h = 2^-5: seconds against LIBSVM's n_sv
- 9: conjugate gradients: test error against steps for several σ, with and without the
  preconditioner. A fit that may take m steps begins with a small C and raises it (docs/primal.md
  says why), so the error after m steps is that of a fit of its own

LIBSVM is scikit-learn's SVC, whose kernel values are made as they are needed; the paper gave it
the whole kernel matrix. It has an offset, the machines of figures 5 to 9 have none.
"""

from __future__ import annotations

import warnings

import matplotlib
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, LinearSVC

import primal_least_squares
from budgetsvm import PrimalSVC
from common import load, parser, require, timed
from record import Record

matplotlib.use("Agg")
import matplotlib.pyplot as plt

NEEDS = {4: "adult", 5: "usps", 6: "usps", 8: "usps", 9: "usps"}
HARD, NOISY = 5e7, 4.0  # 1/(2λ)
STEPS = [1, 2, 4, 8, 16, 32, 64, 128, 256]
KERNEL = {"gamma": 1 / 128, "fit_intercept": False, "cache_size": 4000}


def digits(options, flipped=False):
    """USPS, 0 to 4 against 5 to 9, in a fixed random order; labels of the test part as they are."""
    X, y, X_test, y_test = load(options.data, "usps")
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y))
    X, y = X[order].astype(np.float64), np.where(y[order] < 5, -1, 1)
    if flipped:
        y = np.where(rng.random(len(y)) < 0.1, -y, y)
    return X, y, X_test.astype(np.float64), np.where(y_test < 5, -1, 1)


def error(model, X, y):
    return 100 * (1 - model.score(X, y))


def figure_4(options):
    X, y, _, _ = load(options.data, "adult")
    X = X.toarray() if hasattr(X, "toarray") else X
    sizes = [500, 1000, 2000, 4000] if options.quick else [1000, 2000, 4000, 8000, 16000]
    rows = []
    for n in sizes:
        ours, newton = timed(PrimalSVC(kernel="linear", fit_intercept=False).fit, X[:n], y[:n])
        _, libsvm = timed(SVC(kernel="linear").fit, X[:n], y[:n])
        _, liblinear = timed(LinearSVC(dual=False, fit_intercept=False).fit, X[:n], y[:n])
        rows.append([n, newton, libsvm, liblinear, ours.n_iter_])
    return ["n", "newton_s", "libsvm_s", "liblinear_s", "newton_steps"], rows


def figure_5(options):
    X, y, X_test, y_test = digits(options)
    sizes = [500, 1000, 2000] if options.quick else [500, 1000, 2000, 4000, len(y)]
    rows = []
    for n in sizes:
        ours, newton = timed(PrimalSVC(HARD, **KERNEL).fit, X[:n], y[:n])
        theirs, libsvm = timed(SVC(C=HARD, gamma=1 / 128).fit, X[:n], y[:n])
        wrong = [error(model, X_test, y_test) for model in (ours, theirs)]
        n_sv = [len(ours.support_), len(theirs.support_)]
        rows.append([n, n_sv[0], newton, n_sv[1], libsvm, ours.n_iter_, *wrong])
    head = ["n", "n_sv", "newton_s", "libsvm_n_sv", "libsvm_s", "newton_steps", "error", "libsvm_e"]
    return head, rows


def zones(model, X, y):
    """Samples in the quadratic and in the linear zone of the huberised hinge."""
    t = 1 - y * model.decision_function(X)
    h = model.smoothing
    return int(np.sum(np.abs(t) <= h)), int(np.sum(t > h))


def figure_6(options):
    """Figures 6 and 7: the left part of 6 on 500 samples, all else on 1000, as in the paper."""
    X, y, X_test, y_test = digits(options, flipped=True)
    widths = 2.0 ** np.arange(0, -9, -2 if options.quick else -1)
    rows = []
    for h in widths:
        settings = {"loss": "hinge", "smoothing": float(h), **KERNEL}
        small = PrimalSVC(NOISY, **settings).fit(X[:500], y[:500])
        model, seconds = timed(PrimalSVC(NOISY, **settings).fit, X[:1000], y[:1000])
        wrong = error(small, X_test, y_test)
        rows.append([h, wrong, seconds, *zones(model, X[:1000], y[:1000]), model.n_iter_])
    theirs, seconds = timed(SVC(C=NOISY, gamma=1 / 128).fit, X[:1000], y[:1000])
    small = SVC(C=NOISY, gamma=1 / 128).fit(X[:500], y[:500])
    bounded = int(np.sum(np.abs(theirs.dual_coef_) >= NOISY * (1 - 1e-9)))
    free = len(theirs.support_) - bounded
    rows.append([0.0, error(small, X_test, y_test), seconds, free, bounded, theirs.n_iter_[0]])
    return ["h (0: LIBSVM)", "test_error", "s", "quadratic", "linear", "steps"], rows


def figure_8(options):
    X, y, _, _ = digits(options, flipped=True)
    sizes = [500, 1000] if options.quick else [500, 1000, 2000, 4000]
    rows = []
    for n in sizes:
        settings = {"loss": "hinge", "smoothing": 2.0**-5, **KERNEL}
        ours, newton = timed(PrimalSVC(NOISY, **settings).fit, X[:n], y[:n])
        theirs, libsvm = timed(SVC(C=NOISY, gamma=1 / 128).fit, X[:n], y[:n])
        rows.append([n, len(theirs.support_), newton, libsvm, ours.n_iter_])
    return ["n", "n_sv", "newton_s", "libsvm_s", "newton_steps"], rows


def figure_9(options):
    X, y, X_test, y_test = digits(options)
    n = 1500 if options.quick else len(y)
    steps = STEPS[:6] if options.quick else STEPS
    rows = []
    widths = (2, 8) if options.quick else (1, 2, 4, 8)
    for sigma in widths:
        settings = {**KERNEL, "gamma": 1 / (2 * sigma**2)}
        full = PrimalSVC(HARD, **settings).fit(X[:n], y[:n])
        # The paper tells of the steps without preconditioner at σ = 4 alone.
        for solver in ("cg", "plain-cg") if sigma == 4 else ("cg",):
            wrong = [
                error(PrimalSVC(HARD, solver=solver, max_iter=most, **settings).fit(X[:n], y[:n]),
                      X_test, y_test)
                for most in steps
            ]  # fmt: skip
            rows.append([sigma, solver, *wrong, error(full, X_test, y_test)])
    return ["sigma", "solver", *map(str, steps), "full"], rows


def lines(axes, rows, x, columns, labels, log="xy"):
    """Columns against a column."""
    values = np.array(rows, dtype=float)
    order = np.argsort(values[:, x])
    for column, label in zip(columns, labels, strict=True):
        axes.plot(values[order, x], values[order, column], "o-", label=label)
    axes.set_xscale("log" if "x" in log else "linear")
    axes.set_yscale("log" if "y" in log else "linear")
    axes.legend()


def draw(number, head, rows):
    """The picture of a figure."""
    count = 3 if number == 6 else 1
    size = (12 if number == 6 else 6, 3.6)
    figure, panels = plt.subplots(1, count, figsize=size, squeeze=False)
    axes = panels[0]
    if number == 4:
        lines(axes[0], rows, 0, (1, 2, 3), ("Newton", "LIBSVM", "LIBLINEAR"))
        axes[0].set(xlabel="n", ylabel="s")
    elif number == 5:
        lines(axes[0], rows, 1, (2, 4), ("Newton", "LIBSVM"))
        axes[0].set(xlabel="n_sv", ylabel="s")
    elif number == 8:
        lines(axes[0], rows, 1, (2, 3), ("Newton", "LIBSVM"))
        axes[0].set(xlabel="n_sv", ylabel="s")
    elif number == 6:
        ours, theirs = rows[:-1], rows[-1]
        lines(axes[0], ours, 0, (1,), ("test error %, n = 500",), log="x")
        lines(axes[1], ours, 0, (2,), ("s, n = 1000",))
        lines(axes[2], ours, 0, (3, 4), ("quadratic zone", "linear zone"), log="x")
        for panel, at in ((axes[0], (1,)), (axes[1], (2,)), (axes[2], (3, 4))):
            for column in at:
                panel.axhline(theirs[column], linestyle="--", color="gray")
            panel.set_xlabel("h (dashed: LIBSVM)")
    else:
        for row in rows:
            style = "-" if row[1] == "cg" else ":"
            axes[0].plot(
                list(map(int, head[2:-1])), row[2:-1], style, label=f"{row[1]}, σ={row[0]}"
            )
        axes[0].set(xlabel="steps", ylabel="test error %", xscale="log", yscale="log")
        axes[0].legend()
    figure.tight_layout()
    return figure


def slope(rows, x, y):
    """The exponent of column y in column x."""
    values = np.log(np.array([[row[x], row[y]] for row in rows], dtype=float))
    return float(np.polyfit(*values.T, 1)[0])


def said(found):
    """(what, the paper's, ours, LIBSVM's) of what the paper's text says of its figures."""
    if 4 in found:
        rows = found[4]
        yield ("4: seconds as n to the power", 1, slope(rows, 0, 1), None)
        yield ("4: LIBSVM's seconds as n to the power", 2.2, None, slope(rows, 0, 2))
        yield ("4: Newton steps on ADULT", 7, rows[-1][4], None)
    if 5 in found:
        rows = found[5]
        yield ("5: seconds as n_sv to the power", 3, slope(rows, 1, 2), slope(rows, 3, 4))
        yield ("5: n_sv as n to the power", 0.5, slope(rows, 0, 1), slope(rows, 0, 3))
        yield ("5: Newton steps, at most", 5, max(row[5] for row in rows), None)
        yield ("5: test error, all samples", None, rows[-1][6], rows[-1][7])
    if 6 in found:
        ours, theirs = found[6][:-1], found[6][-1]
        yield ("6: test error at h = 1", None, ours[0][1], theirs[1])
        others = [row[1] for row in ours[1:]]
        yield ("6: at h < 1", None, f"{min(others):.3g} to {max(others):.3g}", theirs[1])
        fastest = min(ours, key=lambda row: row[2])
        yield ("6: the h that is fastest", "in between", fastest[0], None)
    if 8 in found:
        rows = found[8]
        yield ("8: seconds as n_sv to the power", 3, slope(rows, 1, 2), slope(rows, 1, 3))
        yield ("8: Newton steps", "about 30", max(row[4] for row in rows), None)
    for sigma, solver, *wrong, full in found.get(9, []):
        if sigma == 4 and solver == "plain-cg":
            yield ("9: error at σ = 4 after 256 steps, no preconditioner", 1.84, wrong[-1], None)
        elif solver == "cg":
            near = next((s for s, e in zip(STEPS, wrong, strict=False) if e <= full + 0.1), None)
            yield (f"9: σ = {sigma}, steps to within 0.1 point of the full fit", "10 to 100", near,
                   None)  # fmt: skip


TITLES = {
    1: "Least squares", 4: "Linear machines on ADULT: seconds against n",
    5: "Squared hinge on USPS: seconds against n_sv",
    6: "Huberised hinge, labels flipped: test error, seconds and zones against h",
    8: "Huberised hinge: seconds against n_sv",
    9: "Conjugate gradients: test error against steps",
}  # fmt: skip
FIGURES = {4: figure_4, 5: figure_5, 6: figure_6, 8: figure_8, 9: figure_9}


def main():
    arguments = parser(__doc__)
    arguments.add_argument("--figures", type=int, nargs="+", choices=TITLES, default=list(TITLES))
    options = arguments.parse_args()
    require(options.data, sorted({NEEDS[number] for number in options.figures if number in NEEDS}))
    warnings.simplefilter("ignore", ConvergenceWarning)
    found = {}
    with Record(options, "primal_paper", seeds="0") as record:
        for number in options.figures:
            if number == 1:
                primal_least_squares.figure_1(record)
                continue
            head, rows = FIGURES[number](options)
            title = f"Figure{'s 6 and 7' if number == 6 else f' {number}'}. {TITLES[number]}"
            record.table(f"figure_{number}", title, head, rows)
            record.picture(f"figure_{number}", title, draw(number, head, rows),
                           width=1000 if number == 6 else 600)  # fmt: skip
            found[number] = rows
        if found:
            title = "What the paper's text says of its figures"
            record.compare("said", title, list(said(found)), what="figure", peer="LIBSVM")


if __name__ == "__main__":
    main()
