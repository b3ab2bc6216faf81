"""A weighted subsample of the rows of a shard, on which joined machines are pruned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

#: Rows in the subsample of a shard: per term of the budget, and at least.
_ROWS_PER_TERM, _MIN_ROWS = 20, 1 << 14


def max_rows(budget: int) -> int:
    """The largest number of rows in the subsample of a shard."""
    return max(_ROWS_PER_TERM * budget, _MIN_ROWS)


@dataclass(frozen=True)
class WeightedSubsample:
    """Every k-th row of a shard, with k times its weight.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n, n_features)
        The rows.
    target : ndarray of shape (n,)
        Numbers of classes, or values.
    cost : ndarray of shape (n,)
        Cost of a violation: C times the weight of the row.
    """

    X: Any
    target: np.ndarray
    cost: np.ndarray

    def subsample(self, max_rows: int) -> Self:
        """A subsample of at most so many of these rows."""
        n = len(self.target)
        if n <= max_rows:
            return self
        some = slice(None, None, -(-n // max_rows))
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
