"""C and γ by name "tune": found before a fit, by the one function of `_core` that does it."""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from . import _core, _parameters, _validation
from ._validation import is_number, plain

#: What the tuning is told of an estimator that has it.
_TOLD = "kernel degree coef0 loss epsilon quantile smoothing budget".split()

#: Rows of a class below which a choice by it is uncertain.
FEWEST_ROWS = 30

#: For pages of classes whose C and γ may be tuned.
NAME = "tune"


def wanted(estimator: Any) -> tuple[bool, bool]:
    """Whether C is to be tuned, and γ."""
    C, gamma = getattr(estimator, "C", None), getattr(estimator, "gamma", None)
    return isinstance(C, str) and C == NAME, isinstance(gamma, str) and gamma == NAME


def cost(value: Any) -> str | None:
    """A cost, or the name."""
    if isinstance(value, str) and value == NAME:
        return None
    wrong = _parameters.positive(value)
    return wrong if wrong is None or not isinstance(value, str) else "'tune' or a number > 0"


def width(value: Any) -> str | None:
    """γ, or the name."""
    named = isinstance(value, str) and value == NAME
    wrong = None if named else _parameters.RULES["gamma"](value)
    return "'scale', 'auto', 'tune' or a number > 0" if wrong and isinstance(value, str) else wrong


def warn_of_rare_classes(estimator: Any, target: Any, n_classes: int | None, costs: Any) -> None:
    """Warn where a class has too few rows to choose C and γ by."""
    if not is_classifier(estimator):
        return
    counted = np.asarray(target)[np.asarray(costs) > 0]
    if n_classes is None:
        sides = np.stack([(counted > 0).sum(axis=0), (counted <= 0).sum(axis=0)]).reshape(2, -1)
        fewest, name = int(sides.min()), f"a side of label {int(sides.min(axis=0).argmin())}"
    else:
        counts = np.bincount(counted, minlength=n_classes)
        rarest = int(np.where(counts > 0, counts, len(counted)).argmin())
        fewest, name = int(counts[rarest]), f"class {estimator.classes_[rarest]!r}"
    if fewest < FEWEST_ROWS:
        _validation.warn(
            f"C and gamma are tuned with {fewest} rows of {name}: of fewer than {FEWEST_ROWS} rows "
            "of a class the choice is uncertain. Give numbers, or more rows of this class.",
            UserWarning,
        )


def tune(
    estimator: Any, rows: Any, target: Any, n_classes: int | None, costs: np.ndarray, gamma: float,
    notify: Any = None,
) -> tuple[float, float]:  # fmt: skip
    """γ, and the seconds that it took; the estimator then has `C_` and `gamma_`.

    `costs` are those of C = 1, and `gamma` is where γ begins.
    """
    which = wanted(estimator)
    for name in ("C_", "gamma_"):
        estimator.__dict__.pop(name, None)
    if not any(which):
        return gamma, 0.0
    began = time.perf_counter()
    warn_of_rare_classes(estimator, target, n_classes, costs)
    told = {name: getattr(estimator, name) for name in _TOLD if hasattr(estimator, name)}
    if told.get("loss") == "least_squares":
        told |= {"loss": "squared_epsilon_insensitive", "epsilon": 0.0}
    if not is_number(told.get("quantile", 0.5)):
        told["quantile"] = _parameters.middle(told["quantile"])
    classes = is_classifier(estimator)
    told.setdefault("loss", "hinge" if classes else "epsilon_insensitive")
    told.setdefault("budget", None)
    seeded = getattr(estimator, "random_state", None) is not None
    told |= {
        "gamma": gamma,
        "C": 1.0 if which[0] else estimator._used_C(),
        "fit_intercept": bool(getattr(estimator, "fit_intercept", True)),
        "random_state": estimator._seed() if seeded else 0,
        "max_time": None if estimator.max_time is None else 0.3 * float(estimator.max_time),
    }
    if not classes:
        told.setdefault("smoothing", 0.05)
    config = json.dumps({name: plain(value) for name, value in told.items()}, default=float)
    estimator.C_, estimator.gamma_ = _core.tune(
        config, rows, target, n_classes, np.ascontiguousarray(costs, dtype=np.float64),
        which=which, notify=notify, threads=estimator._threads(),
    )  # fmt: skip
    return estimator.gamma_, time.perf_counter() - began
