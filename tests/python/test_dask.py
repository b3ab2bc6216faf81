"""Dask: the bits of the partitions, whatever the workers; what comes back; what is refused."""

import itertools
import os
import pickle
import signal
import sys

import numpy as np
import pytest
from sklearn.base import clone

pytest.importorskip("dask")
pytest.importorskip("distributed")

import dask.array as da
import dask.dataframe as dd
import pandas as pd
from distributed import Client, LocalCluster
from sklearn.datasets import make_moons

import budgetsvm
from budgetsvm import AssetSVC, BudgetSVC, BudgetSVR, LocalBudgetSVC
from budgetsvm.dask import (
    DaskAssetSVC,
    DaskAssetSVR,
    DaskBudgetSVC,
    DaskBudgetSVR,
    DaskLocalBudgetSVC,
)
from budgetsvm.distributed import add, finish, join, polish_sums, settle, shard_pass, survey

X, Y = make_moons(1200, noise=0.2, random_state=0)
CUT = 200
SETTINGS = {"budget": 20, "C": 10, "random_state": 1}


def cluster(workers, threads=1):
    return LocalCluster(
        n_workers=workers, threads_per_worker=threads, processes=True, dashboard_address=":0"
    )


@pytest.fixture(scope="module")
def client():
    with cluster(2) as local, Client(local) as made:
        yield made


def arrays(x=X, y=Y):
    return da.from_array(x, chunks=(CUT, x.shape[1])), da.from_array(y, chunks=CUT)


def in_one_place():
    """The same steps without Dask."""
    clf = BudgetSVC(**SETTINGS)
    parts = [(X[i : i + CUT], Y[i : i + CUT]) for i in range(0, len(Y), CUT)]
    settled = settle(clf, add([survey(clf, *part) for part in parts]))
    joined = join([shard_pass(settled, *part, n_shards=len(parts)) for part in parts])
    return finish(joined, lambda now, at: add([polish_sums(now, *p, at) for p in parts]))


def test_the_bits_are_those_of_the_steps(client):
    clf = DaskBudgetSVC(**SETTINGS, client=client).fit(*arrays())
    assert np.array_equal(clf.decision_function(X), in_one_place().decision_function(X))
    assert clf.score(X, Y) > 0.95
    assert clf.n_terms_ <= 20
    assert clf.gamma == "scale"
    frame = pd.DataFrame(X, columns=["a", "b"])
    clf.fit(dd.from_pandas(frame, npartitions=6), dd.from_pandas(pd.Series(Y), npartitions=6))
    assert clf.feature_names_in_.tolist() == ["a", "b"]
    assert np.array_equal(clf.decision_function(frame), in_one_place().decision_function(X))
    cuts = range(0, len(Y), CUT)
    futures = [client.submit(lambda i: (X[i : i + CUT], Y[i : i + CUT]), i) for i in cuts]
    clf = DaskBudgetSVC(**SETTINGS, client=client).fit(futures)
    assert np.array_equal(clf.decision_function(X), in_one_place().decision_function(X))


@pytest.mark.parametrize(("workers", "threads"), [(1, 2), (4, 1)])
def test_other_workers_change_no_bit(workers, threads):
    with cluster(workers, threads) as local, Client(local) as own:
        clf = DaskBudgetSVC(**SETTINGS, client=own).fit(*arrays())
    assert np.array_equal(clf.decision_function(X), in_one_place().decision_function(X))


def test_a_worker_that_dies_changes_no_bit(monkeypatch):
    import budgetsvm.dask as module

    with cluster(2) as local, Client(local) as own:
        killed = []
        plain = module._Run.of_parts

        def of_parts(self, work, *given):
            tasks = plain(self, work, *given)
            if work is module._sums and not killed:
                killed.append(next(iter(own.run(os.getpid).values())))
                os.kill(killed[0], signal.SIGKILL)
            return tasks

        monkeypatch.setattr(module._Run, "of_parts", of_parts)
        clf = DaskBudgetSVC(**SETTINGS, client=own).fit(*arrays())
    assert killed
    assert np.array_equal(clf.decision_function(X), in_one_place().decision_function(X))


def test_predictions_are_lazy(client):
    clf = DaskBudgetSVC(**SETTINGS).fit(*arrays())
    assert clf.client_ is client
    blocks, _ = arrays()
    lazy = clf.predict(blocks)
    assert lazy.chunks == ((CUT,) * 6,)
    assert np.array_equal(lazy.compute(), clf.to_local().predict(X))
    assert np.array_equal(clf.decision_function(blocks).compute(), clf.decision_function(X))
    three = np.where(X[:, 0] > 1, "z", np.where(Y == 0, "x", "y"))
    clf.fit(*arrays(X, three))
    values = clf.decision_function(blocks)
    assert values.shape == (1200, 3)
    assert np.array_equal(values.compute(), clf.decision_function(X))
    assert np.array_equal(clf.predict(blocks).compute(), clf.predict(X))
    frame = pd.DataFrame(X, columns=["a", "b"])
    rows = dd.from_pandas(frame, npartitions=3)
    clf.fit(rows, dd.from_pandas(pd.Series(three), npartitions=3))
    assert np.array_equal(clf.predict(rows).compute(), clf.predict(frame))


