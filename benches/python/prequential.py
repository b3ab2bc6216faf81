"""Streams, each row tested before it is learnt: accuracy, kappa, log loss, time and memory a row.

    python benches/python/prequential.py [--only elec2 adult] [--rows 10000] [--quick]

elec2 whole and in order of time, as published, but for its day of the week: it is the one feature
that does not lie in [0, 1] and is divided by 7. (`--raw`: it is left.) Adult, COD-RNA and IJCNN1
in the order of the file and shuffled, of each `--rows` rows, since river's machines take up to
several milliseconds a row; two made-up drifts whose truth is known, sudden and gradual
(streams.py). Beside the recursive `BudgetSVC`, with and without forgetting: plain steps
(`polishing=False`, BSGD), the online learners, river's adaptive random forest, Hoeffding tree and
ALMA, and scikit-learn's SGDClassifier on Nyström features.

On elec2 the first 5,000 rows choose each machine's setting by its own prequential accuracy there: C
and gamma of ours, gamma of the learners and of Nyström, `forgetting` last. On the drifts they
are chosen on streams made with another seed, once for both. On the other sets C and gamma are those
of the papers, `forgetting` is chosen on the first 5,000 rows. River's machines have their defaults.

The no-change rule says the label of the row before. On elec2 that rule is hard to beat, and
the label before is no feature: "no change as a feature" gives it to the same machine as one more.

On elec2 and the drifts every machine predicts a row before it learns it and learns it at once
(ours by `budgetsvm.river`, the twelve learners by `test_then_train`). On the others a label comes
after the predictions of its `CHUNK` rows, but for river's machines and the twelve: their rows are
in no order that tells of the next. Time is processor time a row, conversion to dictionaries left
out; memory that of the pickled model. One run of each machine, with seed 0.
"""

from __future__ import annotations

import pickle
import time
from itertools import product

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import accuracy_score, cohen_kappa_score, log_loss

import budgetsvm as b
from budgetsvm.river import Classifier
from common import load, machine, markdown, parser, require, write
from streams import concept

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
    """(name, rows, labels, streams that choose, (C, gamma) where they are known, chunk)."""
    for name in ("elec2", "adult", "cod-rna", "ijcnn1", "sudden", "gradual"):
        if chosen and name not in chosen:
            continue
        if name == "elec2":
            X, y = elec2(folder, raw)
            yield name, X, y, [(X[:CHOICE], y[:CHOICE])], None, 1
        elif name in ("sudden", "gradual"):
            others = [made_up(kind, seed=1, rows=6000) for kind in ("sudden", "gradual")]
            yield name, *made_up(name), others, None, 1
        else:
            X, y, *_ = load(folder, name)
            X = X.toarray() if hasattr(X, "toarray") else X
            mixed = np.random.default_rng(0).permutation(len(y))
            for order, at in (("file", np.arange(len(y))), ("shuffled", mixed)):
                at = at[:rows]
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


def machines(choices, known, chunk):
    """(name, setting in words, machine): settings that are not known are chosen."""
    costs, gammas = (COSTS, GAMMAS) if known is None else ((known[0],), (known[1],))
    pairs = [{"C": C, "gamma": gamma} for C, gamma in product(costs, gammas)]

    def ours(**own):
        return b.BudgetSVC(budget=100, random_state=0, **own)

    def forgets(**own):
        return ours(**{"forgetting": FIRST, **own})

    def words(own):
        return ", ".join(f"{name} {value:g}" for name, value in own.items())

    def chosen(name, make, grid):
        own = best(make, grid, choices, chunk)
        return name, words(own), make(**own)

    pair = best(forgets, pairs, choices, chunk)
    grid = [{**pair, "forgetting": f} for f in FORGETTINGS]
    yield chosen("BudgetSVC with forgetting", forgets, grid)
    yield chosen("BudgetSVC", ours, pairs)
    yield (
        "BudgetSVC, log loss, with forgetting",
        *chosen(
            "", lambda **own: ours(loss="log_loss", **own), [best(forgets, grid, choices, chunk)]
        )[1:],
    )
    yield chosen("plain BSCA steps", lambda **own: ours(polishing=False, **own), pairs)
    plain = {"solver": "bsgd", "polishing": False}
    yield chosen("plain BSGD", lambda **own: ours(**plain, **own), pairs)
    widths = [{"gamma": gamma} for gamma in gammas]
    for name in (
        "KernelPerceptron", "KernelOGD", "RandomizedBudgetPerceptron", "Stoptron", "Forgetron",
        "Projectron", "ProjectronPlusPlus", "BudgetPassiveAggressive", "BudgetOGD",
        "SparsePassiveAggressive", "FourierOGD", "NystroemOGD",
    ):  # fmt: skip
        make = getattr(b, name)
        yield chosen(name, lambda make=make, **own: make(random_state=0, **own), widths)
    yield chosen("SGDClassifier on Nyström", OnNystroem, widths)


