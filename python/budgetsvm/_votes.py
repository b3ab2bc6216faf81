"""What decision values of exact machines come to. NumPy alone.

Those of several classes are of the pairs (0, 1), (0, 2), ..., (1, 2), ...: a value speaks for the
first of its pair where it is positive; a 0 for the second, as in LIBSVM.
"""

from __future__ import annotations

import numpy as np

#: Decision values of one-class machines below this count as 0, relative to 1 + the offset.
BOUNDARY = 1e-9


#: The largest magnitude whose sums over all pairs floats hold.
LARGEST = 1e300


def voted(values: np.ndarray, k: int) -> np.ndarray:
    """The class with most votes of its pairs, the first of equals, shape (n_samples,)."""
    first, second = np.triu_indices(k, 1)
    # A vote of each pair: class `second` has it until class `first` wins it.
    gains = np.zeros((len(first), k), dtype=np.float32)
    gains[np.arange(len(first)), first] = 1
    gains[np.arange(len(first)), second] = -1
    votes = (values > 0).astype(np.float32) @ gains + np.bincount(second, minlength=k)
    return votes.argmax(axis=1)


def one_a_class(values: np.ndarray, k: int) -> np.ndarray:
    """Votes, and between equal ones the sums of the values: what scikit-learn calls "ovr"."""
    if values.size and max(values.max(), -values.min()) > LARGEST:
        values = np.clip(values, -LARGEST, LARGEST)
    first, second = np.triu_indices(k, 1)
    votes, sums = np.zeros((len(values), k)), np.zeros((len(values), k))
    for pair, (i, j) in enumerate(zip(first, second, strict=True)):
        sums[:, i] += values[:, pair]
        sums[:, j] -= values[:, pair]
        votes[values[:, pair] >= 0, i] += 1
        votes[values[:, pair] < 0, j] += 1
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
