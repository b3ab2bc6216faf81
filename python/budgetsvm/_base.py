"""What BudgetSVC and BudgetSVR share: checks, then one call of `_core.train`."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from . import _core, _names, _out_of_core, _parameters, _tuning, _validation
from ._callbacks import with_callbacks
from ._checkpoint import Checkpoint, checksum
from ._docs import documented
from ._hyperparameters import hyperparameters
from ._learnt_scales import LearntScales
from ._machine import MachineEstimator
from ._progress import Watcher
from .data._source import Source

Maintenance: TypeAlias = Literal[
    "auto", "merge", "multi-merge", "remove-smallest", "remove-random", "remove-oldest", "project",
    "stop",
]  # fmt: skip


@hyperparameters
class BudgetBase(MachineEstimator):
    """Base of the estimators with a budget of terms; not for use on its own.

    Parameters
    ----------
    maintenance : {"auto", "merge", "multi-merge", "remove-smallest", "remove-random", \
        "remove-oldest", "project", "stop"}, default="auto"
        What happens when there is a term too many. "merge" makes one term of `merge_size`
        (kernel "rbf" only), "multi-merge" one of three at least (`budget` >= 2), "project"
        expresses one by the others, "stop" refuses new terms. "auto" is "merge" for "rbf" and
        "project" for others.
    merge_search : {"auto", "golden", "table"}, default="auto"
        How partners are judged and the best point between two terms is found: Newton steps
        ("auto"), golden section search, or a table [3]_. Classes that share their terms have a
        table of their own. More than two terms meet at a point found by mean shift.
    merge_size : int, default=2
        Terms merged into one at an event, >= 2 and <= budget + 1: more make events rarer [4]_.
        "multi-merge" takes a 2 for 3.
    max_iter : int, default=1
        Passes over the data, >= 1. Before polishing, which is on all rows, a pass in random order
        visits at most 3,000 rows a term of the budget: more make the terms worse
        (benches/python/added_rows.py).
    order : {"shuffled", "blocks", "uniform", "sequential"} or list of int, default="shuffled"
        Order of a pass: a fresh permutation; one of blocks of 4,096 rows and of the rows of each,
        for rows that do not fit into memory; independent draws (the order of [1]_); as given; or
        these row indices over and over.
    max_time : float or None, default=None
        Seconds after which the fit ends with the model it has, > 0. Passes take at most half of
        them when polishing follows.
    forgetting : float, default=1.0
        In `partial_fit`: what has been learnt counts this much after one row more, > 0 and at most
        1. Below 1 the past is forgotten, for data that drift: 1/(1 - forgetting) rows count.
    resumable : bool or None, default=None
        Whether `fit` and `polish` leave a summary of their rows, a number an output and pair of
        terms, for `partial_fit` to go on from. None: where it takes at most 64 MB and about a
        twentieth of the fit's work (reckoned from sizes and counts, so that the same data leave the
        same; of one class, where it takes at most 64 MB).
    cache_size : float, default=200
        Megabytes that polishing may hold kernel values in, > 0; beyond that they are recomputed.

    Attributes
    ----------
    support_vectors_ : ndarray of shape (n_terms, n_features)
        Points of the terms; with merging they are not training rows.
    dual_coef_ : ndarray of shape (n_outputs, n_terms)
        Coefficients of the terms.
    coef_ : ndarray of shape (n_outputs, n_features)
        Weights of the features, for the kernel "linear".
    n_terms_ : int
        Number of terms.
    stop_reason_ : str
        "converged", "max_iter", "max_time", "early_stopping" or "callback".
        Refining ends by `refine_iter` or where it gains nothing; neither is told here.
    """

    _page: ClassVar[str] = "budget"

    maintenance: Maintenance = "auto"
    merge_search: Literal["auto", "golden", "table"] = "auto"
    merge_size: int = 2
    max_iter: int = 1
    order: _names.Order = "shuffled"
    forgetting: float = 1.0
    resumable: bool | None = None
    cache_size: float = 200

    _archived: ClassVar[dict[str, str]] = {"objective_": "objective"}
    _states = ("passes", "recursive")
    _takes_stored = True

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the features, shape (n_outputs, n_features); kernel "linear" only."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        coef = self._of_squares(np.asarray(safe_sparse_dot(self.dual_coef_, self.support_vectors_)))
        coef.flags.writeable = False
        return coef

    def _take(self, machine: _core.Machine, report: dict, watcher: Watcher) -> None:
        super()._take(machine, report, watcher)
        self.objective_ = report["objective"]
        if report["advice"] is not None:
            _validation.warn(report["advice"], ConvergenceWarning)


@hyperparameters
class BudgetMachineEstimator(LearntScales, BudgetBase):
    r"""Base of the estimators on a budget for classes and values; not for use on its own.

    Parameters
    ----------
    budget : int or None, default=200
        The most terms that the model may hold, at least 1: all classes together when they share
        them, each class otherwise. None is no budget: plain coordinate ascent or kernel Pegasos.
    @tuned-C@
    @tuned-gamma@
    solver : {"bsca", "bsgd"}, default="bsca"
        Stochastic dual coordinate ascent [1]_ or stochastic gradient descent (Pegasos) [2]_ on a
        budget.
    polishing : bool, default=True
        Whether `fit` ends by solving for the coefficients of the terms found.
    refine : bool, default=False
        Whether `fit` goes on by moving the points of the terms together with their coefficients,
        along the gradient of what polishing minimised, and polishes again (kernel "rbf" only). A
        small model gains most: 30 refined terms do the work of 100 or more. It costs about
        `refine_iter` passes without maintenance.
    refine_iter : int, default=100
        Evaluations of the objective that refining may take, >= 1; it ends earlier when they no
        longer lower it.
    fit_intercept : bool, default=False
        Whether polishing fits an offset that is not penalised. On the sets of the README's table
        it changes neither accuracy nor time (docs/defaults.md), and no machine without polishing
        has one, so it is off unless set. Set it with kernel "linear": of several classes lines
        through one point are 5 to 14 points behind (benches/python/guide.py).
    tol : float, default=1e-3
        With solver "bsca", passes end when none of a pass's steps changed its sample's decision
        value by more than this, >= 0. Polishing ends when a step would lower the objective by less
        than this share of it (several classes: when primal less dual is less); it keeps to 1e-9 and
        0.1.
    early_stopping : bool, default=False
        Whether to hold out a validation part and stop when its score no longer rises; the best
        model seen is kept.
    validation_fraction : float, default=0.1
        Size of that part, in (0, 1).
    n_iter_no_change : int, default=5
        Passes without a better score that end the fit, >= 1.
    record_objective : bool, default=False
        Whether to record the primal and dual objective after every pass, at the cost of
        predicting every sample once more.
    warm_start : bool, default=False
        Whether `fit` goes on from the model of the last fit; every row is new to it.
    n_expected : int or None, default=None
        For solver "bsgd" in `partial_fit`: samples that the stream will have, which sets the
        step. None: the samples seen so far.

    Attributes
    ----------
    C_, gamma_ : float
        C and γ as they were used, where one of them was tuned.
    intercept_ : ndarray of shape (n_outputs,)
        Offsets; zero without `fit_intercept`.
    history_ : dict of ndarray
        Curves of the last training call, an entry a pass: "time" (seconds), "n_sv", "moved" and
        "maintained" (shares of the steps), "degradation" (sum of the ‖Δw‖² that maintenance cost),
        "primal", "dual", "validation_score" (NaN where not measured), "phase" (0 a pass, 1
        polishing, 2 refining with its polishing). "dual" is Σ α - 1/2 ‖w‖² and its like, with the
        model's own w, so that no bound comes of it once maintenance has run. With solver "bsgd" α
        is what each sample has added ([1]_ eq. 4), which order="uniform" may carry out of its box;
        NaN for "log_loss" and in a fit that goes on from a model.
    objective_ : dict
        "smoothed": what polishing minimised, "primal": the objective with the loss itself; None
        where not computed.

    Notes
    -----
    A step of a pass costs one row of kernel values, O(B d), and maintenance O(B); at most
    3,000 rows a term of the budget are visited where polishing follows. Polishing minimises
    the smoothed objective on the terms found: by Newton's method, by conjugate gradients on
    the rows that count (many rows or terms) or by coordinate ascent on features that all
    classes share. Memory is O(n + B²) and `cache_size`; a prediction costs B kernel values.

    Take `SVC` or `SVR` up to some 10,000 rows where neither the model's size nor the time of
    a prediction matters, `PrimalSVC` or `PrimalSVR` with ``kernel="linear"`` for wide sparse
    rows (words), `AutoSVC` or `AutoSVR` where nothing is to be chosen.

    References
    ----------
    .. [1] S. Qaadan, M. Schüler, T. Glasmachers, "Dual SVM training on a budget", ICPRAM 2019
       (Algorithm 2).
    .. [2] Z. Wang, K. Crammer, S. Vucetic, "Breaking the curse of kernelization: budgeted
       stochastic gradient descent for large-scale SVM training", JMLR 13, 2012.
    .. [3] T. Glasmachers, S. Qaadan, "Speeding up budgeted stochastic gradient descent SVM training
       with precomputed golden section search", LOD 2018.
    .. [4] S. Qaadan, T. Glasmachers, "Multi-merge budget maintenance for stochastic gradient
       descent SVM training", 2018.
    """

    budget: int | None = field(default=200, kw_only=False)
    C: _names.TunedCost = field(default=1.0, kw_only=False)
    gamma: _names.TunedGamma = "scale"  # type: ignore[assignment]
    solver: Literal["bsca", "bsgd"] = "bsca"
    polishing: bool = True
    refine: bool = False
    refine_iter: int = 100
    fit_intercept: bool = False
    tol: float = 1e-3
    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_iter_no_change: int = 5
    record_objective: bool = False
    warm_start: bool = False
    n_expected: int | None = None

    _ranges: ClassVar[dict] = {
        "budget": _parameters.optional(_parameters.count),
        "C": _tuning.cost,
        "gamma": _tuning.width,
    }
    _archived: ClassVar[dict[str, str]] = {"C_": "number?", "gamma_": "number?"}

    @with_callbacks
    @documented
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, checkpoint: Any = None,
        every: float = 60, validation: Any = None,
    ) -> Self:  # fmt: skip
        """Train from the start (with ``warm_start=True`` from the last fit).

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), or Source
            Training rows, finite. Float32 and float64 are used as they are, without a copy. A
            source (`budgetsvm.data.open`) has targets and weights of its own.
        y : array-like of shape (n_samples,)
            Class labels of any sortable kind, at least two; finite numbers for regression.
        @weights@
        checkpoint : path-like or None, default=None
            For rows from a source: a file (".safetensors") that is written every so often, between
            two blocks of rows of a pass or two looks at all rows in polishing, and at the end of
            the passes. A fit that was killed goes on from it when it is called again, with the same
            hyperparameters and rows, and ends with the bits of one that was not; the file is then
            deleted. Wants an integer as `random_state`, and neither `warm_start` nor
            `feature_scales`.
        every : float, default=60
            Seconds between two of them, >= 0.
        validation : tuple (X, y) or (X, y, sample_weight), or Source, default=None
            With ``early_stopping=True``: rows that the score is taken on, of the same features and
            of labels that `y` has; all of `X` is then trained on. None: a part of `X` is held out.

        @fitted@
        """
        return self._fit_given(X, y, sample_weight, checkpoint, every, validation)

    def _fit_given(
        self, X: Any, y: Any, sample_weight: Any, checkpoint: Any, every: float, validation: Any
    ) -> Self:
        if validation is None:
            return self._fit_kept(X, y, sample_weight, checkpoint, every)
        if not self.early_stopping:
            raise ValueError("validation: only with early_stopping=True")
        if not self._takes_stored:
            raise ValueError(f"validation: {type(self).__name__} fits many machines")
        rows, target, weights = self._three(_out_of_core.align_validation(X, validation))
        with _out_of_core.open_training_rows(self, rows, target, weights) as self._validation:
            try:
                return self._fit_kept(X, y, sample_weight, checkpoint, every)
            finally:
                self.__dict__.pop("_validation", None)

    @staticmethod
    def _three(validation: Any) -> tuple[Any, ...]:
        """Rows, targets and weights; the source alone."""
        if isinstance(validation, Source):
            return validation, None, None
        if not isinstance(validation, tuple) or not 2 <= len(validation) <= 3:
            kind = type(validation).__name__
            raise ValueError(
                f"validation must be (X, y), (X, y, sample_weight) or a source, got {kind}"
            )
        return (*validation, None)[:3]

    def _fit_kept(self, X: Any, y: Any, sample_weight: Any, checkpoint: Any, every: float) -> Self:
        if checkpoint is None:
            return self._watched_fit(X, y, sample_weight)
        for name in ("warm_start", "feature_scales"):
            if getattr(self, name, None):
                raise ValueError(f"checkpoint: not with {name}")
        if not self._takes_stored:
            raise ValueError(f"checkpoint: {type(self).__name__} fits many machines")
        self._checkpoint = Checkpoint(self, checkpoint, every, X)
        try:
            return self._watched_fit(X, y, sample_weight)
        finally:
            self.__dict__.pop("_checkpoint", None)

    def _fit(self, X: Any, y: Any, sample_weight: Any, watcher: Watcher) -> None:
        previous = getattr(self, "_machine", None) if self.warm_start else None
        self._lesson = (sample_weight, watcher.notify)
        X, y = self._check_X_y(X, y, True, None if previous is None else self._dtype())
        self._fit_checked(X, y, sample_weight, watcher, previous)

    def _fit_checked(
        self, X: Any, y: Any, sample_weight: Any, watcher: Watcher, previous: Any = None
    ) -> None:
        known = None if previous is None else getattr(self, "classes_", None)
        target, n_classes = self._encode(y, known)
        weights = _validation.check_weights(sample_weight, X)
        held_out = None
        if self.__dict__.get("_validation") is not None:
            held_out = self._validated(X)
        elif self.early_stopping:
            X, target, weights, held_out = self._hold_out(X, target, weights, n_classes)
        rows = _validation.as_rows(X)
        gamma = self._settle_gamma(rows, X.shape[1], weights, None)
        gamma, spent = self._tune(rows, target, n_classes, weights, gamma, watcher)
        config = self._config(gamma, spent)
        cost = self._cost(target, weights)
        del weights  # eight bytes a sample that the fit has no use for
        trained, report = self._trained(
            (config, rows, target, n_classes, cost), {"start": previous, "validation": held_out},
            watcher,
        )  # fmt: skip
        self._take(trained, report, watcher)

    def _trained(
        self, problem: tuple[Any, ...], begun: dict[str, Any], watcher: Watcher
    ) -> tuple[_core.Machine, dict[str, Any]]:
        """One call of `_core`, with a checkpoint or without."""
        checkpoint: Checkpoint | None = self.__dict__.pop("_checkpoint", None)
        kept = None
        if checkpoint is not None:
            kept = checkpoint.of_fit(
                problem[0], checksum(*problem[1:], *(begun["validation"] or ()))
            )
        trained = _core.train(
            "budget", *problem, notify=watcher.notify, threads=self._threads(), task="fit",
            checkpoint=kept, **begun,
        )  # fmt: skip
        if checkpoint is not None:
            checkpoint.done()
        return trained

    def _goes_on_with(self, reset: bool) -> _core.Machine | None:
        warm = self.warm_start or not reset
        return getattr(self, "_machine", None) if warm else None

    def _tune(
        self, rows: Any, target: Any, n_classes: Any, weights: Any, gamma: float, watcher: Watcher
    ) -> tuple[float, float]:
        """γ, and the seconds that finding it, or C, took."""
        for name in ("C_", "gamma_"):
            self.__dict__.pop(name, None)
        if not any(_tuning.wanted(self)):
            return gamma, 0.0
        one = self._cost(target, weights, balance=True) / self._used_C()
        return _tuning.tune(self, rows, target, n_classes, one, gamma, watcher.notify)

    def _config(self, gamma: float, spent: float = 0.0) -> str:
        time = self._time()
        return _parameters.config(
            self, C=self._used_C(), gamma=gamma, random_state=self._seed(),
            max_time=time if time is None or spent == 0 else max(time - spent, 1e-3),
        )  # fmt: skip

    def _time(self) -> float | None:
        """Seconds that a training call may take."""
        return self.max_time

    def _partial_fit(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, to: tuple[Any, float]
    ) -> Self:
        def step(X: Any, y: Any, sample_weight: Any) -> None:
            with self._training() as watcher:
                self._go_on(X, y, classes, sample_weight, watcher, polish=False)

        _out_of_core.train_blocks(self, step, (X, y, sample_weight), to)
        return self

    @documented
    def polish(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Keep the support vectors and solve for their coefficients (and the offset) on these data.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), or Source
            Rows; all that the machine should fit, not only the newest.
        y : array-like of shape (n_samples,)
            Targets, of known classes.
        @weights@

        @polished@
        """
        check_is_fitted(self)
        with (
            self._training() as watcher,
            _out_of_core.open_training_rows(
                self, _out_of_core.align_columns(self, X), y, sample_weight, watcher.read
            ) as given,
        ):
            X, y, sample_weight = given
            self._go_on(X, y, None, sample_weight, watcher, polish=True)
        return self

    def _go_on(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, watcher: Watcher, polish: bool
    ) -> None:
        """A pass over new rows (the first of all, where there is no machine), or polishing."""
        machine = getattr(self, "_machine", None)
        self._lesson = (sample_weight, watcher.notify)
        X, y = self._check_X_y(X, y, reset=machine is None)
        target, n_classes = self._encode_part(y, classes, first=machine is None)
        weights = _validation.check_weights(sample_weight, X)
        rows = _validation.as_rows(X)
        gamma, spent = self._settle_gamma(rows, X.shape[1], weights, machine), 0.0
        if machine is None:
            gamma, spent = self._tune(rows, target, n_classes, weights, gamma, watcher)
        elif isinstance(self.C, str) and not hasattr(self, "C_"):
            raise ValueError("C='tune' has found nothing yet: training goes on with a number")
        config = self._config(gamma, spent)
        cost = self._cost(target, weights, balance=polish)
        trained, report = _core.train(
            "budget", config, rows, target, n_classes, cost,
            task="polish" if polish else "partial_fit", start=machine,
            notify=watcher.notify, threads=self._threads(),
        )  # fmt: skip
        self._take(trained, report, watcher)

    def _left_out(
        self, X: Any, y: Any, index: np.ndarray, weights: np.ndarray, folds: tuple[np.ndarray, int]
    ) -> np.ndarray | None:
        X, _ = self._check_X_y(X, np.zeros(len(index)), reset=False)
        self.__dict__.pop("_scales_in_use", None)
        config = _parameters.config(self, gamma=self._machine.gamma, random_state=self._seed())
        return _core.left_out(
            "budget", config, _validation.as_rows(X), index, len(self.classes_),
            self._cost(index, weights), start=self._behind_scales(), folds=folds[0],
            n_folds=folds[1], threads=self._threads(),
        )  # fmt: skip

    def _validated(self, X: Any) -> tuple[Any, ...]:
        """The validation part that was given."""
        rows, y, sample_weight = self._validation
        try:
            rows, y = self._check_X_y(rows, y, False, X.dtype)
            target, _ = self._encode_part(y, None, first=False)
            return _validation.as_rows(rows), target, _validation.check_weights(sample_weight, rows)
        except ValueError as error:
            raise ValueError(f"validation: {error}") from None

    def _hold_out(self, X: Any, target: Any, weights: Any, n_classes: Any) -> tuple[Any, ...]:
        """Split off the validation part, by class for classifiers: a row of each stays to train."""
        index, classes = np.arange(X.shape[0]), n_classes is not None
        counts = np.bincount(target)[target] if classes else np.full(len(index), 2)
        some = index[counts > 1]
        try:
            train, test = train_test_split(
                some, test_size=self.validation_fraction, random_state=self._seed(),
                stratify=target[some] if classes else None,
            )  # fmt: skip
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"validation_fraction={self.validation_fraction!r} cannot split these "
                f"{X.shape[0]} samples: {error}"
            ) from None
        if classes:
            of_test, first = np.unique(target[test], return_index=True)
            kept = first[~np.isin(of_test, target[train])]
            train = np.concatenate([train, index[counts == 1], test[kept]])
            test = np.delete(test, kept)
        if not np.any(weights[train] > 0) or not np.any(weights[test] > 0):
            raise ValueError("sample_weight is all zero in the validation or the training part")
        held_out = (_validation.as_rows(_safe_indexing(X, test)), target[test], weights[test])
        return _safe_indexing(X, train), target[train], weights[train], held_out
