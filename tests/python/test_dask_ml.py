"""dask-ml's wrappers around every estimator: blocks in turn, and answers block by block."""

import inspect
import warnings

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

pytest.importorskip("dask")
pytest.importorskip("dask_ml")

import dask
import dask.array as da
from dask_ml.wrappers import Incremental, ParallelPostFit

import machines

#: A machine of every class, with one answer a row: dask-ml knows no others.
OF_CLASS = {}
for _name in machines.NAMES:
    if _name.endswith(("-sets", "-columns")):
        continue
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        OF_CLASS.setdefault(type(machines.machine(_name)).__name__, _name)
CUT = 50
X = machines.rows(190)
BLOCKS = da.from_array(X, chunks=(CUT, 3))
WAYS = ["predict", "transform", "predict_proba"]
#: dask-ml asks for a score.
IN_TURN = [
    name
    for name in OF_CLASS.values()
    if hasattr(machines.machine(name), "partial_fit") and hasattr(machines.machine(name), "score")
]


@pytest.fixture(autouse=True)
def here():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.mark.parametrize("name", sorted(OF_CLASS.values()))
def test_answers_come_block_by_block(name):
    model = machines.machine(name)
    wrapped, asked = ParallelPostFit(model), 0
    for way in WAYS:
        if hasattr(model, way):
            found = getattr(wrapped, way)(BLOCKS)
            assert isinstance(found, da.Array)
            wanted = getattr(model, way)(X)
            if wanted.dtype.kind == "f":
                np.testing.assert_allclose(found.compute(), wanted, rtol=1e-6, atol=1e-9)
            else:
                np.testing.assert_array_equal(found.compute(), wanted)
            asked += 1
    assert asked


@pytest.mark.parametrize("name", sorted(IN_TURN))
def test_blocks_are_learnt_in_turn(name):
    model = machines.machine(name)
    plain = clone(model)
    y = X[:, 0] + X[:, 1] ** 2
    if is_classifier(model):
        y = (y > np.median(y)).astype(int)
    needs = inspect.signature(plain.partial_fit).parameters
    own = {"classes": [0, 1]} if "classes" in needs else {}
    wrapped = Incremental(clone(model), shuffle_blocks=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrapped.fit(BLOCKS, da.from_array(y, chunks=CUT), **own)
        for first in range(0, len(X), CUT):
            plain.partial_fit(X[first : first + CUT], y[first : first + CUT], **own)
    np.testing.assert_array_equal(wrapped.estimator_.predict(X), plain.predict(X))
