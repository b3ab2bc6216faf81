"""AutoSVC and AutoSVR beside gradient boosting at its defaults, and what each part brings.

    python benches/python/auto.py                       # the table: 3 seeds
    python benches/python/auto.py --only puma32h,letter --seeds 1
    python benches/python/auto.py --ablate              # every part switched off
    python benches/python/auto.py --choose              # numbers of the recipe about those it has
    python benches/python/auto.py --budget              # what 1,000 and 300 terms cost
    python benches/python/auto.py --invariance          # columns in other orders and other units
    python benches/python/auto.py --large               # many rows: time, memory, the first machine

scikit-learn's HistGradientBoosting always; LightGBM, XGBoost and CatBoost where they are installed
(dependency group "boosting"). All at their defaults, on all training rows, with as many threads as
``--threads`` says. ``--choose`` looks at training rows alone: four fifths are fitted, the rest
judged. With ``--record FILE`` every fit is written to a file and none that stands there is made
again, so that a long run may be made in pieces (``--minutes``); the tables are of all that the file
holds.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from budgetsvm import AutoSVC, AutoSVR
from common import machine, markdown, parser, require, rows_of, write

CLASSES = (
    "madelon spambase phishing higgs-sample satimage covtype-classes adult letter usps".split()
)
VALUES = "puma32h cpuact california-housing abalone protein".split()

#: Parts switched off.
ABLATIONS: dict[str, dict[str, Any]] = {
    "all": {},
    "no scales": {"outer": False, "descent": 0},
    "no descent": {"descent": 0},
    "no gradient products": {"outer": False},
    "one start": {"two_starts": False},
    "coding chosen once": {"recoded": False},
    "λ of the search": {"lambda_fall": 0.0},
    "no Laplacian": {"laplacian": False},
    "no Gaussian": {"gaussian": False},
    "no blend": {"blended": False},
    "no ranks": {"ranks": False},
    "by leaving one out": {"judged": False},
}
#: Numbers of the recipe about those that it has.
CHOICES: dict[str, dict[str, Any]] = {
    "all": {},
    "1,500 rows": {"rows": 1500},
    "150 landmarks": {"landmarks": 150},
    "500 landmarks": {"landmarks": 500},
    "20 evaluations": {"descent": 20},
    "80 evaluations": {"descent": 80},
    "λ of the search": {"lambda_fall": 0.0},
    "λ by the root of rows": {"lambda_fall": 0.5},
    "coding chosen once": {"recoded": False},
    "one start": {"two_starts": False},
    "no gradient products": {"outer": False},
    "one start, power 1/4": {"two_starts": False, "outer_power": 0.25},
}


def made(regression: bool, threads: int, seed: int, **given: Any) -> Any:
    """AutoSVC or AutoSVR; `recipe` is what of the search is done."""
    cls: Any = AutoSVR if regression else AutoSVC
    recipe = given.pop("recipe", None)
    model = cls(random_state=seed, n_jobs=threads, **given)
    if recipe:
        model._recipe = json.dumps(recipe)
    return model


def peers(regression: bool, threads: int, seed: int) -> dict[str, Callable[[], Any]]:
    """Makers of the machines compared, those that are installed."""
    found: dict[str, Callable[[], Any]] = {
        "auto": lambda: made(regression, threads, seed),
        # OpenMP's threads, of which it takes one a core: set OMP_NUM_THREADS.
        "hist": lambda: (
            HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier
        )(random_state=seed),
    }
    try:
        import lightgbm

        light = lightgbm.LGBMRegressor if regression else lightgbm.LGBMClassifier
        found["lightgbm"] = lambda: light(random_state=seed, n_jobs=threads, verbose=-1)
    except ImportError:
        pass
    try:
        import xgboost

        grown = xgboost.XGBRegressor if regression else xgboost.XGBClassifier
        found["xgboost"] = lambda: grown(random_state=seed, n_jobs=threads)
    except ImportError:
        pass
    try:
        import catboost

        cat = catboost.CatBoostRegressor if regression else catboost.CatBoostClassifier
        found["catboost"] = lambda: cat(
            random_seed=seed, thread_count=threads, verbose=0, allow_writing_files=False
        )
    except ImportError:
        pass
    return found


class Halves:
    """Two machines on a half of the rows each, their answers averaged."""

    def __init__(self, regression: bool, threads: int, seed: int) -> None:
        self.models = [made(regression, threads, seed + k) for k in range(2)]
        self.seed = seed

    def fit(self, X: np.ndarray, y: np.ndarray) -> Halves:
        order = np.random.default_rng(self.seed).permutation(len(X))
        for k, model in enumerate(self.models):
            model.fit(X[order[k::2]], y[order[k::2]])
        return self

    def score(self, X: np.ndarray, y: np.ndarray) -> float:
        if isinstance(self.models[0], AutoSVR):
            found = np.mean([model.predict(X) for model in self.models], axis=0)
            return float(1 - np.mean((y - found) ** 2) / np.var(y))
        found = np.mean([model.predict_proba(X) for model in self.models], axis=0)
        return float(np.mean(self.models[0].classes_[found.argmax(axis=1)] == y))


def makers(given: Any, regression: bool, seed: int) -> dict[str, Callable[[], Any]]:
    threads = given.threads
    if given.budget:
        budgets = {"auto": None, "budget 1000": 1000, "budget 300": 300}
        found = {
            who: lambda budget=budget: made(regression, threads, seed, budget=budget)
            for who, budget in budgets.items()
        }
        found["300 as drawn"] = lambda: made(
            regression, threads, seed, budget=300, recipe={"moved": False}
        )
        return found
    if given.ablate or given.choose:
        kinds = ABLATIONS if given.ablate else CHOICES
        found = {
            who: lambda recipe=recipe: made(regression, threads, seed, recipe=recipe)
            for who, recipe in kinds.items()
        }
        if given.choose:
            found["two halves"] = lambda: Halves(regression, threads, seed)
        return found
    return peers(regression, threads, seed)


def raw(folder: Any, name: str) -> tuple[np.ndarray, ...]:
    """Training and test rows as published, dense; labels as numbers from 0."""
    with np.load(folder / f"{name}.npz", allow_pickle=False) as stored:
        parts = {key: stored[key] for key in stored.files}

    def dense(of: str) -> np.ndarray:
        X = rows_of(parts, of)
        return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float32)

    y, y_test = parts["y_train"], parts["y_test"]
    if name in CLASSES:
        labels = np.unique(y)
        y, y_test = np.searchsorted(labels, y), np.searchsorted(labels, y_test)
    return dense("train"), y, dense("test"), y_test


def of_training(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, ...]:
    """Four fifths of the training rows, and the rest."""
    order = np.random.default_rng(7).permutation(len(X))
    cut = len(X) * 4 // 5
    return X[order[:cut]], y[order[:cut]], X[order[cut:]], y[order[cut:]]


def many(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + 10_000, d)).astype(np.float32)
    noise = 0.3 * rng.normal(size=len(X))
    return X, np.sin(X[:, 0] * X[:, 1]) + np.tanh(X[:, 2]) + noise > 0


def one_large(n: int, d: int, most: float | None, threads: int) -> None:
    """How long a fit to many rows takes, and what there is after `most` seconds."""
    X, y = many(n, d)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    model, started = AutoSVC(random_state=0, n_jobs=threads, max_time=most), time.perf_counter()
    spent = time.process_time()
    model.fit(X[:n], y[:n])
    wall, spent = time.perf_counter() - started, time.process_time() - spent
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    score = 100 * model.score(X[n:], y[n:])
    print(
        f"{n} x {d}, max_time={most}: {wall:.1f} s, {spent:.1f} CPU s, {score:.2f} %, "
        f"{model.n_terms_} terms, {model.stop_reason_}, {before:.2f} GB before the fit, at most "
        f"{peak:.2f} GB",
        flush=True,
    )


def large(given: Any) -> None:
    """Each in a process of its own: memory is the most that one has had."""
    for n, d, most in ((100_000, 50, 0.5), (50_000, 50, 0), (1_000_000, 20, 0)):
        named = f"{n},{d},{most}"
        if not given.only or str(n) in given.only:
            own = [sys.executable, __file__, "--one-large", named, "--threads", str(given.threads)]
            subprocess.run(own, check=True)


def invariance(given: Any, names: list[str]) -> None:
    """Scores with columns in other orders, and in units of 10^-6 to 10^6."""
    for name in names:
        X, y, X_test, y_test = raw(given.data, name)
        rng, scores = np.random.default_rng(0), []
        orders = [np.arange(X.shape[1]), *(rng.permutation(X.shape[1]) for _ in range(2))]
        units = [np.ones(X.shape[1])] * 3 + [10.0 ** rng.integers(-6, 7, X.shape[1])]
        for order, unit in zip([*orders, orders[0]], units, strict=True):
            model = made(name in VALUES, given.threads, 0)
            change = lambda rows, o=order, u=unit: (rows * u)[:, o]  # noqa: E731
            model.fit(change(X), y)
            scores.append(100 * model.score(change(X_test), y_test))
        first, one, two, scaled = scores
        print(
            f"{name:20s} {first:.2f} | columns in other orders {one - first:+.3f} "
            f"{two - first:+.3f} | other units {scaled - first:+.3f}",
            flush=True,
        )


def measured(model: Any, parts: tuple[np.ndarray, ...]) -> dict[str, float]:
    X, y, X_test, y_test = parts
    started, spent = time.perf_counter(), time.process_time()
    model.fit(X, y)
    wall, cpu = time.perf_counter() - started, time.process_time() - spent
    row = np.inf
    for _ in range(2):
        started = time.perf_counter()
        score = 100 * model.score(X_test, y_test)
        row = min(row, 1e6 * (time.perf_counter() - started) / len(X_test))
    return {"score": score, "wall": wall, "cpu": cpu, "row": row}


def table(given: Any, fits: list[dict[str, Any]]) -> None:
    """Medians over the seeds, a line a set; means and mean ranks below."""
    who = list(dict.fromkeys(fit["who"] for fit in fits))
    lines = []
    scores: dict[str, dict[str, float]] = {}
    for name in [*CLASSES, *VALUES]:
        own = [fit for fit in fits if fit["set"] == name]
        if not own:
            continue
        line = [name]
        for one in who:
            runs = [fit for fit in own if fit["who"] == one]
            if not runs:
                line.append("")
                continue
            score, cpu, row = (np.median([run[k] for run in runs]) for k in ("score", "cpu", "row"))
            scores.setdefault(name, {})[one] = float(score)
            seeds = [run["score"] for run in runs]
            spread = f" ±{(max(seeds) - min(seeds)) / 2:.2f}" if len(runs) > 1 else ""
            line.append(f"{score:.2f}{spread} ({cpu:.1f} s, {row:.0f} µs)")
        lines.append(line)
    for kind, of in (("classes", CLASSES), ("values", VALUES), ("all", [*CLASSES, *VALUES])):
        rows = [scores[n] for n in of if len(scores.get(n, {})) == len(who)]
        if rows:
            ranks = [np.mean([1 + sum(r[o] > r[w] for o in who) for r in rows]) for w in who]
            means = [np.mean([r[w] - r[who[0]] for r in rows]) for w in who]
            lines.append([f"beside {who[0]}, {kind} ({len(rows)})", *(f"{m:+.2f}" for m in means)])
            lines.append([f"mean rank, {kind}", *(f"{rank:.2f}" for rank in ranks)])
    text = markdown(["set: median score (processor time of a fit, a row)", *who], lines)
    kind = next((k for k in ("ablate", "choose", "budget") if getattr(given, k)), "boosting")
    write(given.out / f"auto-{kind}.md", f"{machine()}\n\n{text}")


def main() -> None:
    options = parser(__doc__ or "")
    options.add_argument("--only", help="names of sets, by commas")
    options.add_argument("--who", help="what is compared, by semicolons")
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--record", type=Path, help="a file of fits made, JSON a line")
    options.add_argument("--minutes", type=float, default=np.inf, help="begin no fit after these")
    options.add_argument("--one-large", help="n,d,max_time: one fit of --large")
    for name in ("ablate", "choose", "budget", "invariance", "large"):
        options.add_argument(f"--{name}", action="store_true")
    given = options.parse_args()
    if given.one_large:
        n, d, most = given.one_large.split(",")
        one_large(int(n), int(d), float(most) or None, given.threads)
        return
    print(machine(), flush=True)
    if given.large:
        large(given)
        return
    names = given.only.split(",") if given.only else [*CLASSES, *VALUES]
    if given.quick:
        names, given.seeds = ["spambase"], 1
    require(given.data, names)
    if given.invariance:
        invariance(given, names)
        return
    fits: list[dict[str, Any]] = []
    if given.record and given.record.exists():
        fits = [json.loads(line) for line in given.record.read_text().splitlines()]
    began, known = time.perf_counter(), {(fit["set"], fit["who"], fit["seed"]) for fit in fits}
    for seed in range(given.seeds):
        for name in names:
            parts = None
            for who, make in makers(given, name in VALUES, seed).items():
                late = time.perf_counter() - began > 60 * given.minutes
                wanted = not given.who or who in given.who.split(";")
                if (name, who, seed) in known or late or not wanted:
                    continue
                if parts is None:
                    parts = raw(given.data, name)
                    parts = of_training(*parts[:2]) if given.choose else parts
                fit = {"set": name, "who": who, "seed": seed, **measured(make(), parts)}
                fits.append(fit)
                print(" ".join(f"{v:.2f}" if k in ("score", "wall", "cpu", "row") else str(v)
                               for k, v in fit.items()), flush=True)  # fmt: skip
                if given.record:
                    with given.record.open("a") as file:
                        file.write(json.dumps(fit) + "\n")
    table(given, [fit for fit in fits if fit["set"] in names])


if __name__ == "__main__":
    main()
