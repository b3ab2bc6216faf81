"""SVC and NuSVC: exact kernel classification, drop-in for scikit-learn's."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ._exact import NO_WEIGHT, ONE_CLASS
from ._exact_classifier import ExactClassifier


class SVC(ExactClassifier):
    r"""Exact kernel support vector classification, a drop-in for `sklearn.svm.SVC`.

    Minimises ``1/2 ‖w‖² + Σ C_i max(0, 1 - y_i f(x_i))`` with an offset by sequential minimal
    optimisation on working sets [1]_ [2]_, several classes one against one. Kernel rows are
    computed as blocks by all threads; the result has the same bits for any number of them.
    Training is in float64, kernel rows apart (`cache_size`). Kernel values of rows to predict are
    float64 too, but float32 for float32 rows under "rbf" (features up to 1e12), summed in float64:
    faster, and off by at most about 1e-7 times the sum of the magnitudes of `dual_coef_`.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a violation, in (0, inf].
    kernel : a kernel of `BudgetSVC`, "precomputed" or callable, default="rbf"
        With "precomputed" X is the kernel matrix; a function is given two matrices and returns
        it.
    degree : int, default=3
        Degree of the polynomial kernel, >= 0.
    gamma : {"scale", "auto"} or float, default="scale"
        γ >= 0. "scale" is ``1 / (n_features * X.var())``; with `sample_weight` a row of weight w
        counts as w rows, where scikit-learn counts it as one: give that number for its γ. "auto"
        is ``1 / n_features``.
    coef0 : float, default=0.0
        Constant of the polynomial and the sigmoid kernel.
    shrinking : bool, default=True
        Whether `solver="smo"` works on a part of the samples at a time from 2048 samples on. What
        was left out is looked at again before the end, so the answer is as exact.
    probability : bool, default="deprecated"
        Whether `fit` also learns a sigmoid for each pair of classes, from five more fits on parts
        of the rows, for `predict_proba` [4]_.
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
    .. [4] T.-F. Wu, C.-J. Lin, R. C. Weng, "Probability estimates for multi-class classification
       by pairwise coupling", JMLR 5, 2004.

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
        self._keep(locals())

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
        self._keep(locals())

    def _bounds(self, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        # LIBSVM's check, on the samples that count.
        if len(np.unique(y[weights > 0])) < 2:
            raise ValueError(
                "specified nu is infeasible: all samples with positive weights belong to the "
                "same class"
            )
        return np.maximum(weights, 0.0)
