"""Models as graphs of general ONNX operators, in double precision within."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _model_ir
from ._model_ir import (
    AdditiveModel,
    FeatureMapModel,
    FourierFeatures,
    KernelExpansion,
    LandmarkFeatures,
    LinearModel,
    ModelIR,
    NearestCellModel,
    OneVsOneExpansion,
    PerOutputModel,
    ScaledModel,
)

#: The version of the operators, in every runtime since 2023.
OPSET = 17


class Graph:
    """Nodes and constants, by names that are made here."""

    def __init__(self, helper: Any, prefix: str = "", single: bool = False) -> None:
        self.helper, self.prefix, self.single = helper, prefix, single
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.known: dict[Any, str] = {}

    def name(self, what: str) -> str:
        return f"{self.prefix}{what}_{len(self.nodes) + len(self.constants)}"

    def op(self, kind: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        names = [self.name(kind.lower()) for _ in range(outputs)]
        names = [f"{name}_{at}" if at else name for at, name in enumerate(names)]
        self.nodes.append(self.helper.make_node(kind, list(inputs), names, **attributes))
        return names[0]

    def tensor(self, values: Any, what: str = "constant") -> str:
        """A constant as it is."""
        values = np.asarray(values)
        if values.dtype.kind in "iub" or values.ndim == 0:
            key = (values.dtype.str, values.shape, values.tobytes())
            if key in self.known:
                return self.known[key]
        name = self.name(what)
        if values.dtype.kind in "UO":
            texts = [str(text).encode() for text in values.ravel()]
            kind = self.helper.np_dtype_to_tensor_dtype(np.dtype(object))
            made = self.helper.make_tensor(name, kind, values.shape, texts)
        else:
            kind = self.helper.np_dtype_to_tensor_dtype(values.dtype)
            raw = np.ascontiguousarray(values).tobytes()
            made = self.helper.make_tensor(name, kind, values.shape, raw, raw=True)
        self.constants.append(made)
        if values.dtype.kind in "iub" or values.ndim == 0:
            self.known[key] = name
        return name

    def numbers(self, values: Any, what: str = "numbers") -> str:
        """A large constant: of a graph in single precision stored so where nothing is lost."""
        values = np.asarray(values, dtype=np.float64)
        if self.single and values.ndim and values.size > 64:
            stored = values.astype(np.float32)
            if np.array_equal(stored, values):
                return self.to_double(self.tensor(stored, what))
        return self.tensor(values, what)

    def doubles(self, values: Any, what: str = "numbers") -> str:
        """A constant whose digits all count."""
        return self.tensor(np.asarray(values, dtype=np.float64), what)

    def ints(self, *values: int) -> str:
        return self.tensor(np.array(values, dtype=np.int64))

    def cast(self, value: str, dtype: Any) -> str:
        kind = self.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.op("Cast", value, to=int(kind))

    def to_double(self, value: str) -> str:
        return self.cast(value, np.float64)

    def rows_of(self, value: str) -> str:
        """The number of rows, shape (1,)."""
        shape = self.op("Shape", value)
        return self.op("Slice", shape, self.ints(0), self.ints(1))

    def fill(self, rows: str, width: int, value: float) -> str:
        """A matrix of one number, as many rows as told."""
        size = self.op("Concat", rows, self.ints(width), axis=0)
        return self.op("Expand", self.doubles(np.full((1, 1), value)), size)


def _squared_distances(graph: Graph, x: str, points: np.ndarray) -> str:
    """Squared distances, shape (n, B)."""
    own = graph.op("ReduceSum", graph.op("Mul", x, x), graph.ints(1), keepdims=1)
    theirs = graph.doubles((points**2).sum(axis=1)[None, :])
    products = graph.op("MatMul", x, graph.numbers(-2.0 * points.T, "points"))
    sums = graph.op("Add", graph.op("Add", products, theirs), own)
    return graph.op("Max", sums, graph.doubles(0.0))


def _manhattan_distances(graph: Graph, x: str, points: np.ndarray) -> str:
    """Sums of absolute differences, shape (n, B), a feature at a time."""
    helper, b = graph.helper, len(points)
    inner = Graph(helper, f"{graph.prefix}scan{len(graph.nodes)}_")
    double = helper.np_dtype_to_tensor_dtype(np.dtype(np.float64))
    info = helper.make_tensor_value_info
    names = [f"{inner.prefix}{name}" for name in ("sum", "x", "s")]
    difference = inner.op("Sub", inner.op("Unsqueeze", names[1], inner.ints(1)), names[2])
    after = inner.op("Add", names[0], inner.op("Abs", difference))
    body = helper.make_graph(
        inner.nodes, f"{inner.prefix}body",
        [info(names[0], double, [None, b]), info(names[1], double, [None]),
         info(names[2], double, [b])],
        [info(after, double, [None, b])], inner.constants,
    )  # fmt: skip
    start = graph.fill(graph.rows_of(x), b, 0.0)
    columns = graph.op("Transpose", x, perm=[1, 0])
    return graph.op(
        "Scan", start, columns, graph.numbers(points.T, "points"), body=body, num_scan_inputs=2
    )


def kernel_values(graph: Graph, kernel: dict, x: str, points: np.ndarray) -> str:
    """Kernel values of rows and points, shape (n, B)."""
    name, number = kernel["name"], graph.doubles
    if name == "rbf":
        squares = _squared_distances(graph, x, points)
        return graph.op("Exp", graph.op("Mul", squares, number(-kernel["gamma"])))
    if name == "laplacian":
        sums = _manhattan_distances(graph, x, points)
        return graph.op("Exp", graph.op("Mul", sums, number(-kernel["gamma"])))
    if name in ("matern32", "matern52"):
        p = 3 if name == "matern32" else 5
        scaled = graph.op(
            "Mul", _squared_distances(graph, x, points), number(2.0 * p * kernel["gamma"])
        )
        t = graph.op("Sqrt", scaled)
        factor = graph.op("Add", t, number(1.0))
        if p == 5:
            factor = graph.op("Add", factor, graph.op("Mul", scaled, number(1.0 / 3.0)))
        return graph.op("Mul", factor, graph.op("Exp", graph.op("Neg", t)))
    products = graph.op("MatMul", x, graph.numbers(points.T, "points"))
    if name == "linear":
        return products
    inner = graph.op("Mul", products, number(kernel["gamma"]))
    inner = graph.op("Add", inner, number(kernel["coef0"]))
    if name == "poly":
        return graph.op("Pow", inner, number(float(kernel["degree"])))
    if name == "sigmoid":
        return graph.op("Tanh", inner)
    raise NotImplementedError(f"kernel {name!r}")


def _expansion(graph: Graph, x: str, part: KernelExpansion) -> str:
    points = part.dense()
    if len(points) == 0:
        rows = graph.fill(graph.rows_of(x), len(part.intercept), 0.0)
        return graph.op("Add", rows, graph.doubles(part.intercept))
    if part.origin.any():
        x = graph.op("Sub", x, graph.doubles(part.origin))
    values = kernel_values(graph, part.kernel, x, points)
    sums = graph.op("MatMul", values, graph.doubles(part.coef, "coef"))
    return graph.op("Add", sums, graph.doubles(part.intercept, "intercept"))


def features(graph: Graph, x: str, part: FourierFeatures | LandmarkFeatures) -> str:
    """The features of a map, shape (n, D)."""
    if isinstance(part, LandmarkFeatures):
        return _expansion(graph, x, part.expansion())
    arguments = graph.op("MatMul", x, graph.doubles(part.frequencies.T, "frequencies"))
    shifts = np.concatenate([np.zeros(part.paired), part.phases])
    found = graph.op("Cos", graph.op("Add", arguments, graph.doubles(shifts)))
    if part.paired:
        paired = graph.op("Slice", arguments, graph.ints(0), graph.ints(part.paired), graph.ints(1))
        found = graph.op("Concat", found, graph.op("Sin", paired), axis=1)
    return graph.op("Mul", found, graph.doubles(np.sqrt(2.0 / part.width)))


def _cells(graph: Graph, x: str, part: NearestCellModel) -> str:
    """Kernel values of all terms, of which those of other cells than the nearest count nothing."""
    if not part.cells:
        return graph.fill(graph.rows_of(x), part.n_outputs, 0.0)
    if part.directions is not None:
        x = graph.op("MatMul", x, graph.doubles(part.directions.T, "directions"))
    distances = _squared_distances(graph, x, part.centers)
    nearest = graph.op("ArgMin", distances, axis=1, keepdims=1)
    plain = [cell for cell in part.cells if isinstance(cell, KernelExpansion)]
    owner = np.concatenate([
        np.full(len(cell.coef), at, dtype=np.int64)
        for at, cell in enumerate(part.cells) if isinstance(cell, KernelExpansion)
    ] or [np.zeros(0, dtype=np.int64)])  # fmt: skip
    offsets = np.zeros((len(part.cells), part.n_outputs))
    for at, cell in enumerate(part.cells):
        if isinstance(cell, KernelExpansion):
            offsets[at] = cell.intercept
    which = graph.op("Squeeze", nearest, graph.ints(1))
    total = graph.op("Gather", graph.doubles(offsets), which, axis=0)
    if len(owner):
        points = np.concatenate([cell.dense() + cell.origin for cell in plain])
        middle = points.mean(axis=0)
        moves = plain[0].kernel["name"] in _model_ir.TRANSLATION_INVARIANT_KERNELS
        middle = middle if moves else np.zeros_like(middle)
        moved = graph.op("Sub", x, graph.doubles(middle))
        values = kernel_values(graph, plain[0].kernel, moved, points - middle)
        own = graph.to_double(graph.op("Equal", nearest, graph.tensor(owner[None, :])))
        coef = np.concatenate([cell.coef for cell in plain])
        sums = graph.op("MatMul", graph.op("Mul", values, own), graph.doubles(coef, "coef"))
        total = graph.op("Add", total, sums)
    for at, cell in enumerate(part.cells):
        if not isinstance(cell, KernelExpansion):
            found = _one_vs_one_cell(graph, x, cell, part.n_outputs)
            own = graph.to_double(graph.op("Equal", nearest, graph.ints(at)))
            total = graph.op("Add", total, graph.op("Mul", found, own))
    return total


def _one_vs_one_cell(graph: Graph, x: str, cell: _model_ir.OneVsOneCell, n_outputs: int) -> str:
    """Values of every class from -1 to 1, by votes and by the sums of values between them."""
    k = len(cell.classes)
    values = _expansion(graph, x, cell.pairs.expansion())
    if k == 2:
        values = graph.op("Neg", values)
    first, second = pair_matrices(k)
    won = graph.to_double(graph.op("Greater", values, graph.doubles(0.0)))
    votes = _count_votes(graph, won, first, second)
    sums = graph.op("MatMul", values, graph.doubles(first - second))
    told = graph.op("Add", votes, _squash(graph, sums))
    scaled = graph.op("Mul", told, graph.doubles(2.0 / (k - 1)))
    # Those that the cell does not have stay at -1.
    places = np.zeros((k, n_outputs))
    places[range(k), cell.classes] = 1.0
    spread = graph.op("MatMul", scaled, graph.doubles(places))
    return graph.op("Sub", spread, graph.doubles(1.0))


def pair_matrices(k: int) -> tuple[np.ndarray, np.ndarray]:
    """Which class is the first, and which the second of each pair, shape (n_pairs, k) each."""
    first, second = np.triu_indices(k, 1)
    return np.eye(k)[first], np.eye(k)[second]


def _count_votes(graph: Graph, won: str, first: np.ndarray, second: np.ndarray) -> str:
    """Votes of the classes, of pairs that the first has won or not."""
    gained = graph.op("MatMul", won, graph.doubles(first - second))
    return graph.op("Add", gained, graph.doubles(second.sum(axis=0)))


def _squash(graph: Graph, sums: str) -> str:
    """``s / (3 (|s| + 1))``."""
    size = graph.op("Mul", graph.op("Add", graph.op("Abs", sums), graph.doubles(1.0)),
                    graph.doubles(3.0))  # fmt: skip
    return graph.op("Div", sums, size)


def ovr_decision_function(graph: Graph, values: str, k: int) -> str:
    """scikit-learn's decision values of classes from those of pairs."""
    first, second = pair_matrices(k)
    lost = graph.op("Less", values, graph.doubles(0.0))
    won = graph.op("Sub", graph.doubles(1.0), graph.to_double(lost))
    votes = _count_votes(graph, won, first, second)
    sums = graph.op("MatMul", values, graph.doubles(first - second))
    return graph.op("Add", votes, _squash(graph, sums))


