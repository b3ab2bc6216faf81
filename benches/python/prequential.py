"""Streams, each row tested before it is learnt: accuracy, kappa, log loss, time and memory a row.

    python benches/python/prequential.py [--only elec2 adult] [--machines river] [--rows 10000]

elec2 whole and in order of time, as published, but for its day of the week: it is the one feature
that does not lie in [0, 1] and is divided by 7. (`--raw`: it is left.) Adult, COD-RNA and IJCNN1
in the order of the file and shuffled, whole, or `--rows` rows of each; two made-up drifts whose
truth is known, sudden and gradual (streams.py). Beside the recursive `BudgetSVC`, with and without
forgetting: plain steps (`polishing=False`, BSGD), the online learners, river's adaptive random
forest, Hoeffding tree and ALMA, and scikit-learn's SGDClassifier on Nyström features.

On elec2 the first 5,000 rows choose each machine's setting by its own prequential accuracy there: C
and gamma of ours, gamma of the learners and of Nyström, `forgetting` last. On the drifts ours has
the setting of streams.py, which `streams.py --drifts` chose on other seeds. On the other sets C and
gamma are those of the papers, `forgetting` is chosen on the first 5,000 rows. River's machines have
their defaults.

The no-change rule says the label of the row before. On elec2 that rule is hard to beat, and
the label before is no feature: "no change as a feature" gives it to the same machine as one more.

On elec2 and the drifts every machine predicts a row before it learns it and learns it at once
(ours by `budgetsvm.river`, the twelve learners by `test_then_train`). On the others a label comes
after the predictions of its `CHUNK` rows, but for river's machines and the twelve: their rows are
in no order that tells of the next. Time is processor time a row, conversion to dictionaries left
out, all on one thread; memory that of the pickled model. One run of each machine, with seed 0.

What was found is kept in the record, machine by machine: `--machines` runs some again (those whose
names have one of the words in them, or "river" or "learners"), and the tables are of all. `--page`
runs nothing and puts docs/records/prequential.md together.
"""

from __future__ import annotations

import json
import pickle
import time
from itertools import product

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import accuracy_score, cohen_kappa_score, log_loss
from threadpoolctl import threadpool_limits

import budgetsvm as b
from budgetsvm.river import Classifier
from common import ROOT, load, markdown, parser, require
from record import Record, written
from streams import DRIFTS, concept

CHUNK = 50
CHOICE = 5_000
#: What is tried: all pairs of C and gamma, then `forgetting`, from FIRST on.
COSTS = (1.0, 10.0, 100.0, 1000.0)
GAMMAS = (1.0, 10.0, 100.0)
FORGETTINGS = (0.9, 0.98, 0.99, 0.995, 0.999, 0.9999)
FIRST = 0.99
#: Settings of the papers, which need no choice: (C, gamma).
KNOWN = {"adult": (32.0, 2.0**-7), "cod-rna": (32.0, 8.0), "ijcnn1": (32.0, 2.0)}


def elec2(folder, raw=False):
    with np.load(folder / "elec2-stream.npz", allow_pickle=False) as stored:
        X = np.concatenate([stored["X_train"], stored["X_test"]]).astype(float)
        y = np.concatenate([stored["y_train"], stored["y_test"]])
    if not raw:
        X[:, 1] /= 7
    return X, y


