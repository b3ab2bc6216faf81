"""The table of docs/deploy.md: what each estimator can be written as, found by trying.

    python tests/python/forms.py

writes it into the page; `test_deploy.py` compares.
"""

from __future__ import annotations

import copy
import functools
import io
import tempfile
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier

import budgetsvm as b
import files
from budgetsvm import serve
from budgetsvm._model_ir import read_model_ir
from budgetsvm._prediction_rule import decompose
from budgetsvm.convert import to_c, to_libsvm

PAGE = Path(__file__).resolve().parents[2] / "docs" / "deploy.md"
BEGIN, END = "<!-- forms: begin -->\n", "<!-- forms: end -->\n"
#: A word of the refusal, and the note that explains it.
REASONS = {
    "cells": "a partition of space with a machine in every cell: C and LIBSVM's text hold one sum "
    "of terms",
    "coded": "columns are coded (by ranks and scales) before the kernels see them, and "
    "LIBSVM has no place for that",
    "waves": 'random Fourier features (of `features="fourier"` too) are waves, and LIBSVM has sums '
    "of kernel values alone",
    "transformer": "a transformer decides nothing",
    "functions": "known functions are the user's own code: ONNX takes their values as a second "
    "input, and `save` and `budgetsvm.load` keep a machine that was given a matrix of them; pickle "
    "takes functions of a module",
}
FITS: dict[str, dict[str, Any]] = {**files.FIXED, "NystroemOGD": {"budget": 10}}


def _fitted(cls: Any, classes: int) -> Any:
    X = files.rows(False, False)
    params = dict(FITS.get(cls.__name__, {}))
    if "random_state" in cls().get_params():
        params["random_state"] = 0
    if cls.__name__.startswith("Semiparametric"):
        params["functions"] = lambda X: np.sin(7 * X[:, 2])
    y = files.targets("values")
    if is_classifier(cls()):
        y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.2) * (classes > 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cls(**params).fit(X, y)


def _tried(write: Any, machine: Any) -> str:
    """Empty, or the reason of a refusal."""
    try:
        write(machine)
    except ValueError as error:
        text = str(error)
        if "pairs of classes" in text:
            return "several"
        return next(word for word in REASONS if word in text)
    return ""


def _saved(machine: Any) -> Path:
    """A file of it, in a folder that goes with the process."""
    path = Path(_folder().name) / f"{threading.get_ident()}.safetensors"
    machine.save(path)
    return path


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


def _is_calibrated(machine: Any) -> bool:
    """Whether `calibrate` gives it probabilities."""
    if not hasattr(machine, "calibrate"):
        return False
    try:
        X = files.rows(False, False)
        copy.deepcopy(machine).calibrate(X, machine.predict(X), cv="prefit").predict_proba(X)
    except ValueError:
        return False
    return True


def table() -> str:
    """The table and its notes."""
    forms = {
        "`save`": _saved,
        "`serve`": lambda machine: serve.load(_saved(machine)),
        "ONNX": decompose,
        "C": to_c,
        "LIBSVM": lambda machine: to_libsvm(machine, io.BytesIO()),
    }
    notes: list[str] = []
    lines = ["| estimator | what decides | " + " | ".join(forms) + " | probabilities |"]
    lines.append("|" + "---|" * (len(forms) + 3))
    for name in sorted(b.__all__, key=str.lower):
        cls = getattr(b, name)
        if not (isinstance(cls, type) and hasattr(cls, "save")):
            continue
        counts = [2, 3] if is_classifier(cls()) else [2]
        fitted = [_fitted(cls, count) for count in counts]
        kinds = [read_model_ir(machine._machine).kind for machine in fitted]
        cells = [f"`{name}`", " or ".join(dict.fromkeys(kinds))]
        for write in forms.values():
            said = [_tried(write, machine) for machine in fitted]
            reason = said[0]
            if not any(said):
                cells.append("yes")
            elif not reason:
                cells.append("two classes")
            else:
                if reason not in notes:
                    notes.append(reason)
                cells.append(f"no ({notes.index(reason) + 1})")
        ways = ["yes"] if all(hasattr(machine, "predict_proba") for machine in fitted) else []
        if not ways and all(_is_calibrated(machine) for machine in fitted):
            ways.append("`calibrate`")
        if "probability" in cls().get_params():
            ways.append("`probability=True`")
        told = " or ".join(ways) or "-"
        cells.append(told)
        lines.append("| " + " | ".join(cells) + " |")
    lines.append("")
    lines += [f"{at}. {REASONS[reason][:1].upper()}{REASONS[reason][1:]}."
              for at, reason in enumerate(notes, 1)]  # fmt: skip
    return "\n".join(lines) + "\n"


def main() -> None:
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, tail = rest.partition(END)
    PAGE.write_text(head + BEGIN + table() + END + tail, encoding="utf-8")


if __name__ == "__main__":
    np.seterr(all="ignore")
    main()
