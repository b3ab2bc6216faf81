"""Random files and random lives of estimators: documented exceptions, finite output, no more.

Every case is made from one integer, which a failure names. `make test` runs the same hundreds on
every machine, `make fuzz` what comes in BUDGETSVM_FUZZ seconds a test, from BUDGETSVM_FUZZ_FROM on.
"""

from __future__ import annotations

import contextlib
import copy
import os
import pickle
import random
import struct
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import budgetsvm
from budgetsvm import _core
from budgetsvm._exact import ExactEstimator
from budgetsvm._names import CLASS_LOSSES, KERNELS, VALUE_LOSSES
from files import content, joined, parts, summed

SECONDS = float(os.environ.get("BUDGETSVM_FUZZ", "0"))
FIRST = int(os.environ.get("BUDGETSVM_FUZZ_FROM", "0"))
#: A single call that works longer (whatever else the machine does) hangs, for data of this size.
PATIENCE = 20.0
ESTIMATORS = [
    cls for cls in (getattr(budgetsvm, name) for name in budgetsvm.__all__) if isinstance(cls, type)
]
DOCUMENTED = (ValueError, TypeError, MemoryError)

pytestmark = pytest.mark.filterwarnings("ignore")


def cases(count):
    """So many seeds; where a time is given, seeds until it is over."""
    end, last = time.monotonic() + SECONDS, FIRST + count
    seed = FIRST
    while time.monotonic() < end if SECONDS else seed < last:
        yield seed
        seed += 1


def plainly(said):
    """Where 1 is 1.0, and True is not."""
    if isinstance(said, dict):
        return {name: plainly(part) for name, part in said.items()}
    if isinstance(said, (list, tuple)):
        return [plainly(part) for part in said]
    return str(said) if isinstance(said, bool) else said


def output(model, X):
    for method in ("decision_function", "transform", "predict"):
        if hasattr(model, method):
            return np.asarray(getattr(model, method)(X))
    raise AssertionError("nothing to look at")


# Files ------------------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(30, 3))
LABELS = (ROWS[:, 0] + ROWS[:, 1] > 0).astype(int) + (ROWS[:, 2] > 0.8)


def small(cls, seed):
    """A small fitted machine of the class."""
    params = cls().get_params()
    wanted = {"budget": 6, "n_components": 6, "n_frequencies": 5, "n_clusters": 3, "gamma": 0.5,
              "random_state": seed}  # fmt: skip
    start = {name: value for name, value in wanted.items() if name in params}
    if "features" in params and seed % 2:
        start["features"] = "fourier"
    if "local" in params and seed % 2:
        start["local"] = "bsca"
    if "shared" in params and seed % 2:
        start["shared"] = False
    if "nu" in params:
        start["nu"] = 0.1
    y = ROWS[:, 0] if cls.__name__.endswith("SVR") else LABELS
    X = ROWS.astype(np.float32) if seed % 3 == 0 else ROWS
    if seed % 5 == 0:
        X = sparse.csr_matrix(X)
    return cls(**start).fit(X, y)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The bytes of a few files of every class."""
    path = tmp_path_factory.mktemp("files") / "model.safetensors"
    found = []
    for cls in ESTIMATORS:
        for seed in (0, 1, 2, 5):
            small(cls, seed).save(path)
            found.append((cls.__name__, path.read_bytes()))
    return found


ODD = [None, True, False, 0, 1, -1, 2, 3, 7, 2**31, 2**32, 2**53, 2**63 - 1, -(2**63), 2**64, 1e308,
       -1e308, 1e-320, 0.5, "", "rbf", "poly", "linear", "nan", "array", [], {}, [0], [[0, 1]],
       {"float": "nan"}, {"float": "inf"}, {"array": "int8"}, {"array": "float64"},
       {"array": "object"}, {"pairs": [[0, 1.0]]}]  # fmt: skip
ODD_FLOATS = [np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-320, 0.0, -0.0, -1.0, 1e40]


def mutate_json(value, chance, depth=0):
    """The same, with one place changed."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        key = chance.choice(sorted(value))
        value = dict(value)
        match chance.randrange(8):
            case 0:
                del value[key]
            case 1:
                value[key + "x"] = value[key]
            case _:
                value[key] = mutate_json(value[key], chance, depth + 1)
        return value
    if isinstance(value, list) and value and chance.random() < 0.9:
        value, at = list(value), chance.randrange(len(value))
        match chance.randrange(6):
            case 0:
                del value[at]
            case 1:
                value.insert(at, value[at])
            case _:
                value[at] = mutate_json(value[at], chance, depth + 1)
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool) and chance.random() < 0.5:
        return chance.choice([value + 1, value - 1, -value, value * 2, float(value)])
    return chance.choice(ODD)


