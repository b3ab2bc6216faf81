"""PrimalSVC: kernel and linear classification by Newton's method in the primal."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from . import _parameters
from ._classifier import Classifier, one_column_flat
from ._primal import PrimalEstimator


class PrimalSVC(Classifier, PrimalEstimator):
    r"""Support vector classification solved in the primal [1]_.

    Minimises ``1/2 ‖f‖² + Σ C_i L(y_i, f(x_i) + b)`` by Newton's method or by preconditioned
    conjugate gradients, over expansions in all samples, over expansions in a few basis points, or
    over linear functions. Several classes are trained one against the rest, on the same kernel
    values.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a violation, > 0: a sample costs C times its weight. The paper's λ is 1/(2C).
    kernel : {"rbf", "laplacian", "poly", "sigmoid", "linear"}, default="rbf"
        ``exp(-γ ‖x-z‖²)``, ``exp(-γ ‖x-z‖₁)``, ``(γ x·z + coef0)^degree``,
        ``tanh(γ x·z + coef0)``, ``x·z``. With "linear" and without a basis the weights of the
        features are solved for. "sigmoid", and "poly" with a negative `coef0`, are positive
        definite for few data: a ValueError says so where the objective has no minimum.
    gamma : {"scale", "auto"} or float, default="scale"
        γ > 0. "scale" is ``1 / (n_features * variance of X)``, rows weighted by `sample_weight`;
        "auto" is ``1 / n_features``.
    degree : int, default=3
        Degree of the polynomial kernel, >= 0.
    coef0 : float, default=0.0
        Constant of the polynomial and the sigmoid kernel, finite.
    loss : {"squared_hinge", "hinge", "least_squares"}, default="squared_hinge"
        ``max(0, 1 - y f)²``; ``max(0, 1 - y f)`` with its corner rounded (`smoothing`);
        ``(y - f)²``.
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
    max_time : float or None, default=None
        Seconds after which the fit ends with the machine it has, > 0.
    cache_size : float, default=1000
        Megabytes for kernel values and factors, > 0. A Newton step on n samples may need 24 n²
        bytes; more than allowed is refused before the fit starts.
    class_weight : dict, "balanced" or None, default=None
        Factors of C by class; "balanced" makes every class weigh the same.
    leave_one_out : bool, default=False
        Whether to find what the machine would say about each sample without it (Newton's method on
        all samples alone); about twice the time of the last step.
    tune : bool, default=False
        Whether C and γ are found first, beginning with those given or better ones that a look at a
        few samples finds: by the gradient of the leave-one-out criterion, then by the
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
    n_jobs : int or None, default=None
        Threads; None is all cores (or ``OMP_NUM_THREADS``), -1 all cores. The result has the same
        bits for any number.
    verbose : int, default=0
        Above 0: a progress line on standard error.
    callback : callable or None, default=None
        Called at most ten times a second with a dictionary (phase, iteration, objective, time,
        ...). Returning True ends the fit with the machine so far; an exception ends it and changes
        nothing.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
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
    loo_decision_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        With `leave_one_out`: the decision value of each sample by the machine trained without it
        (NaN where its weight is 0). Exact where no other sample changes its part in the solution,
        else an estimate.
    loo_score_ : float
        Accuracy of these, weighted.
        Neither is there when `max_time` or the callback ended the fit before them.
    n_iter_ : int
        Steps of the output that took most. Newton's method on a kernel begins with parts of the
        samples: steps there are in `history_` alone. With `refine`, its evaluations count too.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X had string column names.
    history_ : dict of ndarray
        "time" (seconds) and "objective" at the steps of the first output.
    objective_ : dict
        "smoothed": what was minimised, "primal": the same with the loss itself.
    stop_reason_ : str
        "converged", "max_iter", "max_time" or "callback". Refining ends by `refine_iter` or where
        it gains nothing; neither is told here.

    References
    ----------
    .. [1] O. Chapelle, "Training a support vector machine in the primal", Neural Computation 19,
       2007.

    Examples
    --------
    >>> from budgetsvm import PrimalSVC
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> PrimalSVC(C=10, gamma=2).fit(X, y).score(X, y) > 0.98
    True
    """

    _losses: ClassVar[tuple[str, ...]] = ("squared_hinge", "hinge", "least_squares")
    _ranges: ClassVar[dict] = {**PrimalEstimator._ranges, "loss": _parameters.one_of(*_losses)}

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: str = "rbf",
        gamma: str | float = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        loss: str = "squared_hinge",
        smoothing: float = 0.05,
        fit_intercept: bool = True,
        solver: str = "auto",
        basis: Any = None,
        n_components: int = 500,
        refine: bool = False,
        refine_iter: int = 100,
        tol: float = 1e-5,
        max_iter: int = 1000,
        max_time: float | None = None,
        cache_size: float = 1000,
        class_weight: Any = None,
        leave_one_out: bool = False,
        tune: bool = False,
        tune_size: int = 1500,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.loss = loss
        self.smoothing = smoothing
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.basis = basis
        self.n_components = n_components
        self.refine = refine
        self.refine_iter = refine_iter
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.leave_one_out = leave_one_out
        self.tune = tune
        self.tune_size = tune_size
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def _same_outputs(self, last: dict[str, Any]) -> bool:
        return "intercept_" in last and np.array_equal(last["classes_"], self.classes_)

    def _take_left_out(self, values: np.ndarray, y: np.ndarray, weights: np.ndarray) -> None:
        known = np.isfinite(values[:, 0])
        right = self._labels(values[known]) == y[known]
        self.loo_decision_ = one_column_flat(values)
        self.loo_score_ = float(np.average(right, weights=weights[known]))
