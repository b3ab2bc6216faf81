"""Data frames of any library, column by column.

narwhals reads them; what has the Arrow PyCapsule interface or the data frame interchange protocol
alone becomes a table of pyarrow (or polars) before. narwhals is imported when a frame comes that is
more than one table of NumPy's numbers.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np

#: What an object that is exported to Arrow has.
_ARROW = ("__arrow_c_stream__", "__arrow_c_array__")
_OTHERS = ("__dataframe__", "__narwhals_dataframe__", *_ARROW)
#: Values that are no feature before they are numbers.
_TIMES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)


def is_frame(X: Any) -> bool:
    """Whether this is a data frame with columns of types of their own."""
    if isinstance(X, (np.ndarray, list, tuple)) or len(getattr(X, "shape", (0, 0))) != 2:
        return False
    return _is_pandas(X) or any(hasattr(X, name) for name in _OTHERS)


def _is_pandas(X: Any) -> bool:
    return hasattr(X, "iloc") and hasattr(X, "dtypes") and hasattr(X, "columns")


def is_plain(X: Any) -> bool:
    """Whether this is a frame of pandas whose columns are NumPy's numbers, one table of numbers."""
    return _is_pandas(X) and all(
        isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in X.dtypes
    )


class Column:
    """A column of a frame, and how it is read.

    Parameters
    ----------
    name : object
        Its name.
    series : narwhals Series
        Its values.

    Attributes
    ----------
    is_number, is_category : bool
        Whether its type is a number or a bool, or a category.
    """

    def __init__(self, name: Any, series: Any) -> None:
        import narwhals.stable.v2 as nw

        self.name, self._series = name, series
        kind = series.dtype
        if kind in (nw.Date, nw.Datetime, nw.Duration, nw.Time):
            raise self.wrong(f"is of type {kind}: turn times into numbers first")
        # Decimals become the nearest floats one by one, which a cast does not promise.
        self.is_number = kind == nw.Boolean or (kind.is_numeric() and kind != nw.Decimal)
        self.is_category = kind in (nw.Categorical, nw.Enum)

    def wrong(self, what: str) -> ValueError:
        """The error of a column that is no feature."""
        return ValueError(f"X: column {self.name!r} {what}")

    @property
    def dtype(self) -> Any:
        """NumPy's type of the numbers; of others that of objects."""
        try:
            return np.dtype(str(self._series.dtype).lower())
        except TypeError:
            return np.dtype(object)

    def numbers(self) -> np.ndarray:
        """Float64, NaN where nothing is known."""
        import narwhals.stable.v2 as nw

        return np.asarray(self._series.cast(nw.Float64).to_numpy(), dtype=np.float64)

    def objects(self) -> list[Any]:
        """Values as Python has them, None where nothing is known."""
        values = self._series.to_list()
        if self.dtype == np.float32:
            values = [np.float32(v) if isinstance(v, float) else v for v in values]
        missing = self._series.is_null().to_list()
        found = [None if gap or _is_nan(v) else v for v, gap in zip(values, missing, strict=True)]
        for kind in {type(value) for value in found}:
            if issubclass(kind, _TIMES) and not self.is_category:
                raise self.wrong(f"holds values of type {kind.__name__}: turn times into numbers")
            if issubclass(kind, complex):
                raise self.wrong("holds complex numbers: take their parts")
            if kind.__hash__ is None:
                raise self.wrong(
                    f"holds values of type {kind.__name__}: a feature is a number, a text or a "
                    "category"
                )
        return found


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and value != value


class Frame:
    """A data frame as its columns.

    Parameters
    ----------
    native : data frame
        One that scikit-learn knows.
    names : list
        Names of the columns.
    series : callable
        The k-th column as narwhals has it.
    """

    def __init__(self, native: Any, names: list[Any], series: Callable[[int], Any]) -> None:
        self.native, self.names, self._series = native, names, series
        self.shape: tuple[int, int] = native.shape

    def columns(self) -> list[Column]:
        """All columns."""
        return [Column(name, self._series(k)) for k, name in enumerate(self.names)]


def dtype_of(columns: list[Column]) -> Any:
    """The type that rows of these columns have, by scikit-learn's rule for frames of pandas."""
    kinds = [np.dtype(object) if c.dtype == np.bool_ else c.dtype for c in columns]
    single = np.result_type(*kinds) == np.float32
    return np.dtype(np.float32 if single else np.float64)


def frame_of(X: Any) -> Frame | None:
    """The frame, or None where this is none.

    Raises
    ------
    ImportError
        Where a library is missing that reads such frames.
    TypeError
        For a frame that is not in memory.
    """
    if not is_frame(X):
        return None
    try:
        import narwhals.stable.v2 as nw
    except ImportError as error:
        raise ImportError("a data frame needs narwhals: pip install narwhals") from error
    if _is_pandas(X) and not hasattr(X, "__narwhals_dataframe__"):
        at = lambda k: nw.from_native(X.iloc[:, k], series_only=True)  # noqa: E731
        return Frame(X, list(X.columns), at)
    known = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(known, nw.DataFrame):
        known = nw.from_native(_by_arrow(X), eager_only=True)
    return Frame(known.to_native(), known.columns, lambda k: known[:, k])


def _by_arrow(X: Any) -> Any:
    """A frame of pyarrow or polars with what an object exports."""
    exports = any(hasattr(X, name) for name in _ARROW)
    try:
        import pyarrow as pa
    except ImportError:
        try:
            import polars as pl
        except ImportError as error:
            raise ImportError(
                f"X is a {type(X).__name__}, which pyarrow or polars reads: pip install pyarrow"
            ) from error
        return pl.DataFrame(X) if exports else pl.from_dataframe(X)
    try:
        if exports:
            return pa.table(X)
        from pyarrow import interchange

        return interchange.from_dataframe(X)
    except (TypeError, ValueError, NotImplementedError) as error:
        raise ValueError(f"X, a {type(X).__name__}, is no table: {error}") from error
