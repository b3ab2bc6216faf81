"""What makes probabilities of a calibrated machine's values, as files hold it."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Curves:
    """Shares of the outputs of a machine as it has them, and how they become probabilities.

    Two classes: the share of the second. Values of pairs: shares of the first of each, coupled.
    Else shares of the classes as parts of their sum; a `softmax` is of all values at once.
    """

    pairs: bool
    #: (a, b) of ``1 / (1 + exp(a f + b))`` an output, or None.
    sigmoids: np.ndarray | None
    #: Rising values and their shares an output, piecewise linear, or None.
    steps: list[tuple[np.ndarray, np.ndarray]] | None = None
    softmax: float | None = None
    #: Whether labels are those of the most probable class.
    decide: bool = True


def of_logistic(n_outputs: int) -> Curves:
    """Those of a machine whose values are logarithms of odds."""
    return Curves(False, np.tile([-1.0, 0.0], (n_outputs, 1)), decide=False)


def of_machine(machine: Any) -> Curves | None:
    """The curves of a machine of `_core`, None of one that is not calibrated."""
    if getattr(machine, "calibration", None) is None:
        return None
    data = machine.to_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    told = json.loads(header["__metadata__"]["budgetsvm"])["machine"]["calibration"]

    def array(name: str) -> np.ndarray:
        entry = header[f"machine.calibration.{name}"]
        first, last = (8 + length + at for at in entry["data_offsets"])
        kind = {"F64": "<f8", "U64": "<u8"}[entry["dtype"]]
        return np.frombuffer(data[first:last], dtype=kind)

    method, k, pairs = told["method"], told["n_classes"], told["pairs"]
    pairs = pairs and k > 2
    outputs = 1 if k == 2 else k * (k - 1) // 2 if pairs else k
    if method == "sigmoid":
        return Curves(pairs, array("curves").reshape(outputs, 2))
    if method == "temperature":
        sharpness = float(array("curves")[0])
        if k > 2 and not pairs:
            return Curves(pairs, None, softmax=sharpness)
        return Curves(pairs, np.tile([-sharpness, 0.0], (outputs, 1)))
    ends = np.cumsum(array("sizes").astype(np.int64))[:-1]
    parts = zip(np.split(array("at"), ends), np.split(array("share"), ends), strict=True)
    return Curves(pairs, None, steps=list(parts))
