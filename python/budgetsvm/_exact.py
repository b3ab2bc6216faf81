"""The shared part of the exact machines: scikit-learn's face over `_core.train`.

Parameters, attributes, texts of errors and warnings are those of `sklearn.svm`.
"""

from __future__ import annotations

import json
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d
from sklearn.utils._param_validation import Hidden, Interval, StrOptions
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import _num_samples

from . import _columns, _core, _parameters, _tuning, _validation
from ._docs import documented
from ._estimator import FLOATS
from ._exact_kernel import ExactKernel
from ._hyperparameters import hyperparameters
from ._needs import warn_of_idle
from ._progress import Watcher
from ._serialization import require
from ._validation import validate_data

#: Numbers for which scikit-learn takes True, too.
_REALS = """
constraint_tol constraint_atol cache_size epsilon intercept_penalty max_time nu relaxation tol
""".split()
_NUMBERS = [*_REALS, "C", "coef0", "gamma", "max_iter", "working_set"]

#: Hyperparameters that the other solver has no other value of.
ONLY_MPD = {"fit_intercept": True, "intercept_penalty": 0.0, "relaxation": 1.0}

NO_WEIGHT = "Invalid input - all samples have zero or negative weights."
ONE_CLASS = "Invalid input - all samples with positive weights belong to the same class."


