"""Tables as people have them become numbers: missing values, categories.

A table that is all finite numbers is used as it is. Else every column has a plan, learnt in `fit`
and kept as JSON:

- a number: missing ones become the median, and a second column says which were missing, where some
  were in training;
- levels, few: a column a level, 1 where the row has it; a level that training has not seen is 0 in
  all of them. "Missing" is a level;
- levels, many: the mean target of the rows of the level, drawn towards the mean of all as if there
  were ten rows more. A training row gets the means of the other folds, for its own target must not
  speak for it.

A column is a number where its type is one or a bool, and where all that is known of it are numbers,
bools, decimals or texts that are numbers, as pandas reads them from a file. A column of the type
"category" has levels whatever they are. What a column was in training it is again: levels that are
numbers may come as numbers of any type, and numbers as text.
"""

from __future__ import annotations

import math
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from ._frames import Column, Frame

#: Up to so many levels have a column each.
FEW_LEVELS = 12
#: Rows that the mean of all counts for in the mean of a level.
PRIOR = 10.0
FOLDS = 5
#: Rows that a median is taken of, at most.
SAMPLE = 20_000
#: The share of the levels that are numbers, and of the rows that have a level of their own, from
#: which on levels are not what was meant.
_MOST = 0.5

Plan = dict[str, Any]
#: A value by its type too, for True is 1 and 1 is 1.0.
_Key = tuple[type, Any]


def read(columns: list[Column]) -> tuple[list[np.ndarray], list[str]]:
    """Columns of a frame to learn from: float64 with NaN, or levels (text or None) as objects.

    Beside them is what to warn of.
    """
    found, written, doubts = [], [], []
    for column in columns:
        if column.is_number:
            found.append(_finite(column, column.numbers()))
            continue
        objects = column.objects()
        numbers = {} if column.is_category else _numbers_of(objects)
        if any(number is not None and math.isfinite(number) for number in numbers.values()) and (
            None not in numbers.values()
        ):
            found.append(_finite(column, _replaced(objects, numbers)))
            if any(issubclass(kind, str) for kind, _ in numbers):
                written.append(repr(column.name))
        else:
            found.append(_texts(objects))
            doubts.extend(_doubt(column, numbers, objects))
    if written:
        doubts.append(
            f"X: numbers that are written as text are read as numbers (columns {', '.join(written)}"
            "). Where they are categories give the columns the type 'category'."
        )
    return found, doubts


def _finite(column: Column, values: np.ndarray) -> np.ndarray:
    if np.isinf(values).any():
        raise column.wrong("contains infinity or a value too large for float64")
    return values


def _numbers_of(objects: list[Any]) -> dict[_Key, float | None]:
    """The number that every known value is; None where it is none."""
    return {(kind, v): _number(v) for kind, v in {(type(v), v) for v in objects if v is not None}}


def _number(value: Any) -> float | None:
    """The number that a value is or that its text says; NaN for a text that is empty."""
    if isinstance(value, str) and not value.strip():
        return math.nan
    if isinstance(value, (str, Real, Decimal, np.bool_)):
        try:
            return float(value)
        except OverflowError:
            return math.inf
        except ValueError:
            return None
    return None


def _replaced(objects: list[Any], numbers: dict[_Key, float | None]) -> np.ndarray:
    """The numbers of values, NaN where nothing is known."""
    known = [math.nan if v is None else numbers[type(v), v] for v in objects]
    return np.array(known, dtype=np.float64)


def _doubt(column: Column, numbers: dict[_Key, float | None], objects: list[Any]) -> list[str]:
    """Why a column of many levels may have been meant otherwise."""
    if len(numbers) <= FEW_LEVELS:
        return []
    others = [key[1] for key, number in numbers.items() if number is None]
    if len(others) < (1 - _MOST) * len(numbers):
        return [
            f"X: column {column.name!r} has categories, most of which are numbers, but not all "
            f"(not {min(map(str, others))!r}): where it is a number give None for what is not known"
        ]
    if len(numbers) > _MOST * len(objects):
        return [
            f"X: column {column.name!r} has {len(numbers)} categories in {len(objects)} rows, of "
            "which hardly anything can be learnt: leave it out, or make numbers of it"
        ]
    return []


