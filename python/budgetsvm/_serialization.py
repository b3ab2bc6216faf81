"""Serialization of hyperparameters, labels and learnt attributes as JSON and arrays."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import _column_encoders, _columns
from ._json_values import (
    DAMAGED as DAMAGED,
)
from ._json_values import (
    TYPES,
    damaged_file_error,
    from_json,
    require,
    to_json,
)
from ._json_values import (
    labels_from_store as labels_from_store,
)
from ._json_values import (
    labels_to_store as labels_to_store,
)
from ._validation import check_csr_structure, plain

_STORED = {"f": np.float64, "i": np.int64, "u": np.uint64, "b": np.uint8}

_SCALARS = (bool, int, float, str, type(None))
_STOPS = "converged max_iter max_time early_stopping callback".split()
_OBJECTIVES: tuple[set[str], ...] = ({"primal", "dual"}, {"primal", "smoothed"})


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _is_sizes(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0 and all(map(_is_count, value))


def _is_objective(value: Any) -> bool:
    numbers = isinstance(value, dict) and all(v is None or type(v) is float for v in value.values())
    return numbers and set(value) in _OBJECTIVES


_BOARD = {
    "kernel": str,
    "coding": str,
    "scales": str,
    "lambda": float,
    "error": float,
    "weight": float,
}


def _is_leaderboard(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(line, dict)
        and set(line) == set(_BOARD)
        and all(type(line[name]) is kind for name, kind in _BOARD.items())
        for line in value
    )


#: Kinds of JSON that learnt attributes are.
_JSON: dict[str, Callable[[Any], bool]] = {
    "count": _is_count,
    "flag": lambda value: type(value) is bool,
    "layout": _columns.is_kept,
    "leaderboard": _is_leaderboard,
    "number": lambda value: type(value) is float,
    "objective": _is_objective,
    "plans": _column_encoders.are_encoders,
    "sizes": _is_sizes,
    "stop": lambda value: value in _STOPS,
}
#: Kinds of vectors, by their type.
_VECTORS = ("int32", "int64", "float64")


def param_to_store(name: str, value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """A hyperparameter as JSON, or as arrays that the JSON names.

    A callback, folds, a scorer and a generator's state stay behind (None). What a file cannot hold
    is a ValueError that names it.
    """
    if name in ("cv", "scoring") and not isinstance(plain(value), (int, str)):
        return None
    if name == "class_weight" and isinstance(value, dict):
        return {"pairs": [[_scalar(name, part) for part in pair] for pair in value.items()]}
    if name == "quantile" and isinstance(value, (list, tuple, np.ndarray)):
        return [float(_scalar(name, level)) for level in value]
    if name == "order" and isinstance(value, (list, tuple)):
        return [_scalar(name, index) for index in value]
    if sp.issparse(value):
        return store(f"param.{name}", "matrix", value, arrays)
    if isinstance(value, (np.ndarray, list, tuple)):
        try:
            value = np.asarray(value)
            value = value if value.dtype.kind in _STORED else value.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"{name} is a list of something else than numbers, which a file cannot hold: use "
                "pickle"
            ) from None
        return store(f"param.{name}", "matrix", value, arrays)
    left = name in ("callback", "random_state") and not isinstance(value, (*_SCALARS, Real))
    return None if left else _scalar(name, value)


def _scalar(name: str, value: Any) -> Any:
    """The Python number or string that stands for this."""
    value = plain(value)
    if isinstance(value, _SCALARS):
        return value
    if isinstance(value, Real):
        return int(value) if isinstance(value, Integral) else float(value)
    what = "a function" if callable(value) else f"of type {type(value).__name__}"
    raise ValueError(f"{name} is {what}, which a file cannot hold: use pickle")


def param_from_store(name: str, stored: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The inverse of `param_to_store`."""
    if isinstance(stored, dict) and {"array", "csr"} & set(stored):
        return restore(f"param.{name}", "matrix", stored, arrays)
    value = from_json(stored)
    if name == "class_weight" and isinstance(value, dict):
        require(set(value) == {"pairs"} and isinstance(value["pairs"], list), "class_weight")
        require(all(isinstance(p, list) and len(p) == 2 for p in value["pairs"]), "class_weight")
        fits = all(isinstance(part, _SCALARS) for pair in value["pairs"] for part in pair)
        weights = dict(value["pairs"]) if fits else {}
        require(fits and len(weights) == len(value["pairs"]), "class_weight")
        return weights
    order = name == "order" and isinstance(value, list) and all(type(i) is int for i in value)
    if name == "quantile" and isinstance(value, list):
        require(all(type(level) is float for level in value), "hyperparameter quantile")
        return value
    require(order or isinstance(value, _SCALARS), f"hyperparameter {name}")
    return value


