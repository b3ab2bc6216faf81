"""The shared part of the primal machines: checks, one call of `_core.primal_fit`, fitted arrays."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils.extmath import safe_sparse_dot

from . import _core, _parameters, _validation
from ._estimator import FLOATS, Trained
from ._progress import Watcher
from ._stored import require, stored_kernel

_PASSED_ON = (
    "loss solver smoothing fit_intercept tol max_iter cache_size max_time refine_iter"
).split()
_SOLVERS = ("auto", "newton", "cg", "plain-cg")
_OPTIONAL = (
    "support_",
    "support_vectors_",
    "dual_coef_",
    "coef_",
    "loo_decision_",
    "loo_score_",
)


class PrimalEstimator(Trained):
    """Base of the primal machines; not for use on its own. What is learnt is in arrays."""

    _losses: ClassVar[tuple[str, ...]]
    _ranges: ClassVar[dict] = {
        "solver": _parameters.one_of(*_SOLVERS),
        "tol": _parameters.positive,
    }
    _archived: ClassVar[dict[str, str]] = {
        "support_": "array?",
        "support_vectors_": "matrix?",
        "dual_coef_": "array?",
        "coef_": "array?",
        "intercept_": "array",
        "n_iter_": "value",
        "stop_reason_": "value",
        "objective_": "value",
        "history_": "curves",
        "C_": "value",
        "gamma_": "value",
        "_kernel": "value",
        "loo_score_": "value?",
    }
    _points: ClassVar[dict[str, str]] = {"basis": "support_vectors_"}

    def _fit(self, X: Any, y: Any, sample_weight: Any, watcher: Watcher) -> None:
        last = self.__dict__.copy() if self.warm_start else {}
        X, y = self._check_X_y(X, y, reset=True)
        target, n_classes = self._encode(y)
        weights = _validation.check_weights(sample_weight, X)
        cost = self._cost(target, weights)
        rows = _validation.as_rows(X)
        kernel = self._kernel_params(rows, X.shape[1], weights)
        basis, points = self._basis(X)
        start = None
        if self._same_outputs(last):
            basis, points, start = self._start(last, X, basis, points)
        learnt = _core.primal_fit(
            self._config(), kernel, rows, target, n_classes, cost, basis, before=start,
            notify=watcher.notify, threads=self._threads(),
        )  # fmt: skip
        self._take(learnt, X if points is None else points, points is None)
        by_c, by_gamma = learnt["tuned"] or (1.0, 1.0)
        self.C_, self.gamma_ = float(self.C) * by_c, kernel[1] * by_gamma
        self._kernel = [kernel[0], self.gamma_, *kernel[2:]]
        if learnt["left_out"] is not None:
            self._take_left_out(learnt["left_out"], y, weights)
        shown = {**learnt, "objective": self.objective_}
        watcher.finish(X.shape[1] if points is None else learnt["coef"].shape[1], shown)

    def _take(self, learnt: dict, source: Any, from_samples: bool) -> None:
        """Make what `_core` returned the fitted state."""
        for name in _OPTIONAL:
            self.__dict__.pop(name, None)
        support = learnt["support"]
        if learnt["points"] is not None:
            self.support_vectors_ = learnt["points"].astype(source.dtype, copy=False)
            self.dual_coef_ = learnt["coef"]
        elif support is None:
            self.coef_ = learnt["coef"]
        else:
            if from_samples:
                self.support_ = support
            self.support_vectors_ = source[support]
            self.dual_coef_ = learnt["coef"]
        self.intercept_ = learnt["intercept"]
        self.n_iter_ = learnt["n_iter"]
        self.history_ = learnt["history"]
        self.objective_ = learnt["objective"]
        self.stop_reason_ = learnt["stop_reason"]
        coef = self.coef_ if hasattr(self, "coef_") else self.dual_coef_
        if self.stop_reason_ in ("max_time", "callback") and not np.any(coef):
            _validation.warn(
                f"The fit ended ({self.stop_reason_}) before the first step: the machine is a "
                "constant. Give it more time, fewer rows, or a smaller basis.",
                ConvergenceWarning,
            )
        if self.stop_reason_ == "max_iter":
            _validation.warn(
                f"The solver did not converge in max_iter={self.max_iter} steps: scale the "
                "features, lower C, or raise smoothing or max_iter.",
                ConvergenceWarning,
            )

    def _config(self) -> dict:
        params = self.get_params(deep=False)
        config = {name: _validation.plain(params[name]) for name in _PASSED_ON}
        config["fit_intercept"] = bool(self.fit_intercept)
        config["refine"] = bool(self.refine)
        config["epsilon"] = float(getattr(self, "epsilon", 0.0))
        config["leave_one_out"] = bool(self.leave_one_out)
        config["tune"] = _validation.plain(self.tune_size) if self.tune else None
        config["random_state"] = self._seed()
        return config

    def _kernel_params(
        self, rows: Any, n_features: int, weights: np.ndarray
    ) -> tuple[str, float, float, int]:
        told = self.kernel != "linear"
        gamma = _validation.settle_gamma(self.gamma, rows, n_features, weights, told)
        return self.kernel, gamma, float(self.coef0), int(self.degree)

    def _basis(self, X: Any) -> tuple[Any, Any]:
        """What `_core` takes, and the points when they are given."""
        if self.basis is None:
            return None, None
        count = self.n_components
        if isinstance(self.basis, str):
            return (self.basis, int(count)), None
        points = self.basis
        if not isinstance(points, (np.ndarray, list, tuple)) and not sp.issparse(points):
            points = points.support_vectors_
            if points is None:
                name = type(self.basis).__name__
                raise ValueError(f"basis: a {name} does not hold its support_vectors_ as one array")
        try:
            points = check_array(points, accept_sparse="csr", dtype=X.dtype, input_name="basis")
        except (TypeError, ValueError) as error:
            raise ValueError(f"basis: {error}") from None
        if points.shape[1] != X.shape[1]:
            raise ValueError(f"basis has {points.shape[1]} features, X has {X.shape[1]}")
        if isinstance(self.basis, (np.ndarray, list, tuple)) or sp.issparse(self.basis):
            count = points.shape[0]
        return (_validation.as_rows(points), int(count)), points

    def _start(self, last: dict[str, Any], X: Any, basis: Any, points: Any) -> tuple:
        """Basis, points and start for `warm_start`: what of the last fit fits this one."""
        count, d = X.shape
        intercept, none = last["intercept_"], np.zeros(0, dtype=np.int64)
        if basis is None and self.kernel == "linear":
            weights = last.get("coef_")
            if weights is None or weights.shape[1] != d:
                return basis, points, None
            return basis, points, (none, weights.T, intercept)
        terms = last.get("support_vectors_")
        if terms is None or terms.shape[1] != d or terms.dtype != X.dtype:
            return basis, points, None
        support, coef = last.get("support_"), last["dual_coef_"].T
        if basis is None:
            if support is None or (len(support) and support.max() >= count):
                return basis, points, None
            if not _same_rows(X[support], terms):
                return basis, points, None
            return basis, points, (support.astype(np.int64), coef, intercept)
        if points is None and terms.shape[0] == basis[1]:
            basis, points = (_validation.as_rows(terms), basis[1]), terms
        elif points is None or not _same_rows(points, terms):
            return basis, points, None
        return basis, points, (none, coef, intercept)

    def _decision(self, X: Any) -> np.ndarray:
        if "coef_" in self.__dict__:
            X = self._new_rows(X, FLOATS)
            if sp.issparse(X):
                _validation.check_csr_structure(X)
            values = safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_
            return _validation.in_range(values)
        X = self._new_rows(X)
        if self.support_vectors_.shape[0] == 0:
            return np.tile(self.intercept_, (X.shape[0], 1))
        return _validation.in_range(_core.primal_decide(
            stored_kernel(self._kernel), _validation.as_rows(self.support_vectors_),
            np.ascontiguousarray(self.dual_coef_.T), self.intercept_, _validation.as_rows(X),
            self._threads(),
        ))  # fmt: skip

    def _dtype(self) -> Any:
        return self.support_vectors_.dtype

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "intercept_")

    def _check_archived(self) -> None:
        outputs, d = len(self.intercept_), self.n_features_in_
        if hasattr(self, "coef_"):
            fits = self.coef_.shape == (outputs, d)
        else:
            terms = self.support_vectors_.shape[0] if hasattr(self, "support_vectors_") else -1
            fits = terms >= 0 and self.support_vectors_.shape == (terms, d)
            fits = fits and self.dual_coef_.shape == (outputs, terms)
        require(fits and self.intercept_.ndim == 1, "shapes of the machine")

    def _same_outputs(self, last: dict[str, Any]) -> bool:
        """Whether the last fit is one of the same outputs."""
        raise NotImplementedError

    def _take_left_out(self, values: np.ndarray, y: np.ndarray, weights: np.ndarray) -> None:
        raise NotImplementedError


def _same_rows(a: Any, b: Any) -> bool:
    if a.shape != b.shape or sp.issparse(a) != sp.issparse(b):
        return False
    return (a != b).nnz == 0 if sp.issparse(a) else np.array_equal(a, b)
