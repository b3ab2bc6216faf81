"""`save` for estimators whose learnt state is in plain attributes, and how `load` restores them.

A class lists what it learns in `_archived`, name by name and kind by kind; nothing else is written,
and nothing else is accepted from a file.
"""

from __future__ import annotations

import json
import math
import os
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from . import _core
from ._persistence import labels_from_store, labels_to_store, params_from_store, params_to_store
from ._validation import check_csr_structure, plain

_STORED = {"f": np.float64, "i": np.int64, "u": np.uint64, "b": np.uint8}


class Archived:
    """Mixin of estimators that `save` to an archive; not for use on its own."""

    #: Learnt attributes: name -> "array", "matrix" (array or CSR), "numbers" (a short vector of
    #: float64 that may be infinite), "value" (JSON), "curves" (a dict of arrays) or the name of a
    #: class of `_core` with `to_bytes` and `from_bytes`. A "?" at the end: may be missing.
    #: `n_features_in_`, `feature_names_in_` and `classes_` go without saying.
    _archived: ClassVar[dict[str, str]]

    #: Hyperparameters that may be fitted machines, whose points are used: name -> the learnt
    #: attribute that is read from the file in its place.
    _points: ClassVar[dict[str, str]] = {}

    def _check_archived(self) -> None:
        """Whether restored attributes fit together, by ValueError; a class overrides it."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to a safetensors file, whole or not at all.

        Parameters
        ----------
        path : str or path-like
            A file name ending in ``.safetensors``. `budgetsvm.load` reads it back. A callback and
            a ``RandomState`` are not saved; a list of numbers as a hyperparameter comes back as an
            array, a sparse matrix as CSR, and a machine (`basis`) as the points that the fit took
            from it: `support_vectors_`.

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
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        arrays: dict[str, np.ndarray] = {}
        plain_params, params = {}, {}
        for name, value in self.get_params(deep=False).items():  # type: ignore[attr-defined]
            points = self._points.get(name, "")
            if hasattr(value, "support_vectors_") and hasattr(self, points):
                params[name] = {"fitted": points}
            elif sp.issparse(value) or isinstance(value, (np.ndarray, list, tuple)):
                params[name] = _put_param(name, value, arrays)
            else:
                plain_params[name] = value
        params |= params_to_store(plain_params)
        fitted = {}
        for name, kind in self._archived.items():
            if hasattr(self, name) or not kind.endswith("?"):
                fitted[name] = _store(name, kind.rstrip("?"), getattr(self, name), arrays)
        names = getattr(self, "feature_names_in_", None)
        if names is not None:
            text = json.dumps([str(name) for name in names]).encode()
            arrays["feature_names"] = np.frombuffer(text, dtype=np.uint8)
        labels = labels_to_store(self.classes_) if hasattr(self, "classes_") else None
        description = {
            "kind": type(self).__name__,
            "params": _numbers(params),
            "fitted": fitted,
            "labels": labels,
            "n_features": int(getattr(self, "n_features_in_", 0)),
        }
        _core.archive_save(os.fspath(path), json.dumps(description, allow_nan=False), arrays)

    @classmethod
    def _from_archive(cls, description: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        keys = {"kind", "params", "fitted", "labels", "n_features"}
        _require(set(description) == keys, "description of the estimator")
        stored, fitted = description["params"], description["fitted"]
        _require(isinstance(stored, dict) and isinstance(fitted, dict), "description")
        special = {name for name, entry in stored.items() if _is_special(entry)}
        _require(special <= set(cls._get_param_names()), "hyperparameter")  # type: ignore[attr-defined]
        rest = {name: _number(stored[name]) for name in set(stored) - special}
        of_points = {name for name in special if "fitted" in stored[name]}
        of_arrays = {
            name: _restore(f"param.{name}", "matrix", stored[name], arrays)
            for name in special - of_points
        }
        estimator = cls(**params_from_store(cls, rest), **of_arrays)
        needed = {name for name, kind in cls._archived.items() if not kind.endswith("?")}
        _require(needed <= set(fitted) <= set(cls._archived), "fitted attributes")
        for name, entry in fitted.items():
            kind = cls._archived[name].rstrip("?")
            setattr(estimator, name, _restore(name, kind, entry, arrays))
        for name in of_points:
            attribute = cls._points.get(name, "")
            _require(stored[name] == {"fitted": attribute}, "hyperparameter")
            setattr(estimator, name, getattr(estimator, attribute).copy())
        if description["n_features"]:
            _require(type(description["n_features"]) is int, "number of features")
            estimator.n_features_in_ = description["n_features"]  # type: ignore[attr-defined]
        if "feature_names" in arrays:
            names = json.loads(bytes(arrays.pop("feature_names")).decode("utf-8"))
            fits = isinstance(names, list) and all(isinstance(name, str) for name in names)
            _require(fits and len(names) == description["n_features"], "feature names")
            estimator.feature_names_in_ = np.array(names, dtype=object)  # type: ignore[attr-defined]
        if description["labels"] is not None:
            stored = description["labels"]
            _require(isinstance(stored, list) and len(stored) == 2, "class labels")
            _require(isinstance(stored[0], str) and isinstance(stored[1], list), "class labels")
            estimator.classes_ = labels_from_store(*description["labels"])  # type: ignore[attr-defined]
        _require(not arrays, "an array that nothing uses")
        estimator._check_archived()
        return estimator


def _require(fine: bool, what: str) -> None:
    if not fine:
        raise ValueError(f"not a valid budgetsvm model file: {what}")


def _put_param(name: str, value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """A hyperparameter that is an array, a sparse matrix or a list."""
    if name == "order" and not isinstance(value, np.ndarray):
        return plain(value)
    if not sp.issparse(value):
        try:
            value = np.asarray(value)
            value = value if value.dtype.kind in _STORED else value.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"{name} holds something else than numbers, which a file cannot hold: use pickle"
            ) from None
    return _store(f"param.{name}", "matrix", value, arrays)


def _is_special(entry: Any) -> bool:
    """Whether this stands for a hyperparameter that is no JSON of its own."""
    return isinstance(entry, dict) and bool({"array", "csr", "fitted"} & set(entry))


def _put(name: str, value: np.ndarray, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    value = np.asarray(value)
    if value.dtype.kind not in _STORED:
        raise ValueError(f"{name} of type {value.dtype} cannot be saved to a file")
    exact = value.dtype in (np.float32, np.uint8)
    stored = value if exact else value.astype(_STORED[value.dtype.kind])
    # A scalar array has no C order to lose; `ascontiguousarray` would make it a vector.
    arrays[name] = np.ascontiguousarray(stored).reshape(value.shape)
    return {"array": value.dtype.name}


def _take(name: str, entry: Any, arrays: dict[str, np.ndarray]) -> np.ndarray:
    fits = isinstance(entry, dict) and set(entry) == {"array"} and name in arrays
    _require(fits and isinstance(entry["array"], str), name)
    stored = arrays.pop(name)
    try:
        dtype = np.dtype(entry["array"])
    except TypeError:
        dtype = np.dtype(object)
    _require(dtype.kind in _STORED, name)
    if dtype == stored.dtype:
        return stored  # arrays can be large: no second copy
    restored = stored.astype(dtype)
    _require(np.array_equal(restored, stored, equal_nan=True), name)
    return restored


def _store(name: str, kind: str, value: Any, arrays: dict[str, np.ndarray]) -> Any:
    if kind == "value":
        return _numbers(plain(value))
    if kind == "numbers":
        return _numbers(plain(np.asarray(value, dtype=np.float64)))
    if kind == "curves":
        for curve, values in value.items():
            arrays[f"history.{name}.{curve}"] = np.ascontiguousarray(values, dtype=np.float64)
        return sorted(value)
    if kind == "array" or (kind == "matrix" and not sp.issparse(value)):
        return _put(name, value, arrays)
    if kind == "matrix":
        value = sp.csr_matrix(value)
        parts = {"data": value.data, "indices": value.indices, "indptr": value.indptr}
        entries = {part: _put(f"{name}.{part}", array, arrays) for part, array in parts.items()}
        return {"csr": entries, "shape": list(map(int, value.shape))}
    return _put(name, np.frombuffer(value.to_bytes(), dtype=np.uint8), arrays)


def _restore(name: str, kind: str, entry: Any, arrays: dict[str, np.ndarray]) -> Any:
    if kind == "value":
        return _number(entry)
    if kind == "numbers" and isinstance(entry, list):
        numbers = _number(entry)
        _require(all(type(number) is float for number in numbers), name)
        return np.array(numbers, dtype=np.float64)
    if kind == "curves":
        _require(isinstance(entry, list), name)
        for curve in entry:
            _require(isinstance(curve, str) and f"history.{name}.{curve}" in arrays, name)
        return {curve: arrays.pop(f"history.{name}.{curve}") for curve in entry}
    if kind == "matrix" and isinstance(entry, dict) and "csr" in entry:
        return _restore_csr(name, entry, arrays)
    if kind in ("array", "matrix", "numbers"):
        return _take(name, entry, arrays)
    return getattr(_core, kind).from_bytes(_take(name, entry, arrays).tobytes())


def _restore_csr(name: str, entry: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    parts, shape = entry["csr"], entry.get("shape")
    sizes = isinstance(shape, list) and len(shape) == 2 and all(type(n) is int for n in shape)
    fits = set(entry) == {"csr", "shape"} and isinstance(parts, dict)
    _require(sizes and fits and set(parts) == {"data", "indices", "indptr"}, name)
    data, indices, indptr = (
        _take(f"{name}.{part}", parts[part], arrays) for part in ("data", "indices", "indptr")
    )
    try:
        matrix = sp.csr_matrix((data, indices, indptr), shape=shape)
        # SciPy's own check looks no further when the last entry of indptr is 0.
        check_csr_structure(matrix)
        matrix.check_format(full_check=True)
    except (ValueError, IndexError, TypeError) as error:
        raise ValueError(f"not a valid budgetsvm model file: {name} ({error})") from None
    return matrix


def _numbers(value: Any) -> Any:
    """JSON has no infinity and no NaN: they become ``{"float": name}``."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if isinstance(value, dict):
        return {name: _numbers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    return value


def _number(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {"float"}:
            _require(value["float"] in ("inf", "-inf", "nan"), "a number")
            return float(value["float"])
        return {name: _number(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_number(item) for item in value]
    return value
