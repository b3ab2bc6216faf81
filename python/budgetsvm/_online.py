"""The shared part of the online learners: checks, then one call of `_core.train`."""

from __future__ import annotations

import json
from dataclasses import field
from typing import Any, ClassVar, Self

import numpy as np

from . import _core, _names, _out_of_core, _parameters, _validation
from ._callbacks import with_callbacks
from ._classifier import Classifier, one_column_flat
from ._docs import documented
from ._hyperparameters import hyperparameters
from ._machine import MachineEstimator, machine_property
from ._progress import Watcher
from ._serialization import require


@hyperparameters
class OnlineLearner(Classifier, MachineEstimator):
    """Base of the online learners; not for use on its own.

    Parameters
    ----------
    max_iter : int, default=1
        Passes that `fit` makes over the data, >= 1.
    order : {"shuffled", "blocks", "uniform", "sequential"} or list of int, default="shuffled"
        Order of a pass of `fit`: a fresh permutation, one of blocks of 4,096 rows and of the rows
        of each (for rows that do not fit into memory), independent draws, as given, or these row
        indices over and over. `partial_fit` takes rows as they stand.

    Attributes
    ----------
    n_samples_seen_ : int
        Samples learnt from.
    history_ : dict of ndarray
        Curves of the last training call, an entry a pass: "time" (seconds), "n_sv", "updates" and
        "mistakes" (shares of the steps; a mistake is a sample on the wrong side when it came).
    stop_reason_ : str
        "max_iter", "max_time" or "callback".

    Notes
    -----
    One row at a time, in the order given: a step costs one row of kernel values, O(B d) for B
    terms, and what the class says beside it. `BudgetSVC.partial_fit` keeps a summary of the
    past and is the more accurate stream learner where a step may cost O(B²); these are for
    the cheapest step, and for comparison with the literature.
    """

    _page: ClassVar[str] = "online"

    max_iter: int = 1
    order: _names.Order = "shuffled"

    _family: ClassVar[str] = "online"
    #: The learner, by its name in `_core`.
    _own: ClassVar[dict[str, Any]] = {}
    _kinds: ClassVar[tuple[str, ...]] = ("expansion", "each", "features")
    _states: ClassVar[tuple[str, ...]] = ("streams",)
    _takes_stored = True

    @with_callbacks
    @documented
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from the start: `max_iter` passes in the order `order`.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), or Source
            Rows, finite. Float32 and float64 are used as they are, without a copy. A source
            (`budgetsvm.data.open`) has its own labels.
        y : array-like of shape (n_samples,)
            Class labels of any sortable kind, at least two.

        @fitted@
        """
        return self._watched_fit(X, y, None)

    def _fit(self, X: Any, y: Any, sample_weight: None, watcher: Watcher) -> None:
        self._learn(X, y, None, watcher, stream=False)

    @documented
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, checkpoint: Any = None,
        every: float = 60,
    ) -> Self:  # fmt: skip
        """Learn from new rows in the order in which they stand.

        However a stream is cut into parts, the model is the same (up to rounding where the parts
        of a CSR stream differ in density, or single precision rows of more than 32 features are
        far from each other).

        @new-rows@
        @classes@
        @checkpoint@

        @trained-on@
        """

        def step(X: Any, y: Any, sample_weight: Any) -> None:
            if sample_weight is not None:
                raise ValueError("online learners take no weights: open the source without")
            with self._training() as watcher:
                self._learn(X, y, classes, watcher, stream=True)

        _out_of_core.train_blocks(self, step, (X, y, None), (checkpoint, every))
        return self

    n_samples_seen_ = machine_property("seen", "Samples learnt from.")

    def _check_archived(self) -> None:
        super()._check_archived()
        learner = json.loads(self._machine.learner) or {}
        own = {"name": self._own["learner"], **self._own} if self._own else {}
        fits = all(learner.get(n) == value for n, value in own.items() if n != "learner")
        require(fits, "another learner")

    def _check_params(self) -> None:
        """Refuse hyperparameters that do not fit together, before the data are looked at."""
        gamma = _validation.resolve_gamma(self.gamma, 1.0, 1)
        _core.hyperparameters(self._family, _parameters.config(self, gamma=gamma))

    def _learn(
        self, X: Any, y: Any, classes: Any, watcher: Watcher, stream: bool, **own: Any
    ) -> None:
        self._check_params()
        machine = getattr(self, "_machine", None) if stream else None
        X, y = self._check_X_y(X, y, reset=machine is None)
        index, _ = self._encode_part(y, classes, machine is None) if stream else self._encode(y)
        self._train(X, index, machine, stream, watcher, **own)

    def _train(
        self, X: Any, index: np.ndarray, machine: Any, stream: bool, watcher: Any, **own: Any
    ) -> None:
        rows, weights = _validation.as_rows(X), np.ones(X.shape[0])
        gamma = self._settle_gamma(rows, X.shape[1], weights, machine)
        config = _parameters.config(self, gamma=gamma, random_state=self._seed())
        trained, report = _core.train(
            "online", config, rows, index, len(self.classes_), weights,
            start=machine, stream=stream, notify=watcher.notify, threads=self._threads(), **own,
        )  # fmt: skip
        self._take(trained, report, watcher)

    def _settle_gamma(self, rows: Any, d: int, weights: np.ndarray, machine: Any) -> float:
        if machine is None and not isinstance(self.gamma, str):
            return float(self.gamma)
        return super()._settle_gamma(rows, d, weights, machine)


@hyperparameters
class StreamLearner(OnlineLearner):
    """Base of the learners that take one row at a time; not for use on its own.

    Parameters
    ----------
    average : bool, default=False
        Whether to predict with the mean of the models after each step rather than with the last
        one, which swings.

    Attributes
    ----------
    support_vectors_ : ndarray of shape (n_terms, n_features)
        Points of the terms.
    dual_coef_ : ndarray of shape (n_outputs, n_terms)
        Coefficients of the terms: one output for two classes, else one a class.
    n_terms_ : int
        Number of terms, all classes together.
    """

    average: bool = False

    @documented
    def test_then_train(self, X: Any, y: Any, classes: Any = None) -> np.ndarray:
        """`partial_fit`, and the decision value of each row just before it was learnt from.

        This is the prequential test of a stream, row by row, at no further cost.

        @new-rows@
        @classes@

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Decision values as of `decision_function`, of the last model (not of the mean) before
            each row. Fewer rows when `max_time` or the callback ended the call.

        Raises
        ------
        ValueError, KeyboardInterrupt
            As `partial_fit`.
        """
        with self._training() as watcher:
            self._learn(X, y, classes, watcher, stream=True, record=True)
            names = [f"decision.{output}" for output in range(self._machine.n_outputs)]
            columns = [self.history_.pop(name) for name in names]
            rows = min(len(column) for column in columns)
            values = np.column_stack([column[:rows] for column in columns])
        return one_column_flat(values)


@hyperparameters
class BudgetedLearner(StreamLearner):
    """Base of the learners whose models have a bound; not for use on its own.

    Parameters
    ----------
    budget : int, default=200
        The most terms of a model, >= 1; with more than two classes each has a model of its own.
    """

    budget: int = field(default=200, kw_only=False)


class WindowLearner(BudgetedLearner):
    """Base of the learners that drop terms; not for use on its own.

    Parameters
    ----------
    average : bool, default=False
        Whether to predict with the mean of the models after each step rather than with the last
        one, which swings. The mean is over the last steps: a quarter of the budget is set aside
        for terms that were dropped, and the mean goes back as far as these reach, so that it has
        at most `budget` terms too.
    """


@hyperparameters
class GradientLearner(StreamLearner):
    """Base of the learners that take steps of a given length; not for use on its own.

    Parameters
    ----------
    learning_rate : float, default=0.2
        Step length η, > 0.
    """

    learning_rate: float = 0.2
