"""Rows as files give them, and what is wrong with them, by file and row."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp


class Block(NamedTuple):
    """Rows that follow one another: an array or a CSR matrix, targets and weights or None."""

    X: Any
    y: np.ndarray | None
    weight: np.ndarray | None


class Piece(NamedTuple):
    """Rows as a file gives them, and whose they are: its name and the number of the first."""

    X: Any
    y: np.ndarray | None
    weight: np.ndarray | None
    place: str
    first: int


def cut(piece: Piece, first: int, last: int) -> Block:
    if first == 0 and last == piece.X.shape[0]:
        return Block(piece.X, piece.y, piece.weight)
    side = (None if a is None else a[first:last] for a in (piece.y, piece.weight))
    return Block(piece.X[first:last], *side)


def joined(parts: list[Block]) -> Block:
    def side(arrays: list[Any]) -> Any:
        return None if arrays[0] is None else np.concatenate(arrays)

    rows = [part.X for part in parts]
    X: Any
    if isinstance(rows[0], np.ndarray):
        X = np.concatenate(rows)
    else:
        width = max(part.shape[1] for part in rows)
        wide = [sp.csr_matrix((p.data, p.indices, p.indptr), (p.shape[0], width)) for p in rows]
        X = sp.vstack(wide, format="csr")
    return Block(X, side([part.y for part in parts]), side([part.weight for part in parts]))


def check(piece: Piece, begun: Piece) -> None:
    """Refuse a piece that is not exactly valid, or not of the make of the first."""
    X, y, weight = piece.X, piece.y, piece.weight
    dense = isinstance(X, np.ndarray)
    if dense != isinstance(begun.X, np.ndarray):
        raise ValueError(f"{piece.place}: dense and CSR rows in one source")
    if dense and X.shape[1] != begun.X.shape[1]:
        raise ValueError(
            f"{_row(piece, 0)}: {X.shape[1]} features, but {begun.X.shape[1]} in {begun.place}"
        )
    values = X if dense else X.data
    with np.errstate(over="ignore", invalid="ignore"):
        suspect = not np.isfinite(values.sum())
    if suspect and not np.isfinite(values).all():
        at = np.flatnonzero(~np.isfinite(values).reshape(-1))[0]
        row, column = divmod(int(at), X.shape[1]) if dense else _entry(X, int(at))
        raise ValueError(f"{_row(piece, row)}: feature {column} is {values.reshape(-1)[at]}")
    for what, side, first in (("target", y, begun.y), ("weight", weight, begun.weight)):
        if (side is None) != (first is None):
            without, other = (piece, begun) if side is None else (begun, piece)
            raise ValueError(f"{without.place}: a {what} is missing, but {other.place} has one")
        if side is None:
            continue
        if side.shape != (X.shape[0],):
            raise ValueError(f"{piece.place}: {what} of shape {side.shape} for {X.shape[0]} rows")
        if side.dtype.kind == "f" and not np.isfinite(side).all():
            row = int(np.flatnonzero(~np.isfinite(side))[0])
            raise ValueError(f"{_row(piece, row)}: the {what} is {side[row]}")
    if weight is not None and np.any(weight < 0):
        row = int(np.flatnonzero(weight < 0)[0])
        raise ValueError(f"{_row(piece, row)}: the weight is {weight[row]}, it must be >= 0")
    if y is not None and y.dtype.kind == "O":
        lost = [row for row, label in enumerate(y) if label is None or label != label]
        if lost:
            raise ValueError(f"{_row(piece, lost[0])}: there is no target")
    if (
        y is not None
        and begun.y is not None
        and (y.dtype.kind in "OUS") != (begun.y.dtype.kind in "OUS")
    ):
        raise ValueError(
            f"{_row(piece, 0)}: the target is {y[0]!r}, but {begun.y[0]!r} in {_row(begun, 0)}: "
            "labels must be all text or all numbers"
        )


def _row(piece: Piece, row: int) -> str:
    return f"{piece.place}, row {piece.first + row} (the first is 0)"


def _entry(X: Any, at: int) -> tuple[int, int]:
    return int(np.searchsorted(X.indptr, at, side="right")) - 1, int(X.indices[at])
