"""Every estimator used against the grain: inputs, processes, callbacks, collection of garbage."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import threading

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import budgetsvm

CLASSES = [
    cls
    for cls in (getattr(budgetsvm, name) for name in budgetsvm.__all__)
    if isinstance(cls, type) and hasattr(cls, "fit")
]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
LABELS = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)

pytestmark = pytest.mark.filterwarnings("ignore")


def small(cls):
    params = cls().get_params()
    wanted = {"budget": 8, "n_components": 8, "n_frequencies": 8, "n_clusters": 3, "nu": 0.1,
              "random_state": 0, "n_jobs": 2}  # fmt: skip
    return cls(**{name: value for name, value in wanted.items() if name in params})


def targets(cls):
    return X[:, 0] if cls.__name__.endswith("SVR") else LABELS


def said(model, rows):
    for method in ("decision_function", "predict", "transform"):
        if hasattr(model, method):
            return np.asarray(getattr(model, method)(rows))
    raise AssertionError


def deep(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


class Liar:
    """Says that it is an array, and is none."""

    shape, ndim, dtype = (80, 3), 2, np.dtype(np.float64)

    def __array__(self, *args, **kwargs):
        raise RuntimeError("no array")

    def __len__(self):
        return 80


ROWS = {
    "none": None,
    "a number": 3,
    "text": "rows",
    "texts": np.array([["a", "b", "c"]] * 80),
    "complex": X + 1j,
    "records": np.zeros(80, dtype=[("a", "f8"), ("b", "f8")]),
    "nothing": np.zeros((0, 3)),
    "no columns": np.zeros((80, 0)),
    "one row too few": X[1:],
    "a vector": X[:, 0],
    "a cube": X[:, :, None],
    "not a number": np.where(np.arange(240).reshape(80, 3) == 7, np.nan, X),
    "infinity": np.where(np.arange(240).reshape(80, 3) == 9, -np.inf, X),
    "ragged": [[1.0, 2.0], [3.0]] * 40,
    "deep": deep(100),
    "objects": np.full((80, 3), None),
    "a dictionary": {"a": 1},
    "a generator": (row for row in X),
    "sparse complex": sparse.csr_matrix(X + 1j),
    "sparse not a number": sparse.csr_matrix(np.where(X > 2, np.nan, X) * [1, np.inf, 1]),
}


@pytest.mark.parametrize("what", ROWS)
@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_hostile_rows(cls, what):
    model = small(cls).fit(X, targets(cls))
    before = said(model, X)
    unsupervised = cls.__name__ in (
        "BudgetOneClassSVM",
        "OneClassSVM",
        "SemiparametricOneClassSVM",
        "Nystroem",
        "RandomFourier",
    )
    unsupervised = unsupervised or cls.__name__ == "IncompleteCholesky"
    if what == "one row too few" and unsupervised:
        return  # without targets there is no number of them
    if cls.__name__.startswith("Auto") and what in ("not a number", "objects"):
        assert np.isfinite(said(model.fit(ROWS[what], targets(cls)), ROWS[what])).all()
        return  # values that miss are no error there
    with pytest.raises((ValueError, TypeError)):
        model.fit(ROWS[what], targets(cls))
    if what != "one row too few":
        with pytest.raises((ValueError, TypeError)):
            said(model, ROWS[what])
    if hasattr(model, "partial_fit"):
        with pytest.raises((ValueError, TypeError)):
            model.partial_fit(ROWS[what], targets(cls))
    np.testing.assert_array_equal(said(model, X), before)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_an_array_that_raises(cls):
    with pytest.raises((ValueError, TypeError, RuntimeError)):
        small(cls).fit(Liar(), targets(cls))


WATCHED = [cls for cls in CLASSES if "callback" in cls().get_params()]


@pytest.mark.parametrize("cls", WATCHED, ids=lambda cls: cls.__name__)
def test_a_callback_that_raises_or_trains_in_itself(cls):
    y = targets(cls)

    class Odd(BaseException):
        pass

    for error in (KeyError("k"), Odd(), SystemExit(3), KeyboardInterrupt(), GeneratorExit()):
        model = small(cls).fit(X, y)
        before = said(model, X)

        def raises(_, error=error):
            raise error

        with pytest.raises(type(error)):
            model.set_params(callback=raises).fit(X, y)
        np.testing.assert_array_equal(said(model, X), before)
    plain = said(small(cls).fit(X, y), X)
    depths = []

    def inner(depth):
        def trains(_):
            if depth < 4 and len(depths) < 12:
                depths.append(depth)
                small(cls).set_params(callback=inner(depth + 1)).fit(X, y)

        return trains

    model = small(cls).set_params(callback=inner(0)).fit(X, y)
    np.testing.assert_array_equal(said(model, X), plain)
    assert max(depths) == 3


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_garbage_is_collected_while_threads_predict(cls):
    model = small(cls).fit(X, targets(cls))
    expected, wrong, ends = said(model, X), [], threading.Event()

    def predicts():
        clone(model).fit(X[:40], targets(cls)[:40])
        for _ in range(15):
            got = said(model, X)
            if not np.array_equal(got, expected):
                wrong.append(got)

    def collects():
        while not ends.is_set():
            cycle = [model]
            cycle.append(cycle)
            del cycle
            gc.collect()

    threads = [threading.Thread(target=predicts) for _ in range(3)]
    collector = threading.Thread(target=collects)
    for thread in (collector, *threads):
        thread.start()
    for thread in threads:
        thread.join(120)
    ends.set()
    collector.join(30)
    assert not wrong
    assert not any(thread.is_alive() for thread in threads)


@pytest.mark.thread_unsafe(reason="the executor is one of the process")
def test_loky():
    """Machines go to other processes and come back, trained there, with the same bits."""
    models = [small(cls) for cls in CLASSES]
    ys = [targets(cls) for cls in CLASSES]
    tasks = (joblib.delayed(clone(model).fit)(X, y) for model, y in zip(models, ys, strict=True))
    there = joblib.Parallel(n_jobs=2, backend="loky")(tasks)
    for model, y, other in zip(models, ys, there, strict=True):
        np.testing.assert_array_equal(said(model.fit(X, y), X), said(other, X))


PROCESSES = """
    import multiprocessing, pickle, sys
    import numpy as np
    import budgetsvm

    X = np.random.default_rng(0).normal(size=(400, 3))
    y = X[:, 0] * X[:, 1] > 0

    def life(name):
        model = getattr(budgetsvm, name)().fit(X, y)
        return name, pickle.dumps(model), model.decision_function(X)

    if __name__ == "__main__":
        names = ["BudgetSVC", "SVC", "PrimalSVC", "AssetSVC", "Projectron", "LocalBudgetSVC"]
        here = {name: life(name)[2] for name in names}
        with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
            for name, data, values in pool.map(life, names):
                assert name not in ("SVC",) or (values == here[name]).all(), name
                assert (pickle.loads(data).decision_function(X) == values).all(), name
        print("alive")
"""


@pytest.mark.parametrize("start", ["spawn", "forkserver"])
def test_processes(start, tmp_path):
    if sys.platform == "win32" and start == "forkserver":
        pytest.skip("there is none")
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROCESSES))
    done = subprocess.run(
        [sys.executable, str(program), start],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.stdout == "alive\n", done.stderr
