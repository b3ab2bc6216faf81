"""What decision values of exact machines come to. NumPy alone.

Those of several classes are of the pairs (0, 1), (0, 2), ..., (1, 2), ...: a value speaks for the
first of its pair where it is positive; a 0 for the second, as in LIBSVM.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from . import _core

#: Sigmoids of pairs stay this far from 0 and 1, as in LIBSVM; `Machine.answers` holds those of
#: several classes there.
LEAST = 1e-7

#: Decision values of one-class machines below this count as 0, relative to 1 + the offset.
BOUNDARY = 1e-9


#: The largest magnitude whose sums over all pairs floats hold.
LARGEST = 1e300


def voted(values: np.ndarray, k: int) -> np.ndarray:
    """The class with most votes of its pairs, the first of equals, shape (n_samples,).

    Where the values are of a machine's rows, `Machine.answers` holds those of some rows at a time.
    """
    votes = np.zeros((len(values), k), dtype=np.int64)
    for i, j, value in _pairs(values, k):
        won = value > 0
        votes[:, i] += won
        votes[:, j] += ~won
    return votes.argmax(axis=1)


def _pairs(values: np.ndarray, k: int) -> Iterator[tuple[int, int, np.ndarray]]:
    """Both classes of every pair, and its values."""
    first, second = np.triu_indices(k, 1)
    return zip(first.tolist(), second.tolist(), values.T, strict=True)


def one_a_class(values: np.ndarray, k: int) -> np.ndarray:
    """Votes, and between equal ones the sums of the values: what scikit-learn calls "ovr"."""
    if values.size and max(values.max(), -values.min()) > LARGEST:
        values = np.clip(values, -LARGEST, LARGEST)
    votes, sums = np.zeros((len(values), k)), np.zeros((len(values), k))
    for i, j, value in _pairs(values, k):
        sums[:, i] += value
        sums[:, j] -= value
        votes[value >= 0, i] += 1
        votes[value < 0, j] += 1
    return votes + sums / (3 * (np.abs(sums) + 1))


def slopes_a_class(values: np.ndarray, slopes: np.ndarray, k: int) -> np.ndarray:
    """Slopes of `one_a_class` from those of the pairs, shape (n_samples, n_pairs, n_features).

    Votes do not change but where a pair's value is 0; there the slope is that of the sums.
    """
    first, second = np.triu_indices(k, 1)
    sums = np.zeros((len(values), k))
    out = np.zeros((len(values), k, slopes.shape[2]))
    for pair, (i, j) in enumerate(zip(first, second, strict=True)):
        sums[:, i] += values[:, pair]
        sums[:, j] -= values[:, pair]
        out[:, i] += slopes[:, pair]
        out[:, j] -= slopes[:, pair]
    out /= (3 * (np.abs(sums) + 1) ** 2)[:, :, None]
    return out


def sided(values: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Values of one class of which rounding does not decide the side: support vectors on it."""
    values[np.abs(values) <= BOUNDARY * (1.0 + np.abs(offset))] = 0.0
    return values


def with_pair_sigmoids(machine: _core.Machine, sigmoids: np.ndarray, k: int) -> _core.Machine:
    """The machine with the sigmoids of its pairs: slopes and offsets, shape (2, n_pairs), each of
    the share of the pair's first class where values are positive for it."""
    curves = sigmoids.T
    if k == 2:
        # The machine's value is positive for the second class: 1 - 1/(1 + e^z) = 1/(1 + e^-z).
        curves = curves * [1.0, -1.0]
    return machine.with_sigmoids(np.ascontiguousarray(curves, dtype=np.float64), k)


def of_pair_sigmoids(probabilities: np.ndarray) -> np.ndarray:
    """Probabilities as `with_pair_sigmoids` has them: those of two classes are the pair's."""
    two = probabilities.shape[1] == 2
    return np.clip(probabilities, LEAST, 1 - LEAST) if two else probabilities
