"""Training on Dask collections: the estimators of the package for arrays and data frames of Dask.

    from dask.distributed import Client
    from budgetsvm.dask import DaskBudgetSVC

    clf = DaskBudgetSVC(budget=200, C=10, client=Client())
    clf.fit(X, y)                 # Dask arrays or data frames, or lists of futures
    clf.predict(X_new)            # lazy
    clf.to_local().save("machine.safetensors")

A partition is a shard (`budgetsvm.distributed`): what is trained is a function of the partitions
and the seed, not of the workers, their number, or what becomes of them. Needs the packages dask and
distributed (`pip install "budgetsvm[dask]"`).

`DaskBudgetSVC` and `DaskBudgetSVR` train all partitions at once. `DaskAssetSVC`, `DaskAssetSVR` and
`DaskLocalBudgetSVC` learn one partition after the other, as their `partial_fit` does: no faster
than one machine, but of data that no machine holds.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, ClassVar, Self, cast

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import check_is_fitted

try:
    from distributed import Future, default_client, get_worker
except ImportError as error:  # pragma: no cover
    raise ImportError(
        'budgetsvm.dask needs dask and distributed: pip install "budgetsvm[dask]"'
    ) from error

from . import distributed as steps
from ._asset_classes import AssetSVC, AssetSVR
from ._available import available_if
from ._calibration import has_probabilities
from ._estimator import Estimator
from ._hyperparameters import hyperparameters
from ._local import LocalBudgetSVC
from ._svc import BudgetSVC
from ._svr import BudgetSVR

__all__ = [
    "DaskAssetSVC",
    "DaskAssetSVR",
    "DaskBudgetSVC",
    "DaskBudgetSVR",
    "DaskLocalBudgetSVC",
]

#: One training task at a time in a process: it has all of the worker's threads.
_TURN = threading.Lock()


def _of_part(number: int, work: Callable[..., Any], before: Any, part: Any, *after: Any) -> Any:
    """Runs a step on a worker; what is wrong with a partition names it."""
    with _TURN:
        try:
            return work(before, tuple(map(_aligned, part)), *after)
        except (TypeError, ValueError) as error:
            raise type(error)(f"partition {number}: {error}") from None


def _aligned(given: Any) -> Any:
    """Arrays that have travelled may lie at any byte."""
    if isinstance(given, np.ndarray):
        return np.require(given, requirements=["A"])
    if sp.issparse(given):
        given = cast(Any, given).tocsr()
        parts = (
            np.require(part, requirements=["A"])
            for part in (given.data, given.indices, given.indptr)
        )
        return sp.csr_matrix(tuple(parts), shape=given.shape)
    return given


def _threads(estimator: Any) -> Any:
    """The estimator with the worker's threads, unless it says how many itself."""
    if estimator.n_jobs is None:
        with suppress(ValueError):  # not on a worker
            estimator.n_jobs = get_worker().state.nthreads
    return estimator


def _part(x: Any, y: Any, weights: Any) -> tuple[Any, Any, Any]:
    """One partition of what collections and futures hold."""
    if y is None and isinstance(x, tuple):
        x, y, weights = (*x, None)[:3]
    if y is None:
        raise TypeError("y is None: give the targets, or futures of (X, y) or (X, y, weights)")
    y = np.asarray(y)
    return x, y.ravel() if y.ndim == 2 and y.shape[1] == 1 else y, weights


def _survey(estimator: Any, part: Any) -> steps.Survey:
    return steps.survey(estimator, *part)


def _shard(estimator: Any, part: Any, n_shards: int) -> Any:
    x, y, weights = part
    return steps.shard_pass(_threads(estimator), x, y, weights, n_shards=n_shards)


def _join(machines: Sequence[Any]) -> Any:
    with _TURN:
        return steps.join([_threads(machine) for machine in machines])


def _sums(now: Any, part: Any, point: np.ndarray) -> np.ndarray:
    x, y, weights = part
    return steps.polish_sums(_threads(now), x, y, point, weights)


def _learn(estimator: Any, part: Any, options: dict[str, Any]) -> Any:
    x, y, weights = part
    if weights is not None:
        options = options | {"sample_weight": weights}
    return _threads(estimator).partial_fit(x, y, **options)