def rivers():
    from river import forest, linear_model, preprocessing, tree

    yield "adaptive random forest", forest.ARFClassifier(seed=0)
    yield "Hoeffding tree", tree.HoeffdingTreeClassifier()
    yield "ALMA", preprocessing.StandardScaler() | linear_model.ALMAClassifier()


def line(name, setting, y, told, chance, seconds, model):
    mean = (
        "" if chance is None else f"{log_loss(y == y.max(), np.clip(chance, 1e-6, 1 - 1e-6)):.3f}"
    )
    held = "" if model is None else f"{len(pickle.dumps(model)) / 1024:.0f}"
    return [
        name, setting, f"{100 * accuracy_score(y, told):.2f}", f"{cohen_kappa_score(y, told):.3f}",
        mean, f"{1e6 * seconds / len(y):.1f}", held,
    ]  # fmt: skip


def table(X, y, choices, known, chunk):
    lines = [line("no change", "", y[1:], y[:-1], None, 0.0, None)]

    def add(*parts):
        lines.append(line(*parts))
        print(*lines[-1], flush=True)

    for name, setting, model in machines(choices, known, chunk):
        told, values, seconds = run(model, X, y, chunk)
        chance = 1 / (1 + np.exp(-values)) if "log loss" in name else None
        add(name, setting, y, told, chance, seconds, model)
        if name == "BudgetSVC with forgetting" and chunk == 1:
            before = np.concatenate([[y[0]], y[:-1]])[:, None]
            again = type(model)(**model.get_params())
            told, _, seconds = run(again, np.hstack([X, before]), y, chunk)
            add(name + ", no change as a feature", setting, y, told, None, seconds, again)
    for name, model in rivers():
        told, chance, seconds = run_river(model, X, y)
        add(name, "", y, told, chance, seconds, model)
    return lines


def main():
    options = parser(__doc__)
    options.add_argument("--only", nargs="+", help="these streams alone")
    options.add_argument("--rows", type=int, default=10_000, help="rows of Adult, COD-RNA, IJCNN1")
    options.add_argument("--raw", action="store_true", help="elec2 with its day from 1 to 7")
    args = options.parse_args()
    require(args.data, ["elec2-stream", *KNOWN])
    rows = 3000 if args.quick else args.rows
    parts = [machine()]
    for name, X, y, choices, known, chunk in streams(args.data, args.only, rows, args.raw):
        if args.quick:
            X, y, choices = X[:rows], y[:rows], [(X[:500], y[:500]) for X, y in choices]
        print(f"{name}: {len(y):,} rows", flush=True)
        lines = table(X, y, choices, known, chunk)
        header = ["machine", "setting", "accuracy %", "kappa", "log loss", "CPU µs a row", "kB"]
        parts.append(f"{name}, {len(y):,} rows; machines of ours hold 100 terms")
        parts.append(markdown(header, lines))
    name = "_".join(["prequential", *(args.only or [])])
    write(args.out / f"{name}.md", "\n\n".join(parts))


if __name__ == "__main__":
    main()
