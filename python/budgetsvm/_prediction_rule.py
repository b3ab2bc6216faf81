"""The rule by which an estimator turns decision values into predictions.

Predictions are labels, sides of a boundary, values, probabilities or features. The exports to ONNX,
C and LIBSVM's text know an estimator by this rule and by its `_model_ir` only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import is_classifier, is_outlier_detector, is_regressor
from sklearn.utils.validation import check_is_fitted

from . import _column_encoders, _curves, _model_ir
from ._archive import ArchiveMixin
from ._auto import AutoEstimator
from ._exact import ExactEstimator
from ._exact_classifier import ExactClassifier
from ._exact_values import OneClassEstimator
from ._multilabel import MultiLabelClassifier
from ._one_vs_one import BOUNDARY_TOLERANCE
from ._regressor import MultiTargetRegressor
from ._semiparametric import SemiparametricEstimator


@dataclass(frozen=True)
class PredictionRule:
    """How decision values become predictions.

    1. The values of the model are multiplied by `sign`; then the known functions of a
       semi-parametric machine are added.
    2. `task` says what is predicted. "classes": the label whose value is positive or the largest;
       with `pairs` the label with the most votes. "sets": the labels of all positive values.
       "values": the values. "sides": 1 where the value is at least -`boundary`, else -1.
       "features": the values, followed by zeros up to `width`.
    3. `probability` is a sigmoid of one value, a softmax of several values, or coupled sigmoids of
       the pairs. With `most_probable` the most probable label is predicted.
    """

    task: Literal["classes", "sets", "values", "sides", "features"]
    n_features: int
    dtype: Any
    sign: float = 1.0
    classes: Any = None
    pairs: bool = False
    shape: str = "ovr"
    break_ties: bool = False
    probability: tuple[str, Any] | None = None
    most_probable: bool = False
    #: The curves of a calibrated machine, or of one with the logistic loss: see `_curves`.
    curves: Any = None
    boundary: float = 0.0
    width: int = 0
    #: Coefficients of the known functions, shape (n_functions, n_outputs).
    functions: Any = None
    #: Whether the values of a row are sorted, as several quantiles are.
    rising: bool = False
    #: The column encoders, which impute missing numbers before the model is evaluated.
    encoders: Any = None


def decompose(estimator: Any) -> tuple[Any, PredictionRule]:
    """The model of a fitted estimator (a `_model_ir.ModelIR`) and its prediction rule.

    Raises
    ------
    NotFittedError
        If the estimator is not fitted.
    ValueError, TypeError
        If the estimator cannot be exported.
    """
    if not isinstance(estimator, ArchiveMixin):
        raise TypeError(
            f"{type(estimator).__name__} is no estimator of budgetsvm; of a pipeline write the "
            "steps, or use budgetsvm.onnx.register() and skl2onnx"
        )
    check_is_fitted(estimator)
    fitted: Any = estimator
    if callable(getattr(fitted, "kernel", None)):
        raise ValueError(
            f"{type(fitted).__name__} with a function as its kernel cannot be written down: give "
            "the kernel by name, such as kernel='rbf'"
        )
    try:
        return _model_ir.read_model_ir(fitted._machine), _prediction_rule(fitted)
    except ValueError as error:
        raise ValueError(f"{type(fitted).__name__}: {error}") from None


def _prediction_rule(fitted: Any) -> PredictionRule:
    common: dict[str, Any] = {"n_features": fitted.n_features_in_, "dtype": fitted._machine.dtype}
    if isinstance(fitted, ExactEstimator):
        common["sign"] = float(fitted._sign())
    if isinstance(fitted, SemiparametricEstimator) and fitted._n_functions:
        common["functions"] = common["sign"] * np.atleast_2d(fitted.parametric_coef_).T
    if isinstance(fitted, AutoEstimator):
        common["encoders"] = _encoders_of(fitted)
    if is_classifier(fitted):
        return _classification_rule(fitted, common)
    if is_outlier_detector(fitted):
        edge = BOUNDARY_TOLERANCE * (1.0 + abs(float(fitted.offset_[0])))
        return PredictionRule(
            "sides", **common, boundary=edge if isinstance(fitted, OneClassEstimator) else 0.0
        )
    if is_regressor(fitted):
        several = isinstance(fitted, MultiTargetRegressor) and fitted._levels() is not None
        return PredictionRule("values", **common, rising=several)
    return PredictionRule("features", **common, width=fitted._n_features_out)


def _encoders_of(fitted: Any) -> Any:
    encoders = fitted._fitted_encoders()
    if _column_encoders.need_frame(encoders):
        raise ValueError(
            "columns of text have no place in rows of numbers: encode them before the machine (in "
            "a pipeline), or save() it"
        )
    return encoders


def _classification_rule(fitted: Any, common: dict[str, Any]) -> PredictionRule:
    common["classes"] = fitted.classes_
    if isinstance(fitted, MultiLabelClassifier) and fitted._has_sets():
        odds = ("sigmoid", None) if getattr(fitted, "loss", None) == "log_loss" else None
        return PredictionRule("sets", **common, probability=odds)
    curves = _curves.of_machine(fitted._machine)
    if curves is None and getattr(fitted, "loss", None) == "log_loss":
        outputs = fitted._machine.n_outputs
        curves = _curves.of_logistic(outputs) if hasattr(fitted, "predict_proba") else None
    common["curves"] = curves
    if isinstance(fitted, ExactClassifier):
        sigmoids = fitted.__dict__.get("_sigmoids")
        return PredictionRule(
            "classes", **common, pairs=True, shape=fitted.decision_function_shape,
            break_ties=bool(fitted.break_ties),
            probability=None if sigmoids is None or curves is not None else ("pairs", sigmoids),
        )  # fmt: skip
    if isinstance(fitted, AutoEstimator) and curves is None:
        how = "softmax" if len(fitted.classes_) > 2 else "sigmoid"
        told = (how, np.asarray(fitted._calibration, dtype=np.float64))
        return PredictionRule("classes", **common, probability=told, most_probable=how == "sigmoid")
    return PredictionRule("classes", **common)
