"""What the classifiers with one decision value a class share: labels, class weights, predict."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from . import _out_of_core, _validation
from ._calibration import CalibrationMixin
from ._docs import documented
from .data._stored_rows import EncodedLabels


class Classifier(ClassifierMixin, CalibrationMixin):
    """Mixin of the classifiers that decide one against the rest; not for use on its own.

    Parameters
    ----------
    class_weight : dict, "balanced" or None, default=None
        Factors of C by class; labels that y lacks are passed over, as a fold may lack rare ones.
        "balanced" makes every class weigh the same, and counts `sample_weight`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    """

    classes_: np.ndarray
    C: Any
    class_weight: Any

    @documented
    def decision_function(self, X: Any, out: Any = None) -> np.ndarray:
        """Decision values: the larger, the more certainly a row is of the class.

        @rows-or-source@

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            One value a row for two classes (positive: ``classes_[1]``), else one a class.

        @unless-fitted@
        """
        if _out_of_core.is_blockwise(X, out):
            return _out_of_core.predict_blocks(self.decision_function, X, out)
        return one_column_flat(self._decision(X))

    @documented
    def predict(self, X: Any, out: Any = None) -> np.ndarray:
        """The class of each row; once calibrated, the most probable one.

        @rows-or-source@

        @labels@

        @unless-fitted@
        """
        if _out_of_core.is_blockwise(X, out):
            return _out_of_core.predict_blocks(self.predict, X, out, self.classes_)
        return self._labels(self._decision(X))

    def _labels(self, values: np.ndarray) -> np.ndarray:
        """The class that decision values of shape (n_samples, n_outputs) speak for."""
        if self._is_calibrated():
            return self.classes_[self._probabilities_of(values).argmax(axis=1)]
        two = values.shape[1] == 1
        return self.classes_[(values[:, 0] > 0).astype(np.intp) if two else values.argmax(axis=1)]

    def _encode(
        self, y: np.ndarray, known: np.ndarray | None = None
    ) -> tuple[np.ndarray, int | None]:
        if isinstance(y, EncodedLabels):
            classes, index = y.classes, y.view(np.ndarray)
        else:
            plain = _validation.are_plain_labels(y)
            if not plain:
                _validation.check_labels("y", y)
            classes, index = _validation.numbered(y)
            # Which warns of many classes.
            if not plain or 2 * len(classes) > len(y):
                check_classification_targets(y)
        if len(classes) < 2:
            raise ValueError(f"y has {len(classes)} class, at least 2 classes are needed")
        if known is not None and not np.array_equal(classes, known):
            raise ValueError("warm_start=True needs the classes of the last fit in y")
        self.classes_ = classes
        return index.astype(np.uint32, copy=False), len(classes)

    def _encode_part(
        self, y: np.ndarray, classes: Any, first: bool
    ) -> tuple[np.ndarray, int | None]:
        if isinstance(y, EncodedLabels):  # polishing on a source
            y = y.classes[y]
        _validation.check_labels("y", y)
        check_classification_targets(y)
        if first:
            if classes is None:
                raise ValueError("classes must be given in the first call of partial_fit")
            self.classes_ = _distinct(classes)
        elif classes is not None and not np.array_equal(_distinct(classes), self.classes_):
            raise ValueError("classes is not the same as in the first call of partial_fit")
        return _validation.known_index(y, self.classes_), len(self.classes_)

    def _cost(self, target: Any, weights: np.ndarray, balance: bool = True) -> np.ndarray:
        factors = self._factors(target, weights, balance)
        equal = bool(np.all(factors == 1.0))

        def cost(at: slice) -> np.ndarray:
            own = self._used_C() * weights[at]
            return own if equal else own * factors[target[at]]

        return _validation.where_kept(weights, cost)

    def _class_factors(self, target: Any, weights: np.ndarray, balance: bool) -> np.ndarray:
        """Of every sample; "balanced" only where `balance` says that all rows are known."""
        return self._factors(target, weights, balance)[target]

    def _factors(self, target: Any, weights: np.ndarray, balance: bool) -> np.ndarray:
        """Of every class."""
        if isinstance(self.class_weight, str) and not balance:
            raise ValueError(
                'class_weight="balanced" is not known before all rows are: give partial_fit a '
                "dict of weights"
            )
        return _validation.class_factors(self.class_weight, self.classes_, target, weights)


def one_column_flat(values: np.ndarray) -> np.ndarray:
    """Decision values as they are handed out: of two classes one a row, without a column of one."""
    return values[:, 0] if values.shape[1] == 1 else values


def _distinct(classes: Any) -> np.ndarray:
    """The labels that `partial_fit` was told of, sorted."""
    labels = np.asarray(classes)
    _validation.check_labels("classes", labels)
    labels = np.unique(labels)
    if len(labels) < 2:
        raise ValueError("classes must name at least 2 classes")
    if labels.dtype.kind == "f" and not np.all(np.isfinite(labels)):
        raise ValueError("classes contains NaN or infinity")
    return labels
