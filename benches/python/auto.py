"""AutoSVC and AutoSVR beside gradient boosting at its defaults, and what each part brings.

    python benches/python/auto.py                       # the table: 3 seeds
    python benches/python/auto.py --only puma32h,letter --seeds 1
    python benches/python/auto.py --ablate              # without learnt scales; with a budget
    python benches/python/auto.py --large               # 10^6 x 20, and 10^5 x 50 in 2 s

scikit-learn's HistGradientBoosting always; LightGBM, XGBoost and CatBoost where they are installed
(dependency group "boosting"). All at their defaults, on all training rows, with as many threads as
``--threads`` says. The recipe's numbers (src/tuning/recipe.rs) are those of a trial on other sets.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from budgetsvm import AutoSVC, AutoSVR
from common import machine, parser, require, rows_of

CLASSES = (
    "madelon spambase phishing higgs-sample satimage covtype-classes adult letter usps".split()
)
VALUES = "puma32h cpuact california-housing abalone protein".split()


def peers(regression: bool, threads: int, seed: int) -> dict[str, Callable[[], Any]]:
    """Makers of the machines compared, those that are installed."""
    found: dict[str, Callable[[], Any]] = {
        "auto": lambda: (AutoSVR if regression else AutoSVC)(random_state=seed, n_jobs=threads),
        # OpenMP's threads, of which it takes one a core: set OMP_NUM_THREADS.
        "hist": lambda: (
            HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier
        )(random_state=seed),
    }
    try:
        import lightgbm

        made = lightgbm.LGBMRegressor if regression else lightgbm.LGBMClassifier
        found["lightgbm"] = lambda: made(random_state=seed, n_jobs=threads, verbose=-1)
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


def ablations(regression: bool, threads: int, seed: int) -> dict[str, Callable[[], Any]]:
    cls = AutoSVR if regression else AutoSVC
    return {
        name: lambda given=given: cls(random_state=seed, n_jobs=threads, **given)
        for name, given in (
            ("auto", {}), ("one width", {"learn_scales": False}),
            ("budget 1000", {"budget": 1000}), ("budget 300", {"budget": 300}),
        )
    }  # fmt: skip


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


def large(threads: int) -> None:
    """How long a fit to many rows takes, and what there is after two seconds."""
    rng = np.random.default_rng(0)
    for n, d, most in ((100_000, 50, 2.0), (1_000_000, 20, None)):
        X = rng.normal(size=(n + 10_000, d)).astype(np.float32)
        y = np.sin(X[:, 0] * X[:, 1]) + np.tanh(X[:, 2]) + 0.3 * rng.normal(size=len(X)) > 0
        model, started = AutoSVC(random_state=0, n_jobs=threads, max_time=most), time.perf_counter()
        model.fit(X[:n], y[:n])
        wall, score = time.perf_counter() - started, 100 * model.score(X[n:], y[n:])
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"{n} x {d}, max_time={most}: {wall:.1f} s, {score:.2f} %, {model.n_terms_} terms, "
            f"{model.stop_reason_}, at most {peak:.2f} GB",
            flush=True,
        )


def main() -> None:
    options = parser(__doc__ or "")
    options.add_argument("--only", help="names of sets, by commas")
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--ablate", action="store_true")
    options.add_argument("--large", action="store_true")
    given = options.parse_args()
    if given.large:
        print(machine(), flush=True)
        large(given.threads)
        return
    names = given.only.split(",") if given.only else [*CLASSES, *VALUES]
    if given.quick:
        names, given.seeds = ["spambase"], 1
    require(given.data, names)
    print(machine(), flush=True)
    scores: dict[str, dict[str, float]] = {}
    for name in names:
        X, y, X_test, y_test = raw(given.data, name)
        found: dict[str, list[tuple[float, float, float]]] = {}
        for seed in range(given.seeds):
            makers = (ablations if given.ablate else peers)(name in VALUES, given.threads, seed)
            for who, make in makers.items():
                model, started, spent = make(), time.perf_counter(), time.process_time()
                model.fit(X, y)
                wall, cpu = time.perf_counter() - started, time.process_time() - spent
                started = time.perf_counter()
                score = 100 * model.score(X_test, y_test)
                row = 1e6 * (time.perf_counter() - started) / len(X_test)
                found.setdefault(who, []).append((score, wall, cpu, row))
        line = f"{name:20s} {len(X):6d} x {X.shape[1]:3d}"
        for who, runs in found.items():
            score, wall, cpu, row = np.median(runs, axis=0)
            scores.setdefault(name, {})[who] = score
            line += f" | {who} {score:.2f} ({wall:.1f} s, {cpu:.1f} CPU, {row:.0f} µs a row)"
        print(line, flush=True)
    for kind, of in (("classes", CLASSES), ("values", VALUES)):
        rows = [scores[name] for name in of if name in scores]
        if rows:
            who = list(rows[0])
            ranks = np.mean(
                [[1 + sum(r[o] > r[w] for o in who) for w in who] for r in rows], axis=0
            )
            print(
                f"mean, {kind}: "
                + ", ".join(f"{w} {np.mean([r[w] for r in rows]):.2f}" for w in who)
            )
            print(
                f"mean rank, {kind}: "
                + ", ".join(f"{w} {r:.2f}" for w, r in zip(who, ranks, strict=True))
            )


if __name__ == "__main__":
    main()
