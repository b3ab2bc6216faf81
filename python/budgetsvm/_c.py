"""Fitted machines as one C99 header: no allocation, math.h alone, constants in flash."""

from __future__ import annotations

import re
from typing import Any, Literal

import numpy as np

from . import _c_prediction_templates, _c_templates, _model_ir
from ._files import Target, write_atomically
from ._model_ir import (
    AdditiveModel,
    FeatureMapModel,
    FourierFeatures,
    KernelExpansion,
    LinearModel,
    OneVsOneExpansion,
    PerOutputModel,
    ScaledModel,
)
from ._prediction_rule import PredictionRule, decompose

#: Largest magnitudes of points and weights in int16 headers; rows may be twice as large.
MAX_INT16_POINT = 16383
MAX_INT16_WEIGHT = 32767
#: The largest constant for which sums in single precision do not overflow.
MAX_FLOAT32 = 1e37
OUT_OF_RANGE = "numbers beyond single precision: scale the rows before the machine"


def _float_literal(value: float) -> str:
    """A constant of single precision, in as few digits as give it back."""
    return f"{np.float32(value)!s}f"


class CHeader:
    """The tables and functions of a C header, in the order in which they are written."""

    def __init__(self, name: str, dtype: str, fast_exp: bool) -> None:
        self.name, self.short, self.fast_exp = name, dtype == "int16", fast_exp
        self.parts: list[str] = []
        self.kernels: set[str] = set()
        self.n_tables = self.bytes = 0

    def add(self, text: str, **values: Any) -> None:
        # Inserted text may contain placeholders itself.
        for _ in range(2):
            text = _fill_template(text, n=self.name, **values)
        self.parts.append(text)

    def table(self, values: Any, kind: str = "float", what: str = "t") -> str:
        """Add a table of constants and return its name."""
        values = np.asarray(values).ravel()
        name = f"{self.name}_{what}{self.n_tables}"
        self.n_tables += 1
        size = {"float": 4, "double": 8, "int16_t": 2, "int": 4}[kind]
        self.bytes += size * max(len(values), 1)
        if kind == "float":
            shown = [_float_literal(v) for v in values]
        elif kind == "double":
            shown = [repr(float(v)) for v in values]
        else:
            shown = [str(int(v)) for v in values]
        lines, line = [], ""
        for text in shown or ["0"]:
            if len(line) + len(text) > 94:
                lines.append(line)
                line = ""
            line += f"{text}, "
        lines.append(line)
        body = "\n    ".join(line.rstrip() for line in lines).rstrip(",")
        self.add(f"static const {kind} {name}[{max(len(values), 1)}] = {{\n    {body}\n}};")
        return name

    def weights_table(self, values: np.ndarray, what: str) -> tuple[str, str, float]:
        """Add a table of weights; returns its name, its type and the quantization step."""
        if not self.short:
            return self.table(values, what=what), "float", 1.0
        step = float(np.abs(values).max(initial=0.0)) / MAX_INT16_WEIGHT or 1.0
        return self.table(np.rint(values / step), "int16_t", what), "int16_t", step


def _check_range(part: Any) -> None:
    """Refuse a model whose constants overflow single precision."""
    arrays = [value for value in vars(part).values() if isinstance(value, np.ndarray)]
    if any(a.dtype.kind == "f" and np.abs(a).max(initial=0.0) > MAX_FLOAT32 for a in arrays):
        raise ValueError(OUT_OF_RANGE)


def _kernel_code(header: CHeader, kernel: dict[str, Any]) -> tuple[bool, str]:
    """Whether the kernel depends on the distance, and its C expression of the sum `s`."""
    name, number = kernel["name"], _float_literal
    header.kernels.add(name)
    exp = f"{header.name}_exp" if header.fast_exp else "expf"
    if name in ("rbf", "laplacian"):
        return True, f"{exp}({number(-kernel['gamma'])} * s)"
    if name in ("matern32", "matern52"):
        p = 3 if name == "matern32" else 5
        return True, f"{header.name}_{name}({number(2.0 * p * kernel['gamma'])} * s)"
    if name == "linear":
        return False, "s"
    inner = f"{number(kernel['gamma'])} * s + {number(kernel['coef0'])}"
    if name == "sigmoid":
        return False, f"tanhf({inner})"
    return False, f"{header.name}_power({inner}, {int(kernel['degree'])}u)"


