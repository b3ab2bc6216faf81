"""The experiments of the primal paper (its Figures 4 to 9), reduced regression, and tuning.

- linear: Newton on w against LIBLINEAR on ADULT, time against n
- usps: squared hinge on USPS 0-4 against 5-9 (σ = 8, λ = 1e-8), time and n_sv against n
- huber: 10 % flipped labels, λ = 1/8: test error, time and n_sv against h
- cg: conjugate gradients, with and without the preconditioner, error against steps for σ in 2..8
- regression: 500 terms by every choice of a basis, refined or not, beside scikit-learn's SVR at
  the same C, ε and γ: its defaults, and those that a small grid search finds for it
- tune: C and γ by `tune=True` against a 5-fold grid search of 25 places, on `--draws` parts of
  USPS 0-4 against 5-9, of USPS with all classes, and of ADULT
- certificate: what conjugate gradients with an offset are away from Newton's objective at their end
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC, SVR, LinearSVC

from budgetsvm import PrimalSVC, PrimalSVR
from common import load, parser, require, timed
from flagship import choose_svr
from record import Record

DATA = {
    "linear": ["adult"],
    "usps": ["usps"],
    "huber": ["usps"],
    "cg": ["usps"],
    "regression": ["california-housing", "cpusmall", "protein"],
    "tune": ["usps", "adult"],
    "certificate": ["adult"],
}


def percent(share):
    return f"{100 * share:.2f} %"


def usps(options):
    X, y, X_test, y_test = load(options.data, "usps")
    sign = np.where(y < 5, -1, 1), np.where(y_test < 5, -1, 1)
    return X.astype(np.float64), sign[0], X_test.astype(np.float64), sign[1]


def linear(options):
    X, y, X_test, y_test = load(options.data, "adult")
    rows = []
    for n in (2000, 8000, len(y)):
        settings = {"C": 1.0, "fit_intercept": False}
        ours, seconds = timed(PrimalSVC(kernel="linear", **settings).fit, X[:n], y[:n])
        theirs, reference = timed(LinearSVC(dual=False, **settings).fit, X[:n], y[:n])
        w = theirs.coef_[0]
        margins = np.where(y[:n] > 0, 1, -1) * (X[:n] @ w)
        primal = 0.5 * w @ w + np.sum(np.maximum(0, 1 - margins) ** 2)
        gap = primal / ours.objective_["primal"] - 1
        error = percent(1 - ours.score(X_test, y_test))
        times = [f"{seconds:.3f}", f"{reference:.3f}"]
        rows.append([f"{n:,}", *times, str(ours.n_iter_), f"{gap:.1e}", error])
    head = ["n", "Newton s", "LIBLINEAR s", "steps", "LIBLINEAR's excess objective", "test error"]
    return head, rows


def on_usps(options):
    X, y, X_test, y_test = usps(options)
    rows = []
    for n in (1000, 2000, 4000, len(y)):
        model = PrimalSVC(C=5e7, gamma=1 / 128, cache_size=4000, fit_intercept=False)
        ours, seconds = timed(model.fit, X[:n], y[:n])
        theirs, reference = timed(SVC(C=5e7, gamma=1 / 128).fit, X[:n], y[:n])
        errors = [percent(1 - m.score(X_test, y_test)) for m in (ours, theirs)]
        times = [f"{seconds:.2f}", f"{reference:.2f}"]
        rows.append([f"{n:,}", *times, str(ours.n_iter_), f"{len(ours.support_):,}", *errors])
    head = ["n", "Newton s", "LIBSVM s", "steps", "n_sv", "test error", "LIBSVM's"]
    return head, rows


def huber(options):
    X, y, X_test, y_test = usps(options)
    flipped = np.random.default_rng(0).random(len(y)) < 0.1
    y, n = np.where(flipped, -y, y), options.size
    settings = {"C": 4.0, "gamma": 1 / 128, "fit_intercept": False}
    rows = []
    for h in (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.001):
        model = PrimalSVC(loss="hinge", smoothing=h, cache_size=4000, **settings)
        ours, seconds = timed(model.fit, X[:n], y[:n])
        error = percent(1 - ours.score(X_test, y_test))
        rows.append([f"{h}", error, f"{seconds:.2f}", f"{len(ours.support_):,}", str(ours.n_iter_)])
    theirs, seconds = timed(SVC(C=4.0, gamma=1 / 128).fit, X[:n], y[:n])
    error = percent(1 - theirs.score(X_test, y_test))
    rows.append(["LIBSVM", error, f"{seconds:.2f}", f"{len(theirs.support_):,}", ""])
    return ["h", "test error", "s", "n_sv", "steps"], rows


def conjugate(options):
    X, y, X_test, y_test = usps(options)
    n, rows = options.size, []
    for sigma in options.sigma:
        settings = {"C": 5e7, "gamma": 1 / (2 * sigma**2), "fit_intercept": False}
        full = PrimalSVC(cache_size=4000, **settings).fit(X[:n], y[:n])
        line = [f"{sigma:g}", percent(1 - full.score(X_test, y_test)), str(full.n_iter_)]
        for solver in ("cg", "plain-cg"):
            for steps in (10, 30, 50, 100):
                model = PrimalSVC(solver=solver, max_iter=steps, **settings).fit(X[:n], y[:n])
                line.append(percent(1 - model.score(X_test, y_test)))
        rows.append(line)
    steps = [f"{kind} {count}" for kind in ("CG", "plain") for count in (10, 30, 50, 100)]
    return ["σ", "full solution", "Newton steps", *steps], rows


def cpu(action, *arguments):
    """(result, processor seconds of all threads): what the load of other programs changes least."""
    start = time.process_time()
    result = action(*arguments)
    return result, time.process_time() - start


def regression(options):
    """At scikit-learn's default C and epsilon, and at those that suit scikit-learn's SVR best."""
    rows = []
    for name, tuned in [(name, tuned) for name in options.regression for tuned in (False, True)]:
        X, y, X_test, y_test = load(options.data, name)
        settings = {"C": 1, "gamma": 1 / X.shape[1], "epsilon": 0.1}
        if tuned:
            settings = choose_svr(X, y)
        label = f"{name}, C={settings['C']:g}, γ={settings['gamma']:.3g}"
        theirs, reference = cpu(SVR(**settings).fit, X, y)
        best = theirs.score(X_test, y_test)
        rows.append([label, "scikit-learn's SVR", f"{best:.3f}", "", f"{reference:.2f}", ""])
        print(*rows[-1], flush=True)
        X, X_test = X.astype(np.float32), X_test.astype(np.float32)
        for basis in ("random", "kmeans++", "cholesky", "greedy"):
            for refine in (False, True):
                model = PrimalSVR(
                    basis=basis, n_components=500, refine=refine, random_state=0, **settings
                )
                ours, seconds = cpu(model.fit, X, y)
                score = ours.score(X_test, y_test)
                how = f"{basis}, refined" if refine else basis
                line = [label, how, f"{score:.3f}", f"{best - score:.3f}", f"{seconds:.2f}"]
                rows.append([*line, f"{reference / seconds:.1f}"])
                print(*rows[-1], flush=True)
    return ["data", "machine", "R²", "less than SVR by", "CPU s", "times faster"], rows


def tune(options):
    """On `--draws` random parts of the training rows: differences of one are a few test rows."""
    rows = []
    for name in options.tune:
        X, y, X_test, y_test = load(options.data, name.removesuffix("-halves"))
        if name == "usps-halves":
            y, y_test = y < 5, y_test < 5
        X, X_test = (M.toarray() if hasattr(M, "toarray") else M for M in (X, X_test))
        X, X_test = X.astype(np.float64), X_test.astype(np.float64)
        gained = []
        for draw in range(options.draws):
            part = np.random.default_rng(draw).permutation(len(y))[: options.size]
            model = PrimalSVC(tune=True, cache_size=4000, random_state=0)
            ours, seconds = timed(model.fit, X[part], y[part])
            start = 1 / (X.shape[1] * X[part].var())
            grid = {"C": 10.0 ** np.arange(-1, 4), "gamma": start * 4.0 ** np.arange(-2, 3)}
            search = GridSearchCV(PrimalSVC(cache_size=4000), grid, cv=5)
            theirs, reference = timed(search.fit, X[part], y[part])
            scores = ours.score(X_test, y_test), theirs.score(X_test, y_test)
            gained.append(100 * (scores[0] - scores[1]))
            best = theirs.best_params_
            found = f"C={ours.C_:.3g}, γ={ours.gamma_:.3g}"
            chosen = f"C={best['C']:.3g}, γ={best['gamma']:.3g}"
            label = f"{name}, draw {draw}"
            rows.append([label, "tuned", found, percent(scores[0]), f"{seconds:.1f}"])
            rows.append([label, "grid search", chosen, percent(scores[1]), f"{reference:.1f}"])
            print(*rows[-2], "|", *rows[-1], flush=True)
        rows.append([name, "tuned less grid search, mean", "", f"{np.mean(gained):+.2f}", ""])
    return ["data", "by", "found", "test accuracy", "s"], rows


def certificate(options):
    """How far conjugate gradients with an offset are from Newton's objective when they end."""
    X, y, _, _ = load(options.data, "adult")
    part = np.random.default_rng(0).permutation(len(y))[:2000]
    X, y = X[part].toarray(), y[part]
    rows = []
    for loss in ("squared_hinge", "hinge", "least_squares"):
        for C in (1.0, 10.0, 100.0):
            settings = {"C": C, "gamma": 0.01, "loss": loss, "cache_size": 4000}
            ours, seconds = timed(PrimalSVC(solver="cg", **settings).fit, X, y)
            exact = PrimalSVC(solver="newton", **settings).fit(X, y)
            excess = ours.objective_["smoothed"] / exact.objective_["smoothed"] - 1
            told = [str(ours.n_iter_), ours.stop_reason_, f"{excess:.1e}", f"{seconds:.2f}"]
            rows.append([loss, f"{C:g}", *told])
    return ["loss", "C", "steps", "told", "excess objective (tol 1e-5)", "s"], rows


