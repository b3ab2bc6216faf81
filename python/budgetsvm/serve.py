"""Prediction alone: a machine of a file, without scikit-learn and SciPy being imported.

>>> from budgetsvm import serve  # doctest: +SKIP
>>> model = serve.load("adult.safetensors")  # doctest: +SKIP
>>> model.predict(rows)  # doctest: +SKIP
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from . import _column_encoders, _columns, _core, _frames, _one_vs_one
from ._docs import documented
from ._json_values import damaged_file_error, feature_names, from_json, labels_from_store, require

#: The work of some files is no decision, or more than a machine's.
_TRANSFORMERS = ("Nystroem", "RandomFourier", "IncompleteCholesky")
_WITH_FUNCTIONS = "Semiparametric"
_ELSE = "read it by budgetsvm.load"
#: Those that learn several values a row.
_SEVERAL = ("BudgetSVR", "PrimalSVR", "AssetSVR")
#: What the file of an estimator describes.
_KEYS = {"kind", "params", "fitted", "labels", "n_features"}
_MALFORMED = (AttributeError, IndexError, KeyError, OverflowError, RecursionError, TypeError)


class Served:
    """A fitted machine that predicts; made by `load`.

    It never changes: any number of threads may use it at once. Rows are arrays, lists, data frames
    or CSR matrices of any library (what has `data`, `indices`, `indptr` and `shape`). Columns of a
    data frame are taken by their names where the file has those of the fit: their order does not
    matter, and a column that is missing or that the fit did not have is a ValueError. An array has
    no names; its columns are those of the fit, in order.

    Attributes
    ----------
    kind : str
        The class that was saved, such as "BudgetSVC".
    classes_ : ndarray of shape (n_classes,) or None
        The labels of a classifier, sorted.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,) or None
        Names of the features, when the file has them.
    n_terms_ : int
        Number of terms.
    """

    def __init__(
        self,
        description: dict[str, Any],
        arrays: dict[str, np.ndarray],
        machine: _core.Machine,
        n_jobs: int | None,
    ) -> None:
        self.kind: str = description["kind"]
        self.n_features_in_: int = description["n_features"]
        self.n_terms_ = machine.n_terms
        self.feature_names_in_ = feature_names(arrays)
        labels = description["labels"]
        self.classes_ = None if labels is None else labels_from_store(*labels)
        fitted, self._params = description["fitted"], from_json(description["params"])
        self._encoders = from_json(fitted["_plans"]) if "_plans" in fitted else None
        if self._encoders is not None:
            require(_column_encoders.are_encoders(self._encoders), "_plans")
        self._threads = _core.thread_count(n_jobs)
        self._machine = machine
        self._pairs = machine.kind == "pairwise"
        k = 0 if self.classes_ is None else len(self.classes_)
        # Whether several classes are elected by pairs.
        self._voting = self._pairs and k > 2
        curves = machine.calibration
        self._multilabel = fitted.get("_multilabel") is True
        outputs = k if self._multilabel else {2: 1}.get(k, k * (k - 1) // 2 if self._pairs else k)
        self._one_column = fitted.get("_one_column") is True
        several = k == 0 and self.kind in _SEVERAL
        require(several or machine.n_outputs == (outputs or 1), "machine and labels")
        width = (
            self.n_features_in_
            if self._encoders is None
            else sum(_column_encoders.encoded_widths(self._encoders))
        )
        require(machine.n_features == width, "machine and features")
        require(curves is None or curves[1] == k, "machine and labels")
        # Whether the most probable class is what it predicts.
        self._most_probable = curves is not None
        self._probable = machine if curves is not None else None
        self._pairs_sigmoids = False
        if curves is None and self.kind == "AutoSVC":
            numbers = np.array(from_json(fitted["_calibration"]), dtype=np.float64)
            require(len(numbers) == (2 if k == 2 else 1), "calibration")
            self._most_probable = True
            self._probable = (
                machine.with_sigmoids(numbers[None], 2)
                if k == 2
                else machine.with_temperature(float(numbers[0]), k)
            )
        elif curves is None and "_sigmoids" in fitted:
            self._pairs_sigmoids = True
            self._probable = _one_vs_one.with_pair_sigmoids(machine, arrays["_sigmoids"], k)
        elif curves is None and k and self._params.get("loss") == "log_loss":
            self._probable = machine

    def _rows(self, X: Any) -> Any:
        """Rows as `_core` takes them."""
        machine, d = self._machine, self._machine.n_features
        X = _columns.in_order(X, self.feature_names_in_)
        if hasattr(X, "indptr") and hasattr(X, "indices"):
            parts = tuple(np.asarray(part) for part in (X.data, X.indices, X.indptr))
            data, indices, indptr = parts
            if len(X.shape) != 2 or X.shape[1] != self.n_features_in_:
                raise ValueError(f"X must have {self.n_features_in_} features, got {X.shape}")
            fits = indptr.shape == (X.shape[0] + 1,) and indptr[0] == 0
            fits = fits and bool(np.all(np.diff(indptr) >= 0)) and indptr[-1] <= len(data)
            fits = fits and len(indices) == len(data)
            if not fits or (len(indices) and (indices.min() < 0 or indices.max() >= d)):
                raise ValueError("X (CSR): its arrays point outside themselves")
            if not self._is_canonical(indices, indptr):
                X = X.copy()
                X.sum_duplicates()
                return self._rows(X)
            if not np.isfinite(data).all():
                raise ValueError("X contains NaN or infinity")
            kind = self._dtype(data.dtype)
            index = indptr.dtype if indptr.dtype in (np.int32, np.int64) else np.dtype(np.int64)
            return (
                np.ascontiguousarray(data, dtype=kind),
                np.ascontiguousarray(indices, dtype=index),
                np.ascontiguousarray(indptr, dtype=index),
                X.shape[1],
            )
        levels = _column_encoders.need_frame(self._encoders)
        if self._encoders is not None and (levels or not _frames.is_plain(X)):
            frame = _frames.frame_of(X)
            if frame is not None:
                return np.ascontiguousarray(
                    _column_encoders.encode_frame(self._encoders, frame), dtype=machine.dtype
                )
            if levels:
                raise ValueError("X must be a data frame, as the machine was fitted to one")
        rows = np.asarray(X)
        if rows.dtype not in (np.float32, np.float64):
            try:
                rows = rows.astype(np.float64)
            except (TypeError, ValueError, OverflowError) as error:
                raise ValueError(f"X must be numbers: {error}") from None
        if rows.ndim != 2 or rows.shape[1] != self.n_features_in_:
            expected = f"(n_samples, {self.n_features_in_})"
            raise ValueError(f"X must be of shape {expected}, got {rows.shape}")
        finite = bool(np.isfinite(rows).all())
        if not finite and (self._encoders is None or np.isinf(rows).any()):
            raise ValueError("X contains NaN or infinity")
        if self._encoders is not None:
            rows = _column_encoders.encode_rows(self._encoders, rows)
        return np.ascontiguousarray(rows, dtype=self._dtype(rows.dtype))

    def _dtype(self, given: Any) -> Any:
        """Numbers of rows that the machine takes, for these."""
        machine = self._machine
        single = given == np.float32
        if machine.kind == "linear" or (single and machine.takes_single):
            return np.float32 if single else np.float64
        return np.dtype(machine.dtype)

    @staticmethod
    def _is_canonical(indices: np.ndarray, indptr: np.ndarray) -> bool:
        """Whether columns rise within every row."""
        rise = np.diff(indices) > 0
        starts = indptr[1:-1]
        starts = starts[(starts > 0) & (starts < len(indices))]
        rise[starts - 1] = True
        return bool(rise.all())

    def _values(self, X: Any) -> np.ndarray:
        """Decision values as the machine has them, shape (n_samples, n_outputs)."""
        values = self._machine.decision_function(self._rows(X), self._threads)
        if self.kind == "OneClassSVM":
            return _one_vs_one.round_to_boundary(values, self._machine.intercept)
        return values

    @documented
    def decision_function(self, X: Any) -> np.ndarray:
        """Decision values, as those of the estimator that was saved.

        @rows@

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Of a regression machine its values.

        @unless-rows-fit@
        """
        ovr = self._params.get("decision_function_shape", "ovr") == "ovr"
        if self._voting and ovr:
            return self._answers(X, "votes")
        values = self._values(X)
        return values[:, 0] if values.shape[1] == 1 else values

    @documented
    def predict(self, X: Any) -> np.ndarray:
        """Labels, values, or 1 and -1 of one class, as those of the estimator that was saved.

        @rows@

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
            Labels of `classes_`; of a regression machine its values.

        @unless-rows-fit@
        """
        if self.classes_ is not None and self._voting:
            return self.classes_[self._elected(X)]
        values = self._values(X)
        if self.classes_ is None:
            if self.kind.endswith("OneClassSVM"):
                return np.where(values[:, 0] >= 0, 1, -1)
            levels = self._params.get("quantile")
            if self._params.get("loss") == "quantile" and isinstance(levels, list):
                return np.sort(values, axis=1)
            several = values.shape[1] > 1 or self._one_column
            return values if several else values[:, 0]
        if self._multilabel:
            return (values > 0).astype(np.int64)
        k = len(self.classes_)
        if self._most_probable and self._probable is not None:
            return self.classes_[
                self._probable.probabilities(values, k, self._threads).argmax(axis=1)
            ]
        if k == 2:
            return self.classes_[(values[:, 0] > 0).astype(np.intp)]
        return self.classes_[values.argmax(axis=1)]

    def _answers(self, X: Any, answer: str) -> np.ndarray:
        """What is made of the values of pairs, some rows at a time."""
        machine = self._machine if self._probable is None else self._probable
        return machine.answers(self._rows(X), answer, self._threads)

    def _elected(self, X: Any) -> np.ndarray:
        """The class of each row by the pairs of several classes."""
        if self._most_probable:
            return self._answers(X, "probabilities").argmax(axis=1)
        if self._params.get("break_ties"):
            return self._answers(X, "votes").argmax(axis=1)
        return self._answers(X, "class")[:, 0].astype(np.intp)

    @documented
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, where the estimator that was saved has them.

        @rows@

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            At least 0 and of sum 1, in the order of `classes_`.

        Raises
        ------
        AttributeError
            If the file has no probabilities: calibrate the estimator, or fit it with
            ``loss="log_loss"``, before it is saved.
        ValueError
            If rows are not finite or not of this many features.
        """
        if self._probable is None:
            raise AttributeError(
                f"this {self.kind} has no probabilities: call calibrate(X, y) before save"
            )
        if self._voting:
            return self._answers(X, "probabilities")
        values = self._values(X)
        if self._multilabel:
            with np.errstate(over="ignore"):
                return 1.0 / (1.0 + np.exp(-values))
        found = self._probable.probabilities(values, len(self._labels()), self._threads)
        return _one_vs_one.clip_pair_probabilities(found) if self._pairs_sigmoids else found

    def _labels(self) -> np.ndarray:
        if self.classes_ is None:
            raise AttributeError(f"a {self.kind} has no classes")
        return self.classes_


