"""Encoders that turn the columns of a table into numbers: missing values and categories.

A table of finite numbers is used unchanged. Otherwise `fit` learns an encoder for every column and
keeps it as JSON:

- numbers: missing values become the median; if some were missing in training, a second column
  indicates which;
- few levels: one-hot encoding, with 0 in all columns for a level that training has not seen.
  "Missing" is a level;
- many levels: target encoding, the mean target of the rows of the level, shrunk towards the mean of
  all rows as if there were ten rows more. A training row gets the means of the other folds, so that
  its own target does not leak.

A column is numeric if its type is a number or a bool, or if all its known values are numbers,
bools, decimals or texts that are numbers, as pandas reads them from a file. A column of the type
"category" always has levels. A column keeps its kind after training: levels that are numbers may
then come as numbers of any type, and numbers as text.
"""

from __future__ import annotations

import math
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from ._frames import Column, Frame

#: A column of at most so many levels is one-hot encoded.
MAX_ONE_HOT_LEVELS = 12
#: Weight, in rows, of the overall mean in the mean of a level.
PRIOR_ROWS = 10.0
#: Folds of the target encoding of training rows.
CROSS_FITTING_FOLDS = 5
#: The largest number of rows from which a median is computed.
MAX_MEDIAN_ROWS = 20_000
#: A warning is given if more than this share of the levels are numbers, or if there are more levels
#: than this share of the rows.
_MAX_SHARE = 0.5

ColumnEncoder = dict[str, Any]
#: A value together with its type, because True == 1 == 1.0.
_Key = tuple[type, Any]


def read_columns(columns: list[Column]) -> tuple[list[np.ndarray], list[str]]:
    """Columns of a training frame (float64 with NaN, or levels as text or None), and warnings."""
    found, written, doubts = [], [], []
    for column in columns:
        if column.is_number:
            found.append(_check_no_infinity(column, column.numbers()))
            continue
        objects = column.objects()
        numbers = {} if column.is_category else _numbers_of(objects)
        if any(number is not None and math.isfinite(number) for number in numbers.values()) and (
            None not in numbers.values()
        ):
            found.append(_check_no_infinity(column, _to_numbers(objects, numbers)))
            if any(issubclass(kind, str) for kind, _ in numbers):
                written.append(repr(column.name))
        else:
            found.append(_level_names(objects))
            doubts.extend(_suspicions(column, numbers, objects))
    if written:
        doubts.append(
            f"X: numbers that are written as text are read as numbers (columns {', '.join(written)}"
            "). Where they are categories give the columns the type 'category'."
        )
    return found, doubts


def _check_no_infinity(column: Column, values: np.ndarray) -> np.ndarray:
    if np.isinf(values).any():
        raise column.wrong("contains infinity or a value too large for float64")
    return values


def _numbers_of(objects: list[Any]) -> dict[_Key, float | None]:
    """The number for every known value; None for a value that is no number."""
    return {(kind, v): _number(v) for kind, v in {(type(v), v) for v in objects if v is not None}}


def _number(value: Any) -> float | None:
    """The number that a value or its text is; NaN for an empty text, None for other values."""
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


def _to_numbers(objects: list[Any], numbers: dict[_Key, float | None]) -> np.ndarray:
    """The values as numbers; a missing value is NaN."""
    known = [math.nan if v is None else numbers[type(v), v] for v in objects]
    return np.array(known, dtype=np.float64)


def _suspicions(column: Column, numbers: dict[_Key, float | None], objects: list[Any]) -> list[str]:
    """Warnings for a column of many levels that may not be categorical."""
    if len(numbers) <= MAX_ONE_HOT_LEVELS:
        return []
    others = [key[1] for key, number in numbers.items() if number is None]
    if len(others) < (1 - _MAX_SHARE) * len(numbers):
        return [
            f"X: column {column.name!r} has categories, most of which are numbers, but not all "
            f"(not {min(map(str, others))!r}): where it is a number give None for what is not known"
        ]
    if len(numbers) > _MAX_SHARE * len(objects):
        return [
            f"X: column {column.name!r} has {len(numbers)} categories in {len(objects)} rows, of "
            "which hardly anything can be learnt: leave it out, or make numbers of it"
        ]
    return []


