"""What SVC, NuSVC and the semi-parametric classifiers share: labels, votes, probabilities."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import column_or_1d
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets

from . import _core, _names, _one_vs_one, _validation
from ._available import available_if
from ._calibration import CalibrationMixin
from ._docs import documented
from ._exact import ExactEstimator
from ._gradient import MAX_GRADIENT_ENTRIES
from ._hyperparameters import hyperparameters
from ._probability import sigmoids_of_pairs
from ._serialization import require


def _has_proba(estimator: Any) -> bool:
    if estimator._is_calibrated():
        return True
    if estimator.probability == "deprecated" or not estimator.probability:
        raise AttributeError(
            "predict_proba is not available when probability=False: call calibrate(X, y) after fit"
        )
    return True


@hyperparameters
class ExactClassifier(ClassifierMixin, ExactEstimator, CalibrationMixin):
    """What SVC, NuSVC and the semi-parametric classifiers share; not for use on its own.

    Parameters
    ----------
    class_weight : dict, "balanced" or None, default=None
        Factors of C by class; labels that y lacks are passed over. "balanced" is one over the
        number of rows of a class, n_samples / (n_classes * count), as in scikit-learn's `SVC`: it
        does not count `sample_weight`.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Whether decision values of several classes are one a class or one a pair.
    break_ties : bool, default=False
        Whether `predict` decides ties of votes by the decision values.
    probability : bool, default="deprecated"
        Whether `fit` also learns a sigmoid for each pair of classes, from five more fits on parts
        of the rows, for `predict_proba` [4]_.
    random_state : int, RandomState or None, default=None
        Seed of the folds of `probability`.

    Attributes
    ----------
    classes_, class_weight_
        As in scikit-learn.
    """

    class_weight: _names.ClassWeight = None
    decision_function_shape: Literal["ovr", "ovo"] = "ovr"
    break_ties: bool = False
    fit_intercept: bool = True
    intercept_penalty: float = 0.0

    #: Where there is no choice.
    probability, random_state = "deprecated", None

    _archived: ClassVar[dict[str, str]] = {
        "n_iter_": "int32", "duality_gap_": "numbers", "class_weight_": "float64",
        "_sigmoids": "array?",
    }  # fmt: skip

    def _validate_targets(self, y: Any) -> np.ndarray:
        plain = _validation.are_plain_labels(y)
        labels = y if plain else column_or_1d(y, warn=True)
        if not plain:
            _validation.check_labels("y", labels)
        classes, index = _validation.numbered(labels)
        index = index.astype(np.intp, copy=False)
        # Which warns of many classes.
        if not plain or 2 * len(classes) > len(labels):
            check_classification_targets(y)
        if len(classes) < 2:
            raise ValueError(
                f"The number of classes has to be greater than one; got {len(classes)} class"
            )
        self.classes_ = classes
        return index

    def _check_weights(self, sample_weight: Any, X: Any, y: np.ndarray) -> np.ndarray:
        weights = super()._check_weights(sample_weight, X, y)
        try:
            self.class_weight_ = _validation.class_factors(
                self.class_weight, self.classes_, y, np.ones(len(y))
            )
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"class_weight: {error}") from None
        if not np.all(np.isfinite(self.class_weight_)):
            raise ValueError(f"class_weight must be finite, got {self.class_weight!r}")
        return weights

    def _check_archived(self) -> None:
        super()._check_archived()
        shape = (2, len(self.intercept_))
        sigmoids = getattr(self, "_sigmoids", np.empty(shape))
        fits = sigmoids.shape == shape and sigmoids.dtype == np.float64
        fits = fits and len(self.class_weight_) == len(self.classes_)
        require(fits, "classes of an exact machine")

    def _bounds(self, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The bound of every α."""
        raise NotImplementedError

    def _problem(self, y: np.ndarray, weights: np.ndarray) -> tuple[Any, int | None, np.ndarray]:
        return y.astype(np.uint32), len(self.classes_), self._bounds(y, weights)

    def _after_fit(
        self, X: Any, y: Any, sample_weight: Any, random_state: Any, values_of: Any
    ) -> None:
        self.__dict__.pop("_sigmoids", None)
        if self.probability == "deprecated":
            return
        name = type(self).__name__
        _validation.warn(
            "The `probability` parameter was deprecated in 1.9 and "
            "will be removed in version 1.11. "
            f"Use `CalibratedClassifierCV({name}(), ensemble=False)` "
            f"instead of `{name}(probability=True)`",
            FutureWarning,
        )
        if self.probability:
            weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, float)
            self._sigmoids = sigmoids_of_pairs(values_of, y, weights, random_state)

    @documented
    def decision_function(self, X: Any) -> np.ndarray:
        """Decision values.

        @rows-or-values@

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_pairs)
            For two classes one value a row (positive: ``classes_[1]``). For more, one a class from
            the votes of all pairs, or with ``decision_function_shape="ovo"`` one a pair.

        @unless-fitted@
        """
        if self._votes_are_many() and self.decision_function_shape == "ovr":
            return self._answers(self._machine, X, "votes")
        return self._shaped(self._decide(X))

    def _votes_are_many(self) -> bool:
        """Whether it is fitted to several classes, of which pairs are asked."""
        return len(getattr(self, "classes_", ())) > 2

    def _answers(self, machine: _core.Machine, X: Any, answer: str) -> np.ndarray:
        """What is made of the values of the pairs, which are held of some rows at a time."""
        return self._in_range(
            self._validate_for_predict(X),
            lambda rows: machine.answers(rows, answer, self._threads()),
        )

    def _shaped(self, values: np.ndarray) -> np.ndarray:
        """Values of the pairs as `decision_function` gives them."""
        if len(self.classes_) == 2:
            return -values[:, 0]
        if self.decision_function_shape == "ovr":
            return _one_vs_one.ovr_decision_function(values, len(self.classes_))
        return values

    def _slopes(self, X: Any) -> np.ndarray:
        k = len(self._learnt("classes_"))
        if k == 2 or self.decision_function_shape == "ovo":
            return super()._slopes(X)
        rows = self._validate_for_predict(X)
        # The pairs are more than the classes: some rows at a time.
        step = max(1, MAX_GRADIENT_ENTRIES // (self._machine.n_outputs * self.n_features_in_))
        parts = [rows[first : first + step] for first in range(0, rows.shape[0], step)]
        found = [
            _one_vs_one.ovr_gradient(
                self._decided_checked(part), super(ExactClassifier, self)._slopes(part), k
            )
            for part in parts
        ]
        return np.concatenate(found)

    @documented
    def predict(self, X: Any) -> np.ndarray:
        """The class of each row, by the votes of all pairs of classes; once calibrated, the most
        probable one.

        @rows-or-values@

        @labels@

        @unless-fitted@
        """
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        if self._is_calibrated():
            return self.classes_[self.predict_proba(X).argmax(axis=1)]
        if not self._votes_are_many():
            return self._voted(self._decide(X))
        if self.break_ties:
            return self.classes_[self._answers(self._machine, X, "votes").argmax(axis=1)]
        elected = self._answers(self._machine, X, "class")[:, 0]
        return self.classes_[elected.astype(np.intp)]

    def _values(self, X: Any) -> np.ndarray:
        return self._sign() * self._decide(X)

    def _voted(self, values: np.ndarray) -> np.ndarray:
        """Labels from the values of the pairs.

        A value of 0 speaks for the first of two classes, as `decision_function` has it and as all
        other machines do; among the votes of several, for the pair's second, as in LIBSVM.
        """
        k = len(self.classes_)
        if k == 2:
            return self.classes_[(values[:, 0] < 0).astype(np.intp)]
        if self.break_ties:
            return self.classes_[_one_vs_one.ovr_decision_function(values, k).argmax(axis=1)]
        return self.classes_[_one_vs_one.vote(values, k)]

    @available_if(_has_proba)
    @documented
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes: sigmoids of the pairs' values, coupled (as in LIBSVM).

        The most probable class need not be the one that `predict` finds by votes.

        @rows-or-values@

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of `classes_`.
        """
        if self._is_calibrated():
            return self._answers(self._machine, X, "probabilities")
        if not hasattr(self, "_sigmoids"):
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False"
            )
        k = len(self.classes_)
        machine = _one_vs_one.with_pair_sigmoids(self._machine, self._sigmoids, k)
        return _one_vs_one.clip_pair_probabilities(self._answers(machine, X, "probabilities"))

    @available_if(_has_proba)
    @documented
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of `predict_proba`.

        @rows-or-values@

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Logarithms, in the order of `classes_`.
        """
        return np.log(self.predict_proba(X))

    @property
    def probA_(self) -> np.ndarray:
        """Slopes of the sigmoids of `predict_proba`; deprecated as in scikit-learn 1.9."""
        return self._sigmoid("probA_", 0)

    @property
    def probB_(self) -> np.ndarray:
        """Offsets of the sigmoids of `predict_proba`; deprecated as in scikit-learn 1.9."""
        return self._sigmoid("probB_", 1)

    def _sigmoid(self, attribute: str, row: int) -> np.ndarray:
        _validation.warn(
            f"Attribute `{attribute}` was deprecated in version 1.9 and will be removed in "
            "1.11 as the `probability=True` option for SVC and NuSVC was deprecated "
            "and will be removed in 1.11.",
            FutureWarning,
        )
        return self._sigmoids[row] if hasattr(self, "_sigmoids") else np.empty(0)

    def _linear_coef(self) -> Any:
        if self.dual_coef_.shape[0] == 1:
            return super()._linear_coef()
        ends = np.cumsum(np.hstack([[0], self._n_support]))
        part = [slice(a, b) for a, b in pairwise(ends)]
        rows = []
        for i in range(len(part)):
            for j in range(i + 1, len(part)):
                plus = self.dual_coef_[j - 1 : j, part[i]]
                minus = self.dual_coef_[i : i + 1, part[j]]
                rows.append(
                    safe_sparse_dot(plus, self.support_vectors_[part[i]])
                    + safe_sparse_dot(minus, self.support_vectors_[part[j]])
                )
        return sp.vstack(rows).tocsr() if sp.issparse(rows[0]) else np.vstack(rows)
