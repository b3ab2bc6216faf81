"""Transformers: explicit features whose products approximate a kernel."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from . import _parameters
from ._features_base import KernelFeatures
from ._hyperparameters import hyperparameters
from ._machine import KernelParameters, machine_property
from ._serialization import require


class _LandmarkFeatureMap(KernelFeatures, KernelParameters):
    """Base of the feature maps on landmarks."""

    rank_ = machine_property("map_width", "Columns that are not zero by construction.")

    def _width_on(self, n_rows: int) -> int:
        return min(int(self.n_components), n_rows)

    def _take(self, told: dict[str, Any]) -> None:
        self.component_indices_ = told["index"]


@hyperparameters
class Nystroem(_LandmarkFeatureMap):
    r"""Features on random landmarks, by the eigenvectors of their kernel matrix.

    ``z(x) = Λ^{-1/2} Qᵀ k_S(x)`` with ``K_SS = Q Λ Qᵀ``: products of features are the best
    approximation of the kernel that the span of the landmarks allows [1]_. A linear machine on
    them is a low-rank kernel machine.

    Parameters
    ----------
    n_components : int, default=100
        Columns that come out, >= 1: at most as many as there are samples, and a warning where
        that is fewer. Directions below `eigenvalue_threshold` are columns of zeros at the end.
    @kernels@
        "sigmoid" is not positive definite: its negative eigenvalues are left out.
    n_landmarks : int or None, default=None
        Rows drawn as landmarks, >= n_components; None: as many. More landmarks than components
        give better components, at the cost of more kernel values a row.
    eigenvalue_threshold : float or None, default=None
        Eigenvalues below this share of the largest are left out, in [0, 1). None: 1e-6 for
        float32 and 1e-12 for float64, where errors of the kernel values are not blown up.
    random_state : int, RandomState or None, default=None
        Seed of the landmarks.

    Attributes
    ----------
    components_ : ndarray of shape (n_landmarks, n_features)
        The landmarks.
    component_indices_ : ndarray of shape (n_landmarks,)
        Their rows in X.
    normalization_ : ndarray of shape (n_landmarks, rank)
        ``Q Λ^{-1/2}``.
    rank_ : int
        Columns that are not zero by construction.

    Notes
    -----
    Fitting costs O(m² d + m³) for m landmarks, a row O(m (d + n_components)). For the rbf
    kernel of few features it is far more accurate than `RandomFourier` at the same width;
    `IncompleteCholesky` chooses better landmarks at the price of a pass over the rows for
    each.

    References
    ----------
    .. [1] C. K. I. Williams, M. Seeger, "Using the Nyström method to speed up kernel machines",
       NIPS 2001.

    Examples
    --------
    >>> from budgetsvm import Nystroem
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y = load_iris(return_X_y=True)
    >>> machine = make_pipeline(Nystroem(n_components=40, random_state=0), RidgeClassifier())
    >>> machine.fit(X, y).score(X, y) > 0.95
    True
    """

    _family = "nystroem"
    # A file of a version that did not keep them has none.
    _archived: ClassVar[dict[str, str]] = {"component_indices_": "int64?"}

    def _check_archived(self) -> None:
        super()._check_archived()
        chosen = getattr(self, "component_indices_", None)
        fits = chosen is None or len(np.unique(chosen)) == len(chosen) == self.components_.shape[0]
        require(fits, "landmarks")

    n_landmarks: int | None = None
    eigenvalue_threshold: float | None = None
    random_state: Any = None


@hyperparameters
class IncompleteCholesky(_LandmarkFeatureMap):
    r"""Features on landmarks chosen greedily: pivoted incomplete Cholesky of the kernel matrix.

    ``K ≈ L Lᵀ``; every landmark is the row that those before it describe worst [1]_ [2]_. The
    features of the training rows are the rows of ``L``; of others, ``L_SS^{-1} k_S(x)``.

    Parameters
    ----------
    n_components : int, default=100
        Columns that come out, >= 1: the most pivots, and at most as many as there are samples,
        with a warning where that is fewer. Beyond the numerical rank they are zero.
    @kernels@
        It must be positive definite.
    tol : float, default=1e-6
        Pivots end when no diagonal entry of ``K - LLᵀ`` is larger than this share of the largest
        one of K, in [0, 1).

    Attributes
    ----------
    components_ : ndarray of shape (rank, n_features)
        The landmarks, in the order in which they were chosen.
    component_indices_ : ndarray of shape (rank,)
        Their rows in X.
    normalization_ : ndarray of shape (rank, rank)
        ``L_SS^{-T}``.
    rank_ : int
        Number of pivots.
    residual_ : float
        The largest diagonal entry of ``K - LLᵀ``, which bounds every entry of it.
    trace_residual_ : float
        The sum of that diagonal.

    Notes
    -----
    A landmark costs a kernel row of all samples, O(n (d + m)) at the m-th, and n m numbers of
    memory: the fewest components for a given error. `Nystroem` takes landmarks at random, at
    no such price.

    References
    ----------
    .. [1] S. Fine, K. Scheinberg, "Efficient SVM training using low-rank kernel representations",
       JMLR 2, 2001.
    .. [2] O. Chapelle, "Training a support vector machine in the primal", Neural Computation 19,
       2007 (section 6.1).

    Examples
    --------
    >>> import numpy as np
    >>> from budgetsvm import IncompleteCholesky
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> map = IncompleteCholesky(n_components=60, gamma=0.1, tol=1e-9).fit(X)
    >>> map.residual_ < 1e-8, map.rank_ <= 60
    (True, True)
    """

    _family = "cholesky"
    _archived: ClassVar[dict[str, str]] = {
        "component_indices_": "int64",
        "residual_": "number",
        "trace_residual_": "number",
    }

    _ranges: ClassVar[dict] = {"tol": partial(_parameters.number, least=0, below=1)}

    tol: float = 1e-6

    def _take(self, told: dict[str, Any]) -> None:
        super()._take(told)
        self.residual_, self.trace_residual_ = told["residual"], told["trace"]

    def _check_archived(self) -> None:
        super()._check_archived()
        pivots = self.component_indices_
        fits = len(np.unique(pivots)) == len(pivots) == self._machine.map_width
        require(fits and 0 <= self.residual_ <= self.trace_residual_, "pivots")


@hyperparameters
class RandomFourier(KernelFeatures):
    r"""Random Fourier features of the Gaussian, the Laplacian and the Matérn kernels.

    ``z_j(x) = √(2/D) cos(ν_j·x + ω_j)``, with frequencies from the kernel's spectrum: products of
    features are the kernel on average, with an error of about ``1/√D`` [1]_.

    Parameters
    ----------
    n_components : int, default=100
        Columns D that come out, >= 1.
    @kernels-of-a-distance@
    orthogonal : bool, default=False
        Whether frequencies are drawn orthogonal, as many at a time as there are features [2]_: a
        smaller error for the same D (not for "laplacian").
    waves : {"paired", "shifted"}, default="paired"
        A cosine and a sine a frequency (the last of an odd number is alone), or a cosine with a
        random phase.
    random_state : int, RandomState or None, default=None
        Seed of the frequencies and phases.

    Attributes
    ----------
    frequencies_ : ndarray of shape (n_frequencies, n_features)
        ν, float64.
    phases_ : ndarray of shape (n_shifted,)
        ω of the frequencies that have no sine, the last ones.

    Notes
    -----
    Of the rows no more is looked at than `gamma` asks for: fitting is free, a row costs O(d D)
    for D components. The error falls like 1/√D only, so thousands of components are usual;
    `Nystroem` needs fewer wherever the rows fill little of their space.

    References
    ----------
    .. [1] A. Rahimi, B. Recht, "Random features for large-scale kernel machines", NIPS 2008.
    .. [2] F. X. Yu, A. T. Suresh, K. Choromanski, D. Holtmann-Rice, S. Kumar, "Orthogonal random
       features", NIPS 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from budgetsvm import RandomFourier
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> Z = RandomFourier(n_components=2000, gamma=0.1, random_state=0).fit_transform(X)
    >>> Z.shape, bool(np.allclose((Z**2).sum(axis=1), 1))
    ((50, 2000), True)
    """

    _family = "fourier"
    orthogonal: bool = False
    waves: Literal["shifted", "paired"] = "paired"
    random_state: Any = None
