"""What every public estimator promises, whatever it is: bits, copies, files, memory, errors."""

from __future__ import annotations

import copy
import gc
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import budgetsvm
import estimators

X = estimators.rows(200, 4)
every = pytest.mark.parametrize("name", estimators.CLASSES)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def fitted(name, rows=X, **params):
    params = {key: v for key, v in params.items() if key in estimators.CLASSES[name]().get_params()}
    return estimators.small(name, **params).fit(rows, estimators.target(name, X))


@every
def test_same_bits_for_any_number_of_threads(name):
    told = [estimators.answers(fitted(name, n_jobs=jobs), X).tobytes() for jobs in (1, 2, 3)]
    assert len(set(told)) == 1


@every
def test_copies_and_files_say_the_same(name, tmp_path):
    model, path = fitted(name), tmp_path / "model.safetensors"
    said = estimators.answers(model, X)
    model.save(path)
    others = [
        pickle.loads(pickle.dumps(model, protocol)) for protocol in (2, pickle.DEFAULT_PROTOCOL)
    ]
    for other in (*others, copy.deepcopy(model), budgetsvm.load(path)):
        np.testing.assert_array_equal(estimators.answers(other, X), said)
        assert type(other) is type(model)
        assert repr(other) == repr(model)
    assert not hasattr(clone(model), "n_features_in_")


@every
def test_sparse_rows_and_dense_ones_say_nearly_the_same(name):
    gamma = {"gamma": 0.5}
    dense, sparse = fitted(name, **gamma), fitted(name, sp.csr_matrix(X), **gamma)
    said = estimators.answers(dense, X)
    np.testing.assert_allclose(
        estimators.answers(sparse, sp.csr_matrix(X)), said, atol=0.05 * np.abs(said).max()
    )


@every
def test_an_error_leaves_it_as_it_was(name):
    model = fitted(name)
    before = model.__dict__.copy()
    broken = X.copy()
    broken[7, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        model.fit(broken, estimators.target(name, X))
    assert model.__dict__ == before or all(before[key] is model.__dict__[key] for key in before)


def kept():
    """Megabytes of arrays that Python knows of."""
    gc.collect()
    arrays = (thing for thing in gc.get_objects() if isinstance(thing, np.ndarray))
    return sum(array.nbytes for array in arrays) / 1e6


@every
def test_fits_leave_nothing_behind(name):
    model, y = estimators.small(name), estimators.target(name, X)
    model.fit(X, y)
    before = kept()
    for _ in range(3):
        model.fit(X, y)
    assert kept() - before < 0.1


@every
def test_a_limit_of_time_leaves_a_machine(name):
    if "max_time" not in estimators.CLASSES[name]().get_params():
        pytest.skip("it has no such limit")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.isfinite(estimators.answers(fitted(name, max_time=1e-6), X)).all()
