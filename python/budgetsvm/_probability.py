"""Probabilities of classes from the machines of their pairs, as LIBSVM makes them.

1. Decision values of rows that a machine was not trained on, by cross-validation.
2. For each pair of classes a sigmoid of its values, the share of the first class in the two [1]_.
3. For each row the probabilities p that minimise ``Σ_{i<j} (r_ji p_i - r_ij p_j)²`` with sum 1,
   where r_ij is the sigmoid of the pair [2]_.

.. [1] J. Platt, "Probabilistic outputs for support vector machines", 1999.
.. [2] T.-F. Wu, C.-J. Lin, R. C. Weng, "Probability estimates for multi-class classification by
   pairwise coupling", JMLR 5, 2004 (its second approach).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import expit

#: Folds of step 1, as in LIBSVM.
FOLDS = 5
#: Sigmoids stay this far from 0 and 1, as in LIBSVM.
LEAST = 1e-7
#: Newton steps and halvings of one at most, what makes the curvature regular, and the share of the
#: objective that a step must promise.
STEPS, HALVINGS, RIDGE, SMALL = 100, 40, 1e-12, 1e-14
#: Values of all pairs up to which all sigmoids are found together: a call costs more than they do.
TOGETHER = 2**16
#: Numbers in the matrices of the rows that are solved for at once.
BLOCK = 2**21


def sigmoids_of_pairs(
    values_of: Callable[[np.ndarray, np.ndarray], np.ndarray],
    index: np.ndarray,
    weights: np.ndarray,
    seed: int,
) -> np.ndarray:
    """Slopes a and offsets b of the sigmoids of all pairs i < j of classes, shape (2, n_pairs).

    Class i has the share ``1 / (1 + exp(a f + b))`` where the pair's machine has the value f,
    positive for i. `values_of(train, test)` are the values of the pairs at some rows by a machine
    that was trained on others; `index` says the classes.
    """
    first, second = np.triu_indices(index.max() + 1, 1)
    values = np.empty((len(index), len(first)))
    for train, test in _folds(index, seed):
        values[test] = values_of(train, test)
    weights = np.maximum(weights, 0.0)
    is_first, is_second = index == first[:, None], index == second[:, None]
    if values.size <= TOGETHER:
        return sigmoids(values.T, is_first, weights * (is_first | is_second))
    each = [
        sigmoids(values[None, rows, pair], own[None, rows], weights[None, rows])
        for pair, (own, rows) in enumerate(zip(is_first, is_first | is_second, strict=True))
    ]
    return np.concatenate(each, axis=1)


def sigmoids(values: np.ndarray, first: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Slopes and offsets, shape (2, n), of n sigmoids of the values in a row each.

    Step 2: the cross entropy of Platt's targets, ``(n_i + 1) / (n_i + 2)`` for the first class and
    ``1 / (n_j + 2)``, by Newton's method, each step halved until the objective falls.
    """
    size = np.maximum(np.abs(values).max(axis=1), 1.0)
    values = values / size[:, None]
    n_first, n_second = (weights * first).sum(axis=1), (weights * ~first).sum(axis=1)
    # The share of the second class that is wanted.
    wanted = np.where(first, 1 / (n_first[:, None] + 2), ((n_second + 1) / (n_second + 2))[:, None])

    def objective(at: np.ndarray) -> np.ndarray:
        z = values * at[0][:, None] + at[1][:, None]
        return (weights * (np.logaddexp(0.0, z) - wanted * z)).sum(axis=1)

    now = np.stack([np.zeros(len(values)), np.log((n_second + 1) / (n_first + 1))])
    best = objective(now)
    for _ in range(STEPS):
        share = expit(values * now[0][:, None] + now[1][:, None])
        off, bend = weights * (share - wanted), weights * share * (1 - share)
        slope = np.stack([(off * values).sum(axis=1), off.sum(axis=1)])
        both, own = (bend * values).sum(axis=1), bend.sum(axis=1)
        square = (bend * values**2).sum(axis=1)
        ridge = RIDGE * (1.0 + square + own)
        square, own = square + ridge, own + ridge
        step = np.stack([own * slope[0] - both * slope[1], square * slope[1] - both * slope[0]])
        step /= square * own - both**2
        decrease = (slope * step).sum(axis=0)
        moves = decrease > SMALL * (1.0 + np.abs(best))
        if not moves.any():
            break
        step, further = step * moves, best
        for _ in range(HALVINGS):
            further = objective(now - step)
            short = moves & ~(further <= best - 1e-4 * decrease)
            if not short.any():
                break
            step, decrease = (
                np.where(short, step / 2, step),
                np.where(short, decrease / 2, decrease),
            )
        fell = further <= best
        now, best = np.where(fell, now - step, now), np.where(fell, further, best)
    return np.stack([now[0] / size, now[1]])


def _folds(index: np.ndarray, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows to train on and the rest, each class in equal shares."""
    smallest, every = int(np.bincount(index).min()), np.arange(len(index))
    if smallest < 2:
        # A class that cannot be split: the training rows themselves.
        return [(every, every)]
    order = np.random.RandomState(seed).permutation(len(index))
    fold = np.empty(len(index), dtype=int)
    fold[order[np.argsort(index[order], kind="stable")]] = every % min(FOLDS, smallest)
    return [(every[fold != at], every[fold == at]) for at in range(min(FOLDS, smallest))]


def probabilities(values: np.ndarray, sigmoids: np.ndarray, n_classes: int) -> np.ndarray:
    """Probabilities of the classes, shape (n_samples, n_classes).

    `values` are those of the pairs i < j, shape (n_samples, n_pairs), positive for i.
    """
    slope, offset = sigmoids
    shares = np.clip(expit(-(slope * values + offset)), LEAST, 1 - LEAST)
    found = np.empty((len(values), n_classes))
    step = max(1, BLOCK // (n_classes + 1) ** 2)
    for at in range(0, len(values), step):
        found[at : at + step] = _coupled(shares[at : at + step], n_classes)
    return found


def _coupled(shares: np.ndarray, k: int) -> np.ndarray:
    """Step 3 from the r_ij with i < j: linear equations, since no p_i comes out negative."""
    first, second = np.triu_indices(k, 1)
    r = np.zeros((len(shares), k, k))
    r[:, first, second], r[:, second, first] = shares, 1 - shares
    matrix = np.ones((len(shares), k + 1, k + 1))
    matrix[:, :k, :k] = -r * r.transpose(0, 2, 1)
    matrix[:, range(k), range(k)] = (r**2).sum(axis=1)
    matrix[:, k, k] = 0.0
    right = np.zeros((len(shares), k + 1, 1))
    right[:, k] = 1.0
    p = np.maximum(np.linalg.solve(matrix, right)[:, :k, 0], 0.0)
    return p / p.sum(axis=1, keepdims=True)
