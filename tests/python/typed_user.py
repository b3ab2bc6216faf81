"""What a checker of types says of a user's code: mypy reads this file, nobody runs it.

Each line that is to be refused says so; mypy fails where it would let one through.
"""

from __future__ import annotations

import numpy as np

import budgetsvm as bs

bs.BudgetSVC(50, kernel="rbf", gamma="scale", loss="log_loss", solver="bsgd", order=[1, 0])
bs.BudgetSVC(50, kernel="RBF")  # type: ignore[arg-type]
bs.BudgetSVC(gamma="auto", maintenance="remove-oldest", class_weight={0: 2.0})
bs.BudgetSVC(gamma="automatic")  # type: ignore[arg-type]
bs.BudgetSVC(loss="squared")  # type: ignore[arg-type]
bs.BudgetSVC(loss="epsilon_insensitive")  # type: ignore[arg-type]
bs.BudgetSVC(solver="smo")  # type: ignore[arg-type]
bs.BudgetSVC(maintenance="merging")  # type: ignore[arg-type]
bs.BudgetSVC(merge_search="exact")  # type: ignore[arg-type]
bs.BudgetSVC(order="random")  # type: ignore[arg-type]
bs.BudgetSVC(class_weight="even")  # type: ignore[arg-type]
bs.BudgetSVR(loss="quantile", random_state=np.random.RandomState(0))
bs.BudgetSVR(loss="hinge")  # type: ignore[arg-type]
bs.SVC(kernel="precomputed", solver="mpd", decision_function_shape="ovo")
bs.SVC(kernel=np.dot)
bs.SVC(kernel="gaussian")  # type: ignore[arg-type]
bs.SVC(solver="bsca")  # type: ignore[arg-type]
bs.SVC(decision_function_shape="all")  # type: ignore[arg-type]
bs.PrimalSVC(loss="least_squares", solver="cg")
bs.PrimalSVC(solver="dual")  # type: ignore[arg-type]
bs.AssetSVC(features="fourier", waves="paired", averaging=100)
bs.AssetSVC(features="random")  # type: ignore[arg-type]
bs.AssetSVC(averaging="all")  # type: ignore[arg-type]
bs.LocalBudgetSVC(assign="kmeans", local="bsca")
bs.LocalBudgetSVC(assign="kmeans++")  # type: ignore[arg-type]
bs.BudgetOGD(sampling="uniform")
bs.BudgetOGD(sampling="even")  # type: ignore[arg-type]
bs.Nystroem(kernel="laplacian")
bs.Nystroem(kernel="cosine")  # type: ignore[arg-type]
bs.RandomFourier(waves="cosine")  # type: ignore[arg-type]
