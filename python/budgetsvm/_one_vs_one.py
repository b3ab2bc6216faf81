"""One-vs-one classification: votes, decision values and probabilities of exact machines.

A machine of several classes has one value per pair of classes, in the order (0, 1), (0, 2), ...,
(1, 2), ... A positive value is a vote for the first class of its pair; as in LIBSVM, a 0 is a vote
for the second. This module needs NumPy only.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from . import _core

#: Pairwise probabilities are clipped to this distance from 0 and 1, as in LIBSVM. `Machine.answers`
#: does so for several classes.
MIN_PROBABILITY = 1e-7

#: A one-class decision value counts as 0 below this tolerance, relative to 1 + the offset.
BOUNDARY_TOLERANCE = 1e-9

#: Values are clipped to this magnitude, so that their sums over all pairs do not overflow.
MAX_MAGNITUDE = 1e300


def vote(values: np.ndarray, k: int) -> np.ndarray:
    """The class with the most votes, shape (n_samples,); the first class wins a tie.

    For the rows of a machine, `Machine.answers` does the same block by block.
    """
    votes = np.zeros((len(values), k), dtype=np.int64)
    for i, j, value in _iterate_pairs(values, k):
        won = value > 0
        votes[:, i] += won
        votes[:, j] += ~won
    return votes.argmax(axis=1)


def _iterate_pairs(values: np.ndarray, k: int) -> Iterator[tuple[int, int, np.ndarray]]:
    """The two classes of every pair, and the values of the pair."""
    first, second = np.triu_indices(k, 1)
    return zip(first.tolist(), second.tolist(), values.T, strict=True)


def ovr_decision_function(values: np.ndarray, k: int) -> np.ndarray:
    """Votes, plus the sums of the values to break ties: scikit-learn's "ovr" decision function."""
    if values.size and max(values.max(), -values.min()) > MAX_MAGNITUDE:
        values = np.clip(values, -MAX_MAGNITUDE, MAX_MAGNITUDE)
    votes, sums = np.zeros((len(values), k)), np.zeros((len(values), k))
    for i, j, value in _iterate_pairs(values, k):
        sums[:, i] += value
        sums[:, j] -= value
        votes[value >= 0, i] += 1
        votes[value < 0, j] += 1
    return votes + sums / (3 * (np.abs(sums) + 1))


def ovr_gradient(values: np.ndarray, slopes: np.ndarray, k: int) -> np.ndarray:
    """Gradients of `ovr_decision_function`, shape (n_samples, n_classes, n_features).

    `slopes` are the gradients of the pairs' values, shape (n_samples, n_pairs, n_features).
    The votes are piecewise constant, so only the sums of the values have a gradient.
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


def round_to_boundary(values: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """One-class values; those within the tolerance become 0, so support vectors count as inside."""
    values[np.abs(values) <= BOUNDARY_TOLERANCE * (1.0 + np.abs(offset))] = 0.0
    return values


def with_pair_sigmoids(machine: _core.Machine, sigmoids: np.ndarray, k: int) -> _core.Machine:
    """The machine with one sigmoid per pair.

    `sigmoids` are slopes and offsets, shape (2, n_pairs). Each gives the probability of the first
    class of the pair, for which values are positive.
    """
    curves = sigmoids.T
    if k == 2:
        # The machine's value is positive for the second class: 1 - 1/(1 + e^z) = 1/(1 + e^-z).
        curves = curves * [1.0, -1.0]
    return machine.with_sigmoids(np.ascontiguousarray(curves, dtype=np.float64), k)


def clip_pair_probabilities(probabilities: np.ndarray) -> np.ndarray:
    """Probabilities of two classes, clipped as those of a pair; others as they are."""
    two = probabilities.shape[1] == 2
    return np.clip(probabilities, MIN_PROBABILITY, 1 - MIN_PROBABILITY) if two else probabilities
