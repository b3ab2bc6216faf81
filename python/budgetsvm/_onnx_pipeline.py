"""What skl2onnx asks of a converter: the outputs of a step, their types, the nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from . import _onnx_graph
from ._onnx_graph import Graph
from ._onnx_prediction import label_nodes, prediction_nodes
from ._prediction_rule import decompose

#: What converters of scikit-learn's meta-estimators ask classifiers for: decision values, a column
#: a class, in the place of probabilities.
RAW_SCORES = "raw_scores"
#: Estimators whose converters take decision values for probabilities, and what else works.
_WANT_PROBABILITIES = {
    "OneVsRestClassifier": 'convert with options={id(whole): {"raw_scores": True}}',
    "BaggingClassifier": "wrap it in CalibratedClassifierCV",
}


def _wholes(scope: Any, model: Any) -> Iterator[Any]:
    """The operators of estimators of scikit-learn that a model is a part of, itself or as the last
    step of a pipeline."""
    for operator in scope.operators.values():
        whole = operator.raw_operator
        if isinstance(whole, Pipeline):
            if whole.steps[-1][1] is model:
                yield operator
                yield from _wholes(scope, whole)
        elif any(part is model for part in getattr(whole, "estimators_", ())):
            yield operator


def _wants_scores(scope: Any, model: Any, container: Any = None) -> bool:
    """Whether a model is asked for decision values in the place of probabilities."""
    wholes = (operator.raw_operator for operator in _wholes(scope, model))
    pipelines = (whole for whole in wholes if isinstance(whole, Pipeline))
    return any(
        told.get_options(own, {RAW_SCORES: False})[RAW_SCORES]
        for own in (model, *pipelines)
        for told in (scope, container)
        if told is not None
    )


def _two_columns(scope: Any, model: Any, has_probabilities: bool, scores: bool) -> bool:
    """Whether the decision value of two classes is asked for as a column a class.

    Raises
    ------
    ValueError
        Where skl2onnx would make other answers of decision values than scikit-learn does.
    """
    kinds = {type(operator.raw_operator).__name__ for operator in _wholes(scope, model)}
    if not has_probabilities and not scores:
        for kind, cure in _WANT_PROBABILITIES.items():
            if kind in kinds:
                raise ValueError(
                    f"skl2onnx takes what a {kind} is made of for probabilities, which this "
                    f'{type(model).__name__} has not: fit it with loss="log_loss", or {cure}'
                )
    # Stacked values of two classes are one column, as in scikit-learn.
    return "StackingClassifier" not in kinds and (scores or "VotingClassifier" in kinds)


def _names(model: Any, scores: bool) -> list[str]:
    rule = decompose(model)[1]
    if rule.functions is not None:
        raise ValueError(
            f"{type(model).__name__} with functions has a second input, which a pipeline has not: "
            "use budgetsvm.onnx.to_onnx on the machine"
        )
    if rule.task == "values":
        return ["variable"]
    if rule.task == "sets":
        raise ValueError(
            f"{type(model).__name__} with sets of labels has no place in a converted pipeline: use "
            "budgetsvm.onnx.to_onnx on the machine"
        )
    if rule.task == "features":
        return ["variable"]
    has = rule.probability is not None or rule.curves is not None
    return ["label", "probabilities" if has and not scores else "decision"]


def parse(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    """The outputs of a step."""
    from skl2onnx._supported_operators import _get_sklearn_operator_name
    from skl2onnx.common.data_types import Int64TensorType, StringTensorType, guess_tensor_type

    operator = scope.declare_local_operator(_get_sklearn_operator_name(type(model)), model)
    operator.inputs = inputs
    text = getattr(getattr(model, "classes_", np.zeros(1)), "dtype", np.dtype(int)).kind in "UOT"
    # What a pipeline is a part of may take its labels for numbers: it makes its own of the values.
    text = text and not any(
        operator.outputs and isinstance(operator.outputs[0].type, Int64TensorType)
        for operator in _wholes(scope, model)
    )
    for name in _names(model, _wants_scores(scope, model)):
        label = StringTensorType() if text else Int64TensorType()
        kind = label if name == "label" else guess_tensor_type(inputs[0].type)
        operator.outputs.append(scope.declare_local_variable(name, kind))
    return operator.outputs


def shapes(operator: Any) -> None:
    """The shapes of the outputs."""
    model, rows = operator.raw_operator, operator.inputs[0].get_first_dimension()
    rule, scores = decompose(model)[1], _wants_scores(operator.scope_inst, model)
    wide = {"classes": len(rule.classes) if rule.classes is not None else 1, "features": rule.width}
    for name, output in zip(_names(model, scores), operator.outputs, strict=True):
        several = name == "probabilities" or (scores and rule.task == "classes")
        several = several or wide.get(rule.task, 1) > 2 or rule.task == "features"
        width = wide.get(rule.task, 1) if several else 1
        if rule.task == "values":
            width = model._machine.n_outputs
        if name == "decision" and rule.pairs and rule.shape == "ovo":
            width = max(1, width * (width - 1) // 2)
        output.type.shape = [rows] if name == "label" else [rows, width]


def convert(scope: Any, operator: Any, container: Any) -> None:
    """The nodes of a step."""
    import onnx
    from skl2onnx.common.data_types import Int64TensorType

    model = operator.raw_operator
    part, rule = decompose(model)
    graph = Graph(onnx.helper, prefix=f"{scope.get_unique_operator_name('budgetsvm')}_")
    found = prediction_nodes(graph, graph.to_double(operator.inputs[0].full_name), None, part, rule)
    scores = _wants_scores(scope, model, container)
    has = rule.probability is not None or rule.curves is not None
    two = rule.task == "classes" and len(rule.classes) == 2
    if rule.task == "classes":
        two = _two_columns(scope, model, has, scores) and two
    for name, output in zip(_names(model, scores), operator.outputs, strict=True):
        if name == "label":
            value, _ = label_nodes(graph, found["label"], rule)
            kind = np.asarray(rule.classes).dtype.kind
            if (
                kind not in "iu"
                and type(output.type) is Int64TensorType
                and rule.classes is not None
            ):
                value = graph.cast(found["label"] if kind in "UOT" else value, np.int64)
        else:
            inside = {"variable": "features" if rule.task == "features" else "value"}.get(
                name, name
            )
            decided = found[inside]
            if name == "decision" and two:
                decided = graph.op("Concat", graph.op("Neg", decided), decided, axis=1)
            kind = operator.inputs[0].type.__class__.__name__.startswith("Double")
            value = graph.cast(decided, np.float64 if kind else np.float32)
        graph.nodes.append(onnx.helper.make_node("Identity", [value], [output.full_name]))
    container.nodes.extend(graph.nodes)
    container.initializers.extend(graph.constants)
    container.node_domain_version_pair_sets.add(("", _onnx_graph.OPSET))


def parse_frozen(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    """The outputs of `sklearn.frozen.FrozenEstimator`: those of what is in it."""
    from skl2onnx._parse import _parse_sklearn

    return _parse_sklearn(scope, model.estimator, inputs, custom_parsers=custom_parsers)


def frozen_shapes(operator: Any) -> None:
    """Those of what is in it, which come with its nodes."""


def convert_frozen(scope: Any, operator: Any, container: Any) -> None:
    """The nodes of what is in a `FrozenEstimator` that is a part of another estimator."""
    import onnx
    from skl2onnx._supported_operators import _get_sklearn_operator_name

    model = operator.raw_operator
    inner = model.estimator
    if container.has_options(inner, RAW_SCORES):
        own = {RAW_SCORES: bool(container.get_options(model, {RAW_SCORES: False})[RAW_SCORES])}
        scope.add_options(id(inner), own)
        container.add_options(id(inner), own)
    part = scope.declare_local_operator(_get_sklearn_operator_name(type(inner)), inner)
    part.inputs = operator.inputs
    for output in operator.outputs:
        own_output = scope.declare_local_variable(output.raw_name, output.type.__class__())
        part.outputs.append(own_output)
        names = [own_output.full_name], [output.full_name]
        container.nodes.append(onnx.helper.make_node("Identity", *names))
