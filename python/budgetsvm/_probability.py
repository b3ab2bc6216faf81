"""Sigmoids of the pairs of classes, of which probabilities are made as LIBSVM makes them.

1. Decision values of rows that a machine was not trained on, by cross-validation.
2. For each pair of classes a sigmoid of its values, the share of the first class in the two [1]_.
3. For each row the probabilities p that minimise ``Σ_{i<j} (r_ji p_i - r_ij p_j)²`` with sum 1,
   where r_ij is the sigmoid of the pair [2]_: `_one_vs_one.with_pair_sigmoids`.

.. [1] J. Platt, "Probabilistic outputs for support vector machines", 1999.
.. [2] T.-F. Wu, C.-J. Lin, R. C. Weng, "Probability estimates for multi-class classification by
   pairwise coupling", JMLR 5, 2004 (its second approach).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import _core

#: Folds of step 1, as in LIBSVM.
FOLDS = 5


def sigmoids_of_pairs(
    values_of: Callable[[np.ndarray, np.ndarray], np.ndarray],
    index: np.ndarray,
    weights: np.ndarray,
    random_state: np.random.RandomState,
) -> np.ndarray:
    """Slopes a and offsets b of the sigmoids of all pairs i < j of classes, shape (2, n_pairs).

    Class i has the share ``1 / (1 + exp(a f + b))`` where the pair's machine has the value f,
    positive for i. `values_of(train, test)` are the values of the pairs at some rows by a machine
    that was trained on others; `index` says the classes.
    """
    first, second = np.triu_indices(index.max() + 1, 1)
    values = np.empty((len(index), len(first)))
    for train, test in _folds(index, random_state):
        values[test] = values_of(train, test)
    values, weights = np.ascontiguousarray(values.T), np.maximum(weights, 0.0)
    found, of_class = np.empty((2, len(first))), [index == i for i in range(index.max() + 1)]
    for pair, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        rows = of_class[i] | of_class[j]
        found[:, pair] = _core.sigmoid(values[pair][rows], of_class[i][rows], weights[rows])
    return found


def _folds(
    index: np.ndarray, random_state: np.random.RandomState
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows to train on and the rest, each class in equal shares."""
    smallest, every = int(np.bincount(index).min()), np.arange(len(index))
    if smallest < 2:
        # A class that cannot be split: the training rows themselves.
        return [(every, every)]
    order = random_state.permutation(len(index))
    fold = np.empty(len(index), dtype=int)
    fold[order[np.argsort(index[order], kind="stable")]] = every % min(FOLDS, smallest)
    return [(every[fold != at], every[fold == at]) for at in range(min(FOLDS, smallest))]
