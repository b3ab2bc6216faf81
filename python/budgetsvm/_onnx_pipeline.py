"""What skl2onnx asks of a converter: the outputs of a step, their types, the nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _onnx_graph
from ._onnx_graph import Graph
from ._onnx_says import labels, of_rows
from ._says import taken_apart


def _names(model: Any) -> list[str]:
    says = taken_apart(model)[1]
    if says.functions is not None:
        raise ValueError(
            f"{type(model).__name__} with functions has a second input, which a pipeline has not: "
            "use budgetsvm.onnx.to_onnx on the machine"
        )
    if says.task == "values":
        return ["variable"]
    if says.task == "sets":
        raise ValueError(
            f"{type(model).__name__} with sets of labels has no place in a converted pipeline: use "
            "budgetsvm.onnx.to_onnx on the machine"
        )
    if says.task == "features":
        return ["variable"]
    has = says.probability is not None or says.curves is not None
    second = "probabilities" if has else "decision"
    return ["label", second]


def parse(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    """The outputs of a step."""
    from skl2onnx._supported_operators import _get_sklearn_operator_name
    from skl2onnx.common.data_types import Int64TensorType, StringTensorType, guess_tensor_type

    operator = scope.declare_local_operator(_get_sklearn_operator_name(type(model)), model)
    operator.inputs = inputs
    text = getattr(getattr(model, "classes_", np.zeros(1)), "dtype", np.dtype(int)).kind in "UOT"
    for name in _names(model):
        label = StringTensorType() if text else Int64TensorType()
        kind = label if name == "label" else guess_tensor_type(inputs[0].type)
        operator.outputs.append(scope.declare_local_variable(name, kind))
    return operator.outputs


def shapes(operator: Any) -> None:
    """The shapes of the outputs."""
    model, rows = operator.raw_operator, operator.inputs[0].get_first_dimension()
    says = taken_apart(model)[1]
    wide = {"classes": len(says.classes) if says.classes is not None else 1, "features": says.width}
    for name, output in zip(_names(model), operator.outputs, strict=True):
        several = name == "probabilities" or wide.get(says.task, 1) > 2 or says.task == "features"
        width = wide.get(says.task, 1) if several else 1
        if says.task == "values":
            width = model._machine.n_outputs
        if name == "decision" and says.pairs and says.shape == "ovo":
            width = max(1, width * (width - 1) // 2)
        output.type.shape = [rows] if name == "label" else [rows, width]


def convert(scope: Any, operator: Any, container: Any) -> None:
    """The nodes of a step."""
    import onnx

    model = operator.raw_operator
    part, says = taken_apart(model)
    graph = Graph(onnx.helper, prefix=f"{scope.get_unique_operator_name('budgetsvm')}_")
    found = of_rows(graph, graph.to_double(operator.inputs[0].full_name), None, part, says)
    for name, output in zip(_names(model), operator.outputs, strict=True):
        if name == "label":
            value, _ = labels(graph, found["label"], says)
            if np.asarray(says.classes).dtype.kind in "bf":
                value = graph.cast(value, np.int64)
        else:
            inside = {"variable": "features" if says.task == "features" else "value"}.get(
                name, name
            )
            kind = operator.inputs[0].type.__class__.__name__.startswith("Double")
            value = graph.cast(found[inside], np.float64 if kind else np.float32)
        graph.nodes.append(onnx.helper.make_node("Identity", [value], [output.full_name]))
    container.nodes.extend(graph.nodes)
    container.initializers.extend(graph.constants)
    container.node_domain_version_pair_sets.add(("", _onnx_graph.OPSET))
