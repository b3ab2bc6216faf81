"""BudgetSVC on Spark: the steps of budgetsvm.distributed by mapInPandas.

    pip install budgetsvm pyspark pandas pyarrow
    python examples/spark_shards.py

Every partition is a shard. Rows stay where they are; models, points and sums move, as pickles.
"""

import os
import pickle
import sys

import numpy as np
import pandas as pd
from pyspark import StorageLevel
from pyspark.sql import SparkSession

from budgetsvm import BudgetSVC
from budgetsvm.distributed import add, finish, join, polish_sums, settle, shard_pass, survey


def of_parts(frame, work):
    """What `work(X, y)` gives for every partition with rows, in their order."""

    def run(batches):
        from pyspark import TaskContext

        rows = list(batches)
        if any(map(len, rows)):
            rows = pd.concat(rows)
            found = work(rows.drop(columns="y").to_numpy(), rows["y"].to_numpy())
            part = TaskContext.get().partitionId()
            yield pd.DataFrame({"part": [part], "found": [pickle.dumps(found)]})

    told = frame.mapInPandas(run, "part int, found binary").collect()
    return [pickle.loads(row.found) for row in sorted(told, key=lambda row: row.part)]


def fit(estimator, frame):
    """Train on a data frame of features and `y`; kept, so that its partitions stay the same."""
    frame = frame.persist(StorageLevel.MEMORY_AND_DISK)
    told = of_parts(frame, lambda X, y: survey(estimator, X, y))
    settled, n = settle(estimator, add(told)), len(told)
    shards = of_parts(frame, lambda X, y: shard_pass(settled, X, y, n_shards=n))

    def sums_of(now, point):
        return add(of_parts(frame, lambda X, y: polish_sums(now, X, y, point)))

    return finish(join(shards), sums_of)


if __name__ == "__main__":
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers in this environment
    spark = SparkSession.builder.master("local[2]").getOrCreate()
    X = np.random.default_rng(0).normal(size=(12000, 4))
    rows = pd.DataFrame(X, columns=list("abcd")).assign(y=(np.hypot(*X.T[:2]) > 1.2).astype(int))
    frame = spark.createDataFrame(rows).repartition(4)
    clf = fit(BudgetSVC(budget=40, C=10, random_state=0, n_jobs=1), frame)
    print(f"{clf.n_terms_} terms, accuracy {clf.score(X, rows['y']):.3f}")
