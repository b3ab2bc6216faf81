"""UCI Adult in the a9a coding; source, licence and coding are in README.md beside this file."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import scipy.sparse as sp

N_TRAIN, N_TEST, N_FEATURES = 32_561, 16_281, 123


def load_adult() -> tuple[sp.csr_matrix, np.ndarray, sp.csr_matrix, np.ndarray]:
    """Does a person earn more than 50,000 dollars a year? (1994 census of the USA)

    Returns
    -------
    X_train : csr_matrix of float32, shape (32561, 123), every stored value 1
    y_train : ndarray of int8, shape (32561,), -1 or 1 (1: more than 50,000)
    X_test : csr_matrix of float32, shape (16281, 123)
    y_test : ndarray of int8, shape (16281,)

    Examples
    --------
    >>> from budgetsvm.datasets import load_adult
    >>> X_train, y_train, X_test, y_test = load_adult()
    >>> X_train.shape, X_test.shape
    ((32561, 123), (16281, 123))
    """
    path = files(__package__).joinpath("adult.npz")
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
        return (
            _rows(stored["X_train"], N_TRAIN),
            _labels(stored["y_train"], N_TRAIN),
            _rows(stored["X_test"], N_TEST),
            _labels(stored["y_test"], N_TEST),
        )


def _rows(packed: np.ndarray, n_rows: int) -> sp.csr_matrix:
    """One bit a feature, sixteen bytes a row."""
    present = np.unpackbits(packed, axis=1, count=N_FEATURES)
    if present.shape != (n_rows, N_FEATURES):
        raise ValueError(f"adult.npz is damaged: {present.shape} rows and features")
    return sp.csr_matrix(present, dtype=np.float32)


def _labels(packed: np.ndarray, n_rows: int) -> np.ndarray:
    return np.where(np.unpackbits(packed, count=n_rows), 1, -1).astype(np.int8)
