"""Pictures of machines: matplotlib axes in, a display out, as scikit-learn's are.

Needs matplotlib: ``pip install budgetsvm[plot]``. Every function draws at once and returns a
display with what it has drawn (`ax_`, `figure_`) and the numbers; its `plot` draws again.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._docs import documented

__all__ = [
    "HistoryDisplay",
    "PathDisplay",
    "ReliabilityDisplay",
    "TermsDisplay",
    "history",
    "path",
    "reliability",
    "terms",
]


class _Display:
    """What the displays share."""

    ax_: Any
    figure_: Any

    def _axes(self, ax: Any) -> Any:
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError(
                "budgetsvm.plot needs matplotlib: pip install budgetsvm[plot]"
            ) from error
        if ax is None:
            _, ax = plt.subplots()
        self.ax_, self.figure_ = ax, ax.figure
        return ax


@documented
class HistoryDisplay(_Display):
    """Curves of a fit against its time; made by `history`.

    Parameters
    ----------
    time : ndarray of shape (n_entries,)
        Seconds.
    curves : dict of ndarray
        What is drawn, by name.

    Attributes
    ----------
    lines_ : list of matplotlib lines
        One a curve.
    @drawn-on@
    """

    def __init__(self, time: np.ndarray, curves: dict[str, np.ndarray]) -> None:
        self.time, self.curves = time, curves

    @classmethod
    def from_estimator(cls, estimator: Any, *, curves: Any = None, ax: Any = None) -> Self:
        """Draw ``history_`` of a fitted estimator; see `history`."""
        check_is_fitted(estimator)
        told = getattr(estimator, "history_", None) or {}
        if "time" not in told or len(told["time"]) == 0:
            raise ValueError(f"this {type(estimator).__name__} has no history_ to draw")
        if curves is None:
            curves = [
                name
                for name, values in told.items()
                if name not in ("time", "phase") and np.isfinite(values).any()
            ]
        unknown = [name for name in curves if name not in told]
        if unknown:
            raise ValueError(f"history_ has no {unknown[0]!r}: it has {', '.join(sorted(told))}")
        chosen = {name: np.asarray(told[name], dtype=float) for name in curves}
        return cls(np.asarray(told["time"], dtype=float), chosen).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw on these axes, or on new ones."""
        ax = self._axes(ax)
        self.lines_ = []
        for name, values in self.curves.items():
            known = np.isfinite(values)
            line = ax.plot(self.time[known], values[known], marker=".", label=name)
            self.lines_.extend(line)
        ax.set(xlabel="seconds")
        if self.lines_:
            ax.legend()
        return self


