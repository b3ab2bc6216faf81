"""The intermediate representation of a fitted model, from which the exports are written.

`read_model_ir` walks once over the model as files hold it (`_core.Machine.parts`) and returns the
sums that the model consists of, in float64. The exports to ONNX, C and LIBSVM's text read this
representation and know no estimator class.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

#: Kernels that depend only on the difference of two rows.
TRANSLATION_INVARIANT_KERNELS = ("rbf", "laplacian", "matern32", "matern52")


@dataclass(frozen=True)
class KernelExpansion:
    """``f_c(x) = Σ_j coef[j, c] k(points[j], x - origin) + intercept[c]``."""

    kind: ClassVar[str] = "expansion"
    kernel: dict[str, Any]
    points: Any  # (B, d), less the origin; sparse points stay CSR and are not shifted
    origin: np.ndarray  # (d,), zeros where the points are not shifted
    coef: np.ndarray
    intercept: np.ndarray

    def dense(self) -> np.ndarray:
        points: Any = self.points
        return points.toarray() if hasattr(points, "toarray") else points


@dataclass(frozen=True)
class OneVsOneExpansion:
    """An exact machine, with one decision value per pair of classes.

    `coef` has the shape (n_classes - 1, B) and LIBSVM's layout, or the shape (1, B).
    """

    kind: ClassVar[str] = "pairs"
    kernel: dict[str, Any]
    points: Any
    origin: np.ndarray
    n_support: list[int]
    coef: np.ndarray
    intercept: np.ndarray

    def expansion(self) -> KernelExpansion:
        """The same machine with one column of coefficients per pair."""
        k = len(self.n_support)
        coef = self.coef.T
        if k > 2:
            ends = np.cumsum([0, *self.n_support])
            coef = np.zeros((self.coef.shape[1], len(self.intercept)))
            for pair, (i, j) in enumerate(zip(*np.triu_indices(k, 1), strict=True)):
                own, other = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
                coef[own, pair] = self.coef[j - 1, own]
                coef[other, pair] = self.coef[i, other]
        return KernelExpansion(self.kernel, self.points, self.origin, coef, self.intercept)


@dataclass(frozen=True)
class FourierFeatures:
    """Random Fourier features ``√(2/D) (cos(ν·x + ω), sin(ν·x) of the first frequencies)``."""

    frequencies: np.ndarray  # (m, d)
    phases: np.ndarray  # of the last frequencies

    @property
    def paired(self) -> int:
        return len(self.frequencies) - len(self.phases)

    @property
    def width(self) -> int:
        return len(self.frequencies) + self.paired


@dataclass(frozen=True)
class LandmarkFeatures:
    """Nyström or Cholesky features ``weightsᵀ k(points, x)``."""

    kernel: dict[str, Any]
    points: np.ndarray
    weights: np.ndarray  # (L, D)

    @property
    def width(self) -> int:
        return self.weights.shape[1]

    def expansion(self) -> KernelExpansion:
        zero = np.zeros(self.points.shape[1])
        moves = self.kernel["name"] in TRANSLATION_INVARIANT_KERNELS
        origin = self.points[0] if moves else zero
        points = self.points - origin
        return KernelExpansion(self.kernel, points, origin, self.weights, np.zeros(self.width))


@dataclass(frozen=True)
class FeatureMapModel:
    """``f_c(x) = coef[c]·z(x) + intercept[c]``; a transformer has no outputs and only the map z."""

    kind: ClassVar[str] = "features"
    map: FourierFeatures | LandmarkFeatures
    coef: np.ndarray
    intercept: np.ndarray


@dataclass(frozen=True)
class LinearModel:
    """``f_c(x) = coef[c]·x + intercept[c]``."""

    kind: ClassVar[str] = "linear"
    coef: np.ndarray
    intercept: np.ndarray


@dataclass(frozen=True)
class OneVsOneCell:
    """A cell whose machine decides between the pairs of the cell's classes."""

    pairs: OneVsOneExpansion
    classes: list[int]


@dataclass(frozen=True)
class NearestCellModel:
    """The model of the cell whose centre is nearest to x, or to ``directions x``."""

    kind: ClassVar[str] = "cells"
    directions: np.ndarray | None
    centers: np.ndarray
    cells: list[KernelExpansion | OneVsOneCell]
    n_outputs: int


