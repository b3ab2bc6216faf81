"""What AutoSVC and AutoSVR share: a table in, one call of `_core.train`, what it found."""

from __future__ import annotations

import itertools
from dataclasses import field
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from . import _column_encoders, _columns, _core, _frames, _parameters, _validation
from ._estimator import FLOATS
from ._hyperparameters import hyperparameters
from ._machine import TrainableMachine
from ._progress import Watcher
from ._validation import validate_data


@hyperparameters
class AutoEstimator(TrainableMachine):
    """Base of the machines that tune themselves; not for use on its own.

    Parameters
    ----------
    budget : int or None, default=None
        The most terms that the model may hold, >= 1: what a prediction costs. None: for each of
        its one or two kernels a term for every row up to 16,000 rows, and 4,000 terms beyond.
    learn_scales : bool, default=True
        Whether every feature gets a scale of its own, learnt from the data.
    max_time : float or None, default=None
        Seconds after which the fit ends with the best machine so far, > 0: half of them for the
        search, the rest for the fit to all rows. The first machine is there after a fraction of a
        second, and is what comes back from a shorter time. A ConvergenceWarning says what the time
        was too short for.

    Attributes
    ----------
    leaderboard_ : list of dict
        The kernels judged, best first: "kernel" ("rbf" or "laplacian"), "coding" of the features
        ("standard" or "ranks"), "scales" (where they come from: the "width" alone, "gradient
        products" or "descent"), "lambda" (the ridge, as a share of the mean weight; of
        those in the machine the one that all rows were fitted with), "error" (mean
        square of what is missed on rows held out, as a share of the variance) and "weight" in the
        machine.
    kernels_ : list of str
        The kernels that the machine is the sum of, the heavier first.
    weights_ : ndarray of shape (n_kernels,)
        Their weights, of sum 1.
    feature_scales_ : ndarray of shape (n_features,)
        What the features are multiplied by once they are coded, as a share of the largest: how
        much the machine looks at each. The weighted mean over the kernels; of a feature that
        becomes several columns the largest.
    feature_importances_ : ndarray of shape (n_features,)
        `feature_scales_` as shares of their sum.
    gamma_ : ndarray of shape (n_kernels,)
        γ of each kernel, of coded features whose largest scale is 1.
    C_ : ndarray of shape (n_kernels,)
        The cost of each kernel's squared errors, ``1 / (2 λ n)``: what is minimised is
        ``1/2 ‖w‖² + C Σ weight (y - f)²``, with weights of mean 1 and values of spread 1.
        Of classes with a `budget` up to 1,500: ``max(0, 1 - y f)²`` in place of the squares, unless
        these made fewer mistakes on rows held out.
    n_terms_ : int
        Number of terms, those of all kernels together.
    history_ : dict of ndarray
        At the end of every part of the search and of the fits after it "time", in seconds, and the
        least "error" of a candidate so far, as a share of the variance: by leaving one out, and
        on rows held out once the candidates are judged.

    Notes
    -----
    The search makes up to some 150 evaluations of O(3000 · 300 · (d + 300)), whatever n: seconds.
    The last fit is O(n³) up to 4,096 rows, where the system is factored in double precision
    (memory 24 n² bytes), O(n²) a step of conjugate gradients up to 16,000 (4 n² bytes), or O(4000
    n d), with at most 1 GiB of kernel values kept. A machine that is worse, on rows that it can
    see, than the kernels that were chosen, or than a constant, is not handed out: it is fitted
    with a larger ridge, and where nothing helps it is a constant and a ConvergenceWarning says
    so. `stop_reason_` is "max_iter" where conjugate gradients ended before they had solved their
    system. A prediction costs `n_terms_` kernel values, which `budget` bounds. Where C and gamma
    are known `BudgetSVC`, `SVC` and their like are faster and smaller; wide sparse rows are for
    ``PrimalSVC(kernel="linear")``.

    References
    ----------
    .. [1] A. Radhakrishnan, D. Beaglehole, P. Pandit, M. Belkin, "Mechanism for feature learning in
       neural networks and backpropagation-free machine learning models", Science 383, 2024.
    .. [2] O. Chapelle, "Training a support vector machine in the primal", Neural Computation 19,
       2007 (section on hyperparameters).
    .. [3] A. Rudi, L. Carratino, L. Rosasco, "FALKON: an optimal large scale kernel method",
       NIPS 2017.
    """

    _page: ClassVar[str] = "auto"

    budget: int | None = field(default=None, kw_only=False)
    learn_scales: bool = True

    _ranges: ClassVar[dict] = {
        "budget": _parameters.optional(_parameters.count),
        "learn_scales": _parameters.flag,
    }
    _archived: ClassVar[dict[str, str]] = {
        "leaderboard_": "leaderboard",
        "feature_scales_": "float64",
        "_plans": "plans?",
        "_calibration": "numbers",
        "C_": "numbers?",
        "gamma_": "numbers?",
    }
    _kinds = ("coded",)
    #: What of the search is done, as JSON, for measurements (benches/python/auto.py).
    _recipe: ClassVar[str | None] = None
    _family = "auto"

    leaderboard_: list[dict[str, Any]]
    feature_scales_: np.ndarray

    def _fit(self, X: Any, y: Any, sample_weight: Any, watcher: Watcher) -> None:
        X, y = self._checked(X, y)
        target, n_classes = self._encode(y)
        weights = _validation.check_weights(sample_weight, y)
        X = self._numbers(X, target, n_classes, weights)
        rows = _validation.as_rows(X)
        config = _parameters.config(self, random_state=self._seed())
        machine, report = _core.train(
            "auto", config, rows, target, n_classes, self._cost(target, weights),
            notify=watcher.notify, threads=self._threads(), recipe=self._recipe,
        )  # fmt: skip
        self.leaderboard_ = report["judged"]
        self._calibration = report["calibration"]
        self.C_, self.gamma_ = report["C"], report["gamma"]
        self.feature_scales_ = self._of_features(report["scales"])
        self._take(machine, report, watcher)
        if report["advice"]:
            _validation.warn(f"{type(self).__name__}: {report['advice']}", ConvergenceWarning)

    def _checked(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Rows, NaN among them, and targets; of a frame with levels its columns."""
        numeric = self.__sklearn_tags__().estimator_type == "regressor"
        _columns.forget(self)
        frame = None if _frames.is_plain(X) else _frames.frame_of(X)
        if frame is None:
            return validate_data(
                self, X, y, accept_sparse="csr", y_numeric=numeric, dtype=list(FLOATS),
                ensure_all_finite=True if sparse.issparse(X) else "allow-nan", reset=True,
            )  # fmt: skip
        y = validate_data(self, y=y, y_numeric=numeric)
        validate_data(self, frame.native, skip_check_array=True, reset=True)
        _check_some(frame)
        if len(y) != frame.shape[0]:
            raise ValueError(f"y must have a value for each of the {frame.shape[0]} rows of X")
        columns = frame.columns()
        found, doubts = _column_encoders.read_columns(columns)
        for doubt in doubts:
            _validation.warn(doubt)
        if any(column.dtype == object for column in found):
            return found, y
        return np.column_stack(found).astype(_frames.dtype_of(columns), copy=False), y

    def _numbers(self, X: Any, target: Any, n_classes: int | None, weights: np.ndarray) -> Any:
        """The encoded rows; fits the column encoders of dense rows and tables."""
        self.__dict__.pop("_plans", None)
        if sparse.issparse(X):
            return X
        # Rows of no weight are as if they were not there.
        kept = weights > 0
        if isinstance(X, np.ndarray) and not np.isnan(X).any():
            self._plans = _column_encoders.median_imputers(X if kept.all() else X[kept])
            return X
        columns = list(X.astype(np.float64).T) if isinstance(X, np.ndarray) else X
        if n_classes is None or n_classes == 2:
            values = np.asarray(target, dtype=np.float64)[:, None]
        else:
            values = (target[:, None] == np.arange(n_classes)).astype(np.float64)
        own = [column[kept] for column in columns]
        self._plans, part = _column_encoders.fit_encoders(
            own, values[kept], weights[kept], self._seed()
        )
        numbers = part
        if not kept.all():
            numbers = _column_encoders.encode_columns(self._plans, columns)
            numbers[kept] = part
        return np.ascontiguousarray(numbers, dtype=getattr(X, "dtype", np.float64))

    def _new_rows(self, X: Any, dtypes: Any = None, **checks: Any) -> Any:
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)
        dtype, encoders = self._dtype(), self._fitted_encoders()
        plain = encoders is None or _column_encoders.are_identity(encoders)
        if plain and self._is_plain(X, (dtype,)):
            return X
        levels = _column_encoders.need_frame(encoders)
        frame = None if _frames.is_plain(X) and not levels else _frames.frame_of(X)
        if levels and frame is None:
            raise ValueError("X must be a data frame, as the one that the machine was fitted to")
        if frame is not None and encoders is not None:
            validate_data(self, frame.native, skip_check_array=True, reset=False)
            _check_some(frame)
            return np.ascontiguousarray(_column_encoders.encode_frame(encoders, frame), dtype=dtype)
        as_numbers = encoders is None or sparse.issparse(X)
        found: Any = validate_data(
            self, X if frame is None else frame.native, accept_sparse="csr", dtype=[dtype],
            reset=False, ensure_all_finite=True if as_numbers else "allow-nan",
        )  # fmt: skip
        if encoders is None or (plain and as_numbers):
            return found
        rows = found.toarray() if as_numbers else found
        coded = _column_encoders.encode_rows(encoders, rows)
        return found if coded is found else np.ascontiguousarray(coded, dtype=dtype)

    def _of_features(self, scales: list[np.ndarray]) -> np.ndarray:
        """One scale a feature, of the parts' scales a column."""
        mean = sum(w * part for w, part in zip(self.weights_, scales, strict=True))
        encoders = self._fitted_encoders()
        ends = np.cumsum(
            [0, *(_column_encoders.encoded_widths(encoders) if encoders else [1] * len(mean))]
        )
        found = np.array([mean[a:b].max() for a, b in itertools.pairwise(ends)])
        return found / max(found.max(), np.finfo(float).tiny)

    @property
    def kernels_(self) -> list[str]:
        """The kernels that the machine is the sum of, the heavier first."""
        return [line["kernel"] for line in self._parts()]

    @property
    def weights_(self) -> np.ndarray:
        """The weights of the kernels, of sum 1."""
        return np.array([line["weight"] for line in self._parts()])

    @property
    def feature_importances_(self) -> np.ndarray:
        """The scales of the features as shares of their sum."""
        scales = self._learnt("feature_scales_")
        return scales / max(scales.sum(), np.finfo(float).tiny)

    def plot_scales(self, ax: Any = None, *, most: int = 20) -> Any:
        """Draw what the machine looks at: bars of the features with the largest `feature_scales_`.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None is a figure of its own.
        most : int, default=20
            Features drawn at most, >= 1.

        Returns
        -------
        matplotlib axes
            What was drawn on.

        Raises
        ------
        ImportError
            Where matplotlib is not installed.
        NotFittedError
            Before `fit`.
        ValueError
            Unless `most` is an integer >= 1.
        """
        check_is_fitted(self)
        expected = _parameters.count(most)
        if expected is not None:
            raise ValueError(f"most must be {expected}, got {most!r}")
        if ax is None:
            try:
                from matplotlib import pyplot
            except ImportError as error:
                raise ImportError(
                    "plot_scales needs matplotlib: pip install matplotlib, or give it axes"
                ) from error
            _, ax = pyplot.subplots()
        scales = self.feature_scales_
        order = np.argsort(-scales, kind="stable")[:most]
        named = getattr(self, "feature_names_in_", None)
        names = [f"x{k}" if named is None else str(named[k]) for k in order]
        places = np.arange(len(order))
        ax.barh(places, scales[order])
        ax.set_yticks(places, labels=names)
        ax.invert_yaxis()
        ax.set_xlabel("scale, as a share of the largest")
        return ax

    def _slopes(self, X: Any) -> np.ndarray:
        encoders = self._fitted_encoders()
        if _column_encoders.need_frame(encoders):
            raise ValueError(
                f"{type(self).__name__}: gradient needs numbers, and a column of text has no "
                "slope: encode it before the machine (in a pipeline)"
            )
        slopes = super()._slopes(X)
        if encoders is None or _column_encoders.are_identity(encoders):
            return slopes
        # A number that is missing has no slope, and what says so is a column of its own.
        first = np.cumsum([0, *_column_encoders.encoded_widths(encoders)[:-1]])
        slopes = np.ascontiguousarray(slopes[:, :, first])
        slopes *= ~np.isnan(_numbers(X))[:, None]
        return slopes

    def _spread(self, X: Any) -> np.ndarray:
        return np.nanstd(_numbers(X), axis=0)

    def _parts(self) -> list[dict[str, Any]]:
        return [line for line in self._learnt("leaderboard_") if line["weight"] > 0]

    def _width(self) -> int:
        encoders = self._fitted_encoders()
        return sum(_column_encoders.encoded_widths(encoders)) if encoders else self.n_features_in_

    def _fitted_encoders(self) -> list[_column_encoders.ColumnEncoder] | None:
        return self.__dict__.get("_plans")

    def _passes(self) -> Any:
        return 1

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _check_some(frame: _frames.Frame) -> None:
    for count, what in zip(frame.shape, ("sample(s)", "feature(s)"), strict=True):
        if count == 0:
            raise ValueError(f"Found array with 0 {what} while a minimum of 1 is required.")


def _numbers(X: Any) -> np.ndarray:
    """A table without text, missing ones NaN."""
    frame = _frames.frame_of(X)
    if frame is not None:
        return _column_encoders.numeric_rows(frame)
    dense = X.toarray() if hasattr(X, "toarray") else X
    return np.asarray(dense, dtype=np.float64)
