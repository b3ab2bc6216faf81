"""The hyperparameters' table: what each may be, by name, checked before the data are looked at.

Whether a parameter is used makes no difference: a wrong value is refused all the same. What
depends on other parameters (or on the data) is checked where it is used; the crate's builders
check their ranges once more, for those who use it from Rust.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import get_scorer_names
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import InvalidParameterError

from . import _names
from ._hyperparameters import gathered
from ._validation import check_kernel, is_number, plain

#: Takes a value; what it must be, when it is not.
Rule = Callable[[Any], str | None]

#: Integers beyond this are no counts of anything.
LARGEST_COUNT = 2**63 - 1
#: Longest value that a message quotes.
QUOTED = 100

#: What means something in Python alone, or is told to `_core` beside the hyperparameters.
PYTHON_OWN = frozenset(
    """
Cs basis callback class_weight client cv feature_scales functions gammas halving n_jobs random_state
refit scoring verbose warm_start
""".split()
)

KERNELS = tuple(_names.KERNELS)
_MAINTENANCE = (
    "auto merge multi-merge remove-smallest remove-random remove-oldest project stop".split()
)


def check(estimator: Any) -> None:
    """Refuse the first hyperparameter that is out of its range, or of a wrong type, by its name."""
    allowed = rules(type(estimator))
    for name, value in estimator.get_params(deep=False).items():
        expected = allowed.get(name, anything)(value)
        if expected is not None:
            raise InvalidParameterError(f"{name} must be {expected}, got {_shown(value)}")


#: Values that say all by what they are, and what has passed a check with such values alone.
_PLAIN = frozenset((bool, int, float, str, type(None)))
_PASSED: set[tuple] = set()
_MOST_PASSED = 4096


def once(estimator: Any, check: Callable[[], None]) -> None:
    """Run a check of the hyperparameters, unless it has passed with the same values before.

    A small fit takes less time than looking at its hyperparameters does.
    """
    values = tuple(estimator.get_params(deep=False).values())
    kinds = tuple(type(value) for value in values)
    key = (type(estimator), check.__name__, kinds, values)
    plain = _PLAIN.issuperset(kinds)
    if plain and key in _PASSED:
        return
    check()
    if plain and len(_PASSED) < _MOST_PASSED:
        _PASSED.add(key)


def rules(cls: type) -> dict[str, Rule]:
    """What the hyperparameters of a class may be: the table's rules, and its own `_ranges`."""
    return RULES | gathered(cls, "_ranges")


def config(estimator: Any, **settled: Any) -> str:
    """The hyperparameters as the JSON that `_core` reads.

    `settled` takes the place of the estimator's own values, or is known from elsewhere; so is
    what its class has to say in `_own`.
    """
    params = estimator.get_params(deep=False)
    params = {name: value for name, value in params.items() if name not in PYTHON_OWN}
    params |= getattr(type(estimator), "_own", {}) | settled
    if "quantile" in params and not is_number(params["quantile"]):
        several = [float(q) for q in params["quantile"]]
        params["quantile"] = middle(several)
        if params.get("loss") == "quantile":
            params["quantiles"] = several
    if params.get("max_time") is not None and hasattr(estimator, "_left_of"):
        params["max_time"] = estimator._left_of(params["max_time"])
    return json.dumps({k: plain(v) for k, v in params.items()}, allow_nan=False, default=float)


def _shown(value: Any) -> str:
    """The value, cut where it is long."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # an integer of more digits than Python prints
        text = f"an integer of {value.bit_length()} bits"
    return text if len(text) <= QUOTED else f"{text[:QUOTED]}..."


def anything(value: Any) -> str | None:
    """What is checked elsewhere."""
    return None


def in_range(value: Any) -> str | None:
    """A number (or something else) that floats, or counts, can hold."""
    wide = isinstance(value, Integral) and abs(int(value)) > LARGEST_COUNT
    return "in the range of 64-bit integers" if wide else None


def flag(value: Any) -> str | None:
    """True or False."""
    return None if isinstance(value, (bool, np.bool_)) else "True or False"


def count(value: Any, least: int = 1, most: int = LARGEST_COUNT) -> str | None:
    """An integer from `least` to `most`."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral):
        return f"an integer >= {least}"
    if int(value) < least:
        return f">= {least}"
    return f"<= {most}" if int(value) > most else None


