"""What AssetSVC and AssetSVR share: a feature map and a linear machine on it, in one fit."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from . import _core, _parameters, _validation
from ._estimator import Trained
from ._features_base import kernel_of
from ._progress import Watcher
from ._stored import require, stored_kernel

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


class AssetEstimator(Trained):
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

    def _fit(self, X: Any, y: Any, sample_weight: Any, watcher: Watcher) -> None:
        X, y = self._check_X_y(X, y, reset=True)
        target, n_classes = self._encode(y)
        weights = _validation.check_weights(sample_weight, X)
        rows = _validation.as_rows(X)
        gamma = _validation.settle_gamma(self.gamma, rows, X.shape[1], weights)
        self._train(rows, X, target, n_classes, self._cost(target, weights), gamma, None, watcher)

    def _partial_fit(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Self:
        with self._training() as watcher:
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
            if first:
                gamma, start = _validation.settle_gamma(self.gamma, rows, X.shape[1], weights), {}
            else:
                gamma, start = self._same_map(), self._start()
            cost = self._cost(target, weights, balance=False)
            self._train(rows, X, target, n_classes, cost, gamma, start, watcher)
        return self

    def _train(
        self, rows: Any, X: Any, target: Any, n_classes: Any, cost: Any, gamma: float,
        start: dict[str, Any] | None, watcher: Watcher,
    ) -> None:  # fmt: skip
        kernel = kernel_of(self, gamma)
        told = _core.asset_fit(
            self._config(), kernel, rows, target, n_classes, cost,
            start=start, notify=watcher.notify, threads=self._threads(),
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
            _validation.warn(
                f"Coordinate ascent did not reach tol={self.tol} in {self.n_iter_} passes: raise "
                "max_iter or tol, or scale the features.",
                ConvergenceWarning,
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
        params = self.get_params(deep=False)
        config = {name: _validation.plain(params[name]) for name in _PASSED_ON}
        return {
            **config,
            "averaging": averaging,
            "tol": float(self.tol),
            "cache_size": float(self.cache_size),
            "epsilon": float(getattr(self, "epsilon", 0.0)),
            "max_iter": int(self._passes()),
            "random_state": self._seed(),
        }

    def _decision(self, X: Any) -> np.ndarray:
        rows, threads = _validation.as_rows(self._new_rows(X)), self._threads()
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

    def _passes(self) -> Any:
        return self.max_iter or DEFAULT_PASSES.get(str(self.solver), 1)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

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
        require(fits, "arrays do not fit together")