def vote(graph: Graph, values: str, k: int) -> str:
    """Which class has most votes of the pairs, the first of equals."""
    won = graph.to_double(graph.op("Greater", values, graph.doubles(0.0)))
    votes = _count_votes(graph, won, *pair_matrices(k))
    return graph.op("ArgMax", votes, axis=1, keepdims=0)


def _additive_model(graph: Graph, x: str, part: AdditiveModel) -> str:
    total = None
    for coding, expansion in part.parts:
        coded = x if coding.knots is None else interpolate(graph, x, coding.knots)
        coded = graph.op("Mul", graph.op("Sub", coded, graph.doubles(coding.centre)),
                         graph.doubles(coding.factor))  # fmt: skip
        edge = _model_ir.MAX_STANDARDIZED
        coded = graph.op("Min", graph.op("Max", coded, graph.doubles(-edge)), graph.doubles(edge))
        coded = graph.op("Mul", coded, graph.doubles(coding.scales))
        values = _expansion(graph, coded, expansion)
        total = values if total is None else graph.op("Add", total, values)
    assert total is not None
    return total


def interpolate(graph: Graph, x: str, knots: list[tuple[np.ndarray, np.ndarray]]) -> str:
    """Piecewise linear functions of the columns.

    The pieces of a column are ``score + slope (x - knot)`` from its knots on; which one a value is
    on is the number of knots up to it.
    """
    columns = []
    for column, (values, scores) in enumerate(knots):
        own = graph.op("Gather", x, graph.ints(column), axis=1)
        own = graph.op("Min", graph.op("Max", own, graph.doubles(values[0])),
                       graph.doubles(values[-1]))  # fmt: skip
        if len(values) == 1:
            columns.append(graph.op("Add", graph.op("Mul", own, graph.doubles(0.0)),
                                    graph.doubles(scores[0])))  # fmt: skip
            continue
        # 1 for every knot behind the first that the value has reached.
        reached = graph.op("GreaterOrEqual", own, graph.doubles(values[None, 1:-1]))
        reached = graph.cast(reached, np.int64)
        if len(values) == 2:
            at = graph.op("Mul", graph.cast(own, np.int64), graph.ints(0))
            at = graph.op("Squeeze", at, graph.ints(1))
        else:
            at = graph.op("ReduceSum", reached, graph.ints(1), keepdims=0)
        width = np.diff(values)
        slopes = np.diff(scores) / np.where(width > 0, width, 1.0)
        pieces = [graph.op("Gather", graph.doubles(table), at, axis=0)
                  for table in (values[:-1], scores[:-1], slopes)]  # fmt: skip
        knot, score, slope = (graph.op("Unsqueeze", piece, graph.ints(1)) for piece in pieces)
        ahead = graph.op("Mul", graph.op("Sub", own, knot), slope)
        columns.append(graph.op("Add", score, ahead))
    return columns[0] if len(columns) == 1 else graph.op("Concat", *columns, axis=1)


