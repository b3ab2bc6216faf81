"""What AssetSVC and AssetSVR share: a feature map and a linear machine on it, in one fit."""

from __future__ import annotations

import json
from dataclasses import field
from typing import Any, ClassVar, Literal, Self

from sklearn.exceptions import ConvergenceWarning

from . import _core, _names, _out_of_core, _parameters, _validation
from ._hyperparameters import hyperparameters
from ._machine import FeatureMapEstimator, MachineEstimator, machine_property
from ._progress import Watcher

#: Passes when `max_iter` is None.
DEFAULT_PASSES = {"asset": 20, "dual": 1000}


def streams(estimator: Any) -> bool:
    """Whether there is a `partial_fit`: coordinate ascent wants all rows at once."""
    if estimator.solver == "dual":
        raise AttributeError("partial_fit needs solver='asset'")
    return True


@hyperparameters
class AssetEstimator(MachineEstimator, FeatureMapEstimator):
    """Base of the machines on explicit features; not for use on its own.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a violation, > 0: a sample costs C times its weight, as in `sklearn.svm`.
    features : {"nystroem", "fourier"}, default="nystroem"
        Eigenvectors of the kernel matrix of random landmarks, any kernel; or random Fourier
        features, kernels of a distance (those of `RandomFourier`).
    n_components : int, default=100
        Landmarks, or Fourier features, >= 1. Error falls and time grows with it.
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
        ASSET* [1]_: steps ``1/(λ j)`` instead of ``D_X/(D_G √j)``. A classifier then has no offset.
    averaging : "auto", None, int or float, default="auto"
        Which iterates of "asset" are averaged: none (the answer is the last), so many at the end
        (the paper's tables: 100), or this share of them in (0, 1]; in `partial_fit`, all with
        weights that rise accordingly. "auto" is 0.5.
    fit_intercept : bool, default=False
        Whether there is an offset: not penalised with "asset", penalised with "dual" (a constant
        feature, as in LIBLINEAR).
    max_intercept : float or None, default=None
        B_b of [1]_, the largest magnitude of the offset of "asset", > 0 (in regression, of what it
        adds to the constant that it begins at); with classes, steps are the longer the larger it
        is. None: 1 (in regression, the largest target) plus the largest ``‖w‖ ‖z‖`` that an optimum
        can have. Needs `fit_intercept`.
    max_iter : int or None, default=None
        Passes over the data, >= 1. None: 20 for "asset", 1000 for "dual", which ends at `tol`.
    tol : float, default=1e-2
        "dual" ends when no step of a pass over all samples changed its sample's decision value by
        more than this, > 0; of values in units of the spread of y.
    shrinking : bool, default=True
        Whether "dual" leaves out samples that do not move until the others are done.
    order : {"shuffled", "blocks", "uniform", "sequential"} or list of int, default="shuffled"
        Order of a pass of "asset": a fresh permutation, one of blocks of 4,096 rows and of the rows
        of each (for rows that do not fit into memory), independent draws (the paper's), as given,
        or these indices over and over.
    cache_size : float, default=200
        Megabytes of features that "asset" may keep between passes, >= 0; beyond that they are
        made again in every pass. "dual" keeps them all.
    n_expected : int or None, default=None
        Samples that a stream will have, which sets λ in `partial_fit`. None: those seen so far.

    Attributes
    ----------
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
    objective_ : dict
        "primal" and "dual" objective with ``solver="dual"``, else None.

    Notes
    -----
    Features are made by the block and forgotten: a step costs O(s d + s²) on Nyström's, O(s
    d) on Fourier's, for s components, and memory does not grow with n. Accurate where a few
    hundred features describe the kernel; where it needs thousands `BudgetSVC` or `BudgetSVR`,
    whose terms are chosen by the loss, is the better one. With ``solver="dual"`` the same
    problem to a duality gap, at n s numbers of memory.

    References
    ----------
    .. [1] S. Lee, S. J. Wright, "ASSET: approximate stochastic subgradient estimation training for
       support vector machines", ICPRAM 2012.
    .. [2] T. Glasmachers, "Recipe for fast large-scale SVM training: polishing, parallelism, and
       more RAM!", 2022.
    """

    _page: ClassVar[str] = "primal"

    C: float = field(default=1.0, kw_only=False)
    features: Literal["nystroem", "fourier"] = "nystroem"
    n_components: int = 100
    eigenvalue_threshold: float | None = None
    orthogonal: bool = False
    waves: Literal["shifted", "paired"] = "shifted"
    solver: Literal["asset", "dual"] = "asset"
    strongly_convex: bool = False
    averaging: Literal["auto"] | float | None = "auto"
    fit_intercept: bool = False
    max_intercept: float | None = None
    max_iter: int | None = None
    tol: float = 1e-2
    shrinking: bool = True
    order: _names.Order = "shuffled"
    cache_size: float = 200
    n_expected: int | None = None

    _ranges: ClassVar[dict] = {
        "solver": _parameters.one_of("asset", "dual"),
        "tol": _parameters.positive,
        "cache_size": _parameters.not_negative,
        "max_iter": _parameters.optional(_parameters.count),
    }

    _archived: ClassVar[dict[str, str]] = {"objective_": "objective"}
    _kinds = ("features",)
    _states = ("asset", "none")
    _takes_stored = True

    def _fit(self, X: Any, y: Any, sample_weight: Any, watcher: Watcher) -> None:
        X, y = self._check_X_y(X, y, reset=True)
        target, n_classes = self._encode(y)
        weights = _validation.check_weights(sample_weight, X)
        rows = _validation.as_rows(X)
        gamma = self._settle_gamma(rows, X.shape[1], weights, None)
        self._train(rows, target, n_classes, self._cost(target, weights), gamma, False, watcher)

    def _partial_fit(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, to: tuple[Any, float]
    ) -> Self:
        def step(X: Any, y: Any, sample_weight: Any) -> None:
            self._step(X, y, classes, sample_weight)

        _out_of_core.train_blocks(self, step, (X, y, sample_weight), to)
        return self

    def _step(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> None:
        with self._training() as watcher:
            machine = self.__dict__.get("_machine")
            if machine is not None and not machine.has_state:
                raise ValueError(
                    "partial_fit cannot go on from a fit with solver='dual': fit with "
                    "solver='asset' first"
                )
            X, y = self._check_X_y(X, y, reset=machine is None)
            target, n_classes = self._encode_part(y, classes, machine is None)
            weights = _validation.check_weights(sample_weight, X)
            rows = _validation.as_rows(X)
            gamma = self._settle_gamma(rows, X.shape[1], weights, machine)
            if machine is not None:
                self._check_map(machine, gamma)
            cost = self._cost(target, weights, balance=False)
            self._train(rows, target, n_classes, cost, gamma, True, watcher)

    def _train(
        self, rows: Any, target: Any, n_classes: Any, cost: Any, gamma: float, stream: bool,
        watcher: Watcher,
    ) -> None:  # fmt: skip
        start = self.__dict__.get("_machine") if stream else None
        machine, report = _core.train(
            "asset", self._config(gamma), rows, target, n_classes, cost, start=start, stream=stream,
            notify=watcher.notify, threads=self._threads(),
        )  # fmt: skip
        self.objective_ = report["objective"]
        self._take(machine, report, watcher)
        if report["advice"] is not None:
            _validation.warn(report["advice"], ConvergenceWarning)

    def _check_map(self, machine: _core.Machine, gamma: float) -> None:
        """Refuse hyperparameters that ask for another kernel or other features than this has."""
        kernel = json.loads(machine.kernel)
        shape = {"coef0": self.coef0, "degree": self.degree}
        same = all(kernel.get(name, value) == value for name, value in shape.items())
        if self.kernel != kernel["name"] or not same:
            raise ValueError(
                "kernel, coef0 and degree must stay as they are while training goes on "
                f"({kernel['name']!r}): fit anew"
            )
        features = "fourier" if machine.map_part("phases") is not None else "nystroem"
        if self.features != features:
            raise ValueError(
                f"features must stay as they are while training goes on ({features!r}), got "
                f"{self.features!r}: fit anew"
            )

    def _config(self, gamma: float) -> str:
        averaging = 0.5 if self.averaging == "auto" else self.averaging
        return _parameters.config(self, gamma=gamma, averaging=averaging, random_state=self._seed())

    coef_ = machine_property("coef", "The linear machine on the features.")

    # The terms are the components.
    support_vectors_ = n_terms_ = property()

    def _passes(self) -> Any:
        return self.max_iter or DEFAULT_PASSES.get(str(self.solver), 1)
