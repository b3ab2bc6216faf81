"""Columns of rows by their names: other rows are brought into the order of those of the fit.

Scikit-learn's estimators refuse a data frame whose columns are others than those of the fit, or
stand in another order. What is not a data frame in the user's hands (a file, a source, rows that
are served) is put into the order of the fit by its names, by one rule: every column of the fit must
be there, and no column may be there that the fit did not have, but for that of the labels. Rows
whose columns have no names are taken in the order of the fit. NumPy alone is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

#: Names that a message quotes at most.
_LISTED = 5


class Layout(NamedTuple):
    """How the columns of a table, or the indices of a text, stand for features.

    Attributes
    ----------
    names : list of str or None
        The names of the features, in order; None where they have none.
    label, place : str and int, or None
        The name of the column with the labels, and its place among all columns of the table.
    zero_based : bool or None
        Whether the indices of svmlight text begin with 0; None where nothing says so.
    n_features : int or None
        Number of features.
    """

    names: Sequence[str] | None = None
    label: str | None = None
    place: int | None = None
    zero_based: bool | None = None
    n_features: int | None = None


#: What of a layout an estimator keeps beside the names of its features, and of which type it is.
_KEPT = {"label": str, "place": int, "zero_based": bool}


def layout_of(estimator: Any) -> Layout:
    """The layout of the rows that an estimator was fitted to."""
    names = getattr(estimator, "feature_names_in_", None)
    kept = getattr(estimator, "_layout", {})
    n_features = getattr(estimator, "n_features_in_", None)
    return Layout(None if names is None else list(names), n_features=n_features, **kept)


def note(estimator: Any, layout: Layout) -> None:
    """Keep the layout of the rows of a fit with the estimator, where `save` finds it."""
    forget(estimator)
    estimator.__dict__.pop("feature_names_in_", None)
    if layout.names is not None:
        estimator.feature_names_in_ = np.array(list(layout.names), dtype=object)
    kept = {name: getattr(layout, name) for name in _KEPT}
    if any(value is not None for value in kept.values()):
        estimator._layout = kept


def forget(estimator: Any) -> None:
    """Drop the layout of an earlier fit; the names are scikit-learn's to drop."""
    estimator.__dict__.pop("_layout", None)


def is_kept(value: Any) -> bool:
    """Whether this is what `note` keeps, as a file holds it."""
    if not isinstance(value, dict) or set(value) != set(_KEPT):
        return False
    return all(value[name] is None or type(value[name]) is kind for name, kind in _KEPT.items())


def names_of(X: Any) -> list[str] | None:
    """The names of the columns of a data frame of any library, where all of them are text."""
    names = getattr(X, "column_names", None)  # of Arrow, whose `columns` are the columns
    if names is None or callable(names):
        names = getattr(X, "columns", None)
    if names is None or callable(names):
        return None
    names = list(names)
    return names if names and all(isinstance(name, str) for name in names) else None


def places(
    fitted: Sequence[str], given: Sequence[str], what: str, label: str | None = None
) -> list[int] | None:
    """Where the columns of the fit stand among the given ones; None where all stand as they did.

    Raises
    ------
    ValueError
        If a column of the fit is missing, or there is one that the fit did not have and that is not
        `label`, or one name is that of two columns. The message begins with `what`.
    """
    if list(fitted) == list(given):
        return None
    at: dict[str, int] = {}
    for place, name in enumerate(given):
        if name in at:
            raise ValueError(f"{what}: two columns are called {name!r}")
        at[name] = place
    missing = [name for name in fitted if name not in at]
    if missing:
        raise ValueError(f"{what}: columns of the fit are missing: {_listed(missing)}")
    known = {*fitted, label}
    others = [name for name in given if name not in known]
    if others:
        raise ValueError(
            f"{what}: columns that the fit did not have: {_listed(others)}; leave them out"
        )
    return [at[name] for name in fitted]


def expect_order(fitted: Any, given: Any, what: str) -> None:
    """Refuse names that are others than those of the fit, or in another order."""
    if fitted is None or given is None:
        return
    if places(list(fitted), list(given), what) is not None:
        raise ValueError(f"{what}: the columns stand in another order than those of the fit")


def in_order(X: Any, fitted: Any, what: str = "X") -> Any:
    """A data frame with its columns in the order of the fit; what has no names as it is."""
    names = None if fitted is None else names_of(X)
    if fitted is None or names is None or places(fitted, names, what) is None:
        return X
    return X.select(list(fitted)) if hasattr(X, "column_names") else X[list(fitted)]


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:_LISTED]))
    return shown if len(names) <= _LISTED else f"{shown} and {len(names) - _LISTED} more"
