"""Probabilities of the classes: curves behind a machine, fitted to rows it was not trained on."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils import indexable
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from . import _core, _out_of_core, _validation
from ._available import available_if
from ._docs import documented
from ._estimator import Estimator

METHODS = ("auto", "sigmoid", "isotonic", "temperature")


def has_probabilities(estimator: Any) -> bool:
    """Whether it has probabilities; if not, an AttributeError says what gives it some."""
    if estimator._gives_probabilities():
        return True
    cures = estimator._probability_cures()
    raise AttributeError(f"there are no probabilities yet: {', or '.join(cures)}")


class CalibrationMixin(Estimator):
    """Mixin of the classifiers whose probabilities can be calibrated; not for use on its own."""

    classes_: np.ndarray
    _machine: _core.Machine

    def _values(self, X: Any) -> np.ndarray:
        """Decision values as the machine has them, shape (n_samples, n_outputs)."""
        return self._decision(X)

    def _probabilities_of(self, values: np.ndarray) -> np.ndarray:
        """Probabilities of the classes, of values as the machine has them."""
        return self._machine.probabilities(
            np.ascontiguousarray(values), len(self.classes_), self._threads()
        )

    def _check_calibrated(self) -> None:
        """Refuse what has no curves; a class overrides it."""

    def _is_calibrated(self) -> bool:
        machine = self.__dict__.get("_machine")
        return machine is not None and machine.calibration is not None

    def _probability_cures(self) -> list[str]:
        """What gives it probabilities."""
        by_loss = ['fit with loss="log_loss"'] if hasattr(self, "loss") else []
        return ["call calibrate(X, y) after fit", *by_loss]

    def _gives_probabilities(self) -> bool:
        return self._is_calibrated() or getattr(self, "loss", None) == "log_loss"

    def calibrate(
        self,
        X: Any,
        y: Any,
        method: Literal["auto", "sigmoid", "isotonic", "temperature"] = "auto",
        cv: Any = 5,
        sample_weight: Any = None,
    ) -> Self:
        """Fit what `predict_proba` makes of decision values.

        The curves are fitted to decision values of rows that the machine was not trained on. Of
        the rows that `fit` saw, these are found fold by fold: a machine of terms whose
        coefficients were solved for (polished machines on a budget, `PrimalSVC` with a kernel)
        keeps its terms and solves for the coefficients without the fold, which takes a part of the
        time of a fit; another is fitted anew to the other rows, which takes about ``cv - 1`` times
        that of `fit`. The machine itself stays as it is, and with it `decision_function`;
        `predict` then takes the most probable class, and `save` keeps the curves. What trains the
        machine further (`partial_fit`, `polish`) drops them, with a warning: the values have
        changed. Their meaning is that of the rows given: weights of classes act on the machine,
        not on the probabilities.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows as in `fit`: those of the fit, or others with ``cv="prefit"``.
        y : array-like of shape (n_samples,)
            Labels, of known classes.
        method : {"auto", "sigmoid", "isotonic", "temperature"}, default="auto"
            "auto" takes the one of the others whose curves, fitted to half of the rows, make the
            labels of the other half likeliest. "sigmoid" has two numbers for each output [1]_;
            "isotonic" is any rising curve, for some thousand rows a class; "temperature" has one
            number for all, a softmax, and leaves every prediction as it is. Several classes: the
            curves of the classes against the rest as parts of their sum, or those of their pairs,
            coupled (`SVC` and its like).
        cv : int, splitter, iterable or "prefit", default=5
            Folds, each class in equal parts; a splitter of scikit-learn, whose test rows have
            every row once; "prefit": the machine has not seen these rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, not negative: one of 2 is the row twice, both in one fold. A
            machine that is fitted anew gets them where its `fit` takes some.

        Returns
        -------
        self : estimator
            The estimator, with `predict_proba` and `predict_log_proba`.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If a label is unknown, `method` is none of these, a class has fewer rows than there are
            folds, or `cv` leaves rows out.

        References
        ----------
        .. [1] J. Platt, "Probabilistic outputs for support vector machines", 1999.
        """
        check_is_fitted(self)
        self._check_calibrated()
        if method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
        with self._all_or_nothing():
            X, y = indexable(X, y)
            validate_data(self, X, skip_check_array=True, reset=False)
            labels = np.asarray(y)
            if labels.ndim == 2 and labels.shape[1] == 1:
                labels = labels[:, 0]
            if labels.ndim != 1 or len(labels) == 0:
                raise ValueError(f"y must be of shape (n_samples,), got {labels.shape}")
            index = _validation.known_index(labels, self.classes_)
            weights = _validation.check_weights(sample_weight, X)
            if isinstance(cv, str):
                if cv != "prefit":
                    raise ValueError(f'cv must be a number, a splitter or "prefit", got {cv!r}')
                values = self._values(X)
            else:
                folds, n_folds = _folds(cv, X, labels, index, len(self.classes_))
                held: Any = self
                found = held._left_out(X, labels, index, weights, (folds, n_folds))
                own = None if sample_weight is None else weights
                values = self._refitted(X, labels, own, folds) if found is None else found
            self._machine = self._machine.calibrated(
                method, np.ascontiguousarray(values), index, len(self.classes_), weights,
                self._threads(),
            )  # fmt: skip
        return self

    def _refitted(
        self, X: Any, y: np.ndarray, weights: np.ndarray | None, folds: np.ndarray
    ) -> np.ndarray:
        """The values of each row by a machine fitted to the other folds."""
        values = np.empty((len(y), self._machine.n_outputs))
        weighted = has_fit_parameter(self, "sample_weight")
        quiet = {"verbose": 0, "callback": None}
        quiet = {name: value for name, value in quiet.items() if name in self.get_params(False)}
        for fold in range(int(folds.max()) + 1):
            train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            part = clone(self).set_params(**quiet)
            own = {} if weights is None or not weighted else {"sample_weight": weights[train]}
            part.fit(*_safe_split(part, X, y, train), **own)
            if not np.array_equal(part.classes_, self.classes_):
                raise ValueError("cv leaves rows of some class out of a training part")
            values[test] = part._values(_safe_split(part, X, None, test, train)[0])
        return values

    @available_if(has_probabilities)
    @documented
    def predict_proba(self, X: Any, out: Any = None) -> np.ndarray:
        """Probabilities of the classes; after `calibrate`, or with the logistic loss.

        @rows-or-source@

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            At least 0 and of sum 1, in the order of `classes_`.

        @unless-fitted@
        """
        if _out_of_core.is_blockwise(X, out):
            return _out_of_core.predict_blocks(self.predict_proba, X, out)
        return self._probabilities_of(self._values(X))

    @available_if(has_probabilities)
    @documented
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of `predict_proba`.

        @rows@

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            At most 0, in the order of `classes_`.

        @unless-fitted@
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


def warn_of_lost_curves(before: Any, machine: Any) -> None:
    """Of training that has gone on from a calibrated machine."""
    if before is not None and before.calibration is not None and machine.calibration is None:
        _validation.warn(
            "The machine has changed: its probabilities are gone, call calibrate again.",
            UserWarning,
        )


def _folds(
    cv: Any, X: Any, y: np.ndarray, index: np.ndarray, n_classes: int
) -> tuple[np.ndarray, int]:
    """The fold of every row, and their number."""
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        if cv < 2:
            raise ValueError(f"cv must be >= 2, got {cv}")
        if np.bincount(index, minlength=n_classes).min() < cv:
            raise ValueError(
                f"cv={cv} needs {cv} rows of every class at least: give fewer folds, or "
                'cv="prefit" and rows that the machine has not seen'
            )
    splitter: Any = check_cv(cv, y, classifier=True)
    folds = np.full(len(y), -1, dtype=np.int64)
    count = 0
    for _, test in splitter.split(X, y):
        try:
            known = folds[test] >= 0
        except IndexError as error:
            raise ValueError(f"cv has a test part that is not of these rows: {error}") from None
        if np.any(known):
            raise ValueError("cv must have every row in one test part")
        folds[test] = count
        count += 1
    if np.any(folds < 0) or count < 2:
        raise ValueError("cv must have every row in one test part, and two parts at least")
    return folds.astype(np.uint32), count
