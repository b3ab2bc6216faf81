"""The shared part of the estimators: checks, then one call of `_core`, then the fitted state."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _core, _parameters, _validation
from ._archive import Archived
from ._callbacks import CallbackSupportMixin, FitTasks, with_callbacks
from ._parameters import all_or_nothing
from ._progress import Watcher
from ._stored import require

#: Hyperparameters that `_core` checks and uses as they are.
_PASSED_ON = (
    "budget C kernel degree coef0 loss epsilon solver maintenance merge_search merge_size "
    "polishing smoothing refine refine_iter fit_intercept max_iter tol order shared early_stopping "
    "n_iter_no_change max_time record_objective n_expected cache_size"
).split()


class BudgetMachineEstimator(CallbackSupportMixin, Archived, BaseEstimator):
    """Base of the estimators over `_core.BudgetMachine`; not for use on its own.

    A machine never changes: every training call makes a new one, so that a failure of any kind
    leaves the estimator as it was, copies are independent, and prediction from other threads goes
    on undisturbed.
    """

    _ranges: ClassVar[dict] = {"budget": _parameters.optional(_parameters.count)}

    _archived: ClassVar[dict[str, str]] = {
        "_machine": "BudgetMachine",
        "n_iter_": "value",
        "history_": "curves",
        "objective_": "value",
        "stop_reason_": "value",
    }

    _machine: _core.BudgetMachine

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train from the start (or from the last fit, with ``warm_start=True``).

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Training rows, finite. Float32 and float64 are used as they are, without a copy.
        y : array-like of shape (n_samples,)
            Class labels of any sortable kind, at least two; finite numbers for regression.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0, not all zero: they multiply C.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If an argument or a hyperparameter is out of its range; the message names it.
        KeyboardInterrupt
            On Ctrl-C, within half a second. After any exception the estimator is as before.
        """
        tasks = FitTasks(self, X, y, sample_weight)
        with all_or_nothing(self), self._watcher(tasks) as watcher:
            previous = self._machine if self.warm_start and hasattr(self, "_machine") else None
            X, y = self._check_X_y(X, y, previous, reset=True)
            target, n_classes = self._encode(y, previous)
            weights = _validation.check_weights(sample_weight, X)
            held_out = None
            if self.early_stopping:
                X, target, weights, held_out = self._hold_out(X, target, weights, n_classes)
            rows = _validation.as_rows(X)
            config = self._config(rows, X.shape[1], weights)
            cost = self._cost(target, n_classes, weights, balance=True)
            del weights  # eight bytes a sample that the fit has no use for
            machine, report = _core.BudgetMachine.fit(
                config, rows, target, n_classes, cost,
                start=previous, validation=held_out, notify=watcher.notify, threads=self._threads(),
            )  # fmt: skip
            self._take(machine, report)
            watcher.finish(machine.n_terms, report)
        tasks.end()
        return self

    def _partial_fit(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Self:
        with all_or_nothing(self), self._watcher() as watcher:
            machine = getattr(self, "_machine", None)
            X, y = self._check_X_y(X, y, machine, reset=machine is None)
            target, n_classes = self._encode_part(y, classes, machine)
            weights = _validation.check_weights(sample_weight, X)
            rows = _validation.as_rows(X)
            if machine is None:
                config = self._config(rows, X.shape[1], weights)
            else:
                gamma = _validation.settled_gamma(self.gamma, machine.gamma)
                config = self._config(None, X.shape[1], weights, gamma=gamma)
            cost = self._cost(target, n_classes, weights, balance=False)
            trained, report = _core.BudgetMachine.partial_fit(
                config, rows, target, n_classes, cost,
                start=machine, notify=watcher.notify, threads=self._threads(),
            )  # fmt: skip
            self._take(trained, report)
            watcher.finish(trained.n_terms, report)
        return self

    def polish(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Keep the support vectors and solve for their coefficients (and the offset) on these data.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows; all that the machine should fit, not only the newest.
        y : array-like of shape (n_samples,)
            Targets, of known classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0, not all zero.

        Returns
        -------
        self : object
            The estimator with new coefficients.

        Raises
        ------
        NotFittedError
            If there are no support vectors yet.
        ValueError, KeyboardInterrupt
            As in `fit`; the estimator is then as before.
        """
        check_is_fitted(self)
        with all_or_nothing(self), self._watcher() as watcher:
            X, y = self._check_X_y(X, y, self._machine, reset=False)
            target, n_classes = self._encode_part(y, None, self._machine)
            weights = _validation.check_weights(sample_weight, X)
            gamma = _validation.settled_gamma(self.gamma, self._machine.gamma)
            config = self._config(None, X.shape[1], weights, gamma=gamma)
            cost = self._cost(target, n_classes, weights, balance=True)
            machine, report = _core.BudgetMachine.polish(
                config, _validation.as_rows(X), target, n_classes, cost,
                start=self._machine, notify=watcher.notify, threads=self._threads(),
            )  # fmt: skip
            self._take(machine, report)
            watcher.finish(machine.n_terms, report)
        return self

    @property
    def support_vectors_(self) -> np.ndarray:
        """Points of the terms, shape (n_terms, n_features); with merging not training rows."""
        return self._fitted().support_vectors

    @property
    def dual_coef_(self) -> np.ndarray:
        """Coefficients of the terms, shape (n_outputs, n_terms)."""
        return self._fitted().dual_coef

    @property
    def intercept_(self) -> np.ndarray:
        """Offsets, shape (n_outputs,); zero without ``fit_intercept``."""
        return self._fitted().intercept

    @property
    def n_terms_(self) -> int:
        """Number of terms of the model."""
        return self._fitted().n_terms

    def _fitted(self) -> _core.BudgetMachine:
        try:
            return self._machine
        except AttributeError:
            raise AttributeError(f"this {type(self).__name__} is not fitted yet") from None

    def _decision(self, X: Any) -> np.ndarray:
        """Decision values, shape (n_samples, n_outputs)."""
        check_is_fitted(self)
        X = validate_data(
            self, X, accept_sparse="csr", dtype=np.dtype(self._machine.dtype), reset=False
        )
        return _validation.in_range(
            self._machine.decision_function(_validation.as_rows(X), self._threads())
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_machine")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check_archived(self) -> None:
        classes = getattr(self, "classes_", None)
        outputs = len(classes) if classes is not None and len(classes) > 2 else 1
        fits = is_classifier(self) == (classes is not None) and self._machine.n_outputs == outputs
        require(fits and self._machine.n_features == self.n_features_in_, "machine and labels")

    def _check_X_y(self, X: Any, y: Any, machine: Any, reset: bool) -> tuple[Any, np.ndarray]:
        return validate_data(
            self, X, y, accept_sparse="csr", y_numeric=not is_classifier(self),
            dtype=[np.float64, np.float32] if machine is None else np.dtype(machine.dtype),
            reset=reset,
        )  # fmt: skip

    def _hold_out(self, X: Any, target: Any, weights: Any, n_classes: Any) -> tuple[Any, ...]:
        """Split off the validation part, by class for classifiers."""
        index = np.arange(X.shape[0])
        try:
            train, test = train_test_split(
                index, test_size=self.validation_fraction, random_state=self._seed(),
                stratify=None if n_classes is None else target,
            )  # fmt: skip
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"validation_fraction={self.validation_fraction!r} cannot split these "
                f"{X.shape[0]} samples: {error}"
            ) from None
        if not np.any(weights[train] > 0) or not np.any(weights[test] > 0):
            raise ValueError("sample_weight is all zero in the validation or the training part")
        held_out = (_validation.as_rows(_safe_indexing(X, test)), target[test], weights[test])
        return _safe_indexing(X, train), target[train], weights[train], held_out

    def _config(self, rows: Any, d: int, weights: Any, gamma: float | None = None) -> dict:
        """Every hyperparameter as `_core` takes it."""
        params = self.get_params(deep=False)
        config = {name: _validation.plain(params[name]) for name in _PASSED_ON if name in params}
        if gamma is None:
            variance, ratio = _core.describe(rows, weights)
            gamma = _validation.resolve_gamma(self.gamma, variance, d)
            _validation.warn_about_scales(ratio)
        config["gamma"] = gamma
        config["random_state"] = self._seed()
        return config

    def _seed(self) -> int:
        try:
            generator = check_random_state(self.random_state)
        except ValueError as error:
            raise ValueError(f"random_state: {error}") from None
        return int(generator.randint(np.iinfo(np.int32).max))

    def _watcher(self, tasks: FitTasks | None = None) -> Watcher:
        return Watcher(self.verbose, self.callback, self.max_iter, tasks)

    def _threads(self) -> int:
        return _validation.thread_count(self.n_jobs)

    def _take(self, machine: _core.BudgetMachine, report: dict) -> None:
        """Make what `_core` returned the fitted state: the last thing that a fit does."""
        self._machine = machine
        self.n_iter_ = report["n_iter"]
        self.history_ = report["history"]
        self.objective_ = report["objective"]
        self.stop_reason_ = report["stop_reason"]
        if report["advice"] is not None:
            warnings.warn(report["advice"], ConvergenceWarning, stacklevel=4)
