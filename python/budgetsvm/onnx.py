"""Fitted estimators as ONNX graphs: ``pip install budgetsvm[onnx]``.

The graph is made of general operators, which every runtime has, and decides as the estimator does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _onnx_graph
from ._archive import ESTIMATORS
from ._files import Target, whole
from ._onnx_graph import Graph
from ._says import Says, taken_apart

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
        of a machine of float32 take half the room. Sparse rows are given densely.

    Returns
    -------
    onnx.ModelProto
        With the outputs "label" (of the classes' own type, or 1 and -1 for one class) and
        "decision" (what `decision_function` gives, shape (n, 1) where it gives a vector), where
        there are probabilities "probabilities", "value" of a regression, "features" of a
        transformer. A semi-parametric machine has the values of its functions as a second input,
        "functions", shape (n, n_functions).

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
    >>> graph = to_onnx(BudgetSVC(budget=20, random_state=0).fit(X, y))  # doctest: +SKIP
    """
    single = np.dtype(dtype) == np.float32
    if not single and np.dtype(dtype) != np.float64:
        raise ValueError(f"dtype must be float32 or float64, got {dtype!r}")
    part, says = taken_apart(estimator)
    onnx = _onnx()
    helper = onnx.helper
    graph = Graph(helper, single=single)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    inputs = [helper.make_tensor_value_info("X", kind, ["n", says.n_features])]
    functions = None
    if says.functions is not None:
        width = len(says.functions)
        inputs.append(helper.make_tensor_value_info("functions", kind, ["n", width]))
        functions = graph.to_double("functions")
    found = of_rows(graph, graph.to_double("X"), functions, part, says)
    outputs = []
    for name, value in found.items():
        if name == "label":
            made, kind_of_labels = labels(graph, value, says)
            outputs.append(helper.make_tensor_value_info(name, kind_of_labels, ["n"]))
        else:
            made = graph.cast(value, dtype)
            outputs.append(helper.make_tensor_value_info(name, kind, ["n", None]))
        graph.nodes.append(helper.make_node("Identity", [made], [name]))
    body = helper.make_graph(
        graph.nodes, type(estimator).__name__, inputs, outputs, graph.constants
    )  # fmt: skip
    from . import __version__

    model = helper.make_model(
        body, opset_imports=[helper.make_opsetid("", _onnx_graph.OPSET)], ir_version=8,
        producer_name="budgetsvm", producer_version=__version__,
    )  # fmt: skip
    if path is not None:
        content = model.SerializeToString()
        with whole(path) as file:
            file.write(content)
    return model


def of_rows(graph: Graph, x: str, functions: str | None, part: Any, says: Says) -> dict[str, str]:
    """Outputs of rows in double precision."""
    if says.plans is not None and any(plan["missing"] for plan in says.plans):
        x = _onnx_graph.filled(graph, x, says.plans)
    elif says.plans is not None:
        fill = graph.doubles([plan["fill"] for plan in says.plans])
        x = graph.op("Where", graph.op("IsNaN", x), fill, x)
    values = _onnx_graph.values_of(graph, x, part)
    if says.sign != 1.0:
        values = graph.op("Mul", values, graph.doubles(says.sign))
    if functions is not None:
        own = graph.op("MatMul", functions, graph.doubles(says.functions))
        values = graph.op("Add", values, own)
    found = _onnx_graph.answers(graph, values, says)
    if says.task == "features":
        width = getattr(part, "model", part).map.width
        if width < says.width:
            zeros = graph.fill(graph.rows_of(x), says.width - width, 0.0)
            found["features"] = graph.op("Concat", values, zeros, axis=1)
    return found


def labels(graph: Graph, places: str, says: Says) -> tuple[str, int]:
    """The labels of places among the classes, and the type that they have."""
    helper = graph.helper
    if says.task == "sides":
        inside = graph.cast(places, np.int64)
        twice = graph.op("Mul", inside, graph.tensor(np.int64(2)))
        number = int(helper.np_dtype_to_tensor_dtype(np.dtype(np.int64)))
        return graph.op("Sub", twice, graph.tensor(np.int64(1))), number
    classes = np.asarray(says.classes)
    if classes.dtype.kind in "iu":
        classes = classes.astype(np.int64)
    elif classes.dtype.kind == "f":
        classes = classes.astype(np.float64)
    elif classes.dtype.kind not in "b":
        if not all(isinstance(label, str) for label in classes):
            raise ValueError("class labels must be numbers, booleans or strings")
        classes = classes.astype(object)
    told = graph.op("Gather", graph.tensor(classes, "classes"), places, axis=0)
    return told, int(helper.np_dtype_to_tensor_dtype(classes.dtype))


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
    except ImportError:
        raise ImportError("register needs skl2onnx: pip install budgetsvm[onnx]") from None
    from . import _onnx_pipeline

    for name, cls in ESTIMATORS.items():
        skl2onnx.update_registered_converter(
            cls, f"Budgetsvm{name}", _onnx_pipeline.shapes, _onnx_pipeline.convert,
            overwrite=True, parser=_onnx_pipeline.parse, options={"zipmap": [True, False]},
        )  # fmt: skip
