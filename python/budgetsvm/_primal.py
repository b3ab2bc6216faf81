"""The shared part of the primal machines: checks, one call of `_core.train`."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning

from . import _core, _names, _parameters, _tuning, _validation
from ._estimator import FLOATS
from ._hyperparameters import hyperparameters
from ._learnt_scales import LearntScales
from ._machine import MachineEstimator, support_vectors_of
from ._progress import Watcher
from ._scales import multiply_columns
from ._serialization import require
from ._validation import check_array

_SOLVERS = ("auto", "newton", "cg", "plain-cg")
_OPTIONAL = ("support_", "loo_decision_", "loo_score_")


@hyperparameters
class PrimalEstimator(LearntScales, MachineEstimator):
    r"""Base of the primal machines; not for use on its own.

    Parameters
    ----------
    @tuned-C@
    @tuned-gamma@
    @kernels@
        With "linear" and without a basis the weights of the features are solved for. "sigmoid",
        and "poly" with a negative `coef0`, are positive definite for few data: a ValueError says
        so where the objective has no minimum.
    smoothing : float, default=0.05
        Half-width h > 0 of the rounded corners of the loss; the squared losses have none.
    fit_intercept : bool, default=True
        Whether an offset is fitted, which is not penalised.
    solver : {"auto", "newton", "cg"}, default="auto"
        "newton" factors a system of the support vectors a step, and is exact to rounding; "cg"
        takes one product with the kernel matrix a step (preconditioned conjugate gradients), or
        with X for a linear kernel (truncated Newton). "auto" is "newton" where its matrices fit
        `cache_size` (linear: up to 1000 features). With a basis, Newton on its coefficients.
        ("plain-cg" leaves the preconditioner out, to compare with.)
    basis : None, {"random", "kmeans++", "cholesky", "greedy"}, array-like or fitted estimator, \
        default=None
        The points that the expansion is made of. None: every sample. A name: `n_components`
        samples chosen so. An array: these points. A fitted machine with `support_vectors_`: these,
        or `n_components` of them when it has more. `clone` and grid searches give a machine
        unfitted, unless it is wrapped in `sklearn.frozen.FrozenEstimator`. A file of `save` holds
        points in the place of a machine: the `support_vectors_` of this fit.
    n_components : int, default=500
        Terms of a reduced expansion, >= 1.
    refine : bool, default=False
        Whether the points of a basis are moved too, together with their coefficients (kernel
        "rbf"): L-BFGS on the objective, then the best coefficients once more. It costs about
        `refine_iter` times predicting all samples.
    refine_iter : int, default=100
        Evaluations of the objective that refining may take, >= 1.
    tol : float, default=1e-5
        For "cg" and a basis: the objective is known up to this share of it, > 0 (below 1e-6
        rounding may end the steps before).
    max_iter : int, default=1000
        Steps of the solver (for each class against the rest; on parts of the samples too), >= 1.
    cache_size : float, default=1000
        Megabytes for kernel values and factors, > 0. A Newton step on n samples may need 24 n²
        bytes; more than allowed is refused before the fit starts.
    leave_one_out : bool, default=False
        Whether to find what the machine would say about each sample without it (Newton's method on
        all samples alone); about twice the time of the last step.
    tune : bool, default=False
        Whether C and γ are found first, beginning with those given or better ones that a look at a
        few samples finds, by the gradient of the leave-one-out criterion, for classes then by the
        leave-one-out errors around its minimum; for the kernels "rbf" and "laplacian" and the
        squared losses.
    tune_size : int, default=1500
        Samples, chosen at random, that they are found on, >= 1; the expansion in all of these is
        tuned, whatever `basis` is. With `max_time`, tuning takes half of it at most.
    warm_start : bool, default=False
        Whether a fit begins with the solution of the last one, for other hyperparameters or
        changed rows: with the coefficients of the samples that were terms, where X has them in
        the same places; with the points that a basis chosen by name came to, where there are
        `n_components`. What does not fit is begun anew. The result is the same to `tol` and only
        the time differs, but where points of an earlier fit stay or `refine` moves them.
    random_state : int, RandomState or None, default=None
        Seed of the choice of a basis, and of the samples to tune on and to refine on first.

    Attributes
    ----------
    support_ : ndarray of shape (n_terms,)
        Rows of X that the terms are (not with points that were given or moved, nor a linear
        machine).
    support_vectors_ : ndarray or CSR matrix of shape (n_terms, n_features)
        Points of the terms.
    dual_coef_ : ndarray of shape (n_outputs, n_terms)
        Coefficients of the terms.
    coef_ : ndarray of shape (n_outputs, n_features)
        Weights of the features, for a linear kernel without a basis.
    intercept_ : ndarray of shape (n_outputs,)
        Offsets.
    C_, gamma_ : float
        C and γ as they were used: tuned, with ``tune=True``.
    loo_decision_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        With `leave_one_out`: the decision value of each sample by the machine trained without it
        (NaN where its weight is 0). Exact where no other sample changes its part in the solution,
        else an estimate. It is not there when `max_time` or the callback ended the fit before.
    loo_score_ : float
        Accuracy (regression: R²) of these, weighted.
    n_iter_ : int
        Steps of the output that took most. Newton's method on a kernel begins with parts of the
        samples: steps there are in `history_` alone. With `refine`, its evaluations count too.
    history_ : dict of ndarray
        "time" (seconds) and "objective" at the steps of the first output.
    objective_ : dict
        "smoothed": what was minimised, "primal": the same with the loss itself.
    stop_reason_ : str
        "converged", "max_iter", "max_time" or "callback". Refining ends by `refine_iter` or where
        it gains nothing; neither is told here.

    Notes
    -----
    Newton's method on the primal objective: with ``basis=None`` the kernel matrix of the
    rows that count is factored, O(n³) at worst, with a basis of m points O(n m²);
    ``solver="cg"`` holds no factor and costs O(n²) a step. A linear kernel works on the
    weights, CSR rows as they are: O(nnz) a step; of more than 1000 columns passes over the
    dual variables [2]_ come first (they count as steps), and mostly end the fit. The loss is
    smooth, so the answer is the same to the last digits whatever the start, but every row may
    be a term: take `BudgetSVC` or `BudgetSVR` for a small model, `SVC` or `SVR` for sparse
    ones.

    References
    ----------
    .. [1] O. Chapelle, "Training a support vector machine in the primal", Neural Computation 19,
       2007.
    .. [2] C.-J. Hsieh and others, "A dual coordinate descent method for large-scale linear SVM",
       ICML 2008.
    """

    _page: ClassVar[str] = "primal"

    C: _names.TunedCost = field(default=1.0, kw_only=False)
    gamma: _names.TunedGamma = "scale"  # type: ignore[assignment]
    smoothing: float = 0.05
    fit_intercept: bool = True
    solver: Literal["auto", "newton", "cg", "plain-cg"] = "auto"
    basis: Any = None
    n_components: int = 500
    refine: bool = False
    refine_iter: int = 100
    tol: float = 1e-5
    max_iter: int = 1000
    cache_size: float = 1000
    leave_one_out: bool = False
    tune: bool = False
    tune_size: int = 1500
    warm_start: bool = False

    _ranges: ClassVar[dict] = {
        "C": _tuning.cost,
        "gamma": _tuning.width,
        "solver": _parameters.one_of(*_SOLVERS),
        "tol": _parameters.positive,
    }
    _archived: ClassVar[dict[str, str]] = {
        "support_": "int64?",
        "objective_": "objective",
        "C_": "number",
        "gamma_": "number",
        "loo_score_": "number?",
    }
    _kinds = ("expansion", "linear")
    _points: ClassVar[dict[str, str]] = {"basis": "support_vectors_"}

    def _fit(self, X: Any, y: Any, sample_weight: Any, watcher: Watcher) -> None:
        last = self.__dict__.copy() if self.warm_start else {}
        self._lesson = (sample_weight, watcher.notify)
        X, y = self._check_X_y(X, y, reset=True)
        target, n_classes = self._encode(y)
        weights = _validation.check_weights(sample_weight, X)
        rows = _validation.as_rows(X)
        gamma = self._settle_gamma(rows, X.shape[1], weights, None)
        if self.tune and any(_tuning.wanted(self)):
            raise ValueError("tune=True finds C and gamma itself: begin with numbers, not 'tune'")
        self.__dict__.pop("C_", None)
        one = self._cost(target, weights) / self._used_C()
        gamma, spent = _tuning.tune(self, rows, target, n_classes, one, gamma, watcher.notify)
        cost = self._cost(target, weights)
        if self.tune:
            _tuning.warn_of_rare_classes(self, target, n_classes, cost)
        basis, points = self._basis(X)
        start = None
        same = np.array_equal(last.get("classes_", ()), getattr(self, "classes_", ()))
        same = same and last.get("_multilabel", False) == getattr(self, "_multilabel", False)
        if "_machine" in last and not is_classifier(self):
            same = last["_machine"].n_outputs == target.size // len(target)
        if "_machine" in last and same:
            basis, points, start = self._start(last, X, basis, points)
        machine, report = _core.train(
            "primal", self._config(gamma, spent), rows, target, n_classes, cost, basis=basis,
            before=start, notify=watcher.notify, threads=self._threads(),
        )  # fmt: skip
        by_c, by_gamma = report["tuned"] or (1.0, 1.0)
        self.C_, self.gamma_ = self._used_C() * by_c, gamma * by_gamma
        for name in _OPTIONAL:
            self.__dict__.pop(name, None)
        self.objective_ = report["objective"]
        self._take(machine, report, watcher)
        if report["support"] is not None and points is None:
            self.support_ = report["support"]
        if report["left_out"] is not None:
            self._take_left_out(report["left_out"], y, weights)
        coef = machine.coef if machine.kind == "linear" else machine.dual_coef
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

    def _left_out(
        self, X: Any, y: Any, index: np.ndarray, weights: np.ndarray, folds: tuple[np.ndarray, int]
    ) -> np.ndarray | None:
        if self._machine.kind == "linear":
            return None
        X, _ = self._check_X_y(X, np.zeros(len(index)), reset=False)
        self.__dict__.pop("_scales_in_use", None)
        cost = self._cost(index, weights) * (self.C_ / self._used_C())
        return _core.left_out(
            "primal", self._config(self.gamma_), _validation.as_rows(X), index, len(self.classes_),
            cost, start=self._behind_scales(), folds=folds[0], n_folds=folds[1],
            threads=self._threads(),
        )  # fmt: skip

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the features of a linear machine, shape (n_outputs, n_features)."""
        machine = self._learnt("_machine")
        if machine.kind != "linear":
            raise AttributeError("this machine has terms, no weights of the features")
        return machine.coef

    def _config(self, gamma: float, spent: float = 0.0) -> str:
        own: dict[str, Any] = {"gamma": gamma, "random_state": self._seed(), "C": self._used_C()}
        if self.max_time is not None and spent > 0:
            own["max_time"] = max(float(self.max_time) - spent, 1e-3)
        own["basis"] = self.basis if isinstance(self.basis, str) else None
        own["tune_size"] = self.tune_size if self.tune else None
        if self.loss == "least_squares":
            own |= {"loss": "squared_epsilon_insensitive", "epsilon": 0.0}
        return _parameters.config(self, **own)

    def _basis(self, X: Any) -> tuple[Any, Any]:
        """What `_core` takes, and the points, when they are given."""
        if self.basis is None or isinstance(self.basis, str):
            return None, None
        count, points = self.n_components, self.basis
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
        if self._scales_in_use is not None:
            points = multiply_columns(points, self._scales_in_use)
        if isinstance(self.basis, (np.ndarray, list, tuple)) or sp.issparse(self.basis):
            count = points.shape[0]
        return (_validation.as_rows(points), int(count)), points

    def _check_archived(self) -> None:
        super()._check_archived()
        support = getattr(self, "support_", None)
        fits = support is None or len(support) == self._machine.n_terms
        fits = fits and (self._machine.kind == "linear" or self.gamma_ == self._machine.gamma)
        fits = fits and self.C_ > 0 and self.gamma_ > 0
        require(fits, "machine in the primal")

    def _start(self, last: dict[str, Any], X: Any, basis: Any, points: Any) -> tuple:
        """Basis, points and start for `warm_start`: what of the last fit fits this one."""
        # Of rows as this fit has them: scaled alike.
        if not np.array_equal(_factors(last["_machine"].scales), _factors(self._scales_in_use)):
            return basis, points, None
        machine, (count, d) = last["_machine"].behind(), X.shape
        intercept, none = machine.intercept, np.zeros(0, dtype=np.int64)
        if self.basis is None and self.kernel == "linear":
            if machine.kind != "linear" or machine.n_features != d:
                return basis, points, None
            return basis, points, (none, machine.coef.T, intercept)
        if machine.kind == "linear" or machine.n_features != d or machine.dtype != X.dtype:
            return basis, points, None
        terms, support, coef = (
            support_vectors_of(machine),
            last.get("support_"),
            machine.dual_coef.T,
        )
        if self.basis is None:
            if support is None or (len(support) and support.max() >= count):
                return basis, points, None
            if not _same_rows(X[support], terms):
                return basis, points, None
            return basis, points, (support.astype(np.int64), coef, intercept)
        if points is None and terms.shape[0] == self.n_components:
            basis, points = (_validation.as_rows(terms), terms.shape[0]), terms
        elif points is None or not _same_rows(points, terms):
            return basis, points, None
        return basis, points, (none, coef, intercept)

    def _dtype(self) -> Any:
        # A linear machine takes rows of either precision.
        return FLOATS if self._machine.kind == "linear" else super()._dtype()

    def _take_left_out(self, values: np.ndarray, y: np.ndarray, weights: np.ndarray) -> None:
        raise NotImplementedError


def _factors(scales: np.ndarray | None) -> np.ndarray:
    return np.ones(0) if scales is None else scales


def _same_rows(a: Any, b: Any) -> bool:
    if a.shape != b.shape or sp.issparse(a) != sp.issparse(b):
        return False
    return (a != b).nnz == 0 if sp.issparse(a) else np.array_equal(a, b)
