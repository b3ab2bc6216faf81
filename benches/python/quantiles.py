"""Several quantiles on shared terms, and several targets: docs/intervals.md.

Intervals from 5 to 95 % with the median, of `BudgetSVR` with C = 10 (and with scales of features
that it learns), beside three machines of scikit-learn's gradient boosting: the share of the test
values that each quantile covers, and the mean pinball loss over the three. The two ways were chosen
on a part of the training sets. Then the time of 10 targets, and of three quantiles, in units of
that of one: made values, interleaved, the least of several rounds, in processor time of one thread.
The seconds of the intervals are wall clock; run it alone.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import mean_pinball_loss

from budgetsvm import AssetSVR, BudgetSVR, PrimalSVR
from common import interleaved, load, machine, markdown, parser, require, write

SETS = ["california-housing", "protein", "cpusmall", "abalone"]
LEVELS = [0.05, 0.5, 0.95]
WAYS = [{"budget": 500}, {"budget": 1000, "feature_scales": "learn"}]
TARGETS = 10
ROWS = 10_000


def ours(**params):
    """Three quantiles on one set of terms."""
    own = {"C": 10, "random_state": 0, **params}
    return BudgetSVR(loss="quantile", quantile=LEVELS, **own)


def boosted(X, y, X_test):
    """Three machines of gradient boosting, sorted as ours are."""
    said = [
        HistGradientBoostingRegressor(loss="quantile", quantile=q, random_state=0)
        .fit(X, y)
        .predict(X_test)
        for q in LEVELS
    ]
    return np.sort(np.stack(said, axis=1), axis=1)


def judged(said, y):
    """Coverage of each quantile in %, and the mean pinball loss of all."""
    covered = 100 * (y[:, None] <= said).mean(axis=0)
    losses = [mean_pinball_loss(y, said[:, at], alpha=q) for at, q in enumerate(LEVELS)]
    return covered, float(np.mean(losses))


def row(name, what, said, y, seconds, base):
    covered, loss = judged(said, y)
    within = covered[2] - covered[0]
    cells = [f"{c:.1f}" for c in (*covered, within)]
    return [name, what, *cells, f"{loss:.4f}", f"{loss / base:.3f}", f"{seconds:.1f}"]


def intervals(options, sets, ways):
    rows = []
    for name in sets:
        X, y, X_test, y_test = load(options.data, name)
        if options.quick:
            X, y = X[:1000], y[:1000]
        began = time.perf_counter()
        said = boosted(X, y, X_test)
        seconds = time.perf_counter() - began
        base = judged(said, y_test)[1]
        rows.append(row(name, "gradient boosting, 3 machines", said, y_test, seconds, base))
        for params in ways:
            began = time.perf_counter()
            fitted = ours(**params).fit(X, y)
            seconds = time.perf_counter() - began
            said = fitted.predict(X_test)
            text = ", ".join(f"{name}={value!r}" for name, value in params.items())
            rows.append(row("", f"`BudgetSVR({text})`", said, y_test, seconds, base))
    header = ["data", "machine", "5 %", "50 %", "95 %", "within", "pinball", "of boosting's", "s"]
    return markdown(header, rows)


def made(d, n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).astype(np.float32)
    waves = rng.normal(size=(d, TARGETS)) / np.sqrt(d / 8)
    return X, np.sin(X @ waves) + 0.3 * rng.normal(size=(n, TARGETS))


def spent(model, X, *targets):
    """Processor seconds of a fit to each: what else the machine does counts for less."""
    start = time.process_time()
    for y in targets:
        model.set_params(n_jobs=1).fit(X, y)
    return time.process_time() - start


def times(options):
    n, rounds = (2000, 1) if options.quick else (ROWS, options.rounds)
    rows = []
    for d in (8, 20, 64, 512):
        X, Y = made(d, n)
        machines = {
            "BudgetSVR(100)": BudgetSVR(100, random_state=0),
            "BudgetSVR(100, polishing=False)": BudgetSVR(100, polishing=False, random_state=0),
            "BudgetSVR(500)": BudgetSVR(500, random_state=0),
            "PrimalSVR(basis='random', n_components=200)": PrimalSVR(
                basis="random", n_components=200, random_state=0
            ),
            "AssetSVR(max_iter=3)": AssetSVR(max_iter=3, random_state=0),
            "AssetSVR()": AssetSVR(random_state=0),
        }
        for name, one in machines.items():
            actions = {
                "one": lambda one=one, X=X, Y=Y: spent(one, X, Y[:, 0]),
                "ten": lambda one=one, X=X, Y=Y: spent(one, X, Y),
                "all": lambda one=one, X=X, Y=Y: spent(one, X, *Y.T),
            }
            if isinstance(one, BudgetSVR) and one.polishing:
                apart = BudgetSVR(one.budget, loss="quantile", random_state=0)
                together = BudgetSVR(one.budget, loss="quantile", quantile=LEVELS, random_state=0)
                actions["median"] = lambda one=apart, X=X, Y=Y: spent(one, X, Y[:, 0])
                actions["three"] = lambda one=together, X=X, Y=Y: spent(one, X, Y[:, 0])
            least = {what: t.min() for what, t in interleaved(rounds, **actions).items()}
            three = f"{least['three'] / least['median']:.1f}" if "three" in least else ""
            rows.append([
                f"`{name}`", str(d), f"{least['one']:.2f}", f"{least['ten'] / least['one']:.1f}",
                f"{least['all'] / least['one']:.1f}", three,
            ])  # fmt: skip
    header = ["machine", "features", "one, s", "10 targets", "10 machines", "3 quantiles of one"]
    return markdown(header, rows)


def main() -> None:
    made_parser = parser(__doc__)
    made_parser.add_argument("--rounds", type=int, default=3)
    made_parser.add_argument("--only", choices=["intervals", "times"])
    options = made_parser.parse_args()
    require(options.data, SETS)
    texts = []
    if options.only != "times":
        sets, ways = (SETS[:1], WAYS[:1]) if options.quick else (SETS, WAYS)
        texts.append(intervals(options, sets, ways))
    if options.only != "intervals":
        texts.append(times(options))
    write(options.out / "quantiles.md", "\n\n".join([*texts, machine() + "."]))


if __name__ == "__main__":
    main()
