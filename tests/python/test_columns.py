"""Columns by name and the base of indices: kept with a machine, looked at by all (T52)."""

from __future__ import annotations

import json
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import is_classifier, is_regressor

import budgetsvm
from budgetsvm import data, distributed, serve
from budgetsvm._columns import Layout, layout_of, places

pd = pytest.importorskip("pandas")

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.normal(size=(200, 4)), columns=["a", "b", "c", "d"])
Y = (FRAME.a > FRAME.b).to_numpy().astype(int)
OTHER = FRAME[["d", "b", "a", "c"]]
METHODS = ["predict", "decision_function", "predict_proba", "score_samples", "transform"]

#: What fits no source: the exact machines, which are for what memory holds.
EXACT = {
    "SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "SemiparametricSVC", "SemiparametricSVR",
    "SemiparametricNuSVC", "SemiparametricNuSVR", "SemiparametricOneClassSVM",
}  # fmt: skip
SMALL = {"budget": 15, "n_components": 15, "random_state": 0, "max_iter": 2, "cv": 3}
ESTIMATORS = [name for name in budgetsvm.__all__ if name != "__version__"]


def made(name):
    cls = getattr(budgetsvm, name)
    known = cls._get_param_names()
    params = {key: value for key, value in SMALL.items() if key in known}
    if name in EXACT:
        params.pop("max_iter", None)
    if "Auto" in name or name == "LocalBudgetSVC":
        params.pop("max_iter", None)
    return cls(**params)


def fitted(name, X=FRAME):
    model = made(name)
    y = Y if is_classifier(model) else FRAME.a.to_numpy() * FRAME.b.to_numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if is_classifier(model) or is_regressor(model):
            return model.fit(X, y) if X is FRAME else model.fit(X)
        return model.fit(X)


def opened(X, kind, folder, y=None):
    """A source of the rows of a frame."""
    name = str(folder / f"{'-'.join(X.columns)}.{kind}")
    table = X if y is None else X.assign(y=y)
    target = None if y is None else "y"
    if kind == "csv":
        table.to_csv(name, index=False)
        return data.open(name, target, dtype=np.float64)
    if kind == "parquet":
        pytest.importorskip("pyarrow")
        table.to_parquet(name, index=False)
        return data.open(name, target, dtype=np.float64)
    halves = [slice(0, 80), slice(80, None)]
    if kind == "arrays":
        return data.open((X, np.zeros(len(X)) if y is None else y), dtype=np.float64)
    return data.open(
        lambda: ((X.iloc[at], *(() if y is None else (y[at],))) for at in halves), dtype=np.float64
    )


def answers(model, X):
    with warnings.catch_warnings():
        # What scikit-learn says of rows without names is not to be heard where there are names.
        warnings.filterwarnings("error", message=".*feature names")
        return {name: getattr(model, name)(X) for name in METHODS if hasattr(model, name)}


def assert_same(mine, theirs):
    assert mine.keys() == theirs.keys()
    for name, found in mine.items():
        np.testing.assert_array_equal(found, theirs[name], err_msg=name)


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name not in EXACT])
def test_predictions_on_sources_are_by_name(name, tmp_path):
    model = fitted(name)
    for kind in ("csv", "parquet", "parts", "arrays"):
        wanted = answers(model, opened(FRAME, kind, tmp_path))
        assert_same(wanted, answers(model, FRAME))
        assert_same(answers(model, opened(OTHER, kind, tmp_path)), wanted)
        with pytest.raises(ValueError, match=r"columns of the fit are missing: 'c'"):
            answers(model, opened(OTHER[["b", "a", "d"]], kind, tmp_path))
        with pytest.raises(ValueError, match=r"columns that the fit did not have: 'e'"):
            answers(model, opened(OTHER.assign(e=1.0), kind, tmp_path))
    assert list(model.feature_names_in_) == list(FRAME.columns)


@pytest.mark.parametrize("name", sorted(EXACT))
def test_the_exact_machines_say_that_they_take_no_source(name):
    model, source = made(name), data.open((FRAME, Y))
    with pytest.raises(TypeError, match="is no array: this call takes rows in memory"):
        model.fit(source, Y)
    with pytest.raises(TypeError, match="is no array: this call takes rows in memory"):
        model.fit(FRAME, Y).predict(source)