def _add_expansion(header: CHeader, at: int, part: KernelExpansion | OneVsOneExpansion) -> int:
    """Add a function that evaluates a kernel expansion; returns its number of outputs."""
    _check_range(part)
    several = isinstance(part, OneVsOneExpansion) and len(part.n_support) > 2
    points = part.points.toarray() if hasattr(part.points, "toarray") else part.points
    coef = part.coef.T if isinstance(part, OneVsOneExpansion) else part.coef  # (B, width)
    of_distance, value = _kernel_code(header, part.kernel)
    absolute = part.kernel["name"] == "laplacian"
    outputs = len(part.intercept)
    moves = bool(part.origin.any())
    origin = f" - {header.table(part.origin, what='origin')}[j]" if moves else ""
    terms, d = points.shape
    if header.short:
        step = float(np.abs(points).max(initial=0.0)) / MAX_INT16_POINT or 1.0
        table = header.table(np.rint(points / step), "int16_t", "points")
        worth = step if absolute else step * step
        reading = _c_templates.READ_SHORT
        row, sum_ = "int32_t", "int64_t"
        how = "d < 0 ? -d : d" if absolute else "(int64_t)d * d"
        term = f"const int32_t d = r[j] - p[j]; a += {how};"
        term = term if of_distance else "a += (int64_t)r[j] * p[j];"
        total = f"(float)a * {_float_literal(worth)}"
    else:
        step, table = 1.0, header.table(points, what="points")
        reading = _c_templates.READ_FLOAT
        row, sum_ = "float", "float"
        how = "fabsf(d)" if absolute else "d * d"
        term = f"const float d = r[j] - p[j]; a += {how};"
        term = term if of_distance else "a += r[j] * p[j];"
        total = "a"
    kind = "int16_t" if header.short else "float"
    weights, weight, worth_of = header.weights_table(coef, "coef")
    offsets = header.table(part.intercept, "double" if not header.short else "float", "offset")
    if isinstance(part, OneVsOneExpansion) and several:
        adding = _c_templates.ADD_PAIRS
        ends = header.table(np.cumsum([0, *part.n_support]), "int", "ends")
        k = len(part.n_support)
    else:
        adding, ends, k = _c_templates.ADD, "", 1
    header.add(
        _c_templates.EXPANSION, at=at, d=d, terms=terms, outputs=outputs, row=row, sum=sum_,
        kind=kind, term=term, total=total, value=value, table=table, offsets=offsets,
        reading=_fill_template(
            reading, origin=origin, by=_float_literal(1 / step), outputs=outputs
        ),
        adding=_fill_template(
            adding, weights=weights, weight=weight, outputs=outputs, ends=ends, k=k,
            width=coef.shape[1], terms=terms,
        ),
        worth=repr(worth_of), weights=weights, weight=weight,
    )  # fmt: skip
    return outputs


def _fill_template(text: str, **values: Any) -> str:
    return re.sub(r"@(\w+)@", lambda m: str(values.get(m[1], m[0])), text).strip("\n")


def _add_linear(header: CHeader, at: int, coef: np.ndarray, intercept: np.ndarray) -> int:
    if np.abs(coef).max(initial=0.0) > MAX_FLOAT32:
        raise ValueError(OUT_OF_RANGE)
    weights, _, worth = header.weights_table(coef, "coef")
    offsets = header.table(intercept, "double" if not header.short else "float", "offset")
    header.add(_c_templates.LINEAR, at=at, d=coef.shape[1], outputs=len(coef), weights=weights,
               offsets=offsets, worth=repr(worth))  # fmt: skip
    return len(coef)


def _add_fourier_features(header: CHeader, at: int, part: FeatureMapModel) -> int:
    waves = part.map
    assert isinstance(waves, FourierFeatures)
    frequencies, _, step = header.weights_table(waves.frequencies, "frequencies")
    phases = header.table(waves.phases, what="phases")
    scale = float(np.sqrt(2.0 / waves.width))
    if len(part.intercept):
        weights, _, worth = header.weights_table(part.coef, "coef")
        offsets = header.table(part.intercept, "double" if not header.short else "float", "offset")
        header.add(_c_templates.WAVES, at=at, d=waves.frequencies.shape[1],
                   m=len(waves.frequencies), paired=waves.paired,
                   outputs=len(part.intercept), width=waves.width,
                   frequencies=frequencies, step=repr(step), phases=phases, weights=weights,
                   worth=repr(worth * scale), offsets=offsets)  # fmt: skip
        return len(part.intercept)
    header.add(_c_templates.WAVE_FEATURES, at=at, d=waves.frequencies.shape[1],
               m=len(waves.frequencies), paired=waves.paired, frequencies=frequencies,
               step=repr(step), phases=phases, scale=repr(scale))  # fmt: skip
    return waves.width


