"""The guide's advice, tried on data of each shape: what it names first against what else there is.

Accuracy (R² for values) on the test part, the processor's seconds of the fit, and terms. A row is
the guide's choice for its shape; the others are what a user may try in its place. Hyperparameters
are those that the guide names; nothing is tuned on a test part. Text is made here (topics that
share words, weighed by how rare they are), streams are read in order and tested before they train.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from budgetsvm import (
    SVC,
    SVR,
    AssetSVC,
    AssetSVR,
    BudgetSVC,
    BudgetSVR,
    NystroemOGD,
    PrimalSVC,
    PrimalSVR,
    ProjectronPlusPlus,
)
from common import load, machine, markdown, parser, require, write

#: Data that are not scaled as they come.
UNSCALED = ("spambase", "covtype-2v3", "cpuact", "puma32h")


def text(n=6000, d=30_000, topics=60, length=60, seed=0):
    """Rows of words: each topic prefers some words, words are rare as in language."""
    rng = np.random.default_rng(seed)
    common = 1 / np.arange(10, d + 10)
    common /= common.sum()
    y = np.arange(n) % topics
    rows = np.repeat(np.arange(n), length)
    words = rng.choice(d, size=n * length, p=common)
    # A tenth of the words are the topic's own, of which it has 200.
    own = rng.integers(d, size=(topics, 200))
    at = rng.random(n * length) < 0.1
    words[at] = own[y[rows[at]], rng.integers(200, size=at.sum())]
    X = sp.csr_matrix((np.ones(n * length), (rows, words)), shape=(n, d))
    return X[: n * 2 // 3], y[: n * 2 // 3], X[n * 2 // 3 :], y[n * 2 // 3 :]


def get(options, name):
    """The data of a set, standardised where they are not scaled; values too."""
    X, y, X_test, y_test = text() if name == "text" else load(options.data, name)
    if name in UNSCALED:
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    if y.dtype.kind == "f" and len(np.unique(y)) > 50:
        centre, spread = y.mean(), y.std()
        y, y_test = (y - centre) / spread, (y_test - centre) / spread
    return X, y, X_test, y_test


def words(model):
    return make_pipeline(TfidfTransformer(sublinear_tf=True), model)


# (shape, data, [the guide's choice, others...])
BATCH = [
    ("few rows, few columns", "satimage", [
        ("SVC(C=10)", SVC(C=10)), ("BudgetSVC(budget=200, C=10)", BudgetSVC(200, C=10)),
        ("AssetSVC(C=10)", AssetSVC(C=10)),
    ]),
    ("few rows, values", "cpuact", [
        ("SVR(C=10)", SVR(C=10)), ("PrimalSVR(C=10)", PrimalSVR(C=10)),
        ("BudgetSVR(budget=500, C=10)", BudgetSVR(500, C=10)), ("AssetSVR(C=10)", AssetSVR(C=10)),
    ]),
    ("many rows, few columns", "covtype-2v3", [
        ("BudgetSVC(budget=500, C=10)", BudgetSVC(500, C=10)),
        ("AssetSVC(n_components=500, max_iter=3, C=10)",
         AssetSVC(C=10, n_components=500, max_iter=3)),
        ("PrimalSVC(kernel='linear')", PrimalSVC(kernel="linear")),
    ]),
    ("many rows, values", "protein", [
        ("BudgetSVR(budget=500, C=10)", BudgetSVR(500, C=10)),
        ("AssetSVR(n_components=500, C=10)", AssetSVR(C=10, n_components=500)),
    ]),
    ("many rows, smallest model", "ijcnn1", [
        ("BudgetSVC(budget=30, C=32, gamma=2, refine=True)",
         BudgetSVC(30, C=32, gamma=2, refine=True)),
        ("BudgetSVC(budget=30, C=32, gamma=2)", BudgetSVC(30, C=32, gamma=2)),
        ("BudgetSVC(budget=500, C=32, gamma=2)", BudgetSVC(500, C=32, gamma=2)),
    ]),
    ("many classes, few columns", "letter", [
        ("SVC(C=16, gamma=4)", SVC(C=16, gamma=4)),
        ("BudgetSVC(budget=1000, C=16, gamma=4)", BudgetSVC(1000, C=16, gamma=4)),
        ("AssetSVC(n_components=1000, C=16, gamma=4)", AssetSVC(C=16, gamma=4, n_components=1000)),
    ]),
    ("wide sparse rows, two classes", "reuters-money-fx", [
        ("PrimalSVC(kernel='linear')", PrimalSVC(kernel="linear")),
        ("SVC(kernel='linear')", SVC(kernel="linear")),
        ("BudgetSVC(C=10)", BudgetSVC(C=10)), ("AssetSVC()", AssetSVC()),
    ]),
    ("wide sparse rows, 60 classes", "text", [
        ("TfidfTransformer, PrimalSVC(kernel='linear')", words(PrimalSVC(kernel="linear"))),
        ("MaxAbsScaler, PrimalSVC(kernel='linear')",
         make_pipeline(MaxAbsScaler(), PrimalSVC(kernel="linear"))),
        ("TfidfTransformer, BudgetSVC(C=10)", words(BudgetSVC(C=10))),
        ("MaxAbsScaler, BudgetSVC(C=10)", make_pipeline(MaxAbsScaler(), BudgetSVC(C=10))),
        ("TfidfTransformer, AssetSVC()", words(AssetSVC())),
    ]),
]  # fmt: skip
STREAMS = [
    ("BudgetSVC(budget=100, gamma=10)", BudgetSVC(100, gamma=10.0)),
    (
        "BudgetSVC(budget=100, gamma=10, forgetting=0.999)",
        BudgetSVC(100, gamma=10.0, forgetting=0.999),
    ),
    (
        "BudgetSVC(budget=100, gamma=10, polishing=False)",
        BudgetSVC(100, gamma=10.0, polishing=False),
    ),
    ("AssetSVC(gamma=10)", AssetSVC(gamma=10.0)),
    ("ProjectronPlusPlus(budget=100, gamma=10)", ProjectronPlusPlus(budget=100, gamma=10.0)),
    ("NystroemOGD(budget=100, gamma=10)", NystroemOGD(budget=100, gamma=10.0)),
]
#: Rows whose labels come together.
PART = 500


def of_fit(model, data):
    """Score, seconds, terms."""
    X, y, X_test, y_test = data
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    start = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    last = model[-1] if hasattr(model, "steps") else model
    terms = getattr(last, "n_terms_", None)
    if terms is None and hasattr(last, "support_"):
        terms = len(last.support_)
    return model.score(X_test, y_test), seconds, terms


def of_stream(model, X, y):
    """The share of rows that were right before they were learnt, seconds, terms."""
    classes, right, start = np.unique(y), 0, time.process_time()
    model.set_params(random_state=0)
    for first in range(0, len(y), PART):
        part = slice(first, first + PART)
        if first:
            right += np.sum(model.predict(X[part]) == y[part])
        model.partial_fit(X[part], y[part], classes=classes)
    return right / (len(y) - PART), time.process_time() - start, getattr(model, "n_terms_", None)


def line(shape, name, label, found, first):
    score, seconds, terms = found
    shown = "" if terms is None else f"{terms:,}"
    choice = f"**`{label}`**" if first else f"`{label}`"
    return [shape if first else "", name if first else "", choice, f"{100 * score:.1f}",
            f"{seconds:.2f}", shown]  # fmt: skip


def main():
    options = parser(__doc__).parse_args()
    require(options.data, [name for _, name, _ in BATCH if name != "text"] + ["elec2-stream"])
    warnings.simplefilter("ignore")
    rows = []

    def add(row):
        print(" | ".join(row), flush=True)
        rows.append(row)

    for shape, name, models in BATCH:
        data = get(options, name)
        for at, (label, model) in enumerate(models):
            add(line(shape, name, label, of_fit(model, data), at == 0))
    X, y, _, _ = load(options.data, "elec2-stream")
    for at, (label, model) in enumerate(STREAMS):
        found = of_stream(model, X, y)
        add(
            line(
                f"a stream that drifts, labels by {PART} rows",
                "elec2-stream",
                label,
                found,
                at == 0,
            )
        )
    header = ["shape", "data", "estimator (the guide's in bold)", "score, %", "CPU s", "terms"]
    write(options.out / "shapes.md", markdown(header, rows) + f"\n\n{machine()}.")


if __name__ == "__main__":
    main()
