"""Checks of what users give, before any work starts. Everything learnt is computed in Rust."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, cast

import numpy as np
from scipy import sparse
from sklearn.utils import check_array as _check_array
from sklearn.utils.validation import _check_sample_weight
from sklearn.utils.validation import validate_data as _validate_data

from . import _columns, _core, _names

#: Modules whose lines no warning points at.
_INNER = ("budgetsvm.", "sklearn.", "joblib.", "contextlib")
#: Rows that are used as they are, and labels: numbers without a fraction, or text.
_FLOATS, _LABELS = (np.float64, np.float32), "biuU"


#: Columns that rows of any number have room for.
_WIDE = 2**20

#: Integers are counted rather than sorted where they are many and lie so close together.
_MANY, _CLOSE = 2**12, 2**16

#: Labels that are text are sorted so many at a time.
_SORTED = 2**14

#: Numbers up to which an array of what is finite costs nothing that counts.
_SMALL = 2**20


def is_plain(X: Any, dtypes: Any) -> bool:
    """Whether scikit-learn's checks of these rows would change nothing and find nothing.

    They take longer than the decision of one row does, and than a fit of a hundred.
    """
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.shape[1] > 0
        and len(X) > 0
        and X.dtype in dtypes
        and X.dtype.isnative
        and X.flags.c_contiguous
        and X.flags.aligned
        and bool(np.isfinite(X).all())
    )


def are_plain(X: Any, y: Any, are_labels: bool = True) -> bool:
    """The same of few training rows and their targets, numbers unless they may be labels."""
    return (
        type(X) is np.ndarray
        and X.size <= _SMALL
        and type(y) is np.ndarray
        and y.ndim == 1
        and len(y) == len(X)
        and (
            (are_labels and y.dtype.kind in _LABELS)
            or (y.dtype == np.float64 and bool(np.isfinite(y).all()))
        )
        and is_plain(X, _FLOATS)
    )


def note_features(estimator: Any, X: np.ndarray) -> None:
    """What scikit-learn notes of the rows of a fit, where they are plain."""
    estimator.n_features_in_ = X.shape[1]
    _columns.forget(estimator)
    estimator.__dict__.pop("feature_names_in_", None)


def numbered(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct labels, sorted, and of every label its place there."""
    if y.dtype.kind in "biu" and len(y) > _MANY:
        low, high = y.min(), y.max()
        if int(high) - int(low) < _CLOSE:
            # No difference leaves the range of its type.
            places = (y - low if y.dtype.kind == "u" else y.astype(np.int64) - int(low)).astype(
                np.intp, copy=False
            )
            seen = np.zeros(int(high) - int(low) + 1, dtype=bool)
            seen[places] = True
            classes = np.array([int(low) + int(at) for at in np.flatnonzero(seen)], dtype=y.dtype)
            return classes, (np.cumsum(seen, dtype=np.uint32) - np.uint32(1))[places]
    if y.dtype.kind in "OUS" and len(y) > _SORTED:
        # Text is slow to sort, and a sort hears no Ctrl-C: some rows at a time.
        starts = range(0, len(y), _SORTED)
        parts = [np.unique(y[i : i + _SORTED], return_inverse=True) for i in starts]
        classes = np.unique(np.concatenate([own for own, _ in parts]))
        return classes, np.concatenate([np.searchsorted(classes, own)[at] for own, at in parts])
    classes, index = np.unique(y, return_inverse=True)
    return classes, index


def are_plain_labels(y: Any) -> bool:
    """Whether these are labels that need no look at what they are."""
    return type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in _LABELS


def validate_data(
    estimator: Any, X: Any = "no_validation", y: Any = "no_validation", **checks: Any
) -> Any:
    """scikit-learn's checks; an integer beyond floats is a ValueError that names its argument."""
    try:
        return _validate_data(estimator, X, y, **checks)
    except OverflowError:
        raise ValueError(f"{'X' if _overflows(X) else 'y'} {_BEYOND}") from None


def check_array(array: Any, **checks: Any) -> Any:
    """The same of one array, by the name `input_name`."""
    try:
        return _check_array(array, **checks)
    except OverflowError:
        raise ValueError(f"{checks.get('input_name', 'X')} {_BEYOND}") from None


