"""Online learners that learn from losses: gradient descent and passive-aggressive steps."""

from __future__ import annotations

from typing import ClassVar, Literal

from ._hyperparameters import hyperparameters
from ._online import BudgetedLearner, GradientLearner, WindowLearner


@hyperparameters
class KernelOGD(GradientLearner):
    r"""Online gradient descent on the regularised hinge loss, with a kernel (NORMA) [1]_.

    Every sample within the margin becomes a term; coefficients decay. The model grows without
    bound.

    Parameters
    ----------
    regularization : float, default=1e-4
        λ >= 0, below ``1 / learning_rate``: every step multiplies the coefficients by
        ``1 - learning_rate * regularization``.

    References
    ----------
    .. [1] J. Kivinen, A. J. Smola, R. C. Williamson, "Online learning with kernels", IEEE
       Transactions on Signal Processing 52, 2004 (equation 10).

    Examples
    --------
    >>> from budgetsvm import KernelOGD
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> clf = KernelOGD(gamma=2, average=True, random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.98
    True
    """

    _own: ClassVar[dict] = {"learner": "ogd"}

    regularization: float = 1e-4


@hyperparameters
class BudgetOGD(WindowLearner, KernelOGD):
    r"""Online gradient descent on a budget by random removal that keeps the mean [1]_.

    As `KernelOGD`; when `budget` terms are held, one drawn at random goes and the others grow so
    that the expected model is the one before. No coefficient exceeds ``learning_rate * max_coef``.

    Parameters
    ----------
    max_coef : float, default=10.0
        γ_max > 0, the bound of the coefficients in units of `learning_rate`.
    sampling : {"uniform", "weighted"}, default="weighted"
        Whether all terms are as likely to go, or those of small norm more: the probabilities of
        least variance.

    References
    ----------
    .. [1] P. Zhao, J. Wang, P. Wu, R. Jin, S. C. H. Hoi, "Fast bounded online gradient descent
       algorithms for scalable kernel-based online learning", ICML 2012.

    Examples
    --------
    >>> from budgetsvm import BudgetOGD
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> clf = BudgetOGD(budget=30, gamma=2, average=True, random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.8
    True
    """

    _own: ClassVar[dict] = {"learner": "bogd"}

    max_coef: float = 10.0
    sampling: Literal["uniform", "weighted"] = "weighted"


@hyperparameters
class BudgetPassiveAggressive(WindowLearner):
    r"""Passive-aggressive learning on a budget, the simple variant (BPA-S) [1]_.

    A sample with a loss becomes a term with the least change of the model that undoes the loss, at
    most `C`. When `budget` terms are held, it replaces the one that it expresses best, and takes
    over that one's coefficient as far as it can. O(budget) a step.

    Parameters
    ----------
    C : float, default=1.0
        The longest step, > 0.

    References
    ----------
    .. [1] Z. Wang, S. Vucetic, "Online passive-aggressive algorithms on a budget", AISTATS 2010.

    Examples
    --------
    >>> from budgetsvm import BudgetPassiveAggressive
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> clf = BudgetPassiveAggressive(budget=30, gamma=2, average=True, random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.9
    True
    """

    _own: ClassVar[dict] = {"learner": "bpas"}

    C: float = 1.0


@hyperparameters
class SparsePassiveAggressive(BudgetedLearner, GradientLearner):
    r"""Passive-aggressive learning from a random part of the samples [1]_.

    A sample with loss ℓ is learnt from with probability ``min(a, ℓ) / b``, with a step that makes
    up for it; at `budget` terms learning stops. With a and b = `sampling_numerator` and
    `sampling_denominator` at most ``a T / b`` terms are expected after T samples.

    Parameters
    ----------
    sampling_numerator : float, default=1.0
        a, in (0, `sampling_denominator`].
    sampling_denominator : float, default=5.0
        b > 0: the larger, the fewer samples become terms.
    average : bool, default=True
        Whether to predict with the mean of the models after each step rather than with the last
        one, which swings.

    References
    ----------
    .. [1] J. Lu, D. Sahoo, P. Zhao, S. C. H. Hoi, "Sparse passive-aggressive learning for bounded
       online kernel methods", ACM TIST 9, 2018.

    Examples
    --------
    >>> from budgetsvm import SparsePassiveAggressive
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> clf = SparsePassiveAggressive(budget=100, gamma=2, average=True, random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.9
    True
    """

    _own: ClassVar[dict] = {"learner": "spa"}

    sampling_numerator: float = 1.0
    sampling_denominator: float = 5.0
    average: bool = True
