"""Writes one small file of every estimator into a folder, and what each says of some rows.

    python tests/python/files.py FOLDER

A file that is there is not written again: `test_files.py` loads those of all releases.
"""

from __future__ import annotations

import json
import struct
import sys
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import budgetsvm as b

#: Transformers, classifiers and regressors with a configuration that is another path of a file.
MORE: dict[str, list[dict[str, Any]]] = {
    "BudgetSVR": [{"loss": "quantile", "quantile": [0.1, 0.5, 0.9]}],
    "BudgetSVC": [{"shared": False}, {"feature_scales": [2.0, 0.3, 0.0]}],
    "PrimalSVC": [{"kernel": "linear"}, {"basis": "random", "n_components": 5}],
    "AssetSVC": [{"features": "fourier"}, {"solver": "dual"}],
    "LocalBudgetSVC": [{"local": "bsca"}, {"n_components": 2}],
    "SVC": [{"kernel": "poly"}, {"feature_scales": [2.0, 0.3, 0.0]}],
    "KernelOGD": [{"average": True}, {"feature_scales": [2.0, 0.3, 0.0]}],
    "BudgetOGD": [{"average": True, "budget": 6}],
}
FIXED = {
    "BudgetSVC": {"budget": 8}, "BudgetSVR": {"budget": 8},
    # Not the ends of the grid: a wide kernel with a large C has coefficients of hundreds of both
    # signs, whose rounding to float32 would be all that tests of other forms see.
    "BudgetSVCCV": {"budget": 8, "Cs": [1.0, 10.0], "gammas": [0.5, 2.0], "cv": 2},
    "BudgetSVRCV": {"budget": 8, "Cs": [1.0, 10.0], "gammas": [0.5, 2.0], "cv": 2},
    "BudgetOneClassSVM": {"budget": 8}, "LocalBudgetSVC": {"n_clusters": 3},
    "NuSVC": {"nu": 0.2}, "SemiparametricNuSVC": {"nu": 0.2},
    "AssetSVC": {"n_components": 6}, "AssetSVR": {"n_components": 6},
    "Nystroem": {"n_components": 4}, "RandomFourier": {"n_components": 4},
    "IncompleteCholesky": {"n_components": 4}, "FourierOGD": {"n_frequencies": 5},
}  # fmt: skip

#: Machines that are calibrated, and by what.
CALIBRATED = [
    ("BudgetSVC", "two", "sigmoid"),
    ("PrimalSVC", "several", "isotonic"),
    ("SVC", "several", "temperature"),
]

#: Formats of files that are older than the estimator.
SINCE = {
    "AutoSVC": 2, "AutoSVR": 2, "BudgetOneClassSVM": 2, "LocalBudgetSVC-2": 2,
    "BudgetSVC-2": 2, "SVC-2": 2, "KernelOGD-2": 2, "columns": 2, "sets": 2, "BudgetSVR-1": 2,
    "BudgetSVCCV": 2, "BudgetSVRCV": 2,
}  # fmt: skip


def is_in(folder: Path, name: str, estimator: Any) -> bool:
    """Whether this folder's format is old enough to know the case."""
    case, _, kind = name.rpartition("-")
    known = (type(estimator).__name__, case, kind)
    return int(folder.name) >= max(SINCE.get(part, 1) for part in known)


def rows(single: bool, sparse: bool) -> Any:
    """Rows that no random number has a part in."""
    grid = np.arange(40)
    X = np.stack([np.sin(0.7 * grid), np.cos(1.3 * grid), np.sin(2.1 * grid + 1)], axis=1)
    X = np.where(np.abs(X) < 0.3, 0.0, X).astype(np.float32 if single else np.float64)
    return sp.csr_matrix(X) if sparse else X


def targets(kind: str) -> np.ndarray:
    """Labels (strings, for several classes) or values for `rows`."""
    X = rows(False, False)
    if kind == "values":
        return X[:, 0] * X[:, 1] + 0.5
    if kind == "sets":
        return np.stack([X[:, 0] > 0, X[:, 1] > 0.2, X[:, 2] > X[:, 0]], axis=1).astype(int)
    if kind == "columns":
        return np.stack([X[:, 0] * X[:, 1] + 0.5, np.abs(X[:, 2])], axis=1)
    if kind == "two":
        return np.where(X[:, 0] + X[:, 1] > 0, 7, -3)
    return np.array(["b", "a", "ü"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0.2)]


