"""LocalBudgetSVC: a partition of space, and a small machine in every cell."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import MiniBatchKMeans

from . import _core, _names, _parameters, _validation
from ._available import available_if
from ._docs import documented
from ._hyperparameters import hyperparameters
from ._machine import machine_property
from ._online import OnlineLearner


def _is_online(estimator: Any) -> bool:
    budgeted = estimator.local == "auto" and estimator.budget is not None
    if (estimator.local == "online" or budgeted) and estimator.assign == "lvq":
        return True
    raise AttributeError(
        "partial_fit needs local='online' or a budget, and assign='lvq': the alternatives see all "
        "rows"
    )


@hyperparameters
class LocalBudgetSVC(OnlineLearner):
    r"""Divide and conquer: kernel classification with a machine in each of many cells.

    The first `n_clusters` samples become centres; every later sample goes to the centre nearest by
    Euclidean distance, which follows it [1]_. Each cell then has a machine of its own, by default
    an exact one of the rows that lie in it and in its neighbours: nearly what `SVC` decides with
    the same C and γ, in time that grows with the number of rows and not with its square. A
    prediction looks for the nearest centre and evaluates one cell.

    With a `budget` it is the machine of [1]_: each sample updates the support vectors of its cell,
    at most `budget` of them, once, as it comes. Several classes are then trained one against the
    rest, on rows that they share.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Cells, >= 1. Boundaries are the finer, and samples in a cell the fewer, the more there are.
        None: where cells are exact, one for 1,000 rows of two classes, for 500 rows a class of up
        to ten, but where that is less than 100 one alone (and with it `SVC`); else 16.
    budget : int or None, default=None
        The most support vectors of a cell, >= 1. None: no bound where cells are exact, else 100.
    C : float, default=1.0
        Bound of a weight, > 0.
    center_step : float, default=0.01
        The share of the way that a centre moves towards a sample assigned to it, in [0, 1].
    overlap : int or None, default=None
        Cells that learn from a sample, those of the nearest centres, >= 1; [1]_ has 1. None: where
        cells are exact 5, but 2 from 100 cells on; else 1. With more, a cell knows what lies just
        beyond its boundary, training costs more, and a prediction about the same. With a budget it
        is worth it where there are few samples in a cell and `budget` holds them, about
        n_samples * overlap / n_clusters: a cell that gets more samples than its budget is pruned
        time and again, which costs far more, and accuracy too.
    n_components : int or None, default=None
        Directions that rows are projected on before they are divided, >= 1: those in which they are
        longest. From as many as features on, rows are taken as they are. None: where cells are
        exact and the kernel is "rbf", 20,000 dense rows of 128 features or more are projected on as
        few directions as change the exponent of a kernel value by 0.15 in the mean, unless that is
        more than a quarter of the features (or 256); other rows are taken as they are. Only for
        cells that see all rows, which those of "online" do not.
    pruning : {"all", "step", "margin", "weight"}, default="all"
        What happens to a cell that is too large ([1]_, Algorithm 2): a coordinate step on every
        stored sample ("step"), dropping the worst of those on the wrong side ("margin"), both
        ("all") or neither ("weight"), before the largest weights are kept.
    local : {"auto", "exact", "online", "bsca"}, default="auto"
        The machine of a cell: that of `SVC` (to its tolerance; of several classes the mean of the
        pairs decides), the update of [1]_, or the passes, merging and polishing of `BudgetSVC`.
        "auto" is "exact" without a budget and "online" with one. Only "online" has `partial_fit`:
        the others need all rows.
    assign : {"lvq", "kmeans"}, default="lvq"
        How `fit` finds the centres: online, or by scikit-learn's `MiniBatchKMeans`, after which
        they stand still.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_cells, n_features)
        Centres of the cells; fewer than `n_clusters` where the stream was shorter.
    n_components_ : int
        Directions that rows are projected on; `n_features_in_` where they are taken as they are.
    n_support_ : ndarray of shape (n_cells,)
        Support vectors of each cell.
    history_ : dict of ndarray
        Curves of the last training call, an entry a pass: "time" (seconds), "n_sv" and others.

    Notes
    -----
    Finding a cell costs O(`n_clusters` · d) a row; the machine of a cell costs what one of
    its rows alone costs, and cells are trained side by side. A prediction evaluates one cell.
    Worth it where there are many rows and the boundary is fine: below 100,000 rows of two
    classes the default is one cell, which is `SVC`, and where a smooth boundary suffices
    `BudgetSVC` makes the smaller model.

    References
    ----------
    .. [1] D. Picard, "Very fast kernel SVM under budget constraints", 2018 (Algorithms 1 to 3).

    Examples
    --------
    >>> from budgetsvm import LocalBudgetSVC
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(4000, noise=0.1, random_state=0)
    >>> clf = LocalBudgetSVC(n_clusters=16, budget=30, C=10, gamma=5, random_state=0).fit(X, y)
    >>> bool(clf.n_support_.max() <= 30), clf.score(X, y) > 0.98
    (True, True)
    """

    _page: ClassVar[str] = "budget"

    _ranges: ClassVar[dict] = {
        "n_clusters": _parameters.optional(_parameters.count),
        "budget": _parameters.optional(_parameters.count),
        "overlap": _parameters.optional(_parameters.count),
        "n_components": _parameters.optional(_parameters.count),
    }
    _kinds = ("cells",)
    _states = ("local", "none")
    _family = "local"

    n_clusters: int | None = field(default=None, kw_only=False)
    budget: int | None = field(default=None, kw_only=False)
    C: float = field(default=1.0, kw_only=False)
    center_step: float = 0.01
    overlap: int | None = None
    n_components: int | None = None
    pruning: Literal["all", "step", "margin", "weight"] = "all"
    local: Literal["auto", "exact", "online", "bsca"] = "auto"
    assign: Literal["lvq", "kmeans"] = "lvq"
    class_weight: _names.ClassWeight = None

    @available_if(_is_online)
    @documented
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, checkpoint: Any = None,
        every: float = 60,
    ) -> Self:  # fmt: skip
        """Learn from new rows in the order in which they stand.

        However a stream is cut into parts, the model is the same. Only with ``local="online"`` (or
        "auto" and a `budget`) and ``assign="lvq"``: the alternatives need all rows.

        @new-rows@
        @classes@
        @checkpoint@

        @trained-on@
        """
        return super().partial_fit(X, y, classes, checkpoint, every)

    n_components_ = machine_property("cell_width", "Directions that rows are projected on.")
    cluster_centers_ = machine_property(
        "centers", "Centres of the cells, shape (n_cells, n_features)."
    )

    @property
    def n_support_(self) -> np.ndarray:
        """Support vectors of each cell, shape (n_cells,)."""
        return self._learnt("_machine").sizes.astype(np.intp)

    # What a machine of many cells does not have as one array.
    support_vectors_ = dual_coef_ = intercept_ = n_terms_ = property(
        lambda _: None, doc="None: each cell has its own."
    )

    def _train(
        self, X: Any, index: np.ndarray, machine: Any, stream: bool, watcher: Any, **own: Any
    ) -> None:
        rows, weights = _validation.as_rows(X), np.ones(X.shape[0])
        gamma = self._settle_gamma(rows, X.shape[1], weights, machine)
        settled = {"gamma": gamma, "random_state": self._seed()}
        cost = self._cost(index, weights, balance=not stream)
        centers = None
        if self.assign == "kmeans":
            config, size = _parameters.config(self, **settled), (X.shape[0], len(self.classes_))
            n_clusters = min(_core.local_clusters(config, *size), X.shape[0])
            # Fewer centres than asked for where there are fewer rows: none is learnt on the way.
            settled["n_clusters"] = n_clusters
            means = MiniBatchKMeans(n_clusters, random_state=settled["random_state"], n_init=1)
            with np.errstate(over="ignore", invalid="ignore"):
                centers = means.fit(_short_indices(X)).cluster_centers_
            centers = np.ascontiguousarray(centers, dtype=X.dtype)
            if not np.all(np.isfinite(centers)):
                raise ValueError("X leads out of the range of floating point numbers: scale it")
        trained, report = _core.train(
            "local", _parameters.config(self, **settled), rows, index, len(self.classes_), cost,
            centers=centers, start=machine, stream=stream, notify=watcher.notify,
            threads=self._threads(),
        )  # fmt: skip
        self._take(trained, report, watcher)


def _short_indices(X: Any) -> Any:
    """CSR rows with the 32-bit indices that scikit-learn's k-means wants, where they fit."""
    if isinstance(X, np.ndarray) or X.nnz >= 2**31 or X.shape[1] >= 2**31:
        return X
    indices, indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return sp.csr_matrix((X.data, indices, indptr), shape=X.shape)
