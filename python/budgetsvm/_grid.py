"""BudgetSVCCV and BudgetSVRCV: C and γ by cross-validation, at the price of a few fits."""

from __future__ import annotations

import time
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import check_cv

from . import _core, _validation
from ._base import BudgetMachineEstimator
from ._callbacks import with_callbacks
from ._docs import documented
from ._hyperparameters import hyperparameters
from ._progress import Watcher
from ._scoring import FoldScores
from ._svc import BudgetSVC
from ._svr import BudgetSVR

#: Ends of the grids that a number asks for: of C, and of γ in units of "scale".
_CS = (1e-1, 1e3)
_GAMMAS = (1 / 32, 32.0)


@hyperparameters
class GridSearchEstimator(BudgetMachineEstimator):
    """Base of the budgeted machines with a grid search over C and γ; not for use on its own.

    Parameters
    ----------
    Cs : int or array-like, default=10
        Costs of a violation that are tried, > 0; a number of them from 0.1 to 1000.
    gammas : int or array-like, default=10
        γ that are tried, > 0; a number of them from 1/32 to 32 times ``gamma="scale"``. A linear
        kernel has none.
    cv : int, splitter or iterable, default=5
        Folds, as in scikit-learn: of classes stratified; an iterable gives rows to train on and
        rows to test. Not kept in a file, unless a number.
    scoring : str, callable or None, default=None
        What a place is judged by: the name of a scorer or a scorer, as in scikit-learn; None is
        accuracy, or R², in which rows weigh as they do in the fit: with ``class_weight="balanced"``
        that is the balanced accuracy. A scorer may ask for probabilities: with ``loss="log_loss"``
        they are the machine's own, else those of sigmoids that are fitted to the other folds, and
        the machine that is fitted in the end is calibrated by the values of all folds
        (`predict_proba`). A scorer that cannot judge these targets is refused before any work. A
        callable is not kept in a file.
    halving : bool, default=True
        Whether a part of a fold's rows (a fifth, and 500 where that is no more than half), with
        half of the terms, say first which places are clearly bad: only the best (4 of 25, 9 of 100)
        are trained on all rows of a fold, fewer of them from fold to fold, two in the last ones,
        and one of these is chosen. False trains all of them on all, as a `scoring` does, and folds
        of fewer than 400 rows or 16 a class.
    refit : bool, default=True
        Whether a machine is fitted to all rows with the best place. Without it there is no machine.
    max_time : float or None, default=None
        Seconds, > 0: the grid ends after 0.7 of them with the places and folds that it has reached,
        and the fit to all rows has the rest.

    Attributes
    ----------
    C_, gamma_ : float
        The best place, which the machine is fitted with.
    best_params_ : dict
        The same by the names "C" and "gamma".
    best_score_ : float
        Its mean score. Not there where `max_time` left no time for a place.
    cv_results_ : dict of lists and arrays
        As that of scikit-learn's searches, for `pandas.DataFrame`: "params", "param_C",
        "param_gamma", "split0_test_score" and so on, "mean_test_score", "std_test_score",
        "rank_test_score"; "n_resources", the rows of a fold that the place was trained on: places
        of more rows, then of more folds, rank first. NaN where a place was not reached or was given
        up. Not in a file.
    n_splits_ : int
        Number of folds.
    """

    Cs: Any = 10
    gammas: Any = 10
    cv: Any = 5
    scoring: Any = None
    halving: bool = True
    refit: bool = True

    _without = ("C", "gamma", "warm_start")
    _takes_stored = False  # scorers ask for labels
    _archived: ClassVar[dict[str, str]] = {
        "best_score_": "number?",
        "n_splits_": "count?",
    }

    C_: float
    gamma_: float
    _left: float | None = None

    @property  # type: ignore[misc]
    def C(self) -> float:  # type: ignore[override]
        """The cost that the grid has chosen."""
        return self.__dict__.get("C_", 1.0)

    @property  # type: ignore[misc]
    def gamma(self) -> Any:  # type: ignore[override]
        """The γ that the grid has chosen."""
        return self.__dict__.get("gamma_", "scale")

    @property
    def best_params_(self) -> dict[str, float]:
        """The best place by names."""
        return {"C": self._learnt("C_"), "gamma": self._learnt("gamma_")}

    @with_callbacks
    @documented
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, checkpoint: Any = None,
        every: float = 60, validation: Any = None, groups: Any = None,
    ) -> Self:  # fmt: skip
        """Choose C and γ on the grid, and fit the machine with them to all rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Training rows, finite. Float32 and float64 are used as they are, without a copy.
        y : array-like of shape (n_samples,)
            Class labels of any sortable kind, at least two; finite numbers for regression.
        @weights@
        checkpoint, every, validation : object
            Refused: a search fits many machines.
        groups : array-like of shape (n_samples,), default=None
            The group of each row, for a splitter that keeps groups together (``cv=GroupKFold(5)``).

        @fitted@
        """
        self._groups = groups
        try:
            return self._fit_given(X, y, sample_weight, checkpoint, every, validation)
        finally:
            self.__dict__.pop("_groups", None)

    def _fit(self, X: Any, y: Any, sample_weight: Any, watcher: Watcher) -> None:
        began = time.perf_counter()
        if isinstance(self.feature_scales, str):
            raise ValueError(
                'feature_scales="learn" chooses a gamma of its own: learn the scales with '
                "BudgetSVC or BudgetSVR and give their feature_scales_ to the grid"
            )
        for name in ("C_", "gamma_", "best_score_", "cv_results_", "_machine", "_left"):
            self.__dict__.pop(name, None)
        checked, labels = self._check_X_y(X, y, reset=True)
        target, n_classes = self._encode(labels)
        weights = _validation.check_weights(sample_weight, checked)
        rows = _validation.as_rows(checked)
        scale = _validation.settle_gamma("scale", rows, checked.shape[1], weights)
        Cs = _grid(self.Cs, *_CS)
        gammas = _grid(self.gammas, _GAMMAS[0] * scale, _GAMMAS[1] * scale, scale)
        if self.kernel == "linear":
            gammas = np.array([scale])
        groups = self.__dict__.pop("_groups", None)
        splitter = check_cv(self.cv, labels, classifier=is_classifier(self))
        splits = [tuple(map(np.asarray, fold)) for fold in splitter.split(checked, labels, groups)]
        if self.max_time is not None:
            self._left = 0.7 * float(self.max_time)
        folds = [(_rows(train, len(labels)), _rows(test, len(labels))) for train, test in splits]
        judge = None
        if self.scoring is not None:
            index = None if n_classes is None else target
            tests = [test for _, test in splits]
            judge = FoldScores(self, (checked, labels), index, weights, tests)
        config, cost = self._config(scale), self._cost(target, weights)
        halving = self.halving and self.scoring is None
        scores, values, shares, stop = _core.cross_validate(
            config, rows, target, n_classes, cost,
            grid=(Cs.tolist(), gammas.tolist(), halving),
            folds=folds,
            weights=cost, keep=self.scoring is not None, notify=watcher.notify,
            threads=self._threads(),
        )  # fmt: skip
        if judge is not None:
            scores = judge.of(values)
        table = np.array(scores).reshape(len(splits), len(gammas), len(Cs)).transpose(0, 2, 1)
        share = np.array(shares).reshape(len(gammas), len(Cs)).T.ravel()
        best = self._choose(table.reshape(len(splits), -1), Cs, gammas, share)
        self.cv_results_["n_resources"] = np.ceil(share * len(folds[0][0])).astype(np.int64)
        self.n_splits_ = len(splits)
        if self.max_time is not None:
            self._left = max(float(self.max_time) - (time.perf_counter() - began), 1e-3)
        if self.refit:
            self._fit_checked(checked, labels, sample_weight, watcher)
            asked = judge is not None and judge.asked and not self._gives_probabilities()
            if judge is not None and n_classes is not None and asked:
                curves = judge.curves(values[best :: table[0].size])
                self._machine = self._machine.with_sigmoids(curves, n_classes)
        else:
            self.stop_reason_ = "max_iter"
            self.__dict__.pop("_scales_in_use", None)
        self.__dict__.pop("_left", None)
        self.stop_reason_ = stop or self.stop_reason_

    def _choose(
        self, table: np.ndarray, Cs: np.ndarray, gammas: np.ndarray, share: np.ndarray
    ) -> int:
        """The best place of scores, folds by places: the best mean of those of most rows in most
        folds; its number among the values of a fold, γ by γ and then C by C."""
        reached = np.isfinite(table).sum(axis=0)
        sums = np.where(np.isfinite(table), table, 0.0).sum(axis=0)
        mean = np.divide(sums, reached, where=reached > 0, out=np.full(len(sums), np.nan))
        most = np.array([reached[share == of].max() for of in share])
        known = (reached > 0) & (reached == most)
        at_c, at_gamma = (grid.ravel() for grid in np.meshgrid(Cs, gammas, indexing="ij"))
        best = len(Cs) // 2 * len(gammas) + len(gammas) // 2
        last = known & (share == share.max())
        if last.any():
            best = int(np.where(last, mean, -np.inf).argmax())
            self.best_score_ = float(mean[best])
        self.C_, self.gamma_ = float(at_c[best]), float(at_gamma[best])
        spread = np.full(len(sums), np.nan)
        whole = reached == len(table)
        spread[whole] = table[:, whole].std(axis=0)
        # More rows, more folds, a higher mean: in this order.
        judged = np.stack([share, reached, np.where(reached > 0, mean, -np.inf)], axis=1)
        _, equal, count = np.unique(judged, axis=0, return_inverse=True, return_counts=True)
        rank = 1 + len(judged) - count.cumsum()[equal.ravel()]
        self.cv_results_ = {
            "params": [
                {"C": float(c), "gamma": float(g)} for c, g in zip(at_c, at_gamma, strict=True)
            ],
            "param_C": at_c,
            "param_gamma": at_gamma,
            **{f"split{f}_test_score": scores for f, scores in enumerate(table)},
            "mean_test_score": mean,
            "std_test_score": spread,
            "rank_test_score": rank.astype(np.int32),
        }
        return best % len(gammas) * len(Cs) + best // len(gammas)

    def _tune(self, *given: Any) -> tuple[float, float]:
        """γ is chosen, and so is C; a stream that begins without `fit` has "scale", and C = 1."""
        return self.__dict__.get("gamma_", given[4]), 0.0

    def _time(self) -> float | None:
        return self.max_time if self._left is None else self._left

    def _look_at_fit(self) -> None:
        if self.refit:
            super()._look_at_fit()