_BEYOND = "has an integer beyond the range of floating point numbers: scale it, or leave it out"


def _overflows(values: Any) -> bool:
    """Whether numbers are beyond the range of floats."""
    try:
        np.asarray(values, dtype=np.float64)
    except OverflowError:
        return True
    except (TypeError, ValueError):
        return False
    return False


def as_rows(X: Any) -> Any:
    """Checked rows in a form that `_core` borrows: no copy unless memory cannot be addressed.

    An array as it is; of a CSR matrix ``(data, indices, indptr, n_features)``.
    """
    if sparse.issparse(X):
        X = cast(Any, X)
        check_csr_structure(X)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        indices = X.indices.astype(X.indptr.dtype, copy=False)
        return X.data, indices, X.indptr, X.shape[1]
    addressable = X.flags.aligned and all(step % X.itemsize == 0 for step in X.strides)
    return X if addressable else X.copy()


def check_csr_structure(X: Any) -> None:
    """Refuse a CSR matrix whose arrays point outside themselves, before SciPy follows them."""
    data, indices, indptr = X.data, X.indices, X.indptr
    if indptr.shape != (X.shape[0] + 1,) or indptr[0] != 0 or np.any(np.diff(indptr) < 0):
        raise ValueError("X (CSR): indptr must start with 0, rise, and have n_samples + 1 entries")
    if indptr[-1] > len(data) or len(indices) != len(data):
        raise ValueError("X (CSR): indptr leaves the arrays data and indices")
    used = indices[: indptr[-1]]
    if used.size and (used.min() < 0 or used.max() >= X.shape[1]):
        raise ValueError(f"X (CSR): a column index is out of range for {X.shape[1]} columns")


def check_real_weights(sample_weight: Any) -> None:
    """Refuse complex weights, whose imaginary parts would get lost."""
    if sample_weight is not None and np.asarray(sample_weight).dtype.kind == "c":
        raise ValueError("sample_weight is complex: weights are real numbers >= 0")


def check_weights(sample_weight: Any, X: Any) -> np.ndarray:
    """Float64 weights of the rows, finite, not negative, not all zero."""
    if getattr(sample_weight, "maps", None) is not None:
        return sample_weight  # of a source, which has looked at them
    try:
        check_real_weights(sample_weight)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        if "sample_weight" in str(error).lower():
            raise
        raise ValueError(f"sample_weight: {error}") from None
    if not np.all(np.isfinite(weights)):
        raise ValueError("sample_weight contains NaN or infinity")
    if np.any(weights < 0):
        raise ValueError("sample_weight must be >= 0")
    if not np.any(weights > 0):
        raise ValueError("sample_weight must not be all zero")
    return weights


def where_kept(like: np.ndarray, part: Callable[[slice], np.ndarray]) -> np.ndarray:
    """``part(slice)`` of all rows: in memory, or bit by bit in a file where `like` is in one."""
    maps = getattr(like, "maps", None)
    found: np.ndarray = (
        part(slice(None)) if maps is None else maps.made(len(like), np.float64, part)
    )
    return found


