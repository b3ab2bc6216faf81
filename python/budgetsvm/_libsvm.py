"""LIBSVM's model text: read as an exact machine, written of every machine that it has room for."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import _columns, _core, _model_ir, _validation
from ._columns import Layout
from ._exact_classes import SVC, NuSVC
from ._exact_values import SVR, NuSVR, OneClassSVM
from ._files import Target, write_atomically
from ._prediction_rule import PredictionRule, decompose
from .data import source_of

_MACHINES: dict[str, Any] = {
    "c_svc": SVC, "nu_svc": NuSVC, "one_class": OneClassSVM, "epsilon_svr": SVR, "nu_svr": NuSVR,
}  # fmt: skip
_ELSE = "; save(), budgetsvm.onnx.to_onnx and budgetsvm.convert.to_c write it down"
#: What C has no room for either.
_LESS = "; save() and budgetsvm.onnx.to_onnx write it down"


def from_libsvm(
    path: str | os.PathLike[str] | Any, *, n_features: int | None = None, n_jobs: int | None = None
) -> Any:
    """Read a model of LIBSVM's ``svm-train``.

    Parameters
    ----------
    path : str, path-like or file
        The model.
    n_features : int or None, default=None
        Columns of the rows that it will decide about; None: as many as its support vectors need.
    n_jobs : int or None, default=None
        Threads.

    Returns
    -------
    SVC, NuSVC, SVR, NuSVR or OneClassSVM
        With the labels in rising order, and sparse support vectors: it takes dense rows and CSR.
        What the text does not tell is not known: C, ν, the rows that support vectors were
        (`support_` counts them), the gap. With sigmoids `predict_proba` gives what
        ``svm-predict -b 1`` does.

    Raises
    ------
    ValueError
        If the text is not exactly valid, by the line or the name at fault.
    OSError
        If it cannot be read.
    """
    if n_features is not None and (isinstance(n_features, bool) or int(n_features) < 1):
        raise ValueError(f"n_features must be None or >= 1, got {n_features!r}")
    width = None if n_features is None else int(n_features)
    with source_of(path) as source:
        kind, machine, labels, sigmoids = _core.libsvm_read(
            source, width, _validation.thread_count(n_jobs)
        )
    kernel = json.loads(machine.kernel)
    params = {name: kernel[name] for name in ("gamma", "degree", "coef0") if name in kernel}
    if sigmoids is not None:
        params["probability"] = True
    model = _MACHINES[kind](kernel=kernel["name"], **params)
    model._machine = machine
    model._gamma = float(kernel.get("gamma", 0.0))
    model._sparse = True
    model._n_support = np.array(machine.n_support, dtype=np.int32)
    model.support_ = np.arange(machine.n_terms, dtype=np.int32)
    model.n_features_in_ = machine.n_features
    _columns.note(model, Layout(zero_based=False))  # which is LIBSVM's
    model.shape_fit_ = (max(machine.n_terms, 1), machine.n_features)
    model.fit_status_, model.stop_reason_ = 0, "converged"
    if labels:
        model.classes_ = np.array(labels, dtype=np.int64)
        model.class_weight_ = np.ones(len(labels))
        model.n_iter_ = np.zeros(machine.n_outputs, dtype=np.int32)
        model.duality_gap_ = np.full(machine.n_outputs, np.inf)
        if sigmoids is not None:
            model._sigmoids = np.array(sigmoids, dtype=np.float64)
    else:
        model.n_iter_, model.duality_gap_ = 0, float("inf")
        if kind == "one_class":
            model.offset_ = -model.intercept_
    return model


def to_libsvm(estimator: Any, path: Target, *, n_jobs: int | None = None) -> None:
    """Write a model that LIBSVM's ``svm-predict`` reads.

    Every exact machine, and every other one that is a single expansion of one of LIBSVM's kernels
    ("rbf", "poly", "sigmoid", "linear"): of two classes, of values, or of one class. Labels are
    whole numbers, and numbers have as many digits as give them back. The threshold of one class is
    lowered by what rounding leaves of the value of a support vector on the boundary (1e-9 of 1 +
    its magnitude), so that LIBSVM has these rows inside as `predict` has; `from_libsvm` undoes it.

    Parameters
    ----------
    estimator : estimator of this package
        Fitted.
    path : str, path-like or file
        Where to write, whole or not at all.
    n_jobs : int or None, default=None
        Threads.

    Raises
    ------
    NotFittedError
        If the estimator is not fitted.
    ValueError
        If LIBSVM's text has no room for the machine: several classes one against the rest, cells,
        waves, another kernel, known functions, labels that are no whole numbers; the message says
        what works instead.
    """
    part, rule = decompose(estimator)
    name = type(estimator).__name__
    if rule.task == "features":
        raise ValueError(f"{name} is a transformer, which decides nothing{_ELSE}")
    if rule.task == "sets":
        raise ValueError(f"{name} has sets of labels, and LIBSVM's text has one label a row{_ELSE}")
    if rule.functions is not None:
        raise ValueError(
            f"LIBSVM has no known functions beside the kernel, as {name} has; "
            "budgetsvm.onnx.to_onnx writes it down, with their values as a second input"
        )
    if rule.curves is not None and rule.curves.decide:
        raise ValueError(
            f"{name} is calibrated: its labels are the most probable ones, which LIBSVM's text has "
            f"no place for; write it before calibrate{_ELSE}"
        )
    kind = getattr(estimator, "_impl", None) or {
        "classes": "c_svc", "values": "epsilon_svr", "sides": "one_class"
    }[rule.task]  # fmt: skip
    threads = _validation.thread_count(n_jobs)
    several = isinstance(part, _model_ir.OneVsOneExpansion) and len(part.n_support) > 2
    if rule.task == "values" and estimator._machine.n_outputs > 1:
        raise ValueError(
            f"{name} has several values a row, and LIBSVM's text has one: write a machine a "
            f"column{_ELSE}"
        )
    single = None if several else _single(part, name)
    labels = _labels(rule, name) if rule.task == "classes" else []
    if single is None:
        sigmoids = rule.probability[1] if rule.probability else None
        text = _core.libsvm_write(
            kind, json.dumps(part.kernel), _absolute(part.points, part.origin), part.coef,
            labels=labels, n_support=part.n_support, rho=(-part.intercept).tolist(),
            sigmoids=None if sigmoids is None else (sigmoids[0].tolist(), sigmoids[1].tolist()),
            threads=threads,
        )  # fmt: skip
    else:
        kernel, points, coef, offset = single
        if labels:
            # A positive value speaks for the first label: that is the second class.
            labels = labels[::-1]
            order = np.argsort(coef <= 0, kind="stable")
            points, coef = points[order], coef[order]
            n_support = [int((coef > 0).sum()), int((coef <= 0).sum())]
        else:
            n_support = [len(coef)]
        sigmoids = None
        if rule.probability is not None:
            slopes, offsets = rule.probability[1]
            # Of the first class at the value of the second: turned round.
            sigmoids = (np.atleast_1d(slopes).tolist(), (-np.atleast_1d(offsets)).tolist())
        text = _core.libsvm_write(
            kind, json.dumps(kernel), _validation.as_rows(points), coef[None, :],
            labels=labels, n_support=n_support, rho=[-offset], sigmoids=sigmoids, threads=threads,
        )  # fmt: skip
    with write_atomically(path) as file:
        for piece in text:
            file.write(piece)


def _labels(rule: PredictionRule, name: str) -> list[int]:
    classes = np.asarray(rule.classes)
    whole_numbers = classes.dtype.kind in "iub" or (
        classes.dtype.kind == "f" and bool((classes == np.round(classes)).all())
    )
    if not whole_numbers or np.abs(classes.astype(float)).max() >= 2**31:
        raise ValueError(
            f"{name}: LIBSVM's labels are whole numbers of 32 bits, and these are "
            f"{classes[:4].tolist()}: fit it to numbers (sklearn.preprocessing.LabelEncoder){_ELSE}"
        )
    return [int(label) for label in classes]


def _absolute(points: Any, origin: np.ndarray) -> Any:
    """The points as the user's rows have them, in a form that `_core` borrows."""
    if sp.issparse(points):
        return _validation.as_rows(points)
    return np.ascontiguousarray(points + origin)


