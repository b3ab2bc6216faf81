"""Rows that speak for all of a shard's, where shards are joined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

#: Rows that speak for a shard: so many for each term of the budget, and at least.
_A_TERM, _LEAST = 20, 1 << 14


def most(budget: int) -> int:
    """Rows that speak for a shard, at most."""
    return max(_A_TERM * budget, _LEAST)


@dataclass(frozen=True)
class Speakers:
    """Every k-th of the rows, with k times the weight.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n, n_features)
        The rows.
    target : ndarray of shape (n,)
        Numbers of classes, or values.
    cost : ndarray of shape (n,)
        What a violation costs.
    """

    X: Any
    target: np.ndarray
    cost: np.ndarray

    def thinned(self, most: int) -> Self:
        """At most so many of them."""
        n = len(self.target)
        if n <= most:
            return self
        some = slice(None, None, -(-n // most))
        target = self.target[some].copy()
        X = self.X[some]
        X = X if sp.issparse(X) else X.copy()
        return type(self)(X, target, self.cost[some] * (n / len(target)))

    def __add__(self, other: Self) -> Self:
        rows: list[Any] = [self.X, other.X]
        sparse = any(map(sp.issparse, rows))
        X: Any = sp.vstack(rows, format="csr") if sparse else np.concatenate(rows)
        return type(self)(
            X, np.concatenate([self.target, other.target]), np.concatenate([self.cost, other.cost])
        )
