"""The estimators for Dask without Dask: an engine that runs at once in the place of its client."""

import importlib
import pickle
import sys
import types

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.datasets import make_moons

import budgetsvm
from budgetsvm import BudgetOneClassSVM, BudgetSVC, BudgetSVCCV, PrimalSVC
from budgetsvm.distributed import add, settle, shard_pass, survey

X, Y = make_moons(600, noise=0.2, random_state=0)
NAMES = (
    "DaskAssetSVC", "DaskAssetSVR", "DaskBudgetSVC", "DaskBudgetSVR", "DaskLocalBudgetSVC",
)  # fmt: skip
OWN = {
    "DaskAssetSVC": {"n_components": 30},
    "DaskAssetSVR": {"n_components": 30},
    "DaskLocalBudgetSVC": {"n_clusters": 3, "budget": 20},
}


class Future:
    """What has been done; it has travelled as a pickle."""

    def __init__(self, value):
        self._value = pickle.dumps(value)

    def result(self):
        return pickle.loads(self._value)


class Client:
    """Runs at once what is submitted."""

    def submit(self, work, *given, **_):
        return Future(work(*self._found(given)))

    def gather(self, futures):
        return self._found(futures)

    def _found(self, given):
        if isinstance(given, (list, tuple)):
            return type(given)(map(self._found, given))
        return given.result() if isinstance(given, Future) else given


@pytest.fixture
def module(monkeypatch):
    """budgetsvm.dask over this engine."""
    engine = types.ModuleType("distributed")
    engine.Future, engine.default_client = Future, Client
    engine.get_worker = lambda: (_ for _ in ()).throw(ValueError("not on a worker"))
    monkeypatch.setitem(sys.modules, "distributed", engine)
    monkeypatch.delitem(sys.modules, "budgetsvm.dask", raising=False)
    yield importlib.import_module("budgetsvm.dask")
    sys.modules.pop("budgetsvm.dask", None)
    budgetsvm.__dict__.pop("dask", None)


def futures(*arrays, parts=3):
    cuts = np.array_split(np.arange(len(X)), parts)
    return [Future(tuple(a[i] for a in arrays)) for i in cuts]


def test_every_class_is_looked_at_here(module):
    assert tuple(module.__all__) == NAMES


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("gamma", ["scale", 2.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_class_trains(module, name, gamma, weighted):
    kind = getattr(module, name)
    if weighted and name == "DaskLocalBudgetSVC":  # its fit takes no weights
        return
    target = np.where(Y == 1, "yes", "no") if is_classifier(kind()) else np.sin(X[:, 0])
    weights = np.random.default_rng(0).uniform(0.5, 2, 600)
    columns = (X, target, weights)[: 3 if weighted else 2]
    made = kind(C=10, gamma=gamma, random_state=0, **OWN.get(name, {"budget": 20}))
    made.fit(futures(*columns))
    assert made.gamma == gamma
    if name not in OWN:
        assert made.score(X, target) > 0.9
        return
    plain = made.to_local().__class__(**made.to_local().get_params())
    parts = [tuple(a[i] for a in columns) for i in np.array_split(np.arange(600), 3)]
    settled = settle(plain, add([survey(plain, *part) for part in parts]))
    plain.set_params(gamma=settled.gamma)
    classes = {"classes": np.unique(target)} if is_classifier(plain) else {}
    for x, y, *w in parts:
        plain.partial_fit(x, y, **classes, **({"sample_weight": w[0]} if w else {}))
    assert np.array_equal(plain.predict(X), made.predict(X))


@pytest.mark.parametrize(
    "learner",
    [
        name
        for name in budgetsvm.__all__
        if hasattr(getattr(budgetsvm, name), "partial_fit")
        and hasattr(getattr(budgetsvm, name), "decision_function")
        and is_classifier(getattr(budgetsvm, name)())
        and name != "BudgetSVCCV"
    ],
)
def test_what_learns_in_parts_can_be_settled(learner):
    clf = getattr(budgetsvm, learner)()
    told = survey(clf, X[:300], Y[:300]) + survey(clf, X[300:], Y[300:])
    settled = settle(clf, told)
    assert settled.classes_.tolist() == [0, 1]
    assert settled.gamma == pytest.approx(1 / (2 * X.var()))


def test_what_cannot_be_trained_in_parts_says_so_first(module):
    for made in (module.DaskAssetSVC(solver="dual"), module.DaskLocalBudgetSVC()):
        before = dict(made.__dict__)
        with pytest.raises(AttributeError, match="partial_fit") as told:
            made.fit(futures(X, Y))
        assert "partial_fit needs" in str(told.value.__cause__)
        assert made.__dict__ == before
    for clf in (PrimalSVC(), BudgetSVCCV(), BudgetOneClassSVM()):
        for call in (survey, shard_pass):
            with pytest.raises(TypeError, match=f"got {type(clf).__name__}"):
                call(clf, X, Y)
    for name in ("C", "gamma"):
        clf = BudgetSVC(**({"gamma": 1.0} | {name: "tune"}))
        for call in (survey, shard_pass):
            with pytest.raises(ValueError, match=f"{name}='tune' needs all rows"):
                call(clf, X, Y)
    with pytest.raises(ValueError, match="one label a row"):
        survey(BudgetSVC(), X, np.c_[Y, 1 - Y])
