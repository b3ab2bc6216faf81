"""Fitted machines as one C99 header: no allocation, math.h alone, constants in flash."""

from __future__ import annotations

import re
from typing import Any, Literal

import numpy as np

from . import _c_answers, _c_text, _model_ir
from ._files import Target, whole
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
from ._says import Says, taken_apart

#: What points and weights of "int16" may be at most; rows may be twice as far.
STEPS = 16383
WORDS = 32767
#: The largest number that single precision holds with room for sums.
FARTHEST = 1e37
BEYOND = "numbers beyond single precision: scale the rows before the machine"


def _number(value: float) -> str:
    """A constant of single precision, in as few digits as give it back."""
    return f"{np.float32(value)!s}f"


class Source:
    """The tables and functions of a header."""

    def __init__(self, name: str, dtype: str, fast_exp: bool) -> None:
        self.name, self.short, self.fast_exp = name, dtype == "int16", fast_exp
        self.parts: list[str] = []
        self.kernels: set[str] = set()
        self.n_tables = self.bytes = 0

    def add(self, text: str, **values: Any) -> None:
        # What is put in has names of its own.
        for _ in range(2):
            text = _filled(text, n=self.name, **values)
        self.parts.append(text)

    def table(self, values: Any, kind: str = "float", what: str = "t") -> str:
        """A table of constants; its name."""
        values = np.asarray(values).ravel()
        name = f"{self.name}_{what}{self.n_tables}"
        self.n_tables += 1
        size = {"float": 4, "double": 8, "int16_t": 2, "int": 4}[kind]
        self.bytes += size * max(len(values), 1)
        if kind == "float":
            shown = [_number(v) for v in values]
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

    def stored(self, values: np.ndarray, what: str) -> tuple[str, str, float]:
        """A table of weights in the header's own type: name, type, and what one step is worth."""
        if not self.short:
            return self.table(values, what=what), "float", 1.0
        step = float(np.abs(values).max(initial=0.0)) / WORDS or 1.0
        return self.table(np.rint(values / step), "int16_t", what), "int16_t", step


def _finite(part: Any) -> None:
    """Whether single precision holds what the machine is made of."""
    arrays = [value for value in vars(part).values() if isinstance(value, np.ndarray)]
    if any(a.dtype.kind == "f" and np.abs(a).max(initial=0.0) > FARTHEST for a in arrays):
        raise ValueError(BEYOND)


def _kernel(source: Source, kernel: dict[str, Any]) -> tuple[bool, str]:
    """Whether it is of distances, and its value as C of the sum `s`."""
    name, number = kernel["name"], _number
    source.kernels.add(name)
    exp = f"{source.name}_exp" if source.fast_exp else "expf"
    if name in ("rbf", "laplacian"):
        return True, f"{exp}({number(-kernel['gamma'])} * s)"
    if name in ("matern32", "matern52"):
        p = 3 if name == "matern32" else 5
        return True, f"{source.name}_{name}({number(2.0 * p * kernel['gamma'])} * s)"
    if name == "linear":
        return False, "s"
    inner = f"{number(kernel['gamma'])} * s + {number(kernel['coef0'])}"
    if name == "sigmoid":
        return False, f"tanhf({inner})"
    return False, f"{source.name}_power({inner}, {int(kernel['degree'])}u)"


