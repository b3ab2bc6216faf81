"""LIBSVM's programs by their flags and their lines: what scripts for them go on working with."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict

from ._cli_files import read_model, read_table
from ._cli_streams import complain, say
from ._exact_classes import SVC, NuSVC
from ._exact_values import SVR, NuSVR, OneClassSVM
from ._files import check_writable, write_atomically
from ._libsvm import to_libsvm

KINDS: list[Any] = [SVC, NuSVC, OneClassSVM, SVR, NuSVR]
KERNELS = ["linear", "poly", "rbf", "sigmoid"]
TRAIN = """\
Usage: svm-train [options] training_set_file [model_file]
options:
-s svm_type : 0 C-SVC, 1 nu-SVC, 2 one-class SVM, 3 epsilon-SVR, 4 nu-SVR (default 0)
-t kernel_type : 0 linear, 1 polynomial, 2 radial basis function, 3 sigmoid (default 2)
-d degree (default 3)
-g gamma (default 1/num_features)
-r coef0 (default 0)
-c cost of C-SVC, epsilon-SVR and nu-SVR (default 1)
-n nu of nu-SVC, one-class SVM and nu-SVR (default 0.5)
-p epsilon of epsilon-SVR (default 0.1)
-m cache size in MB (default 100)
-e tolerance (default 0.001)
-h whether to shrink, 0 or 1 (default 1)
-b whether to give probability estimates, 0 or 1 (default 0)
-wi the factor of C of class i (default 1)
-v n: n-fold cross validation
-q : quiet"""
PREDICT = """\
Usage: svm-predict [options] test_file model_file output_file
options:
-b whether to predict probability estimates, 0 or 1 (default 0)
-q : quiet"""


class _UsageError(Exception):
    """An error in the flags of the command line."""


def _flags(given: Sequence[str], known: str) -> tuple[dict[str, str], dict[int, float], list[str]]:
    """Flags with their values, weights of classes, and what is left."""
    flags: dict[str, str] = {}
    weights: dict[int, float] = {}
    rest = list(given)
    while rest and rest[0].startswith("-") and len(rest[0]) > 1:
        flag = rest.pop(0)[1:]
        if flag == "q":
            flags["q"] = "1"
            continue
        if not rest:
            raise _UsageError(f"-{flag} needs a value")
        value = rest.pop(0)
        try:
            if flag.startswith("w") and "w" in known:
                weights[int(flag[1:])] = float(value)
                continue
            float(value)
        except ValueError:
            raise _UsageError(f"-{flag} {value}") from None
        if flag not in known:
            raise _UsageError(f"Unknown option: -{flag}")
        flags[flag] = value
    return flags, weights, rest


def _count(flags: dict[str, str], flag: str, default: int, most: int) -> int:
    value = float(flags.get(flag, default))
    if value != int(value) or not 0 <= value <= most:
        raise _UsageError(f"-{flag} {flags[flag]}")
    return int(value)


def _failed(error: Any, usage: str) -> int:
    complain(f"{error}\n{usage}" if str(error) else usage)
    return 1


def _rows(path: str) -> tuple[Any, Any]:
    """Rows and labels as LIBSVM's programs read them: the first index is 1."""
    X, y, _ = read_table(path, "svmlight", zero_based=False)
    return X, np.asarray(y, dtype=np.float64)