def _single(part: Any, name: str) -> tuple[dict[str, Any], Any, np.ndarray, float]:
    """The kernel, points, coefficients and offset of a machine that is one expansion."""
    if isinstance(part, _model_ir.ScaledModel) and isinstance(part.model, _model_ir.LinearModel):
        part = _model_ir.LinearModel(part.model.coef * part.scales, part.model.intercept)
    if isinstance(part, _model_ir.OneVsOneExpansion):
        part = part.expansion()
    if isinstance(part, _model_ir.PerOutputModel) and len(part.outputs) == 1:
        part = part.outputs[0]
    if isinstance(part, _model_ir.LinearModel):
        outputs = len(part.intercept)
        points, coef = part.coef, np.ones((1, 1))
        kernel: dict[str, Any] = {"name": "linear"}
        origin = np.zeros(part.coef.shape[1])
    elif isinstance(part, _model_ir.KernelExpansion):
        outputs, kernel, points = len(part.intercept), part.kernel, part.points
        coef, origin = part.coef, part.origin
    elif isinstance(part, _model_ir.PerOutputModel):
        outputs = len(part.outputs)
    else:
        what = {
            "scaled": "features that it scales (feature_scales; scale the rows before it)",
            "features": "waves", "cells": "cells", "coded": "coded columns",
        }[part.kind]  # fmt: skip
        other = _LESS if part.kind in ("cells", "coded") else _ELSE
        raise ValueError(f"LIBSVM's text is of one expansion, and {name} decides by {what}{other}")
    if outputs > 1:
        raise ValueError(
            f"{name} decides between several classes one against the rest, and LIBSVM's text holds "
            f"pairs of classes: fit an SVC or NuSVC for that{_ELSE}"
        )
    points = points if sp.issparse(points) else np.ascontiguousarray(points + origin)
    return kernel, points, coef[:, 0], float(part.intercept[0])
