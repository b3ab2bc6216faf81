"""What AssetSVC and AssetSVR share: a feature map and a linear machine on it, in one fit."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _core, _parameters, _validation
from ._archive import Archived
from ._callbacks import CallbackSupportMixin, FitTasks, with_callbacks
from ._features_base import (
    kernel_of,
    seed_of,
    settle_gamma,
)
from ._parameters import all_or_nothing
from ._progress import Watcher
from ._stored import damaged, stored_kernel

#: Hyperparameters that `_core` takes as they are.
_PASSED_ON = (
    "features n_components eigenvalue_threshold orthogonal waves solver strongly_convex order loss "
    "shrinking fit_intercept max_time n_expected"
).split()

#: Passes when `max_iter` is None.
DEFAULT_PASSES = {"asset": 20, "dual": 1000}


def streams(estimator: Any) -> bool:
    """Whether there is a `partial_fit`: coordinate ascent wants all rows at once."""
    if estimator.solver == "dual":
        raise AttributeError("partial_fit needs solver='asset'")
    return True


class AssetEstimator(CallbackSupportMixin, Archived, BaseEstimator):
    """Base of the machines on explicit features; not for use on its own."""

    _ranges: ClassVar[dict] = {
        "solver": _parameters.one_of("asset", "dual"),
        "tol": _parameters.positive,
        "cache_size": _parameters.not_negative,
        "max_iter": _parameters.optional(_parameters.count),
    }

    components_: np.ndarray
    normalization_: np.ndarray
    dual_coef_: np.ndarray
    frequencies_: np.ndarray
    phases_: np.ndarray
    coef_: np.ndarray
    intercept_: np.ndarray
    _archived: ClassVar[dict[str, str]] = {
        "components_": "array?",
        "normalization_": "array?",
        "dual_coef_": "array?",
        "frequencies_": "array?",
        "phases_": "array?",
        "coef_": "array",
        "intercept_": "array",
        "gamma_": "value",
        "_kernel": "value",
        "n_iter_": "value",
        "stop_reason_": "value",
        "objective_": "value",
        "history_": "curves",
        "_single": "value",
        "_iterate": "array?",
        "_iterate_intercept": "array?",
        "_stream": "value?",
    }

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the feature map and train on it, from the start.

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
        MemoryError
            With ``solver="dual"``, if the features of all samples do not fit.
        KeyboardInterrupt
            On Ctrl-C, within half a second. After any exception the estimator is as before.
        """
        tasks = FitTasks(self, X, y, sample_weight)
        with all_or_nothing(self), self._watcher(tasks) as watcher:
            X, y = self._check_X_y(X, y, reset=True)
            target, n_classes = self._encode(y)
            weights = _validation.check_weights(sample_weight, X)
            rows = _validation.as_rows(X)
            gamma = settle_gamma(self, rows, X.shape[1], weights)
            self._train(rows, X, target, n_classes, self._cost(target, weights, True), gamma,
                        None, watcher)  # fmt: skip
        tasks.end()
        return self

    def _partial_fit(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Self:
        with all_or_nothing(self), self._watcher() as watcher:
            first = not hasattr(self, "coef_")
            if not first and not hasattr(self, "_iterate"):
                raise ValueError(
                    "partial_fit cannot go on from a fit with solver='dual': fit with "
                    "solver='asset' first"
                )
            X, y = self._check_X_y(X, y, reset=first)
            target, n_classes = self._encode_part(y, classes, first)
            weights = _validation.check_weights(sample_weight, X)
            rows = _validation.as_rows(X)
            gamma = settle_gamma(self, rows, X.shape[1], weights) if first else self._same_map()
            start = {} if first else self._start()
            self._train(rows, X, target, n_classes, self._cost(target, weights, False), gamma,
                        start, watcher)  # fmt: skip
        return self

    def _train(
        self, rows: Any, X: Any, target: Any, n_classes: Any, cost: Any, gamma: float,
        start: dict[str, Any] | None, watcher: Watcher,
    ) -> None:  # fmt: skip
        kernel = kernel_of(self, gamma)
        told = _core.asset_fit(
            self._config(), kernel, rows, target, n_classes, cost,
            start=start, notify=watcher.notify, threads=_validation.thread_count(self.n_jobs),
        )  # fmt: skip
        if not all(np.all(np.isfinite(told[name])) for name in ("coef", "intercept")):
            raise ValueError(
                "training left the range of floating point numbers: scale the features, or bring "
                "C, gamma and sample_weight into a sensible range"
            )
        for name in ("components", "normalization", "dual_coef", "frequencies", "phases"):
            self.__dict__.pop(f"{name}_", None)
            if name in told:
                setattr(self, f"{name}_", told[name])
        if "dual_coef" in told:
            self.dual_coef_ = np.ascontiguousarray(told["dual_coef"].T)
        self.coef_, self.intercept_ = told["coef"], told["intercept"]
        self.gamma_, self._kernel = gamma, list(kernel)
        self._single = bool(X.dtype == np.float32)
        for name in ("_iterate", "_iterate_intercept", "_stream"):
            self.__dict__.pop(name, None)
        if "iterate" in told:
            self._iterate, self._iterate_intercept = told["iterate"], told["iterate_intercept"]
            self._stream = {name: told[name] for name in ("steps", "samples", "gradient")}
        self.n_iter_ = told["n_iter"]
        self.stop_reason_ = told["stop_reason"]
        primal, dual = told["objective"] or (None, None)
        self.objective_ = {"primal": primal, "dual": dual}
        self.history_ = {"time": told["time"]}
        report = {
            "history": self.history_, "stop_reason": self.stop_reason_, "objective": self.objective_
        }  # fmt: skip
        watcher.finish(self.coef_.shape[1], report)
        if self.solver == "dual" and self.stop_reason_ == "max_iter":
            warnings.warn(
                f"Coordinate ascent did not reach tol={self.tol} in {self.n_iter_} passes: raise "
                "max_iter or tol, or scale the features.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _same_map(self) -> float:
        """The γ of the feature map that training goes on with.

        Raises
        ------
        ValueError
            If the hyperparameters ask for another kernel or other features.
        """
        gamma = _validation.settled_gamma(self.gamma, self.gamma_)
        kernel, _, *shape = stored_kernel(self._kernel)
        asked, _, *asked_shape = kernel_of(self, gamma)
        if asked != kernel or (kernel in ("poly", "sigmoid") and asked_shape != shape):
            raise ValueError(
                "kernel, coef0 and degree must stay as they are while training goes on "
                f"({kernel!r}): fit anew"
            )
        features = "fourier" if hasattr(self, "frequencies_") else "nystroem"
        if self.features != features:
            raise ValueError(
                f"features must stay as they are while training goes on ({features!r}), got "
                f"{self.features!r}: fit anew"
            )
        return gamma

    def _start(self) -> dict[str, Any]:
        """What the next part of a stream goes on from."""
        names = ("components", "normalization", "frequencies", "phases", "coef", "intercept")
        start = {name: getattr(self, f"{name}_") for name in names if hasattr(self, f"{name}_")}
        start |= {"iterate": self._iterate, "iterate_intercept": self._iterate_intercept}
        return start | self._stream

    def _config(self) -> dict[str, Any]:
        """Every hyperparameter as `_core` takes it."""
        averaging = 0.5 if self.averaging == "auto" else _validation.plain(self.averaging)
        passes = DEFAULT_PASSES.get(str(self.solver), 1)
        params = self.get_params(deep=False)
        config = {name: _validation.plain(params[name]) for name in _PASSED_ON}
        return {
            **config,
            "averaging": averaging,
            "tol": float(self.tol),
            "cache_size": float(self.cache_size),
            "epsilon": float(getattr(self, "epsilon", 0.0)),
            "max_iter": passes if self.max_iter is None else int(self.max_iter),
            "random_state": seed_of(self.random_state),
        }

    def _decision(self, X: Any) -> np.ndarray:
        """Decision values, shape (n_samples, n_outputs)."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=self._dtype(), reset=False)
        rows, threads = _validation.as_rows(X), _validation.thread_count(self.n_jobs)
        if hasattr(self, "dual_coef_"):
            return _validation.in_range(_core.expansion_decide(
                rows, stored_kernel(self._kernel), self.components_,
                np.ascontiguousarray(self.dual_coef_.T), self.intercept_, threads,
            ))  # fmt: skip
        return _validation.in_range(_core.fourier_decide(
            rows, self.frequencies_, self.phases_, self.coef_, self.intercept_, threads
        ))  # fmt: skip

    def _dtype(self) -> Any:
        return np.dtype(np.float32 if self._single else np.float64)

    def _check_X_y(self, X: Any, y: Any, reset: bool) -> tuple[Any, np.ndarray]:
        return validate_data(
            self, X, y, accept_sparse="csr", y_numeric=not is_classifier(self),
            dtype=[np.float64, np.float32] if reset else self._dtype(), reset=reset,
        )  # fmt: skip

    def _encode(self, y: np.ndarray) -> tuple[np.ndarray, int | None]:
        raise NotImplementedError

    def _encode_part(self, y: np.ndarray, classes: Any, first: bool) -> tuple[Any, int | None]:
        raise NotImplementedError

    def _cost(self, target: np.ndarray, weights: np.ndarray, balance: bool) -> np.ndarray:
        raise NotImplementedError

    def _watcher(self, tasks: FitTasks | None = None) -> Watcher:
        passes = DEFAULT_PASSES.get(str(self.solver), 1)
        return Watcher(self.verbose, self.callback, self.max_iter or passes, tasks)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check_archived(self) -> None:
        kind = np.float32 if self._single else np.float64
        coef, d = self.coef_, self.n_features_in_
        outputs = len(self.classes_) if hasattr(self, "classes_") else 1
        outputs = 1 if outputs == 2 else outputs
        fits = coef.dtype == np.float64 and coef.ndim == 2 and len(coef) == outputs
        fits = fits and self.intercept_.shape == (outputs,) and self.intercept_.dtype == np.float64
        if hasattr(self, "dual_coef_"):
            fits = fits and hasattr(self, "components_") and hasattr(self, "normalization_")
            fits = fits and self.components_.dtype == self.normalization_.dtype == kind
            s = len(self.components_) if fits else 0
            fits = fits and self.components_.shape == (s, d)
            fits = fits and self.normalization_.shape == (s, coef.shape[1])
            fits = fits and self.dual_coef_.shape == (outputs, s)
            fits = fits and self.dual_coef_.dtype == np.float64
        else:
            fits = fits and hasattr(self, "frequencies_") and hasattr(self, "phases_")
            fits = fits and self.frequencies_.dtype == self.phases_.dtype == np.float64
            fits = fits and self.frequencies_.ndim == 2 and self.frequencies_.shape[1] == d
            fits = fits and self.phases_.ndim == 1
            fits = fits and coef.shape[1] == 2 * len(self.frequencies_) - len(self.phases_)
        if hasattr(self, "_iterate"):
            fits = fits and self._iterate.shape == coef.shape and hasattr(self, "_stream")
            fits = fits and self._iterate.dtype == np.float64
            fits = fits and getattr(self, "_iterate_intercept", coef).shape == (outputs,)
            fits = fits and set(self._stream) == {"steps", "samples", "gradient"}
        if not fits:
            raise damaged("arrays do not fit together")
