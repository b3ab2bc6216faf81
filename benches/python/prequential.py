"""Streams, each row tested before it is learnt: accuracy, kappa, log loss, time and memory a row.

    python benches/python/prequential.py [--only elec2 adult] [--rows 20000] [--quick]

elec2 in order of time, as published (its features lie in [0, 1]; some are constant for thousands of
rows, so no scale can be had of the first ones); Adult, COD-RNA
and IJCNN1 in the order of the file and shuffled; two made-up drifts whose truth is known, sudden
and gradual (streams.py). Beside the recursive `BudgetSVC`, with and without forgetting: plain steps
(`polishing=False`, BSGD), the online learners, river's adaptive random forest, Hoeffding tree and
ALMA, and scikit-learn's SGDClassifier on Nyström features. gamma and `forgetting` are chosen for
each stream on its first 5,000 rows, by the recursive machine's own prequential accuracy.

The no-change rule says the label of the row before. On elec2 that rule is hard to beat, and
the label before is no feature: "no change as a feature" gives it to the same machine as one more.

On elec2 and the drifts every machine predicts a row before it learns it and learns it at once
(ours by `budgetsvm.river`, the twelve learners by `test_then_train`). On the others a label comes
after the predictions of its `CHUNK` rows, but for river's machines: their rows are in no order that
tells of the next. Time is processor time a row, conversion to dictionaries left out; memory that of
the pickled model.
"""

from __future__ import annotations

import pickle
import time

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
GAMMAS = (1.0, 10.0, 100.0)
FORGETTINGS = (0.9, 0.99, 0.999, 0.9999)
#: Settings of the papers, which need no choice: (C, gamma).
KNOWN = {"adult": (32.0, 2.0**-7), "cod-rna": (32.0, 8.0), "ijcnn1": (32.0, 2.0)}


def elec2(folder):
    with np.load(folder / "elec2-stream.npz", allow_pickle=False) as stored:
        X = np.concatenate([stored["X_train"], stored["X_test"]]).astype(float)
        y = np.concatenate([stored["y_train"], stored["y_test"]])
    return X, y


def made_up(kind, rows=20_000):
    rng = np.random.default_rng(0)
    parts = []
    for first in range(0, rows, 100):
        now = first / rows if kind == "gradual" else float(first >= rows // 2)
        parts.append(concept(np.pi / 2 * now, 100, rng))
    return tuple(np.concatenate(part) for part in zip(*parts, strict=True))


def streams(folder, chosen, rows):
    for name in ("elec2", "adult", "cod-rna", "ijcnn1", "sudden", "gradual"):
        if chosen and name not in chosen:
            continue
        if name == "elec2":
            yield name, *elec2(folder), (1.0, None)
        elif name in ("sudden", "gradual"):
            yield name, *made_up(name), (1.0, 1.0)
        else:
            X, y, *_ = load(folder, name)
            X = X.toarray() if hasattr(X, "toarray") else X
            mixed = np.random.default_rng(0).permutation(len(y))[:rows]
            yield f"{name}, file", X[:rows], y[:rows], KNOWN[name]
            yield f"{name}, shuffled", X[mixed], y[mixed], KNOWN[name]


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


def chosen_gamma(C, X, y, chunk):
    """gamma and forgetting with the best prequential accuracy on the first rows."""
    X, y = X[:CHOICE], y[:CHOICE]

    def score(**own):
        return np.mean(run(b.BudgetSVC(100, C, random_state=0, **own), X, y, chunk)[0] == y)

    gamma = max(GAMMAS, key=lambda gamma: score(gamma=gamma))
    return gamma, max(FORGETTINGS, key=lambda f: score(gamma=gamma, forgetting=f))


def machines(C, gamma, forgetting):
    own = {"gamma": gamma, "random_state": 0}
    yield "BudgetSVC", b.BudgetSVC(100, C, **own)
    yield f"BudgetSVC, forgetting {forgetting:g}", b.BudgetSVC(100, C, forgetting=forgetting, **own)
    yield "BudgetSVC, log loss", b.BudgetSVC(100, C, loss="log_loss", **own)
    yield "plain BSCA steps", b.BudgetSVC(100, C, polishing=False, **own)
    yield "plain BSGD", b.BudgetSVC(100, C, solver="bsgd", polishing=False, **own)
    for name in (
        "KernelPerceptron", "KernelOGD", "RandomizedBudgetPerceptron", "Stoptron", "Forgetron",
        "Projectron", "ProjectronPlusPlus", "BudgetPassiveAggressive", "BudgetOGD",
        "SparsePassiveAggressive", "FourierOGD", "NystroemOGD",
    ):  # fmt: skip
        yield name, getattr(b, name)(**own)
    yield "SGDClassifier on Nyström", OnNystroem(gamma)


def rivers():
    from river import forest, linear_model, preprocessing, tree

    yield "adaptive random forest", forest.ARFClassifier(seed=0)
    yield "Hoeffding tree", tree.HoeffdingTreeClassifier()
    yield "ALMA", preprocessing.StandardScaler() | linear_model.ALMAClassifier()


def line(name, y, told, chance, seconds, model):
    mean = (
        "" if chance is None else f"{log_loss(y == y.max(), np.clip(chance, 1e-6, 1 - 1e-6)):.3f}"
    )
    held = "" if model is None else f"{len(pickle.dumps(model)) / 1024:.0f}"
    return [
        name, f"{100 * accuracy_score(y, told):.2f}", f"{cohen_kappa_score(y, told):.3f}", mean,
        f"{1e6 * seconds / len(y):.1f}", held,
    ]  # fmt: skip


def table(X, y, C, gamma, chunk):
    best, forgetting = chosen_gamma(C, X, y, chunk)
    gamma = best if gamma is None else gamma
    lines = [line("no change", y[1:], y[:-1], None, 0.0, None)]
    before = np.concatenate([[y[0]], y[:-1]])[:, None]
    known = b.BudgetSVC(100, C, gamma=gamma, random_state=0)
    told, _, seconds = run(known, np.hstack([X, before]), y, chunk)
    lines.append(line("BudgetSVC, no change as a feature", y, told, None, seconds, known))
    for name, model in machines(C, gamma, forgetting):
        told, values, seconds = run(model, X, y, chunk)
        chance = 1 / (1 + np.exp(-values)) if "log loss" in name else None
        lines.append(line(name, y, told, chance, seconds, model))
        print(*lines[-1], flush=True)
    for name, model in rivers():
        told, chance, seconds = run_river(model, X, y)
        lines.append(line(name, y, told, chance, seconds, model))
        print(*lines[-1], flush=True)
    return gamma, lines


def main():
    options = parser(__doc__)
    options.add_argument("--only", nargs="+", help="these streams alone")
    options.add_argument("--rows", type=int, help="rows of a stream at most")
    args = options.parse_args()
    require(args.data, ["elec2-stream", *KNOWN])
    rows = 3000 if args.quick else args.rows
    parts = [machine()]
    for name, X, y, (C, gamma) in streams(args.data, args.only, rows):
        print(f"{name}: {len(y):,} rows", flush=True)
        X, y = X[:rows], y[:rows]
        chunk = 1 if name in ("elec2", "sudden", "gradual") else CHUNK
        gamma, lines = table(X, y, C, gamma, chunk)
        header = ["machine", "accuracy %", "kappa", "log loss", "CPU µs a row", "kB"]
        parts.append(f"{name}, {len(y):,} rows, C = {C:g}, gamma = {gamma:g}")
        parts.append(markdown(header, lines))
    write(args.out / "prequential.md", "\n\n".join(parts))


if __name__ == "__main__":
    main()
