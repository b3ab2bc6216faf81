"""What BudgetSVC and BudgetSVR share: checks, then one call of `_core.BudgetMachine`."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from . import _core, _parameters, _validation
from ._machine import MachineEstimator
from ._progress import Watcher

#: Hyperparameters that `_core` checks and uses as they are.
_PASSED_ON = (
    "budget C kernel degree coef0 loss epsilon solver maintenance merge_search merge_size "
    "polishing smoothing refine refine_iter fit_intercept max_iter tol order shared early_stopping "
    "n_iter_no_change max_time record_objective n_expected cache_size"
).split()


class BudgetMachineEstimator(MachineEstimator):
    """Base of the estimators over `_core.BudgetMachine`; not for use on its own."""

    _ranges: ClassVar[dict] = {"budget": _parameters.optional(_parameters.count)}
    _archived: ClassVar[dict[str, str]] = {
        **MachineEstimator._archived,
        "_machine": "BudgetMachine",
        "objective_": "value",
    }

    _machine: _core.BudgetMachine

    def _fit(self, X: Any, y: Any, sample_weight: Any, watcher: Watcher) -> None:
        previous = getattr(self, "_machine", None) if self.warm_start else None
        known = None if previous is None else getattr(self, "classes_", None)
        X, y = self._check_X_y(X, y, True, None if previous is None else self._dtype())
        target, n_classes = self._encode(y, known)
        weights = _validation.check_weights(sample_weight, X)
        held_out = None
        if self.early_stopping:
            X, target, weights, held_out = self._hold_out(X, target, weights, n_classes)
        rows = _validation.as_rows(X)
        config = self._config(self._settle_gamma(rows, X.shape[1], weights, None))
        cost = self._cost(target, weights)
        del weights  # eight bytes a sample that the fit has no use for
        trained, report = _core.BudgetMachine.fit(
            config, rows, target, n_classes, cost,
            start=previous, validation=held_out, notify=watcher.notify, threads=self._threads(),
        )  # fmt: skip
        self._take(trained, report, watcher)

    def _partial_fit(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Self:
        with self._training() as watcher:
            self._go_on(X, y, classes, sample_weight, watcher, polish=False)
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
        with self._training() as watcher:
            self._go_on(X, y, None, sample_weight, watcher, polish=True)
        return self

    def _go_on(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, watcher: Watcher, polish: bool
    ) -> None:
        """A pass over new rows (the first of all, where there is no machine), or polishing."""
        machine = getattr(self, "_machine", None)
        X, y = self._check_X_y(X, y, reset=machine is None)
        target, n_classes = self._encode_part(y, classes, first=machine is None)
        weights = _validation.check_weights(sample_weight, X)
        rows = _validation.as_rows(X)
        config = self._config(self._settle_gamma(rows, X.shape[1], weights, machine))
        cost = self._cost(target, weights, balance=polish)
        train: Any = _core.BudgetMachine.polish if polish else _core.BudgetMachine.partial_fit
        trained, report = train(
            config, rows, target, n_classes, cost,
            start=machine, notify=watcher.notify, threads=self._threads(),
        )  # fmt: skip
        self._take(trained, report, watcher)

    @property
    def intercept_(self) -> np.ndarray:
        """Offsets, shape (n_outputs,); zero without ``fit_intercept``."""
        return self._learnt("_machine").intercept

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

    def _config(self, gamma: float) -> dict:
        """Every hyperparameter as `_core` takes it."""
        params = self.get_params(deep=False)
        config = {name: _validation.plain(params[name]) for name in _PASSED_ON if name in params}
        return {**config, "gamma": gamma, "random_state": self._seed()}

    def _take(self, machine: _core.BudgetMachine, report: dict, watcher: Watcher) -> None:
        super()._take(machine, report, watcher)
        self.objective_ = report["objective"]
        if report["advice"] is not None:
            _validation.warn(report["advice"], ConvergenceWarning)
