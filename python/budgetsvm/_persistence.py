"""Models as safetensors files: `save` on every estimator, `load` for all.

A file holds numbers and JSON, never code. Everything in it is checked in Rust before it is used.
"""

from __future__ import annotations

import json
import os
from numbers import Integral, Real
from typing import Any

import numpy as np

from . import _core
from ._validation import plain

_LABEL_TYPES = {
    np.dtype(name).name: np.dtype(name)
    for name in (
        "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 bool".split()
    )
}
_MALFORMED = (AttributeError, IndexError, KeyError, OverflowError, RecursionError, TypeError)
_SCALARS = (bool, int, float, str, type(None))


def labels_to_store(classes: np.ndarray) -> tuple[str, list[Any]]:
    """The labels' type and values, as a file holds them.

    Raises
    ------
    ValueError
        If the labels are neither numbers, booleans nor strings.
    """
    if classes.dtype.name in _LABEL_TYPES:
        return classes.dtype.name, classes.tolist()
    if classes.dtype.kind in "UOT" and all(isinstance(label, str) for label in classes):
        return ("str" if classes.dtype.kind == "U" else "object"), [str(c) for c in classes]
    raise ValueError(
        f"class labels of type {classes.dtype} cannot be saved to a file: use numbers, booleans "
        "or strings, or pickle the estimator"
    )


def labels_from_store(kind: str, labels: list[Any]) -> np.ndarray:
    """The inverse of `labels_to_store`.

    Raises
    ------
    ValueError
        If the type is unknown or does not fit the values.
    """
    text = all(isinstance(label, str) for label in labels)
    if kind in ("str", "object") and text:
        return np.array(labels, dtype=np.str_ if kind == "str" else object)
    if kind in _LABEL_TYPES and not text:
        restored = np.array(labels).astype(_LABEL_TYPES[kind])
        if restored.tolist() == labels:
            return restored
    raise ValueError(f"not a valid budgetsvm model file: class labels of type {kind!r}")


def params_to_store(params: dict[str, Any]) -> dict[str, Any]:
    """Hyperparameters as JSON. A callback and a generator's state stay behind (None).

    Raises
    ------
    ValueError
        If one is of a type that a file cannot hold; the message names it.
    """
    stored = {name: _scalar(value) for name, value in params.items()}
    if isinstance(stored.get("class_weight"), dict):
        pairs = [[_scalar(label), _scalar(w)] for label, w in stored["class_weight"].items()]
        stored["class_weight"] = {"pairs": pairs}
    for name in ("callback", "random_state"):
        if not isinstance(stored.get(name), _SCALARS):
            stored[name] = None
    for name, value in stored.items():
        parts = value["pairs"] if isinstance(value, dict) and "pairs" in value else [[value]]
        if name == "order" and isinstance(value, list):
            parts = [value]
        for part in (part for pair in parts for part in pair):
            if not isinstance(part, _SCALARS):
                what = "a function" if callable(part) else f"of type {type(part).__name__}"
                raise ValueError(f"{name} is {what}, which a file cannot hold: use pickle")
    return stored


def _scalar(value: Any) -> Any:
    """The Python number, string or list that stands for this; the rest as it is."""
    value = plain(value)
    if isinstance(value, _SCALARS) or not isinstance(value, Real):
        return value
    return int(value) if isinstance(value, Integral) else float(value)


def params_from_store(cls: type, stored: Any) -> dict[str, Any]:
    """Hyperparameters of an estimator, each one known.

    Raises
    ------
    ValueError
        If a name is unknown or a value is of no type that a hyperparameter has.
    """
    known = set(cls._get_param_names())  # type: ignore[attr-defined]
    if not isinstance(stored, dict) or not set(stored) <= known:
        raise ValueError("not a valid budgetsvm model file: unknown hyperparameter")
    params = dict(stored)
    weight = params.get("class_weight")
    if isinstance(weight, dict):
        try:
            params["class_weight"] = {label: float(w) for label, w in weight["pairs"]}
        except (KeyError, TypeError, ValueError):
            raise ValueError("not a valid budgetsvm model file: class_weight") from None
    for name, value in params.items():
        order = name == "order" and isinstance(value, list) and all(type(i) is int for i in value)
        if not (isinstance(value, _SCALARS) or order or name == "class_weight"):
            raise ValueError(f"not a valid budgetsvm model file: hyperparameter {name}")
    return params


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator; see `BudgetSVC.save`."""
    kind, labels = None, None
    if hasattr(estimator, "classes_"):
        kind, labels = labels_to_store(estimator.classes_)
    description = {
        "kind": type(estimator).__name__,
        "params": params_to_store(estimator.get_params(deep=False)),
        "fitted": {
            "label_type": kind,
            "n_iter": int(estimator.n_iter_),
            "stop_reason": estimator.stop_reason_,
            "objective": estimator.objective_,
        },
    }
    names = getattr(estimator, "feature_names_in_", None)
    estimator._machine.save(
        os.fspath(path),
        json.dumps(description, allow_nan=False),
        labels,
        None if names is None else [str(name) for name in names],
        estimator.history_,
    )


def load(path: str | os.PathLike[str]) -> Any:
    """Read a fitted estimator from a file that `save` wrote.

    Nothing in the file is executed and no other file is opened; a file that is not exactly valid
    is refused. (A pickle, in contrast, runs code: load only pickles that you trust.)

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
    name = os.fspath(path)
    try:
        archive = _core.archive_load(name)
        return _machine_of(name) if archive is None else _from_archive(*archive)
    except _MALFORMED as error:
        # JSON of another shape than is written: whatever it was that did not fit.
        raise ValueError(f"not a valid budgetsvm model file: {error}") from error


def _machine_of(path: str) -> Any:
    from ._svc import BudgetSVC
    from ._svr import BudgetSVR

    machine, text, labels, names, history = _core.BudgetMachine.load(path)
    description = json.loads(text)
    if set(description) != {"kind", "params", "fitted"}:
        raise ValueError("not a valid budgetsvm model file: description of the estimator")
    cls = {"BudgetSVC": BudgetSVC, "BudgetSVR": BudgetSVR}.get(description["kind"])
    fitted = description["fitted"]
    if cls is None or (labels is None) != (cls is BudgetSVR):
        raise ValueError("not a valid budgetsvm model file: unknown kind of estimator")
    if not isinstance(fitted, dict) or set(fitted) != {
        "label_type", "n_iter", "stop_reason", "objective"
    }:  # fmt: skip
        raise ValueError("not a valid budgetsvm model file: fitted attributes")
    estimator = cls(**params_from_store(cls, description["params"]))
    estimator._machine = machine
    estimator.n_features_in_ = machine.n_features
    estimator.n_iter_ = fitted["n_iter"]
    estimator.stop_reason_ = fitted["stop_reason"]
    estimator.objective_ = fitted["objective"]
    estimator.history_ = history
    if labels is not None:
        estimator.classes_ = labels_from_store(fitted["label_type"], labels)
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    return estimator


def _from_archive(text: str, arrays: dict[str, np.ndarray]) -> Any:
    import budgetsvm

    from ._archive import Archived

    description = json.loads(text)
    kind = description.get("kind")
    cls = getattr(budgetsvm, kind, None) if kind in budgetsvm.__all__ else None
    if not (isinstance(cls, type) and issubclass(cls, Archived)):
        raise ValueError("not a valid budgetsvm model file: unknown kind of estimator")
    return cls._from_archive(description, arrays)
