"""Shapley values of kernel machines, exactly: what each feature adds to a decision value.

A product kernel, ``k(x, s) = Π_k κ(x_k, s_k)``, is a game whose Shapley values need no sampling:
the value of a set of features is the machine with the factors of the others left out,

    v(S) = Σ_j β_j Π_{k in S} κ(x_k, s_jk) + b,

so that ``v`` of no feature is ``Σ_j β_j + b`` and of all the decision value. The kernels "rbf" and
"laplacian" are such products.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.validation import check_is_fitted

from . import _model_ir

__all__ = ["shapley_values", "to_shapiq"]

#: What works instead.
_ELSE = "explainers that ask for predictions alone (shapiq's TabularExplainer) take any estimator"
#: Numbers of one array on the way.
TOGETHER = 1 << 21


def shapley_values(estimator: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Shapley values of the features for the decision values of rows, exact to rounding.

    The weights of the sets of features are an integral over t in [0, 1] of ``Π ((1 - t) + t κ)``
    over the other features, a polynomial, and Gauss and Legendre's rule of d/2 nodes is exact for
    it: B d²/2 factors a row, for B terms and d features.

    Parameters
    ----------
    estimator : estimator
        Fitted, a sum of kernel values with ``kernel="rbf"`` or "laplacian"; with or without
        `feature_scales`.
    X : array-like or CSR matrix of shape (n_samples, n_features)
        Rows, finite.

    Returns
    -------
    values : ndarray of shape (n_samples, n_features) or (n_samples, n_features, n_outputs)
        What each feature adds; outputs are those of the machine: of an exact classifier of several
        classes the pairs (0, 1), (0, 2), ..., (1, 2), ...
    base : ndarray of shape () or (n_outputs,)
        The value of no feature: with it, values of a row sum to the decision value.

    Raises
    ------
    NotFittedError
        Before `fit`.
    ValueError
        If the machine is no sum of values of a product kernel, or for rows that `predict` refuses.

    References
    ----------
    .. [1] M. Mohammadi, S. L. Chau, K. Muandet, "Computing exact Shapley values in polynomial time
       for product-kernel methods", 2025.

    Examples
    --------
    >>> import numpy as np
    >>> from budgetsvm import SVR
    >>> from budgetsvm.explain import shapley_values
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> model = SVR(C=10).fit(X, X[:, 0] + X[:, 1] ** 2)
    >>> values, base = shapley_values(model, X)
    >>> bool(np.allclose(values.sum(axis=1) + base, model.predict(X)))
    True
    """
    expansions, scales = _product_kernels(estimator)
    checked = estimator._new_rows(X)
    rows = checked.toarray() if hasattr(checked, "toarray") else np.asarray(checked)
    rows = rows.astype(np.float64) * scales
    found = [_of_expansion(part, rows) for part in expansions]
    values = np.concatenate([values for values, _ in found], axis=2)
    base = np.concatenate([base for _, base in found])
    return (values[:, :, 0], base[0]) if values.shape[2] == 1 else (values, base)


def to_shapiq(estimator: Any, output: int = 0) -> Any:
    """The machine as shapiq's `ProductKernelModel`, for its `ProductKernelExplainer` and plots.

    Parameters
    ----------
    estimator : estimator
        Fitted, a sum of kernel values with ``kernel="rbf"`` and without `feature_scales`.
    output : int, default=0
        Which output, of several.

    Returns
    -------
    ProductKernelModel
        Its game is that of `shapley_values`.

    Raises
    ------
    ImportError
        Where shapiq is not installed.
    NotFittedError
        Before `fit`.
    ValueError
        If the machine is no such sum, or has no such output.
    """
    expansions, scales = _product_kernels(estimator)
    if expansions[0].kernel["name"] != "rbf":
        raise ValueError('shapiq knows kernel="rbf" alone: shapley_values takes "laplacian" too')
    if np.any(scales != 1.0):
        raise ValueError(
            "shapiq has one width for all features: take shapley_values, or fit a machine of "
            "X * feature_scales"
        )
    columns = [(part, at) for part in expansions for at in range(part.coef.shape[1])]
    if not 0 <= output < len(columns):
        raise ValueError(f"output must be in [0, {len(columns) - 1}], got {output}")
    part, at = columns[output]
    points = part.dense() + part.origin
    try:
        from shapiq.explainer.product_kernel import ProductKernelModel
    except ImportError as error:
        raise ImportError("to_shapiq needs shapiq: pip install budgetsvm[shapiq]") from error

    class KernelMachine(ProductKernelModel):
        """With `predict`: its explainer refuses models that have none."""

        def predict(self, X: Any) -> np.ndarray:
            """Decision values."""
            return rbf_kernel(X, self.X_train, gamma=self.gamma) @ self.alpha + self.intercept

    return KernelMachine(
        X_train=points, alpha=np.ascontiguousarray(part.coef[:, at]), n=len(points),
        d=points.shape[1], gamma=part.kernel["gamma"], kernel_type="rbf",
        intercept=float(part.intercept[at]),
    )  # fmt: skip


def _product_kernels(estimator: Any) -> tuple[list[_model_ir.KernelExpansion], np.ndarray]:
    """The sums of kernel values that the machine consists of, and the factors of its features."""
    check_is_fitted(estimator)
    if getattr(estimator, "_n_functions", 0) or not hasattr(estimator, "_slopes"):
        raise ValueError(f"{_told(estimator)}; {_ELSE}")
    try:
        model: Any = _model_ir.read_model_ir(estimator._machine)
    except ValueError as error:
        raise ValueError(f"{type(estimator).__name__}: {error}") from None
    scales = np.ones(estimator.n_features_in_)
    if isinstance(model, _model_ir.ScaledModel):
        model, scales = model.model, model.scales
    if isinstance(model, _model_ir.OneVsOneExpansion):
        model = model.expansion()
    found = model.outputs if isinstance(model, _model_ir.PerOutputModel) else [model]
    parts = [part for part in found if isinstance(part, _model_ir.KernelExpansion)]
    if len(parts) < len(found):
        raise ValueError(f"{_told(estimator)}, not of {model.kind}; {_ELSE}")
    name = parts[0].kernel["name"]
    if name not in ("rbf", "laplacian"):
        raise ValueError(
            f'{type(estimator).__name__}: kernel="{name}" is no product over the features: take '
            f'"rbf" or "laplacian"'
        )
    return parts, scales


def _told(estimator: Any) -> str:
    kind = type(estimator).__name__
    return f"{kind}: Shapley values are of sums of kernel values alone"


def _of_expansion(
    part: _model_ir.KernelExpansion, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    points, rows = part.dense(), rows - part.origin
    gamma, squared = part.kernel["gamma"], part.kernel["name"] == "rbf"
    (n, d), terms = rows.shape, len(points)
    nodes, weights = np.polynomial.legendre.leggauss((d + 1) // 2)
    nodes, weights = (nodes + 1) / 2, weights / 2
    out = np.empty((n, d, part.coef.shape[1]))
    step = max(1, TOGETHER // max(1, terms * d))
    for first in range(0, n, step):
        apart = np.abs(rows[first : first + step, None] - points)
        less = np.expm1(-gamma * (apart * apart if squared else apart))  # κ - 1
        shares = np.zeros_like(less)
        for t, weight in zip(nodes, weights, strict=True):
            factors = 1 + t * less
            # No factor is 0, for t is less than 1.
            shares += weight * np.prod(factors, axis=2, keepdims=True) / factors
        out[first : first + step] = np.einsum("ijk,jc->ikc", shares * less, part.coef)
    return out, part.coef.sum(axis=0) + part.intercept
