"""Data frames of any library and types are the same machine, to the bit, whatever y comes as."""

from __future__ import annotations

import warnings
from decimal import Decimal

import numpy as np
import pytest
from sklearn.base import clone

import budgetsvm
from budgetsvm import SVC, SVR, AutoSVC, AutoSVR, BudgetSVC, BudgetSVR, serve

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

N = 120


class OfArrow:
    """An object that exports itself to Arrow and nothing else."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


class OfInterchange:
    """An object of the data frame interchange protocol and nothing else."""

    def __init__(self, table):
        self._table = table

    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        return self._table.__dataframe__(nan_as_null, allow_copy)


def plain():
    """A frame of pandas with NumPy's types: numbers, bools, text and categories, some missing."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, 2))
    text = rng.choice(["one", "two", "three"], N).astype(object)
    frame = pd.DataFrame({
        "x": x[:, 0],
        "gap": np.where(np.arange(N) % 9 == 0, np.nan, x[:, 1]),
        "count": rng.integers(0, 9, N),
        "flag": (rng.random(N) > 0.5).astype(object),
        "text": text,
        "category": pd.Categorical(rng.choice(["u", "v"], N)),
        "many": [f"place {k}" for k in rng.integers(0, 30, N)],
    })  # fmt: skip
    frame.loc[::11, ["flag", "text"]] = None
    frame.loc[::13, "category"] = np.nan
    value = x[:, 0] + (text == "two") + (frame["category"] == "v") * x[:, 1]
    return frame, np.asarray(value, dtype=float)


FRAME, VALUE = plain()
ARROW = pa.Table.from_pandas(FRAME, preserve_index=False)
KINDS = {
    "nullable": FRAME.convert_dtypes(),
    "pyarrow types": FRAME.convert_dtypes(dtype_backend="pyarrow").assign(
        category=FRAME["category"]
    ),
    "odd index": FRAME.set_index(np.arange(N)[::-1] * 3 + 7),
    "polars": pl.from_arrow(ARROW),
    "polars enum": pl.from_arrow(ARROW).cast({"category": pl.Enum(["u", "v"])}),
    "arrow": ARROW,
    "record batch": ARROW.combine_chunks().to_batches()[0],
    "capsule": OfArrow(ARROW),
    "interchange": OfInterchange(ARROW),
}


