"""The promises of `partial_fit`, whatever the rows, weights, offset, loss and forgetting."""

from __future__ import annotations

import copy
import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import budgetsvm
from budgetsvm import BudgetOneClassSVM, BudgetSVC, BudgetSVR

N = 1300
RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(N, 4))
TWO = np.where(ROWS[:, 0] + ROWS[:, 1] ** 2 > 1, 1, -1)
FOUR = TWO + (ROWS[:, 2] > 0)
VALUES = np.sin(ROWS[:, 0]) + 0.1 * RNG.normal(size=N)
COLUMNS = np.stack([VALUES, ROWS[:, 1]], axis=1)
WEIGHTS = 2 * RNG.random(N)
WEIGHTS[3::7] = 0

#: Machine, targets, hyperparameters.
TASKS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "hinge": (BudgetSVC, TWO, {}),
    "squared hinge": (BudgetSVC, TWO, {"loss": "squared_hinge"}),
    "log loss": (BudgetSVC, TWO, {"loss": "log_loss"}),
    "four classes": (BudgetSVC, FOUR, {}),
    "four classes, each its points": (BudgetSVC, FOUR, {"shared": False}),
    "four classes, log loss": (BudgetSVC, FOUR, {"loss": "log_loss"}),
    "tube": (BudgetSVR, VALUES, {}),
    "squared tube": (BudgetSVR, VALUES, {"loss": "squared_epsilon_insensitive"}),
    "quantile": (BudgetSVR, VALUES, {"loss": "quantile", "quantile": 0.8}),
    "two columns": (BudgetSVR, COLUMNS, {}),
    "one class": (BudgetOneClassSVM, None, {}),
}
#: CSR, float32, offset, weights, forgetting: every pair of choices occurs.
CHOICES = [
    (False, False, False, False, False),
    (False, True, True, True, False),
    (True, False, True, False, True),
    (True, True, False, True, True),
    (False, False, True, True, True),
    (False, True, False, False, True),
    (True, False, False, True, False),
    (True, True, True, False, False),
]


class Stream:
    """A task whose rows come in parts."""

    def __init__(self, task: str, choice: tuple[bool, ...]) -> None:
        sparse, narrow, offset, weighted, fades = choice
        self.cls, self.y, own = TASKS[task]
        self.own = {"budget": 20, "gamma": 0.5, "random_state": 0, **own}
        self.own["forgetting"] = 0.999 if fades else 1.0
        if self.y is not None:
            self.own.update(C=5.0, fit_intercept=offset)
        X = ROWS.astype(np.float32 if narrow else np.float64)
        self.X = sp.csr_matrix(X) if sparse else X
        self.weights = WEIGHTS if weighted else None

    def new(self) -> Any:
        return self.cls(**self.own)

    def given(self, first: int, last: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
        rows = slice(first, last)
        own = {} if self.weights is None else {"sample_weight": self.weights[rows]}
        y = () if self.y is None else (self.y[rows],)
        return (self.X[rows], *y), own

    def learn(self, model: Any, *cuts: int) -> Any:
        for first, last in pairwise(cuts):
            rows, own = self.given(first, last)
            if isinstance(model, BudgetSVC):
                own["classes"] = np.unique(self.y)
            model.partial_fit(*rows, **own)
        return model

    def says(self, model: Any) -> np.ndarray:
        how = model.predict if isinstance(model, BudgetSVR) else model.decision_function
        return np.asarray(how(self.X))


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("task", TASKS)
def test_a_stream_keeps_its_promises(task: str, choice: tuple[bool, ...], tmp_path: Any) -> None:
    stream = Stream(task, choice)
    whole = stream.learn(stream.new(), 0, N)
    told = stream.says(whole)
    assert np.isfinite(told).all()
    assert whole.n_terms_ <= (80 if "each" in task else 20)
    cut = stream.learn(stream.new(), 0, 1, 2, 300, 513, 1024, 1025, N)
    np.testing.assert_array_equal(stream.says(cut), told)

    half = stream.learn(stream.new(), 0, 700)
    path = tmp_path / "half.safetensors"
    half.save(path)
    others = [budgetsvm.load(path), pickle.loads(pickle.dumps(half)), copy.deepcopy(half), half]
    for other in others:
        np.testing.assert_array_equal(stream.says(stream.learn(other, 700, N)), told)

    small = tmp_path / "small.safetensors"
    whole.save(small, resume=False)
    served = budgetsvm.load(small)
    np.testing.assert_array_equal(stream.says(served), told)
    assert small.stat().st_size < path.stat().st_size
    if stream.y is None:
        with pytest.raises(ValueError, match="resume=False"):
            stream.learn(served, 0, 300)
    else:
        assert np.isfinite(stream.says(stream.learn(served, 0, 300))).all()


@pytest.mark.parametrize("choice", CHOICES[:4])
@pytest.mark.parametrize("task", TASKS)
def test_a_fit_and_a_polish_go_on(task: str, choice: tuple[bool, ...]) -> None:
    """After `fit`, and after `polish`."""
    stream = Stream(task, choice)
    rows, own = stream.given(0, 900)
    fitted = stream.learn(stream.new().fit(*rows, **own), 900, N)
    assert np.isfinite(stream.says(fitted)).all()

    polished = stream.learn(fitted.polish(*rows, **own), 900, N)
    assert np.isfinite(stream.says(polished)).all()


@pytest.mark.parametrize("choice", CHOICES)
def test_a_polish_forgets_what_the_stream_had(choice: tuple[bool, ...], tmp_path: Any) -> None:
    """The same points with another past, rows of the wrong sign, come to the same answers.

    Those rows surprise: it is on points learnt ahead that they are answered, so the machine without
    a past is one that was saved without it.
    """
    stream = Stream("hinge", choice)
    good = stream.learn(stream.new(), 0, 1024)
    misled = copy.deepcopy(good)
    rows, own = stream.given(0, 400)
    misled.partial_fit(rows[0], -rows[1], **own)
    assert np.mean(np.sign(stream.says(good)) != np.sign(stream.says(misled))) > 0.03
    misled.save(tmp_path / "served.safetensors", resume=False)
    served = budgetsvm.load(tmp_path / "served.safetensors")
    rows, own = stream.given(0, 900)
    told = [stream.says(stream.learn(m.polish(*rows, **own), 900, N)) for m in (misled, served)]
    assert np.mean(np.sign(told[0]) != np.sign(told[1])) < 0.015