def test_a_local_machine_comes_back(client, tmp_path):
    clf = DaskBudgetSVC(**SETTINGS, client=client).fit(*arrays())
    local = clf.to_local()
    assert type(local) is BudgetSVC
    assert local.get_params() == BudgetSVC(**SETTINGS).get_params()
    clf.save(tmp_path / "m.safetensors")
    read = budgetsvm.load(tmp_path / "m.safetensors")
    again = pickle.loads(pickle.dumps(clf))
    assert again.client is None
    for other in (local, read, again):
        assert np.array_equal(other.decision_function(X), clf.decision_function(X))
    assert clone(clf).get_params()["client"] is client


def test_labels_that_a_partition_does_not_know(client):
    order = np.argsort(Y + 2 * (X[:, 0] > 1.5), kind="stable")
    x, y = X[order], (Y + 2 * (X[:, 0] > 1.5))[order]
    clf = DaskBudgetSVC(**SETTINGS, client=client).fit(*arrays(x, y))
    assert clf.classes_.tolist() == np.unique(y).tolist()
    assert clf.score(x, y) > BudgetSVC(**SETTINGS).fit(x, y).score(x, y) - 0.03


def test_values(client):
    values = np.sin(3 * X[:, 0])
    reg = DaskBudgetSVR(budget=20, C=10, random_state=0, client=client).fit(*arrays(X, values))
    local = BudgetSVR(budget=20, C=10, random_state=0).fit(X, values)
    assert reg.score(X, values) > local.score(X, values) - 0.02
    weights = da.from_array(np.r_[np.zeros(600), np.ones(600)], chunks=CUT)
    reg.fit(*arrays(X, values), sample_weight=weights)
    assert reg.score(X[600:], values[600:]) > 0.9


@pytest.mark.parametrize(
    ("kind", "local", "own"),
    [
        (DaskAssetSVC, AssetSVC, {"n_components": 30}),
        (DaskLocalBudgetSVC, LocalBudgetSVC, {"n_clusters": 4, "budget": 30}),
    ],
)
def test_one_partition_after_the_other(client, kind, local, own):
    settings = own | {"C": 10, "gamma": 2.0, "random_state": 0}
    clf = kind(**settings, client=client).fit(*arrays())
    plain = local(**settings)
    for i in range(0, len(Y), CUT):
        plain.partial_fit(X[i : i + CUT], Y[i : i + CUT], classes=[0, 1])
    assert np.array_equal(clf.decision_function(X), plain.decision_function(X))
    assert type(clf.to_local()) is local


def test_values_one_partition_after_the_other(client):
    reg = DaskAssetSVR(n_components=30, C=10, random_state=0, client=client)
    reg.fit(*arrays(X, np.sin(X[:, 0])))
    assert reg.gamma == "scale"
    assert reg.score(X, np.sin(X[:, 0])) > 0.8


def test_a_partition_that_is_not_fit_is_named(client):
    broken = X.copy()
    broken[700, 1] = np.nan
    clf = DaskBudgetSVC(**SETTINGS, client=client).fit(*arrays())
    before = clf.decision_function(X)
    with pytest.raises(ValueError, match=r"partition 3: .*NaN"):
        clf.fit(*arrays(broken))
    assert np.array_equal(clf.decision_function(X), before)
    with pytest.raises(ValueError, match="1 class"):
        clf.fit(*arrays(X, np.zeros(1200)))
    with pytest.raises(ValueError, match="cannot be used on shards"):
        DaskBudgetSVC(refine=True, client=client).fit(*arrays())
    with pytest.raises(TypeError, match="X must be a dask array"):
        clf.fit(X, Y)
    with pytest.raises(ValueError, match="y has 600 rows, but X has 1200"):
        clf.fit(arrays()[0], da.from_array(Y[:600], chunks=100))
    with pytest.raises(ValueError, match="y has 3 partitions, but X has 6"):
        clf.fit(arrays()[0], list(client.map(lambda i: Y[i : i + 400], [0, 400, 800])))


def test_empty_partitions_say_nothing(client):
    cuts = [0, 0, *range(CUT, len(Y) + 1, CUT), 1200]
    ends = list(itertools.pairwise(cuts))
    futures = [client.submit(lambda a, b: (X[a:b], Y[a:b]), a, b) for a, b in ends]
    clf = DaskBudgetSVC(**SETTINGS, client=client).fit(futures)
    assert np.array_equal(clf.decision_function(X), in_one_place().decision_function(X))


def test_without_dask_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, "budgetsvm.dask")
    with pytest.raises(ImportError, match=r"budgetsvm\[dask\]"):
        import budgetsvm.dask  # noqa: F401


def test_probabilities_are_lazy(client):
    x, y = arrays()
    clf = DaskBudgetSVC(**SETTINGS, loss="log_loss", client=client).fit(x, y)
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=3)
    for method in ("predict_proba", "predict_log_proba"):
        wanted = getattr(clf.to_local(), method)(X)
        found = getattr(clf, method)(x)
        assert hasattr(found, "compute")
        np.testing.assert_array_equal(found.compute(), wanted)
        np.testing.assert_array_equal(getattr(clf, method)(frame).compute().to_numpy(), wanted)
    with pytest.raises(AttributeError, match=r"call calibrate\(X, y\)"):
        DaskBudgetSVC(client=client).predict_proba(x)
    assert not hasattr(DaskBudgetSVR(client=client), "predict_proba")
