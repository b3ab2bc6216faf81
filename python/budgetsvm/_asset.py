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

#: Passes when `max_iter` is None.
DEFAULT_PASSES = {"asset": 20, "dual": 1000}


#: What the pages of AssetSVC and AssetSVR share.
PAGE = {
    "shared": """
    C : float, default=1.0
        Cost of a violation, > 0: a sample costs C times its weight, as in `sklearn.svm`.
    features : {"nystroem", "fourier"}, default="nystroem"
        Eigenvectors of the kernel matrix of random landmarks, any kernel; or random Fourier
        features, kernels of a distance (those of `RandomFourier`).
    n_components : int, default=100
        Landmarks, or Fourier features, >= 1. Error falls and time grows with it.
    @kernel-names@
        As in `BudgetSVC`.
    gamma : {"scale", "auto"} or float, default="scale"
        γ > 0, as in `BudgetSVC`. `partial_fit` settles it on the first part it sees.
    @degree@
    eigenvalue_threshold : float or None, default=None
        As in `Nystroem`.
    orthogonal : bool, default=False
        As in `RandomFourier`.
    waves : {"shifted", "paired"}, default="shifted"
        As in `RandomFourier`; the paper's are shifted.
    solver : {"asset", "dual"}, default="asset"
        Stochastic subgradients [1]_, with features made on the fly, so that memory does not grow
        with the number of samples; or coordinate ascent in the dual with shrinking [2]_ on stored
        features: several times faster to high accuracy where they fit.
    strongly_convex : bool, default=False
        ASSET* [1]_: steps ``1/(λ j)`` instead of ``D_X/(D_G √j)``. Only without an offset.
    averaging : "auto", None, int or float, default="auto"
        Which iterates of "asset" are averaged: none (the answer is the last), so many at the end
        (the paper's tables: 100), or this share of them in (0, 1]; in `partial_fit`, all with
        weights that rise accordingly. "auto" is 0.5.
    fit_intercept : bool, default=False
        Whether there is an offset: not penalised with "asset", penalised with "dual" (a constant
        feature, as in LIBLINEAR).
    max_iter : int or None, default=None
        Passes over the data, >= 1. None: 20 for "asset", 1000 for "dual", which ends at `tol`.
    tol : float, default=1e-2
        "dual" ends when no step of a pass over all samples changed its sample's decision value by
        more than this, > 0.
    shrinking : bool, default=True
        Whether "dual" leaves out samples that do not move until the others are done.
    order : {"shuffled", "uniform", "sequential"} or list of int, default="shuffled"
        Order of a pass of "asset": a fresh permutation, independent draws (the paper's), as given,
        or these indices over and over.
    max_time : float or None, default=None
        Seconds after which the fit ends with the machine it has, > 0.
    cache_size : float, default=200
        Megabytes of features that "asset" may keep between passes, >= 0; beyond that they are
        made again in every pass. "dual" keeps them all.
    n_expected : int or None, default=None
        Samples that a stream will have, which sets λ in `partial_fit`. None: those seen so far.
""",
    "ending": """
    random_state : int, RandomState or None, default=None
        Seed of the landmarks or frequencies and of the order.
    @n_jobs@
    @verbose@
    callback : callable or None, default=None
        As in `BudgetSVC`; returning True ends the fit with the machine so far.
""",
    "learnt": """
    components_ : ndarray of shape (n_landmarks, n_features)
        Landmarks ("nystroem").
    dual_coef_ : ndarray of shape (n_outputs, n_landmarks)
        Coefficients of the landmarks: the machine is an expansion on them ("nystroem").
    normalization_ : ndarray of shape (n_landmarks, n_directions)
        From kernel values to features ("nystroem").
    frequencies_, phases_ : ndarray
        As in `RandomFourier` ("fourier").
    coef_ : ndarray of shape (n_outputs, n_directions)
        The linear machine on the features.
    intercept_ : ndarray of shape (n_outputs,)
        Offsets; zero without `fit_intercept`.
    gamma_ : float
        γ used.
    n_iter_ : int
        Passes made.
    stop_reason_ : str
        "converged", "max_iter", "max_time" or "callback".
    objective_ : dict
        "primal" and "dual" objective with ``solver="dual"``, else None.
    history_ : dict of ndarray
        "time": seconds at the end of every pass.
    @features_in@

    References
    ----------
    .. [1] S. Lee, S. J. Wright, "ASSET: approximate stochastic subgradient estimation training for
       support vector machines", ICPRAM 2012.
    .. [2] T. Glasmachers, "Recipe for fast large-scale SVM training: polishing, parallelism, and
       more RAM!", 2022.
""",
}


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
        told = _core.asset_fit(
            self._config(gamma), rows, target, n_classes, cost,
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
        self.gamma_, self._kernel = gamma, list(kernel_of(self, gamma))
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
        gamma = _validation.settled_gamma(self.kernel, self.gamma, self.gamma_)
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

    def _config(self, gamma: float) -> str:
        averaging = 0.5 if self.averaging == "auto" else self.averaging
        return _parameters.config(self, gamma=gamma, averaging=averaging, random_state=self._seed())

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