def _texts(objects: list[Any]) -> np.ndarray:
    """Levels as they are written."""
    written: dict[_Key, str] = {}
    found = np.empty(len(objects), dtype=object)
    for i, value in enumerate(objects):
        if value is not None:
            key = (type(value), value)
            if key not in written:
                written[key] = str(value)
            found[i] = written[key]
    return found


def rows_of(plans: list[Plan], frame: Frame) -> np.ndarray:
    """New rows of a frame by the plans of `learn`, whatever types its columns have now."""
    columns = frame.columns()
    if len(columns) != len(plans):
        raise ValueError(f"X must have {len(plans)} columns, got {len(columns)}")
    found = []
    for plan, column in zip(plans, columns, strict=True):
        if "levels" in plan:
            found.append(_apply(plan, _known_texts(column.objects(), plan["levels"])))
            continue
        values = column.numbers() if column.is_number else _as_numbers(column)
        found.append(_apply(plan, _finite(column, values)))
    return np.hstack(found)


def _as_numbers(column: Column) -> np.ndarray:
    """The numbers of a column that had numbers in training."""
    objects = column.objects()
    numbers = _numbers_of(objects)
    for (_, value), number in numbers.items():
        if number is None:
            raise column.wrong(f"has {value!r}, but had numbers when the machine was fitted")
    return _replaced(objects, numbers)


def _known_texts(objects: list[Any], levels: list[str | None]) -> np.ndarray:
    """Values as the levels are written that they are: 5 may be "5.0", True "1"."""
    found = _texts(objects)
    known = set(levels)
    by_number: dict[float, str] = {}
    for level in levels:
        number = None if level is None else _number(level)
        if level is not None and number is not None:
            by_number.setdefault(number, level)
    for level, number in (("False", 0.0), ("True", 1.0)):
        if level in known:
            by_number.setdefault(number, level)
    for i, value in enumerate(objects):
        if value is not None and found[i] not in known:
            number = _number(value)
            found[i] = found[i] if number is None else by_number.get(number, found[i])
    return found


def numbers_of(frame: Frame) -> np.ndarray:
    """A frame without levels as numbers, NaN where nothing is known."""
    return np.column_stack(
        [c.numbers() if c.is_number else _as_numbers(c) for c in frame.columns()]
    )


def learn(
    columns: list[np.ndarray], values: np.ndarray, weights: np.ndarray, seed: int
) -> tuple[list[Plan], np.ndarray]:
    """Plans of the columns, and the training rows by them.

    `values` are the targets, shape (n_samples, n_outputs), which many levels are coded by.
    """
    plans: list[Plan] = []
    parts: list[np.ndarray] = []
    for column in columns:
        if column.dtype != object:
            plan = _plan_number(column)
            plans.append(plan)
            parts.append(_apply(plan, column))
            continue
        levels = sorted({text for text in column if text is not None})
        if any(text is None for text in column):
            levels = [*levels, None]
        if len(levels) <= FEW_LEVELS:
            plans.append({"levels": levels})
            parts.append(_apply(plans[-1], column))
        else:
            plan, part = _plan_means(column, levels, values, weights, seed)
            plans.append(plan)
            parts.append(part)
    return plans, np.hstack(parts)