def _same(value: Any) -> Any:
    return value


class _Run:
    """The tasks of one fit, by the numbers of their partitions."""

    def __init__(self, client: Any, parts: Sequence[Any]) -> None:
        self._client, self._name, self._count = client, uuid.uuid4().hex[:12], 0
        self._held: list[Any] = []
        self.parts = list(parts)

    def submit(self, work: Callable[..., Any], *given: Any) -> Any:
        self._count += 1
        key = f"budgetsvm-{work.__name__}-{self._name}-{self._count}"
        return self._client.submit(work, *given, key=key, pure=False)

    def of_parts(self, work: Callable[..., Any], before: Any, *after: Any) -> list[Any]:
        """A task for every partition: ``work(before, part, *after)``."""
        return [
            self.submit(_of_part, number, work, before, part, *after) for number, part in self.parts
        ]

    def tree(self, work: Callable[..., Any], futures: Sequence[Any]) -> Any:
        """Two by two, as `add` and `join` do of all at once."""
        level = list(futures)
        while len(level) > 1:
            pairs = [level[i : i + 2] for i in range(0, len(level), 2)]
            level = [self.submit(work, pair) if len(pair) == 2 else pair[0] for pair in pairs]
        return level[0]


def _has_probabilities(estimator: Any) -> bool:
    if not is_classifier(estimator):
        raise AttributeError("a regressor has values alone: call predict")
    return has_probabilities(estimator)


