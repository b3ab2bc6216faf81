"""Coverage-guided fuzzing of Python's `load` and of the bytes in pickles, by atheris.

    python fuzz/load.py [CORPUS] [options of libFuzzer]

A file is refused with a ValueError (a MemoryError), or it is an estimator that predicts and is
saved again with the same content. Without a corpus it begins with the files of tests/files.
"""

from __future__ import annotations

import random
import struct
import sys
import tempfile
import warnings
from pathlib import Path

import atheris

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "python"), str(ROOT / "python")]

with atheris.instrument_imports(include=["budgetsvm"]):
    import budgetsvm
    from budgetsvm import _core

import numpy as np  # noqa: E402

from files import content, summed  # noqa: E402
from test_fuzz import mutate  # noqa: E402

warnings.simplefilter("ignore")
FOLDER = Path(tempfile.mkdtemp())
ROWS = np.random.default_rng(0).normal(size=(3, 4096))


def of_a_file(data: bytes) -> None:
    path, again = FOLDER / "model.safetensors", FOLDER / "again.safetensors"
    path.write_bytes(data)
    try:
        model = budgetsvm.load(path)
    except (ValueError, MemoryError):
        return
    if model.n_features_in_ <= ROWS.shape[1]:
        X = ROWS[:, : model.n_features_in_]
        try:
            said = (model.predict if hasattr(model, "predict") else model.transform)(X)
        except (ValueError, MemoryError):
            return
        assert said.dtype.kind not in "f" or np.isfinite(said).all()
    model.save(again)
    expected, found = content(data), content(again.read_bytes())
    told, given = (said[""]["estimator"] for said in (found, expected))
    given["params"] = {**told["params"], **given["params"]}
    # Files of earlier versions say less, and hold as arrays what is a list of numbers now.
    assert {*found, *told["fitted"]} >= set(expected)


def of_a_pickle(data: bytes) -> None:
    try:
        machine = _core.Machine.from_bytes(data)
        if machine.n_features <= ROWS.shape[1]:
            rows = np.ascontiguousarray(ROWS[:, : machine.n_features], dtype=machine.dtype)
            machine.decision_function(rows, 1)
    except (ValueError, MemoryError):
        pass


def mutated(data: bytes, most: int, seed: int) -> bytes:
    """Bytes changed by libFuzzer, or a field or an array by the structure of a file."""
    chance = random.Random(seed)
    if chance.random() < 0.5:
        try:
            return mutate(data, chance)[:most]
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, struct.error):
            pass  # no file any more
    return bytes(atheris.Mutate(data, most))


def one(data: bytes) -> None:
    data = summed(data)
    of_a_file(data)
    of_a_pickle(data)


if __name__ == "__main__":
    if not any(not argument.startswith("-") for argument in sys.argv[1:]):
        corpus = Path(tempfile.mkdtemp())
        for at, path in enumerate(sorted((ROOT / "tests" / "files").glob("*/*.safetensors"))):
            (corpus / str(at)).write_bytes(path.read_bytes())
        sys.argv.insert(1, str(corpus))
    atheris.Setup(sys.argv, one, custom_mutator=mutated)
    atheris.Fuzz()
