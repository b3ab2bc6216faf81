"""Multi-label classification: one output per label, on shared terms."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.special import expit
from sklearn.utils.multiclass import type_of_target

from ._classifier import Classifier


class MultiLabelClassifier(Classifier):
    """Mixin of the classifiers that also take an indicator matrix as y; not for use on its own.

    Each label has targets -1 and +1 and an output of its own: a binary machine on the terms that
    all labels share.
    """

    #: Whether y was an indicator matrix; `classes_` are then the indices of its columns.
    _multilabel: bool

    _archived: ClassVar[dict[str, str]] = {"_multilabel": "flag?"}

    def _has_sets(self) -> bool:
        return bool(self.__dict__.get("_multilabel", False))

    def _several_targets(self, y: Any) -> bool:
        try:
            shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
            wide = len(shape) == 2 and shape[1] > 1
            return wide and type_of_target(y) == "multilabel-indicator"
        except ValueError:  # no array: whoever checks it says so
            return False

    def _encode(
        self, y: np.ndarray, known: np.ndarray | None = None
    ) -> tuple[np.ndarray, int | None]:
        before = self._has_sets()
        if known is not None and before != (y.ndim == 2):
            raise ValueError("warm_start=True needs y of the last fit's kind: labels or columns")
        self.__dict__.pop("_multilabel", None)
        if y.ndim == 1:
            return super()._encode(y, known)
        if known is not None and len(known) != y.shape[1]:
            raise ValueError("warm_start=True needs the columns of the last fit in y")
        return self._signs(y)

    def _encode_part(
        self, y: np.ndarray, classes: Any, first: bool
    ) -> tuple[np.ndarray, int | None]:
        if y.ndim == 1 and (first or not self._has_sets()):
            return super()._encode_part(y, classes, first)
        if not first and (not self._has_sets() or y.shape[1:] != self.classes_.shape):
            expected = f"{len(self.classes_)} columns" if self._has_sets() else "one label a row"
            raise ValueError(f"y must have {expected}, as where training began")
        if classes is not None and not np.array_equal(classes, np.arange(y.shape[1])):
            raise ValueError("classes must be the numbers of the columns of y, or None")
        return self._signs(y)

    def _signs(self, y: Any) -> tuple[np.ndarray, None]:
        """Targets -1 and +1."""
        known: Any = y.toarray() if hasattr(y, "toarray") else y
        self.classes_, self._multilabel = np.arange(y.shape[1]), True
        return np.where(np.ascontiguousarray(known) > 0, 1.0, -1.0), None

    def _cost(self, target: Any, weights: np.ndarray, balance: bool = True) -> np.ndarray:
        if not self._has_sets():
            return super()._cost(target, weights, balance)
        if self.class_weight is not None:
            raise ValueError(
                "class_weight is of classes that exclude each other, and y has sets of labels: "
                "weigh the rows (sample_weight)"
            )
        return self._used_C() * weights

    def _outputs_wanted(self) -> int:
        return len(self.classes_) if self._has_sets() else super()._outputs_wanted()

    def _labels(self, values: np.ndarray) -> np.ndarray:
        return (values > 0).astype(np.int64) if self._has_sets() else super()._labels(values)

    def _probabilities_of(self, values: np.ndarray) -> np.ndarray:
        return expit(values) if self._has_sets() else super()._probabilities_of(values)

    def _probability_cures(self) -> list[str]:
        cures = super()._probability_cures()
        return cures[1:] if self._has_sets() else cures

    def _check_calibrated(self) -> None:
        if self._has_sets():
            raise ValueError(
                f"{type(self).__name__}: y of the fit has sets of labels, whose probabilities "
                'have no sum: fit with loss="log_loss", or calibrate a machine a label'
            )

    def _right(self, values: np.ndarray, y: Any) -> np.ndarray:
        """Which rows have exactly their labels."""
        known: Any = y.toarray() if hasattr(y, "toarray") else y
        return np.asarray(((values > 0) == (known > 0)).all(axis=1))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
