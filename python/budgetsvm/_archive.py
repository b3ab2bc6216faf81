"""Models as safetensors files: `save` on every estimator, `load` for all.

A class lists what it learns in `_archived`, name by name and kind by kind; nothing else is written,
and nothing else is accepted from a file. A file holds numbers and JSON, never code.
"""

from __future__ import annotations

import json
import os
from importlib import import_module
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._hyperparameters import gathered
from ._json_values import feature_names
from ._serialization import (
    DAMAGED,
    damaged_file_error,
    labels_from_store,
    labels_to_store,
    param_from_store,
    param_to_store,
    require,
    restore,
    store,
    to_json,
)

#: What JSON of another shape than is written ends in.
_MALFORMED = (AttributeError, IndexError, KeyError, OverflowError, RecursionError, TypeError)


#: Hyperparameters that a file may do without, and has the defaults of: those that came after the
#: first release, and what Python alone has, which the Rust crate does not write.
_MAY_LACK = frozenset(
    """
feature_scales constraint_atol intercept_penalty relaxation max_intercept resumable forgetting
n_components quantile halving
n_jobs verbose callback warm_start class_weight tune degree coef0 orthogonal waves shrinking tol
""".split()
)

#: The classes that `load` makes, by name; `estimators` fills it.
ESTIMATORS: dict[str, type[ArchiveMixin]] = {}


def estimators() -> dict[str, type[ArchiveMixin]]:
    """What the package exports, by name; nothing of it is imported before it is asked for."""
    package = import_module(__package__ or "budgetsvm")
    for name in package.__all__:
        found = getattr(package, name)
        if isinstance(found, type):
            ESTIMATORS.setdefault(name, found)
    return ESTIMATORS