def number(
    value: Any, above: float | None = None, least: float | None = None,
    below: float | None = None, most: float | None = None,
) -> str | None:  # fmt: skip
    """A finite number within bounds."""
    bounds = ((above, ">"), (least, ">="), (below, "<"), (most, "<="))
    named = [f"{sign} {bound:g}" for bound, sign in bounds if bound is not None]
    expected = " and ".join(named if below is not None or most is not None else [*named, "finite"])
    if not is_number(value):
        return f"a number, {expected}"
    if not np.isfinite(float(value)):
        return expected
    x = float(value)
    fits = (above is None or x > above) and (least is None or x >= least)
    fits = fits and (below is None or x < below) and (most is None or x <= most)
    return None if fits else expected


def quantiles(value: Any) -> str | None:
    """One quantile, or several that rise."""
    one = partial(number, above=0, below=1)
    if is_number(value):
        return one(value)
    expected = "a number, > 0 and < 1, or a list of such numbers that rises"
    if not isinstance(value, (list, tuple, np.ndarray)) or len(np.shape(value)) != 1:
        return expected
    fits = len(value) > 0 and all(one(q) is None for q in value)
    return None if fits and all(a < b for a, b in pairwise(value)) else expected


def middle(several: Any) -> float:
    """The quantile that stands for several where one is asked for."""
    return float(several[len(several) // 2])


def one_of(*names: str) -> Rule:
    """One of these names."""

    def rule(value: Any) -> str | None:
        if isinstance(value, str) and value in names:
            return None
        listed = list(map(repr, names))
        return " or ".join(listed) if len(names) < 3 else f"one of {', '.join(listed)}"

    return rule


def optional(rule: Rule) -> Rule:
    """What the rule says, or None."""

    def either(value: Any) -> str | None:
        expected = None if value is None else rule(value)
        return None if expected is None else f"{expected} or None"

    return either


positive: Rule = partial(number, above=0)
not_negative: Rule = partial(number, least=0)


def _gamma(value: Any) -> str | None:
    named = isinstance(value, str) and value in ("scale", "auto")
    if named or positive(value) is None:
        return None
    return positive(value) if is_number(value) else "'scale', 'auto' or a number > 0"


def _kernel(value: Any) -> str | None:
    check_kernel(value)
    return one_of(*KERNELS)(value)


def _order(value: Any) -> str | None:
    names = ("shuffled", "blocks", "uniform", "sequential")
    expected = "'shuffled', 'blocks', 'uniform', 'sequential' or a list of row indices"
    if isinstance(value, str):
        return None if value in names else expected
    if isinstance(value, np.ndarray):
        fits = value.ndim == 1 and value.dtype.kind in "iu" and value.size > 0
        return None if fits and value.min() >= 0 else expected
    fits = isinstance(value, (list, tuple)) and len(value) > 0
    return None if fits and all(count(i, 0) is None for i in value) else expected


def _n_jobs(value: Any) -> str | None:
    fits = value is None or (count(value, -LARGEST_COUNT) is None and value != 0)
    return None if fits else "a non-zero integer or None"


def _random_state(value: Any) -> str | None:
    try:
        check_random_state(value)
    except (ValueError, TypeError, OverflowError):
        return "None, an integer from 0 to 2^32 - 1 or a RandomState"
    return None


def _class_weight(value: Any) -> str | None:
    named = value is None or (isinstance(value, str) and value == "balanced")
    if named or (isinstance(value, dict) and all(not_negative(w) is None for w in value.values())):
        return None
    return "None, 'balanced' or a dict of finite numbers >= 0"


def _callback(value: Any) -> str | None:
    return None if value is None or callable(value) else "a callable or None"


def _verbose(value: Any) -> str | None:
    fits = flag(value) is None or count(value, 0) is None
    return None if fits else "True, False or an integer >= 0"


def averaging(value: Any) -> str | None:
    """Which iterates are averaged."""
    expected = "'auto', None, an integer >= 1 or a share in (0, 1]"
    if value is None or (isinstance(value, str) and value == "auto") or count(value) is None:
        return None
    share = not isinstance(value, Integral) and number(value, above=0, most=1) is None
    return None if share else expected


def basis(value: Any) -> str | None:
    """Points that an expansion is made of; an array is looked at with the data."""
    names = ("random", "kmeans++", "cholesky", "greedy")
    points = isinstance(value, (np.ndarray, list, tuple)) or sp.issparse(value)
    named = isinstance(value, str) and value in names
    if value is None or named or points or hasattr(value, "support_vectors_"):
        return None
    if hasattr(value, "fit"):
        return (
            "fitted and have support_vectors_ (clone and grid searches leave it unfitted: wrap it "
            "in FrozenEstimator, or give its support_vectors_)"
        )
    listed = ", ".join(map(repr, names))
    return f"None, one of {listed}, an array or a fitted machine with support vectors"


def feature_scales(value: Any) -> str | None:
    """Factors of features; how many there are is looked at with the data."""
    if value is None:
        return None
    expected = "None or a vector of finite numbers >= 0, not all 0"
    try:
        scales = np.asarray(value)
    except (TypeError, ValueError):
        return expected
    if scales.ndim != 1 or scales.dtype.kind not in "iuf":
        return expected
    fits = bool(np.isfinite(scales).all() and (scales >= 0).all() and (scales > 0).any())
    return None if fits else expected


def learnt_scales(value: Any) -> str | None:
    """The same for machines that can learn them."""
    if isinstance(value, str) and value == "learn":
        return None
    expected = feature_scales(value)
    return None if expected is None else f"'learn', {expected}"


def _places(value: Any) -> str | None:
    """A number of places on an axis of a grid, or the places."""
    expected = "an integer >= 1 or a sequence of numbers > 0"
    if np.ndim(value) == 0:
        return None if count(value) is None else expected
    fits = np.ndim(value) == 1 and len(value) > 0
    return None if fits and all(positive(v) is None for v in value) else expected


def _folds(value: Any) -> str | None:
    fits = value is None or count(value, 2) is None
    listed = (hasattr(value, "split") or hasattr(value, "__iter__")) and not isinstance(
        value, (str, bytes)
    )
    return None if fits or listed else "an integer >= 2, a splitter or an iterable of splits"


def _scoring(value: Any) -> str | None:
    named = isinstance(value, str) and value in get_scorer_names()
    fits = value is None or named or callable(value)
    return None if fits else "None, the name of a scorer of scikit-learn or a callable"


_FLAGS = (
    "average early_stopping fit_intercept halving learn_scales leave_one_out orthogonal polishing "
    "record_objective refine refit shared shrinking strongly_convex tune warm_start"
)
_COUNTS = (
    "budget max_iter n_clusters n_components n_frequencies n_iter_no_change overlap refine_iter "
    "tune_size"
)
_POSITIVE = "C cache_size learning_rate max_coef sampling_denominator sampling_numerator smoothing"

RULES: dict[str, Rule] = {
    **dict.fromkeys(_FLAGS.split(), flag),
    **dict.fromkeys(_COUNTS.split(), count),
    **dict.fromkeys(_POSITIVE.split(), positive),
    **dict.fromkeys(("regularization", "threshold", "tol"), not_negative),
    **dict.fromkeys(("n_expected", "n_landmarks"), optional(count)),
    **{name: partial(number, **bounds) for name, (bounds, *_) in _names.LOSS_PARAMETERS.items()},
    "Cs": _places,
    "assign": one_of("lvq", "kmeans"),
    "averaging": averaging,
    "basis": basis,
    "callback": _callback,
    "center_step": partial(number, least=0, most=1),
    "nu": partial(number, above=0, most=1),
    "class_weight": _class_weight,
    "coef0": number,
    "cv": _folds,
    "degree": partial(count, least=0, most=2**31 - 1),
    "eigenvalue_threshold": optional(partial(number, least=0, below=1)),
    "forgetting": partial(number, above=0, most=1),
    "feature_scales": feature_scales,
    "features": one_of("nystroem", "fourier"),
    "gamma": _gamma,
    "gammas": _places,
    "kernel": _kernel,
    "local": one_of("auto", "exact", "online", "bsca"),
    "loss": one_of(*_names.CLASS_LOSSES),
    "maintenance": one_of(*_MAINTENANCE),
    "max_intercept": optional(positive),
    "max_time": optional(positive),
    "merge_search": one_of("auto", "golden", "table"),
    "merge_size": partial(count, least=2),
    "n_jobs": _n_jobs,
    "order": _order,
    "pruning": one_of("all", "step", "margin", "weight"),
    "random_state": _random_state,
    "resumable": optional(flag),
    "sampling": one_of("uniform", "weighted"),
    "scoring": _scoring,
    "solver": one_of("bsca", "bsgd"),
    "validation_fraction": partial(number, above=0, below=1),
    "verbose": _verbose,
    "waves": one_of("shifted", "paired"),
}
