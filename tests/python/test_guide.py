"""The guide's advice by the shape of the data: small data of each shape, and what the page says."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_friedman1

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benches" / "python"))

import guide  # noqa: E402

LEAVES = {leaf.name: leaf for leaf in guide.LEAVES}


def plane(n, noise=0, seed=0):
    """A wave through the plane, beside columns that mean nothing."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2 + noise))
    return X, np.where(np.sin(3 * X[:, 0]) > X[:, 1], 1, -1)


def clouds(n=4000):
    """Twelve clouds in five dimensions, the classes in turn."""
    rng = np.random.default_rng(1)
    centres, of = rng.normal(size=(12, 5)) * 1.5, rng.integers(12, size=n)
    return halves(centres[of] + rng.normal(size=(n, 5)) * 0.7, of % 2, n // 2)


def halves(X, y, train):
    return X[:train], y[:train], X[train:], y[train:]


def values(n=700):
    X, y = make_friedman1(2 * n, noise=0.5, random_state=0)
    X, y = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
    return halves(X, y, n)


def drifting():
    """The wave turns while rows come."""
    X, _ = plane(4000)
    turn = np.linspace(0, 1.5, 4000)
    y = np.sin(3 * X[:, 0] + turn) > X[:, 1]
    return X, y.astype(int), None, None


def lines():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2400, 10))
    return halves(X, (X @ np.arange(10) + 3 * rng.normal(size=2400) > 0).astype(int), 1200)


def digits():
    X, y = load_digits(return_X_y=True)
    return halves(X / 16, y, 1000)


def novelty():
    """Two clouds, and what lies between and around them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4)) + np.where(rng.random(3000) < 0.5, -2, 2)[:, None]
    y = np.where(np.arange(3000) % 15 == 0, 1, -1)
    X[y == 1] = rng.uniform(-6, 6, size=(np.sum(y == 1), 4))
    return halves(X, y, 1500)


def words():
    X, y, X_test, y_test = guide.text(n=900, d=4000, topics=12)
    weigh = guide.TfidfTransformer(sublinear_tf=True).fit(X)
    return weigh.transform(X), y, weigh.transform(X_test), y_test


SMALL = {
    "table": [lambda: halves(*plane(1800, noise=8), 600), lambda: values(400)],
    "stream": [drifting],
    "sparse": [words],
    "exact": [digits, values],
    "small": [clouds, values],
    "many": [lambda: halves(*plane(8000), 5000), values],
    "parts": [lambda: halves(*plane(8000), 5000)],
    "linear": [lines],
    "pairs": [digits],
    "novelty": [novelty],
}


@pytest.mark.parametrize(
    ("name", "data"), [(name, data) for name, all_of in SMALL.items() for data in all_of]
)
def test_the_advised_machine_is_near_the_best_of_ours(name, data):
    what, found = guide.measured(LEAVES[name], data())
    advised, *_ = found
    best = max(found.values())[0]
    assert found[advised][0] >= best - guide.BAR[what], found


def test_every_leaf_is_tried():
    assert set(SMALL) == set(LEAVES)
    for leaf in guide.LEAVES:
        assert leaf.classes
        assert leaf.data


def test_the_page_names_what_is_advised_and_shows_the_table():
    page = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    advice, _, rest = page.partition("## By the job")
    for leaf in guide.LEAVES:
        assert f"| {leaf.title} |" in advice, leaf.title
        for kind in (leaf.classes, leaf.values):
            for advised in list(kind)[:1]:
                named = advised.replace("(30", "(budget=30").replace("(500", "(budget=500")
                assert f"`{named}" in advice.partition("| shape |")[0], advised
    assert advice.count("guide.py") == 1
    # What is below the bar is said where the advice is given, and nothing else is.
    below = re.findall(r"\| no, [\d.]+ below \|$", advice, re.MULTILINE)
    assert len(below) == advice.count("misses the bar"), below
    assert rest