def _check_text(what: str, value: Any) -> None:
    """Refuse text that no file can hold: half of a pair of UTF-16 is no character."""
    # Escapes begin so where there may be one.
    if value is None or "\\ud" not in json.dumps(value, default=str):
        return
    try:
        json.dumps(value, default=str, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        found = error.object[error.start]
        raise ValueError(
            f"{what}: text with the lone surrogate {found!r} is no valid Unicode, and no file "
            "holds it: encode the text anew (errors='replace')"
        ) from None


class ArchiveMixin:
    """Mixin of estimators that `save` to an archive; not for use on its own."""

    #: Learnt attributes: name -> "array", "matrix" (array or CSR), "int32", "int64" and "float64"
    #: (vectors, integers not negative), "numbers" (a short vector of float64 that may be infinite),
    #: "count", "flag", "layout", "leaderboard", "number", "objective", "plans", "sizes" and "stop"
    #: (JSON, one type each) or "curves" (a dict of arrays). A "?" at the end: may be missing. The
    #: machine, `n_features_in_`, `feature_names_in_` and `classes_` go without saying; a class adds
    #: to what its bases have. Every class has the layout of its table (`_columns.note`).
    _archived: ClassVar[dict[str, str]] = {"_layout": "layout?"}

    #: Whether a fitted estimator holds a machine of `_core`.
    _has_machine: ClassVar[bool] = False

    #: Hyperparameters that may be fitted machines, whose points are used: name -> the learnt
    #: attribute that is read from the file in its place.
    _points: ClassVar[dict[str, str]] = {}

    def _check_archived(self) -> None:
        """Whether learnt attributes fit together, by ValueError; a class overrides it."""

    def _check_hyperparameters(self) -> None:
        """Whether the hyperparameters are in their ranges, by ValueError; a class overrides it."""

    def save(self, path: str | os.PathLike[str], *, resume: bool = True) -> None:
        """Write the fitted estimator to a safetensors file, whole or not at all.

        Parameters
        ----------
        path : str or path-like
            A file name ending in ``.safetensors``. `budgetsvm.load` reads it back (and the Rust
            crate reads the budgeted, primal and ASSET machines). A callback and
            a ``RandomState`` are not saved; a list of numbers as a hyperparameter comes back as an
            array, a sparse matrix as CSR, and a machine (`basis`) as the points that the fit took
            from it: `support_vectors_`.
        resume : bool, default=True
            Whether the file of a machine on a budget holds what `partial_fit` goes on from beside
            the model: a summary of all rows so far (n² / 2 numbers an output, n the terms) and the
            rows of the block begun. Without it the file is small, and training goes on with the
            terms in place of the rows. The files of other machines do not change by it.

        Raises
        ------
        NotFittedError
            If there is nothing to save.
        ValueError
            If a hyperparameter is a function or another object that a file cannot hold (the
            message names it), or labels are neither numbers, booleans nor strings.
        OSError
            If the file cannot be written; an older one is then still whole.
        """
        check_is_fitted(self)
        description, arrays = self._description()
        machine = self.__dict__.get("_machine")
        if machine is not None and not resume:
            machine = machine.without_summary()
        _core.archive_save(
            os.fsdecode(path), json.dumps(description, allow_nan=False), arrays, machine
        )

    def _stored_param(self, name: str, value: Any, arrays: dict[str, np.ndarray]) -> Any:
        try:
            return param_to_store(name, value, arrays)
        except ValueError as error:
            raise ValueError(f"{type(self).__name__}: {error}") from None

    def _description(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """What a file holds beside the machine: JSON, and arrays that it names."""
        arrays: dict[str, np.ndarray] = {}
        params, fitted = {}, {}
        for name, value in self.get_params(deep=False).items():  # type: ignore[attr-defined]
            points = self._points.get(name, "")
            if hasattr(value, "support_vectors_") and hasattr(self, points):
                params[name] = {"fitted": points}
            else:
                params[name] = self._stored_param(name, value, arrays)
        for name, kind in gathered(type(self), "_archived").items():
            if hasattr(self, name) or not kind.endswith("?"):
                fitted[name] = store(name, kind.rstrip("?"), getattr(self, name), arrays)
        names = getattr(self, "feature_names_in_", None)
        if names is not None:
            text = json.dumps([str(name) for name in names]).encode()
            arrays["feature_names"] = np.frombuffer(text, dtype=np.uint8)
        labels = labels_to_store(self.classes_) if hasattr(self, "classes_") else None
        _check_text("hyperparameters", params)
        _check_text("class labels", labels)
        _check_text("feature names", None if names is None else [str(name) for name in names])
        _check_text("what was learnt", fitted)
        description = {
            "kind": type(self).__name__,
            "params": to_json(params),
            "fitted": fitted,
            "labels": labels,
            "n_features": int(self.n_features_in_),  # type: ignore[attr-defined]
        }
        # What would not be read is not written: hyperparameters may have changed since the fit.
        try:
            self._check_hyperparameters()
            self._check_archived()
        except ValueError as error:
            reason = str(error).removeprefix(DAMAGED)
            raise ValueError(f"this estimator cannot be saved, fit it again: {reason}") from None
        return description, arrays

    @classmethod
    def _from_archive(
        cls, description: dict[str, Any], arrays: dict[str, np.ndarray], machine: Any
    ) -> Self:
        keys = {"kind", "params", "fitted", "labels", "n_features"}
        require(set(description) == keys, "description of the estimator")
        stored, fitted = description["params"], description["fitted"]
        require(isinstance(stored, dict) and isinstance(fitted, dict), "description")
        known = set(cls._get_param_names())  # type: ignore[attr-defined]
        require(set(stored) <= known, "hyperparameter")
        lacks = sorted(known - _MAY_LACK - set(stored))
        require(not lacks, f"it lacks the hyperparameter {lacks[0] if lacks else ''}")
        if stored.get("tune_size", 0) is None:
            del stored["tune_size"]  # so the Rust crate wrote that nothing is tuned
        of_points = {
            n for n, entry in stored.items() if isinstance(entry, dict) and "fitted" in entry
        }
        params = {
            name: param_from_store(name, entry, arrays)
            for name, entry in stored.items()
            if name not in of_points
        }
        estimator = cls(**params)
        archived = gathered(cls, "_archived")
        needed = {name for name, kind in archived.items() if not kind.endswith("?")}
        require(needed <= set(fitted) <= set(archived), "fitted attributes")
        if machine is not None:
            estimator.__dict__["_machine"] = machine
        require((machine is None) is not estimator._has_machine, "machine")
        for name, entry in fitted.items():
            setattr(estimator, name, restore(name, archived[name].rstrip("?"), entry, arrays))
        for name in of_points:
            attribute = cls._points.get(name, "")
            require(stored[name] == {"fitted": attribute}, "hyperparameter")
            setattr(estimator, name, getattr(estimator, attribute).copy())
        n_features = description["n_features"]
        require(type(n_features) is int and n_features > 0, "number of features")
        estimator.n_features_in_ = n_features  # type: ignore[attr-defined]
        names = feature_names(arrays)
        if names is not None:
            require(len(names) == n_features, "feature names")
            estimator.feature_names_in_ = names  # type: ignore[attr-defined]
        if description["labels"] is not None:
            labels = description["labels"]
            require(isinstance(labels, list) and len(labels) == 2, "class labels")
            require(isinstance(labels[0], str) and isinstance(labels[1], list), "class labels")
            estimator.classes_ = labels_from_store(*labels)  # type: ignore[attr-defined]
        require(not arrays, "an array that nothing uses")
        try:
            estimator._check_hyperparameters()
        except ValueError as error:
            raise damaged_file_error(error) from None
        estimator._check_archived()
        return estimator


def load(path: str | os.PathLike[str]) -> Any:
    """Read a fitted estimator from a file that `save` wrote.

    Nothing in the file is executed and no other file is opened; a file that is not exactly valid
    is refused. (A pickle, in contrast, runs code: load only pickles that you trust.) Files of
    earlier releases and of the Rust crate lack some hyperparameters, which have their defaults; a
    file that lacks another one is refused.

    Parameters
    ----------
    path : str or path-like
        The ``.safetensors`` file.

    Returns
    -------
    estimator
        Of the class that was saved. It predicts with the same bits, and can be trained on where
        its class can.

    Raises
    ------
    ValueError
        If the file is not exactly valid.
    OSError
        If it cannot be read.

    Examples
    --------
    >>> import tempfile, os, budgetsvm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = budgetsvm.BudgetSVC().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "iris.safetensors")
    ...     model.save(path)
    ...     again = budgetsvm.load(path)
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    text, arrays, machine = _core.archive_load(os.fsdecode(path))
    try:
        description = json.loads(text)
        cls = estimators().get(description["kind"])
        if cls is None:
            raise ValueError(f"the file holds a {description['kind']}, no estimator of Python's")
        return cls._from_archive(description, arrays, machine)
    except _MALFORMED as error:
        raise damaged_file_error(error) from error
