"""BudgetSVC: kernel classification with a model of a given size."""

from __future__ import annotations

from typing import Any, Self

from . import _names
from ._base import BudgetMachineEstimator
from ._docs import documented
from ._hyperparameters import hyperparameters
from ._multilabel import MultiLabelClassifier


@hyperparameters
class BudgetSVC(MultiLabelClassifier, BudgetMachineEstimator):
    r"""Kernel support vector classification with at most `budget` support vectors.

    Minimises ``1/2 ‖w‖² + Σ C_i L(y_i, f(x_i))`` over machines
    ``f(x) = Σ_{j <= budget} coef_j k(s_j, x)`` by dual coordinate ascent [1]_ or stochastic
    gradient descent [2]_: whenever a step adds a term too many, terms are merged. The coefficients
    of the support vectors so found are then solved for (polishing). Problems of no more samples
    than `budget` are solved to 1e-10. Several classes are trained one against the rest, on shared
    support vectors; labels that do not exclude each other (y of shape (n_samples, n_labels), 0 and
    1) are an output each on shared support vectors, and predicted as such columns.

    Parameters
    ----------
    @class-losses@
        A squared one needs solver "bsca". Before polishing, the passes of "log_loss" are those of
        "hinge", which find as good a basis or a better one; `partial_fit` and fits without
        polishing take its own steps.
    smoothing : float, default=0.3
        Half-width h > 0 of the rounded corners of the loss that polishing minimises.
    shared : bool, default=True
        Whether several classes share the support vectors. If not, every class has a machine of
        `budget` terms of its own.

    Examples
    --------
    >>> from budgetsvm import BudgetSVC
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> clf = BudgetSVC(budget=30, C=10, gamma=2, random_state=0).fit(X, y)
    >>> clf.n_terms_ <= 30, clf.score(X, y) > 0.98
    (True, True)
    """

    _family = "budget_svc"

    loss: _names.ClassLoss = "hinge"
    smoothing: float = 0.3
    shared: bool = True
    class_weight: _names.ClassWeight = None

    @documented
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None,
        checkpoint: Any = None, every: float = 60,
    ) -> Self:  # fmt: skip
        """Go on training with new rows, or begin with them; no row is kept.

        The recursive polish: a quadratic summary of the losses of all rows so far, `n_terms_`²
        numbers an output, stands for them when the coefficients are solved for with the next rows.
        So each call leaves a model about as good as one fitted to all rows so far, in any order of
        the rows; see `forgetting` for data that drift. Rows are learnt in blocks of fixed lengths
        (512 to 4,096, by the budget), where the points move too; the block begun is kept with the
        model, which is a function of all rows, however they are cut into calls (with `gamma` a
        number). `fit` and `polish` leave a summary of their rows to go on from (`resumable`). After
        one that left none, and from a file saved with ``resume=False``, the terms stand for the
        rows that were seen: they say less about how much new rows should count.

        Without polishing or a budget rows are learnt by one plain step each: that of "bsca" moves
        the value of a row that violates the margin all the way to it, as far as C allows, and on
        noisy data the score then swings with the last rows.

        @new-rows@
        @classes@
        @weights@
        @checkpoint@

        @trained-on@
        """
        return self._partial_fit(X, y, classes, sample_weight, (checkpoint, every))
