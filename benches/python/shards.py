"""Shards against one fit: objective after polishing, accuracy, rounds and the bytes that they move.

    python benches/python/shards.py [--budget 200] [--shards 2 4 8] [--seeds 3]

Shards are trained one after the other in this process. `plan` is a calculation: the rounds and
bytes of 10^9 rows on 32 machines from those counted here.
"""

from __future__ import annotations

import pickle

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from budgetsvm import BudgetSVC
from budgetsvm.distributed import add, finish, join, polish_sums, settle, shard_pass, survey
from common import load, parser, require

#: C and gamma.
SETS = {"adult": (32, 2**-7), "ijcnn1": (32, 2), "cod-rna": (32, 8), "covtype-2v3": (32, 1.0)}


def in_shards(clf, parts):
    """The machine; of every round which rows, how many terms and numbers; bytes of a shard."""
    settled = settle(clf, add([survey(clf, *part) for part in parts]))
    shards = [shard_pass(settled, *part, n_shards=len(parts)) for part in parts]
    sent, joined, rounds = max(len(pickle.dumps(shard)) for shard in shards), join(shards), []

    def sums_of(now, point):
        sums = [polish_sums(now, *part, point) for part in parts]
        rounds.append((int(point[0]), now.n_terms_, sums[0].size + point.size))
        return add(sums)

    return finish(joined, sums_of), rounds, sent


def main():
    options = parser(__doc__)
    options.add_argument("--budget", type=int, default=200)
    options.add_argument("--shards", type=int, nargs="+", default=[2, 4, 8])
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--only", nargs="+", default=list(SETS))
    options = options.parse_args()
    require(options.data, options.only)
    seeds = range(1 if options.quick else options.seeds)
    for name in options.only:
        X, y, X_test, y_test = load(options.data, name)
        if name == "covtype-2v3":
            scaler = StandardScaler().fit(X)
            X, X_test = (scaler.transform(part).astype(np.float32) for part in (X, X_test))
        C, gamma = SETS[name]
        told = {count: [] for count in (1, *options.shards)}
        for seed in seeds:
            order = np.random.default_rng(seed).permutation(X.shape[0])
            clf = BudgetSVC(options.budget, C, gamma=gamma, random_state=seed, n_jobs=2)
            for count, rows in told.items():
                parts = [(X[i], y[i]) for i in np.array_split(order, count)]
                one = (None, [], 0)
                fitted, rounds, sent = in_shards(clf, parts) if count > 1 else one
                fitted = fitted or clone(clf).fit(*parts[0])
                accuracy = 100 * fitted.score(X_test, y_test)
                rows.append((fitted.objective_["smoothed"], accuracy, rounds, sent))
        one = np.mean([row[0] for row in told[1]])
        spread = np.std([row[0] for row in told[1]]) / one
        print(
            f"{name}: one fit, accuracy {np.mean([r[1] for r in told[1]]):.2f}, seeds ±{spread:.2%}"
        )
        for count in options.shards:
            objective, accuracy, rounds, sent = zip(*told[count], strict=True)
            most = max(size for each in rounds for *_, size in each)
            last = rounds[0][-1]
            print(
                f"  {count} shards: objective {np.mean(objective) / one - 1:+.2%}, accuracy "
                f"{np.mean(accuracy):.2f}, {np.mean(list(map(len, rounds))):.0f} rounds "
                f"({np.mean([sum(e == 1 for e, *_ in r) for r in rounds]):.0f} of all rows), "
                "at most "
                f"{8 * most / 1e6:.2f} MB a partition and round, "
                f"{8 * last[2] / 1e6:.2f} MB in the last; a shard sends {max(sent) / 1e6:.2f} MB",
                flush=True,
            )
    b, d, partitions = options.budget, 50, 32 * 16
    wide = 8 * (2 * b * (d + 1) + b * 2 * b)
    final = 8 * (b * (d + 1) + b * b / 2)
    speak = 4 * (b * (d + 2) + max(20 * b, 1 << 14) * (d + 3))
    print(
        f"plan, two classes, d = {d}, B = {b}, 10^9 rows of float32, 32 machines of 16 partitions: "
        f"{1e9 / partitions:,.0f} rows a partition, of which a pass visits {100 * b:,}; it sends "
        f"{speak / 1e6:.1f} MB, and nine levels of pairs each {2 * speak / 1e6:.1f} MB a pair; "
        f"rounds but the last four look at every {max(1, int(1e9 / (300 * 2 * b))):,}th row; "
        f"{wide / 1e6:.1f} MB a partition and early round, {final / 1e6:.1f} MB in the last four, "
        f"which evaluate {4e9 * b / partitions:.1e} kernel values a partition"
    )


if __name__ == "__main__":
    main()