def _level_names(objects: list[Any]) -> np.ndarray:
    """The levels as text; a missing value is None."""
    written: dict[_Key, str] = {}
    found = np.empty(len(objects), dtype=object)
    for i, value in enumerate(objects):
        if value is not None:
            key = (type(value), value)
            if key not in written:
                written[key] = str(value)
            found[i] = written[key]
    return found


def encode_frame(encoders: list[ColumnEncoder], frame: Frame) -> np.ndarray:
    """Encode the rows of a frame, whatever types its columns have now."""
    columns = frame.columns()
    if len(columns) != len(encoders):
        raise ValueError(f"X must have {len(encoders)} columns, got {len(columns)}")
    found = []
    for encoder, column in zip(encoders, columns, strict=True):
        if "levels" in encoder:
            found.append(_encode(encoder, _match_levels(column.objects(), encoder["levels"])))
            continue
        values = column.numbers() if column.is_number else _numeric_column(column)
        found.append(_encode(encoder, _check_no_infinity(column, values)))
    return np.hstack(found)


def _numeric_column(column: Column) -> np.ndarray:
    """The numbers of a column that was numeric in training."""
    objects = column.objects()
    numbers = _numbers_of(objects)
    for (_, value), number in numbers.items():
        if number is None:
            raise column.wrong(f"has {value!r}, but had numbers when the machine was fitted")
    return _to_numbers(objects, numbers)


def _match_levels(objects: list[Any], levels: list[str | None]) -> np.ndarray:
    """The level that each value is equal to: 5 may be the level "5.0", True the level "1"."""
    found = _level_names(objects)
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


def numeric_rows(frame: Frame) -> np.ndarray:
    """A frame of numeric columns as an array; missing values are NaN."""
    return np.column_stack(
        [c.numbers() if c.is_number else _numeric_column(c) for c in frame.columns()]
    )


def fit_encoders(
    columns: list[np.ndarray], values: np.ndarray, weights: np.ndarray, seed: int
) -> tuple[list[ColumnEncoder], np.ndarray]:
    """Fit one encoder per column; returns the encoders and the encoded training rows.

    `values` are the targets for target encoding, shape (n_samples, n_outputs).
    """
    encoders: list[ColumnEncoder] = []
    parts: list[np.ndarray] = []
    for column in columns:
        if column.dtype != object:
            encoder = _fit_imputer(column)
            encoders.append(encoder)
            parts.append(_encode(encoder, column))
            continue
        levels = sorted({text for text in column if text is not None})
        if any(text is None for text in column):
            levels = [*levels, None]
        if len(levels) <= MAX_ONE_HOT_LEVELS:
            encoders.append({"levels": levels})
            parts.append(_encode(encoders[-1], column))
        else:
            encoder, part = _fit_target_encoder(column, levels, values, weights, seed)
            encoders.append(encoder)
            parts.append(part)
    return encoders, np.hstack(parts)