def _add_model(header: CHeader, part: Any) -> list[int]:
    """Add the functions that evaluate the model; returns the number of outputs of each."""
    if isinstance(part, (KernelExpansion, OneVsOneExpansion)):
        return [_add_expansion(header, 0, part)]
    if isinstance(part, PerOutputModel):
        return [_add_expansion(header, at, output) for at, output in enumerate(part.outputs)]
    if isinstance(part, LinearModel):
        return [_add_linear(header, 0, part.coef, part.intercept)]
    if isinstance(part, FeatureMapModel):
        if isinstance(part.map, FourierFeatures):
            return [_add_fourier_features(header, 0, part)]
        return [_add_expansion(header, 0, part.map.expansion())]
    if isinstance(part, AdditiveModel):
        return [_add_additive_model(header, part)]
    raise ValueError(
        "C is written of kernel expansions and of machines on features, and not of cells: "
        "budgetsvm.onnx.to_onnx and save() write it down"
    )


def _add_additive_model(header: CHeader, part: AdditiveModel) -> int:
    """Add a function that sums expansions of transformed columns; returns its number of outputs."""
    calls, outputs, d = [], 0, 0
    for at, (coding, expansion) in enumerate(part.parts, start=1):
        _check_range(coding)
        d = len(coding.centre)
        tables = {
            name: header.table(getattr(coding, name), "double", name)
            for name in ("centre", "factor", "scales")
        }
        ranked = "x[j]"
        if coding.knots is not None:
            ends = np.cumsum([0, *(len(values) for values, _ in coding.knots)])
            values, scores = (np.concatenate([pair[i] for pair in coding.knots]) for i in (0, 1))
            header.add(_c_templates.RANKS, at=at, ends=header.table(ends, "int", "ends"),
                       knots=header.table(values, "double", "knots"),
                       scores=header.table(scores, what="scores"))  # fmt: skip
            ranked = f"{header.name}_rank{at}(j, x[j])"
        header.add(
            _c_templates.CODING, at=at, d=d, value=ranked, edge=_model_ir.MAX_STANDARDIZED, **tables
        )
        outputs = _add_expansion(header, at, expansion)
        calls.append(_fill_template(_c_templates.ADD_CODED, n=header.name, at=at, outputs=outputs))
    header.add(_c_templates.CODED, d=d, outputs=outputs, calls="\n".join(calls))
    return outputs


def _imputation_code(header: CHeader, encoders: list[dict[str, Any]], d: int) -> str:
    """C code that imputes missing numbers and sets the indicator columns."""
    fills = header.table([encoder["fill"] for encoder in encoders], what="fills")
    flags = header.table([encoder["missing"] for encoder in encoders], "int", "missing")
    width = d + sum(encoder["missing"] for encoder in encoders)
    return _fill_template(_c_templates.FILLING, d=d, width=width, fills=fills, flags=flags)