def model_values(graph: Graph, x: str, part: ModelIR) -> str:
    """Decision values of rows in double precision, shape (n, outputs)."""
    if isinstance(part, ScaledModel):
        return model_values(graph, graph.op("Mul", x, graph.doubles(part.scales)), part.model)
    if isinstance(part, KernelExpansion):
        return _expansion(graph, x, part)
    if isinstance(part, OneVsOneExpansion):
        return _expansion(graph, x, part.expansion())
    if isinstance(part, PerOutputModel):
        each = [_expansion(graph, x, output) for output in part.outputs]
        return each[0] if len(each) == 1 else graph.op("Concat", *each, axis=1)
    if isinstance(part, LinearModel):
        sums = graph.op("MatMul", x, graph.doubles(part.coef.T, "coef"))
        return graph.op("Add", sums, graph.doubles(part.intercept, "intercept"))
    if isinstance(part, FeatureMapModel):
        found = features(graph, x, part.map)
        if len(part.intercept) == 0:
            return found
        sums = graph.op("MatMul", found, graph.doubles(part.coef.T, "coef"))
        return graph.op("Add", sums, graph.doubles(part.intercept, "intercept"))
    if isinstance(part, NearestCellModel):
        return _cells(graph, x, part)
    return _additive_model(graph, x, part)
