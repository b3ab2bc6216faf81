"""BudgetSVC on Ray: the steps of budgetsvm.distributed as remote tasks.

    pip install budgetsvm ray
    python examples/ray_shards.py

Every block of rows is a shard. Blocks stay where they are; models, points and sums move.
"""

import numpy as np
import ray

from budgetsvm import BudgetSVC
from budgetsvm.distributed import add, finish, join, polish_sums, settle, shard_pass, survey


@ray.remote
def block(seed):
    """Rows as a job would read them from its store."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(3000, 4))
    return X, (np.hypot(X[:, 0], X[:, 1]) > 1.2).astype(int)


@ray.remote
def look(estimator, part):
    return survey(estimator, *part)


@ray.remote
def train(estimator, part, n_shards):
    return shard_pass(estimator, *part, n_shards=n_shards)


@ray.remote
def sums(now, part, point):
    return polish_sums(now, *part, point)


def fit(estimator, parts):
    """Train on references to blocks (X, y); the same bits wherever Ray runs them."""
    told = ray.get([look.remote(estimator, part) for part in parts])
    settled = settle(estimator, add(told))
    shards = ray.get([train.remote(settled, part, len(parts)) for part in parts])

    def sums_of(now, point):
        now, point = ray.put(now), ray.put(point)
        return add(ray.get([sums.remote(now, part, point) for part in parts]))

    return finish(join(shards), sums_of)


if __name__ == "__main__":
    ray.init(num_cpus=2, include_dashboard=False)
    clf = fit(
        BudgetSVC(budget=40, C=10, random_state=0, n_jobs=1), list(map(block.remote, range(4)))
    )
    X, y = ray.get(block.remote(99))
    print(f"{clf.n_terms_} terms, accuracy {clf.score(X, y):.3f}")