def plain_plans(X: np.ndarray) -> list[Plan]:
    """Plans of rows in which nothing is missing: medians, for rows in which something is."""
    step = max(1, len(X) // SAMPLE)
    medians = np.median(X[::step], axis=0).astype(np.float64)
    return [{"fill": float(v), "missing": 0} for v in medians]


def changes_nothing(plans: list[Plan]) -> bool:
    """Whether rows of numbers, none missing, stay as they are."""
    return all(plan.get("missing") == 0 for plan in plans)


def wants_frame(plans: list[Plan] | None) -> bool:
    """Whether there are columns of levels, which an array of numbers has not got."""
    return plans is not None and any("levels" in plan for plan in plans)


def apply(plans: list[Plan], columns: list[np.ndarray]) -> np.ndarray:
    """New rows by the plans of `learn`, of columns as that takes them."""
    pairs = zip(plans, columns, strict=True)
    return np.hstack([_apply(plan, column) for plan, column in pairs])


def coded(plans: list[Plan], rows: np.ndarray) -> np.ndarray:
    """New rows of numbers by the plans, NaN where nothing is known."""
    if changes_nothing(plans) and not np.isnan(rows).any():
        return rows
    return apply(plans, list(rows.astype(np.float64).T))


def widths(plans: list[Plan]) -> list[int]:
    """Columns that every column becomes."""
    return [len(_shape(plan)) for plan in plans]


def _shape(plan: Plan) -> Any:
    if "fill" in plan:
        return range(1 + plan["missing"])
    return plan["means"][0] if "means" in plan else plan["levels"]


def _plan_number(column: np.ndarray) -> Plan:
    known = column[~np.isnan(column)]
    step = max(1, len(known) // SAMPLE)
    fill = float(np.median(known[::step])) if len(known) else 0.0
    return {"fill": fill, "missing": int(len(known) < len(column))}


def _plan_means(
    column: np.ndarray, levels: list, values: np.ndarray, weights: np.ndarray, seed: int
) -> tuple[Plan, np.ndarray]:
    index = _index(column, levels)
    fold = np.random.default_rng(seed).permutation(len(index)) % FOLDS
    part = np.empty((len(index), values.shape[1]))
    for out in range(FOLDS):
        others = fold != out
        means = _means(index[others], len(levels), values[others], weights[others])
        part[~others] = means[index[~others]]
    means = _means(index, len(levels), values, weights)
    return {"levels": levels, "means": means.tolist()}, part


def _means(index: np.ndarray, k: int, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Mean targets of the k levels, and of all in the end, for levels that are new."""
    total = weights.sum()
    prior = (weights @ values) / total if total > 0 else np.zeros(values.shape[1])
    count = np.bincount(index, weights=weights, minlength=k)
    sums = np.stack(
        [np.bincount(index, weights=weights * column, minlength=k) for column in values.T], axis=1
    )
    means = (sums + PRIOR * prior) / (count + PRIOR)[:, None]
    return np.vstack([means, prior])


def _index(column: np.ndarray, levels: list) -> np.ndarray:
    """The place of every row's level; the number of levels for one that is new."""
    places = {level: at for at, level in enumerate(levels)}
    return np.array([places.get(text, len(levels)) for text in column], dtype=np.intp)


def _apply(plan: Plan, column: np.ndarray) -> np.ndarray:
    if "fill" in plan:
        missing = np.isnan(column)
        filled = np.where(missing, plan["fill"], column)[:, None]
        return np.hstack([filled, missing[:, None]]) if plan["missing"] else filled
    index = _index(column, plan["levels"])
    if "means" in plan:
        return np.asarray(plan["means"])[index]
    return (index[:, None] == np.arange(len(plan["levels"]))).astype(np.float64)


def is_plans(value: Any) -> bool:
    """Whether these are plans, as a file holds them."""
    return isinstance(value, list) and all(map(_is_plan, value))


def _is_plan(plan: Any) -> bool:
    if not isinstance(plan, dict):
        return False
    if set(plan) == {"fill", "missing"}:
        return type(plan["fill"]) is float and plan["missing"] in (0, 1)
    levels: Any = plan.get("levels")
    means: Any = plan.get("means")
    if not isinstance(levels, list) or not levels or not set(plan) <= {"levels", "means"}:
        return False
    texts = [level for level in levels if level is not None]
    fine = all(type(text) is str for text in texts) and texts == sorted(set(texts))
    if not fine or len(levels) - len(texts) > 1 or None in levels[:-1]:
        return False
    if "means" not in plan:
        return True
    rows = isinstance(means, list) and len(means) == len(levels) + 1
    return rows and all(
        isinstance(row, list)
        and len(row) == len(means[0]) > 0
        and all(type(v) is float for v in row)
        for row in means
    )