def _grid(value: Any, first: float, last: float, middle: float | None = None) -> np.ndarray:
    """The places that a hyperparameter stands for."""
    if np.ndim(value):
        return np.asarray(value, dtype=np.float64)
    if value == 1:
        return np.array([np.sqrt(first * last) if middle is None else middle])
    return np.geomspace(first, last, int(value))


def _rows(part: np.ndarray, n: int) -> list[int]:
    """Numbers of rows, of which a mask is another way to speak."""
    found = np.flatnonzero(part) if part.dtype == bool else part.astype(np.int64)
    if found.size == 0 or found.min() < -n or found.max() >= n:
        raise ValueError(f"cv has a split that is empty or names rows beyond the {n} of X")
    return (found % n).tolist()


@hyperparameters
class BudgetSVCCV(GridSearchEstimator, BudgetSVC):
    """`BudgetSVC` whose C and γ are chosen by cross-validation on a grid.

    Every place of the grid is judged on every fold, as scikit-learn's `GridSearchCV` does it, at a
    fraction of the time: a fold finds the support vectors once for a γ, at the middle C, and solves
    for the coefficients of every C, from one C to the next; and only the best places are trained on
    all rows of a fold (`halving`). The machine itself is fitted to all
    rows with the best place; it is used as a `BudgetSVC` is, and has its attributes.

    Examples
    --------
    >>> from budgetsvm import BudgetSVCCV
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(1000, noise=0.2, random_state=0)
    >>> clf = BudgetSVCCV(budget=30, Cs=3, gammas=3, random_state=0).fit(X, y)
    >>> clf.best_score_ > 0.95, len(clf.cv_results_["params"])
    (True, 9)
    """


@hyperparameters
class BudgetSVRCV(GridSearchEstimator, BudgetSVR):
    """`BudgetSVR` whose C and γ are chosen by cross-validation on a grid, as by `BudgetSVCCV`.

    Examples
    --------
    >>> import numpy as np
    >>> from budgetsvm import BudgetSVRCV
    >>> X = np.linspace(0, 6, 500)[:, None]
    >>> reg = BudgetSVRCV(budget=20, Cs=3, gammas=3, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> reg.best_score_ > 0.5, reg.score(X, np.sin(X[:, 0])) > 0.95
    (True, True)
    """