def load(path: str | os.PathLike[str], *, n_jobs: int | None = None) -> Served:
    """Read what predicts from a file that an estimator's `save` wrote.

    Nothing in the file is executed. Neither scikit-learn nor SciPy is imported, by this or by
    predicting; the answers are those of the estimator, to the bit. What predictions need is
    checked: the file's sum and form, the machine, its labels and what makes answers of its values.
    What `budgetsvm.load` looks at beside these (ranges of hyperparameters, attributes that training
    left) plays no part here: of a file from an unknown hand let `load` say first whether it is
    whole.

    Parameters
    ----------
    path : str or path-like
        The ``.safetensors`` file.
    n_jobs : int or None, default=None
        Threads for many rows; None is all cores. A few rows are predicted on the thread that asks.

    Returns
    -------
    Served
        With `predict`, `decision_function` and `predict_proba`.

    Raises
    ------
    ValueError
        If the file is not valid, or of an estimator that needs more than its machine: those with
        functions of their own (semi-parametric) and transformers.
    OSError
        If it cannot be read.
    """
    text, arrays, machine = _core.archive_load(os.fsdecode(path))
    try:
        description = json.loads(text)
        require(set(description) == _KEYS, "description of the estimator")
        kind, d = description["kind"], description["n_features"]
        require(isinstance(kind, str) and type(d) is int and d > 0, "description of the estimator")
        parts = (description["params"], description["fitted"])
        require(all(isinstance(part, dict) for part in parts), "description of the estimator")
        if kind in _TRANSFORMERS:
            raise ValueError(f"a {kind} is a transformer, which predicts nothing: {_ELSE}")
        if machine is None or kind.startswith(_WITH_FUNCTIONS):
            raise ValueError(
                f"serve predicts with machines alone, and {kind} has functions of its own: {_ELSE}"
            )
        return Served(description, arrays, machine, n_jobs)
    except _MALFORMED as error:
        raise damaged_file_error(error) from error
