"""SVC and NuSVC: exact kernel classification, drop-in for scikit-learn's."""

from __future__ import annotations

import os
import warnings
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import column_or_1d, compute_class_weight
from sklearn.utils._param_validation import Hidden, StrOptions
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import _ovr_decision_function, check_classification_targets

from ._exact import NO_WEIGHT, ONE_CLASS, ExactEstimator


def _has_proba(estimator: Any) -> bool:
    if estimator.probability == "deprecated" or not estimator.probability:
        raise AttributeError("predict_proba is not available when probability=False")
    return True


class ExactClassifier(ClassifierMixin, ExactEstimator):
    """What SVC and NuSVC share; not for use on its own."""

    _archived: ClassVar[dict[str, str]] = {
        **ExactEstimator._archived, "n_iter_": "array", "duality_gap_": "array",
        "class_weight_": "array",
    }  # fmt: skip

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to a safetensors file, whole or not at all.

        Parameters
        ----------
        path : str or path-like
            A file name ending in ``.safetensors``. `budgetsvm.load` reads it back.

        Raises
        ------
        NotFittedError
            If there is nothing to save.
        ValueError
            If the kernel is a function, the estimator was fitted with ``probability=True``, or
            labels are neither numbers, booleans nor strings.
        OSError
            If the file cannot be written; an older one is then still whole.
        """
        if getattr(self, "_calibrated", None) is not None:
            raise ValueError("an estimator with probability=True cannot be saved: use pickle")
        super().save(path)

    _parameter_constraints: ClassVar[dict] = {
        **ExactEstimator._parameter_constraints,
        "probability": ["boolean", Hidden(StrOptions({"deprecated"}))],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
        "random_state": ["random_state"],
    }

    def _validate_targets(self, y: Any) -> np.ndarray:
        labels = column_or_1d(y, warn=True)
        check_classification_targets(y)
        classes, index = np.unique(labels, return_inverse=True)
        self.class_weight_ = compute_class_weight(self.class_weight, classes=classes, y=labels)
        if len(classes) < 2:
            raise ValueError(
                f"The number of classes has to be greater than one; got {len(classes)} class"
            )
        self.classes_ = classes
        return index

    def _bounds(self, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The bound of every α."""
        raise NotImplementedError

    def _problem(self, y: np.ndarray, weights: np.ndarray) -> tuple[Any, int | None, np.ndarray]:
        return y.astype(np.uint32), len(self.classes_), self._bounds(y, weights)

    def _after_fit(self, X: Any, y: Any, sample_weight: Any, random_state: Any) -> None:
        self._calibrated: Any = None
        if self.probability == "deprecated":
            return
        name = type(self).__name__
        warnings.warn(
            "The `probability` parameter was deprecated in 1.9 and "
            "will be removed in version 1.11. "
            f"Use `CalibratedClassifierCV({name}(), ensemble=False)` "
            f"instead of `{name}(probability=True)`",
            FutureWarning,
            stacklevel=4,
        )
        if self.probability:
            seed = int(random_state.randint(np.iinfo(np.int32).max))
            smallest = int(np.bincount(y).min())
            folds: Any
            if smallest >= 2:
                folds = StratifiedKFold(min(5, smallest), shuffle=True, random_state=seed)
            else:
                # A class that cannot be split: the training rows themselves.
                folds = [(np.arange(len(y)), np.arange(len(y)))]
            plain = clone(self).set_params(probability="deprecated")
            labels = self.classes_[y]
            calibrated = CalibratedClassifierCV(plain, method="sigmoid", cv=folds, ensemble=False)
            self._calibrated = calibrated.fit(X, labels, sample_weight=sample_weight)

    def decision_function(self, X: Any) -> np.ndarray:
        """Decision values.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features) or (n_samples, n_train)
            Rows, finite; kernel values against the training rows for ``kernel="precomputed"``.

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_pairs)
            For two classes one value a row (positive: ``classes_[1]``). For more, one a class from
            the votes of all pairs, or with ``decision_function_shape="ovo"`` one a pair.

        Raises
        ------
        NotFittedError, ValueError
            If the estimator is not fitted; if X is not finite or has other features.
        """
        return self._shaped(self._decide(X))

    def _shaped(self, values: np.ndarray) -> np.ndarray:
        """Values of the pairs as `decision_function` gives them."""
        if len(self.classes_) == 2:
            return -values[:, 0]
        if self.decision_function_shape == "ovr":
            return _ovr_decision_function(values < 0, -values, len(self.classes_))
        return values

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row, by the votes of all pairs of classes.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features) or (n_samples, n_train)
            Rows, finite; kernel values against the training rows for ``kernel="precomputed"``.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels out of `classes_`.

        Raises
        ------
        NotFittedError, ValueError
            If the estimator is not fitted; if X is not finite or has other features.
        """
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        return self._voted(self._decide(X))

    def _voted(self, values: np.ndarray) -> np.ndarray:
        """Labels from the values of the pairs."""
        k = len(self.classes_)
        if k == 2:
            return self.classes_[(values[:, 0] <= 0).astype(np.intp)]
        if self.break_ties:
            return self.classes_[_ovr_decision_function(values < 0, -values, k).argmax(axis=1)]
        votes = np.zeros((len(values), k), dtype=np.intp)
        pairs = [(i, j) for i in range(k) for j in range(i + 1, k)]
        for column, (i, j) in zip(values.T, pairs, strict=True):
            votes[:, i] += column > 0
            votes[:, j] += column <= 0
        return self.classes_[votes.argmax(axis=1)]

    @available_if(_has_proba)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes: a `CalibratedClassifierCV` that `fit` has trained.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features) or (n_samples, n_train)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of `classes_`.
        """
        X = X if callable(self.kernel) else self._validate_for_predict(X)
        if getattr(self, "_calibrated", None) is None:
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False"
            )
        return self._calibrated.predict_proba(X)

    @available_if(_has_proba)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of `predict_proba`.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features) or (n_samples, n_train)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Logarithms, in the order of `classes_`.
        """
        return np.log(self.predict_proba(X))

    @property
    def probA_(self) -> np.ndarray:
        """Slopes of the sigmoids of `predict_proba`; deprecated as in scikit-learn 1.9."""
        return self._sigmoids("probA_", "a_")

    @property
    def probB_(self) -> np.ndarray:
        """Offsets of the sigmoids of `predict_proba`; deprecated as in scikit-learn 1.9."""
        return self._sigmoids("probB_", "b_")

    def _sigmoids(self, attribute: str, name: str) -> np.ndarray:
        warnings.warn(
            f"Attribute `{attribute}` was deprecated in version 1.9 and will be removed in "
            "1.11 as the `probability=True` option for SVC and NuSVC was deprecated "
            "and will be removed in 1.11.",
            FutureWarning,
            stacklevel=3,
        )
        if getattr(self, "_calibrated", None) is None:
            return np.empty(0)
        return np.array(
            [getattr(s, name) for s in self._calibrated.calibrated_classifiers_[0].calibrators]
        )

    def _linear_coef(self) -> Any:
        if self.dual_coef_.shape[0] == 1:
            return super()._linear_coef()
        ends = np.cumsum(np.hstack([[0], self._n_support]))
        part = [slice(a, b) for a, b in pairwise(ends)]
        rows = []
        for i in range(len(part)):
            for j in range(i + 1, len(part)):
                plus = self.dual_coef_[j - 1 : j, part[i]]
                minus = self.dual_coef_[i : i + 1, part[j]]
                rows.append(
                    safe_sparse_dot(plus, self.support_vectors_[part[i]])
                    + safe_sparse_dot(minus, self.support_vectors_[part[j]])
                )
        return sp.vstack(rows).tocsr() if sp.issparse(rows[0]) else np.vstack(rows)


class SVC(ExactClassifier):
    r"""Exact kernel support vector classification, a drop-in for `sklearn.svm.SVC`.

    Minimises ``1/2 ‖w‖² + Σ C_i max(0, 1 - y_i f(x_i))`` with an offset by sequential minimal
    optimisation on working sets [1]_ [2]_, several classes one against one. Kernel rows are
    computed as blocks by all threads; the result has the same bits for any number of them.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a violation, in (0, inf].
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="rbf"
        ``x·z``, ``(γ x·z + coef0)^degree``, ``exp(-γ ‖x-z‖²)``, ``tanh(γ x·z + coef0)``; X is the
        kernel matrix; a function of two matrices that returns it.
    degree : int, default=3
        Degree of the polynomial kernel, >= 0.
    gamma : {"scale", "auto"} or float, default="scale"
        γ >= 0. "scale" is ``1 / (n_features * X.var())``, where a row of weight w counts as w
        rows; "auto" is ``1 / n_features``.
    coef0 : float, default=0.0
        Constant of the polynomial and the sigmoid kernel.
    shrinking : bool, default=True
        Accepted for compatibility: working sets take its place.
    probability : bool, default="deprecated"
        Whether `fit` also trains a `CalibratedClassifierCV`, for `predict_proba`.
    tol : float, default=1e-3
        Violation of the optimality conditions at which a fit ends, > 0. Problems of up to 1024
        samples are solved on to about 1e-10.
    cache_size : float, default=200
        Megabytes that kernel rows may take, > 0. From 2048 samples on and for ``tol >= 1e-4`` they
        are float32 for the kernels "rbf" and "linear".
    class_weight : dict, "balanced" or None, default=None
        Factors of C by class.
    verbose : bool, default=False
        Whether to tell progress on standard error.
    max_iter : int, default=-1
        Steps of a pair of variables, at most, for each pair of classes; -1 is no limit but a
        guard of 10 million, or 100 a sample.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Whether decision values of several classes are one a class or one a pair.
    break_ties : bool, default=False
        Whether `predict` decides ties of votes by the decision values.
    random_state : int, RandomState or None, default=None
        Seed of the folds of `probability`.
    max_time : float or None, default=None
        Seconds after which the fit ends with the machine it has.
    n_jobs : int or None, default=None
        Threads; None is all cores (or ``OMP_NUM_THREADS``).
    solver : {"smo", "mpd"}, default="smo"
        Sequential minimal optimisation, or the minimal primal-dual method [3]_: steps of one
        variable, the offset as a multiplier. SMO is the faster one; see `SemiparametricSVC` for
        what only "mpd" does. With it `max_iter` counts steps of one variable.
    update : {"augmented", "newton"}, default="augmented"
        How "mpd" moves its multipliers: by the augmented Lagrangian, or by the paper's own
        diagonal Newton step, which does not converge on the ν-machines.
    constraint_tol : float, default=1e-6
        Violation of an equality constraint at which "mpd" ends, relative to its size, > 0.
    fit_intercept : bool, default=True
        Whether there is an offset. False needs ``solver="mpd"``, which is then the Kernel Adatron.

    Attributes
    ----------
    classes_, class_weight_, support_, support_vectors_, n_support_, dual_coef_, intercept_, \
    coef_, fit_status_, n_iter_, n_features_in_, feature_names_in_, shape_fit_
        As in scikit-learn.
    duality_gap_ : ndarray of shape (n_pairs,)
        Bound of the distance of each pair's objective from its optimum.
    stop_reason_ : str
        "converged", "max_iter" or "max_time".
    constraint_violation_, n_updates_ : ndarray of shape (n_pairs,)
        With ``solver="mpd"``: largest violation of a constraint, updates of the multipliers.

    References
    ----------
    .. [1] C.-C. Chang, C.-J. Lin, "LIBSVM: a library for support vector machines", ACM TIST, 2011.
    .. [2] Z. Wen et al., "ThunderSVM: a fast SVM library on GPUs and CPUs", JMLR 19, 2018.
    .. [3] W. Kienzle, B. Schölkopf, "Training support vector machines with multiple equality
       constraints", ECML 2005.

    Examples
    --------
    >>> from budgetsvm import SVC
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = SVC(C=10).fit(X, y)
    >>> clf.score(X, y) > 0.97, clf.dual_coef_.shape[0]
    (True, 2)
    """

    _impl = "c_svc"
    _parameter_constraints: ClassVar[dict] = {
        name: rule
        for name, rule in ExactClassifier._parameter_constraints.items()
        if name not in ("nu", "epsilon")
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: Any = "deprecated",
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: Any = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        max_time: float | None = None,
        n_jobs: int | None = None,
        solver: str = "smo",
        update: str = "augmented",
        constraint_tol: float = 1e-6,
        fit_intercept: bool = True,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.solver = solver
        self.update = update
        self.constraint_tol = constraint_tol
        self.fit_intercept = fit_intercept

    def _bounds(self, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        if len(np.unique(y[weights > 0])) < 2:
            raise ValueError(ONE_CLASS)
        cost = np.where(weights > 0, self.C * np.maximum(weights, 1e-300), 0.0)
        cost = np.where(cost > 0, cost * self.class_weight_[y], 0.0)
        if not np.any(cost > 0):
            raise ValueError(NO_WEIGHT)
        return np.maximum(cost, 0.0)


class NuSVC(ExactClassifier):
    r"""Exact ν support vector classification, a drop-in for `sklearn.svm.NuSVC`.

    ν bounds the share of margin violations from above and that of support vectors from below.

    Parameters
    ----------
    nu : float, default=0.5
        ν in (0, 1], and feasible: at most twice the smaller class's share, for all pairs.
    kernel, degree, gamma, coef0, shrinking, probability, tol, cache_size, verbose, max_iter, \
    decision_function_shape, break_ties, random_state, max_time, n_jobs, solver, update, \
    constraint_tol, fit_intercept
        As in `SVC`.
    class_weight : dict, "balanced" or None, default=None
        Checked, and without effect, as in scikit-learn.

    Attributes
    ----------
    classes_, class_weight_, support_, support_vectors_, n_support_, dual_coef_, intercept_, \
    coef_, fit_status_, n_iter_, n_features_in_, feature_names_in_, shape_fit_, duality_gap_, \
    stop_reason_
        As in `SVC`.

    Examples
    --------
    >>> from budgetsvm import NuSVC
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> NuSVC(nu=0.2).fit(X, y).score(X, y) > 0.95
    True
    """

    _impl = "nu_svc"
    _parameter_constraints: ClassVar[dict] = {
        name: rule
        for name, rule in ExactClassifier._parameter_constraints.items()
        if name not in ("C", "epsilon")
    }

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: Any = "deprecated",
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: Any = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        max_time: float | None = None,
        n_jobs: int | None = None,
        solver: str = "smo",
        update: str = "augmented",
        constraint_tol: float = 1e-6,
        fit_intercept: bool = True,
    ) -> None:
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.solver = solver
        self.update = update
        self.constraint_tol = constraint_tol
        self.fit_intercept = fit_intercept

    def _bounds(self, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        # LIBSVM's check, on the samples that count.
        if len(np.unique(y[weights > 0])) < 2:
            raise ValueError(
                "specified nu is infeasible: all samples with positive weights belong to the "
                "same class"
            )
        return np.maximum(weights, 0.0)