def _put(name: str, value: np.ndarray, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    value = np.asarray(value)
    if value.dtype.kind not in _STORED:
        raise ValueError(f"{name} of type {value.dtype} cannot be saved to a file")
    if value.dtype.name not in TYPES:
        value = value.astype(_STORED[value.dtype.kind])
    exact = value.dtype in (np.float32, np.uint8)
    stored = value if exact else value.astype(_STORED[value.dtype.kind])
    # A scalar array has no C order to lose; `ascontiguousarray` would make it a vector.
    arrays[name] = np.ascontiguousarray(stored).reshape(value.shape)
    return {"array": value.dtype.name}


def _take(name: str, entry: Any, arrays: dict[str, np.ndarray]) -> np.ndarray:
    fits = isinstance(entry, dict) and set(entry) == {"array"} and name in arrays
    require(fits and isinstance(entry["array"], str) and entry["array"] in TYPES, name)
    stored, dtype = arrays.pop(name), TYPES[entry["array"]]
    exact = dtype in (np.float32, np.uint8)
    require(stored.dtype == (dtype if exact else _STORED[dtype.kind]), name)
    if dtype == stored.dtype:
        return stored  # arrays can be large: no second copy
    restored = stored.astype(dtype)
    require(np.array_equal(restored, stored, equal_nan=True), name)
    return restored


def store(name: str, kind: str, value: Any, arrays: dict[str, np.ndarray]) -> Any:
    if kind in _JSON:
        value = list(value) if kind == "sizes" else value
        return to_json(plain(value))
    if kind == "numbers":
        return to_json(plain(np.asarray(value, dtype=np.float64)))
    if kind == "curves":
        for curve, values in value.items():
            arrays[f"history.{name}.{curve}"] = np.ascontiguousarray(values, dtype=np.float64)
        return sorted(value)
    if kind in _VECTORS or (kind in ("array", "matrix") and not sp.issparse(value)):
        return _put(name, value, arrays)
    if kind == "matrix":
        value = sp.csr_matrix(value)
        parts = {"data": value.data, "indices": value.indices, "indptr": value.indptr}
        entries = {part: _put(f"{name}.{part}", array, arrays) for part, array in parts.items()}
        return {"csr": entries, "shape": list(map(int, value.shape))}
    raise ValueError(f"{name} is of no kind that a file holds")


def restore(name: str, kind: str, entry: Any, arrays: dict[str, np.ndarray]) -> Any:
    if kind in _JSON:
        value = from_json(entry)
        require(_JSON[kind](value), name)
        return value
    if kind == "numbers" and isinstance(entry, list):
        numbers = from_json(entry)
        require(all(type(number) is float for number in numbers), name)
        return np.array(numbers, dtype=np.float64)
    if kind == "curves":
        require(isinstance(entry, list), name)
        for curve in entry:
            require(isinstance(curve, str) and f"history.{name}.{curve}" in arrays, name)
        require(entry == sorted(set(entry)), name)
        curves = {curve: arrays.pop(f"history.{name}.{curve}") for curve in entry}
        for values in curves.values():
            require(values.ndim == 1 and values.dtype == np.float64, name)
        return curves
    if kind == "matrix" and isinstance(entry, dict) and "csr" in entry:
        return _restore_csr(name, entry, arrays)
    array = _take(name, entry, arrays)
    # Numbers of an older file are an array.
    if kind in _VECTORS or kind == "numbers":
        vector = array.dtype == kind.replace("numbers", "float64") and array.ndim == 1
        require(vector and (array.dtype.kind == "f" or bool((array >= 0).all())), name)
    return array


def _restore_csr(name: str, entry: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    parts, shape = entry["csr"], entry.get("shape")
    sizes = isinstance(shape, list) and len(shape) == 2 and all(type(n) is int for n in shape)
    fits = set(entry) == {"csr", "shape"} and isinstance(parts, dict)
    require(sizes and fits and set(parts) == {"data", "indices", "indptr"}, name)
    data, indices, indptr = (
        _take(f"{name}.{part}", parts[part], arrays) for part in ("data", "indices", "indptr")
    )
    try:
        matrix = sp.csr_matrix((data, indices, indptr), shape=shape)
        # SciPy's own check looks no further when the last entry of indptr is 0.
        check_csr_structure(matrix)
        matrix.check_format(full_check=True)
    except (ValueError, IndexError, TypeError) as error:
        raise damaged_file_error(f"{name} ({error})") from None
    return matrix