@documented
class TermsDisplay(_Display):
    """Support vectors as images; made by `terms`.

    Parameters
    ----------
    images : ndarray of shape (n_shown, height, width)
        The points.
    coef : ndarray of shape (n_shown,)
        Their coefficients of largest size, over the outputs.

    Attributes
    ----------
    mosaic_ : ndarray
        The picture drawn.
    image_ : matplotlib image
        It, drawn.
    @drawn-on@
    """

    def __init__(self, images: np.ndarray, coef: np.ndarray) -> None:
        self.images, self.coef = images, coef

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, shape: tuple[int, int], n_terms: int = 100, ax: Any = None
    ) -> Self:
        """Draw support vectors of a fitted estimator; see `terms`."""
        check_is_fitted(estimator)
        points = getattr(estimator, "support_vectors_", None)
        coef = getattr(estimator, "dual_coef_", None)
        name = type(estimator).__name__
        if points is None or coef is None:
            raise ValueError(f"this {name} has no support_vectors_ as one array")
        points, coef = (part.toarray() if hasattr(part, "toarray") else part
                        for part in (points, coef))  # fmt: skip
        if len(points) == 0:
            raise ValueError(f"this {name} has no terms")
        if len(shape) != 2 or shape[0] * shape[1] != points.shape[1]:
            raise ValueError(f"shape={tuple(shape)} is not that of {points.shape[1]} features")
        if n_terms < 1:
            raise ValueError(f"n_terms must be >= 1, got {n_terms}")
        largest = np.abs(coef).argmax(axis=0)
        coef = coef[largest, np.arange(coef.shape[1])]
        order = np.argsort(-np.abs(coef), kind="stable")[:n_terms]
        return cls(np.asarray(points)[order].reshape(-1, *shape), coef[order]).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw on these axes, or on new ones."""
        ax = self._axes(ax)
        count, height, width = self.images.shape
        columns = int(np.ceil(np.sqrt(count)))
        rows = -(-count // columns)
        mosaic = np.full((rows * (height + 1) - 1, columns * (width + 1) - 1), np.nan)
        for at, image in enumerate(self.images):
            top, left = at // columns * (height + 1), at % columns * (width + 1)
            mosaic[top : top + height, left : left + width] = image
        self.mosaic_ = mosaic
        self.image_ = ax.imshow(mosaic, cmap="gray")
        ax.set(xticks=[], yticks=[])
        return self


@documented
class ReliabilityDisplay(_Display):
    """How often what is said with a probability comes true; made by `reliability`.

    Parameters
    ----------
    said : ndarray of shape (n_bins,)
        Mean probability of each bin.
    true : ndarray of shape (n_bins,)
        Share of its rows for which it came true.
    count : ndarray of shape (n_bins,)
        Its rows.

    Attributes
    ----------
    line_, diagonal_ : matplotlib lines
        The curve, and what it should be.
    error_ : float
        Mean of the distances between both, weighted by the rows (expected calibration error).
    @drawn-on@
    """

    def __init__(self, said: np.ndarray, true: np.ndarray, count: np.ndarray) -> None:
        self.said, self.true, self.count = said, true, count
        self.error_ = float(np.average(np.abs(said - true), weights=count))

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, n_bins: int = 10, ax: Any = None
    ) -> Self:
        """Draw the reliability of a fitted classifier; see `reliability`."""
        check_is_fitted(estimator)
        if not hasattr(estimator, "predict_proba"):
            name = type(estimator).__name__
            raise ValueError(f"this {name} has no probabilities: call calibrate(X, y) first")
        if n_bins < 1:
            raise ValueError(f"n_bins must be >= 1, got {n_bins}")
        p, y = estimator.predict_proba(X), np.asarray(y)
        if y.shape != (len(p),):
            raise ValueError(f"y must be of shape ({len(p)},), got {y.shape}")
        if p.shape[1] == 2:
            chance, came = p[:, 1], y == estimator.classes_[1]
        else:
            chance, came = p.max(axis=1), y == estimator.classes_[p.argmax(axis=1)]
        bins = np.minimum((chance * n_bins).astype(int), n_bins - 1)
        count = np.bincount(bins, minlength=n_bins)
        used = count > 0
        sums = (np.bincount(bins, weights=v, minlength=n_bins)[used] for v in (chance, came))
        said, true = (values / count[used] for values in sums)
        return cls(said, true, count[used]).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw on these axes, or on new ones."""
        ax = self._axes(ax)
        (self.diagonal_,) = ax.plot([0, 1], [0, 1], color="gray", linestyle=":")
        (self.line_,) = ax.plot(self.said, self.true, marker="o")
        ax.set(xlabel="probability said", ylabel="share that came true", xlim=(0, 1), ylim=(0, 1))
        return self