@pytest.mark.parametrize("kind", ["csv", "parquet", "parts", "arrays"])
@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name not in EXACT])
def test_a_fit_on_a_source_keeps_names(name, kind, tmp_path):
    """They go to a file and a pickle, and to predictions on frames, which scikit-learn checks."""
    y = Y if is_classifier(made(name)) else FRAME.a.to_numpy() * FRAME.b.to_numpy()
    model = fitted(name, opened(FRAME, kind, tmp_path, y))
    assert list(model.feature_names_in_) == list(FRAME.columns)
    model.save(tmp_path / "m.safetensors")
    wanted = answers(model, FRAME)
    for again in (budgetsvm.load(tmp_path / "m.safetensors"), pickle.loads(pickle.dumps(model))):
        assert layout_of(again) == layout_of(model)
        assert_same(answers(again, opened(OTHER, kind, tmp_path)), wanted)
    for method in wanted:
        with pytest.raises(ValueError, match="feature names should match"):
            getattr(model, method)(OTHER)
    if kind in ("csv", "parquet"):
        assert layout_of(model).label == "y"
        # The column of the target is no feature, also where nobody says so.
        assert_same(answers(model, opened(OTHER.assign(y=y), kind, tmp_path)), wanted)
    fitted_anew = model.fit(np.ascontiguousarray(FRAME), y)
    assert layout_of(fitted_anew) == Layout(n_features=4)


LEARNERS = [n for n in ESTIMATORS if hasattr(getattr(budgetsvm, n), "partial_fit")]


@pytest.mark.parametrize("name", LEARNERS)
def test_partial_fit_on_sources_is_by_name(name, tmp_path):
    models = [made(name), made(name)]
    if not hasattr(models[0], "partial_fit"):
        pytest.skip("needs other hyperparameters")
    y = Y if is_classifier(models[0]) else FRAME.a.to_numpy() * FRAME.b.to_numpy()
    options = {"classes": [0, 1]} if is_classifier(models[0]) else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model, second in zip(models, (FRAME, OTHER), strict=True):
            model.partial_fit(opened(FRAME, "csv", tmp_path, y), **options)
            model.partial_fit(opened(second, "csv", tmp_path, y))
    assert_same(answers(models[1], FRAME), answers(models[0], FRAME))
    with pytest.raises(ValueError, match="columns of the fit are missing: 'a'"):
        models[0].partial_fit(opened(FRAME.rename(columns={"a": "e"}), "csv", tmp_path, y))


def test_polish_and_validation_are_by_name(tmp_path):
    model = budgetsvm.BudgetSVC(budget=15, random_state=0)
    first = model.fit(FRAME, Y).polish(opened(FRAME, "csv", tmp_path, Y)).decision_function(FRAME)
    again = model.fit(FRAME, Y).polish(opened(OTHER, "csv", tmp_path, Y)).decision_function(FRAME)
    np.testing.assert_array_equal(first, again)
    stops = budgetsvm.BudgetSVC(budget=15, early_stopping=True, max_iter=6, random_state=0)
    for X in (opened(FRAME, "csv", tmp_path, Y), FRAME):
        y = Y if X is FRAME else None
        scores = [
            stops.fit(X, y, validation=opened(rows, "csv", tmp_path, Y)).history_
            for rows in (FRAME, OTHER)
        ]
        np.testing.assert_array_equal(*(told["validation_score"] for told in scores))


def test_parts_of_one_iterable_and_files_of_one_source(tmp_path):
    parts = [(FRAME[:100], Y[:100]), (OTHER[100:], Y[100:])]
    model = budgetsvm.BudgetSVC(budget=15, random_state=0).fit(data.open(lambda: iter(parts)))
    assert model.score(FRAME, Y) > 0.9
    FRAME.assign(y=Y).to_csv(tmp_path / "1.csv", index=False)
    OTHER.assign(y=Y, e=0).to_csv(tmp_path / "2.csv", index=False)
    with pytest.raises(ValueError, match=r"2\.csv: column 'e' is not in .*1\.csv"):
        model.fit(data.open(str(tmp_path / "*.csv"), "y"))


