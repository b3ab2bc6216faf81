"""Files of every version that was released, or will be: one of every estimator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import budgetsvm
import files

FILES = Path(__file__).parents[1] / "files"
FOLDERS = sorted(path for path in FILES.iterdir() if path.name.isdigit())
CASES = [
    (folder, *case)
    for folder in FOLDERS
    for case in files.cases()
    if files.is_in(folder, *case[:2])
]


@pytest.mark.parametrize(
    ("folder", "name", "estimator", "kind", "single", "sparse"),
    CASES,
    ids=[f"{case[0].name}-{case[1]}" for case in CASES],
)
def test_a_file_of_every_estimator_loads(folder, name, estimator, kind, single, sparse):
    path = folder / f"{name}.safetensors"
    said = np.load(folder / "said.npz")
    loaded = budgetsvm.load(path)
    assert type(loaded) is type(estimator)
    X = files.rows(single, sparse)
    now = files.said(loaded, X)
    # Other processors add in another order.
    scale = np.abs(said[name]).max()
    np.testing.assert_allclose(now, said[name], rtol=0, atol=(1e-4 if single else 1e-9) * scale)
    if hasattr(loaded, "partial_fit"):
        loaded.partial_fit(X, files.targets(kind))
    again = clone(loaded)
    y = files.targets(kind)
    assert again.fit(X, y) is again


@pytest.mark.parametrize(
    ("name", "kind", "method"),
    [(name, kind, method) for name, _, kind, method in files.calibrated()],
)
def test_a_calibrated_machine_loads(name, kind, method):
    loaded = budgetsvm.load(FILES / "2" / f"{name}.safetensors")
    X, y = files.rows(False, False), files.targets(kind)
    assert loaded._machine.calibration == (method, len(np.unique(y)))
    said = np.load(FILES / "2" / "said.npz")[name]
    np.testing.assert_allclose(loaded.predict_proba(X), said, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(loaded.predict(X), loaded.classes_[said.argmax(axis=1)])
    again = loaded.calibrate(X, y, method, cv="prefit")
    np.testing.assert_allclose(again.predict_proba(X), said, rtol=0, atol=1e-6)


def test_every_file_belongs_to_a_case():
    every = [*files.cases(), *files.calibrated()]
    names = {f"{case[0]}.safetensors" for case in every} | {"said.npz"}
    for folder in FOLDERS:
        assert {path.name for path in folder.iterdir()} <= names
    assert FOLDERS


@pytest.mark.parametrize("path", sorted((FILES / "rust").iterdir()), ids=lambda path: path.stem)
def test_what_the_rust_crate_wrote_loads(path):
    """The files of `tests/machines/saved.rs`: rows on a line, the greater half positive."""
    loaded = budgetsvm.load(path)
    assert type(loaded).__name__ == path.stem.partition("-")[0]
    if path.stem.endswith("-scaled"):
        assert list(loaded.feature_scales_) == list(loaded.feature_scales) == [0.5]
    X = np.linspace(-1, 1, 30)[:, None]
    if path.stem.endswith("OneClassSVM"):
        assert list(loaded.predict([[0.0], [5.0]])) == [1, -1]
        loaded.partial_fit(X)
    elif path.stem.endswith("SVC"):
        assert list(loaded.classes_) == ["high", "low"]
        assert list(loaded.predict(X)) == ["low"] * 15 + ["high"] * 15
    else:
        assert np.abs(loaded.predict(X) - X[:, 0]).max() < 0.3