@hyperparameters
class _DaskEstimator(Estimator):
    """Base of the estimators for Dask collections; not for use on its own.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        The client whose workers train; None is the current one. It is not part of a pickle.
    """

    client: Any = None

    _local: ClassVar[type]

    @property
    def client_(self) -> Any:
        """The client in use."""
        return default_client() if self.client is None else self.client

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train from the start on the partitions of collections.

        Parameters
        ----------
        X : dask array, dask data frame or list of futures
            Rows. The rows of a partition are a shard. Futures are of rows, or of tuples (X, y) or
            (X, y, weights).
        y : dask array, series or list of futures, default=None
            Targets, cut as X is (arrays are cut anew). None where futures have them.
        sample_weight : dask array, series or list of futures, default=None
            Weights >= 0.

        Returns
        -------
        self

        Raises
        ------
        TypeError
            If these are no collections.
        ValueError
            If they are not cut alike, or a partition is not fit, which the message names. The
            estimator is then as it was.
        """
        client, local = self.client_, self.to_local()
        run = _Run(client, _partitions(client, X, y, sample_weight))
        told = client.gather(run.of_parts(_survey, _surveyor(local)))
        whole = steps.add(told)
        run.parts = [part for part, own in zip(run.parts, told, strict=True) if own.weight > 0]
        found = self._by_tasks(run, local, whole)
        self._put(found)
        return self

    def _by_tasks(self, run: _Run, local: Any, whole: steps.Survey) -> Any:
        raise NotImplementedError

    def _put(self, found: Any) -> None:
        own = self.get_params(deep=False)
        self.__dict__.clear()
        self.__dict__.update(found.__dict__ | own)

    def to_local(self) -> Any:
        """The same estimator without Dask, fitted where this one is.

        Returns
        -------
        estimator
            Of the class whose name is this one's without "Dask".
        """
        local: Any = object.__new__(self._local)
        local.__dict__.update({k: v for k, v in self.__dict__.items() if k != "client"})
        return local

    def save(self, path: Any, *, resume: bool = True) -> None:
        """Write `to_local()` to a safetensors file, which `budgetsvm.load` reads.

        Parameters
        ----------
        path : str or path-like
            A file name ending in ``.safetensors``.
        resume : bool, default=True
            As that of the local estimator.
        """
        self.to_local().save(path, resume=resume)

    def __sklearn_clone__(self) -> Self:
        # A client is no value that could be copied.
        params = {k: v for k, v in self.get_params(deep=False).items() if k != "client"}
        copies = {name: clone(value, safe=False) for name, value in params.items()}
        return type(self)(**copies, client=self.client)

    def __getstate__(self) -> dict[str, Any]:
        held: Any = super().__getstate__()
        return held | {"client": None}

    def predict(self, X: Any) -> Any:
        """As the local estimator's; lazy for a collection.

        Parameters
        ----------
        X : dask array, dask data frame or array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        dask array, dask series or ndarray of shape (n_samples,)
        """
        return self._lazily("predict", X)

    def decision_function(self, X: Any) -> Any:
        """As the local estimator's; lazy for a collection.

        Parameters
        ----------
        X : dask array, dask data frame or array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        dask array or ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        if not is_classifier(self):
            raise AttributeError(f"{type(self).__name__} has no decision_function: predict")
        return self._lazily("decision_function", X)

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Any:
        """As the local estimator's; lazy for a collection.

        Parameters
        ----------
        X : dask array, dask data frame or array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        dask array, dask data frame or ndarray of shape (n_samples, n_classes)
        """
        return self._lazily("predict_proba", X)

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of `predict_proba`, lazy as it is."""
        return self._lazily("predict_log_proba", X)

    def _lazily(self, method: str, X: Any) -> Any:
        local = self.to_local()
        check_is_fitted(local)
        if _is_array(X):
            X = X.rechunk({1: -1})
            width = X.shape[1]
            sample = getattr(local, method)(np.zeros((1, width), dtype=X.dtype))
            chunks = (X.chunks[0], *((n,) for n in sample.shape[1:]))
            return X.map_blocks(
                _decide, local, method, dtype=sample.dtype, chunks=chunks, meta=sample[:0],
                drop_axis=1 if sample.ndim == 1 else None,
            )  # fmt: skip
        if _is_frame(X):
            sample = getattr(local, method)(X._meta_nonempty)
            if sample.ndim == 1:
                meta = X._meta.iloc[:, 0].astype(sample.dtype).rename(None)
                return X.map_partitions(_decide, local, method, meta=meta)
            meta = dict.fromkeys(range(sample.shape[1]), sample.dtype)
            return X.map_partitions(_decide, local, method, meta=meta)
        return getattr(local, method)(X)


def _decide(rows: Any, local: Any, method: str) -> Any:
    """Decisions about a block, which may be empty."""
    index = getattr(rows, "index", None)
    if rows.shape[0] == 0:
        rows, count = np.zeros((1, rows.shape[1])), 0
        if hasattr(local, "feature_names_in_"):
            import pandas as pd

            rows = pd.DataFrame(rows, columns=local.feature_names_in_)
    else:
        count = rows.shape[0]
    found = getattr(local, method)(rows)[:count]
    if index is None:
        return found
    import pandas as pd

    if found.ndim == 1:
        return pd.Series(found, index=index)
    return pd.DataFrame(found, index=index)


def _is_array(X: Any) -> bool:
    return hasattr(X, "map_blocks") and hasattr(X, "chunks")


def _is_frame(X: Any) -> bool:
    return hasattr(X, "map_partitions") and hasattr(X, "divisions")


def _blocks(what: str, given: Any, like: Any = None) -> list[Any]:
    """A delayed value or a future for every partition."""
    if _is_array(given):
        if given.ndim == 2:
            given = given.rechunk({1: -1})
        known = not np.isnan(sum(given.chunks[0]))
        if like is not None and _is_array(like) and known and given.chunks[0] != like.chunks[0]:
            if given.shape[0] != like.shape[0]:
                raise ValueError(f"{what} has {given.shape[0]} rows, but X has {like.shape[0]}")
            given = given.rechunk({0: like.chunks[0]})
        return list(np.ravel(given.to_delayed()))
    if _is_frame(given):
        return list(given.to_delayed())
    if isinstance(given, (list, tuple)) and given and all(isinstance(one, Future) for one in given):
        return list(given)
    kind = type(given).__name__
    raise TypeError(
        f"{what} must be a dask array, a dask data frame or a list of futures, got {kind}: the "
        "estimators without Dask take what is in memory"
    )


def _partitions(client: Any, X: Any, y: Any, weights: Any) -> list[tuple[int, Any]]:
    """The number of every partition, and a future of its rows, targets and weights."""
    blocks = {"X": _blocks("X", X)}
    for what, given in (("y", y), ("sample_weight", weights)):
        if given is not None:
            blocks[what] = _blocks(what, given, X)
            if len(blocks[what]) != len(blocks["X"]):
                raise ValueError(
                    f"{what} has {len(blocks[what])} partitions, but X has {len(blocks['X'])}"
                )
    n = len(blocks["X"])
    futures = {
        what: given if isinstance(given[0], Future) else client.compute(given)
        for what, given in blocks.items()
    }
    none = [None] * n
    columns = [futures.get(what, none) for what in ("X", "y", "sample_weight")]
    return [
        (number, client.submit(_part, *own, pure=False))
        for number, own in enumerate(zip(*columns, strict=True))
    ]


def _surveyor(local: Any) -> Any:
    """An unfitted estimator that looks at labels and values as this one does."""
    unfitted = local.__class__(**local.get_params(deep=False))
    unfitted._check_hyperparameters()
    return unfitted


class _ShardedTraining(_DaskEstimator):
    """Base of the estimators that train all partitions in parallel and join the machines."""

    def _by_tasks(self, run: _Run, local: Any, whole: steps.Survey) -> Any:
        unfitted = _surveyor(local)
        settled = steps.settle(unfitted, whole)
        shards = run.of_parts(_shard, settled, len(run.parts))
        joined = run.tree(_join, shards)

        def sums_of(now: Any, point: np.ndarray) -> np.ndarray:
            # Not scattered: what a worker holds alone is lost with it.
            here = run.submit(_same, now)
            sums = run.of_parts(_sums, here, point)
            return run.tree(steps.add, sums).result()

        found = steps.finish(joined.result(), sums_of)
        found.__dict__.update(unfitted.get_params(deep=False))
        return found


class _SequentialTraining(_DaskEstimator):
    """Base of the estimators that learn one partition after the other by `partial_fit`."""

    def _by_tasks(self, run: _Run, local: Any, whole: steps.Survey) -> Any:
        unfitted = _surveyor(local)
        unfitted.partial_fit  # noqa: B018  what has none says why, before a worker is asked
        settled = steps.settle(unfitted, whole)
        if isinstance(unfitted.random_state, int):  # the bits of partial_fit without Dask
            settled.set_params(random_state=unfitted.random_state)
        options: dict[str, Any] = {}
        if whole.classes is not None:
            options["classes"] = settled.classes_
        now = settled
        settled.__dict__.pop("classes_", None)
        for number, part in run.parts:
            now = run.submit(_of_part, number, _learn, now, part, options)
        found = now.result()
        found.__dict__.update(unfitted.get_params(deep=False))
        return found


@hyperparameters
class DaskBudgetSVC(_ShardedTraining, BudgetSVC):  # type: ignore[misc]
    """`BudgetSVC` of Dask collections: every partition is a shard.

    Partitions are best of some 100 rows for each term of `budget` or more. As in a fit to all rows
    in one place, but `budget` None, `polishing` False, `refine`, `early_stopping`, `warm_start` and
    ``feature_scales="learn"`` are refused.
    """

    _local = BudgetSVC


@hyperparameters
class DaskBudgetSVR(_ShardedTraining, BudgetSVR):  # type: ignore[misc]
    """`BudgetSVR` of Dask collections: every partition is a shard, as for `DaskBudgetSVC`."""

    _local = BudgetSVR


@hyperparameters
class DaskAssetSVC(_SequentialTraining, AssetSVC):  # type: ignore[misc]
    """`AssetSVC` of Dask collections, which learns one partition after the other."""

    _local = AssetSVC


@hyperparameters
class DaskAssetSVR(_SequentialTraining, AssetSVR):  # type: ignore[misc]
    """`AssetSVR` of Dask collections, which learns one partition after the other."""

    _local = AssetSVR


@hyperparameters
class DaskLocalBudgetSVC(_SequentialTraining, LocalBudgetSVC):  # type: ignore[misc]
    """`LocalBudgetSVC` of Dask collections, which learns one partition after the other.

    Only what has `partial_fit`: ``local="online"``, or a `budget`.
    """

    _local = LocalBudgetSVC
