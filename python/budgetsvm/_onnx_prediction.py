"""The prediction rule of an estimator as nodes of an ONNX graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._curves import Curves
from ._one_vs_one import MIN_PROBABILITY
from ._onnx_graph import Graph, interpolate, model_values, ovr_decision_function, vote
from ._prediction_rule import PredictionRule


def prediction_nodes(
    graph: Graph, x: str, functions: str | None, part: Any, rule: PredictionRule
) -> dict[str, str]:
    """All outputs for the rows `x`, by name, in double precision."""
    if rule.encoders is not None and any(encoder["missing"] for encoder in rule.encoders):
        x = imputation_nodes(graph, x, rule.encoders)
    elif rule.encoders is not None:
        fill = graph.doubles([encoder["fill"] for encoder in rule.encoders])
        x = graph.op("Where", graph.op("IsNaN", x), fill, x)
    values = model_values(graph, x, part)
    if rule.sign != 1.0:
        values = graph.op("Mul", values, graph.doubles(rule.sign))
    if functions is not None:
        own = graph.op("MatMul", functions, graph.doubles(rule.functions))
        values = graph.op("Add", values, own)
    found = _rule_nodes(graph, values, rule)
    if rule.task == "features":
        width = getattr(part, "model", part).map.width
        if width < rule.width:
            zeros = graph.fill(graph.rows_of(x), rule.width - width, 0.0)
            found["features"] = graph.op("Concat", values, zeros, axis=1)
    return found


def label_nodes(graph: Graph, places: str, rule: PredictionRule) -> tuple[str, int]:
    """The labels at these indices of the classes, and their ONNX type."""
    helper = graph.helper
    if rule.task == "sides":
        inside = graph.cast(places, np.int64)
        twice = graph.op("Mul", inside, graph.tensor(np.int64(2)))
        number = int(helper.np_dtype_to_tensor_dtype(np.dtype(np.int64)))
        return graph.op("Sub", twice, graph.tensor(np.int64(1))), number
    classes = np.asarray(rule.classes)
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


def imputation_nodes(graph: Graph, x: str, encoders: list[dict]) -> str:
    """Rows with missing numbers imputed, and an indicator column where the model has one."""
    columns = []
    for at, encoder in enumerate(encoders):
        own = graph.op("Gather", x, graph.ints(at), axis=1)
        missing = graph.op("IsNaN", own)
        columns.append(graph.op("Where", missing, graph.doubles(encoder["fill"]), own))
        if encoder["missing"]:
            columns.append(graph.to_double(missing))
    return graph.op("Concat", *columns, axis=1)


def _rule_nodes(graph: Graph, values: str, rule: PredictionRule) -> dict[str, str]:
    """Outputs by name; "label" is an index of the classes."""
    if rule.task == "features":
        return {"features": values}
    if rule.task == "values" and rule.rising:
        shape = graph.op("Shape", values)
        width = graph.op("Slice", shape, graph.ints(1), graph.ints(2))
        return {"value": graph.op("TopK", values, width, outputs=2, axis=1, largest=0, sorted=1)}
    if rule.task == "values":
        return {"value": values}
    if rule.task == "sides":
        inside = graph.op("GreaterOrEqual", values, graph.doubles(-rule.boundary))
        if rule.boundary:
            near = graph.op("LessOrEqual", graph.op("Abs", values), graph.doubles(rule.boundary))
            values = graph.op("Where", near, graph.doubles(0.0), values)
        return {"label": graph.op("Squeeze", inside, graph.ints(1)), "decision": values}
    if rule.task == "sets":
        own = graph.op("Greater", values, graph.doubles(0.0))
        found = {"labels": graph.cast(own, np.int64), "decision": values}
        if rule.probability is not None:
            found["probabilities"] = graph.op("Sigmoid", values)
        return found
    k = len(rule.classes)
    found = {}
    if rule.pairs and k > 2:
        by_class = ovr_decision_function(graph, values, k)
        if rule.break_ties:
            found["label"] = graph.op("ArgMax", by_class, axis=1, keepdims=0)
        else:
            found["label"] = vote(graph, values, k)
        found["decision"] = by_class if rule.shape == "ovr" else values
    elif k > 2:
        found = {"label": graph.op("ArgMax", values, axis=1, keepdims=0), "decision": values}
    else:
        decision = graph.op("Neg", values) if rule.pairs else values
        positive = graph.op("Greater", decision, graph.doubles(0.0))
        if rule.most_probable:
            a, b = rule.probability[1]  # type: ignore[index]
            odds = graph.op("Add", graph.op("Mul", values, graph.doubles(a)), graph.doubles(b))
            positive = graph.op("Less", odds, graph.doubles(0.0))
        positive = graph.op("Squeeze", positive, graph.ints(1))
        found = {"label": graph.cast(positive, np.int64), "decision": decision}
    if rule.probability is not None:
        found["probabilities"] = _probability_nodes(graph, values, rule, k)
    elif rule.curves is not None:
        own = graph.op("Mul", values, graph.doubles(rule.sign)) if rule.sign != 1.0 else values
        found["probabilities"] = _calibration_nodes(graph, own, rule.curves, k)
        if rule.curves.decide:
            found["label"] = graph.op("ArgMax", found["probabilities"], axis=1, keepdims=0)
    return found


def _calibration_nodes(graph: Graph, values: str, curves: Curves, k: int) -> str:
    """Probabilities from the curves of a calibrated machine."""
    if curves.softmax is not None:
        scaled = graph.op("Mul", values, graph.doubles(curves.softmax))
        return graph.op("Softmax", scaled, axis=1)
    if curves.sigmoids is not None:
        slopes, offsets = curves.sigmoids.T
        odds = graph.op("Mul", values, graph.doubles(slopes[None, :]))
        odds = graph.op("Add", odds, graph.doubles(offsets[None, :]))
        shares = graph.op("Sigmoid", graph.op("Neg", odds))
    else:
        shares = interpolate(graph, values, curves.steps or [])
    if k == 2:
        first = graph.op("Sub", graph.doubles(1.0), shares)
        return graph.op("Concat", first, shares, axis=1)
    if curves.pairs:
        return _coupling_nodes(graph, shares, k)
    total = graph.op("ReduceSum", shares, graph.ints(1), keepdims=1)
    some = graph.op("Greater", total, graph.doubles(0.0))
    parts = graph.op("Div", shares, graph.op("Where", some, total, graph.doubles(1.0)))
    return graph.op("Where", some, parts, graph.doubles(1.0 / k))


def _probability_nodes(graph: Graph, values: str, rule: PredictionRule, k: int) -> str:
    assert rule.probability is not None
    how, told = rule.probability
    if how == "softmax":
        scaled = graph.op("Mul", values, graph.doubles(told[0]))
        return graph.op("Softmax", scaled, axis=1)
    if how == "sigmoid":
        odds = graph.op("Add", graph.op("Mul", values, graph.doubles(told[0])),
                        graph.doubles(told[1]))  # fmt: skip
        second = graph.op("Sigmoid", graph.op("Neg", odds))
        return graph.op("Concat", graph.op("Sigmoid", odds), second, axis=1)
    odds = graph.op("Mul", values, graph.doubles(told[0]))
    odds = graph.op("Add", odds, graph.doubles(told[1]))
    return _coupling_nodes(graph, graph.op("Sigmoid", graph.op("Neg", odds)), k)


def _coupling_nodes(graph: Graph, r: str, k: int) -> str:
    """The coupling of `_probability`: p of sum 1 that minimises ``Σ_{i<j} (r_ji p_i - r_ij p_j)²``.

    `r` are the shares of the first of each pair. With the last p put in as one less the others it
    is a positive definite system of k - 1 equations, solved by elimination row by row (for all
    rows of X at once).
    """
    r = graph.op(
        "Min",
        graph.op("Max", r, graph.doubles(MIN_PROBABILITY)),
        graph.doubles(1.0 - MIN_PROBABILITY),
    )
    other = graph.op("Sub", graph.doubles(1.0), r)
    if k == 2:
        return graph.op("Concat", r, other, axis=1)
    first, second = np.triu_indices(k, 1)
    # shares[i, j]: of class i in the pair of i and j, one column an entry of the matrix.
    to_first, to_second = np.zeros((len(first), k * k)), np.zeros((len(first), k * k))
    to_first[range(len(first)), first * k + second] = 1.0
    to_second[range(len(first)), second * k + first] = 1.0
    flat = graph.op("Add", graph.op("MatMul", r, graph.doubles(to_first)),
                    graph.op("MatMul", other, graph.doubles(to_second)))  # fmt: skip
    shares = graph.op("Reshape", flat, graph.ints(-1, k, k))
    turned = graph.op("Transpose", shares, perm=[0, 2, 1])
    squares = graph.op("ReduceSum", graph.op("Mul", turned, turned), graph.ints(2), keepdims=1)
    diagonal = graph.op("Mul", squares, graph.doubles(np.eye(k)[None]))
    q = graph.op("Sub", diagonal, graph.op("Mul", shares, turned))

    # The linear system of all classes but the last, with its right-hand side.
    def part(value: str, rows: tuple[int, int], columns: tuple[int, int]) -> str:
        begin, end = graph.ints(rows[0], columns[0]), graph.ints(rows[1], columns[1])
        return graph.op("Slice", value, begin, end, graph.ints(1, 2))

    m = k - 1
    column, row = part(q, (0, m), (m, k)), part(q, (m, k), (0, m))
    corner = part(q, (m, k), (m, k))
    matrix = graph.op("Sub", graph.op("Sub", part(q, (0, m), (0, m)), column), row)
    matrix = graph.op("Add", matrix, corner)
    system = graph.op("Concat", matrix, graph.op("Sub", corner, column), axis=2)
    for at in range(m):
        pivot = part(system, (at, at + 1), (at, at + 1))
        own = graph.op("Div", part(system, (at, at + 1), (0, k)), pivot)
        factor = graph.op("Mul", part(system, (0, m), (at, at + 1)),
                          graph.doubles((np.arange(m) != at)[None, :, None] * 1.0))  # fmt: skip
        system = graph.op("Sub", system, graph.op("Mul", factor, own))
        chosen = graph.doubles((np.arange(m) == at)[None, :, None] * 1.0)
        kept = graph.op("Mul", system, graph.op("Sub", graph.doubles(1.0), chosen))
        system = graph.op("Add", kept, graph.op("Mul", chosen, own))
    p = graph.op("Squeeze", part(system, (0, m), (m, k)), graph.ints(2))
    last = graph.op("Sub", graph.doubles(1.0), graph.op("ReduceSum", p, graph.ints(1), keepdims=1))
    p = graph.op("Max", graph.op("Concat", p, last, axis=1), graph.doubles(0.0))
    return graph.op("Div", p, graph.op("ReduceSum", p, graph.ints(1), keepdims=1))