def _expansion(source: Source, at: int, part: KernelExpansion | OneVsOneExpansion) -> int:
    """A function that adds the values of an expansion; how many outputs it has."""
    _finite(part)
    several = isinstance(part, OneVsOneExpansion) and len(part.n_support) > 2
    points = part.points.toarray() if hasattr(part.points, "toarray") else part.points
    coef = part.coef.T if isinstance(part, OneVsOneExpansion) else part.coef  # (B, width)
    of_distance, value = _kernel(source, part.kernel)
    absolute = part.kernel["name"] == "laplacian"
    outputs = len(part.intercept)
    moves = bool(part.origin.any())
    origin = f" - {source.table(part.origin, what='origin')}[j]" if moves else ""
    terms, d = points.shape
    if source.short:
        step = float(np.abs(points).max(initial=0.0)) / STEPS or 1.0
        table = source.table(np.rint(points / step), "int16_t", "points")
        worth = step if absolute else step * step
        reading = _c_text.READ_SHORT
        row, sum_ = "int32_t", "int64_t"
        how = "d < 0 ? -d : d" if absolute else "(int64_t)d * d"
        term = f"const int32_t d = r[j] - p[j]; a += {how};"
        term = term if of_distance else "a += (int64_t)r[j] * p[j];"
        total = f"(float)a * {_number(worth)}"
    else:
        step, table = 1.0, source.table(points, what="points")
        reading = _c_text.READ_FLOAT
        row, sum_ = "float", "float"
        how = "fabsf(d)" if absolute else "d * d"
        term = f"const float d = r[j] - p[j]; a += {how};"
        term = term if of_distance else "a += r[j] * p[j];"
        total = "a"
    kind = "int16_t" if source.short else "float"
    weights, weight, worth_of = source.stored(coef, "coef")
    offsets = source.table(part.intercept, "double" if not source.short else "float", "offset")
    if isinstance(part, OneVsOneExpansion) and several:
        adding = _c_text.ADD_PAIRS
        ends = source.table(np.cumsum([0, *part.n_support]), "int", "ends")
        k = len(part.n_support)
    else:
        adding, ends, k = _c_text.ADD, "", 1
    source.add(
        _c_text.EXPANSION, at=at, d=d, terms=terms, outputs=outputs, row=row, sum=sum_, kind=kind,
        term=term, total=total, value=value, table=table, offsets=offsets,
        reading=_filled(reading, origin=origin, by=_number(1 / step), outputs=outputs),
        adding=_filled(
            adding, weights=weights, weight=weight, outputs=outputs, ends=ends, k=k,
            width=coef.shape[1], terms=terms,
        ),
        worth=repr(worth_of), weights=weights, weight=weight,
    )  # fmt: skip
    return outputs


def _filled(text: str, **values: Any) -> str:
    return re.sub(r"@(\w+)@", lambda m: str(values.get(m[1], m[0])), text).strip("\n")


def _linear(source: Source, at: int, coef: np.ndarray, intercept: np.ndarray) -> int:
    if np.abs(coef).max(initial=0.0) > FARTHEST:
        raise ValueError(BEYOND)
    weights, _, worth = source.stored(coef, "coef")
    offsets = source.table(intercept, "double" if not source.short else "float", "offset")
    source.add(_c_text.LINEAR, at=at, d=coef.shape[1], outputs=len(coef), weights=weights,
               offsets=offsets, worth=repr(worth))  # fmt: skip
    return len(coef)


def _waves(source: Source, at: int, part: FeatureMapModel) -> int:
    waves = part.map
    assert isinstance(waves, FourierFeatures)
    frequencies, _, step = source.stored(waves.frequencies, "frequencies")
    phases = source.table(waves.phases, what="phases")
    scale = float(np.sqrt(2.0 / waves.width))
    if len(part.intercept):
        weights, _, worth = source.stored(part.coef, "coef")
        offsets = source.table(part.intercept, "double" if not source.short else "float", "offset")
        source.add(_c_text.WAVES, at=at, d=waves.frequencies.shape[1], m=len(waves.frequencies),
                   paired=waves.paired, outputs=len(part.intercept), width=waves.width,
                   frequencies=frequencies, step=repr(step), phases=phases, weights=weights,
                   worth=repr(worth * scale), offsets=offsets)  # fmt: skip
        return len(part.intercept)
    source.add(_c_text.WAVE_FEATURES, at=at, d=waves.frequencies.shape[1],
               m=len(waves.frequencies), paired=waves.paired, frequencies=frequencies,
               step=repr(step), phases=phases, scale=repr(scale))  # fmt: skip
    return waves.width


def _sums(source: Source, part: Any) -> list[int]:
    """Functions of the parts, and how many outputs each has."""
    if isinstance(part, (KernelExpansion, OneVsOneExpansion)):
        return [_expansion(source, 0, part)]
    if isinstance(part, PerOutputModel):
        return [_expansion(source, at, output) for at, output in enumerate(part.outputs)]
    if isinstance(part, LinearModel):
        return [_linear(source, 0, part.coef, part.intercept)]
    if isinstance(part, FeatureMapModel):
        if isinstance(part.map, FourierFeatures):
            return [_waves(source, 0, part)]
        return [_expansion(source, 0, part.map.expansion())]
    if isinstance(part, AdditiveModel):
        return [_coded(source, part)]
    raise ValueError(
        "C is written of kernel expansions and of machines on features, and not of cells: "
        "budgetsvm.onnx.to_onnx and save() write it down"
    )