@dataclass(frozen=True)
class ColumnTransform:
    """``x_k → scales[k] clip((g_k(x_k) - centre[k]) factor[k], ±30)``, g_k piecewise linear."""

    centre: np.ndarray
    factor: np.ndarray
    scales: np.ndarray
    knots: list[tuple[np.ndarray, np.ndarray]] | None  # values and scores of each column


@dataclass(frozen=True)
class AdditiveModel:
    """A sum of kernel expansions, each of which transforms the columns in its own way."""

    kind: ClassVar[str] = "coded"
    parts: list[tuple[ColumnTransform, KernelExpansion]]


@dataclass(frozen=True)
class PerOutputModel:
    """One kernel expansion per output."""

    kind: ClassVar[str] = "each"
    outputs: list[KernelExpansion]


@dataclass(frozen=True)
class ScaledModel:
    """A model of rows whose features have been multiplied by `scales`."""

    kind: ClassVar[str] = "scaled"
    scales: np.ndarray
    model: Any


#: Standardised values are clipped to ± this bound.
MAX_STANDARDIZED = 30.0

#: Any model. Its `kind` is the word for it in error messages and in the table of docs/deploy.md.
ModelIR = (
    KernelExpansion
    | OneVsOneExpansion
    | FeatureMapModel
    | LinearModel
    | NearestCellModel
    | AdditiveModel
    | PerOutputModel
    | ScaledModel
)


class _FileSection:
    """A section of a model file: its JSON fields, and its arrays by their paths."""

    def __init__(
        self, fields: dict[str, Any], arrays: dict[str, np.ndarray], path: str = ""
    ) -> None:
        self.fields, self.arrays, self.path = fields, arrays, path

    def array(self, name: str) -> np.ndarray:
        array = self.arrays[self.path + name]
        return array.astype(np.float64) if array.dtype.kind == "f" else array

    def has(self, name: str) -> bool:
        return name in self.fields or self.path + name in self.arrays

    def section(self, name: str) -> _FileSection:
        return _FileSection(self.fields[name], self.arrays, f"{self.path}{name}.")

    def all(self, name: str) -> list[_FileSection]:
        return [self.section(f"{name}.{at}") for at in range(self.fields[name])]

    def rows(self, name: str) -> Any:
        """Rows as the file holds them: an array or a CSR matrix."""
        first, second = self.fields[name]
        if first != "csr":
            return self.array(name).reshape(first, second)
        parts = [self.array(f"{name}_{part}") for part in ("values", "columns", "starts")]
        return sp.csr_matrix(tuple(parts), shape=(len(parts[2]) - 1, second))


def read_model_ir(machine: Any) -> ModelIR:
    """The representation of the model that a machine of `_core` holds."""
    text, arrays = machine.parts()
    return _read_model(_FileSection(json.loads(text), arrays))


def _read_model(section: _FileSection) -> ModelIR:
    kind = section.fields["kind"]
    if kind == "scaled" and "n_columns" in section.section("scaling").fields:
        columns = section.section("scaling").fields["n_columns"]
        raise ValueError(
            f"the machine was fitted to sparse rows of {columns} columns and holds those that "
            "occurred: it has no form but its own files (save, budgetsvm.serve). Hash the features "
            "into fewer columns (sklearn.feature_extraction.FeatureHasher) before fit"
        )
    if kind == "scaled":
        return ScaledModel(
            section.section("scaling").array("scales"), _read_model(section.section("model"))
        )
    if kind == "expansion":
        return _read_expansion(section.section("expansion"))
    if kind == "each":
        return PerOutputModel([_read_expansion(part) for part in section.all("outputs")])
    if kind == "pairwise":
        return _read_one_vs_one(section)
    if kind == "features":
        return _read_feature_model(section)
    if kind == "linear":
        intercept = section.array("intercept")
        return LinearModel(section.array("coef").reshape(len(intercept), -1), intercept)
    if kind == "cells":
        return _read_cells(section)
    return AdditiveModel([_read_summand(part) for part in section.all("parts")])


def _read_summand(section: _FileSection) -> tuple[ColumnTransform, KernelExpansion]:
    transform = _read_column_transform(section.section("coding"))
    return transform, _read_expansion(section.section("expansion"))


