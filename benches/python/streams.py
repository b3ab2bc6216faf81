"""Streams that keep what they learn: `partial_fit` beside `fit` on the rows so far.

    python benches/python/streams.py [--seeds 5] [--only PART ...] [--held-out] [--quick]

For every set and order: the test score at checkpoints of one pass over the training rows in calls
of `CALL` rows, the score of `fit` on the same rows with the same budget, and the processor time of
both. Then: the same stream cut into calls of other lengths (the same bits), a fit of half of the
rows that goes on with the rest, a made-up set that turns to rows of another kind, and two synthetic
drifts with `forgetting`, beside a machine fitted
to 5,000 rows of the present concept alone and one fitted to the 2,000 rows since it came. What the
summary that a fit leaves costs it (`--times`: what a pass costs, beside river's adaptive random
forest). And IJCNN1 in file order, which drifts, scored apart on rows
held out of what has come so far and of what is to come: the past is kept where the first are.

Parts are the sets, "rest" (what is no set), "times" and "bars"; what each found is kept in the
record, so that one can be run again alone, and "bars" puts all beside what was promised.

`--drifts` tries settings of the drifts on streams of other seeds, from 100 on: `DRIFTS` was chosen
by it.

`--held-out` scores on a fifth of the training rows, which nothing learns from, in place of the test
rows, at the end of the streams alone (`--held-out --only sorted`: Adult and COD-RNA sorted by
label, at the checkpoints too; `--only turning`: IJCNN1 in file order): by it the constants of
src/estimator/budget/recursive were chosen (docs/records/defaults.md).
"""

from __future__ import annotations

import time
from itertools import product

import numpy as np

from budgetsvm import BudgetSVC, BudgetSVR
from common import load, markdown, parser, require, write
from record import Record
from streams_bars import Numbers, bars
from streams_turning import TURN, turning

#: Set: (budget, C, gamma, order of the rows).
STREAMS = [
    ("adult", 100, 32.0, 2.0**-7, "shuffled"),
    ("adult", 100, 32.0, 2.0**-7, "file"),
    ("adult", 100, 32.0, 2.0**-7, "by label"),
    ("adult", 100, 32.0, 2.0**-7, "by label, reversed"),
    ("ijcnn1", 500, 32.0, 2.0, "shuffled"),
    ("ijcnn1", 500, 32.0, 2.0, "file"),
    ("cod-rna", 200, 32.0, 8.0, "shuffled"),
    ("cod-rna", 200, 32.0, 8.0, "file"),
    ("cod-rna", 200, 32.0, 8.0, "by label"),
    ("cod-rna", 200, 32.0, 8.0, "by label, reversed"),
    ("letter", 1000, 16.0, 4.0, "shuffled"),
    ("letter", 1000, 16.0, 4.0, "file"),
    ("california-housing", 300, 8.0, 0.5, "shuffled"),
    ("california-housing", 300, 8.0, 0.5, "file"),
]
#: Sets of values: (budget, C, gamma); standardised but for California.
VALUES = [
    ("california-housing", 300, 8.0, 0.5),
    ("abalone", 40, 8.0, 0.5),
    ("cpusmall", 60, 32.0, 0.3),
    ("protein", 200, 8.0, 0.5),
    ("puma32h", 60, 8.0, 0.03),
]
CALL = 1000
CHECKPOINTS = 20
#: Looks at a stream of Adult, which is quick.
LOOKS = 50
#: (C, gamma, forgetting) of both drifts.
DRIFTS = (30.0, 1.0, 0.9985)


