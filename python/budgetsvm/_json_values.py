"""JSON values of model files: numbers and labels, and the error of a damaged file. NumPy only."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

#: Types of labels and arrays, by name.
TYPES = {
    np.dtype(name).name: np.dtype(name)
    for name in (
        "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 bool".split()
    )
}
#: The Python type of a label in JSON, by the kind of its NumPy dtype.
_JSON_TYPES = {"i": int, "u": int, "f": float, "b": bool}
#: Text labels become objects beyond this many bytes, because one long label widens a whole array.
_MAX_TEXT_BYTES = 2**24


#: The beginning of every message about a damaged file.
DAMAGED = "not a valid budgetsvm model file: "


def damaged_file_error(what: object) -> ValueError:
    """The error for a file whose content `save` cannot have written."""
    return ValueError(f"{DAMAGED}{what}")


def require(fine: bool, what: str) -> None:
    """Raise the error of a damaged file unless `fine`."""
    if not fine:
        raise damaged_file_error(what)


def feature_names(arrays: dict[str, np.ndarray]) -> np.ndarray | None:
    """The names of the features, taken out of the arrays of a file; None where it has none."""
    if "feature_names" not in arrays:
        return None
    names = json.loads(bytes(arrays.pop("feature_names")).decode("utf-8"))
    require(isinstance(names, list) and all(isinstance(n, str) for n in names), "feature names")
    return np.array(names, dtype=object)


def labels_to_store(classes: np.ndarray) -> tuple[str, list[Any]]:
    """The labels' type and values, as a file holds them."""
    if classes.dtype.name in TYPES:
        return classes.dtype.name, classes.tolist()
    if classes.dtype.kind in "UOT" and all(isinstance(label, str) for label in classes):
        return ("str" if classes.dtype.kind == "U" else "object"), [str(c) for c in classes]
    raise ValueError(
        f"class labels of type {classes.dtype} cannot be saved to a file: use numbers, booleans "
        "or strings, or pickle the estimator"
    )


def labels_from_store(kind: str, labels: list[Any]) -> np.ndarray:
    """The inverse of `labels_to_store`."""
    text = all(type(label) is str for label in labels)
    if kind in ("str", "object") and text:
        require(len(labels) > 1 and labels == sorted(set(labels)), "class labels")
        narrow = 4 * max(map(len, labels)) * len(labels) <= _MAX_TEXT_BYTES
        return np.array(labels, dtype=np.str_ if kind == "str" and narrow else object)
    if kind in TYPES and not text:
        dtype = TYPES[kind]
        require(all(type(label) is _JSON_TYPES[dtype.kind] for label in labels), "class labels")
        require(len(labels) > 1 and labels == sorted(set(labels)), "class labels")
        restored = np.array(labels, dtype=dtype)
        if restored.tolist() == labels:
            return restored
    raise damaged_file_error(f"class labels of type {kind!r}")


def to_json(value: Any) -> Any:
    """JSON has no infinity and no NaN: they become ``{"float": name}``."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if isinstance(value, dict):
        return {name: to_json(item) for name, item in value.items()}
    if isinstance(value, list):
        return [to_json(item) for item in value]
    return value


def from_json(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {"float"}:
            require(value["float"] in ("inf", "-inf", "nan"), "a number")
            return float(value["float"])
        return {name: from_json(item) for name, item in value.items()}
    if isinstance(value, list):
        return [from_json(item) for item in value]
    return value
