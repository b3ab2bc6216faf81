"""The bundled data are what they say, bit for bit."""

import hashlib

import numpy as np
import pytest

PARTS = {
    "train": (
        (32_561, 123),
        7_841,
        451_592,
        "cbdc3da51231c8d3aca7f0a2dbc43a539ebd6c6f23d2d4b1de8615117e6f41cb",
        "01361141f3eb7b0b21dc99bbdd4a6b9a5cff41e761c67e7361556e671a26ef21",
    ),
    "test": (
        (16_281, 123),
        3_846,
        225_731,
        "cc9e924c57d87d45696f49cd00ee70b188211ed1f2b008f80e3578e77fa8a832",
        "2999fa0c50b02463ce56873b82c5498ef8e8ef072e98e06927e288e2704311ec",
    ),
}


@pytest.mark.parametrize("part", PARTS)
def test_adult(adult, part):
    shape, n_positive, n_stored, rows_digest, labels_digest = PARTS[part]
    X, y = adult[:2] if part == "train" else adult[2:]

    assert X.format == "csr"
    assert X.dtype == np.float32
    assert X.shape == shape
    assert X.nnz == n_stored
    assert X.has_canonical_format
    np.testing.assert_array_equal(X.data, 1)
    row_sizes = np.diff(X.indptr)
    assert (row_sizes.min(), row_sizes.max()) == (11, 14)

    assert y.dtype == np.int8
    assert y.shape == shape[:1]
    assert set(np.unique(y)) == {-1, 1}
    assert np.count_nonzero(y == 1) == n_positive

    stored = X.indices.astype("<i4").tobytes() + X.indptr.astype("<i4").tobytes()
    assert hashlib.sha256(stored).hexdigest() == rows_digest
    assert hashlib.sha256(y.tobytes()).hexdigest() == labels_digest


def test_every_call_gives_arrays_of_its_own():
    from budgetsvm.datasets import load_adult

    _, first, *_ = load_adult()
    first[:] = 0
    assert set(np.unique(load_adult()[1])) == {-1, 1}