@documented
class PathDisplay(_Display):
    """Scores of a search along a hyperparameter; made by `path`.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
        The hyperparameter, rising.
    mean, spread : ndarray of shape (n_lines, n_values)
        Mean test scores and their standard deviations over the folds; NaN where none was found.
    labels : list of str
        What the other hyperparameters are, a text a line.
    name : str
        The hyperparameter.

    Attributes
    ----------
    lines_ : list of matplotlib lines
        One a setting of the others.
    @drawn-on@
    """

    def __init__(
        self,
        values: np.ndarray,
        mean: np.ndarray,
        spread: np.ndarray,
        labels: list[str],
        name: str,
    ) -> None:
        self.values, self.mean, self.spread = values, mean, spread
        self.labels, self.name = labels, name

    @classmethod
    def from_estimator(cls, search: Any, *, param: str | None = None, ax: Any = None) -> Self:
        """Draw ``cv_results_`` of a fitted search; see `path`."""
        results = getattr(search, "cv_results_", None)
        if results is None or "params" not in results:
            raise ValueError(f"{type(search).__name__} has no cv_results_ to draw: fit it first")
        settings = results["params"]
        names = list(dict.fromkeys(name for setting in settings for name in setting))
        numeric = [
            name
            for name in names
            if all(
                isinstance(setting.get(name), (int, float, np.integer, np.floating))
                and not isinstance(setting.get(name), bool)
                for setting in settings
            )
        ]
        varied = [name for name in numeric if len({setting[name] for setting in settings}) > 1]
        if param is None and not varied:
            raise ValueError("no hyperparameter that is a number was varied")
        if param is not None and param not in numeric:
            raise ValueError(f"param must be one of {', '.join(numeric)}, got {param!r}")
        name = varied[0] if param is None else param
        values = np.unique([float(setting[name]) for setting in settings])
        others = [
            ", ".join(f"{key}={value}" for key, value in sorted(setting.items()) if key != name)
            for setting in settings
        ]
        labels = list(dict.fromkeys(others))
        mean = np.full((len(labels), len(values)), np.nan)
        spread = mean.copy()
        for at, (setting, other) in enumerate(zip(settings, others, strict=True)):
            place = labels.index(other), int(np.searchsorted(values, float(setting[name])))
            mean[place] = results["mean_test_score"][at]
            spread[place] = results["std_test_score"][at] if "std_test_score" in results else 0.0
        return cls(values, mean, spread, labels, name).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw on these axes, or on new ones."""
        ax = self._axes(ax)
        self.lines_ = []
        for mean, spread, label in zip(self.mean, self.spread, self.labels, strict=True):
            known = np.isfinite(mean)
            x, low, high = self.values[known], (mean - spread)[known], (mean + spread)[known]
            self.lines_.extend(ax.plot(x, mean[known], marker="o", label=label or None))
            ax.fill_between(x, low, high, alpha=0.2)
        if np.all(self.values > 0) and self.values[-1] >= 10 * self.values[0]:
            ax.set_xscale("log")
        ax.set(xlabel=self.name, ylabel="score")
        if len(self.labels) > 1:
            ax.legend()
        return self


@documented
def history(est: Any, *, curves: Any = None, ax: Any = None) -> HistoryDisplay:
    """Draw the curves of the last training call against its time.

    Parameters
    ----------
    est : estimator
        Fitted, with ``history_``.
    curves : list of str, default=None
        Names of `history_`; None is all that were recorded.
    @axes@

    Returns
    -------
    HistoryDisplay

    Raises
    ------
    ValueError
        If there is no history, or no curve of this name.
    """
    return HistoryDisplay.from_estimator(est, curves=curves, ax=ax)


@documented
def terms(est: Any, shape: tuple[int, int], *, n_terms: int = 100, ax: Any = None) -> TermsDisplay:
    """Draw support vectors as images, the heaviest first.

    Parameters
    ----------
    est : estimator
        Fitted, with ``support_vectors_`` and ``dual_coef_``.
    shape : (int, int)
        Height and width, whose product is the number of features.
    n_terms : int, default=100
        So many at most, >= 1.
    @axes@

    Returns
    -------
    TermsDisplay

    Raises
    ------
    ValueError
        If there are no terms, or not of this shape.
    """
    return TermsDisplay.from_estimator(est, shape=shape, n_terms=n_terms, ax=ax)


@documented
def reliability(
    est: Any, X: Any, y: Any, *, n_bins: int = 10, ax: Any = None
) -> ReliabilityDisplay:
    """Draw how often what is said with a probability comes true.

    Of two classes the probability of the second, of more that of the most probable one.

    Parameters
    ----------
    est : classifier
        Fitted, with `predict_proba`.
    X : array-like or CSR matrix of shape (n_samples, n_features)
        Rows that it has not seen.
    y : array-like of shape (n_samples,)
        Their labels.
    n_bins : int, default=10
        Bins of equal width, >= 1; empty ones are left out.
    @axes@

    Returns
    -------
    ReliabilityDisplay

    Raises
    ------
    ValueError
        If there are no probabilities.
    """
    return ReliabilityDisplay.from_estimator(est, X, y, n_bins=n_bins, ax=ax)


@documented
def path(cv: Any, *, param: str | None = None, ax: Any = None) -> PathDisplay:
    """Draw the scores of a search along one hyperparameter, a line a setting of the others.

    Parameters
    ----------
    cv : search
        Fitted, with ``cv_results_`` as scikit-learn's searches have it.
    param : str, default=None
        The hyperparameter, a number; None is the first that was varied.
    @axes@

    Returns
    -------
    PathDisplay

    Raises
    ------
    ValueError
        If there are no results, or no such hyperparameter.
    """
    return PathDisplay.from_estimator(cv, param=param, ax=ax)
