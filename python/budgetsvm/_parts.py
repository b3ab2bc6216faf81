"""A fitted model taken apart: the sums that it consists of, in float64, for whoever writes it down.

One walk over the model as files hold it (`_core.Machine.parts`); ONNX, C and LIBSVM's text are
written from what comes out of it, and know no class of estimators.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

#: Kernels that depend on the difference of two rows alone.
OF_DISTANCE = ("rbf", "laplacian", "matern32", "matern52")


@dataclass(frozen=True)
class Expansion:
    """``f_c(x) = Σ_j coef[j, c] k(points[j], x - origin) + intercept[c]``."""

    kernel: dict[str, Any]
    points: Any  # (B, d), moved by the origin; CSR where they came so (then nothing is moved)
    origin: np.ndarray  # (d,), zeros where nothing is moved
    coef: np.ndarray
    intercept: np.ndarray

    def dense(self) -> np.ndarray:
        points: Any = self.points
        return points.toarray() if hasattr(points, "toarray") else points


@dataclass(frozen=True)
class Pairs:
    """An exact machine: `coef` of shape (n_classes - 1, B) as LIBSVM lays it out, or (1, B)."""

    kernel: dict[str, Any]
    points: Any
    origin: np.ndarray
    n_support: list[int]
    coef: np.ndarray
    intercept: np.ndarray

    def expansion(self) -> Expansion:
        """The same with a column of coefficients a pair."""
        k = len(self.n_support)
        coef = self.coef.T
        if k > 2:
            ends = np.cumsum([0, *self.n_support])
            coef = np.zeros((self.coef.shape[1], len(self.intercept)))
            for pair, (i, j) in enumerate(zip(*np.triu_indices(k, 1), strict=True)):
                own, other = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
                coef[own, pair] = self.coef[j - 1, own]
                coef[other, pair] = self.coef[i, other]
        return Expansion(self.kernel, self.points, self.origin, coef, self.intercept)


@dataclass(frozen=True)
class Waves:
    """Features ``√(2/D) (cos(ν·x + ω), sin(ν·x) of the first)``."""

    frequencies: np.ndarray  # (m, d)
    phases: np.ndarray  # of the last frequencies

    @property
    def paired(self) -> int:
        return len(self.frequencies) - len(self.phases)

    @property
    def width(self) -> int:
        return len(self.frequencies) + self.paired


@dataclass(frozen=True)
class Landmarks:
    """Features ``weightsᵀ k(points, x)``."""

    kernel: dict[str, Any]
    points: np.ndarray
    weights: np.ndarray  # (L, D)

    @property
    def width(self) -> int:
        return self.weights.shape[1]

    def expansion(self) -> Expansion:
        zero = np.zeros(self.points.shape[1])
        moves = self.kernel["name"] in OF_DISTANCE
        origin = self.points[0] if moves else zero
        points = self.points - origin
        return Expansion(self.kernel, points, origin, self.weights, np.zeros(self.width))


@dataclass(frozen=True)
class Features:
    """``f_c(x) = coef[c]·z(x) + intercept[c]``; without outputs the map alone."""

    map: Waves | Landmarks
    coef: np.ndarray
    intercept: np.ndarray


@dataclass(frozen=True)
class Linear:
    """``f_c(x) = coef[c]·x + intercept[c]``."""

    coef: np.ndarray
    intercept: np.ndarray


@dataclass(frozen=True)
class CellPairs:
    """A cell that decides between pairs of its classes."""

    pairs: Pairs
    classes: list[int]


@dataclass(frozen=True)
class Cells:
    """The machine of the cell whose centre is nearest to x, or to ``directions x``."""

    directions: np.ndarray | None
    centers: np.ndarray
    cells: list[Expansion | CellPairs]
    n_outputs: int


@dataclass(frozen=True)
class Coding:
    """``x_k → scales[k] clip((g_k(x_k) - centre[k]) factor[k], ±30)``, g piecewise linear."""

    centre: np.ndarray
    factor: np.ndarray
    scales: np.ndarray
    knots: list[tuple[np.ndarray, np.ndarray]] | None  # values and scores, a pair a column


@dataclass(frozen=True)
class Coded:
    """A sum of expansions, each of coordinates of its own."""

    parts: list[tuple[Coding, Expansion]]


@dataclass(frozen=True)
class Each:
    """An expansion an output."""

    outputs: list[Expansion]


@dataclass(frozen=True)
class Scaled:
    """A model of rows whose features are multiplied by `scales`."""

    scales: np.ndarray
    model: Any


#: Standardised values beyond this are taken for it.
FARTHEST = 30.0

Part = Expansion | Pairs | Features | Linear | Cells | Coded | Each | Scaled


class _Section:
    """A part of a file: fields, and arrays by their paths."""

    def __init__(
        self, fields: dict[str, Any], arrays: dict[str, np.ndarray], path: str = ""
    ) -> None:
        self.fields, self.arrays, self.path = fields, arrays, path

    def array(self, name: str) -> np.ndarray:
        array = self.arrays[self.path + name]
        return array.astype(np.float64) if array.dtype.kind == "f" else array

    def has(self, name: str) -> bool:
        return name in self.fields or self.path + name in self.arrays

    def section(self, name: str) -> _Section:
        return _Section(self.fields[name], self.arrays, f"{self.path}{name}.")

    def all(self, name: str) -> list[_Section]:
        return [self.section(f"{name}.{at}") for at in range(self.fields[name])]

    def rows(self, name: str) -> Any:
        """Rows as they came."""
        first, second = self.fields[name]
        if first != "csr":
            return self.array(name).reshape(first, second)
        parts = [self.array(f"{name}_{part}") for part in ("values", "columns", "starts")]
        return sp.csr_matrix(tuple(parts), shape=(len(parts[2]) - 1, second))


def model_of(machine: Any) -> Part:
    """The model of a machine of `_core`."""
    text, arrays = machine.parts()
    return _model(_Section(json.loads(text), arrays))


def _model(section: _Section) -> Part:
    kind = section.fields["kind"]
    if kind == "scaled" and "n_columns" in section.section("scaling").fields:
        columns = section.section("scaling").fields["n_columns"]
        raise ValueError(
            f"the machine was fitted to sparse rows of {columns} columns and holds those that "
            "occurred: it has no form but its own files (save, budgetsvm.serve). Hash the features "
            "into fewer columns (sklearn.feature_extraction.FeatureHasher) before fit"
        )
    if kind == "scaled":
        return Scaled(section.section("scaling").array("scales"), _model(section.section("model")))
    if kind == "expansion":
        return _expansion(section.section("expansion"))
    if kind == "each":
        return Each([_expansion(part) for part in section.all("outputs")])
    if kind == "pairwise":
        return _pairs(section)
    if kind == "features":
        return _features(section)
    if kind == "linear":
        intercept = section.array("intercept")
        return Linear(section.array("coef").reshape(len(intercept), -1), intercept)
    if kind == "cells":
        return _cells(section)
    return Coded([(_coding(p.section("coding")), _expansion(p.section("expansion")))
                  for p in section.all("parts")])  # fmt: skip


def _moved(rows: Any, origin: np.ndarray) -> tuple[Any, np.ndarray]:
    """Rows less the origin, which sparse ones are not moved by."""
    if len(origin) == 0 or sp.issparse(rows):
        return rows, np.zeros(rows.shape[1])
    return rows - origin, origin


def _expansion(section: _Section) -> Expansion:
    kernel, origin = section.fields["kernel"], section.array("origin")
    intercept = section.array("intercept")
    coef = section.array("coef").reshape(-1, len(intercept))
    if section.has("rows"):
        points, origin = _moved(section.rows("rows"), origin)
    else:
        d = section.fields["n_features"]
        points = section.array("centers").reshape(-1, d)
        origin = origin if len(origin) else np.zeros(d)
    return Expansion(kernel, points, origin, coef, intercept)


def _pairs(section: _Section) -> Pairs:
    if not section.has("kernel"):
        raise ValueError(
            "kernel values in the place of rows cannot be written down: the machine of "
            "kernel='precomputed', or of a function, needs whatever computes them. Fit it with "
            "a kernel by name, such as kernel='rbf'"
        )
    points, origin = _moved(section.rows("support"), section.array("origin"))
    n_support: list[int] = section.fields["n_support"]
    coef = section.array("coef").reshape(max(len(n_support), 2) - 1, -1)
    kernel, intercept = section.fields["kernel"], section.array("intercept")
    return Pairs(kernel, points, origin, n_support, coef, intercept)


def _map(section: _Section, kernel: dict[str, Any]) -> Waves | Landmarks:
    d = section.fields["n_features"]
    if "n_outputs" not in section.fields:
        return Waves(section.array("frequencies").reshape(-1, d), section.array("phases"))
    points = section.array("landmarks").reshape(-1, d)
    return Landmarks(kernel, points, section.array("weights").reshape(len(points), -1))


def _features(section: _Section) -> Part:
    found = _map(section.section("map"), section.fields["kernel"])
    intercept = section.array("intercept")
    coef = section.array("coef").reshape(len(intercept), found.width)
    if isinstance(found, Waves) or len(intercept) == 0:
        return Features(found, coef, intercept)
    # On landmarks it is an expansion.
    moved = found.expansion()
    coef = found.weights @ coef.T
    return Expansion(moved.kernel, moved.points, moved.origin, coef, intercept)


def _cells(section: _Section) -> Cells:
    fields = section.fields
    d, m, kernel = fields["n_features"], fields["n_outputs"], fields["kernel"]
    directions = None
    if section.has("directions"):
        found = _map(section.section("directions"), {"name": "linear"})
        assert isinstance(found, Landmarks)
        directions = found.weights.T @ found.points
    sizes, moved = section.array("sizes"), section.array("moved")
    origins = iter(section.array("origins").reshape(-1, d))
    points = section.array("centers").reshape(-1, d)
    coef = section.array("coef").reshape(-1, m)
    intercept = section.array("intercept").reshape(-1, m)
    cells: list[Expansion | CellPairs] = []
    ends = np.cumsum([0, *map(int, sizes)])
    for at, (first, last) in enumerate(pairwise(ends)):
        origin = next(origins) if moved[at] else np.zeros(d)
        cells.append(Expansion(kernel, points[first:last], origin, coef[first:last], intercept[at]))
    if section.has("pairs"):
        for part in section.all("pairs"):
            cells[part.fields["cell"]] = CellPairs(_pairs(part), part.fields["classes"])
    return Cells(directions, section.array("cells").reshape(-1, d), cells, m)


def _coding(section: _Section) -> Coding:
    centre, factor, scales = (section.array(name) for name in ("centre", "factor", "scales"))
    if not section.has("starts"):
        return Coding(centre, factor, scales, None)
    values, scores = section.array("values"), section.array("scores")
    ends = pairwise(map(int, section.array("starts")))
    return Coding(centre, factor, scales, [(values[a:b], scores[a:b]) for a, b in ends])
