"""What a column of a frame is: numbers as they may be written, bools, categories."""

from __future__ import annotations

import datetime
import warnings
from decimal import Decimal

import numpy as np
import pytest

import budgetsvm
from budgetsvm import AutoSVC, AutoSVR, serve

pd = pytest.importorskip("pandas")

RNG = np.random.default_rng(0)
N = 120
A, B = RNG.normal(size=(2, N))
VALUE = np.sin(2 * A) + B
CODE = RNG.integers(0, 6, N)


def numbers(**columns):
    return pd.DataFrame({"a": A, "b": B}).assign(**columns)


def answers(model, frame, tmp_path):
    """Of the estimator, of its file read again, and served."""
    path = tmp_path / "machine.safetensors"
    model.save(path)
    method = "predict_proba" if hasattr(model, "classes_") else "predict"
    models = (model, budgetsvm.load(path), serve.load(path))
    found, *others = (getattr(each, method)(frame) for each in models)
    for other in others:
        np.testing.assert_allclose(other, found, rtol=0, atol=1e-12)
    return found


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        ("text", lambda v: repr(float(v))),
        ("padded", lambda v: f" {float(v)!r} "),
        ("decimal", lambda v: Decimal(repr(float(v)))),
        ("numpy", np.float64),
        ("objects", float),
    ],
)
def test_numbers_however_they_are_written_are_numbers(kind, written, tmp_path):
    objects = numbers(a=pd.Series([written(v) for v in A], dtype=object))
    plain = AutoSVR(random_state=0).fit(numbers(), VALUE)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = AutoSVR(random_state=0).fit(objects, VALUE)
    expected = plain.predict(numbers())
    for frame in (objects, numbers()):
        np.testing.assert_array_equal(answers(model, frame, tmp_path), expected)
    np.testing.assert_array_equal(answers(plain, objects, tmp_path), expected)
    # Text is taken for numbers with a word; a Decimal is one.
    told = [str(one.message) for one in said]
    assert any("'a'" in one and "category" in one for one in told) == (kind in ("text", "padded"))


def test_text_that_is_empty_or_nan_is_missing(tmp_path):
    text = [("", "nan", None)[i % 3] if i % 7 == 0 else repr(float(v)) for i, v in enumerate(A)]
    gaps = numbers(a=np.where(np.arange(N) % 7 == 0, np.nan, A))
    with pytest.warns(UserWarning, match="written as text"):
        model = AutoSVR(random_state=0).fit(numbers(a=text), VALUE)
    plain = AutoSVR(random_state=0).fit(gaps, VALUE)
    found = answers(model, numbers(a=text), tmp_path)
    np.testing.assert_array_equal(found, plain.predict(gaps))


