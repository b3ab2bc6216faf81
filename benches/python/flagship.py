"""What the README states: accuracy, objective, fit and predict time on real data, against bars.

Medians over seeds, the defaults of the estimators, each test set used once a row. Beside them the
exact machines, ours and scikit-learn's, run here; `--exact all` adds scikit-learn's where it takes
many minutes (MNIST).
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC as TheirSVC
from sklearn.svm import SVR as TheirSVR

from budgetsvm import SVC, SVR, BudgetSVC, BudgetSVR
from common import load, parser, require, timed
from record import Record

# (data, settings, lowest test accuracy, highest hinge primal)
BINARY = [
    ("adult", {"C": 32, "gamma": 2**-7, "budget": 100}, 0.850, 361_000),
    ("adult", {"C": 32, "gamma": 2**-7, "budget": 30}, 0.848, None),
    ("ijcnn1", {"C": 32, "gamma": 2, "budget": 500}, 0.986, None),
    ("cod-rna", {"C": 32, "gamma": 8, "budget": 500}, 0.956, None),
]
# The bar is absolute, or relative to the exact machine of this run (None: one point below it).
MULTICLASS = [
    ("usps", {"C": 10, "gamma": 1 / 128, "budget": 1000}, None, None),
    ("letter", {"C": 16, "gamma": 4, "budget": 1000}, 0.945, None),
    ("mnist", {"C": 10, "gamma": 0.02, "budget": 1000}, None, None),
]
# Refined: the basis is learnt too.
REFINED = [
    ("ijcnn1", {"C": 32, "gamma": 2, "budget": 100, "refine": True}, 0.984, None),
    ("ijcnn1", {"C": 32, "gamma": 2, "budget": 30, "refine": True}, 0.970, None),
    ("cod-rna", {"C": 32, "gamma": 8, "budget": 30, "refine": True}, 0.950, None),
    ("adult", {"C": 32, "gamma": 2**-7, "budget": 10, "refine": True}, 0.848, None),
    ("letter", {"C": 16, "gamma": 4, "budget": 1000, "refine": True}, 0.965, None),
]
REGRESSION = ["california-housing", "cpusmall", "protein"]
# (data, passes, lowest accuracy, how the seeds are summed up)
PLAIN = [
    ("cod-rna", 1, 0.952, np.mean),
    ("ijcnn1", 1, 0.968, np.mean),
    ("adult", 5, 0.80, np.median),
]
#: Where scikit-learn's exact machine takes too long to be run each time.
SLOW = {"mnist"}
# How many times faster than scikit-learn's SVC a fit has to be.
FASTER = {"adult": 100}
#: Names as the papers write them.
NAMES = {
    "adult": "Adult", "ijcnn1": "IJCNN1", "cod-rna": "COD-RNA (scaled)", "usps": "USPS",
    "letter": "LETTER", "mnist": "MNIST", "california-housing": "California housing",
}  # fmt: skip
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def describe(name, settings):
    """The data with C and γ."""
    power = np.log2(settings["gamma"])
    tiny = power < 0 and power == np.round(power)
    gamma = "2" + f"{power:.0f}".translate(SUPERSCRIPTS) if tiny else f"{settings['gamma']:.3g}"
    return f"{NAMES.get(name, name)}, C={settings['C']:g}, γ={gamma}"


def machine_of(settings):
    refined = ", `refine=True`" if settings.get("refine") else ""
    return f"B={settings['budget']}{refined}"


def runs(model, data, seeds):
    """For each seed: score, terms, primal, fit seconds, predict seconds."""
    X, y, X_test, y_test = data
    found = []
    for seed in range(seeds):
        fitted, fit_seconds = timed(clone(model).set_params(random_state=seed).fit, X, y)
        _, predict_seconds = timed(fitted.predict, X_test)
        score = fitted.score(X_test, y_test)
        primal = fitted.objective_["primal"]
        found.append((score, fitted.n_terms_, primal, fit_seconds, predict_seconds))
    return np.array(found, dtype=float)


class Tables:
    """The rows of both tables: what was reached, and the bars."""

    HEADER = ("machine", "data, settings", "test score", "terms", "fit s", "predict s")
    BARS = ("machine", "data, settings", "least to most", "primal", "bar")

    def __init__(self):
        self.rows, self.bars = [], []

    def exact(self, label, model, data, settings, form):
        """One of the exact machines: its score and seconds to fit."""
        X, y, X_test, y_test = data
        _, fit_seconds = timed(model.fit, X, y)
        _, predict_seconds = timed(model.predict, X_test)
        found = model.score(X_test, y_test), len(model.support_), fit_seconds, predict_seconds
        self._row(label, settings, found, form)
        return found[0], found[2]

    def budgeted(self, label, found, settings, form, bar=None, primal_bar=None, faster=None):
        """Medians of the seeds, and the verdict."""
        score, terms, primal, *times = np.median(found, axis=0)
        self._row(label, settings, (score, terms, *times), form)
        judged = [] if bar is None else [f"{verdict(score, bar)} (≥ {form(bar)})"]
        if primal_bar is not None:
            met = "met" if primal <= primal_bar else "MISSED"
            judged.append(f"{met} (primal ≤ {primal_bar:,})")
        if faster is not None:
            judged.append(faster)
        spread = f"{form(found[:, 0].min())} to {form(found[:, 0].max())}"
        primal = "" if np.isnan(primal) else f"{primal:,.0f}"
        self.bars.append([label, settings, spread, primal, ", ".join(judged)])

    def _row(self, label, settings, found, form):
        score, terms, fit_seconds, predict_seconds = found
        times = [f"{fit_seconds:.2f}", f"{predict_seconds:.3f}"]
        self.rows.append([label, settings, form(score), f"{terms:,.0f}", *times])
        print(" | ".join(self.rows[-1]), flush=True)


def percent(score):
    return f"{100 * score:.2f} %"


def r2(score):
    return f"{score:.3f}"


def verdict(value, bar):
    return "met" if value >= bar else "MISSED"


def classification(tables, options, cases):
    """Two-class and multi-class data, the exact machines once a data set."""
    machines = {}
    for name, settings, bar, primal_bar in cases:
        data, described = load(options.data, name), describe(name, settings)
        how = {key: settings[key] for key in ("C", "gamma")}
        if name not in machines and not settings.get("refine"):
            if options.exact == "all" or name not in SLOW:
                theirs = tables.exact("scikit-learn SVC", TheirSVC(**how), data, described, percent)
            ours = tables.exact("SVC", SVC(**how), data, described, percent)
            machines[name] = ours if name in SLOW and options.exact != "all" else theirs
        found = runs(BudgetSVC(**settings), data, options.seeds)
        faster = None
        if name in machines:
            bar = machines[name][0] - 0.01 if bar is None else bar
            if name not in SLOW:
                times = machines[name][1] / np.median(found[:, 3])
                faster = f"fit {times:.0f} times faster than scikit-learn's"
                if name in FASTER:
                    faster += f": {verdict(times, FASTER[name])} (≥ {FASTER[name]})"
        label = f"BudgetSVC, {machine_of(settings)}"
        tables.budgeted(label, found, described, percent, bar, primal_bar, faster)


def choose_svr(X, y):
    """C and gamma of scikit-learn's SVR by three-fold validation on 2,000 training rows."""
    rows = np.random.default_rng(0).permutation(len(y))[:2_000]
    per_feature = 1 / X.shape[1]
    grid = {"C": [1, 10, 100], "gamma": [0.3 * per_feature, per_feature, 3 * per_feature]}
    search = GridSearchCV(TheirSVR(epsilon=0.1), grid, cv=3, n_jobs=2).fit(X[rows], y[rows])
    return {**search.best_params_, "epsilon": 0.1}