def frames():
    found = [pytest.param(lambda X: X, id="pandas")]
    for name, make in (("polars", "from_pandas"), ("pyarrow", "Table")):
        try:
            made = getattr(__import__(name), make)
        except ImportError:
            continue
        found.append(pytest.param(made if name == "polars" else made.from_pandas, id=name))
    return found


@pytest.mark.parametrize("of_library", frames())
@pytest.mark.parametrize("name", ["BudgetSVC", "SVC", "AutoSVC", "BudgetSVR", "BudgetOneClassSVM"])
def test_served_frames_are_by_name(name, of_library, tmp_path):
    model = fitted(name)
    model.save(tmp_path / "m.safetensors")
    served = serve.load(tmp_path / "m.safetensors")
    assert list(served.feature_names_in_) == list(FRAME.columns)
    np.testing.assert_array_equal(served.predict(of_library(OTHER)), model.predict(FRAME))
    np.testing.assert_array_equal(served.predict(FRAME.to_numpy()), model.predict(FRAME))
    for X, said in (
        (OTHER[["a", "b", "d"]], "columns of the fit are missing: 'c'"),
        (OTHER.assign(e=0), "columns that the fit did not have: 'e'"),
        (OTHER.rename(columns={"a": "e"}), "columns of the fit are missing: 'a'"),
    ):
        with pytest.raises(ValueError, match=said):
            served.predict(of_library(X))


def test_a_served_machine_without_names_takes_frames_by_place(tmp_path):
    model = budgetsvm.BudgetSVC(budget=15, random_state=0).fit(FRAME.to_numpy(), Y)
    model.save(tmp_path / "m.safetensors")
    served = serve.load(tmp_path / "m.safetensors")
    assert served.feature_names_in_ is None
    np.testing.assert_array_equal(served.predict(OTHER), model.predict(OTHER.to_numpy()))


def test_names_that_the_fit_did_not_have_are_said(tmp_path):
    """As of data frames."""
    model = budgetsvm.BudgetSVC(budget=15, random_state=0).fit(FRAME.to_numpy(), Y)
    with pytest.warns(UserWarning, match="was fitted without feature names"):
        told = model.predict(opened(OTHER, "csv", tmp_path))
    np.testing.assert_array_equal(told, model.predict(OTHER.to_numpy()))
    model = fitted("BudgetSVC")
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(data.open((FRAME.to_numpy(), Y)))


def test_places():
    assert places(["a", "b"], ["a", "b"], "X") is None
    assert places(["a", "b"], ["b", "y", "a"], "X", "y") == [2, 0]
    with pytest.raises(ValueError, match="X: two columns are called 'b'"):
        places(["a", "b"], ["b", "a", "b"], "X")
    with pytest.raises(ValueError, match="'c', 'd', 'e', 'f', 'g' and 1 more"):
        places(["a"], list("acdefgh"), "X")


def text(path, X, base):
    path.write_text(
        "".join(
            f"{label} " + " ".join(f"{i + base}:{v!r}" for i, v in enumerate(row) if v) + "\n"
            for row, label in zip(X.tolist(), Y, strict=True)
        )
    )
    return str(path)


