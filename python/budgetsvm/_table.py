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
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

#: Up to so many levels have a column each.
FEW_LEVELS = 12
#: Rows that the mean of all counts for in the mean of a level.
PRIOR = 10.0
FOLDS = 5
#: Rows that a median is taken of, at most.
SAMPLE = 20_000

Plan = dict[str, Any]


def is_frame(X: Any) -> bool:
    """Whether this is a data frame with columns of types of their own."""
    return hasattr(X, "iloc") and hasattr(X, "dtypes") and hasattr(X, "columns")


def _is_number(column: Any) -> bool:
    kind = getattr(column.dtype, "kind", "O")
    return kind in "biuf" and str(column.dtype) != "category"


def has_levels(X: Any) -> bool:
    """Whether a frame has columns that are no numbers."""
    return is_frame(X) and not all(_is_number(X.iloc[:, k]) for k in range(X.shape[1]))


def columns_of(X: Any, plans: list[Plan] | None = None) -> list[np.ndarray]:
    """The columns of a frame: float64 with NaN, or objects (text or None) that are levels.

    What a column has been in training, which `plans` say, it is again: levels that are numbers may
    come in a column of numbers, and none of a column of objects may be known.
    """
    found = []
    for k in range(X.shape[1]):
        column, plan = X.iloc[:, k], {} if plans is None else plans[k]
        if getattr(column.dtype, "kind", "O") in "mMc":
            name = f"X: column {X.columns[k]!r} is of type {column.dtype}"
            raise ValueError(f"{name}: turn times into numbers first")
        if "levels" in plan:
            found.append(_texts(column, set(plan["levels"])))
        elif _is_number(column) or _holds_numbers(column, least=0 if "fill" in plan else 1):
            found.append(_doubles(column))
        else:
            found.append(_texts(column, set()))
    return found


def _holds_numbers(column: Any, least: int) -> bool:
    """Whether these are objects, at least so many known, and all of them numbers."""
    if str(column.dtype) != "object":
        return False
    known = column[~column.isna()]
    return len(known) >= least and all(_is_real(value) for value in known)


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _texts(column: Any, known: set[str | None]) -> np.ndarray:
    """Levels; numbers as they are written among the known ones, where 5 may be 5.0."""
    missing = np.asarray(column.isna())
    texts = np.array([str(value) for value in column], dtype=object)
    for i, value in enumerate(column):
        if missing[i]:
            texts[i] = None
        elif known and texts[i] not in known and _is_real(value) and value == value // 1:
            other = {str(int(value)), str(float(value))} & known
            texts[i] = other.pop() if other else texts[i]
    return texts


def _doubles(column: Any) -> np.ndarray:
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isinf(values).any():
        raise ValueError("Input X contains infinity or a value too large for float64")
    return values


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
    """New rows by the plans of `learn`."""
    pairs = zip(plans, columns, strict=True)
    return np.hstack([_apply(plan, column) for plan, column in pairs])


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
        if column.dtype == object:
            raise ValueError("X has text in a column that had numbers when the machine was fitted")
        missing = np.isnan(column)
        filled = np.where(missing, plan["fill"], column)[:, None]
        return np.hstack([filled, missing[:, None]]) if plan["missing"] else filled
    if column.dtype != object:
        column = np.array([None if np.isnan(v) else str(v) for v in column], dtype=object)
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