def class_factors(
    class_weight: Any, classes: np.ndarray, target: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """What the weight of a sample is multiplied by, of every class; `target` has their numbers."""
    factors = np.ones(len(classes))
    if isinstance(class_weight, dict):
        places = {label: at for at, label in enumerate(classes.tolist())}
        known = [label for label in class_weight if label in places]
        for label in known:
            factors[places[label]] = class_weight[label]
        if class_weight and not known:
            warn(
                f"class_weight names no class of y: its labels are {_listed([*class_weight])}, and "
                f"those of y are {_listed(classes.tolist())}."
            )
    elif class_weight == "balanced":
        sums, total = _class_sums(target, weights, len(factors))
        factors = np.divide(total, len(factors) * sums, where=sums > 0, out=factors)
    return factors


def _class_sums(target: np.ndarray, weights: np.ndarray, n_classes: int) -> tuple[np.ndarray, Any]:
    """Weights of the classes, and of all; of rows in files once, as long as these stay."""
    maps = getattr(weights, "maps", None)
    if maps is None or not maps.holds(target) or len(maps.found.get("classes", ())) != n_classes:
        return np.bincount(target, weights=weights, minlength=n_classes), weights.sum()
    if "class_sums" not in maps.found:
        sums = np.bincount(target, weights=weights, minlength=n_classes)
        maps.found["class_sums"] = [sums.tolist(), float(weights.sum())]
    told, total = maps.found["class_sums"]
    return np.array(told), total


def check_labels(name: str, labels: Any) -> None:
    """Refuse labels that have no order, None among them."""
    labels = np.asarray(labels)
    if labels.dtype != object:
        return
    kinds = {type(label) for label in labels.ravel()}
    if type(None) in kinds:
        raise ValueError(f"{name} contains None: every row needs a label")
    try:
        np.unique(labels)
    except TypeError:
        listed = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise ValueError(
            f"{name} has labels of types that have no common order: {listed}"
        ) from None


def is_number(value: Any) -> bool:
    """Whether this is a real number that floats can hold; True and False are not."""
    if isinstance(value, int) and abs(value) >= 10**300:
        return False
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def resolve_gamma(gamma: Any, variance: float, n_features: int) -> float:
    """The number that `gamma` stands for where all entries of X have this (weighted) variance."""
    if not isinstance(gamma, str):
        return float(gamma)
    if gamma == "auto":
        return 1.0 / n_features
    # "tune" begins with "scale".
    scale = 1.0 / (n_features * variance) if variance > 0 else 1.0
    if not 0 < scale < float("inf"):
        raise ValueError(
            f"gamma='scale' is no number for X of variance {variance:g}: scale the features"
        )
    return scale


def settled_gamma(kernel: Any, gamma: Any, used: float) -> float:
    """The γ of training that goes on: the one in use, which no other number may contradict.

    The linear kernel has none, so no number contradicts it.
    """
    if kernel != "linear" and is_number(gamma) and float(gamma) != used:
        raise ValueError(
            f"gamma must stay as it is while training goes on ({used:.6g}), got {gamma!r}: fit anew"
        )
    return used


def settle_gamma(
    gamma: Any, rows: Any, n_features: int, weights: np.ndarray, told: bool = True
) -> float:
    """The number that `gamma` stands for on these rows.

    Where few features drown the others a warning says what to do, if `told`.
    """
    # A source keeps the variance for others, and rows too wide to be held are refused with it.
    kept = getattr(weights, "maps", None) is not None or n_features > _WIDE
    asked = kept or (isinstance(gamma, str) and gamma != "auto")
    variance = _of_rows("variance", rows, weights) if asked else np.nan
    settled = resolve_gamma(gamma, variance, n_features)
    if told:
        warn_of_scales(rows, weights)
    return settled


def _of_rows(name: str, rows: Any, weights: np.ndarray) -> Any:
    """What `_core` finds in weighted rows; of rows in files once, as long as these stay."""
    maps = getattr(weights, "maps", None)
    find = getattr(_core, name)
    if maps is None or not maps.holds(rows[0] if isinstance(rows, tuple) else rows):
        return find(rows, weights)
    if name not in maps.found:
        maps.found[name] = find(rows, weights)
    return maps.found[name]


def warn_of_scales(rows: Any, weights: np.ndarray) -> None:
    """Warn where few features make up nearly all of the distance between rows."""
    scales = _of_rows("scales", rows, weights)
    if scales is None:
        return
    (few, varying, share), sparse = scales, isinstance(rows, tuple)
    warn(
        f"{few} of {varying} features make up {share:.1%} of the squared distance between rows: "
        "the kernel hardly sees the others. Scale the features first, for example with "
        f"make_pipeline({'MaxAbsScaler()' if sparse else 'StandardScaler()'}, ...)"
        + (", or TfidfTransformer() for counts of words." if sparse else ".")
    )


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn of the line of the user's that called, however deep in here."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).startswith(_INNER):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def as_values(y: np.ndarray) -> np.ndarray:
    """Targets as numbers: those that are text too, as scikit-learn's SVR takes them."""
    if y.dtype.kind in "biuf":
        return np.ascontiguousarray(y, dtype=np.float64)
    try:
        values = np.ascontiguousarray(y, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"y must be numbers: {error}") from None
    if not np.isfinite(values).all():
        raise ValueError("Input y contains NaN or infinity.")
    return values


def warn_of_wide_tube(y: np.ndarray, epsilon: float) -> None:
    """Warn where most values are within ε of one constant."""
    with np.errstate(over="ignore", invalid="ignore"):
        spread = float(np.std(y))
    if 0 < spread <= epsilon:
        warn(
            f"epsilon={epsilon:g} is no less than the spread of y (standard deviation "
            f"{spread:.3g}): errors up to epsilon cost nothing, so a constant is nearly as good as "
            "any machine. Lower epsilon, or standardise y."
        )


#: Spreads of y, in units of C, from which a constant may be all that C allows.
_WIDE_SPREAD = 20.0


def warn_of_small_cost(y: np.ndarray, C: float) -> None:
    """Warn where C, which bounds each coefficient, is small beside the values."""
    with np.errstate(over="ignore", invalid="ignore"):
        spread = float(np.std(y))
    if np.isfinite(spread) and spread > _WIDE_SPREAD * C:
        warn(
            f"C={C:g} bounds each coefficient and is small beside the spread of y (standard "
            f"deviation {spread:.3g}): the machine may be little more than a constant. C and "
            "epsilon are in the units of y. Standardise y, for example with "
            "sklearn.compose.TransformedTargetRegressor(machine, transformer=StandardScaler()), "
            f"or raise C, for example to {spread:.2g}."
        )


def warn_of_no_terms(machine: Any) -> None:
    """Warn where a machine says the same of every row."""
    coef = machine.coef if machine.coef.size else machine.dual_coef
    if not np.any(coef):
        warn(
            "The fit ended without a term: the machine predicts the same value for every row. "
            "Where y is no constant, lower epsilon or raise C."
        )


def check_kernel(kernel: Any) -> None:
    """Refuse kernels that need the training rows at prediction."""
    if callable(kernel) or kernel == "precomputed":
        what = "a callable" if callable(kernel) else "'precomputed'"
        raise ValueError(
            f"kernel must be one of {', '.join(map(repr, _names.KERNELS))}, got {what}: a machine "
            "on a budget makes its own support vectors, so it must be able to evaluate the kernel "
            "anywhere. budgetsvm.SVC and budgetsvm.SVR accept such kernels."
        )


def thread_count(n_jobs: Any) -> int:
    """Number of threads: None is every core, or OMP_NUM_THREADS where that says fewer.

    Worker processes of joblib set that variable, so nested parallelism does not oversubscribe.
    """
    if n_jobs is not None and not (is_number(n_jobs) and isinstance(n_jobs, Integral)):
        raise ValueError(f"n_jobs must be a non-zero integer or None, got {n_jobs!r}")
    threads = _core.thread_count(None if n_jobs is None else int(n_jobs))
    limit = os.environ.get("OMP_NUM_THREADS", "")
    if n_jobs is None and limit.isdecimal() and int(limit) > 0:
        threads = min(threads, int(limit))
    return threads


def plain(value: Any) -> Any:
    """NumPy scalars and arrays as the Python objects they stand for; the rest as it is."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def in_range(values: np.ndarray) -> np.ndarray:
    """`values`, unless products with the rows were too large for floats."""
    if not np.all(np.isfinite(values)):
        raise ValueError(
            "X leads out of the range of floating point numbers: scale it, or lower gamma"
        )
    return values


#: Labels that a message quotes at most.
LISTED = 10


def _listed(labels: list) -> str:
    """The first few of these."""
    shown = ", ".join(repr(label) for label in labels[:LISTED])
    return shown if len(labels) <= LISTED else f"{shown} and {len(labels) - LISTED} more"


def known_index(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The class of every label, uint32; an unknown label is a ValueError that names it."""
    check_labels("y", y)
    try:
        index = np.searchsorted(classes, y).clip(max=len(classes) - 1)
        unknown = np.not_equal(classes[index], y, dtype=object)
    except TypeError:  # labels of other types
        index, unknown = np.zeros(len(y), dtype=np.intp), np.ones(len(y), dtype=object)
    if np.any(unknown):
        new = np.unique(y[unknown.astype(bool)]).tolist()
        raise ValueError(
            f"y has labels that are no class of this machine: {_listed(new)}. Its classes were "
            f"fixed by the first training call: {_listed(classes.tolist())}. To learn "
            "others name them all in `classes` of the first partial_fit, or fit anew."
        )
    return index.astype(np.uint32)
