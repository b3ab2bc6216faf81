"""AutoSVC and AutoSVR on tables: objects, levels that are numbers, rows of no weight."""

from __future__ import annotations

import numpy as np
import pytest

from budgetsvm import AutoSVC, AutoSVR

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(300, 3))
    code = rng.integers(0, 4, 300)
    y = np.sin(2 * numbers[:, 0]) + numbers[:, 1] * (code == 2)
    return pd.DataFrame(numbers, columns=list("abc")).assign(code=code), y


def test_objects_that_are_numbers_are_numbers(table):
    X, y = table
    plain = AutoSVR(random_state=0).fit(X, y)
    objects = AutoSVR(random_state=0).fit(X.astype(object), y)
    np.testing.assert_array_equal(objects.predict(X), plain.predict(X))
    np.testing.assert_array_equal(plain.predict(X.astype(object)), plain.predict(X))
    holes = X.astype(object)
    holes.iloc[::9, 0] = None
    as_nan = X.assign(a=np.where(np.arange(300) % 9 == 0, np.nan, X["a"]))
    model, twin = (AutoSVR(random_state=0).fit(each, y) for each in (holes, as_nan))
    np.testing.assert_array_equal(model.predict(holes), twin.predict(as_nan))
    # All that a batch says of a number may be that it is not known.
    np.testing.assert_array_equal(model.predict(holes[:1]), twin.predict(as_nan[:1]))
    with pytest.raises(ValueError, match="column 'a' has 'one', but had numbers"):
        model.predict(holes.assign(a="one"))


@pytest.mark.parametrize("kind", ["category", "mixed", "text"])
def test_levels_that_are_numbers_may_come_as_numbers(table, kind):
    X, y = table
    levels = {
        "category": X["code"].astype("category"),
        "mixed": X["code"].astype(object).where(X["code"] != 3, "none"),
        "text": X["code"].astype(str).astype("category"),
    }[kind]
    model = AutoSVR(random_state=0).fit(X.assign(code=levels), y)
    known = X[X["code"] != 3]
    expected = model.predict(known.assign(code=levels[known.index]))
    unseen = model.predict(known.assign(code="new"))
    assert not np.allclose(expected, unseen)
    for dtype in ("int64", "int8", "float64", "Int64", "float32", object):
        found = model.predict(known.assign(code=known["code"].astype(dtype)))
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match="times into numbers"):
        model.predict(X.assign(code=pd.Timestamp("2020-01-01")))


@pytest.mark.parametrize("kind", ["numbers", "levels", "array"])
def test_rows_of_no_weight_are_not_there(table, kind):
    X, y = table
    holes = X.assign(a=np.where(np.arange(300) % 7 < 2, np.nan, X["a"]))
    given = {
        "numbers": holes,
        "levels": holes.assign(code=[f"level {k}" for k in (X["code"] * 9 + np.arange(300) % 9)]),
        "array": holes.to_numpy(),
    }[kind]
    weights = (np.arange(300) % 3 > 0).astype(float)
    kept = weights > 0
    for model, target in ((AutoSVR, y), (AutoSVC, y > 0)):
        one = model(random_state=0).fit(given, target, weights)
        other = model(random_state=0).fit(given[kept], target[kept])
        method = "predict" if model is AutoSVR else "decision_function"
        found, expected = (getattr(each, method)(given) for each in (one, other))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_a_frame_of_no_rows_is_refused_as_an_array_is(table):
    X, y = table
    model = AutoSVR(random_state=0).fit(X.assign(code="one"), y)
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        model.predict(X.assign(code="one")[:0])
