"""The guide's advice, leaf by leaf: the advised machine at its defaults beside our others.

    python benches/python/guide.py [--only table small ...] [--quick]

Each leaf of "By the shape of the data" (docs/guide.md) has data sets of its shape and the machines
of ours that do what it asks for (a leaf for streams: those that learn from a part at a time; one
for small models: those that may have 30 terms). All are at their defaults but for what the leaf
says itself, on standardised columns, so a user who follows the guide and chooses nothing gets this.
The advised machine should be within 1 point of the best (2 % of R²); what is not is said. `AutoSVC`
and `AutoSVR`, which search, take part in their own leaf alone. A fit of the others has a minute of
the clock at most. Nothing is tuned on a test part.

Text is made here (topics that share words, weighed by how rare they are); streams are read in
order and tested before they train.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

import budgetsvm as b
from common import REGRESSION, load, machine, markdown, parser, require, write

#: Points that the advised machine may lie below the best, of accuracy, AUC, R².
BAR = {"accuracy": 1.0, "AUC": 1.0, "R²": 2.0}
#: Rows of a stream whose labels come together.
PART = 500


@dataclass
class Leaf:
    """What the guide says of one shape. The first machine of each kind is the advised one."""

    name: str
    title: str
    data: tuple[str, ...]
    classes: dict[str, Callable[[], Any]] = field(default_factory=dict)
    values: dict[str, Callable[[], Any]] = field(default_factory=dict)
    stream: bool = False


def landmarks(n, **own):
    """An `AssetSVC` of one to three passes."""
    return b.AssetSVC(n_components=n, max_iter=3, **own)


EXACT = {
    "SVC()": b.SVC,
    "NuSVC(nu=0.1)": lambda: b.NuSVC(nu=0.1),
    "PrimalSVC()": b.PrimalSVC,
    "BudgetSVC()": b.BudgetSVC,
    "BudgetSVC(500)": lambda: b.BudgetSVC(500),
    "AssetSVC()": b.AssetSVC,
    "LocalBudgetSVC()": b.LocalBudgetSVC,
}
EXACT_VALUES = {
    "SVR()": b.SVR,
    "NuSVR()": b.NuSVR,
    "PrimalSVR()": b.PrimalSVR,
    "BudgetSVR()": b.BudgetSVR,
    "BudgetSVR(500)": lambda: b.BudgetSVR(500),
    "AssetSVR()": b.AssetSVR,
}
ONLINE = (
    "KernelPerceptron", "KernelOGD", "RandomizedBudgetPerceptron", "Stoptron", "Forgetron",
    "Projectron", "ProjectronPlusPlus", "BudgetPassiveAggressive", "BudgetOGD",
    "SparsePassiveAggressive", "FourierOGD", "NystroemOGD",
)  # fmt: skip

LEAVES = [
    Leaf(
        "novelty",
        "no labels, rows that go on coming",
        ("anomaly-mammography", "anomaly-shuttle"),
        {
            "BudgetOneClassSVM(nu=0.05)": lambda: b.BudgetOneClassSVM(nu=0.05),
            "OneClassSVM(nu=0.05)": lambda: b.OneClassSVM(nu=0.05),
        },
    ),
    Leaf(
        "stream",
        f"a stream, labels by {PART} rows",
        ("elec2-stream", "adult", "ijcnn1", "cod-rna"),
        {
            "BudgetSVC()": b.BudgetSVC,
            "BudgetSVC(polishing=False)": lambda: b.BudgetSVC(polishing=False),
            "AssetSVC()": b.AssetSVC,
            **{f"{name}()": getattr(b, name) for name in ONLINE},
        },
        stream=True,
    ),
    Leaf(
        "parts",
        "more rows than memory holds",
        ("ijcnn1", "cod-rna", "adult", "covtype-2v3"),
        {
            "BudgetSVC(500)": lambda: b.BudgetSVC(500),
            "AssetSVC(n_components=500)": lambda: b.AssetSVC(n_components=500),
            "NystroemOGD(500)": lambda: b.NystroemOGD(500),
            "FourierOGD()": b.FourierOGD,
            "BudgetSVC(500, polishing=False)": lambda: b.BudgetSVC(500, polishing=False),
        },
        stream=True,
    ),
    Leaf(
        "small",
        "a model of 30 terms",
        ("ijcnn1", "cod-rna", "satimage", "california-housing"),
        {
            "BudgetSVC(30, refine=True)": lambda: b.BudgetSVC(30, refine=True),
            "BudgetSVC(30)": lambda: b.BudgetSVC(30),
            'PrimalSVC(basis="random", n_components=30)': lambda: b.PrimalSVC(
                basis="random", n_components=30
            ),
            "AssetSVC(n_components=30)": lambda: b.AssetSVC(n_components=30),
            'PrimalSVC(kernel="linear")': lambda: b.PrimalSVC(kernel="linear"),
        },
        {
            "BudgetSVR(30, refine=True)": lambda: b.BudgetSVR(30, refine=True),
            "BudgetSVR(30)": lambda: b.BudgetSVR(30),
            'PrimalSVR(basis="random", n_components=30)': lambda: b.PrimalSVR(
                basis="random", n_components=30
            ),
            "AssetSVR(n_components=30)": lambda: b.AssetSVR(n_components=30),
        },
    ),
    Leaf(
        "sparse",
        "wide and sparse",
        ("reuters-money-fx", "text"),
        {
            'PrimalSVC(kernel="linear")': lambda: b.PrimalSVC(kernel="linear"),
            'SVC(kernel="linear")': lambda: b.SVC(kernel="linear"),
            "SVC()": b.SVC,
            "BudgetSVC()": b.BudgetSVC,
            "AssetSVC()": b.AssetSVC,
            'MaxAbsScaler, PrimalSVC(kernel="linear")': lambda: make_pipeline(
                MaxAbsScaler(), b.PrimalSVC(kernel="linear")
            ),
        },
    ),
    Leaf(
        "linear",
        "straight lines, two classes or values",
        ("adult", "reuters-money-fx", "spambase", "abalone"),
        {
            'PrimalSVC(kernel="linear")': lambda: b.PrimalSVC(kernel="linear"),
            'SVC(kernel="linear")': lambda: b.SVC(kernel="linear"),
            'BudgetSVC(kernel="linear")': lambda: b.BudgetSVC(kernel="linear"),
            'AssetSVC(kernel="linear")': lambda: b.AssetSVC(kernel="linear"),
        },
        {
            'PrimalSVR(kernel="linear")': lambda: b.PrimalSVR(kernel="linear"),
            'SVR(kernel="linear")': lambda: b.SVR(kernel="linear"),
            'BudgetSVR(kernel="linear")': lambda: b.BudgetSVR(kernel="linear"),
        },
    ),
    Leaf(
        "pairs",
        "straight lines, several classes",
        ("satimage", "letter", "usps"),
        {
            'SVC(kernel="linear")': lambda: b.SVC(kernel="linear"),
            'PrimalSVC(kernel="linear")': lambda: b.PrimalSVC(kernel="linear"),
            'BudgetSVC(kernel="linear")': lambda: b.BudgetSVC(kernel="linear"),
            'AssetSVC(kernel="linear")': lambda: b.AssetSVC(kernel="linear"),
            'BudgetSVC(kernel="linear", fit_intercept=True)': lambda: b.BudgetSVC(
                kernel="linear", fit_intercept=True
            ),
            'AssetSVC(kernel="linear", fit_intercept=True)': lambda: b.AssetSVC(
                kernel="linear", fit_intercept=True
            ),
        },
    ),
    Leaf(
        "table",
        "a table, nothing chosen",
        ("spambase", "satimage", "phishing", "cpuact", "abalone", "california-housing"),
        {"AutoSVC()": b.AutoSVC, **EXACT},
        {"AutoSVR()": b.AutoSVR, **EXACT_VALUES},
    ),
    Leaf(
        "exact",
        "up to some 10,000 rows",
        (
            "satimage",
            "spambase",
            "usps",
            "phishing",
            "letter",
            "covtype-classes",
            "cpuact",
            "abalone",
        ),
        {'SVC(C="tune", gamma="tune")': lambda: b.SVC(C="tune", gamma="tune"), **EXACT},
        {'SVR(C="tune", gamma="tune")': lambda: b.SVR(C="tune", gamma="tune"), **EXACT_VALUES},
    ),
    Leaf(
        "many",
        "many rows",
        ("ijcnn1", "cod-rna", "adult", "covtype-2v3", "california-housing", "protein"),
        {
            "BudgetSVC(500)": lambda: b.BudgetSVC(500),
            "SVC()": b.SVC,
            "LocalBudgetSVC()": b.LocalBudgetSVC,
            "AssetSVC(n_components=500, max_iter=3)": lambda: landmarks(500),
            'PrimalSVC(kernel="linear")': lambda: b.PrimalSVC(kernel="linear"),
        },
        {
            "BudgetSVR(500)": lambda: b.BudgetSVR(500),
            "SVR()": b.SVR,
            "AssetSVR(n_components=500, max_iter=3)": lambda: b.AssetSVR(
                n_components=500, max_iter=3
            ),
            'PrimalSVR(kernel="linear")': lambda: b.PrimalSVR(kernel="linear"),
        },
    ),
]


def text(n=6000, d=30_000, topics=60, length=60, seed=0):
    """Rows of words: each topic prefers some words, words are rare as in language."""
    rng = np.random.default_rng(seed)
    common = 1 / np.arange(10, d + 10)
    common /= common.sum()
    y = np.arange(n) % topics
    rows = np.repeat(np.arange(n), length)
    of_row = rng.choice(d, size=n * length, p=common)
    # A tenth of the words are the topic's own, of which it has 200.
    own = rng.integers(d, size=(topics, 200))
    at = rng.random(n * length) < 0.1
    of_row[at] = own[y[rows[at]], rng.integers(200, size=at.sum())]
    X = sp.csr_matrix((np.ones(n * length), (rows, of_row)), shape=(n, d))
    return X[: n * 2 // 3], y[: n * 2 // 3], X[n * 2 // 3 :], y[n * 2 // 3 :]


def data_of(folder, name):
    """Columns standardised where they are dense (but elec2's, which lie in [0, 1]); values too.
    Words are weighed. Rows of streams are shuffled but elec2's, which drift."""
    X, y, X_test, y_test = text() if name == "text" else load(folder, name)
    if name == "text":
        weigh = TfidfTransformer(sublinear_tf=True).fit(X)
        X, X_test = weigh.transform(X), weigh.transform(X_test)
    if not sp.issparse(X) and name != "elec2-stream":
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    if name in (*REGRESSION, "cpuact"):
        centre, spread = y.mean(), y.std()
        y, y_test = (y - centre) / spread, (y_test - centre) / spread
    return X, y, X_test, y_test


def is_values(y):
    return bool(np.any(y != np.round(y)))


def terms_of(model):
    last = model[-1] if hasattr(model, "steps") else model
    terms = getattr(last, "n_terms_", None)
    if terms is None and hasattr(last, "support_"):
        terms = len(last.support_)
    return terms


def seeded(model):
    """The model with a seed, and a minute at most."""
    last = model[-1] if hasattr(model, "steps") else model
    if hasattr(last, "gamma"):
        last.set_params(max_time=60.0)
    if "random_state" in last.get_params():
        last.set_params(random_state=0)
    return model


def of_fit(model, X, y, X_test, y_test):
    """Score, seconds, terms."""
    start = time.process_time()
    seeded(model).fit(X, y)
    return model.score(X_test, y_test), time.process_time() - start, terms_of(model)


def of_parts(model, X, y, X_test, y_test):
    """The same after parts of a stream."""
    classes, start = np.unique(y), time.process_time()
    seeded(model).set_params(gamma=gamma_of(X))
    for first in range(0, len(y), PART):
        model.partial_fit(X[first : first + PART], y[first : first + PART], classes=classes)
    return model.score(X_test, y_test), time.process_time() - start, terms_of(model)


def of_stream(model, X, y):
    """The share of rows that were right before they were learnt, seconds, terms."""
    classes, right, start = np.unique(y), 0, time.process_time()
    seeded(model).set_params(gamma=gamma_of(X))
    for first in range(0, len(y), PART):
        part = slice(first, first + PART)
        if first:
            right += np.sum(model.predict(X[part]) == y[part])
        model.partial_fit(X[part], y[part], classes=classes)
    return right / (len(y) - PART), time.process_time() - start, terms_of(model)


def gamma_of(X):
    """A number, as a stream needs: "scale" of the first part."""
    first = X[:PART]
    squares = first.multiply(first).mean() if sp.issparse(first) else np.mean(first**2)
    return float(1 / (X.shape[1] * (squares - first.mean() ** 2)))


def of_one_class(model, X, y, X_test, y_test):
    """Area under the ROC curve of unseen anomalies, learnt from the normal rows."""
    start = time.process_time()
    seeded(model).set_params(gamma=1 / X.shape[1]).fit(X[y != 1])
    return roc_auc_score(y_test != 1, model.score_samples(X_test)), (
        time.process_time() - start
    ), terms_of(model)  # fmt: skip


def measured(leaf, data):
    """(what is scored, {machine: (score in %, seconds, terms)}) of one set, the advised first."""
    X, y = data[:2]
    what = "R²" if is_values(y) else "AUC" if leaf.name == "novelty" else "accuracy"
    found = {}
    for label, make in (leaf.values if what == "R²" else leaf.classes).items():
        model = make()
        if leaf.name == "novelty":
            told = of_one_class(model, *data)
        elif leaf.name == "stream":
            told = of_stream(model, X, y)
        elif leaf.stream:
            told = of_parts(model, *data)
        else:
            told = of_fit(model, *data)
        found[label] = (100 * told[0], *told[1:])
        print(f"  {label}: {found[label][0]:.2f}, {told[1]:.1f} s", flush=True)
    return what, found


def line(leaf, name, data, what, found):
    """A row of the table: the advised machine, the best of the others, whether the bar is met."""
    advised, *others = found
    best = max(others, key=lambda label: found[label][0])
    (score, seconds, terms), (most, seconds_of_best, _) = found[advised], found[best]
    met = "yes" if most - score <= BAR[what] else f"no, {most - score:.1f} below"
    shown = "" if terms is None else f"{terms:,}"
    X = data[0]
    return [
        leaf.title, f"{name}, {X.shape[0]:,} × {X.shape[1]:,}", f"`{advised}`", f"{score:.1f}",
        f"{seconds:.1f}", shown, f"`{best}`", f"{most:.1f}", f"{seconds_of_best:.1f}", met,
    ]  # fmt: skip


HEADER = [
    "shape", "data, rows × columns", "advised", "score", "CPU s", "terms", "best other", "score",
    "CPU s", "within the bar",
]  # fmt: skip


def main():
    options = parser(__doc__)
    options.add_argument("--only", nargs="+", help="names of leaves")
    asked = options.parse_args()
    leaves = [leaf for leaf in LEAVES if not asked.only or leaf.name in asked.only]
    require(asked.data, sorted({n for leaf in leaves for n in leaf.data if n != "text"}))
    warnings.simplefilter("ignore")
    rows = []
    for leaf in leaves:
        for name in leaf.data[:1] if asked.quick else leaf.data:
            print(f"{leaf.name}, {name}", flush=True)
            data = data_of(asked.data, name)
            if leaf.stream and name != "elec2-stream":
                mixed = np.random.default_rng(0).permutation(len(data[1]))
                data = (data[0][mixed], data[1][mixed], *data[2:])
            rows.append(line(leaf, name, data, *measured(leaf, data)))
    write(asked.out / "guide.md", markdown(HEADER, rows) + f"\n\n{machine()}.")


if __name__ == "__main__":
    main()
