"""Estimators over one machine of `_core`: what it tells of itself, and how it decides."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import is_classifier

from . import _validation
from ._estimator import Trained
from ._progress import Watcher
from ._stored import require


class MachineEstimator(Trained):
    """Base of the estimators over a machine; not for use on its own.

    A machine never changes: every training call makes a new one, so that a failure of any kind
    leaves the estimator as it was, copies are independent, and prediction from other threads goes
    on undisturbed.
    """

    _archived: ClassVar[dict[str, str]] = {
        "n_iter_": "value",
        "history_": "curves",
        "stop_reason_": "value",
    }

    _machine: Any

    @property
    def support_vectors_(self) -> np.ndarray:
        """Points of the terms, shape (n_terms, n_features); with merging not training rows."""
        return self._learnt("_machine").support_vectors

    @property
    def dual_coef_(self) -> np.ndarray:
        """Coefficients of the terms, shape (n_outputs, n_terms)."""
        return self._learnt("_machine").dual_coef

    @property
    def n_terms_(self) -> int:
        """Number of terms, all outputs together."""
        return self._learnt("_machine").n_terms

    def _take(self, machine: Any, report: dict, watcher: Watcher) -> None:
        """Make what `_core` returned the fitted state: the last thing that a training does."""
        self._machine = machine
        self.n_iter_ = report["n_iter"]
        self.history_ = report["history"]
        self.stop_reason_ = report["stop_reason"]
        watcher.finish(self._size(machine), report)

    def _size(self, machine: Any) -> int:
        """Terms, for the progress line."""
        return machine.n_terms

    def _settle_gamma(self, rows: Any, d: int, weights: np.ndarray, machine: Any) -> float:
        """The γ of a machine that is made, or of `machine`, which training goes on with."""
        if machine is not None:
            return _validation.settled_gamma(self.kernel, self.gamma, machine.gamma)
        return _validation.settle_gamma(self.gamma, rows, d, weights)

    def _decision(self, X: Any) -> np.ndarray:
        rows = _validation.as_rows(self._new_rows(X))
        return _validation.in_range(self._machine.decision_function(rows, self._threads()))

    def _dtype(self) -> Any:
        return np.dtype(self._machine.dtype)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_machine")

    def _check_archived(self) -> None:
        classes = getattr(self, "classes_", None)
        outputs = len(classes) if classes is not None and len(classes) > 2 else 1
        fits = is_classifier(self) == (classes is not None) and self._machine.n_outputs == outputs
        require(fits and self._machine.n_features == self.n_features_in_, "machine and labels")