def _coded(source: Source, part: AdditiveModel) -> int:
    """A function that adds expansions, each of coordinates of its own; how many outputs."""
    calls, outputs, d = [], 0, 0
    for at, (coding, expansion) in enumerate(part.parts, start=1):
        _finite(coding)
        d = len(coding.centre)
        tables = {
            name: source.table(getattr(coding, name), "double", name)
            for name in ("centre", "factor", "scales")
        }
        ranked = "x[j]"
        if coding.knots is not None:
            ends = np.cumsum([0, *(len(values) for values, _ in coding.knots)])
            values, scores = (np.concatenate([pair[i] for pair in coding.knots]) for i in (0, 1))
            source.add(_c_text.RANKS, at=at, ends=source.table(ends, "int", "ends"),
                       knots=source.table(values, "double", "knots"),
                       scores=source.table(scores, what="scores"))  # fmt: skip
            ranked = f"{source.name}_rank{at}(j, x[j])"
        source.add(
            _c_text.CODING, at=at, d=d, value=ranked, edge=_model_ir.MAX_STANDARDIZED, **tables
        )
        outputs = _expansion(source, at, expansion)
        calls.append(_filled(_c_text.ADD_CODED, n=source.name, at=at, outputs=outputs))
    source.add(_c_text.CODED, d=d, outputs=outputs, calls="\n".join(calls))
    return outputs


def _filling(source: Source, plans: list[dict[str, Any]], d: int) -> str:
    """C that puts numbers in place of those that miss, and columns that say which."""
    fills = source.table([plan["fill"] for plan in plans], what="fills")
    flags = source.table([plan["missing"] for plan in plans], "int", "missing")
    width = d + sum(plan["missing"] for plan in plans)
    return _filled(_c_text.FILLING, d=d, width=width, fills=fills, flags=flags)


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
    part, says = taken_apart(estimator)
    who = type(estimator).__name__
    if says.functions is not None:
        raise ValueError(
            f"{who}: known functions have no place in C; budgetsvm.onnx.to_onnx takes their values "
            "as a second input"
        )
    source = Source(name, dtype, bool(fast_exp))
    scales = None
    if isinstance(part, ScaledModel):
        scales, part = part.scales, part.model
    try:
        outputs = _sums(source, part)
        text = _whole(source, says, scales, outputs, who)
    except ValueError as error:
        raise ValueError(f"{who}: {error}".replace(f"{who}: {who}", who)) from None
    if path is not None:
        with whole(path) as file:
            file.write(text.encode())
    return text


def _whole(source: Source, says: Says, scales: Any, outputs: list[int], who: str) -> str:
    """The header of tables, sums and answers."""
    n, d = source.name, says.n_features
    calls = []
    first = 0
    for at, count in enumerate(outputs):
        calls.append(f"{n}_sum{at}(r, values + {first});")
        first += count
    scaled = "const float *r = x;"
    if scales is not None:
        table = source.table(scales, what="scales")
        scaled = (f"float r[{d}];\n    int j;\n"
                  f"    for (j = 0; j < {d}; j++) r[j] = x[j] * {table}[j];")  # fmt: skip
    elif says.plans is not None:
        scaled = _filling(source, says.plans, d)
    if says.sign != 1.0:
        calls.append(f"for (i = 0; i < {first}; i++) values[i] = -values[i];")
    else:
        calls.append("(void)i;")
    if says.rising:
        calls.append(_c_answers.RISING.strip().replace("@count@", str(first)))
    source.add(_c_answers.VALUES, d=d, scaled=scaled, calls="\n    ".join(calls))
    shown = _answers(source, says, first)
    helpers = [
        text for kernel, text in (
            ("exp", _c_text.EXP if source.fast_exp else ""), ("matern32", _c_text.MATERN32),
            ("matern52", _c_text.MATERN52), ("poly", _c_text.POWER),
        )
        if kernel in source.kernels
        or (kernel == "exp" and source.kernels & set(_model_ir.TRANSLATION_INVARIANT_KERNELS))
    ]  # fmt: skip
    exp = f"{n}_exp" if source.fast_exp else "expf"
    head = _filled(
        _c_text.HEAD, N=n.upper(), who=who, d=d, outputs=shown, bytes=source.bytes,
        short="int16" if source.short else "float32",
    )  # fmt: skip
    helped = [_filled(text, n=n, exp=exp) for text in helpers if text]
    return "\n\n".join([head, *helped, *source.parts, "#endif"]) + "\n"


