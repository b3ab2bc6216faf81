"""BudgetOneClassSVM: the support of a distribution, with a model of a given size."""

from __future__ import annotations

from dataclasses import field
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from . import _core, _out_of_core, _parameters, _validation
from ._base import BudgetBase
from ._docs import documented
from ._estimator import FLOATS
from ._hyperparameters import hyperparameters
from ._progress import Watcher


@hyperparameters
class BudgetOneClassSVM(OutlierMixin, BudgetBase):
    r"""What most rows have in common and which are unlike them, with at most `budget` terms.

    The ν-one-class machine [5]_ in the primal: minimises
    ``1/2 ‖w‖² - ρ + 1/(νW) Σ c_i L_h(ρ - f(x_i))``, where c_i are the weights of the rows and W is
    their sum, over machines ``f(x) = Σ_{j <= budget} coef_j k(s_j, x)`` and thresholds ρ. Steps of
    stochastic gradient descent [2]_ find the terms, polishing solves for their coefficients and ρ.
    Problems of no more distinct rows than `budget` are solved to rounding error. Scores are scaled
    as those of `OneClassSVM` and of scikit-learn's, which this machine comes near to in a time that
    grows with the rows alone.

    Parameters
    ----------
    budget : int, default=200
        The most terms that the model may hold, at least 1.
    nu : float, default=0.5
        ν in (0, 1]: about the share of the rows that are left out. Where no more than one row in 20
        is thought to be unlike the others, 0.05 or less.
    smoothing : float, default=0.005
        Half-width of the rounded corner of the loss as a share of ρ, in (0, 1]. Small values are as
        `OneClassSVM`, and about a share `nu` of the rows is outside. Larger ones leave fewer rows
        outside; where rows unlike the others were among those trained on they rank these better
        (the guide has figures).

    Attributes
    ----------
    intercept_ : ndarray of shape (1,)
        Minus the threshold, in the scale of the scores.
    offset_ : ndarray of shape (1,)
        ``-intercept_``: ``decision_function = score_samples - offset_``.
    history_ : dict of ndarray
        Curves of the last training call, an entry a pass or a polish: "time" (seconds), "n_sv",
        "moved" and "maintained" (shares of the steps), "degradation", "primal", "phase" (0 a pass,
        1 polishing); NaN where not measured.
    objective_ : dict
        The objective with the corner rounded, "smoothed", and with the loss itself, "primal", where
        the coefficients of the rows have the sum 1; None where not computed.
    stop_reason_ : str
        "max_iter", "converged", "max_time" or "callback".

    Notes
    -----
    Passes as those of `BudgetSVC`, then Newton's steps on the terms found, the threshold
    among the unknowns: O(B d) a row, O(B²) memory, and B kernel values a prediction.
    `OneClassSVM` is the exact machine, for up to some 10,000 rows.

    References
    ----------
    .. [1] S. Qaadan, M. Schüler, T. Glasmachers, "Dual SVM training on a budget", ICPRAM 2019.
    .. [2] Z. Wang, K. Crammer, S. Vucetic, "Breaking the curse of kernelization: budgeted
       stochastic gradient descent for large-scale SVM training", JMLR 13, 2012.
    .. [3] T. Glasmachers, S. Qaadan, "Speeding up budgeted stochastic gradient descent SVM training
       with precomputed golden section search", LOD 2018.
    .. [4] S. Qaadan, T. Glasmachers, "Multi-merge budget maintenance for stochastic gradient
       descent SVM training", 2018.
    .. [5] B. Schölkopf, J. Platt, J. Shawe-Taylor, A. Smola, R. Williamson, "Estimating the support
       of a high-dimensional distribution", Neural Computation 13, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from budgetsvm import BudgetOneClassSVM
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> nov = BudgetOneClassSVM(budget=50, nu=0.05, gamma=0.5, random_state=0).fit(X)
    >>> nov.predict([[0.0, 0.0], [4.0, 4.0]])
    array([ 1, -1])
    >>> bool(0.03 < np.mean(nov.predict(X) == -1) < 0.07)
    True
    """

    _family = "one_class"

    budget: int = field(default=200, kw_only=False)
    nu: float = field(default=0.5, kw_only=False)
    smoothing: float = 0.005

    _ranges: ClassVar[dict] = {
        "nu": partial(_parameters.number, above=0, most=1),
        "smoothing": partial(_parameters.number, above=0, most=1),
    }

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the support of the rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), or Source
            Training rows, finite. Float32 and float64 are used as they are, without a copy.
        y : ignored
            For the consistency of the interface.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0, not all zero: a row of weight 2 is two rows.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError, TypeError, MemoryError, KeyboardInterrupt
            As `BudgetSVC.fit`; the estimator is then as before.
        """
        return super().fit(X, None, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any, watcher: Watcher) -> None:
        self._train(X, sample_weight, watcher, "fit", None)

    @documented
    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, checkpoint: Any = None,
        every: float = 60,
    ) -> Self:  # fmt: skip
        """Go on training with new rows, or begin with them; no row is kept.

        By the recursive polish, as `BudgetSVC.partial_fit`: each call leaves a model about as good
        as one fitted to all rows so far, the same however they are cut into calls (with `gamma` a
        number), and goes on from `fit` and `polish` too.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), or Source
            New rows, finite.
        y : ignored
            For the consistency of the interface.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0, not all zero.
        @checkpoint@

        Returns
        -------
        self : object
            The estimator, trained on.

        Raises
        ------
        ValueError, KeyboardInterrupt
            As in `fit`, and where there is no summary of the rows so far to go on from (a file
            saved with ``resume=False``); the estimator is then as before.
        """
        return self._go_on(X, sample_weight, "partial_fit", (checkpoint, every))

    @documented
    def polish(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Keep the support vectors and solve for coefficients and threshold on these rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows; all that the machine should fit, not only the newest.
        y : ignored
            For the consistency of the interface.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0, not all zero.

        @polished@
        """
        check_is_fitted(self)
        return self._go_on(X, sample_weight, "polish")

    def _go_on(
        self, X: Any, sample_weight: Any, task: str, to: tuple[Any, float] = (None, 0)
    ) -> Self:
        def step(X: Any, y: Any, sample_weight: Any) -> None:
            with self._training() as watcher:
                self._train(X, sample_weight, watcher, task, getattr(self, "_machine", None))

        if task == "partial_fit":
            _out_of_core.train_blocks(self, step, (X, None, sample_weight), to)
        else:
            rows = _out_of_core.align_columns(self, X) if task == "polish" else X
            with _out_of_core.open_training_rows(self, rows, None, sample_weight) as given:
                step(*given)
        return self

    def _train(self, X: Any, sample_weight: Any, watcher: Watcher, task: str, start: Any) -> None:
        reset = start is None
        dtype: Any = list(FLOATS) if reset else self._dtype()
        X = self._check_rows(X, reset, dtype)
        X = self._scaled(X, start)
        weights = _validation.check_weights(sample_weight, X)
        rows = _validation.as_rows(X)
        gamma = self._settle_gamma(rows, X.shape[1], weights, start)
        config = _parameters.config(self, gamma=gamma, random_state=self._seed())
        trained, report = _core.train(
            "one_class", config, rows, np.ones(X.shape[0], np.uint32), 2, weights, task=task,
            start=start, notify=watcher.notify, threads=self._threads(),
        )  # fmt: skip
        self._take(trained, report, watcher)

    @property
    def offset_(self) -> np.ndarray:
        """The threshold, shape (1,): `score_samples` less this is `decision_function`."""
        return -self.intercept_

    @documented
    def decision_function(self, X: Any, out: Any = None) -> np.ndarray:
        """Signed distance from the boundary, positive inside; not normalised.

        @rows-or-source@

        @values@

        @unless-fitted@
        """
        if _out_of_core.is_blockwise(X, out):
            return _out_of_core.predict_blocks(self.decision_function, X, out)
        return self._decision(X)[:, 0]

    @documented
    def score_samples(self, X: Any, out: Any = None) -> np.ndarray:
        """`decision_function` without the offset: the higher the more like the rows trained on.

        @rows-or-source@

        @values@

        @unless-fitted@
        """
        if _out_of_core.is_blockwise(X, out):
            return _out_of_core.predict_blocks(self.score_samples, X, out)
        return self.decision_function(X) + self.offset_

    @documented
    def predict(self, X: Any, out: Any = None) -> np.ndarray:
        """1 inside or on the boundary, -1 outside.

        @rows-or-source@

        Returns
        -------
        ndarray of shape (n_samples,)
            1 or -1.

        @unless-fitted@
        """
        if _out_of_core.is_blockwise(X, out):
            return _out_of_core.predict_blocks(self.predict, X, out)
        return np.where(self.decision_function(X) >= 0, 1, -1)