@pytest.fixture(scope="module")
def fitted():
    return AutoSVC(random_state=0).fit(FRAME, VALUE > 0.5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_of_any_library_is_the_same_machine(kind, fitted, tmp_path):
    frame = KINDS[kind]
    model = clone(fitted).fit(frame, VALUE > 0.5)
    expected = fitted.decision_function(FRAME)
    np.testing.assert_array_equal(model.decision_function(frame), expected)
    np.testing.assert_array_equal(model.decision_function(FRAME), expected)
    np.testing.assert_array_equal(fitted.decision_function(frame), expected)
    assert model.feature_names_in_.tolist() == FRAME.columns.tolist()
    path = tmp_path / "machine.safetensors"
    fitted.save(path)
    np.testing.assert_array_equal(serve.load(path).decision_function(frame), expected)
    np.testing.assert_array_equal(budgetsvm.load(path).decision_function(frame), expected)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", ["nullable", "pyarrow", "polars", "arrow", "capsule"])
def test_frames_of_numbers_alone_are_arrays(kind, dtype):
    numbers = FRAME[["x", "gap"]].astype(dtype)
    arrow = pa.Table.from_pandas(numbers, preserve_index=False)
    given = {
        "nullable": numbers.astype(dtype.title()),
        "pyarrow": numbers.astype(f"{'double' if dtype == 'float64' else 'float'}[pyarrow]"),
        "polars": pl.from_arrow(arrow),
        "arrow": arrow,
        "capsule": OfArrow(arrow),
    }[kind]
    plain, other = (AutoSVR(random_state=0).fit(each, VALUE) for each in (numbers, given))
    assert plain._dtype() == other._dtype() == dtype
    expected = plain.predict(numbers)
    np.testing.assert_array_equal(other.predict(given), expected)
    np.testing.assert_array_equal(plain.predict(given), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_names_of_columns_are_checked(kind, fitted):
    frame = KINDS[kind]
    if kind in ("capsule", "interchange"):
        turned, fewer = (
            type(frame)(ARROW.select(ARROW.column_names[::-1])),
            type(frame)(ARROW.drop_columns(["x"])),
        )
    elif hasattr(frame, "select_columns") or hasattr(frame, "drop_columns"):
        turned, fewer = frame.select(ARROW.column_names[::-1]), frame.select(ARROW.column_names[1:])
    else:
        turned, fewer = frame[ARROW.column_names[::-1]], frame[ARROW.column_names[1:]]
    with pytest.raises(ValueError, match="same order"):
        fitted.predict(turned)
    with pytest.raises(ValueError, match=r"now missing:\n- x"):
        fitted.predict(fewer)


@pytest.mark.parametrize("model", [SVC(), BudgetSVC(random_state=0), AutoSVC(random_state=0)])
@pytest.mark.parametrize("kind", ["pandas", "nullable", "pyarrow", "polars", "arrow"])
def test_ordinary_machines_take_frames_as_scikit_learn_does(model, kind):
    # Without integers among the floats, which other types would be made of.
    numbers = FRAME[["x"]].assign(count=FRAME["count"] + 0.5)
    given = {
        "pandas": numbers,
        "nullable": numbers.convert_dtypes(),
        "pyarrow": numbers.convert_dtypes(dtype_backend="pyarrow"),
        "polars": pl.from_pandas(numbers),
        "arrow": pa.Table.from_pandas(numbers, preserve_index=False),
    }[kind]
    y = VALUE > 0.5
    found, plain = (clone(model).fit(each, y) for each in (given, numbers.to_numpy()))
    expected = plain.decision_function(numbers.to_numpy())
    np.testing.assert_array_equal(found.decision_function(given), expected)
    assert found.feature_names_in_.tolist() == ["x", "count"]
    turned = given.select(["count", "x"]) if kind in ("polars", "arrow") else given[["count", "x"]]
    with pytest.raises(ValueError, match="same order"):
        found.predict(turned)


TWO = np.where(VALUE > 0.5, "yes", "no")
LABELS = {
    "column": TWO[:, None],
    "series": pd.Series(TWO, index=np.arange(N)[::-1] + 5),
    "category": pd.Series(TWO, index=np.arange(N) + 5, dtype="category"),
    "string": pd.Series(TWO, dtype="string"),
    "pyarrow": pd.Series(TWO, dtype="string[pyarrow]"),
    "frame": pd.DataFrame({"y": TWO}),
    "polars": pl.Series(TWO.tolist()),
    "polars category": pl.Series(TWO.tolist(), dtype=pl.Categorical),
    "arrow": pa.chunked_array([TWO.tolist()]),
    "list": TWO.tolist(),
}
NUMBERS = {
    "column": VALUE[:, None],
    "series": pd.Series(VALUE, index=np.arange(N)[::-1] + 5),
    "nullable": pd.Series(VALUE, dtype="Float64"),
    "pyarrow": pd.Series(VALUE, dtype="double[pyarrow]"),
    "frame": pd.DataFrame({"y": VALUE}),
    "polars": pl.Series(VALUE),
    "text": pd.Series(VALUE).map(repr),
    "decimal": pd.Series([Decimal(repr(float(v))) for v in VALUE]),
}


#: Machines and the columns that they take.
CLASSIFIERS = [
    (AutoSVC(random_state=0), list(FRAME)), (AutoSVC(random_state=0), ["x"]),
    (SVC(), ["x"]), (BudgetSVC(random_state=0), ["x"]),
]  # fmt: skip
REGRESSORS = [
    (AutoSVR(random_state=0), list(FRAME)), (AutoSVR(random_state=0), ["x"]),
    (SVR(), ["x"]), (BudgetSVR(random_state=0), ["x"]),
]  # fmt: skip


@pytest.mark.parametrize(("model", "columns"), CLASSIFIERS)
@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_any_kind(kind, model, columns):
    rows = FRAME[columns]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a column of labels is flattened, as scikit-learn says
        found = clone(model).fit(rows, LABELS[kind])
    plain = clone(model).fit(rows, TWO)
    assert found.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(found.decision_function(rows), plain.decision_function(rows))


@pytest.mark.parametrize(("model", "columns"), REGRESSORS)
@pytest.mark.parametrize("kind", NUMBERS)
def test_values_of_any_kind(kind, model, columns):
    rows = FRAME[columns]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = clone(model).fit(rows, NUMBERS[kind])
    plain = clone(model).fit(rows, VALUE)
    np.testing.assert_array_equal(
        np.ravel(found.predict(rows)), plain.predict(rows), err_msg=f"{type(model).__name__}"
    )


@pytest.mark.parametrize(
    ("y", "match"),
    [
        (pd.Series([None, *(VALUE > 0.5)[1:].astype(int)], dtype="Int64"), "NaN"),
        (np.stack([VALUE > 0.5] * 2, axis=1), "1d array"),
        ((VALUE > 0.5)[1:], "a value for each|inconsistent"),
        (None, "requires y"),
    ],
)
def test_targets_that_are_none_are_refused(y, match):
    with pytest.raises(ValueError, match=match):
        AutoSVC(random_state=0).fit(FRAME, y)