TABLES = {
    "linear": linear,
    "usps": on_usps,
    "huber": huber,
    "cg": conjugate,
    "regression": regression,
    "tune": tune,
    "certificate": certificate,
}


def main():
    arguments = parser(__doc__)
    arguments.add_argument("--only", nargs="+", choices=TABLES, default=list(TABLES))
    arguments.add_argument(
        "--size", type=int, default=3000, help="training rows of huber, cg, tune"
    )
    tasks = ["usps-halves", "usps", "adult"]
    arguments.add_argument("--tune", nargs="+", choices=tasks, default=tasks)
    arguments.add_argument("--draws", type=int, default=5, help="parts of the data of tune")
    arguments.add_argument("--sigma", type=float, nargs="+", default=[2, 3, 4, 5, 6, 7, 8])
    arguments.add_argument(
        "--regression", nargs="+", choices=DATA["regression"], default=DATA["regression"]
    )
    options = arguments.parse_args()
    if options.quick:
        options.tune, options.draws, options.size = ["usps"], 1, 200
    require(options.data, sorted({name for only in options.only for name in DATA[only]}))
    warnings.simplefilter("ignore", ConvergenceWarning)
    with Record(options, "primal", seeds="0") as record:
        for name in options.only:
            head, rows = TABLES[name](options)
            record.table(name, f"Primal machines: {name}", head, rows)


if __name__ == "__main__":
    main()