def made_up(kind, seed=0, rows=20_000):
    rng = np.random.default_rng(seed)
    parts = []
    for first in range(0, rows, 100):
        now = first / rows if kind == "gradual" else float(first >= rows // 2)
        parts.append(concept(np.pi / 2 * now, 100, rng))
    return tuple(np.concatenate(part) for part in zip(*parts, strict=True))


def streams(folder, chosen, rows, raw):
    """(name, rows, labels, streams that choose, what is known of C, gamma, forgetting, chunk)."""
    for name in ("elec2", "adult", "cod-rna", "ijcnn1", "sudden", "gradual"):
        if chosen and name not in chosen:
            continue
        if name == "elec2":
            X, y = elec2(folder, raw)
            yield name, X, y, [(X[:CHOICE], y[:CHOICE])], None, 1
        elif name in ("sudden", "gradual"):
            others = [made_up(kind, seed=1, rows=6000) for kind in ("sudden", "gradual")]
            yield name, *made_up(name), others, DRIFTS, 1
        else:
            X, y, *_ = load(folder, name)
            X = X.toarray() if hasattr(X, "toarray") else X
            mixed = np.random.default_rng(0).permutation(len(y))
            for order, at in (("file", np.arange(len(y))), ("shuffled", mixed)):
                at = at[:rows]  # all of them, where no number is given
                first = [(X[at[:CHOICE]], y[at[:CHOICE]])]
                yield f"{name}, {order}", X[at], y[at], first, KNOWN[name], CHUNK


def run(model, X, y, chunk):
    """(labels told, decision values, seconds) of a machine of ours on a stream."""
    classes = np.unique(y)
    start = time.process_time()
    if hasattr(model, "test_then_train"):
        values = model.test_then_train(X, y, classes=classes)
    elif chunk == 1 and hasattr(model, "forgetting"):
        values = one_by_one(model, X, y)
    else:
        values = np.zeros(len(y))
        for first in range(0, len(y), chunk):
            rows = slice(first, first + chunk)
            if first:
                values[rows] = model.decision_function(X[rows])
            model.partial_fit(X[rows], y[rows], classes=classes)
    seconds = time.process_time() - start
    return classes[(values > 0).astype(int)], values, seconds


def one_by_one(model, X, y):
    """Decision values by river's interface, each before its row is learnt."""
    names = range(X.shape[1])
    wrapped = Classifier(model, (y.min(), y.max()), features=names)
    values = np.zeros(len(y))
    for i, (row, label) in enumerate(zip(X.tolist(), y, strict=True)):
        x = dict(zip(names, row, strict=True))
        if i:
            values[i] = wrapped.decide_one(x)[0]
        wrapped.learn_one(x, label)
    model._machine = wrapped._machine._machine
    return values


def run_river(model, X, y):
    names = [f"x{j}" for j in range(X.shape[1])]
    rows = [dict(zip(names, row, strict=True)) for row in X.tolist()]
    labels = (y == y.max()).tolist()
    chance = np.full(len(y), 0.5)
    start = time.process_time()
    for i, (row, label) in enumerate(zip(rows, labels, strict=True)):
        chance[i] = model.predict_proba_one(row).get(True, 0.5)
        model.learn_one(row, label)
    seconds = time.process_time() - start
    return np.where(chance > 0.5, y.max(), y.min()), chance, seconds


class OnNystroem:
    """SGDClassifier on Nyström features of the first chunk's rows and those after it."""

    def __init__(self, gamma, count=200):
        self.map = Nystroem(gamma=gamma, n_components=count, random_state=0)
        self.linear = SGDClassifier(loss="log_loss", random_state=0)
        self.held = []

    def partial_fit(self, X, y, classes):
        if self.held is not None:
            self.held.append((X, y))
            if sum(len(part[1]) for part in self.held) < 500:
                return
            X, y = (np.concatenate(part) for part in zip(*self.held, strict=True))
            self.map.fit(X)
            self.held = None
        self.linear.partial_fit(self.map.transform(X), y, classes=classes)

    def decision_function(self, X):
        if self.held is not None:
            return np.zeros(len(X))
        return self.linear.decision_function(self.map.transform(X))


def best(make, grid, choices, chunk):
    """The setting of the grid with the most rows right on the streams that choose."""
    if len(grid) == 1:
        return grid[0]

    def score(own):
        return np.mean([np.mean(run(make(**own), X, y, chunk)[0] == y) for X, y in choices])

    return max(grid, key=score)


#: The online learners of the papers.
LEARNERS = (
    "KernelPerceptron", "KernelOGD", "RandomizedBudgetPerceptron", "Stoptron", "Forgetron",
    "Projectron", "ProjectronPlusPlus", "BudgetPassiveAggressive", "BudgetOGD",
    "SparsePassiveAggressive", "FourierOGD", "NystroemOGD",
)  # fmt: skip


def ours(**own):
    return b.BudgetSVC(budget=100, random_state=0, n_jobs=1, **own)


def forgets(**own):
    return ours(**{"forgetting": FIRST, **own})


def logistic(**own):
    return ours(loss="log_loss", **own)


def machines(choices, known, chunk):
    """Name: (how it is made, what chooses its setting)."""
    costs, gammas = (COSTS, GAMMAS) if known is None else ((known[0],), (known[1],))
    forgettings = known[2:] if known and len(known) > 2 else FORGETTINGS
    pairs = [{"C": C, "gamma": gamma} for C, gamma in product(costs, gammas)]
    widths = [{"gamma": gamma} for gamma in gammas]

    def forgetting():
        pair = best(forgets, pairs, choices, chunk)
        grid = [{**pair, "forgetting": f} for f in forgettings]
        return best(forgets, grid, choices, chunk)

    def of(make, grid):
        return make, lambda: best(make, grid, choices, chunk)

    def steps(solver):
        return of(lambda **own: ours(polishing=False, solver=solver, **own), pairs)

    def learner(name):
        return of(lambda **own: getattr(b, name)(random_state=0, n_jobs=1, **own), widths)

    return {
        "BudgetSVC with forgetting": (forgets, forgetting),
        "BudgetSVC": of(ours, pairs),
        "BudgetSVC, log loss, with forgetting": (logistic, forgetting),
        "plain BSCA steps": steps("bsca"),
        "plain BSGD": steps("bsgd"),
        **{name: learner(name) for name in LEARNERS},
        "SGDClassifier on Nyström": of(OnNystroem, widths),
    }


def rivers():
    from river import forest, linear_model, preprocessing, tree

    return {
        "adaptive random forest": forest.ARFClassifier(seed=0),
        "Hoeffding tree": tree.HoeffdingTreeClassifier(),
        "ALMA": preprocessing.StandardScaler() | linear_model.ALMAClassifier(),
    }


def line(setting, y, told, chance, seconds, model):
    mean = None
    if chance is not None:
        mean = float(log_loss(y == y.max(), np.clip(chance, 1e-6, 1 - 1e-6)))
    held = None if model is None else len(pickle.dumps(model)) / 1024
    return [
        setting, 100 * accuracy_score(y, told), float(cohen_kappa_score(y, told)), mean,
        1e6 * seconds / len(y) if seconds else None, held,
    ]  # fmt: skip


def wanted(name, words):
    groups = {"river": rivers(), "learners": LEARNERS}
    return not words or any(word in name or name in groups.get(word, ()) for word in words)


def found(stream, words):
    """What each machine came to on a stream, machine by machine: (name, line)."""
    _, X, y, choices, known, chunk = stream
    settings = {}
    for name, (make, choose) in machines(choices, known, chunk).items():
        if not wanted(name, words):
            continue
        if choose not in settings:
            settings[choose] = choose()
        own = settings[choose]
        said = ", ".join(f"{key} {value:g}" for key, value in own.items())
        model = make(**own)
        told, values, seconds = run(model, X, y, chunk)
        chance = 1 / (1 + np.exp(-values)) if "log loss" in name else None
        yield name, line(said, y, told, chance, seconds, model)
        if name == "BudgetSVC with forgetting" and chunk == 1:
            before = np.concatenate([[y[0]], y[:-1]])[:, None]
            again = make(**own)
            told, _, seconds = run(again, np.hstack([X, before]), y, chunk)
            more = name + ", no change as a feature"
            yield more, line(said, y, told, None, seconds, again)
    for name, model in rivers().items():
        if wanted(name, words):
            told, chance, seconds = run_river(model, X, y)
            yield name, line("", y, told, chance, seconds, model)


ORDER = (
    "elec2", "adult-file", "adult-shuffled", "cod-rna-file", "cod-rna-shuffled", "ijcnn1-file",
    "ijcnn1-shuffled", "sudden", "gradual",
)  # fmt: skip
HEADER = ["machine", "setting", "accuracy %", "kappa", "log loss", "CPU µs a row", "kB"]


def main():
    options = parser(__doc__)
    options.add_argument("--only", nargs="+", help="these streams alone")
    options.add_argument("--machines", nargs="+", help="these machines again")
    options.add_argument("--rows", type=int, help="so many rows of Adult, COD-RNA, IJCNN1")
    options.add_argument(
        "--page", action="store_true", help="write docs/records/prequential.md, run nothing"
    )
    options.add_argument("--raw", action="store_true", help="elec2 with its day from 1 to 7")
    args = options.parse_args()
    if args.page:
        page(args.out / "record" / "prequential")
        return
    require(args.data, ["elec2-stream", *KNOWN])
    rows = 3000 if args.quick else args.rows
    with threadpool_limits(1), Record(args, "prequential", seeds="0") as record:
        for name, X, y, choices, known, chunk in streams(args.data, args.only, rows, args.raw):
            if args.quick:
                X, y, choices = X[:rows], y[:rows], [(X[:500], y[:500]) for X, y in choices]
            key = name.replace(", ", "-")
            file = record.folder / f"{key}.lines.json"
            lines = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
            if lines.get("rows") != len(y):
                lines = {"rows": len(y)}
            lines["no change"] = line("", y[1:], y[:-1], None, 0.0, None)
            for machine, cells in found((name, X, y, choices, known, chunk), args.machines):
                lines[machine] = cells
                print(name, machine, *cells, flush=True)
                written(file, lines)
            record.table(key, f"{name}, {len(y):,} rows", HEADER, cells_of(lines))


def cells_of(lines):
    """The cells of a stream's table, best first."""
    return [
        [machine, said, f"{accuracy:.2f}", f"{kappa:.3f}", *map(shorter, rest)]
        for machine, (said, accuracy, kappa, *rest) in in_order(lines)
    ]


def in_order(lines):
    """Machines and their lines, the most accurate first."""
    told = [(name, line) for name, line in lines.items() if name != "rows"]
    return sorted(told, key=lambda pair: -pair[1][1])


#: What docs/records/prequential.md begins with.
HEAD = """# Prequential evaluation

Written by `python benches/python/prequential.py --page` of the script's own record, not by hand.
Each model predicts a row before training on it. Models of this package hold 100 terms and
have one thread, river's have their defaults; time is processor time of a row told and learnt (on
cores that others shared), memory that of the pickled machine. On elec2 and the two drifts a label
comes at once; on the other sets `BudgetSVC` and `SGDClassifier` have labels 50 rows late, the
online learners and river's machines at once. How settings were chosen: the head of the
script. [The guide to streams](../streams.md) says what they are.
"""


def page(folder):
    """docs/records/prequential.md: accuracy of all, then a table a stream."""
    record = json.loads((folder / "record.json").read_text(encoding="utf-8"))["entries"]
    found = {}
    for name in ORDER:
        file = folder / f"{name}.lines.json"
        if file.is_file():
            found[name] = json.loads(file.read_text(encoding="utf-8"))
    machines = {name: None for lines in found.values() for name, _ in in_order(lines)}
    cells = [
        [name, *(f"{lines[name][1]:.2f}" if name in lines else "" for lines in found.values())]
        for name in machines
    ]
    mean = {row[0]: np.mean([float(v) for v in row[1:] if v]) for row in cells}
    cells.sort(key=lambda row: (row.count(""), -mean[row[0]]))
    about = next(iter(record.values()))
    parts = [
        HEAD,
        f"- machine: {about['machine']}\n- version: {about['version']}\n",
        "## Accuracy, %\n",
        markdown(["machine", *(name.replace("-", " ") for name in found)], cells),
    ]
    for name, lines in found.items():
        parts += [f"\n## {name.replace('-', ' ')}, {lines['rows']:,} rows\n"]
        parts += [markdown(HEADER, cells_of(lines))]
    path = ROOT / "docs" / "records" / "prequential.md"
    path.write_text("\n".join(parts) + "\n", encoding="utf-8")
    print(f"written to {path}")


def shorter(value):
    """Three digits, or nothing."""
    if value is None:
        return ""
    return f"{value:.3f}" if value < 10 else f"{value:,.0f}"


if __name__ == "__main__":
    main()
