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

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import clone
from sklearn.calibration import _SigmoidCalibration
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing

#: Folds of step 1, as in LIBSVM.
FOLDS = 5
#: Sigmoids stay this far from 0 and 1, as in LIBSVM.
LEAST = 1e-7
#: Numbers in the matrices of the rows that are solved for at once.
BLOCK = 2**21


def sigmoids_of_pairs(
    machine: Any, X: Any, labels: np.ndarray, weights: np.ndarray | None, seed: int
) -> np.ndarray:
    """Slopes a and offsets b of the sigmoids of all pairs i < j of classes, shape (2, n_pairs).

    Class i has the share ``1 / (1 + exp(a f + b))`` where the pair's machine has the value f,
    positive for i. Clones of the unfitted `machine` are trained on folds of the rows (or of the
    square kernel matrix).
    """
    index = np.unique(labels, return_inverse=True)[1]
    first, second = np.triu_indices(index.max() + 1, 1)
    values, sigmoids = np.empty((len(labels), len(first))), np.empty((2, len(first)))
    machine = clone(machine).set_params(decision_function_shape="ovo", break_ties=False)
    square = machine.kernel == "precomputed"
    for train, test in _folds(index, seed):
        part, rest = (
            X[np.ix_(rows, train)] if square else _safe_indexing(X, rows) for rows in (train, test)
        )
        learnt = clone(machine).fit(
            part, labels[train], None if weights is None else weights[train]
        )
        found = learnt.decision_function(rest)
        values[test] = -found[:, None] if found.ndim == 1 else found
    for pair, (i, j) in enumerate(zip(first, second, strict=True)):
        rows = np.flatnonzero((index == i) | (index == j))
        weight = None if weights is None else np.maximum(weights[rows], 0.0)
        fitted = _SigmoidCalibration().fit(values[rows, pair], index[rows] == i, weight)
        sigmoids[:, pair] = fitted.a_, fitted.b_
    return sigmoids


def _folds(index: np.ndarray, seed: int) -> Iterable[tuple[np.ndarray, np.ndarray]]:
    smallest, every = int(np.bincount(index).min()), np.arange(len(index))
    if smallest < 2:
        # A class that cannot be split: the training rows themselves.
        return [(every, every)]
    return StratifiedKFold(min(FOLDS, smallest), shuffle=True, random_state=seed).split(
        every, index
    )


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
