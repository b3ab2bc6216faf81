"""AssetSVC and AssetSVR: kernel machines on explicit features."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from sklearn.utils.metaestimators import available_if

from . import _parameters
from ._asset import AssetEstimator, streams
from ._classifier import Classifier
from ._regressor import Regressor

_SHARED = """
    C : float, default=1.0
        Cost of a violation, > 0: a sample costs C times its weight, as in `sklearn.svm`.
    features : {"nystroem", "fourier"}, default="nystroem"
        Eigenvectors of the kernel matrix of random landmarks, any kernel; or random Fourier
        features, kernels "rbf" and "laplacian".
    n_components : int, default=100
        Landmarks, or Fourier features, >= 1. Error falls and time grows with it.
    kernel : {"rbf", "laplacian", "poly", "sigmoid", "linear"}, default="rbf"
        As in `BudgetSVC`.
    gamma : {"scale", "auto"} or float, default="scale"
        γ > 0, as in `BudgetSVC`. `partial_fit` settles it on the first part it sees.
    degree : int, default=3
        Degree of the polynomial kernel, >= 0.
    coef0 : float, default=0.0
        Constant of the polynomial and the sigmoid kernel, finite.
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
""".strip("\n")
_END = """
    random_state : int, RandomState or None, default=None
        Seed of the landmarks or frequencies and of the order.
    n_jobs : int or None, default=None
        Threads; None is all cores (or ``OMP_NUM_THREADS``), -1 all cores. The result has the same
        bits for any number.
    verbose : int, default=0
        Above 0: a progress line on standard error.
    callback : callable or None, default=None
        As in `BudgetSVC`; returning True ends the fit with the machine so far.
""".strip("\n")
_LEARNT = """
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
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X had string column names.

    References
    ----------
    .. [1] S. Lee, S. J. Wright, "ASSET: approximate stochastic subgradient estimation training for
       support vector machines", ICPRAM 2012.
    .. [2] T. Glasmachers, "Recipe for fast large-scale SVM training: polishing, parallelism, and
       more RAM!", 2022.
""".strip("\n")


class AssetSVC(Classifier, AssetEstimator):
    __doc__ = f"""Kernel support vector classification on explicit features.

    Minimises ``1/2 ‖w‖² + Σ C_i L(y_i, w·z(x_i) + b)`` where products of features ``z`` stand for
    a kernel. Several classes are trained one against the rest, on the same features.

    Parameters
    ----------
{_SHARED}
    loss : {{"hinge", "squared_hinge"}}, default="hinge"
        ``max(0, 1 - y f)`` or its square (solver "dual" only).
    class_weight : dict, "balanced" or None, default=None
        Factors of C by class; "balanced" makes every class weigh the same.
{_END}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
{_LEARNT}

    Examples
    --------
    >>> from budgetsvm import AssetSVC
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> clf = AssetSVC(C=10, gamma=2, n_components=50, random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.98
    True
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        features: str = "nystroem",
        n_components: int = 100,
        kernel: str = "rbf",
        gamma: str | float = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        eigenvalue_threshold: float | None = None,
        orthogonal: bool = False,
        waves: str = "shifted",
        solver: str = "asset",
        strongly_convex: bool = False,
        averaging: Any = "auto",
        loss: str = "hinge",
        fit_intercept: bool = False,
        max_iter: int | None = None,
        tol: float = 1e-2,
        shrinking: bool = True,
        order: Any = "shuffled",
        class_weight: Any = None,
        max_time: float | None = None,
        cache_size: float = 200,
        n_expected: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        self.C = C
        self.features = features
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.eigenvalue_threshold = eigenvalue_threshold
        self.orthogonal = orthogonal
        self.waves = waves
        self.solver = solver
        self.strongly_convex = strongly_convex
        self.averaging = averaging
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shrinking = shrinking
        self.order = order
        self.class_weight = class_weight
        self.max_time = max_time
        self.cache_size = cache_size
        self.n_expected = n_expected
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    @available_if(streams)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Go on training with one pass over new rows (solver "asset").

        The feature map of the first call stays, and with it `features`, the kernel and `gamma`;
        `n_components`, `waves`, `orthogonal` and `eigenvalue_threshold` count in the first call
        alone. How the rows are cut into parts changes the result: the step lengths and the order
        within a part depend on it.

        The first call fits the feature map to its rows, so they should be as many as
        `n_components` and like those to come.

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


class AssetSVR(Regressor, AssetEstimator):
    __doc__ = f"""Kernel support vector regression on explicit features.

    Minimises ``1/2 ‖w‖² + Σ C_i max(0, |y_i - w·z(x_i) - b| - epsilon)`` where products of
    features ``z`` stand for a kernel. Standardise y first.

    Parameters
    ----------
{_SHARED}
    epsilon : float, default=0.1
        Half-width of the tube without cost, >= 0, in units of y.
    loss : {{"epsilon_insensitive", "squared_epsilon_insensitive"}}, default="epsilon_insensitive"
        The excess over the tube, or its square (solver "dual" only).
{_END}

    Attributes
    ----------
{_LEARNT}

    Examples
    --------
    >>> import numpy as np
    >>> from budgetsvm import AssetSVR
    >>> X = np.linspace(-3, 3, 2000).reshape(-1, 1)
    >>> y = np.sin(2 * X[:, 0])
    >>> AssetSVR(C=10, gamma=1, n_components=30, random_state=0).fit(X, y).score(X, y) > 0.95
    True
    """

    _ranges: ClassVar[dict] = {
        **AssetEstimator._ranges,
        "loss": _parameters.one_of("epsilon_insensitive", "squared_epsilon_insensitive"),
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        epsilon: float = 0.1,
        features: str = "nystroem",
        n_components: int = 100,
        kernel: str = "rbf",
        gamma: str | float = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        eigenvalue_threshold: float | None = None,
        orthogonal: bool = False,
        waves: str = "shifted",
        solver: str = "asset",
        strongly_convex: bool = False,
        averaging: Any = "auto",
        loss: str = "epsilon_insensitive",
        fit_intercept: bool = False,
        max_iter: int | None = None,
        tol: float = 1e-2,
        shrinking: bool = True,
        order: Any = "shuffled",
        max_time: float | None = None,
        cache_size: float = 200,
        n_expected: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.features = features
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.eigenvalue_threshold = eigenvalue_threshold
        self.orthogonal = orthogonal
        self.waves = waves
        self.solver = solver
        self.strongly_convex = strongly_convex
        self.averaging = averaging
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shrinking = shrinking
        self.order = order
        self.max_time = max_time
        self.cache_size = cache_size
        self.n_expected = n_expected
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    @available_if(streams)
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Go on training with one pass over new rows (solver "asset").

        The feature map of the first call stays, and with it `features`, the kernel and `gamma`;
        `n_components`, `waves`, `orthogonal` and `eigenvalue_threshold` count in the first call
        alone. How the rows are cut into parts changes the result: the step lengths and the order
        within a part depend on it.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            New rows, finite.
        y : array-like of shape (n_samples,)
            Their values, finite.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0, not all zero.

        Returns
        -------
        self : object
            The estimator, trained on.

        Raises
        ------
        ValueError
            If an argument is out of its range.
        KeyboardInterrupt
            On Ctrl-C; after any exception the estimator is as before the call.
        """
        return self._partial_fit(X, y, None, sample_weight)