def regression(tables, options):
    """R² beside the exact machines at the same C, epsilon and gamma: defaults, and tuned."""
    for name, tuned in [(name, tuned) for name in REGRESSION for tuned in (False, True)]:
        data = load(options.data, name)
        defaults = {"C": 1, "gamma": 1 / data[0].shape[1], "epsilon": 0.1}
        settings = choose_svr(*data[:2]) if tuned else defaults
        described = describe(name, settings)
        reference, _ = tables.exact("scikit-learn SVR", TheirSVR(**settings), data, described, r2)
        tables.exact("SVR", SVR(**settings), data, described, r2)
        found = runs(BudgetSVR(budget=500, **settings), data, options.seeds)
        tables.budgeted("BudgetSVR, B=500", found, described, r2, reference - 0.02)


def plain(tables, options):
    """BSCA and BSGD as the papers have them: B = 500, no polish, ten seeds."""
    settings = {name: setting for name, setting, *_ in reversed(BINARY)}
    for name, passes, bar, summary in PLAIN:
        data = load(options.data, name)
        chosen = {**settings[name], "budget": 500, "max_iter": passes, "tol": 0, "polishing": False}
        for solver in ("bsca", "bsgd"):
            found = runs(BudgetSVC(solver=solver, **chosen), data, 10)
            value = summary(found[:, 0])
            judged = f"ten seeds: {summary.__name__} {percent(value)}"
            if solver == "bsca":
                judged += f", {verdict(value, bar)} (≥ {percent(bar)})"
            label = f"{solver.upper()}, B=500, passes: {passes}, no polish"
            tables.budgeted(label, found, describe(name, settings[name]), percent, faster=judged)


GROUPS = {
    "binary": lambda *given: classification(*given, BINARY),
    "multiclass": lambda *given: classification(*given, MULTICLASS),
    "refined": lambda *given: classification(*given, REFINED),
    "regression": regression,
    "plain": plain,
}


TITLES = {
    "binary": "Two classes", "multiclass": "Several classes", "refined": "Refined",
    "regression": "Values", "plain": "As the papers have it, without polish",
}  # fmt: skip


def main():
    options_parser = parser(__doc__)
    options_parser.add_argument("--seeds", type=int, default=5)
    options_parser.add_argument("--exact", choices=["quick", "all"], default="quick")
    options_parser.add_argument("--only", choices=GROUPS, nargs="+", default=list(GROUPS))
    options = options_parser.parse_args()
    needed = {
        "binary": [name for name, *_ in BINARY],
        "multiclass": [name for name, *_ in MULTICLASS],
        "refined": [name for name, *_ in REFINED],
        "regression": REGRESSION,
        "plain": [name for name, *_ in PLAIN],
    }
    if options.quick:
        options.only, options.seeds = ["refined"], 1
    require(options.data, sorted({name for group in options.only for name in needed[group]}))
    warnings.simplefilter("ignore", ConvergenceWarning)
    seeds = f"0 to {options.seeds - 1}, medians"
    with Record(options, "flagship", seeds=seeds) as record:
        for group in options.only:
            tables = Tables()
            GROUPS[group](tables, options)
            record.table(group, TITLES[group], list(tables.HEADER), tables.rows)
            title = f"{TITLES[group]}: spread, bars"
            record.table(f"{group}_bars", title, list(tables.BARS), tables.bars)


if __name__ == "__main__":
    main()