def _answers(source: Source, says: Says, count: int) -> int:
    """Decision, label and probability; how many decision values there are."""
    if says.task in ("values", "features", "sets"):
        width = says.width if says.task == "features" else count
        source.add(_c_answers.PLAIN, count=count, width=width)
        return width
    if says.task == "sides":
        source.add(_c_answers.SIDES, edge=repr(says.boundary))
        return 1
    k = len(says.classes)
    _classes(source, says.classes)
    shown = count
    decided = says.most_probable or (says.curves is not None and says.curves.decide)
    if k == 2:
        source.add(_c_answers.TWO, sign="-" if says.pairs else "")
        label = _c_answers.TWO_LABEL
    elif not says.pairs:
        source.add(_c_answers.SEVERAL, k=k)
        label = _c_answers.SEVERAL_LABEL
    else:
        source.add(_c_answers.VOTES, k=k, count=count)
        by_class = says.shape == "ovr"
        shown = k if by_class else count
        source.add(_c_answers.OF_CLASSES if by_class else _c_answers.OF_PAIRS, k=k, count=count)
        label = _c_answers.BY_TIES if says.break_ties else _c_answers.BY_VOTES
    if not decided:
        source.add(label, k=k, count=count)
    if says.probability is not None or says.curves is not None:
        _shares(source, says, count)
        source.add(_c_answers.PROBABILITY, k=k)
    if decided:
        source.add(_c_answers.MOST_PROBABLE, k=k)
    return shown


def _shares(source: Source, says: Says, count: int) -> None:
    """The function that makes probabilities of values."""
    k, curves = len(says.classes), says.curves
    slopes: Any
    offsets: Any
    if curves is not None and curves.softmax is not None:
        source.add(_c_answers.SOFTMAX, k=k, sharpness=repr(curves.softmax))
        return
    sign, slopes, offsets = "", None, None
    if curves is None:
        assert says.probability is not None
        how, told = says.probability
        if how == "softmax":
            source.add(_c_answers.SOFTMAX, k=k, sharpness=repr(float(told[0])))
            return
        slopes, offsets = (np.atleast_1d(v) for v in told)
        pairs, of_two = True, _c_answers.OF_TWO if how == "sigmoid" else _c_answers.FIRST_OF_TWO
    else:
        pairs, of_two = curves.pairs, _c_answers.OF_TWO
        if curves.sigmoids is not None:
            slopes, offsets = curves.sigmoids.T
        sign = "-" if says.sign < 0 else ""
    if slopes is not None and offsets is not None:
        source.add(_c_answers.SIGMOIDS, slopes=source.table(slopes, "double", "slopes"),
                   shifts=source.table(offsets, "double", "shifts"))  # fmt: skip
    else:
        ends = np.cumsum([0, *(len(at) for at, _ in curves.steps)])
        at, share = (np.concatenate([step[i] for step in curves.steps]) for i in (0, 1))
        source.add(_c_answers.STEPS, ends=source.table(ends, "int", "ends"),
                   at=source.table(at, "double", "at"),
                   share=source.table(share, "double", "share"))  # fmt: skip
    if k > 2 and pairs:
        source.add(_c_answers.COUPLE, k=k)
    then = of_two if k == 2 else _c_answers.OF_COUPLED if pairs else _c_answers.OF_PARTS
    source.add(_c_answers.SHARES, count=count, sign=sign,
               then=_filled(then, k=k, n=source.name))  # fmt: skip


def _classes(source: Source, classes: Any) -> None:
    """The labels, in the order of their places."""
    classes = np.asarray(classes)
    if classes.dtype.kind in "iub":
        kind, shown = "long long", [f"{int(label)}LL" for label in classes]
    elif classes.dtype.kind == "f":
        kind, shown = "double", [repr(float(label)) for label in classes]
    else:
        kind, shown = "char *const", [_quoted(str(label)) for label in classes]
    source.add(f"static const {kind} @n@_classes[{len(classes)}] = {{{', '.join(shown)}}};")


def _quoted(text: str) -> str:
    """A string of C, every byte that is not a plain letter by its number."""
    plain = re.compile(rb"[A-Za-z0-9 _.,:;+*/=<>()\[\]{}|~^&%$#!-]")
    shown = (chr(b) if plain.match(bytes([b])) else f"\\{b:03o}" for b in text.encode())
    return '"' + "".join(shown) + '"'
