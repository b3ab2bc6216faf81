"""SemiparametricSVC and SemiparametricSVR: a kernel machine plus functions that the user knows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import _num_samples, check_is_fitted

from ._docs import documented
from ._exact import ExactEstimator
from ._exact_classes import SVC
from ._exact_classifier import ExactClassifier
from ._exact_values import ExactRegressor
from ._hyperparameters import hyperparameters
from ._stored import require

Functions = Callable[[Any], Any] | Sequence[Callable[[Any], Any]] | np.ndarray | None


#: Stands for a matrix of functions among what was fitted.
MATRIX = "matrix"


def _copied(functions: Functions) -> Functions:
    """Functions in a list of our own."""
    return list(functions) if isinstance(functions, (list, tuple)) else functions


@hyperparameters
class Semiparametric(ExactEstimator):
    r"""What both share; not for use on its own.

    Parameters
    ----------
    functions : callable, list of callables, array-like of shape (n_samples, n_functions) or None, \
    default=None
        The φ. A function gets the float64 rows (CSR if they are) and returns an array of shape
        (n_samples,) or (n_samples, n_functions). A matrix holds the values on the training rows;
        then `predict` wants those of the new rows.
    tol : float, default=1e-3
        The paper's ε_p: violation of the optimality conditions of the box, > 0.
    constraint_tol : float, default=1e-6
        The paper's ε_d: violation of a constraint, relative to the root mean square of its
        function (or to the largest value that C allows), > 0.
    update : {"augmented", "newton"}, default="augmented"
        "newton" is the paper's own update. It needs no more than one function, or functions far
        from collinear, to converge.
    working_set : int, default=512
        Variables whose kernel rows come as one block; inside it steps move one variable. 1 is the
        paper's; the answer is the same.
    record_history : bool, default=False
        Whether `history_` is kept, an entry a working set.

    Attributes
    ----------
    history_ : dict of ndarray
        "violation", "constraint", and "multiplier_0", ... (the offset first, then c), of the first
        pair of classes.
    """

    functions: Any = field(default=None, kw_only=False)
    working_set: int = 512
    record_history: bool = False

    _archived: ClassVar[dict[str, str]] = {
        "parametric_coef_": "array", "history_": "curves?", "_n_functions": "count",
    }  # fmt: skip

    def _evaluated(self, X: Any, given: Any, functions: Any) -> np.ndarray | None:
        """φ of rows, shape (n_samples, n_functions), finite; None without functions."""
        if functions is None:
            if given is not None:
                raise ValueError("functions are given, but the estimator has none")
            return None
        if callable(functions):
            values = functions(X)
        elif isinstance(functions, (list, tuple)) and all(callable(f) for f in functions):
            if not functions:
                return None
            X = X.astype(np.float64) if getattr(X, "dtype", None) == np.float32 else X
            values = np.column_stack([np.asarray(f(X), dtype=np.float64) for f in functions])
        elif given is None:
            raise ValueError(
                "functions is a matrix of the training rows: pass functions=, "
                "the matrix of the new rows"
            )
        else:
            values = given
        values = np.asarray(values, dtype=np.float64)
        values = values[:, None] if values.ndim == 1 else values
        values = check_array(values, dtype=np.float64, input_name="functions")
        if values.shape[0] != _num_samples(X):
            raise ValueError(
                f"functions have {values.shape[0]} rows, but X has {_num_samples(X)} samples"
            )
        return np.ascontiguousarray(values)

    def _is_matrix(self) -> bool:
        functions = self.functions
        if functions is None or callable(functions):
            return False
        listed = isinstance(functions, (list, tuple))
        return not (listed and all(callable(f) for f in functions))

    def _function_values(self, X: Any) -> np.ndarray | None:
        values = self._evaluated(X, self.functions if self._is_matrix() else None, self.functions)
        # What was fitted, whatever becomes of the hyperparameter.
        self._functions = MATRIX if self._is_matrix() else _copied(self.functions)
        self._n_functions = 0 if values is None else values.shape[1]
        return values

    def _take(self, machine: Any, report: dict) -> None:
        super()._take(machine, report)
        coef = self._sign() * report["parametric"].reshape(len(self.intercept_), self._n_functions)
        self.parametric_coef_ = coef if self._is_classifier() else coef[0]
        if self.record_history:
            steps = len(report["violation"])
            multipliers = report["multipliers"].reshape(steps, -1)
            self.history_ = {"violation": report["violation"], "constraint": report["constraint"]}
            for k in range(multipliers.shape[1]):
                self.history_[f"multiplier_{k}"] = np.ascontiguousarray(multipliers[:, k])
        elif hasattr(self, "history_"):
            del self.history_

    def _check_archived(self) -> None:
        super()._check_archived()
        shape: tuple[int, ...] = (self._n_functions,)
        if self._is_classifier():
            shape = (len(self.intercept_), *shape)
        require(self.parametric_coef_.shape == shape, "parametric_coef_")

    def _outputs(self, X: Any, given: Any) -> np.ndarray:
        """Values of the pairs (the outputs), with the parametric part."""
        check_is_fitted(self)
        values = self._decide(X)
        checked = X if callable(self.kernel) else self._validate_for_predict(X)
        # A loaded model has no functions but a matrix.
        fitted = getattr(self, "_functions", MATRIX if self._n_functions else None)
        phi = self._evaluated(checked, given, fitted)
        if phi is None:
            return values
        if phi.shape[1] != self._n_functions:
            raise ValueError(
                f"functions have {phi.shape[1]} columns, but {self._n_functions} were fitted"
            )
        return values + phi @ (self._sign() * np.atleast_2d(self.parametric_coef_)).T


@hyperparameters
class SemiparametricSVR(Semiparametric, ExactRegressor):
    r"""Semi-parametric ε support vector regression.

    Fits ``f(x) = Σ_i β_i k(x_i, x) + Σ_j c_j φ_j(x) (+ b)``, the parameters c unpenalised beside
    the kernel machine: what is known of the target goes into the functions φ, and the kernel
    learns the rest. Each function is one more equality constraint of the dual problem, and its
    parameter that constraint's multiplier; the minimal primal-dual method solves it [1]_, by an
    augmented Lagrangian unless ``update="newton"``. `n_iter_` counts steps of one variable.

    Attributes
    ----------
    parametric_coef_ : ndarray of shape (n_functions,)
        The parameters c.

    References
    ----------
    .. [1] W. Kienzle, B. Schölkopf, "Training support vector machines with multiple equality
       constraints", ECML 2005.
    .. [2] A. J. Smola, T. Friess, B. Schölkopf, "Semiparametric support vector and linear
       programming machines", NIPS 1998.

    Examples
    --------
    >>> import numpy as np
    >>> from budgetsvm import SemiparametricSVR
    >>> X = np.linspace(0, 10, 200)[:, None]
    >>> y = 3 * np.sin(X[:, 0]) + np.sinc(2 * (X[:, 0] - 5))
    >>> model = SemiparametricSVR(lambda X: np.sin(X[:, 0]), C=1, epsilon=0.01).fit(X, y)
    >>> bool(abs(model.parametric_coef_[0] - 3) < 0.3)
    True
    """

    _impl = "epsilon_svr"
    epsilon: float = 0.1

    @documented
    def predict(self, X: Any, functions: Any = None) -> np.ndarray:
        """The value of each row.

        @rows-or-values@
        @functions@

        @values@

        @unless-fitted@
        """
        return self._outputs(X, functions)[:, 0]


@hyperparameters
class SemiparametricSVC(Semiparametric, ExactClassifier):
    r"""Semi-parametric support vector classification, several classes one against one.

    Decides by ``f(x) = Σ_i β_i k(x_i, x) + Σ_j c_j φ_j(x) (+ b)``, the parameters c unpenalised;
    see `SemiparametricSVR`.

    Attributes
    ----------
    parametric_coef_ : ndarray of shape (n_pairs, n_functions)
        The parameters c: for two classes one row, positive for ``classes_[1]``; else one a pair.

    Examples
    --------
    >>> import numpy as np
    >>> from budgetsvm import SemiparametricSVC
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SemiparametricSVC(lambda X: X, gamma=1.0).fit(X, y)
    >>> model.score(X, y) > 0.97, model.parametric_coef_.shape
    (True, (3, 4))
    """

    _impl = "c_svc"
    C: float = 1.0

    _bounds = SVC._bounds

    @documented
    def decision_function(self, X: Any, functions: Any = None) -> np.ndarray:
        """Decision values.

        @rows-or-values@
        @functions@

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_pairs)
            As `SVC.decision_function`.

        @unless-fitted@
        """
        return self._shaped(self._outputs(X, functions))

    @documented
    def predict(self, X: Any, functions: Any = None) -> np.ndarray:
        """The class of each row, by the votes of all pairs of classes.

        @rows-or-values@
        @functions@

        @labels@

        @unless-fitted@
        """
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        return self._voted(self._outputs(X, functions))