def rows_of(folder, name, order, seed, held_out=False):
    X, y, X_test, y_test = load(folder, name)
    if held_out:
        out = np.zeros(len(y), dtype=bool)
        out[np.random.default_rng(99 + seed).permutation(len(y))[: len(y) // 5]] = True
        X, y, X_test, y_test = X[~out], y[~out], X[out], y[out]
    if order != "file":
        chosen = np.random.default_rng(seed).permutation(len(y))
        if order != "shuffled":
            sign = -1 if "reversed" in order else 1
            chosen = chosen[np.argsort(sign * y[chosen], kind="stable")]
        X, y = X[chosen], y[chosen]
    return X, y, X_test, y_test


def held_out_scores(folder, streams, seeds):
    """Scores at the end of streams on held-out training rows: means over seeds."""
    lines = []
    streams = [s for s in streams if s[0] != "letter"]
    streams += [(*s[:4], "by label") for s in streams if s[:5:4] == ("ijcnn1", "shuffled")]
    for name, budget, C, gamma, order in streams:
        found = []
        for seed in seeds:
            X, y, X_test, y_test = rows_of(folder, name, order, seed, held_out=True)
            clf = estimator(name, budget, C, gamma, seed)
            stream(clf, X, y, len(y) // 10, [len(y)], lambda *_: None)
            found.append(100 * clf.score(X_test, y_test))
        lines.append([name, order, f"{np.mean(found):.2f}"])
        print(*lines[-1], flush=True)
    return markdown(["set", "order", "held-out rows, end"], lines)


def held_out_beside(folder, chosen, seeds):
    """Streams scored on held-out training rows, at checkpoints beside `fit`."""
    lines = []
    for name, budget, C, gamma, order in chosen:
        runs = [
            beside_fit(folder, name, budget, C, gamma, order, seed, fits=True, held_out=True)
            for seed in seeds
        ]
        gaps = np.array([run["gaps"] for run in runs])
        ends = [np.median([run["seen"][-1] for run in runs]), np.median(gaps, axis=0).max()]
        lines.append([name, order, *(f"{v:.2f}" for v in (*ends, gaps.max()))])
        print(*lines[-1], flush=True)
    header = ["set", "order", "end", "most below fit at a checkpoint", "on any seed"]
    return markdown(header, lines)


def held_out_values(folder, seeds):
    """R² at the end of streams of values on held-out training rows, shuffled and sorted: means."""
    lines = []
    for name, budget, C, gamma in VALUES:
        for order in ("shuffled", "by target", "by the first feature"):
            found = []
            for seed in seeds:
                X, y, X_test, y_test = rows_of(folder, name, "shuffled", seed, held_out=True)
                if name != "california-housing":
                    middle, scale = X.mean(axis=0), X.std(axis=0) * np.sqrt(X.shape[1]) / 2
                    X, X_test = ((part - middle) / scale for part in (X, X_test))
                    y, y_test = ((part - y.mean()) / y.std() for part in (y, y_test))
                if order != "shuffled":
                    by = np.argsort(y if order == "by target" else X[:, 0], kind="stable")
                    X, y = X[by], y[by]
                clf = estimator(name, budget, C, gamma, seed)
                stream(clf, X, y, CALL, [len(y)], lambda *_: None)
                found.append(100 * clf.score(X_test, y_test))
            lines.append([name, order, f"{np.mean(found):.2f}"])
            print(*lines[-1], flush=True)
    return markdown(["set", "order", "held-out rows, end, 100 R²"], lines)


def cost_of_summaries(folder, seeds):
    """Processor time of a fit and of one that leaves no summary, the least of some, and of one that
    is asked for it."""
    lines = []
    for name, budget, C, gamma, order in STREAMS:
        if order != "shuffled" or name == "letter":
            continue
        X, y, *_ = rows_of(folder, name, order, 0)
        times = {}
        for _ in range(3 * len(seeds)):
            for wanted in (False, None, True):
                clf = estimator(name, budget, C, gamma, 0).set_params(resumable=wanted, n_jobs=1)
                start = time.process_time()
                clf.fit(X, y)
                spent = time.process_time() - start
                times[wanted] = min(times.get(wanted, np.inf), spent)
        more = [round(100 * (times[wanted] / times[False] - 1)) for wanted in (None, True)]
        lines.append([name, budget, times[False], *more])
        print(*lines[-1], flush=True)
    return lines


COST = ["set", "B", "fit, CPU s", "more by default, %", "more with resumable=True, %"]


def estimator(name, budget, C, gamma, seed):
    if name in [of_values[0] for of_values in VALUES]:
        return BudgetSVR(budget=budget, C=C, gamma=gamma, fit_intercept=True, random_state=seed)
    return BudgetSVC(budget=budget, C=C, gamma=gamma, random_state=seed)


def stream(clf, X, y, call, checkpoints, look):
    """Learns all rows in calls, with a look at the checkpoints: processor time of learning."""
    spent, first = 0.0, 0
    classes = {} if isinstance(clf, BudgetSVR) else {"classes": np.unique(y)}
    for end in checkpoints:
        while first < end:
            last = min(first + call, end)
            start = time.process_time()
            clf.partial_fit(X[first:last], y[first:last], **classes)
            spent += time.process_time() - start
            first = last
        look(clf, end)
    return spent


def beside_fit(folder, name, budget, C, gamma, order, seed, fits, held_out=False):
    """The stream's score at looks, at checkpoints beside that of a fit, and processor times."""
    X, y, X_test, y_test = rows_of(folder, name, order, seed, held_out)
    n = len(y)
    checkpoints = {n * (k + 1) // CHECKPOINTS for k in range(CHECKPOINTS)}
    looks = {n * (k + 1) // LOOKS for k in range(LOOKS)} if name == "adult" else set()
    seen, gaps, last = {}, {}, None

    def look(clf, end):
        nonlocal last
        seen[end] = 100 * clf.score(X_test, y_test)
        if (end == n or (fits and end in checkpoints)) and len(set(y[:end])) > 1:
            start = time.process_time()
            fitted = estimator(name, budget, C, gamma, seed).fit(X[:end], y[:end])
            seconds = time.process_time() - start
            last = (100 * fitted.score(X_test, y_test), seconds)
            gaps[end] = last[0] - seen[end]

    marks = sorted(checkpoints | looks)
    spent = stream(estimator(name, budget, C, gamma, seed), X, y, CALL, marks, look)
    return {
        "rows": marks, "seen": [seen[end] for end in marks], "fit": last[0],
        "gaps": list(gaps.values()), "cost": spent / last[1],
    }  # fmt: skip


def cuts(folder, lengths):
    """Adult in calls of several lengths: the decision values are the same."""
    X, y, X_test, _ = rows_of(folder, "adult", "shuffled", 0)
    n = 6000
    found = []
    for call in lengths:
        clf = estimator("adult", 100, 32.0, 2.0**-7, 0)
        stream(clf, X[:n], y[:n], call, [n], lambda *_: None)
        found.append(clf.decision_function(X_test))
    return all(np.array_equal(found[0], other) for other in found[1:])


def halves(folder, name, budget, C, gamma, seed):
    """`fit` on half, `partial_fit` on the rest: (after half, least on the way, end, fit on all)."""
    X, y, X_test, y_test = rows_of(folder, name, "shuffled", seed)
    n = len(y)
    clf = estimator(name, budget, C, gamma, seed).fit(X[: n // 2], y[: n // 2])
    before, scores = 100 * clf.score(X_test, y_test), []
    marks = [(n - n // 2) * (k + 1) // 10 for k in range(10)]
    stream(
        clf, X[n // 2 :], y[n // 2 :], CALL, marks,
        lambda clf, _: scores.append(100 * clf.score(X_test, y_test)),
    )  # fmt: skip
    whole = 100 * estimator(name, budget, C, gamma, seed).fit(X, y).score(X_test, y_test)
    return before, min(scores), scores[-1], whole


def concept(angle, n, rng):
    """The two sides of a wave that is turned by `angle`, one row in ten mislabelled."""
    X = rng.normal(size=(n, 2))
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    Z = X @ turn
    y = np.where(Z[:, 0] > np.sin(2 * Z[:, 1]), 1, -1)
    y[rng.random(n) < 0.1] *= -1
    return X, y


def times(folder, rounds, budget=500, call=4096, rows=2000):
    """Processor time a row of one pass, in calls of `call` rows: least of some, beside that of
    `fit` and of river's adaptive random forest on the first `rows` rows (it grows with more)."""
    from river import forest

    lines = {}
    for name, _, C, gamma, order in STREAMS:
        if order != "shuffled" or name not in ("adult", "ijcnn1", "cod-rna"):
            continue
        X, y, *_ = rows_of(folder, name, order, 0)
        n = len(y)
        least = {"fit": np.inf, "stream": np.inf}
        for _ in range(rounds):
            start = time.process_time()
            estimator(name, budget, C, gamma, 0).set_params(n_jobs=1).fit(X, y)
            least["fit"] = min(least["fit"], time.process_time() - start)
            clf = estimator(name, budget, C, gamma, 0).set_params(n_jobs=1)
            spent = stream(clf, X, y, call, [n], lambda *_: None)
            least["stream"] = min(least["stream"], spent)
        few = X[:rows].toarray() if hasattr(X, "toarray") else X[:rows]
        few = [dict(enumerate(row)) for row in few.tolist()]
        arf = forest.ARFClassifier(seed=0)
        start = time.process_time()
        for row, label in zip(few, y[:rows].tolist(), strict=True):
            arf.learn_one(row, label)
        each = (time.process_time() - start) / rows
        fit, spent = (1e6 * least[key] / n for key in ("fit", "stream"))
        lines[name] = [fit, spent, spent / fit, 1e6 * each, 1e6 * each / spent]
        print(name, *lines[name], flush=True)
    return lines


def one_by_one(budget=100, rows=3000):
    """Processor time of a row learnt and predicted at once, by river's interface, C = 1; and of one
    that is learnt without being asked, the median of three runs."""
    from budgetsvm.river import Classifier

    lines = []
    for d in (8, 50):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(rows, d))
        y = (X[:, 0] + 0.5 * rng.normal(size=rows) > 0).tolist()
        given = [dict(enumerate(row)) for row in X.tolist()]
        each = []
        for asked in (True, False, False, False):
            own = BudgetSVC(budget=budget, gamma=0.1, random_state=0)
            wrapped = Classifier(own, features=range(d))
            start = 0.0
            for i, row in enumerate(given):
                if i == rows // 3:
                    start = time.process_time()
                wrapped.learn_one(row, y[i])
                if asked:
                    wrapped.predict_one(row)
            wrapped.predict_one(given[0])
            each.append(1e6 * (time.process_time() - start) / (rows - rows // 3))
        lines.append([d, each[0], float(np.median(each[1:]))])
        print(*lines[-1], flush=True)
    return lines


def turned(kind, first, n):
    """The concept of the rows from `first` on."""
    part = float(first >= n // 2) if kind == "sudden" else first / n
    return np.pi / 2 * part


def drift(kind, setting, seed, beside=True, n=20_000, step=500):
    """Accuracy every 500 rows: of the stream, of a fit to 5,000 rows of the concept, and of one to
    the last 2,000 rows (`beside`)."""
    C, gamma, forgetting = setting
    own = {"budget": 100, "C": C, "gamma": gamma, "random_state": seed}
    clf = BudgetSVC(forgetting=forgetting, **own)
    rng = np.random.default_rng(seed)
    found, last, known, before = [], [], None, None
    for first in range(0, n, step):
        angle = turned(kind, first, n)
        X, y = concept(angle, step, rng)
        clf.partial_fit(X, y, classes=[-1, 1])
        last = [*last[-3:], (X, y)]
        test = concept(angle, 5000, np.random.default_rng(seed + 1))
        if angle != before:
            enough = concept(angle, 5000, np.random.default_rng(seed + 2))
            known, before = BudgetSVC(**own).fit(*enough).score(*test), angle
        since = np.nan
        if beside:
            recent = [np.concatenate(part) for part in zip(*last, strict=True)]
            since = BudgetSVC(**own).fit(*recent).score(*test)
        found.append([100 * clf.score(*test), 100 * known, 100 * since])
    return np.array(found)


def drifts(settings, seeds, beside=True):
    """Both drifts with these settings: 2,000 rows after the sudden one, and from there on."""
    lines = []
    for setting in settings:
        for kind in ("sudden", "gradual"):
            found = np.median([drift(kind, setting, seed, beside) for seed in seeds], axis=0)
            # The sudden one comes after 20 parts of 500.
            at, back = found[23], found[24:].mean(axis=0)
            own = [f"{value:g}" for value in setting]
            lines.append([kind, *own, *(round(v, 2) for v in (*at, *back[:2]))])
            print(*lines[-1], flush=True)
    return lines


DRIFT = [
    "drift", "C", "gamma", "forgetting", "stream, 2,000 rows after", "knows the drift",
    "last 2,000 rows alone", "stream, last 8,000 rows", "knows the drift from then on",
]  # fmt: skip


def past_and_future(folder, seeds, budget=500, C=32.0, gamma=2.0):
    """IJCNN1 in file order, a fifth of it held out: how far the stream is below `fit` at
    checkpoints, on rows held out of the part so far, and of the part to come."""
    X, y, *_ = load(folder, "ijcnn1")
    gaps = []
    for seed in seeds:
        out = np.zeros(len(y), dtype=bool)
        out[np.random.default_rng(99 + seed).permutation(len(y))[: len(y) // 5]] = True
        at, held = np.flatnonzero(~out), np.flatnonzero(out)
        n = len(at)
        clf = estimator("ijcnn1", budget, C, gamma, seed)
        gap = []

        def look(clf, end, seed=seed, at=at, held=held, gap=gap):
            fitted = estimator("ijcnn1", budget, C, gamma, seed).fit(X[at[:end]], y[at[:end]])
            past = held < at[end - 1]
            parts = [held[past], held[~past]]
            gap.append([
                100 * (fitted.score(X[p], y[p]) - clf.score(X[p], y[p])) if len(p) else 0.0
                for p in parts
            ])  # fmt: skip

        marks = [n * (k + 1) // CHECKPOINTS for k in range(CHECKPOINTS)]
        stream(clf, X[at], y[at], CALL, marks, look)
        gaps.append(gap)
    lines = []
    for name, part in zip(("so far", "to come"), np.moveaxis(np.array(gaps), 2, 0), strict=True):
        middle = np.median(part, axis=0)
        figures = (middle.max(), part.max(), middle.mean(), part.min())
        lines.append([name, *(round(float(v), 2) for v in figures)])
    return lines


PAST = [
    "held-out rows", "most below fit at a checkpoint, median of seeds", "at worst",
    "mean over checkpoints", "most above fit (negative)",
]  # fmt: skip


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--seeds", type=int, default=5, help="runs of each stream")
    options.add_argument("--only", nargs="+", help="these parts alone")
    options.add_argument("--held-out", action="store_true", help="score on training rows held out")
    options.add_argument("--drifts", action="store_true", help="settings of the drifts alone")
    args = options.parse_args()
    seeds = range(1 if args.quick else args.seeds)
    wanted = args.only or [*(s[0] for s in STREAMS), "rest", "times", "bars"]
    chosen = [s for s in STREAMS if s[0] in wanted]
    require(args.data, sorted({s[0] for s in chosen}))
    if args.held_out:
        for word, fits in (
            ("sorted", lambda s: "by label" in s[4]),
            ("turning", lambda s: s[::4] == ("ijcnn1", "file")),
        ):
            if args.only and word in args.only:
                text = held_out_beside(args.data, [s for s in STREAMS if fits(s)], seeds)
                write(args.out / f"streams_{word}.md", text)
                return
        text = held_out_scores(args.data, chosen, seeds)
        if not args.only:
            text += "\n" + held_out_values(args.data, seeds)
        write(args.out / "streams_held_out.md", text)
        return
    with Record(args, "streams", seeds=f"{len(seeds)}") as record:
        numbers = Numbers(record.folder)
        if args.drifts:
            tried = product((10.0, 30.0), (0.6, 1.0), (0.998, 0.9985, 0.999))
            found = drifts(tried, range(100, 100 + len(seeds)), beside=False)
            record.table("tried", "Settings of both drifts, streams of other seeds", DRIFT, found)
            return
        for name, budget, C, gamma, order in chosen:
            runs = [
                beside_fit(args.data, name, budget, C, gamma, order, seed, not args.quick)
                for seed in seeds
            ]
            numbers.put(f"{name}, {order}", {"budget": budget, "runs": runs})
        if chosen:
            title = "One pass beside `fit` on the rows so far, % or 100 R²"
            record.table("beside_fit", title, *numbers.beside_fit())
        if "rest" in wanted:
            rest(args, record, numbers, seeds)
        if "times" in wanted:
            numbers.put("one by one", one_by_one())
            numbers.put("times", times(args.data, 3 * len(seeds)))
            header = ["features", "learnt and predicted, CPU µs a row", "learnt alone"]
            title = "River's interface, B = 100, a row at a time"
            record.table("one_by_one", title, header, numbers["one by one"])
            header = ["set", "fit, CPU µs a row", "stream", "stream / fit"]
            header += ["adaptive random forest", "forest / stream"]
            lines = [[name, *line] for name, line in numbers["times"].items()]
            record.table("times", "One pass at B = 500", header, lines)
        if "bars" in wanted:
            header = ["what", "bar", "measured", "met"]
            record.table("bars", "What was promised", header, bars(numbers, args.out))


def rest(args, record, numbers, seeds):
    """What is no set's."""
    same = cuts(args.data, (1, 100, 2000) if not args.quick else (100, 2000))
    numbers.put("cuts", same)
    record.text("cuts", f"Adult, 6,000 rows in calls of 1, 100, 2,000: the same bits: {same}")
    half = {}
    for name, budget, C, gamma, order in STREAMS:
        if order != "shuffled" or name not in ("adult", "cod-rna", "ijcnn1"):
            continue
        found = [halves(args.data, name, budget, C, gamma, seed) for seed in seeds]
        half[name] = [round(float(v), 2) for v in np.median(found, axis=0)]
    numbers.put("halves", half)
    header = ["set", "fit on half", "least after", "end", "fit on all"]
    title = "`fit` on half, `partial_fit` on the rest"
    record.table("halves", title, header, [[name, *line] for name, line in half.items()])
    numbers.put("drifts", drifts([(*DRIFTS[:2], f) for f in (1.0, DRIFTS[2])], seeds))
    record.table("drifts", "Two drifts", DRIFT, numbers["drifts"])
    numbers.put("past", past_and_future(args.data, seeds))
    record.table("past", "IJCNN1 in file order, a fifth held out", PAST, numbers["past"])
    numbers.put("turning", turning(seeds))
    record.table("turning", "From one board to another at row 2,048", TURN, numbers["turning"])
    record.table("cost", "What a summary costs", COST, cost_of_summaries(args.data, seeds))


if __name__ == "__main__":
    main()