def _shift_rows(rows: Any, origin: np.ndarray) -> tuple[Any, np.ndarray]:
    """Rows less the origin; sparse rows are not shifted."""
    if len(origin) == 0 or sp.issparse(rows):
        return rows, np.zeros(rows.shape[1])
    return rows - origin, origin


def _read_expansion(section: _FileSection) -> KernelExpansion:
    kernel, origin = section.fields["kernel"], section.array("origin")
    intercept = section.array("intercept")
    coef = section.array("coef").reshape(-1, len(intercept))
    if section.has("rows"):
        points, origin = _shift_rows(section.rows("rows"), origin)
    else:
        d = section.fields["n_features"]
        points = section.array("centers").reshape(-1, d)
        origin = origin if len(origin) else np.zeros(d)
    return KernelExpansion(kernel, points, origin, coef, intercept)


def _read_one_vs_one(section: _FileSection) -> OneVsOneExpansion:
    if not section.has("kernel"):
        raise ValueError(
            "kernel values in the place of rows cannot be written down: the machine of "
            "kernel='precomputed', or of a function, needs whatever computes them. Fit it with "
            "a kernel by name, such as kernel='rbf'"
        )
    points, origin = _shift_rows(section.rows("support"), section.array("origin"))
    n_support: list[int] = section.fields["n_support"]
    coef = section.array("coef").reshape(max(len(n_support), 2) - 1, -1)
    kernel, intercept = section.fields["kernel"], section.array("intercept")
    return OneVsOneExpansion(kernel, points, origin, n_support, coef, intercept)


def _read_feature_map(
    section: _FileSection, kernel: dict[str, Any]
) -> FourierFeatures | LandmarkFeatures:
    d = section.fields["n_features"]
    if "n_outputs" not in section.fields:
        return FourierFeatures(section.array("frequencies").reshape(-1, d), section.array("phases"))
    points = section.array("landmarks").reshape(-1, d)
    return LandmarkFeatures(kernel, points, section.array("weights").reshape(len(points), -1))


def _read_feature_model(section: _FileSection) -> ModelIR:
    found = _read_feature_map(section.section("map"), section.fields["kernel"])
    intercept = section.array("intercept")
    coef = section.array("coef").reshape(len(intercept), found.width)
    if isinstance(found, FourierFeatures) or len(intercept) == 0:
        return FeatureMapModel(found, coef, intercept)
    # Features on landmarks are kernel values, so the model is an expansion.
    moved = found.expansion()
    coef = found.weights @ coef.T
    return KernelExpansion(moved.kernel, moved.points, moved.origin, coef, intercept)


def _read_cells(section: _FileSection) -> NearestCellModel:
    fields = section.fields
    d, m, kernel = fields["n_features"], fields["n_outputs"], fields["kernel"]
    directions = None
    if section.has("directions"):
        found = _read_feature_map(section.section("directions"), {"name": "linear"})
        assert isinstance(found, LandmarkFeatures)
        directions = found.weights.T @ found.points
    sizes, moved = section.array("sizes"), section.array("moved")
    origins = iter(section.array("origins").reshape(-1, d))
    points = section.array("centers").reshape(-1, d)
    coef = section.array("coef").reshape(-1, m)
    intercept = section.array("intercept").reshape(-1, m)
    cells: list[KernelExpansion | OneVsOneCell] = []
    ends = np.cumsum([0, *map(int, sizes)])
    for at, (first, last) in enumerate(pairwise(ends)):
        origin = next(origins) if moved[at] else np.zeros(d)
        cells.append(
            KernelExpansion(kernel, points[first:last], origin, coef[first:last], intercept[at])
        )
    if section.has("pairs"):
        for part in section.all("pairs"):
            cells[part.fields["cell"]] = OneVsOneCell(
                _read_one_vs_one(part), part.fields["classes"]
            )
    return NearestCellModel(directions, section.array("cells").reshape(-1, d), cells, m)


def _read_column_transform(section: _FileSection) -> ColumnTransform:
    centre, factor, scales = (section.array(name) for name in ("centre", "factor", "scales"))
    if not section.has("starts"):
        return ColumnTransform(centre, factor, scales, None)
    values, scores = section.array("values"), section.array("scores")
    ends = pairwise(map(int, section.array("starts")))
    return ColumnTransform(centre, factor, scales, [(values[a:b], scores[a:b]) for a, b in ends])