def test_numbers_with_other_text_among_them_are_categories_with_a_word():
    text = ["?" if i % 9 == 0 else repr(float(v)) for i, v in enumerate(A)]
    with pytest.warns(UserWarning, match=r"'a' has categories, most of which are numbers.*'\?'"):
        AutoSVR(random_state=0).fit(numbers(a=text), VALUE)
    with pytest.warns(UserWarning, match="'a' has 120 categories in 120 rows"):
        AutoSVR(random_state=0).fit(numbers(a=[f"{v} kg" for v in A]), VALUE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AutoSVR(random_state=0).fit(numbers(a=[f"kind {k}" for k in CODE]), VALUE)
        AutoSVR(random_state=0).fit(numbers(a=pd.Categorical(A)), VALUE)


def test_text_in_a_column_of_numbers_names_the_column(tmp_path):
    model = AutoSVR(random_state=0).fit(numbers(), VALUE)
    path = tmp_path / "machine.safetensors"
    model.save(path)
    for each in (model, serve.load(path)):
        with pytest.raises(ValueError, match="column 'b' has 'high'"):
            each.predict(numbers(b="high"))
        with pytest.raises(ValueError, match="'b' contains infinity"):
            each.predict(numbers(b=pd.Series([Decimal("inf")] * N)))


BOOL = CODE % 2 == 0
BOOLS = {
    "bool": BOOL,
    "object": BOOL.astype(object),
    "nullable": pd.array(BOOL, dtype="boolean"),
    "int": BOOL.astype(int),
    "float": BOOL.astype(float),
    "text": np.where(BOOL, "1", "0").astype(object),
}


@pytest.mark.filterwarnings("ignore:X. numbers that are written")
@pytest.mark.parametrize("later", BOOLS)
@pytest.mark.parametrize("fitted", BOOLS)
def test_bools_are_zero_and_one(fitted, later, tmp_path):
    y = BOOL ^ (A > 1.5)
    model = AutoSVC(random_state=0).fit(numbers(q=BOOLS[fitted]), y)
    found = answers(model, numbers(q=BOOLS[later]), tmp_path)
    plain = AutoSVC(random_state=0).fit(numbers(q=BOOLS["float"]), y)
    np.testing.assert_array_equal(found, plain.predict_proba(numbers(q=BOOLS["float"])))


@pytest.mark.parametrize("dtype", ["object", "boolean", "bool[pyarrow]"])
def test_bools_that_are_missing(dtype, tmp_path):
    known = [None if i % 8 == 0 else bool(v) for i, v in enumerate(BOOL)]
    frame = numbers(q=pd.Series(known, dtype=dtype))
    gaps = numbers(q=[np.nan if v is None else float(v) for v in known])
    model = AutoSVC(random_state=0).fit(frame, BOOL)
    plain = AutoSVC(random_state=0).fit(gaps, BOOL)
    expected = plain.predict_proba(gaps)
    for given in (frame, gaps):
        np.testing.assert_array_equal(answers(model, given, tmp_path), expected)
    # A batch of which nothing is known.
    np.testing.assert_array_equal(model.predict_proba(frame[:1]), plain.predict_proba(gaps[:1]))


CATEGORIES = {
    "int": CODE * 10,
    "float": CODE / 4,
    "single": (CODE / 10).astype(np.float32),
    "bool": BOOL,
    "text": np.array([f"kind {k}" for k in CODE], dtype=object),
    "digits": np.array([f"{k}" for k in CODE], dtype=object),
    "mixed": np.array([k if k < 5 else "none" for k in CODE], dtype=object),
    "many": CODE * 7 + np.arange(N) % 7,
}
LATER = (
    "int64", "int8", "float64", "float32", "Int64", "Float64", "int64[pyarrow]", "double[pyarrow]",
    "bool", "boolean", "object", "str", "string", "category",
)  # fmt: skip


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("kind", CATEGORIES)
def test_a_category_is_known_again_however_it_comes(kind, missing, tmp_path):
    values = pd.Series(CATEGORIES[kind])
    y = (CODE % 2 == 0) ^ (A > 1.5)
    column = values.astype("category")
    if missing:
        column = column.where(np.arange(N) % 6 > 0)
        values = values.astype(object).where(np.arange(N) % 6 > 0, None)
    model = AutoSVC(random_state=0).fit(numbers(c=column), y)
    expected = answers(model, numbers(c=column), tmp_path)
    unseen = answers(model, numbers(c=pd.Series(["never"] * N)), tmp_path)
    assert np.abs(expected - unseen).max() > 0.01
    tried = 0
    for dtype in LATER:
        try:
            given = values.astype(dtype)
        except (TypeError, ValueError, NotImplementedError, OverflowError):
            continue
        # What a type cuts, or makes values of, is not the same any more.
        known = np.asarray(values.notna())
        if (np.asarray(given.notna()) != known).any() or (
            dtype not in ("str", "string", "float32") and list(given[known]) != list(values[known])
        ):
            continue
        if kind == "single" and dtype in ("str", "string"):
            continue  # the text of a float32 is another number
        found = answers(model, numbers(c=given), tmp_path)
        np.testing.assert_array_equal(found, expected, err_msg=dtype)
        tried += 1
    assert tried >= 3


def test_a_category_that_training_has_not_seen_is_nothing(tmp_path):
    model = AutoSVC(random_state=0).fit(numbers(c=pd.Categorical(CODE)), BOOL)
    unseen = [answers(model, numbers(c=given), tmp_path) for given in (99, 99.5, "new", None)]
    for other in unseen[1:]:
        np.testing.assert_array_equal(other, unseen[0])


@pytest.mark.parametrize(
    ("value", "match"),
    [
        (datetime.date(2020, 1, 1), "turn times into numbers"),
        (datetime.timedelta(days=1), "turn times into numbers"),
        (pd.Timestamp("2020-01-01"), "turn times into numbers"),
        (1 + 2j, "complex"),
        ([1.0], "of type list"),
    ],
)
def test_what_is_no_feature_is_refused_by_name(value, match):
    frame = numbers(c=pd.Series([value] * N, dtype=object))
    for given in (frame, numbers(c=pd.Series([value] * N))):
        with pytest.raises(ValueError, match=f"column 'c' .*{match}"):
            AutoSVR(random_state=0).fit(given, VALUE)


def test_an_array_has_no_categories(tmp_path):
    frame = numbers(c=pd.Categorical(CODE))
    model = AutoSVC(random_state=0).fit(frame, BOOL)
    path = tmp_path / "machine.safetensors"
    model.save(path)
    for each in (model, serve.load(path)):
        with pytest.raises(ValueError, match="must be a data frame"):
            each.predict(frame.astype(float).to_numpy())