@hyperparameters
class ExactEstimator(ExactKernel):
    r"""Base of the exact machines; not for use on its own.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a violation, in (0, inf].
    epsilon : float, default=0.1
        Half-width ε >= 0 of the tube in which errors cost nothing.
    fit_intercept : bool, default=True
        Whether there is an offset. False needs the solver "mpd", which is then the Kernel Adatron.
    intercept_penalty : float, default=0.0
        λ >= 0: ``λ b²/2`` of the offset b is added to what is minimised, as if the kernel were
        ``k + 1/λ``. Other than 0 needs the solver "mpd"; 1 is successive over-relaxation's [5]_.
    tol : float, default=1e-3
        Violation of the optimality conditions at which a fit ends, > 0. Problems of up to 1024
        samples are solved on to about 1e-10 (not by ``update="newton"``).
    cache_size : float, default=200
        Megabytes that kernel rows may take, > 0. From 2048 samples on and for ``tol >= 1e-4`` they
        are float32 for the kernels "rbf" and "linear". Beside them a fit by "smo" holds up to 300
        bytes a sample (450 for regression), and dense rows twice in the precision of kernel rows;
        with several classes, what four pairs of them hold.
    verbose : bool, default=False
        Whether to tell progress on standard error.
    max_iter : int, default=-1
        Steps of a pair of variables, at most, for each pair of classes; -1 is no limit but a
        guard of 10 million, or 100 a sample.
    max_time : float or None, default=None
        Seconds after which the fit ends with the machine it has.
    update : {"augmented", "newton"}, default="augmented"
        How "mpd" moves its multipliers: by the augmented Lagrangian, or by the paper's own
        diagonal Newton step [3]_, which is slow on the ν-machines and for several functions that
        are nearly collinear.
    constraint_tol : float or None, default=None
        Violation of an equality constraint at which "mpd" ends, > 0, relative to the constraint's
        total, or to the root mean square of what is summed (or to the largest sum that C allows).
        None is 1e-6; with "newton" it is `tol`, relative or absolute, whichever is larger: a step
        moves a sum by no less than about `tol`, so that much less may never be met.
    constraint_atol : float, default=0.0
        The same as it stands, >= 0, as the paper's ε_d; the larger of both counts.
    relaxation : float, default=1.0
        Factor of every step of "mpd", in (0, 2). With ``intercept_penalty`` this is successive
        over-relaxation [5]_; the answer is the same.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, fit_status_, n_iter_, \
    shape_fit_
        As in scikit-learn.
    duality_gap_ : float, or ndarray of shape (n_pairs,)
        Bound of the distance of the objective, of each pair of classes, from its optimum.
    stop_reason_ : str
        "converged", "max_iter" or "max_time".
    constraint_violation_, n_updates_ : ndarray of shape (n_pairs,)
        With ``solver="mpd"``: largest violation of a constraint, updates of the multipliers.

    Notes
    -----
    Time grows like the number of rows times that of support vectors, between n² and n³ kernel
    values at worst; memory is `cache_size` and O(n). A prediction costs a kernel value a
    support vector. Beyond some 100,000 rows, or where predictions must be cheap, take the
    machines on a budget; for a linear kernel `PrimalSVC` or `PrimalSVR`.

    References
    ----------
    .. [1] C.-C. Chang, C.-J. Lin, "LIBSVM: a library for support vector machines", ACM TIST, 2011.
    .. [2] Z. Wen et al., "ThunderSVM: a fast SVM library on GPUs and CPUs", JMLR 19, 2018.
    .. [3] W. Kienzle, B. Schölkopf, "Training support vector machines with multiple equality
       constraints", ECML 2005.
    .. [4] T.-F. Wu, C.-J. Lin, R. C. Weng, "Probability estimates for multi-class classification
       by pairwise coupling", JMLR 5, 2004.
    .. [5] O. L. Mangasarian, D. R. Musicant, "Successive overrelaxation for support vector
       machines", IEEE Transactions on Neural Networks 10, 1999.
    """

    _page: ClassVar[str] = "exact"

    tol: float = 1e-3
    cache_size: float = 200
    verbose: bool = False
    max_iter: int = -1
    max_time: float | None = None
    update: Literal["augmented", "newton"] = "augmented"
    constraint_tol: float | None = None
    constraint_atol: float = 0.0
    relaxation: float = 1.0

    _family: ClassVar[str] = "exact"
    #: The machine, by LIBSVM's name.
    _impl: ClassVar[str]
    #: Where there is no choice.
    solver = "mpd"

    _archived: ClassVar[dict[str, str]] = {
        "support_": "int32", "_n_support": "int32", "fit_status_": "count", "stop_reason_": "stop",
        "_gamma": "number", "_sparse": "flag", "shape_fit_": "sizes",
        "constraint_violation_": "numbers?", "n_updates_": "int64?", "n_iter_": "count",
        "duality_gap_": "number",
    }  # fmt: skip
    _kinds = ("pairwise",)

    #: Of all exact machines: scikit-learn looks at those of the hyperparameters there are.
    _parameter_constraints: ClassVar[dict] = {
        "kernel": [StrOptions({*_parameters.KERNELS, "precomputed"}), callable],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "C": [Interval(Real, 0.0, None, closed="right")],
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
        "shrinking": ["boolean"],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
        "verbose": ["verbose"],
        "solver": [StrOptions({"smo", "mpd"})],
        "update": [StrOptions({"augmented", "newton"})],
        "constraint_tol": [Interval(Real, 0.0, None, closed="neither"), None],
        "constraint_atol": [Interval(Real, 0.0, None, closed="left")],
        "relaxation": [Interval(Real, 0.0, 2.0, closed="neither")],
        "intercept_penalty": [Interval(Real, 0.0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "max_time": [Interval(Real, 0.0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
        "probability": ["boolean", Hidden(StrOptions({"deprecated"}))],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
        "random_state": ["random_state"],
        "functions": [callable, "array-like", None],
        "working_set": [Interval(Integral, 1, None, closed="left")],
        "record_history": ["boolean"],
    }

    #: Ranges and texts above are scikit-learn's; it does not look at these.
    _ranges: ClassVar[dict] = {
        **dict.fromkeys(_parameters.RULES, _parameters.anything),
        **dict.fromkeys(_NUMBERS, _parameters.in_range),
        "degree": _parameters.RULES["degree"],
        "feature_scales": _parameters.RULES["feature_scales"],
        "n_jobs": _parameters.RULES["n_jobs"],
    }

    @documented
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the machine.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features) or (n_samples, n_samples)
            Training rows, finite; the square kernel matrix for ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Labels, or finite numbers for regression.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C, a sample. A sample of weight <= 0 is left out.

        @fitted@
        """
        with self._all_or_nothing():
            warn_of_idle(self)
            self._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        random_state = check_random_state(self.random_state) if self._is_classifier() else None
        _columns.forget(self)
        if sp.issparse(X) and self.kernel == "precomputed":
            raise TypeError("Sparse precomputed kernels are not supported.")
        if callable(self.kernel):
            check_consistent_length(X, y)
        elif _validation.are_plain(X, y):
            _validation.note_features(self, X)
        else:
            X, y = validate_data(
                self, X, y, dtype=list(FLOATS), order="C", accept_sparse="csr"
            )  # fmt: skip
        # A data frame of sparse columns has become a matrix.
        self._sparse = sp.issparse(X) and not callable(self.kernel)
        y = self._validate_targets(y)
        weights = self._check_weights(sample_weight, X, y)
        n_samples = _num_samples(X)
        if self.kernel == "precomputed" and n_samples != X.shape[1]:
            raise ValueError(
                "Precomputed matrix must be a square matrix."
                f" Input is a {X.shape[0]}x{X.shape[1]} matrix."
            )
        matrix = self._training_matrix(X)
        if self.feature_scales is not None:
            lesson = np.maximum(weights, 0.0)
            if self._is_classifier():
                lesson *= getattr(self, "class_weight_", np.ones(1))[y]
            self._lesson = (lesson, None)
            self._learn_scales(X, y)
            matrix = self._scaled(matrix)
        rows = _validation.as_rows(matrix)
        self._settle_gamma(matrix, rows, weights, sample_weight is not None)
        self.__dict__.pop("C_", None)
        self.__dict__.pop("gamma_", None)
        spent, (target, n_classes, cost) = 0.0, self._problem(y, weights)
        if any(_tuning.wanted(self)):
            if self._kernel_params() is None:
                raise ValueError(
                    "C='tune' and gamma='tune' need a kernel by its name: there are no rows to "
                    "compute another one on"
                )
            one = cost / self._used_C()
            self._gamma, spent = _tuning.tune(self, rows, target, n_classes, one, self._gamma)
            cost = one * self._used_C()
        del weights  # a fit of many rows has no room to spare
        if self.solver == "smo":
            for name, plain in ONLY_MPD.items():
                if getattr(self, name, plain) != plain:
                    raise ValueError(f"{name}={getattr(self, name)} needs solver='mpd'")
        numbers = {name: getattr(self, name, None) for name in _REALS}
        numbers = {name: float(value) for name, value in numbers.items() if value is not None}
        kernel = self._kernel_params()
        name, gamma, coef0, degree = kernel or ("linear", 1.0, 0.0, 1)
        # Distances and products vanish beside the least positive number. JSON has no infinity.
        numbers |= {"gamma": gamma or np.finfo(np.float64).tiny, "coef0": coef0, "degree": degree}
        C = self._used_C()
        if spent and self.max_time is not None:
            numbers["max_time"] = max(float(self.max_time) - spent, 1e-3)
        config = _parameters.config(
            self, kind=self._impl, solver=self.solver, C=None if np.isinf(C) else float(C),
            kernel=name, max_iter=None if self.max_iter == -1 else int(self.max_iter), **numbers,
        )  # fmt: skip
        threads = self._threads()
        with Watcher(self.verbose, None, None) as watcher:
            machine, report = _core.train(
                "exact", config, rows, target, n_classes, cost, precomputed=kernel is None,
                functions=self._function_values(X), notify=watcher.notify, threads=threads,
            )  # fmt: skip
            watcher.finish(machine, report["stop_reason"])
        if self.feature_scales is not None:
            given = X[report["support"]].astype(np.float64, copy=False)
            machine = self._in_units(machine, _validation.as_rows(given))
        self._take(machine, report)
        self.shape_fit_ = X.shape if hasattr(X, "shape") else (n_samples,)

        def values_of(train: np.ndarray, test: np.ndarray) -> np.ndarray:
            """Values of rows by a machine of others, all else as it is."""
            part, rest = (
                matrix[np.ix_(rows, train)] if kernel is None else matrix[rows]
                for rows in (train, test)
            )
            learnt, _ = _core.train(
                "exact", config, _validation.as_rows(part), target[train], n_classes, cost[train],
                precomputed=kernel is None, functions=None, to_tol=True, notify=None,
                threads=threads,
            )  # fmt: skip
            wide = _validation.as_rows(rest.astype(np.float64, copy=False))
            return self._sign() * learnt.decision_function(wide, threads)

        self._after_fit(X, y, sample_weight, random_state, values_of)

    def _take(self, machine: _core.Machine, report: dict) -> None:
        """Make what `_core` returned the fitted state."""
        self._machine = machine
        self.fit_status_ = 0 if report["converged"] else 1
        self.stop_reason_ = report["stop_reason"]
        if self.fit_status_ == 1:
            _validation.warn(self._why(report), ConvergenceWarning)
        self.support_ = report["support"].astype(np.int32)
        self._n_support = report["n_support"].astype(np.int32)
        n_iter = report["n_iter"].astype(np.int32)
        self.n_iter_ = n_iter if self._is_classifier() else int(n_iter[0])
        self.duality_gap_ = report["gap"] if self._is_classifier() else float(report["gap"][0])
        if "n_updates" in report:
            self.constraint_violation_ = report["constraint_violation"]
            self.n_updates_ = report["n_updates"].astype(np.int64)

    def _why(self, report: dict) -> str:
        """What ended the fit before the solver did."""
        if self.stop_reason_ == "max_time":
            begun, pairs = np.count_nonzero(report["n_iter"]), len(report["n_iter"])
            some = f": {begun} of {pairs} pairs of classes have been begun" if pairs > 1 else ""
            return (
                f"Solver terminated early (max_time={self.max_time}){some}."
                "  Give it more time, or take a faster machine: LinearSVC or PrimalSVC for a"
                " linear kernel, BudgetSVC for many rows."
            )
        return (
            f"Solver terminated early (max_iter={self.max_iter})."
            "  Consider pre-processing your data with"
            " StandardScaler or MinMaxScaler."
        )

    @property
    def support_vectors_(self) -> Any:
        """Support vectors, shape (n_SV, n_features); (0, 0) for kernel values in their place."""
        if self._learnt("_machine").support_vectors is None:
            return np.empty((0, 0))
        return super().support_vectors_

    @property
    def dual_coef_(self) -> Any:
        """Coefficients of the support vectors, as in scikit-learn; CSR after sparse rows."""
        coef = self._learnt("_machine").dual_coef
        return sp.csr_matrix(coef) if self._sparse else coef

    @property
    def _dual_coef_(self) -> Any:
        """The same with the sign of class 0 against class 1: what scikit-learn decides with."""
        return self._sign() * self.dual_coef_

    @_dual_coef_.setter
    def _dual_coef_(self, coef: Any) -> None:
        dense: Any = coef.toarray() if hasattr(coef, "toarray") else coef
        self._machine = self._machine.with_dual_coef(
            self._sign() * np.asarray(dense, dtype=np.float64)
        )

    def _sign(self) -> int:
        return -1 if self._is_classifier() and len(self._n_support) == 2 else 1

    def _function_values(self, X: Any) -> np.ndarray | None:
        """Parametric functions of the training rows, shape (n_samples, n_functions)."""
        return None

    def _outputs_wanted(self) -> int:
        k = len(self._n_support)
        return max(1, k * (k - 1) // 2)

    def _check_archived(self) -> None:
        self.shape_fit_ = tuple(self.shape_fit_)
        fine = self._n_support.tolist() == self._machine.n_support
        fine = fine and self._machine.n_terms == len(self.support_) == int(self._n_support.sum())
        fine = fine and len(self._n_support) == (len(self.classes_) if self._is_classifier() else 1)
        fine = fine and np.array_equal(np.unique(self.support_), np.sort(self.support_))
        fine = fine and bool(np.all(self.support_ < self.shape_fit_[0]))
        fine = fine and self.shape_fit_[1:] in ((), (self.n_features_in_,))
        fine = fine and self.fit_status_ == (self.stop_reason_ != "converged")
        fine = fine and self._sparse is self._machine.is_sparse
        names = ["constraint_violation_", "n_updates_"]
        names += ["n_iter_", "duality_gap_"] if self._is_classifier() else []
        told = [getattr(self, name) for name in names if hasattr(self, name)]
        fine = fine and all(len(array) == self._outputs_wanted() for array in told)
        require(fine, "machine of an exact estimator")
        super()._check_archived()

    def _kernel_fits(self) -> bool:
        own, kernel = self._kernel_params(), json.loads(self._machine.kernel)
        if own is None or kernel is None:
            return own is None and kernel is None
        told = dict(zip(("name", "gamma", "coef0", "degree"), own, strict=True))
        told["gamma"] = told["gamma"] or np.finfo(np.float64).tiny
        return all(told[name] == value for name, value in kernel.items())

    def _check_hyperparameters(self) -> None:
        super()._check_hyperparameters()
        self._validate_params()

    def _is_classifier(self) -> bool:
        return self._impl in ("c_svc", "nu_svc")

    def _after_fit(
        self, X: Any, y: Any, sample_weight: Any, random_state: Any, values_of: Any
    ) -> None:
        pass

    def _validate_targets(self, y: Any) -> np.ndarray:
        return _validation.as_values(column_or_1d(y, warn=True))

    def _problem(self, y: np.ndarray, weights: np.ndarray) -> tuple[Any, int | None, np.ndarray]:
        """Targets, number of classes and the bound of every α."""
        raise NotImplementedError

    def _check_weights(self, sample_weight: Any, X: Any, y: np.ndarray) -> np.ndarray:
        n_samples = _num_samples(X)
        if n_samples != y.shape[0]:
            raise ValueError(
                "X and y have incompatible shapes.\n"
                f"X has {n_samples} samples, but y has {y.shape[0]}."
            )
        if sample_weight is None:
            return np.ones(n_samples)
        try:
            _validation.check_real_weights(sample_weight)
            weights = np.asarray(sample_weight, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            if "sample_weight" in str(error):
                raise
            raise ValueError(f"sample_weight: {error}") from None
        if weights.shape != (n_samples,):
            raise ValueError(
                "sample_weight and X have incompatible shapes: "
                f"{weights.shape!r} vs {np.shape(X)!r}\n"
                "Note: Sparse matrices cannot be indexed w/"
                "boolean masks (use `indices=True` in CV)."
            )
        if not np.all(np.isfinite(weights)):
            raise ValueError("sample_weight contains NaN or infinity")
        if not np.any(weights > 0):
            raise ValueError(NO_WEIGHT)
        return weights

    def _decide(self, X: Any) -> np.ndarray:
        """Decision values, shape (n_samples, n_outputs), of class i against class j > i."""
        values = self._decided_checked(self._validate_for_predict(X))
        # As in scikit-learn; the machine of two classes is one for the second.
        return self._sign() * values

    @property
    def n_support_(self) -> np.ndarray:
        """Number of support vectors, of each class."""
        return self._learnt("_n_support")

    @property
    def coef_(self) -> Any:
        """Weights of the features, shape (n_outputs, n_features); read-only, linear kernel only."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        coef = self._of_squares(self._linear_coef())
        values = coef if isinstance(coef, np.ndarray) else coef.data
        values.flags.writeable = False
        return coef

    def _linear_coef(self) -> Any:
        return safe_sparse_dot(self.dual_coef_, self.support_vectors_)


@hyperparameters
class SolverChoiceMixin(ExactEstimator):
    """Mixin of the exact machines with a choice of solver; not for use on its own.

    Parameters
    ----------
    shrinking : bool, default=True
        Whether `solver="smo"` works on a part of the samples at a time from 2048 samples on. What
        was left out is looked at again before the end, so the answer is as exact.
    solver : {"smo", "mpd"}, default="smo"
        Sequential minimal optimisation, or the minimal primal-dual method [3]_: steps of one
        variable, the offset as a multiplier. SMO is the faster one; see `SemiparametricSVC` for
        what only "mpd" does. With it `max_iter` counts steps of one variable.
    """

    shrinking: bool = True
    solver: Literal["smo", "mpd"] = "smo"


#: Of the machines whose C and γ may be tuned.
TUNED: dict[str, list] = {
    **ExactEstimator._parameter_constraints,
    "C": [StrOptions({_tuning.NAME}), Interval(Real, 0.0, None, closed="right")],
    "gamma": [
        StrOptions({"scale", "auto", _tuning.NAME}), Interval(Real, 0.0, None, closed="left"),
    ],
}  # fmt: skip
