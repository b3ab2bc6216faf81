"""Online gradient descent on features: random waves, and the span of the first terms."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from . import _parameters
from ._hyperparameters import hyperparameters
from ._machine import machine_property
from ._online import BudgetedLearner, GradientLearner


@hyperparameters
class FourierOGD(GradientLearner):
    r"""Online gradient descent on random Fourier features [1]_.

    A linear model on ``2 * n_frequencies`` features whose products approximate the kernel, one of a
    distance (those of `RandomFourier`); a sample within the margin moves it.
    There are no terms: `coef_` and `frequencies_` are the model, the attributes of terms are
    empty. `degree` and `coef0` play no part.

    Parameters
    ----------
    n_frequencies : int, default=500
        Random frequencies, >= 1; each gives two features, a cosine and a sine.

    References
    ----------
    .. [1] J. Lu, S. C. H. Hoi, J. Wang, P. Zhao, Z.-Y. Liu, "Large scale online kernel learning",
       JMLR 17, 2016 (Algorithm 1).

    Examples
    --------
    >>> from budgetsvm import FourierOGD
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> clf = FourierOGD(gamma=2, average=True, random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.95
    True
    """

    _own: ClassVar[dict] = {"learner": "fogd"}

    n_frequencies: int = 500

    coef_ = machine_property(
        "coef", "Coefficients of the features, shape (n_outputs, 2 * n_frequencies)."
    )

    @property
    def frequencies_(self) -> np.ndarray:
        """Frequencies, shape (n_frequencies, n_features)."""
        return self._learnt("_machine").map_part("frequencies")


@hyperparameters
class NystroemOGD(BudgetedLearner, GradientLearner):
    r"""Online gradient descent on the Nyström features of the first terms [1]_.

    Online gradient descent with a kernel until `budget` samples with a loss are terms; from then
    on the terms stay, and gradient descent goes on over the features that they span.

    Parameters
    ----------
    n_components : int or None, default=None
        Features: eigenvalues of the terms' kernel matrix that count, at least 1. None: all that
        are no rounding error.

    References
    ----------
    .. [1] J. Lu, S. C. H. Hoi, J. Wang, P. Zhao, Z.-Y. Liu, "Large scale online kernel learning",
       JMLR 17, 2016 (Algorithm 2).

    Examples
    --------
    >>> from budgetsvm import NystroemOGD
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> clf = NystroemOGD(budget=30, gamma=2, average=True, random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.9
    True
    """

    _own: ClassVar[dict] = {"learner": "nogd"}
    _ranges: ClassVar[dict] = {"n_components": _parameters.optional(_parameters.count)}

    n_components: int | None = None
