"""Which part of the budget the mean of the iterates sets aside for terms that went.

Parts of the training sets alone: every learner that drops terms learns from 80 % of it (at most
20,000 rows), and the mean's accuracy on the other 20 % is compared for one place in 2, 3, 4, 8 and
16, in `--tries` orders. The library's constant is `ASIDE` (src/online/any.rs).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from sklearn.model_selection import train_test_split

import budgetsvm as b
from common import load, machine, markdown, parser, require, write

GAMMAS = {"adult": 2**-7, "cod-rna": 8.0, "ijcnn1": 2.0}
PARTS = (2, 3, 4, 8, 16)
LEARNERS = {
    b.RandomizedBudgetPerceptron: {}, b.Forgetron: {},
    b.BudgetPassiveAggressive: {"C": 0.1}, b.BudgetOGD: {"learning_rate": 0.3},
}  # fmt: skip


def one_in(learner, parts):
    """The class with another share: estimators have no parameter for it."""

    class Other(learner):
        _own: ClassVar[dict] = {**learner._own, "aside": parts}

    return Other


def main():
    options = parser(__doc__)
    options.add_argument("--tries", type=int, default=5)
    options.add_argument("--budget", type=int, default=500)
    asked = options.parse_args()
    require(asked.data, list(GAMMAS))
    rows, ranks = [], []
    for name, gamma in GAMMAS.items():
        X, y, _, _ = load(asked.data, name)
        X, held_out, y, answers = train_test_split(X, y, test_size=0.2, random_state=0, stratify=y)
        X, y = X[:20_000], y[:20_000]
        for learner, settings in LEARNERS.items():
            found = []
            for parts in PARTS:
                models = [
                    one_in(learner, parts)(
                        asked.budget, average=True, gamma=gamma, random_state=seed, **settings
                    )
                    for seed in range(asked.tries)
                ]
                found.append(np.median([m.fit(X, y).score(held_out, answers) for m in models]))
            rows.append([name, learner.__name__, *(f"{100 * v:.2f}" for v in found)])
            ranks.append(max(found) - np.array(found))
            print(" | ".join(rows[-1]), flush=True)
    lost = 100 * np.mean(ranks, axis=0)
    rows.append(["mean loss to the best", "", *(f"{v:.2f}" for v in lost)])
    header = ["data", "learner", *(f"1/{parts}" for parts in PARTS)]
    note = f"Budget {asked.budget}, medians of {asked.tries} orders, accuracy in %. {machine()}."
    write(asked.out / "online_window.md", markdown(header, rows) + "\n\n" + note)


if __name__ == "__main__":
    main()