def train(given: Sequence[str]) -> int:
    """``svm-train``."""
    try:
        flags, weights, rest = _flags(given, "stdgrcnpmehbvw")
        if len(rest) not in (1, 2):
            raise _UsageError("")
        kind, kernel = _count(flags, "s", 0, 4), _count(flags, "t", 2, 4)
        folds = _count(flags, "v", 0, 2**31)
        if "v" in flags and folds < 2:
            raise _UsageError("n-fold cross validation: n must >= 2")
        shrinking, probability = _count(flags, "h", 1, 1), _count(flags, "b", 0, 1)
        degree = _count(flags, "d", 3, 2**31)
    except _UsageError as error:
        return _failed(error, TRAIN)
    if kernel == 4:
        raise ValueError(
            "-t 4: tables of kernel values are not read; use SVC(kernel='precomputed')"
        )
    X, y = _rows(rest[0])
    number = {flag: float(value) for flag, value in flags.items()}
    params: dict[str, Any] = {
        "kernel": KERNELS[kernel], "degree": degree, "coef0": number.get("r", 0.0),
        "gamma": number.get("g", 0.0) or 1.0 / X.shape[1], "tol": number.get("e", 0.001),
        "cache_size": number.get("m", 100.0), "shrinking": bool(shrinking),
    }  # fmt: skip
    if kind in (0, 3, 4):
        params["C"] = number.get("c", 1.0)
    if kind in (1, 2, 4):
        params["nu"] = number.get("n", 0.5)
    if kind == 3:
        params["epsilon"] = number.get("p", 0.1)
    classes = kind in (0, 1)
    if classes:
        if not (y == np.round(y)).all():
            raise ValueError(f"{rest[0]}: labels of classes are whole numbers")
        y = y.astype(np.int64)
        found = set(y.tolist())
        for label in set(weights) - found:
            complain(f"WARNING: class label {label} specified in weight is not found")
        if kind == 0 and weights:
            params["class_weight"] = {k: v for k, v in weights.items() if k in found}
        if probability and not folds:
            params |= {"probability": True, "random_state": 0}
    machine = KINDS[kind](**params)
    if folds:
        _validated(machine, X, y, folds, classes)
        return 0
    out = rest[1] if len(rest) == 2 else os.path.basename(rest[0]) + ".model"
    check_writable(out)
    machine.fit(X, y)
    if "q" not in flags:
        say(f"Total nSV = {int(machine.n_support_.sum())}\n")
    to_libsvm(machine, out)
    return 0


def _validated(machine: Any, X: Any, y: Any, folds: int, classes: bool) -> None:
    """The lines of cross-validation."""
    folds = min(folds, len(y))
    if isinstance(machine, OneClassSVM):
        told = np.empty(len(y))
        for rows, others in KFold(folds, shuffle=True, random_state=0).split(X):
            told[others] = machine.fit(X[rows]).predict(X[others])
        classes = True
    else:
        kind = StratifiedKFold if classes else KFold
        split = kind(folds, shuffle=True, random_state=0)
        told = cross_val_predict(machine, X, y, cv=split)
    if classes:
        say(f"Cross Validation Accuracy = {100.0 * np.mean(told == y):g}%\n")
        return
    say(f"Cross Validation Mean squared error = {np.mean((told - y) ** 2):g}\n")
    say(f"Cross Validation Squared correlation coefficient = {_correlation(y, told):g}\n")


def _correlation(y: np.ndarray, told: np.ndarray) -> float:
    spread = np.var(y) * np.var(told)
    covariance = np.mean((y - y.mean()) * (told - told.mean()))
    return float(covariance**2 / spread) if spread > 0 else float("nan")


def predict(given: Sequence[str]) -> int:
    """``svm-predict``."""
    try:
        flags, _, rest = _flags(given, "b")
        if len(rest) != 3:
            raise _UsageError("")
        wants = _count(flags, "b", 0, 1)
    except _UsageError as error:
        return _failed(error, PREDICT)
    check_writable(rest[2])
    X, y = _rows(rest[0])
    model = read_model(rest[1], X.shape[1])
    if X.shape[1] < model.n_features_in_:
        X.resize((X.shape[0], model.n_features_in_))
    has = hasattr(model, "predict_proba")
    if wants and not has:
        raise ValueError("Model does not support probabiliy estimates")
    told = model.predict(X)
    lines = []
    if wants:
        proba = model.predict_proba(X)
        told = model.classes_[proba.argmax(axis=1)]
        lines.append("labels " + " ".join(map(str, model.classes_)) + "\n")
        for label, row in zip(told, proba, strict=True):
            lines.append(f"{label:g} " + " ".join(f"{p:g}" for p in row) + "\n")
    else:
        lines += [f"{label:.17g}\n" for label in np.asarray(told, dtype=np.float64)]
    with write_atomically(rest[2]) as file:
        file.write("".join(lines).encode())
    if "q" in flags:
        return 0
    if isinstance(model, (SVR, NuSVR)):
        say(f"Mean squared error = {np.mean((told - y) ** 2):g} (regression)\n")
        say(f"Squared correlation coefficient = {_correlation(y, told):g} (regression)\n")
    else:
        same = int(np.sum(told == y))
        say(f"Accuracy = {100.0 * same / len(y):g}% ({same}/{len(y)}) (classification)\n")
    return 0
