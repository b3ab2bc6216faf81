"""What the semi-parametric machines share: a kernel machine plus functions that the user knows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import _num_samples, check_is_fitted

from ._exact import ExactEstimator
from ._hyperparameters import hyperparameters
from ._serialization import require
from ._validation import check_array

Functions = Callable[[Any], Any] | Sequence[Callable[[Any], Any]] | np.ndarray | None


#: Stands for a matrix of functions among what was fitted.
MATRIX = "matrix"


def _copied(functions: Functions) -> Functions:
    """Functions in a list of our own."""
    return list(functions) if isinstance(functions, (list, tuple)) else functions


@hyperparameters
class SemiparametricEstimator(ExactEstimator):
    r"""Base of the semi-parametric machines; not for use on its own.

    Parameters
    ----------
    functions : callable, list of callables, array-like of shape (n_samples, n_functions) or None, \
    default=None
        The φ. A function gets the float64 rows (CSR if they are) and returns an array of shape
        (n_samples,) or (n_samples, n_functions). A matrix holds the values on the training rows;
        then `predict` wants those of the new rows. The ν-machines refuse functions of which a
        combination parts the classes (or, for one class, is of one sign) by itself.
    tol : float, default=1e-3
        The paper's ε_p: violation of the optimality conditions of the box, > 0.
    working_set : int, default=512
        Variables whose kernel rows come as one block; inside it steps move one variable. 1 is the
        paper's; then small problems are not solved on beyond `tol`.
    record_history : bool, default=False
        Whether `history_` is kept, an entry a working set.

    Attributes
    ----------
    history_ : dict of ndarray
        "violation", "constraint", and "multiplier_0", ... (the offset first, then c), of the first
        pair of classes.

    Notes
    -----
    By the minimal primal-dual method in its augmented Lagrangian form: each function is an
    equality constraint of the dual problem, whose multiplier is the function's parameter. A
    step costs one kernel row, and memory is O(n k) beside `cache_size` for k functions.
    Without functions the exact machines of the same name are the faster ones.
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

    def _slopes(self, X: Any) -> np.ndarray:
        if self._learnt("_n_functions"):
            raise ValueError(
                f"{type(self).__name__}: gradient knows the kernel's part alone, and the slopes of "
                "known functions only their maker; permutation importance "
                "(sklearn.inspection) asks for predictions alone"
            )
        return super()._slopes(X)
