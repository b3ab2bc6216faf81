"""Online learners that learn from mistakes: perceptrons, with and without a budget."""

from __future__ import annotations

from typing import ClassVar

from ._hyperparameters import hyperparameters
from ._online import BudgetedLearner, StreamLearner, WindowLearner


@hyperparameters
class KernelPerceptron(StreamLearner):
    r"""Kernel perceptron: every mistake becomes a term [1]_.

    The model grows with the mistakes, without bound. With `average` it is the averaged perceptron.

    References
    ----------
    .. [1] Y. Freund, R. E. Schapire, "Large margin classification using the perceptron algorithm",
       Machine Learning 37, 1999.

    Examples
    --------
    >>> from budgetsvm import KernelPerceptron
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> clf = KernelPerceptron(gamma=2, average=True, random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.98
    True
    """

    _own: ClassVar[dict] = {"learner": "perceptron"}


@hyperparameters
class RandomizedBudgetPerceptron(WindowLearner):
    r"""Kernel perceptron on a budget: a new term takes the place of a random one [1]_.

    A mistake becomes a term with coefficient ±1; when `budget` terms are held, in the place of one
    of them drawn uniformly.

    References
    ----------
    .. [1] G. Cavallanti, N. Cesa-Bianchi, C. Gentile, "Tracking the best hyperplane with a simple
       budget perceptron", Machine Learning 69, 2007.

    Examples
    --------
    >>> from budgetsvm import RandomizedBudgetPerceptron
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> clf = RandomizedBudgetPerceptron(budget=30, gamma=2, average=True, random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.9
    True
    """

    _own: ClassVar[dict] = {"learner": "rbp"}


@hyperparameters
class Stoptron(BudgetedLearner):
    r"""Kernel perceptron that stops learning when its budget is full [1]_.

    The baseline of the learners on a budget: the first `budget` mistakes are the model.

    References
    ----------
    .. [1] F. Orabona, J. Keshet, B. Caputo, "Bounded kernel-based online learning", JMLR 10, 2009
       (Section 6).

    Examples
    --------
    >>> from budgetsvm import Stoptron
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> clf = Stoptron(budget=30, gamma=2, average=True, random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.9
    True
    """

    _own: ClassVar[dict] = {"learner": "stoptron"}


@hyperparameters
class Forgetron(WindowLearner):
    r"""Kernel perceptron on a budget that forgets its oldest term gently [1]_.

    A mistake becomes a term; over budget all coefficients shrink by a factor φ <= 1 and the oldest
    term goes. φ is the largest that keeps the bound on the number of mistakes: the self-tuned
    variant. Only for kernels with ``k(x, x) = 1``: those of a distance.

    References
    ----------
    .. [1] O. Dekel, S. Shalev-Shwartz, Y. Singer, "The Forgetron: a kernel-based perceptron on a
       budget", SIAM Journal on Computing 37, 2008 (Section 5).

    Examples
    --------
    >>> from budgetsvm import Forgetron
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> clf = Forgetron(budget=30, gamma=2, average=True, random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.8
    True
    """

    _own: ClassVar[dict] = {"learner": "forgetron"}


@hyperparameters
class Projectron(BudgetedLearner):
    r"""Kernel perceptron that projects mistakes onto its terms when they are near [1]_.

    A mistake becomes a term only if the terms do not express it well, and while there are fewer
    than `budget`; any other is projected onto the terms: the coefficients change, the terms stay.
    The projection costs O(budget²), by a Cholesky factor of the terms' kernel matrix that grows
    with them; samples too near their span for the arithmetic are projected whatever the threshold.

    Parameters
    ----------
    threshold : float, default=0.1
        η >= 0: a mistake whose distance to the span of the terms in feature space is at most this
        is projected onto them.

    References
    ----------
    .. [1] F. Orabona, J. Keshet, B. Caputo, "Bounded kernel-based online learning", JMLR 10, 2009
       (Algorithm 1).

    Examples
    --------
    >>> from budgetsvm import Projectron
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> clf = Projectron(budget=30, gamma=2, average=True, random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.9
    True
    """

    _own: ClassVar[dict] = {"learner": "projectron", "plus_plus": False}

    threshold: float = 0.1


@hyperparameters
class ProjectronPlusPlus(Projectron):
    r"""Projectron that also learns from samples within the margin [1]_.

    As `Projectron`; a sample on the right side but within the margin changes the coefficients too,
    when its loss is worth more than what the projection loses. It never becomes a term.

    References
    ----------
    .. [1] F. Orabona, J. Keshet, B. Caputo, "Bounded kernel-based online learning", JMLR 10, 2009
       (Algorithm 2).

    Examples
    --------
    >>> from budgetsvm import ProjectronPlusPlus
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> clf = ProjectronPlusPlus(budget=30, gamma=2, average=True, random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.9
    True
    """

    _own: ClassVar[dict] = {"learner": "projectron", "plus_plus": True}
