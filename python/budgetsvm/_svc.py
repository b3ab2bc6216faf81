"""BudgetSVC: kernel classification with a model of a given size."""

from __future__ import annotations

from typing import Any, Self

from ._base import BudgetMachineEstimator
from ._classifier import Classifier


class BudgetSVC(Classifier, BudgetMachineEstimator):
    r"""Kernel support vector classification with at most `budget` support vectors.

    Minimises ``1/2 ‖w‖² + Σ C_i L(y_i, f(x_i))`` over machines
    ``f(x) = Σ_{j <= budget} coef_j k(s_j, x)`` by dual coordinate ascent [1]_ or stochastic
    gradient descent [2]_: whenever a step adds a term too many, terms are merged. The coefficients
    of the support vectors so found are then solved for (polishing). Problems of no more samples
    than `budget` are solved to 1e-10. Several classes are trained one against the rest, on shared
    support vectors.

    Parameters
    ----------
    budget : int or None, default=200
        The most terms that the model may hold, at least 1: all classes together when they share
        them, each class otherwise. None is no budget: plain coordinate ascent or kernel Pegasos.
    C : float, default=1.0
        Cost of a violation, > 0: a sample costs C times its weight, as in `sklearn.svm`.
    kernel : {"rbf", "laplacian", "poly", "sigmoid", "linear"}, default="rbf"
        ``exp(-γ ‖x-z‖²)``, ``exp(-γ ‖x-z‖₁)``, ``(γ x·z + coef0)^degree``,
        ``tanh(γ x·z + coef0)``, ``x·z``.
    gamma : {"scale", "auto"} or float, default="scale"
        γ > 0. "scale" is ``1 / (n_features * variance of X)``, rows weighted by `sample_weight`;
        "auto" is ``1 / n_features``. `partial_fit` settles it on the first part it sees.
    degree : int, default=3
        Degree of the polynomial kernel, >= 0.
    coef0 : float, default=0.0
        Constant of the polynomial and the sigmoid kernel, finite.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        ``max(0, 1 - y f)`` or its square (solver "bsca" only).
    solver : {"bsca", "bsgd"}, default="bsca"
        Stochastic dual coordinate ascent [1]_ or stochastic gradient descent (Pegasos) [2]_ on a
        budget.
    maintenance : {"auto", "merge", "multi-merge", "remove-smallest", "remove-random", \
        "remove-oldest", "project", "stop"}, default="auto"
        What happens when there is a term too many. "merge" makes one term of `merge_size`
        (kernel "rbf" only), "multi-merge" places it by mean shift, "project" expresses one by the
        others, "stop" refuses new terms. "auto" is "merge" for "rbf" and "project" for others.
    merge_search : {"auto", "golden", "table"}, default="auto"
        How the best point between two terms is found: golden section search, or a table [3]_.
    merge_size : int, default=2
        Terms merged into one at an event, >= 2 and <= budget + 1: more make events rarer [4]_.
    polishing : bool, default=True
        Whether `fit` ends by solving for the coefficients of the terms found.
    smoothing : float, default=0.3
        Half-width h > 0 of the rounded corners of the loss that polishing minimises.
    refine : bool, default=False
        Whether `fit` goes on by moving the points of the terms together with their coefficients,
        along the gradient of what polishing minimised, and polishes again (kernel "rbf" only). A
        small model gains most: 30 refined terms do the work of 100 or more. It costs about
        `refine_iter` passes without maintenance.
    refine_iter : int, default=100
        Evaluations of the objective that refining may take, >= 1; it ends earlier when they no
        longer lower it.
    fit_intercept : bool, default=False
        Whether polishing fits an offset that is not penalised.
    max_iter : int, default=1
        Passes over the data, >= 1.
    tol : float, default=1e-3
        With solver "bsca", passes end when none of a pass's steps changed its sample's decision
        value by more than this, >= 0.
    order : {"shuffled", "uniform", "sequential"} or list of int, default="shuffled"
        Order of a pass: a fresh permutation, independent draws, as given, or these row indices
        over and over.
    shared : bool, default=True
        Whether several classes share the support vectors. If not, every class has a machine of
        `budget` terms of its own.
    class_weight : dict, "balanced" or None, default=None
        Factors of C by class; "balanced" makes every class weigh the same.
    early_stopping : bool, default=False
        Whether to hold out a validation part and stop when its score no longer rises; the best
        model seen is kept.
    validation_fraction : float, default=0.1
        Size of that part, in (0, 1).
    n_iter_no_change : int, default=5
        Passes without a better score that end the fit, >= 1.
    max_time : float or None, default=None
        Seconds after which the fit ends with the model it has, > 0. Passes take at most half of
        them when polishing follows.
    record_objective : bool, default=False
        Whether to record the primal and dual objective after every pass, at the cost of
        predicting every sample once more.
    warm_start : bool, default=False
        Whether `fit` goes on from the model of the last fit; every row is new to it.
    n_expected : int or None, default=None
        For solver "bsgd" in `partial_fit`: samples that the stream will have, which sets the
        step. None: the samples seen so far.
    cache_size : float, default=200
        Megabytes that polishing may hold kernel values in, > 0; beyond that they are recomputed.
    random_state : int, RandomState or None, default=None
        Seed of the order, the validation part and random removal.
    n_jobs : int or None, default=None
        Threads; None is all cores (or ``OMP_NUM_THREADS``), -1 all cores. The result has the same
        bits for any number.
    verbose : int, default=0
        Above 0: a progress line on standard error.
    callback : callable or None, default=None
        Called at most ten times a second and after every pass with a dictionary (phase, iteration,
        seen, n_samples, n_sv, moved, maintained, objective, validation_score, time). Returning
        True ends the fit with the model so far; an exception ends it and changes nothing.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    support_vectors_ : ndarray of shape (n_terms, n_features)
        Points of the terms; with merging they are not training rows.
    dual_coef_ : ndarray of shape (n_outputs, n_terms)
        Coefficients of the terms.
    intercept_ : ndarray of shape (n_outputs,)
        Offsets; zero without `fit_intercept`.
    n_terms_ : int
        Number of terms.
    n_iter_ : int
        Passes made.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X had string column names.
    history_ : dict of ndarray
        Curves of the last training call, an entry a pass: "time" (seconds), "n_sv", "moved" and
        "maintained" (shares of the steps), "primal", "dual", "validation_score" (NaN where not
        measured), "phase" (0 a pass, 1 polishing, 2 refining with
        its polishing).
    objective_ : dict
        "smoothed": what polishing minimised, "primal": the objective with the loss itself; None
        where not computed.
    stop_reason_ : str
        "converged", "max_iter", "max_time", "early_stopping" or "callback".
        Refining ends by `refine_iter` or where it gains nothing; neither is told here.

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

    Examples
    --------
    >>> from budgetsvm import BudgetSVC
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> clf = BudgetSVC(budget=30, C=10, gamma=2, random_state=0).fit(X, y)
    >>> clf.n_terms_ <= 30, clf.score(X, y) > 0.98
    (True, True)
    """

    def __init__(
        self,
        budget: int | None = 200,
        C: float = 1.0,
        *,
        kernel: str = "rbf",
        gamma: str | float = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        loss: str = "hinge",
        solver: str = "bsca",
        maintenance: str = "auto",
        merge_search: str = "auto",
        merge_size: int = 2,
        polishing: bool = True,
        smoothing: float = 0.3,
        refine: bool = False,
        refine_iter: int = 100,
        fit_intercept: bool = False,
        max_iter: int = 1,
        tol: float = 1e-3,
        order: Any = "shuffled",
        shared: bool = True,
        class_weight: Any = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        max_time: float | None = None,
        record_objective: bool = False,
        warm_start: bool = False,
        n_expected: int | None = None,
        cache_size: float = 200,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        self.budget = budget
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.loss = loss
        self.solver = solver
        self.maintenance = maintenance
        self.merge_search = merge_search
        self.merge_size = merge_size
        self.polishing = polishing
        self.smoothing = smoothing
        self.refine = refine
        self.refine_iter = refine_iter
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.order = order
        self.shared = shared
        self.class_weight = class_weight
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.max_time = max_time
        self.record_objective = record_objective
        self.warm_start = warm_start
        self.n_expected = n_expected
        self.cache_size = cache_size
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Go on training with one pass over new rows; no polishing.

        Every row is new: its dual variable starts at 0. After a `fit` it goes on from the fitted
        model, polished or not.

        Expect a polished model to get worse. A step of "bsca" moves the value of a row that
        violates the margin all the way to it, as far as C allows, and no later pass takes back
        what was too much: on noisy data the score swings with the last rows, the more the larger C
        is. The points of the terms stay good. So call `polish` on rows that are still at hand
        before predictions count, or after every few hundred rows: that restores the score. The
        steps of ``solver="bsgd"`` get shorter as rows come, and its score swings less.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            New rows, finite.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that will ever come; needed in the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0, not all zero.

        Returns
        -------
        self : object
            The estimator, trained on.

        Raises
        ------
        ValueError
            If an argument is out of its range, or a label is not in `classes`.
        KeyboardInterrupt
            On Ctrl-C; after any exception the estimator is as before the call.
        """
        return self._partial_fit(X, y, classes, sample_weight)
