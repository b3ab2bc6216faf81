"""The recipes for Ray and Spark on the real engines, a few processes of this machine.

    python tests/cluster.py [ray] [spark]

Each is to give the bits of the same steps on the same partitions in this process, twice: wherever
the engine runs a task. `make cluster-test` runs it; Spark wants Java.
"""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from budgetsvm import BudgetSVC
from budgetsvm.distributed import add, finish, join, polish_sums, settle, shard_pass, survey

EXAMPLES = Path(__file__).parent.parent / "examples"
# Workers import the recipes from there, and run in this environment.
sys.path.insert(0, str(EXAMPLES))
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, map(str, (EXAMPLES, *sys.path))))
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

CLF = BudgetSVC(budget=40, C=10, random_state=0, n_jobs=1)


def in_one_place(parts):
    settled = settle(CLF, add([survey(CLF, *part) for part in parts]))
    joined = join([shard_pass(settled, *part, n_shards=len(parts)) for part in parts])
    return finish(joined, lambda now, at: add([polish_sums(now, *part, at) for part in parts]))


def same(engine, parts, *fitted):
    X = np.concatenate([part[0] for part in parts])
    expected = in_one_place(parts).decision_function(X)
    for clf in fitted:
        assert np.array_equal(clf.decision_function(X), expected), f"{engine}: other bits"
    print(f"{engine}: the bits of one process, {len(parts)} partitions, {len(X):,} rows")


def on_ray():
    import ray
    import ray_shards

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        blocks = [ray_shards.block.remote(seed) for seed in range(4)]
        fitted = [ray_shards.fit(CLF, blocks) for _ in range(2)]
        same("Ray", ray.get(blocks), *fitted)
        # A block that is not fit fails the fit, and says why.
        bad = ray.put((np.full((50, 4), np.nan), np.arange(50) % 2))
        with pytest.raises(ValueError, match="NaN"):
            ray_shards.fit(CLF, [*blocks, bad])
    finally:
        ray.shutdown()


def on_spark():
    import pandas as pd
    import spark_shards
    from pyspark.errors import PythonException
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[2]").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    try:
        X = np.random.default_rng(0).normal(size=(12000, 4))
        y = (np.hypot(*X.T[:2]) > 1.2).astype(int)
        rows = pd.DataFrame(X, columns=list("abcd")).assign(y=y)
        frame = spark.createDataFrame(rows).repartition(4).persist()
        fitted = [spark_shards.fit(CLF, frame) for _ in range(2)]
        same("Spark", spark_shards.of_parts(frame, lambda X, y: (X, y)), *fitted)
        # An empty partition says nothing.
        few = spark.createDataFrame(rows[:3000]).coalesce(1)
        few = few.union(few.filter("a > 1000")).persist()
        parts = spark_shards.of_parts(few, lambda X, y: (X, y))
        same("Spark, with an empty partition", parts, spark_shards.fit(CLF, few))
        bad = spark.createDataFrame(rows.assign(a=np.nan)[:100]).repartition(2)
        with pytest.raises(PythonException, match="NaN"):
            spark_shards.fit(CLF, bad)
    finally:
        spark.stop()


if __name__ == "__main__":
    for name in sys.argv[1:] or ["ray", "spark"]:
        {"ray": on_ray, "spark": on_spark}[name]()
