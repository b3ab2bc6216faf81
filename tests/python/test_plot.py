"""Pictures: what is drawn are the numbers of the machine."""

from __future__ import annotations

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import load_digits, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

import budgetsvm

mpl.use("Agg")
from matplotlib import pyplot as plt

from budgetsvm import plot

X, Y = make_classification(300, 6, n_informative=4, random_state=0)


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def test_history():
    model = budgetsvm.BudgetSVC(budget=20, max_iter=3, record_objective=True, random_state=0)
    with pytest.raises(NotFittedError):
        plot.history(model)
    model.fit(X, Y)
    _, ax = plt.subplots()
    shown = plot.history(model, curves=["n_sv", "primal"], ax=ax)
    assert shown.ax_ is ax
    assert shown.figure_ is ax.figure
    for line, name in zip(ax.lines, ["n_sv", "primal"], strict=True):
        known = np.isfinite(model.history_[name])
        np.testing.assert_array_equal(line.get_xdata(), model.history_["time"][known])
        np.testing.assert_array_equal(line.get_ydata(), model.history_[name][known])
        assert line.get_label() == name
    again = shown.plot()
    assert again.ax_ is not ax
    assert len(plot.history(model).lines_) >= 3
    with pytest.raises(ValueError, match="has no 'nothing'"):
        plot.history(model, curves=["nothing"])


def test_terms():
    digits, y = load_digits(return_X_y=True)
    model = budgetsvm.BudgetSVC(budget=30, random_state=0).fit(digits, y)
    shown = plot.terms(model, (8, 8), n_terms=10)
    assert shown.images.shape == (10, 8, 8)
    heaviest = np.abs(model.dual_coef_).max(axis=0).argmax()
    np.testing.assert_array_equal(
        shown.ax_.images[0].get_array()[:8, :8], model.support_vectors_[heaviest].reshape(8, 8)
    )
    assert np.all(np.diff(np.abs(shown.coef)) <= 0)
    # Four columns of three rows, a line between them.
    assert shown.mosaic_.shape == (3 * 9 - 1, 4 * 9 - 1)
    with pytest.raises(ValueError, match="64 features"):
        plot.terms(model, (28, 28))
    linear = budgetsvm.PrimalSVC(kernel="linear").fit(X, Y)
    with pytest.raises(ValueError, match="no support_vectors_"):
        plot.terms(linear, (2, 3))


@pytest.mark.parametrize("k", [2, 3])
def test_reliability(k):
    X, y = make_classification(400, 6, n_informative=4, n_classes=k, random_state=0)
    model = budgetsvm.BudgetSVC(budget=20, random_state=0).fit(X[:200], y[:200])
    with pytest.raises(ValueError, match="call calibrate"):
        plot.reliability(model, X, y)
    model.calibrate(X[:200], y[:200])
    shown = plot.reliability(model, X[200:], y[200:], n_bins=5)
    p = model.predict_proba(X[200:])
    chance = p[:, 1] if k == 2 else p.max(axis=1)
    came = y[200:] == (1 if k == 2 else p.argmax(axis=1))
    bins = np.minimum((5 * chance).astype(int), 4)
    said = [chance[bins == b].mean() for b in range(5) if (bins == b).any()]
    true = [came[bins == b].mean() for b in range(5) if (bins == b).any()]
    np.testing.assert_allclose(shown.line_.get_xdata(), said)
    np.testing.assert_allclose(shown.line_.get_ydata(), true)
    assert shown.error_ == pytest.approx(
        sum(np.abs(np.subtract(said, true)) * shown.count) / len(chance)
    )


def test_path():
    search = GridSearchCV(
        budgetsvm.BudgetSVC(budget=10, random_state=0),
        {"C": [0.1, 1, 10], "gamma": [0.1, 1], "loss": ["hinge"]},
        cv=3,
    )
    with pytest.raises(ValueError, match="no cv_results_"):
        plot.path(search)
    search.fit(X, Y)
    shown = plot.path(search)
    assert shown.ax_.get_xlabel() == "C"
    assert shown.ax_.get_xscale() == "log"
    assert len(shown.lines_) == 2
    for line, gamma in zip(shown.lines_, [0.1, 1], strict=True):
        told = search.cv_results_
        wanted = [
            score
            for setting, score in zip(told["params"], told["mean_test_score"], strict=True)
            if setting["gamma"] == gamma
        ]
        np.testing.assert_array_equal(line.get_xdata(), [0.1, 1, 10])
        np.testing.assert_array_equal(line.get_ydata(), wanted)
        assert line.get_label() == f"gamma={gamma}, loss=hinge"
    assert plot.path(search, param="gamma").name == "gamma"
    with pytest.raises(ValueError, match="param must be one of"):
        plot.path(search, param="loss")


def test_without_matplotlib_it_says_what_to_install():
    program = """
import sys
sys.modules["matplotlib"] = sys.modules["matplotlib.pyplot"] = None
from budgetsvm import BudgetSVC, plot
model = BudgetSVC(budget=5).fit([[0.0], [1.0], [2.0]], [0, 1, 1])
try:
    plot.history(model)
except ImportError as error:
    assert "budgetsvm[plot]" in str(error)
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", program], check=True)
