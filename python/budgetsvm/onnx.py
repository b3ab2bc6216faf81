"""Fitted estimators as ONNX graphs: ``pip install budgetsvm[onnx]``.

The graph is made of general operators, which every runtime has, and decides as the estimator does.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from . import _core, _onnx_graph, _onnx_pipeline
from ._archive import estimators
from ._columns import layout_of
from ._files import Target, write_atomically
from ._onnx_graph import Graph
from ._onnx_prediction import label_nodes, prediction_nodes
from ._prediction_rule import decompose

__all__ = ["register", "to_onnx"]


def _onnx() -> Any:
    try:
        import onnx
    except ImportError:
        raise ImportError("to_onnx needs onnx: pip install budgetsvm[onnx]") from None
    return onnx


def to_onnx(estimator: Any, path: Target | None = None, *, dtype: Any = np.float32) -> Any:
    """The graph of a fitted estimator.

    Parameters
    ----------
    estimator : estimator of this package
        Fitted; with a kernel by name.
    path : str, path-like, file or None, default=None
        Where to write the graph, whole or not at all.
    dtype : float32 or float64, default=float32
        The type of the input "X", shape (n, n_features), and of numbers that come out. Within, and
        of either type, arithmetic is in double precision, as sums are here; with float32, points
        of a machine of float32 take half the room. Sparse rows are given densely. Its columns
        are those of the fit, in order; their names, where they had some, are a JSON list in the
        model's metadata, "feature_names", for programs that have a table.

    Returns
    -------
    onnx.ModelProto
        With the outputs "label" (of the classes' own type, or 1 and -1 for one class) and
        "decision" (what `decision_function` gives, shape (n, 1) where it gives a vector), where
        there are probabilities "probabilities", "value" of a regression, "features" of a
        transformer; of sets of labels "labels", a column of 0 and 1 each. A semi-parametric machine
        has the values of its functions as a second input, "functions", shape (n, n_functions).

    Raises
    ------
    NotFittedError
        If the estimator is not fitted.
    ValueError
        For a kernel that is a function or precomputed, and for a table with columns of text.
    ImportError
        Without onnx.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from budgetsvm import BudgetSVC
    >>> from budgetsvm.onnx import to_onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> graph = to_onnx(BudgetSVC(budget=20, random_state=0).fit(X, y))
    >>> [output.name for output in graph.graph.output]
    ['label', 'decision']
    """
    single = np.dtype(dtype) == np.float32
    if not single and np.dtype(dtype) != np.float64:
        raise ValueError(f"dtype must be float32 or float64, got {dtype!r}")
    part, rule = decompose(estimator)
    onnx = _onnx()
    helper = onnx.helper
    graph = Graph(helper, single=single)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    inputs = [helper.make_tensor_value_info("X", kind, ["n", rule.n_features])]
    functions = None
    if rule.functions is not None:
        width = len(rule.functions)
        inputs.append(helper.make_tensor_value_info("functions", kind, ["n", width]))
        functions = graph.to_double("functions")
    found = prediction_nodes(graph, graph.to_double("X"), functions, part, rule)
    outputs = []
    for name, value in found.items():
        if name == "label":
            made, kind_of_labels = label_nodes(graph, value, rule)
            outputs.append(helper.make_tensor_value_info(name, kind_of_labels, ["n"]))
        elif name == "labels":
            made, whole_number = value, helper.np_dtype_to_tensor_dtype(np.dtype(np.int64))
            outputs.append(helper.make_tensor_value_info(name, whole_number, ["n", None]))
        else:
            made = graph.cast(value, dtype)
            outputs.append(helper.make_tensor_value_info(name, kind, ["n", None]))
        graph.nodes.append(helper.make_node("Identity", [made], [name]))
    body = helper.make_graph(
        graph.nodes, type(estimator).__name__, inputs, outputs, graph.constants
    )  # fmt: skip
    model = helper.make_model(
        body, opset_imports=[helper.make_opsetid("", _onnx_graph.OPSET)], ir_version=8,
        producer_name="budgetsvm", producer_version=_core.__version__,
    )  # fmt: skip
    names = layout_of(estimator).names
    if names is not None:
        # The input is one matrix, whose columns have no names of their own.
        helper.set_model_props(model, {"feature_names": json.dumps([str(name) for name in names])})
    if path is not None:
        content = model.SerializeToString()
        with write_atomically(path) as file:
            file.write(content)
    return model


def register() -> None:
    """Tell skl2onnx of all estimators of this package, so that it converts pipelines with them.

    The graphs inside are those of `to_onnx` in double precision. Classifiers have the outputs
    "label" and "probabilities" there (the decision values where there are no probabilities).

    Raises
    ------
    ImportError
        Without skl2onnx.
    """
    try:
        import skl2onnx
        from skl2onnx._supported_operators import sklearn_operator_name_map
    except ImportError:
        raise ImportError("register needs skl2onnx: pip install budgetsvm[onnx]") from None
    options = {"zipmap": [True, False], _onnx_pipeline.RAW_SCORES: [True, False]}
    for name, cls in estimators().items():
        skl2onnx.update_registered_converter(
            cls, f"Budgetsvm{name}", _onnx_pipeline.shapes, _onnx_pipeline.convert,
            overwrite=True, parser=_onnx_pipeline.parse,
            options=options,
        )  # fmt: skip
    if FrozenEstimator not in sklearn_operator_name_map:
        skl2onnx.update_registered_converter(
            FrozenEstimator, "BudgetsvmFrozenEstimator", _onnx_pipeline.frozen_shapes,
            _onnx_pipeline.convert_frozen, parser=_onnx_pipeline.parse_frozen, options=options,
        )  # fmt: skip