def to_c(
    estimator: Any,
    path: Target | None = None,
    *,
    name: str = "model",
    dtype: Literal["float32", "int16"] = "float32",
    fast_exp: bool = True,
) -> str:
    """A fitted machine as a C99 header that decides by itself.

    Parameters
    ----------
    estimator : estimator of this package
        Fitted: a kernel expansion of any kernel by name (also one an output, exact machines, and
        machines on Nyström features), a machine on random Fourier features, a linear one; one that
        tunes itself, on numbers (NaN is a number that misses); or a transformer. Not
        `LocalBudgetSVC`.
    path : str, path-like, file or None, default=None
        Where to write, whole or not at all.
    name : str, default="model"
        What every name in the header begins with.
    dtype : {"float32", "int16"}, default="float32"
        Type of points and coefficients. With "int16" rows and points are fixed-point numbers of
        one step, a 16383rd of the largest coordinate of a point (rows beyond twice that are cut
        there): distances and products are sums of integers, and each term takes one float
        multiplication and its kernel's function. Coefficients have a step of a 32767th of the
        largest.
    fast_exp : bool, default=True
        Whether the exponential is a polynomial in the header (2 ulp of float32), or `expf`.

    Returns
    -------
    str
        The header. It has ``<name>_decision(const float *x, float *out)`` with ``<NAME>_FEATURES``
        and ``<NAME>_OUTPUTS``; of classes ``<name>_label(x)``, a place in ``<name>_classes``, and
        where there are probabilities ``<name>_probability(x, out)``; of one class a label of 1 or
        -1. Its first lines say how many bytes the constants take.

    Raises
    ------
    NotFittedError
        If the estimator is not fitted.
    ValueError
        If the machine is none of these, or has numbers beyond single precision.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from budgetsvm import BudgetSVC
    >>> from budgetsvm.convert import to_c
    >>> model = BudgetSVC(budget=20, random_state=0).fit(*make_moons(300, random_state=0))
    >>> "model_decision(const float *x, float *out)" in to_c(model)
    True
    """
    if dtype not in ("float32", "int16"):
        raise ValueError(f"dtype must be 'float32' or 'int16', got {dtype!r}")
    if not (isinstance(name, str) and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name)):
        raise ValueError(f"name must be a name in C, got {name!r}")
    part, rule = decompose(estimator)
    who = type(estimator).__name__
    if rule.functions is not None:
        raise ValueError(
            f"{who}: known functions have no place in C; budgetsvm.onnx.to_onnx takes their values "
            "as a second input"
        )
    header = CHeader(name, dtype, bool(fast_exp))
    scales = None
    if isinstance(part, ScaledModel):
        scales, part = part.scales, part.model
    try:
        outputs = _add_model(header, part)
        text = _header(header, rule, scales, outputs, who)
    except ValueError as error:
        raise ValueError(f"{who}: {error}".replace(f"{who}: {who}", who)) from None
    if path is not None:
        with write_atomically(path) as file:
            file.write(text.encode())
    return text


def _header(
    header: CHeader, rule: PredictionRule, scales: Any, outputs: list[int], who: str
) -> str:
    """The text of the header: tables, model and prediction rule."""
    n, d = header.name, rule.n_features
    calls = []
    first = 0
    for at, count in enumerate(outputs):
        calls.append(f"{n}_sum{at}(r, values + {first});")
        first += count
    scaled = "const float *r = x;"
    if scales is not None:
        table = header.table(scales, what="scales")
        scaled = (f"float r[{d}];\n    int j;\n"
                  f"    for (j = 0; j < {d}; j++) r[j] = x[j] * {table}[j];")  # fmt: skip
    elif rule.encoders is not None:
        scaled = _imputation_code(header, rule.encoders, d)
    if rule.sign != 1.0:
        calls.append(f"for (i = 0; i < {first}; i++) values[i] = -values[i];")
    else:
        calls.append("(void)i;")
    if rule.rising:
        calls.append(_c_prediction_templates.RISING.strip().replace("@count@", str(first)))
    header.add(_c_prediction_templates.VALUES, d=d, scaled=scaled, calls="\n    ".join(calls))
    shown = _add_rule(header, rule, first)
    helpers = [
        text for kernel, text in (
            ("exp", _c_templates.EXP if header.fast_exp else ""),
            ("matern32", _c_templates.MATERN32), ("matern52", _c_templates.MATERN52),
            ("poly", _c_templates.POWER),
        )
        if kernel in header.kernels
        or (kernel == "exp" and header.kernels & set(_model_ir.TRANSLATION_INVARIANT_KERNELS))
    ]  # fmt: skip
    exp = f"{n}_exp" if header.fast_exp else "expf"
    head = _fill_template(
        _c_templates.HEAD, N=n.upper(), who=who, d=d, outputs=shown, bytes=header.bytes,
        short="int16" if header.short else "float32",
    )  # fmt: skip
    helped = [_fill_template(text, n=n, exp=exp) for text in helpers if text]
    return "\n\n".join([head, *helped, *header.parts, "#endif"]) + "\n"