@pytest.mark.parametrize("base", [0, 1])
@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name not in EXACT])
def test_the_base_of_indices_is_that_of_the_fit(name, base, tmp_path):
    X = FRAME.to_numpy().copy()
    model = fitted(name, data.open(text(tmp_path / "train", X, base), dtype=np.float64))
    assert layout_of(model).zero_based == (base == 0)
    model.save(tmp_path / "m.safetensors")
    again = budgetsvm.load(tmp_path / "m.safetensors")
    X[:, [0, 3]] = 0.0  # neither the first column nor the last tells
    rows = sp.csr_matrix(X)
    source = data.open(text(tmp_path / "test", X, base), dtype=np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_same(answers(again, source), answers(model, rows))
    other = data.open(text(tmp_path / "other", X, 1 - base), zero_based=base == 1, dtype=np.float64)
    assert_same(answers(again, other), answers(model, rows))
    if base == 1:
        X[:, 0] = 1.0
        shifted = data.open(text(tmp_path / "shifted", X, 0))
        with pytest.raises(ValueError, match="an index is 0, but indices begin with 1, as in the"):
            answers(again, shifted)


def test_the_base_of_several_sources(tmp_path):
    X = FRAME.to_numpy().copy()
    whole = text(tmp_path / "whole", X, 0)
    X[:, 0] = 0.0
    part = text(tmp_path / "part", X, 0)
    model = budgetsvm.BudgetSVC(budget=15, random_state=0)
    model.partial_fit(data.open(whole), classes=[0, 1]).partial_fit(data.open(part))
    assert model.n_features_in_ == 4
    stops = budgetsvm.BudgetSVC(budget=15, early_stopping=True, max_iter=4, random_state=0)
    scores = [
        stops.fit(data.open(whole), validation=data.open(part, zero_based=base)).history_
        for base in (True, "auto")
    ]
    np.testing.assert_array_equal(*(told["validation_score"] for told in scores))


def test_rows_in_the_order_of_the_fit_are_stored_once(tmp_path, monkeypatch):
    """Text whose base is that of the fit is no other source, and rows of one count for both."""
    source = data.open(text(tmp_path / "rows", FRAME.to_numpy(), 1))
    model = budgetsvm.BudgetSVC(budget=15, random_state=0).fit(source)
    given = source.rows_given
    monkeypatch.setattr(type(source), "_written", None)
    model.polish(source)
    model.predict(data.open(text(tmp_path / "rows", FRAME.to_numpy(), 1)))
    frames = data.open((OTHER, Y))
    fitted("BudgetSVC").predict(frames)
    assert (source.rows_given, frames.rows_given) == (given, len(OTHER))


def test_a_base_that_nobody_knows_is_said(tmp_path):
    X = FRAME.to_numpy().copy()
    model = budgetsvm.BudgetSVC(budget=15, random_state=0).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for base in (0, 1):
            source = data.open(text(tmp_path / "rows", X, base), dtype=np.float64)
            np.testing.assert_array_equal(model.predict(source), model.predict(X))
    X[:, 0] = 0.0
    source = data.open(text(tmp_path / "rows", X, 0), n_features=4, dtype=np.float64)
    with pytest.warns(UserWarning, match="do not tell whether indices begin with 0 or 1"):
        model.predict(source)


def test_parts_of_a_distributed_training_are_of_the_same_columns():
    model = budgetsvm.BudgetSVC(budget=15, random_state=0)
    parts = [(FRAME[:100], Y[:100]), (FRAME[100:], Y[100:])]
    other = (OTHER[100:], Y[100:])
    told = [distributed.survey(model, *part) for part in parts]
    with pytest.raises(ValueError, match="a part of X: the columns stand in another order"):
        distributed.add([told[0], distributed.survey(model, *other)])
    settled = distributed.settle(model, distributed.add(told))
    shards = [distributed.shard_pass(settled, *part) for part in parts]
    with pytest.raises(ValueError, match="X: the columns stand in another order"):
        distributed.shard_pass(settled, *other)
    alone = model.set_params(gamma=0.5)
    with pytest.raises(ValueError, match="machines: the columns stand in another order"):
        distributed.join(
            [distributed.shard_pass(alone, *part, classes=[0, 1]) for part in (parts[0], other)]
        )
    joined = distributed.join(shards)
    with pytest.raises(ValueError, match="feature names should match"):
        distributed.polish_sums(joined, *other, np.ones(3))
    assert list(joined.feature_names_in_) == list(FRAME.columns)


def test_an_onnx_graph_has_the_names():
    pytest.importorskip("onnx")
    from budgetsvm.onnx import to_onnx

    graph = to_onnx(fitted("BudgetSVC"))
    (entry,) = graph.metadata_props
    assert (entry.key, json.loads(entry.value)) == ("feature_names", list(FRAME.columns))
    assert not to_onnx(budgetsvm.BudgetSVC(budget=5).fit(FRAME.to_numpy(), Y)).metadata_props


def test_dictionaries_of_a_stream_are_by_name():
    pytest.importorskip("river")
    from budgetsvm.river import Classifier

    model = Classifier(budgetsvm.BudgetSVC(budget=15, gamma=0.3, random_state=0))
    for row, label in zip(FRAME.to_dict("records"), Y, strict=True):
        model.learn_one(row, bool(label))
    wanted = [model.decide_one(row)[0] for row in FRAME.to_dict("records")]
    assert wanted == [model.decide_one(row)[0] for row in OTHER.to_dict("records")]