def mutate(data, chance):
    """A damaged file, most often a container still."""
    header, description, values = parts(data)
    names = [name for name in header if name != "__metadata__"]
    match chance.randrange(8):
        case 0:
            damaged = bytearray(data)
            for _ in range(chance.randrange(1, 8)):
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
            return summed(bytes(damaged))
        case 1:
            first, last = sorted(chance.sample(range(len(data)), 2))
            return data[:first] + data[last:]
        case 2:
            for _ in range(chance.randrange(1, 3)):
                header = mutate_json(header, chance)
            return joined(header if isinstance(header, dict) else {}, description, values)
        case 3 | 4:
            for _ in range(chance.randrange(1, 3)):
                description = mutate_json(description, chance)
        case 5 | 6:
            entry = header[chance.choice(names)]
            first, last = entry["data_offsets"]
            kind = {"F32": "<f4", "F64": "<f8", "I64": "<i8", "U64": "<u8"}.get(entry["dtype"])
            if kind and last > first:
                array = np.frombuffer(values[first:last], dtype=kind).copy()
                at = chance.randrange(len(array))
                if kind in ("<f4", "<f8"):
                    with np.errstate(over="ignore"):
                        array[at] = chance.choice(ODD_FLOATS)
                else:
                    low, high = np.iinfo(array.dtype).min, np.iinfo(array.dtype).max
                    array[at] = chance.choice([0, 1, 2, low, high, high // 2, 2**32, 2**31])
                values = values[:first] + array.tobytes() + values[last:]
            elif last - first > 8:
                # A model within the file: damaged in the same way.
                inner = values[first:last]
                try:
                    other = mutate(inner, chance)
                except (ValueError, KeyError, struct.error):
                    other = inner[: chance.randrange(len(inner))]
                return resized(header, description, values, (first, last), other)
        case 7:
            # Another shape of as many values.
            entry = dict(header[chance.choice(names)])
            name = next(n for n in names if header[n]["data_offsets"] == entry["data_offsets"])
            count = int(np.prod(entry["shape"], dtype=np.int64))
            shapes = [[count], [1, count], [count, 1], [1, 1, count]]
            shapes += [[k, count // k] for k in (2, 3, 5) if count % k == 0]
            header = {**header, name: {**entry, "shape": chance.choice(shapes)}}
    return joined(header, description, values)


def resized(header, description, values, place, inner):
    """The container with other bytes for one tensor, whose shape follows."""
    first, last = place
    grown = len(inner) - (last - first)
    header = dict(header)
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        if (begin, end) == (first, last):
            header[name] = {**entry, "shape": [len(inner)], "data_offsets": [begin, end + grown]}
        elif begin >= last:
            header[name] = {**entry, "data_offsets": [begin + grown, end + grown]}
    return joined(header, description, values[:first] + inner + values[last:])


def test_a_file_is_refused_or_is_a_model(files, tmp_path):
    path, again = tmp_path / "model.safetensors", tmp_path / "again.safetensors"
    taken = 0
    for seed in cases(400):
        chance = random.Random(seed)
        name, data = chance.choice(files)
        path.write_bytes(mutate(data, chance))
        started = time.process_time()
        try:
            model = budgetsvm.load(path)
        except (ValueError, MemoryError):
            continue
        except Exception as error:
            raise AssertionError(f"seed {seed}, {name}: load") from error
        taken += 1
        d = getattr(model, "n_features_in_", 3)
        X = np.resize(ROWS, (5, d)) if isinstance(d, int) and 0 < d < 10**6 else ROWS
        try:
            values = output(model, X)
        except (ValueError, MemoryError):
            continue
        except Exception as error:
            raise AssertionError(f"seed {seed}, {name}: use") from error
        assert np.isfinite(values).all() or values.dtype.kind not in "f", f"seed {seed}, {name}"
        assert time.process_time() - started < PATIENCE, f"seed {seed}, {name}"
        # Every part of the file is part of the estimator: nothing was overlooked. A hyperparameter
        # that an older file has not got has its default.
        model.save(again)
        expected, found = content(path.read_bytes()), content(again.read_bytes())
        defaults, given = (said["estimator"]["params"] for said in (found[""], expected[""]))
        expected[""]["estimator"]["params"] = {**defaults, **given}
        assert plainly(found) == plainly(expected), f"seed {seed}, {name}"
    assert taken > 0 or 0 < SECONDS < 1


def test_the_bytes_of_a_pickle_are_refused_or_are_a_machine():
    kinds = [budgetsvm.BudgetSVC, budgetsvm.LocalBudgetSVC, budgetsvm.Forgetron,
             budgetsvm.ProjectronPlusPlus, budgetsvm.FourierOGD, budgetsvm.NystroemOGD,
             budgetsvm.BudgetOGD, budgetsvm.KernelPerceptron, budgetsvm.SVC, budgetsvm.PrimalSVC,
             budgetsvm.AssetSVC]  # fmt: skip
    whole = [
        (cls.__name__, small(cls, seed)._machine.to_bytes()) for cls in kinds for seed in range(4)
    ]
    for seed in cases(400):
        chance = random.Random(seed)
        kind, data = chance.choice(whole)
        damaged = mutate(data, chance)
        try:
            machine = _core.Machine.from_bytes(damaged)
            values = machine.decision_function(ROWS.astype(machine.dtype), 1)
        except (ValueError, MemoryError):
            continue
        except Exception as error:
            raise AssertionError(f"seed {seed}, {kind}") from error
        assert values.shape[0] == len(ROWS), f"seed {seed}, {kind}"


@pytest.mark.parametrize("n_features", [2**31, 2**40, 2**63 - 1])
@pytest.mark.parametrize(
    "cls",
    [budgetsvm.LocalBudgetSVC, budgetsvm.Forgetron, budgetsvm.FourierOGD, budgetsvm.NystroemOGD],
)
def test_a_small_file_sets_no_memory_aside(cls, n_features):
    """Whatever it says of its features: no array of a file that holds none is as long as these."""
    machine = small(cls, 0)._machine
    header, description, _ = parts(machine.to_bytes())

    def told(value):
        if isinstance(value, dict):
            return {k: n_features if k == "n_features" else told(v) for k, v in value.items()}
        return [told(item) for item in value] if isinstance(value, list) else value

    for name, entry in header.items():
        if name != "__metadata__":
            header[name] = {**entry, "shape": [0], "data_offsets": [0, 0]}
    started = time.process_time()
    with contextlib.suppress(ValueError):
        type(machine).from_bytes(joined(header, told(description), b""))
    assert time.process_time() - started < 5


# Lives ------------------------------------------------------------------------------------------


def first_twice(X):
    """Two parametric functions that are the same."""
    column = X[:, [0]].toarray() if sparse.issparse(X) else X[:, [0]]
    return np.tile(column, 2)


VALUES = {
    "C": [1e-12, 1e-3, 1.0, 32, 1e6, 1e12],
    "assign": ["lvq", "kmeans"],
    "averaging": ["auto", None, 3, 0.3, 1.0],
    "basis": [None, "random", "kmeans++", "cholesky", "greedy", ROWS[:4].tolist()],
    "budget": [1, 2, 3, 10, 200],
    "cache_size": [0.001, 1, 200],
    "center_step": [0, 0.01, 1],
    "class_weight": [None, "balanced", {0: 2.0}, {0: 0.0}],
    "coef0": [0.0, -1.0, 1e3, 1e6],
    "constraint_tol": [None, 1e-3, 1e-6],
    "decision_function_shape": ["ovr", "ovo"],
    "degree": [0, 1, 2, 3, 20],
    **{name: [False, True] for name in ("average", "break_ties", "early_stopping")},
    "eigenvalue_threshold": [None, 0, 0.1],
    "epsilon": [0, 0.1, 10],
    "features": ["nystroem", "fourier"],
    "fit_intercept": [False, True],
    "functions": [None, np.sin, np.ones_like, first_twice],
    "gamma": ["scale", "auto", 1e-12, 0.5, 100, 1e12],
    "intercept_penalty": [0, 0.1, 10], "kernel": list(KERNELS),
    "learning_rate": [0.01, 0.2, 5],
    "leave_one_out": [False, True],
    "local": ["online", "bsca"],
    "loss": [*CLASS_LOSSES, *VALUE_LOSSES, "least_squares"],
    "maintenance": ["auto", "merge", "multi-merge", "remove-smallest", "remove-random",
                    "remove-oldest", "project", "stop"],
    "max_coef": [0.5, 10],
    "max_iter": [1, 2, 7, 100],
    "max_time": [0.5, 0.01],
    "merge_search": ["auto", "golden", "table"],
    "merge_size": [2, 3, 5],
    "n_clusters": [1, 3, 40],
    "n_components": [1, 4, 60, 500],
    "n_expected": [None, 1, 1000],
    "forgetting": [1.0, 0.999, 1e-3], "resumable": [None, False, True],
    "n_frequencies": [1, 20],
    "n_iter_no_change": [1, 5],
    "n_landmarks": [None, 4, 60],
    "nu": [0.01, 0.5, 1.0],
    "order": ["shuffled", "uniform", "sequential", [0, 0, 1]],
    "orthogonal": [False, True],
    "overlap": [1, 2, 9],
    "polishing": [False, True],
    "probability": ["deprecated"],
    "pruning": ["all", "step", "margin", "weight"],
    "record_history": [False, True],
    "record_objective": [False, True],
    "refine": [False, True],
    "refine_iter": [1, 20],
    "regularization": [0, 1e-4, 3],
    "relaxation": [0.5, 1.0, 1.9], "constraint_atol": [0, 1e-3],
    "quantile": [0.01, 0.5, 0.9],
    "sampling": ["uniform", "weighted"],
    "sampling_denominator": [1, 5],
    "sampling_numerator": [1e-3, 1],
    "shared": [False, True],
    "shrinking": [False, True],
    "smoothing": [1e-6, 0.3, 10],
    "solver": ["bsca", "bsgd", "smo", "mpd", "asset", "dual", "auto", "newton", "cg"],
    "strongly_convex": [False, True],
    "threshold": [0, 0.1, 10],
    "tol": [1e-10, 1e-3, 0.5],
    "tune": [False, True],
    "tune_size": [1, 30],
    "update": ["augmented", "newton"],
    "validation_fraction": [0.01, 0.3],
    "warm_start": [False, True],
    "waves": ["shifted", "paired"],
    "working_set": [1, 2, 512],
}  # fmt: skip


def random_params(cls, chance):
    params = cls().get_params(deep=False)
    chosen = {
        name: chance.choice(VALUES[name])
        for name in params
        if name in VALUES and chance.random() < 0.3
    }
    fixed = {"random_state": chance.randrange(100), "max_time": chance.choice(VALUES["max_time"]),
             "n_jobs": chance.choice([None, 1, 2])}  # fmt: skip
    if "max_iter" in params and issubclass(cls, ExactEstimator):
        fixed["max_iter"] = chance.choice([-1, 10, 10_000])
    return {**chosen, **{name: value for name, value in fixed.items() if name in params}}


def random_rows(chance, n, d):
    rng = np.random.default_rng(chance.randrange(2**32))
    X = rng.normal(size=(n, d)) * 10.0 ** chance.choice([0, 0, 0, 0, -3, 3, -100, 100, 150])
    match chance.randrange(8):
        case 0:
            X[:] = X[0]
        case 1:
            X[n // 2 :] = X[: n - n // 2]
        case 2:
            X += 1e8 * np.abs(X).max()
        case 3:
            X[:, 0] = 0
        case 4:
            X = np.round(X)
    if chance.random() < 0.3:
        with np.errstate(over="ignore"):
            X = X.astype(np.float32)
    match chance.randrange(6):
        case 0:
            X[rng.random(X.shape) < 0.7] = 0
            return sparse.csr_matrix(X)
        case 1:
            return np.asfortranarray(X)
        case 2:
            return X.tolist()
    return X


def random_targets(cls, chance, n):
    rng = np.random.default_rng(chance.randrange(2**32))
    if cls.__name__.endswith("SVR"):
        return rng.normal(size=n) * 10.0 ** chance.choice([0, 0, 0, -3, 5, 100])
    return rng.integers(chance.choice([2, 2, 2, 3, 5, 1]), size=n)


def state(model):
    return {name: id(value) for name, value in model.__dict__.items()}


def random_life(seed, path):
    chance = random.Random(seed)
    cls = chance.choice(ESTIMATORS)
    model = cls(**random_params(cls, chance))
    d = chance.choice([1, 2, 3, 12, 40])
    for _ in range(chance.randrange(2, 7)):
        n = chance.choice([1, 2, 3, 10, 40, 90])
        if chance.random() < 0.1:
            d = chance.choice([1, 2, 3])
        X = random_rows(chance, n, d)
        y = random_targets(cls, chance, n)
        actions = ["fit", "fit", "predict", "save", "pickle", "copy", "params"]
        actions += [name for name in ("partial_fit", "polish", "test_then_train")
                    if hasattr(model, name)]  # fmt: skip
        action = chance.choice(actions)
        weights = {}
        if action in ("fit", "partial_fit", "polish") and chance.random() < 0.2:
            weights = {"sample_weight": np.abs(np.random.default_rng(seed).normal(size=n))}
        before, started = state(model), time.process_time()
        told = f"seed {seed}: {action} of {model!r} on {np.shape(X)}"
        try:
            match action:
                case "fit" | "polish":
                    getattr(model, action)(X, y, **weights)
                case "partial_fit" | "test_then_train":
                    classes = {} if cls.__name__.endswith("SVR") else {"classes": range(5)}
                    if hasattr(model, "classes_"):
                        classes = {}
                    getattr(model, action)(X, y, **classes, **weights)
                case "params":
                    model.set_params(**random_params(cls, chance))
                    continue
                case "predict":
                    values = output(model, X)
                    assert np.isfinite(values).all(), told
                    assert len(values) == n, told
                case _:
                    again = copied(model, action, path)
                    assert type(again) is cls, told
                    assert same_output(model, again, X), told
        except DOCUMENTED as error:
            # Online learners have no weights; a TypeError of any other kind is none of ours.
            known = isinstance(error, ValueError) or "unexpected keyword" in str(error)
            if state(model) != before or not (known or isinstance(error, MemoryError)):
                raise AssertionError(told) from error
        except AssertionError:
            raise
        except Exception as error:
            raise AssertionError(told) from error
        assert time.process_time() - started < PATIENCE, told


def copied(model, action, path):
    if action == "save":
        model.save(path)
        return budgetsvm.load(path)
    return pickle.loads(pickle.dumps(model)) if action == "pickle" else copy.deepcopy(model)


def same_output(model, again, X):
    try:
        before = output(model, X)
    except ValueError:
        return True
    return np.array_equal(before, output(again, X), equal_nan=True)


def test_random_lives(tmp_path):
    lived = 0
    for seed in cases(120):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            random_life(seed, Path(tmp_path) / "model.safetensors")
        lived += 1
    assert lived > 0