def _add_rule(header: CHeader, rule: PredictionRule, count: int) -> int:
    """Add the functions for decision, label and probability; returns the number of decisions."""
    if rule.task in ("values", "features", "sets"):
        width = rule.width if rule.task == "features" else count
        header.add(_c_prediction_templates.PLAIN, count=count, width=width)
        return width
    if rule.task == "sides":
        header.add(_c_prediction_templates.SIDES, edge=repr(rule.boundary))
        return 1
    k = len(rule.classes)
    _add_labels(header, rule.classes)
    shown = count
    decided = rule.most_probable or (rule.curves is not None and rule.curves.decide)
    if k == 2:
        header.add(_c_prediction_templates.TWO, sign="-" if rule.pairs else "")
        label = _c_prediction_templates.TWO_LABEL
    elif not rule.pairs:
        header.add(_c_prediction_templates.SEVERAL, k=k)
        label = _c_prediction_templates.SEVERAL_LABEL
    else:
        header.add(_c_prediction_templates.VOTES, k=k, count=count)
        by_class = rule.shape == "ovr"
        shown = k if by_class else count
        header.add(
            _c_prediction_templates.OF_CLASSES if by_class else _c_prediction_templates.OF_PAIRS,
            k=k,
            count=count,
        )
        label = (
            _c_prediction_templates.BY_TIES if rule.break_ties else _c_prediction_templates.BY_VOTES
        )
    if not decided:
        header.add(label, k=k, count=count)
    if rule.probability is not None or rule.curves is not None:
        _add_probabilities(header, rule, count)
        header.add(_c_prediction_templates.PROBABILITY, k=k)
    if decided:
        header.add(_c_prediction_templates.MOST_PROBABLE, k=k)
    return shown


def _add_probabilities(header: CHeader, rule: PredictionRule, count: int) -> None:
    """Add the function that computes probabilities from values."""
    k, curves = len(rule.classes), rule.curves
    slopes: Any
    offsets: Any
    if curves is not None and curves.softmax is not None:
        header.add(_c_prediction_templates.SOFTMAX, k=k, sharpness=repr(curves.softmax))
        return
    sign, slopes, offsets = "", None, None
    if curves is None:
        assert rule.probability is not None
        how, told = rule.probability
        if how == "softmax":
            header.add(_c_prediction_templates.SOFTMAX, k=k, sharpness=repr(float(told[0])))
            return
        slopes, offsets = (np.atleast_1d(v) for v in told)
        pairs, of_two = (
            True,
            _c_prediction_templates.OF_TWO
            if how == "sigmoid"
            else _c_prediction_templates.FIRST_OF_TWO,
        )
    else:
        pairs, of_two = curves.pairs, _c_prediction_templates.OF_TWO
        if curves.sigmoids is not None:
            slopes, offsets = curves.sigmoids.T
        sign = "-" if rule.sign < 0 else ""
    if slopes is not None and offsets is not None:
        header.add(_c_prediction_templates.SIGMOIDS,
                   slopes=header.table(slopes, "double", "slopes"),
                   shifts=header.table(offsets, "double", "shifts"))  # fmt: skip
    else:
        ends = np.cumsum([0, *(len(at) for at, _ in curves.steps)])
        at, share = (np.concatenate([step[i] for step in curves.steps]) for i in (0, 1))
        header.add(_c_prediction_templates.STEPS, ends=header.table(ends, "int", "ends"),
                   at=header.table(at, "double", "at"),
                   share=header.table(share, "double", "share"))  # fmt: skip
    if k > 2 and pairs:
        header.add(_c_prediction_templates.COUPLE, k=k)
    then = (
        of_two
        if k == 2
        else _c_prediction_templates.OF_COUPLED
        if pairs
        else _c_prediction_templates.OF_PARTS
    )
    header.add(_c_prediction_templates.SHARES, count=count, sign=sign,
               then=_fill_template(then, k=k, n=header.name))  # fmt: skip


def _add_labels(header: CHeader, classes: Any) -> None:
    """Add the table of class labels."""
    classes = np.asarray(classes)
    if classes.dtype.kind in "iub":
        kind, shown = "long long", [f"{int(label)}LL" for label in classes]
    elif classes.dtype.kind == "f":
        kind, shown = "double", [repr(float(label)) for label in classes]
    else:
        kind, shown = "char *const", [_quote(str(label)) for label in classes]
    header.add(f"static const {kind} @n@_classes[{len(classes)}] = {{{', '.join(shown)}}};")


def _quote(text: str) -> str:
    """A C string literal, in which special bytes are octal escapes."""
    plain = re.compile(rb"[A-Za-z0-9 _.,:;+*/=<>()\[\]{}|~^&%$#!-]")
    shown = (chr(b) if plain.match(bytes([b])) else f"\\{b:03o}" for b in text.encode())
    return '"' + "".join(shown) + '"'
