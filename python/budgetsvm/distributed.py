"""Training on rows that are in several places, in steps that any engine can run.

1. `survey` of every part, added; `settle` makes numbers of what depends on all rows.
2. `shard_pass` on every part: the passes of a fit, with the whole budget. It keeps a weighted
   subsample of the rows of the part.
3. `join`: the terms of all shards, two by two in a fixed tree. Before two joined machines are
   joined again, each is pruned to the budget: the terms that its subsample misses least go.
4. `finish`: Newton's method on sums over all rows; on the way the terms go that the objective
   misses least, down to the budget. `polish_sums` of every part, where it asks, are vectors of
   numbers, to be added: by `add`, or by an engine in an order that is always the same.

The same parts in the same order give the same bits, wherever the steps are run (on processors of
one kind). `budgetsvm.dask` runs them with Dask; `examples/` has recipes for Ray and Spark.

>>> from budgetsvm import BudgetSVC
>>> from budgetsvm.distributed import add, finish, join, polish_sums, settle, shard_pass, survey
>>> from sklearn.datasets import make_moons
>>> X, y = make_moons(2000, noise=0.1, random_state=0)
>>> parts = [(X[i::4], y[i::4]) for i in range(4)]
>>> clf = BudgetSVC(budget=30, C=10, random_state=0)
>>> clf = settle(clf, add([survey(clf, *part) for part in parts]))
>>> joined = join([shard_pass(clf, *part, n_shards=4) for part in parts])
>>> clf = finish(joined, lambda now, at: add([polish_sums(now, *part, at) for part in parts]))
>>> clf.score(X, y) > 0.98
True
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from . import _core, _parameters, _validation, _weighted_subsample
from ._base import BudgetMachineEstimator
from ._columns import expect_order, layout_of
from ._dataset_summary import Survey, _weights, check_not_tuned, settle, survey
from ._grid import GridSearchEstimator

__all__ = ["Survey", "add", "finish", "join", "polish_sums", "settle", "shard_pass", "survey"]

Summand = TypeVar("Summand")


def add(parts: Sequence[Summand]) -> Summand:
    """The sum of surveys or of vectors, two by two, in a tree over their order.

    Parameters
    ----------
    parts : sequence of Survey or of ndarray
        At least one.

    Returns
    -------
    Survey or ndarray
        The same bits as two sums of halves added, where there are 2, 4, 8, ... parts.

    Raises
    ------
    ValueError
        If there are none, or surveys are of other features.
    """
    level: list[Any] = list(parts)
    if not level:
        raise ValueError("there is nothing to add")
    while len(level) > 1:
        pairs = [level[i : i + 2] for i in range(0, len(level), 2)]
        level = [pair[0] + pair[1] if len(pair) == 2 else pair[0] for pair in pairs]
    return level[0]


def shard_pass(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    classes: Any = None,
    n_shards: int = 1,
) -> Any:
    """The passes of a fit on a shard, with the whole budget.

    A shard may have one class alone. In random order a pass visits the shard's part of 3,000 rows
    a term of the budget at most, but 100 rows a term: more make the terms worse.

    Parameters
    ----------
    estimator : BudgetSVC or BudgetSVR
        As `settle` returned it, or one whose hyperparameters depend on no row: `gamma` a number,
        `class_weight` no "balanced". It is not changed.
    X : array-like or CSR matrix of shape (n_rows, n_features)
        The shard's rows.
    y : array-like of shape (n_rows,)
        Labels or values.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights >= 0.
    classes : array-like, default=None
        All labels, for a classifier that `settle` did not return.
    n_shards : int, default=1
        Shards that there are.

    Returns
    -------
    estimator
        A fitted copy, for `join`.

    Raises
    ------
    ValueError
        If hyperparameters depend on all rows or cannot be used on shards (`budget` None,
        `polishing` False, `refine`, `early_stopping`, `warm_start`), or the data are not fit.
    """
    shard = _unfitted_copy(estimator)
    if classes is None and is_classifier(shard):
        classes = getattr(estimator, "classes_", None)
        if classes is None:
            raise ValueError("classes: give all labels, or an estimator that settle() returned")
    if _parameters.count(n_shards) is not None:
        raise ValueError(f"n_shards must be {_parameters.count(n_shards)}, got {n_shards!r}")
    with shard._training() as watcher:
        X, y = shard._check_X_y(X, y, True)
        _check_same_columns(estimator, shard, "X")
        target, n_classes = shard._encode_part(y, classes, first=True)
        rows, cost = _validation.as_rows(X), shard._cost(target, _weights(sample_weight, X))
        trained, report = _core.train(
            "budget", _config(shard), rows, target, n_classes, cost, task="shard",
            shards=int(n_shards), notify=watcher.notify, threads=shard._threads(),
        )  # fmt: skip
        shard._take(trained, report, watcher)
        shard._subsample = _weighted_subsample.WeightedSubsample(X, target, cost).subsample(
            _weighted_subsample.max_rows(shard.budget)
        )
    return shard


def join(machines: Sequence[Any]) -> Any:
    """One machine of those of shards, of at most two budgets of terms.

    Two by two, in a tree over their order: ``join([join([a, b]), join([c, d])])`` has the bits of
    ``join([a, b, c, d])``. Of two machines that were joined before, each is first pruned to the
    budget: the terms that its weighted subsample of rows misses least are removed. Coefficients are
    the mean by rows; `finish` solves for them.

    Parameters
    ----------
    machines : sequence of fitted estimators
        From `shard_pass` or `join`, of the same hyperparameters, classes and features.

    Returns
    -------
    estimator
        A fitted estimator of at most ``2 * budget`` terms, for `finish`.

    Raises
    ------
    ValueError
        If there are none, or they do not fit each other.
    """
    level = list(machines)
    if not level:
        raise ValueError("machines: there are none to join")
    for machine in level:
        check_is_fitted(machine)
    first = level[0]
    for other in level[1:]:
        if not np.array_equal(getattr(first, "classes_", 0), getattr(other, "classes_", 0)):
            raise ValueError("machines: they are of different classes")
        _check_same_columns(first, other, "machines")
    while len(level) > 1:
        pairs = [level[i : i + 2] for i in range(0, len(level), 2)]
        level = [_join_pair(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return level[0]


def _join_pair(left: Any, right: Any) -> Any:
    """The terms of both machines, of each at most a budget."""
    joined = copy.copy(left)
    told = [_prune(machine)._machine for machine in (left, right)]
    joined._machine = _core.join(_config(left), told, left._threads())
    # Twice the rows of one shard, because a joined machine has twice as many terms.
    limit = 2 * _weighted_subsample.max_rows(left.budget)
    joined._subsample = (left._subsample + right._subsample).subsample(limit)
    joined._is_joined = True
    return joined


def _prune(joined: Any) -> Any:
    """A joined machine, pruned to the budget: the terms whose loss costs the subsample least go."""
    if "_is_joined" not in joined.__dict__:
        return joined
    own, rows = joined._subsample, _validation.as_rows(joined._subsample.X)
    n_classes = len(joined.classes_) if is_classifier(joined) else None
    config, done = _config(joined), copy.copy(joined)

    def ask(machine: _core.Machine, point: np.ndarray) -> np.ndarray:
        point[0] = 1  # use every row of the subsample
        return _core.polish_sums(
            config, rows, own.target, n_classes, own.cost, machine, point, joined._threads()
        )

    done._machine, _ = _core.finish(config, joined._machine, ask)
    return done


def polish_sums(
    joined: Any, X: Any, y: Any, point: np.ndarray, sample_weight: Any = None
) -> np.ndarray:
    """What a part of the rows says at a point that `finish` asks about.

    Objective, gradient and Hessian of its losses, as one vector of k (B²/2 + 3B/2 + 4) numbers for
    k outputs (one for two classes or values) of B terms, a few more with an offset.

    Parameters
    ----------
    joined : fitted estimator
        As `finish` gave it.
    X : array-like or CSR matrix of shape (n_rows, n_features)
        Rows.
    y : array-like of shape (n_rows,)
        Labels or values.
    point : ndarray
        What `finish` asks about.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights >= 0.

    Returns
    -------
    ndarray
        To be added to those of the other parts.

    Raises
    ------
    ValueError
        If the rows do not fit the machine, or the point is that of another.
    """
    check_is_fitted(joined)
    part = copy.copy(joined)
    point = np.require(point, np.float64, ["C", "A"])  # what travelled may lie anywhere
    every = int(point[0]) if len(point) and point[0] >= 1 else 1
    if every > 1:
        # Those alone are looked at: checks of all rows take longer than the sums of some.
        some, point = slice(None, None, every), np.concatenate([[point[0] / every], point[1:]])
        X, y = (_safe_indexing(given, some) for given in (X, y))
        sample_weight = None if sample_weight is None else _safe_indexing(sample_weight, some)
    rows, y = part._check_X_y(X, y, False)
    target, n_classes = part._encode_part(y, None, first=False)
    cost = every * part._cost(target, _weights(sample_weight, rows))
    return _core.polish_sums(
        _config(part), _validation.as_rows(rows), target, n_classes, cost, joined._machine, point,
        part._threads(),
    )  # fmt: skip


def finish(joined: Any, sums_of: Callable[[Any, np.ndarray], np.ndarray]) -> Any:
    """Choose the terms of a joined machine and solve for their coefficients.

    Parameters
    ----------
    joined : fitted estimator
        From `join`; it is not changed.
    sums_of : callable
        Takes an estimator and a point (an ndarray), both to hand on; returns `polish_sums` of all
        parts, added. It is called some twenty times; where rows are many, every k-th is looked at
        but for the last three or four times.

    Returns
    -------
    estimator
        The fitted estimator.

    Raises
    ------
    ValueError
        If the sums are not those of this machine. What `sums_of` raises is raised.
    """
    check_is_fitted(joined)
    done = copy.copy(joined)
    for name in ("_subsample", "_is_joined"):
        done.__dict__.pop(name, None)
    with done._training() as watcher:

        def ask(machine: _core.Machine, point: np.ndarray) -> np.ndarray:
            now = copy.copy(joined)
            now._machine = machine
            return np.ascontiguousarray(sums_of(now, point), dtype=np.float64)

        trained, report = _core.finish(_config(done), joined._machine, ask)
        done._take(trained, report, watcher)
    return done


def _check_same_columns(first: Any, other: Any, what: str) -> None:
    """Refuse columns of other names, or in another order, where both have names."""
    expect_order(layout_of(first).names, layout_of(other).names, what)


def _unfitted_copy(estimator: Any) -> Any:
    """A copy to train on a shard, of hyperparameters that depend on no row."""
    searches = isinstance(estimator, GridSearchEstimator)
    if not isinstance(estimator, BudgetMachineEstimator) or searches:
        name = type(estimator).__name__
        raise TypeError(f"estimator must be a BudgetSVC or a BudgetSVR, got {name}")
    check_not_tuned(estimator)
    wants = {
        "gamma": isinstance(estimator.gamma, str) and estimator.kernel != "linear",
        "class_weight": isinstance(getattr(estimator, "class_weight", None), str),
        "feature_scales": isinstance(estimator.feature_scales, str),
    }
    for name, of_all in wants.items():
        if of_all:
            raise ValueError(
                f"{name}={getattr(estimator, name)!r} depends on all rows: "
                "settle(estimator, surveys added) makes numbers of it"
            )
    if estimator.warm_start:
        raise ValueError("warm_start=True cannot be used on shards")
    shard = copy.copy(estimator)
    shard.__dict__.pop("_machine", None)
    return shard


def _config(estimator: Any) -> str:
    gamma = 1.0 if isinstance(estimator.gamma, str) else float(estimator.gamma)
    return _parameters.config(estimator, gamma=gamma, random_state=estimator._seed())