def median_imputers(X: np.ndarray) -> list[ColumnEncoder]:
    """Encoders of complete rows: they impute medians in later rows with missing numbers."""
    step = max(1, len(X) // MAX_MEDIAN_ROWS)
    medians = np.median(X[::step], axis=0).astype(np.float64)
    return [{"fill": float(v), "missing": 0} for v in medians]


def are_identity(encoders: list[ColumnEncoder]) -> bool:
    """Whether rows without missing numbers stay unchanged."""
    return all(encoder.get("missing") == 0 for encoder in encoders)


def need_frame(encoders: list[ColumnEncoder] | None) -> bool:
    """Whether some columns have levels, which an array of numbers cannot hold."""
    return encoders is not None and any("levels" in encoder for encoder in encoders)


def encode_columns(encoders: list[ColumnEncoder], columns: list[np.ndarray]) -> np.ndarray:
    """Encode rows that are given by columns, as `fit_encoders` takes them."""
    pairs = zip(encoders, columns, strict=True)
    return np.hstack([_encode(encoder, column) for encoder, column in pairs])


def encode_rows(encoders: list[ColumnEncoder], rows: np.ndarray) -> np.ndarray:
    """Encode rows of numbers, in which NaN is a missing value."""
    if are_identity(encoders) and not np.isnan(rows).any():
        return rows
    return encode_columns(encoders, list(rows.astype(np.float64).T))


def encoded_widths(encoders: list[ColumnEncoder]) -> list[int]:
    """The number of encoded columns of every column."""
    return [len(_encoded_columns(encoder)) for encoder in encoders]


def _encoded_columns(encoder: ColumnEncoder) -> Any:
    if "fill" in encoder:
        return range(1 + encoder["missing"])
    return encoder["means"][0] if "means" in encoder else encoder["levels"]


def _fit_imputer(column: np.ndarray) -> ColumnEncoder:
    known = column[~np.isnan(column)]
    step = max(1, len(known) // MAX_MEDIAN_ROWS)
    fill = float(np.median(known[::step])) if len(known) else 0.0
    return {"fill": fill, "missing": int(len(known) < len(column))}


def _fit_target_encoder(
    column: np.ndarray, levels: list, values: np.ndarray, weights: np.ndarray, seed: int
) -> tuple[ColumnEncoder, np.ndarray]:
    index = _level_indices(column, levels)
    fold = np.random.default_rng(seed).permutation(len(index)) % CROSS_FITTING_FOLDS
    part = np.empty((len(index), values.shape[1]))
    for out in range(CROSS_FITTING_FOLDS):
        others = fold != out
        means = _smoothed_means(index[others], len(levels), values[others], weights[others])
        part[~others] = means[index[~others]]
    means = _smoothed_means(index, len(levels), values, weights)
    return {"levels": levels, "means": means.tolist()}, part


def _smoothed_means(
    index: np.ndarray, k: int, values: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Smoothed mean targets of the k levels; the last row is the overall mean, for new levels."""
    total = weights.sum()
    prior = (weights @ values) / total if total > 0 else np.zeros(values.shape[1])
    count = np.bincount(index, weights=weights, minlength=k)
    sums = np.stack(
        [np.bincount(index, weights=weights * column, minlength=k) for column in values.T], axis=1
    )
    means = (sums + PRIOR_ROWS * prior) / (count + PRIOR_ROWS)[:, None]
    return np.vstack([means, prior])


def _level_indices(column: np.ndarray, levels: list) -> np.ndarray:
    """The index of every row's level; a new level has the index len(levels)."""
    places = {level: at for at, level in enumerate(levels)}
    return np.array([places.get(text, len(levels)) for text in column], dtype=np.intp)


def _encode(encoder: ColumnEncoder, column: np.ndarray) -> np.ndarray:
    if "fill" in encoder:
        missing = np.isnan(column)
        filled = np.where(missing, encoder["fill"], column)[:, None]
        return np.hstack([filled, missing[:, None]]) if encoder["missing"] else filled
    index = _level_indices(column, encoder["levels"])
    if "means" in encoder:
        return np.asarray(encoder["means"])[index]
    return (index[:, None] == np.arange(len(encoder["levels"]))).astype(np.float64)


def are_encoders(value: Any) -> bool:
    """Whether the value is a list of encoders, as a file holds them."""
    return isinstance(value, list) and all(map(_is_encoder, value))


def _is_encoder(encoder: Any) -> bool:
    if not isinstance(encoder, dict):
        return False
    if set(encoder) == {"fill", "missing"}:
        return type(encoder["fill"]) is float and encoder["missing"] in (0, 1)
    levels: Any = encoder.get("levels")
    means: Any = encoder.get("means")
    if not isinstance(levels, list) or not levels or not set(encoder) <= {"levels", "means"}:
        return False
    texts = [level for level in levels if level is not None]
    fine = all(type(text) is str for text in texts) and texts == sorted(set(texts))
    if not fine or len(levels) - len(texts) > 1 or None in levels[:-1]:
        return False
    if "means" not in encoder:
        return True
    rows = isinstance(means, list) and len(means) == len(levels) + 1
    return rows and all(
        isinstance(row, list)
        and len(row) == len(means[0]) > 0
        and all(type(v) is float for v in row)
        for row in means
    )