def cases() -> Iterator[tuple[str, Any, str, bool, bool]]:
    """Name of the file, estimator, kind of targets, single precision, sparse rows."""
    for name in sorted(b.__all__):
        cls = getattr(b, name)
        if not (isinstance(cls, type) and hasattr(cls, "save")):
            continue
        for at, own in enumerate([{}, *MORE.get(name, [])]):
            params = {**FIXED.get(name, {}), **own}
            if "random_state" in cls().get_params():
                params["random_state"] = 0
            if hasattr(cls, "_estimator_type") and cls._estimator_type == "regressor":
                kinds = ["values"]
            else:
                kinds = ["two", "several"] if hasattr(cls, "decision_function") else ["values"]
            if name.endswith("OneClassSVM"):
                kinds = ["values"]
            if cls().__sklearn_tags__().target_tags.multi_output and at == 0:
                kinds.append("columns")
            if at == 0 and getattr(cls().__sklearn_tags__().classifier_tags, "multi_label", False):
                kinds.append("sets")
            for kind in kinds:
                single, sparse = (at + len(kind)) % 2 == 0, kind == "two" and at % 2 == 0
                yield f"{name}-{at}-{kind}", cls(**params), kind, single, sparse


def calibrated() -> Iterator[tuple[str, Any, str, str]]:
    """Name of the file, estimator, kind of targets and method, of double rows."""
    for name, kind, method in CALIBRATED:
        yield f"{name}-{method}-{kind}", getattr(b, name)(**FIXED.get(name, {})), kind, method


def said(estimator: Any, X: Any) -> np.ndarray:
    """What a fitted estimator says of rows, as numbers."""
    if getattr(estimator, "_machine", None) is not None and estimator._machine.calibration:
        return estimator.predict_proba(X)
    for method in ("decision_function", "transform", "predict"):
        if hasattr(estimator, method):
            return np.asarray(getattr(estimator, method)(X), dtype=np.float64)
    raise TypeError(type(estimator).__name__)


def parts(data: bytes) -> tuple[dict, dict, bytes]:
    """Header, description and values of a file."""
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    return header, json.loads(header["__metadata__"]["budgetsvm"]), data[8 + length :]


def joined(header: dict, description: dict, values: bytes) -> bytes:
    """A file of these parts, with the checksum that it should have."""
    header = {**header, "__metadata__": {"budgetsvm": json.dumps(description)}}
    text = json.dumps(header).encode()
    return summed(struct.pack("<Q", len(text)) + text + values)


def content(data: bytes) -> dict[str, Any]:
    """What a file says, in whichever order: its description and its arrays."""
    header, description, values = parts(data)
    description.pop("library_version")
    del header["__metadata__"]
    header.pop("checksum", None)
    said: dict[str, Any] = {"": description}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        said[name] = (entry["dtype"], entry["shape"], values[first:last])
    return said


def summed(data: bytes) -> bytes:
    """The file with the checksum that it should have, where there is a place for one."""
    try:
        header, _, _ = parts(data)
        entry = header["checksum"]
        first = struct.unpack("<Q", data[:8])[0] + 8 + entry["data_offsets"][0]
        fits = entry["dtype"] == "U64" and entry["shape"] == [1] and type(first) is int
        fits = fits and 0 < first <= len(data) - 8
    except (ValueError, KeyError, TypeError, IndexError, struct.error):
        return data
    if not fits:
        return data
    empty = data[:first] + bytes(8) + data[first + 8 :]
    sum_ = struct.pack("<Q", zlib.crc32(empty))
    return data[:first] + sum_ + data[first + 8 :]


def write(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    told = folder / "said.npz"
    values = dict(np.load(told)) if told.is_file() else {}
    for name, estimator, kind, single, sparse in cases():
        path = folder / f"{name}.safetensors"
        if path.is_file():
            continue
        X = rows(single, sparse)
        estimator.fit(X, targets(kind)) if kind != "values" or hasattr(
            estimator, "predict"
        ) else estimator.fit(X)
        estimator.save(path)
        values[name] = said(estimator, X)
    for name, estimator, kind, method in calibrated():
        path = folder / f"{name}.safetensors"
        if path.is_file():
            continue
        X, y = rows(False, False), targets(kind)
        if "random_state" in estimator.get_params():
            estimator.set_params(random_state=0)
        estimator.fit(X, y).calibrate(X, y, method, cv="prefit").save(path)
        values[name] = said(estimator, X)
    np.savez_compressed(told, **values)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    write(Path(sys.argv[1]))
