"""What a newcomer meets: defaults that work, warnings that help, messages that name the matter."""

from __future__ import annotations

import logging
import os
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as SklearnSVC

import budgetsvm as bs
from budgetsvm import _progress

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3000, 5))
Y = 10 * X[:, 0] + 100 + RNG.normal(size=3000)
CLASSES = np.where(X[:, 0] * X[:, 1] + 0.1 * RNG.normal(size=3000) > 0, 1, -1)
IRIS, KINDS = load_iris(return_X_y=True)

REGRESSORS = [
    bs.SVR(), bs.NuSVR(), bs.PrimalSVR(basis="random"), bs.SemiparametricSVR(),
    bs.BudgetSVR(random_state=0), bs.BudgetSVR(solver="bsgd", random_state=0),
    bs.BudgetSVR(polishing=False, random_state=0),
    bs.BudgetSVR(solver="bsgd", polishing=False, random_state=0),
    bs.AssetSVR(random_state=0), bs.AssetSVR(solver="dual", random_state=0),
    bs.AssetSVR(strongly_convex=True, random_state=0),
    bs.AssetSVR(features="fourier", n_components=500, max_iter=1, random_state=0),
]  # fmt: skip
STREAMS = [bs.BudgetSVR(gamma=0.2, random_state=0), bs.AssetSVR(gamma=0.2, random_state=0)]


def name(model):
    return repr(model)


# Offsets


@pytest.mark.parametrize("model", REGRESSORS, ids=name)
def test_a_target_far_from_zero_is_no_trouble(model):
    model = clone(model).fit(X[:2000], Y[:2000])
    assert model.score(X[2000:], Y[2000:]) > 0.85


@pytest.mark.parametrize("kind", [np.asarray, np.float32, sparse.csr_matrix])
@pytest.mark.parametrize("model", STREAMS, ids=name)
@pytest.mark.filterwarnings("ignore:The fit ended without a term")
def test_rows_of_any_kind_and_weights(model, kind):
    rows, weights = kind(X), 1.0 + np.arange(len(Y)) % 3
    model = clone(model).fit(rows, Y, sample_weight=weights)
    assert model.score(rows, Y) > 0.9
    one = clone(model).set_params(epsilon=0).fit(rows[:1], Y[:1])
    np.testing.assert_allclose(one.predict(rows[:2]), Y[0], rtol=1e-6)


@pytest.mark.parametrize("model", REGRESSORS[4:], ids=name)
def test_a_constant_added_to_y_is_added_to_the_predictions(model):
    near = clone(model).fit(X[:500], Y[:500] - 100).predict(X)
    far = clone(model).fit(X[:500], Y[:500] - 100 + 2.0**20).predict(X)
    # Rounding of y at 2^20 is 1e-10; polishing on nearly equal terms makes more of it.
    np.testing.assert_allclose(far - 2.0**20, near, atol=1e-4)


@pytest.mark.parametrize("model", STREAMS, ids=name)
def test_a_stream_has_an_offset_from_its_first_part_on(model):
    one = clone(model).partial_fit(X[:1], Y[:1])
    assert abs(one.predict(X[:1])[0] - Y[0]) < 1
    model = clone(model).partial_fit(X[:250], Y[:250])
    for start in range(250, 2000, 250):
        model.partial_fit(X[start : start + 250], Y[start : start + 250])
    assert model.score(X[2000:], Y[2000:]) > 0.8
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(
        again.partial_fit(X[:9], Y[:9]).predict(X), model.partial_fit(X[:9], Y[:9]).predict(X)
    )


def test_early_stopping_and_warm_start_keep_the_offset():
    model = bs.BudgetSVR(early_stopping=True, gamma=0.2, max_iter=8, random_state=0).fit(X, Y)
    assert np.nanmax(model.history_["validation_score"]) > 0.9
    model.set_params(warm_start=True, early_stopping=False).fit(X, Y)
    assert model.score(X, Y) > 0.9


def test_the_dual_objective_knows_of_the_offset():
    model = bs.BudgetSVR(
        budget=None, max_iter=3000, tol=1e-9, record_objective=True, random_state=0, C=0.5
    ).fit(X[:200], Y[:200])  # fmt: skip
    primal, dual = model.history_["primal"][-1], model.history_["dual"][-1]
    assert 0 <= primal - dual < 1e-5 * primal


@pytest.mark.parametrize("model", STREAMS, ids=name)
def test_without_an_offset_nothing_is_centred(model):
    model = clone(model).set_params(fit_intercept=False).fit(X, Y)
    assert np.array_equal(model.intercept_, [0.0])


def test_old_files_keep_their_offset(tmp_path):
    folder = os.path.join(os.path.dirname(__file__), "..", "files", "1")
    for cls in ("BudgetSVR", "AssetSVR"):
        old = bs.load(os.path.join(folder, f"{cls}-0-values.safetensors"))
        assert old.fit_intercept is False
        assert np.array_equal(old.intercept_, [0.0])


# Warnings


def told(action):
    """What an action warns of."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        action()
    return " | ".join(str(warning.message) for warning in found)


TUBES = [bs.SVR(), bs.PrimalSVR(), bs.SemiparametricSVR(), bs.BudgetSVR(), bs.AssetSVR()]


@pytest.mark.parametrize("model", TUBES, ids=name)
def test_a_tube_wider_than_y_is_warned_of(model):
    text = told(lambda: clone(model).fit(X[:300], 0.01 * X[:300, 0] + 5))
    assert "epsilon=0.1 is no less than the spread of y" in text
    assert "ended without a term" in text
    assert told(lambda: clone(model).fit(X[:300], X[:300, 0])) == ""
    if hasattr(model, "partial_fit"):
        # The first part of a stream, where its rows are enough to tell the spread.
        assert "epsilon" in told(lambda: clone(model).partial_fit(X[:300], 0.01 * X[:300, 0]))
        assert "epsilon" not in told(lambda: clone(model).partial_fit(X[:20], 0.01 * X[:20, 0]))


def test_a_loss_without_a_tube_has_no_epsilon_to_compare_with_y():
    model = bs.BudgetSVR(loss="quantile", epsilon=9.0, random_state=0)
    text = told(lambda: model.fit(X, X[:, 0]))
    assert "epsilon needs loss=" in text
    assert "spread" not in text


SEEING = [
    bs.BudgetSVC(random_state=0), bs.SVC(max_iter=50), bs.PrimalSVC(basis="random"),
    bs.AssetSVC(max_iter=1), bs.KernelPerceptron(), bs.LocalBudgetSVC(), bs.Nystroem(),
]  # fmt: skip


@pytest.mark.parametrize("model", SEEING, ids=name)
@pytest.mark.parametrize("kind", [np.asarray, np.float32, sparse.csr_matrix])
def test_features_that_the_kernel_does_not_see_are_warned_of(model, kind):
    rows, y = X[:600], CLASSES[:600]
    scaled = rows * [1, 50, 1, 1, 1]
    assert "1 of 5 features make up 9" in told(lambda: clone(model).fit(kind(scaled), y))
    assert "make up" not in told(lambda: clone(model).fit(kind(rows), y))


def test_a_linear_kernel_and_normalised_rows_are_left_alone():
    scaled = X * [1, 50, 1, 1, 1]
    assert "make up" not in told(lambda: bs.BudgetSVC(kernel="linear").fit(scaled, CLASSES))
    words = sparse.random(500, 3000, 0.01, random_state=0, format="csr")
    words.data **= 4
    words = words.multiply(1 / np.sqrt(words.multiply(words).sum(axis=1))).tocsr()
    assert "make up" not in told(lambda: bs.BudgetSVC().fit(words, CLASSES[:500]))


def test_standardised_features_of_many_shapes_are_no_reason_to_warn():
    shapes = [
        RNG.standard_normal((400, 30)),
        np.exp(2 * RNG.standard_normal((400, 10))),
        (RNG.random((400, 60)) < RNG.random(60) ** 4).astype(float),
        RNG.standard_t(2, (400, 8)),
        np.outer(RNG.standard_normal(400), np.ones(5)) + 0.1 * RNG.standard_normal((400, 5)),
    ]
    for rows in shapes:
        rows = StandardScaler().fit_transform(rows)
        assert told(lambda rows=rows: bs.BudgetSVC().fit(rows, CLASSES[:400])) == ""


# Messages


CLASSIFIERS = [
    bs.BudgetSVC(), bs.SVC(), bs.AssetSVC(), bs.PrimalSVC(), bs.KernelPerceptron(),
    bs.LocalBudgetSVC(), bs.NuSVC(nu=0.1), bs.SemiparametricSVC(),
]  # fmt: skip


@pytest.mark.parametrize("model", CLASSIFIERS, ids=name)
def test_labels_without_an_order_are_named(model):
    labels = np.array(["a", "b", "c"], dtype=object)[KINDS]
    labels[7] = None
    with pytest.raises(ValueError, match="y contains None"):
        clone(model).fit(IRIS, labels)
    with pytest.raises(ValueError, match="types that have no common order: int, str"):
        clone(model).fit(IRIS, np.array([1, "b", 2] * 50, dtype=object))
    with pytest.raises(TypeError, match=rf"{type(model).__name__}\.fit\(\).*'classes'"):
        clone(model).fit(IRIS, KINDS, classes=[0, 1, 2])


@pytest.mark.parametrize("model", [m for m in CLASSIFIERS if hasattr(m, "partial_fit")], ids=name)
def test_a_class_unseen_before_is_named(model):
    model = clone(model)
    with pytest.raises(ValueError, match=r"classes contains None"):
        model.partial_fit(IRIS, KINDS, classes=[None, 1])
    with pytest.raises(ValueError, match=r"no class of this machine: 2\. Its classes .*: 0, 1\."):
        model.partial_fit(IRIS, KINDS, classes=[0, 1])
    model.partial_fit(IRIS, KINDS, classes=[0, 1, 2])
    with pytest.raises(ValueError, match=r"no class of this machine: 7, 9\."):
        model.partial_fit(IRIS[:2], [9, 7])
    with pytest.raises(ValueError, match=r"no class of this machine: 'a', 'b'\."):
        model.partial_fit(IRIS[:2], ["a", "b"])


@pytest.mark.parametrize("model", [bs.BudgetSVC(), bs.SVC(), bs.SVR(), bs.OneClassSVM()], ids=name)
def test_complex_weights_are_refused(model):
    with pytest.raises(ValueError, match="sample_weight is complex"):
        clone(model).fit(IRIS, KINDS, sample_weight=np.ones(150) + 1j)


@pytest.mark.parametrize("model", [m for m in CLASSIFIERS if hasattr(m, "class_weight")], ids=name)
@pytest.mark.parametrize("weight", [np.inf, np.nan])
def test_class_weights_are_finite(model, weight):
    with pytest.raises(ValueError, match="class_weight must be"):
        clone(model).set_params(class_weight={0: weight}).fit(IRIS, KINDS)


def test_our_machines_are_named_where_a_callable_kernel_is_refused():
    with pytest.raises(ValueError, match=r"budgetsvm\.SVC and budgetsvm\.SVR accept"):
        bs.BudgetSVC(kernel=np.dot).fit(IRIS, KINDS)


@pytest.mark.parametrize("model", [bs.SVC(), bs.BudgetSVC(), bs.SVR(), bs.OneClassSVM()], ids=name)
def test_sparse_columns_of_a_data_frame(model):
    frame = pd.DataFrame(IRIS).astype(pd.SparseDtype(float, 0.0))
    learnt, plain = clone(model).fit(frame, KINDS), clone(model).fit(IRIS, KINDS)
    np.testing.assert_allclose(learnt.predict(frame), plain.predict(IRIS), atol=1e-6)


def test_a_linear_machine_on_a_budget_has_weights_of_the_features():
    for y in (KINDS > 0, KINDS):
        model = bs.BudgetSVC(kernel="linear", budget=200, fit_intercept=True).fit(IRIS, y)
        told = IRIS @ model.coef_.T + model.intercept_
        found = model.decision_function(IRIS).reshape(told.shape)
        np.testing.assert_allclose(told, found, atol=1e-8)
    reference = SklearnSVC(kernel="linear", tol=1e-8).fit(IRIS, KINDS > 0)
    model = bs.BudgetSVC(kernel="linear", budget=200, fit_intercept=True, smoothing=1e-5)
    coef = model.fit(IRIS, KINDS > 0).coef_
    np.testing.assert_allclose(coef, reference.coef_, atol=1e-3)
    rows = sparse.csr_matrix(IRIS)
    assert model.fit(rows, KINDS).coef_.shape == (3, 4)
    separate = bs.BudgetSVC(kernel="linear", budget=20, shared=False, random_state=0)
    separate.fit(IRIS, KINDS)
    np.testing.assert_allclose(IRIS @ separate.coef_.T, separate.decision_function(IRIS), atol=1e-6)
    assert not hasattr(bs.BudgetSVC().fit(IRIS, KINDS), "coef_")


def test_probabilities_warn_of_nothing_but_themselves():
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        bs.SVC(probability=True, random_state=0).fit(IRIS, KINDS).predict_proba(IRIS)
    assert [str(w.message).split(" was")[0] for w in found] == ["The `probability` parameter"]


def test_the_html_representation_links_to_our_page():
    html = bs.BudgetSVC()._repr_html_()
    assert "docs/api/budget.md" in html
    assert "scikit-learn.org" not in html.split("</style>")[-1]


# Progress


class Stream:
    def __init__(self):
        self.lines = []

    def write(self, text):
        self.lines.append(text)

    def flush(self):
        pass


def progress(phase, seen=0, iteration=0):
    return {
        "phase": phase, "iteration": iteration, "seen": seen, "n_samples": 100, "n_sv": 3,
        "objective": None, "time": 1.0, "stop_reason": "max_iter",
    }  # fmt: skip


def test_a_long_pass_has_a_line_every_few_seconds_off_a_terminal(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(_progress.time, "monotonic", lambda: now[0])
    line = _progress.ProgressLine(1, stream := Stream())
    for tenth in range(200):
        now[0] = tenth / 10
        line.show(progress("pass", seen=tenth % 100))
    assert len(stream.lines) == 3
    line.show(progress("end_of_pass", iteration=1))
    line.show(progress("end"))
    assert len(stream.lines) == 5


def test_the_logger_has_lines_where_it_is_listened_to(caplog, monkeypatch, capsys):
    model = bs.BudgetSVC(random_state=0, max_iter=3, tol=0)
    model.fit(X, CLASSES)
    assert caplog.records == []
    caplog.set_level(logging.INFO, "budgetsvm")
    model.fit(X, CLASSES)
    assert caplog.records == []
    monkeypatch.setattr(_progress, "INTERVAL", 0.0)
    for estimator in (model, bs.SVC(), bs.AssetSVC(), bs.PrimalSVC(basis="random")):
        caplog.clear()
        clone(estimator).fit(X, CLASSES)
        assert caplog.records
        assert {record.levelname for record in caplog.records} == {"INFO"}
        assert not caplog.records[0].message.startswith("budgetsvm")
    assert capsys.readouterr().err == ""


def test_a_small_exact_fit_leaves_out_checks_that_find_nothing(monkeypatch):
    """They take longer than the fit does; what they would find is found all the same."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 3
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    checked = bs.SVC().fit(frame, y)
    assert list(checked.feature_names_in_) == ["a", "b", "c"]
    with monkeypatch.context() as patch:
        patch.setattr("budgetsvm._exact.validate_data", None)
        patch.setattr("budgetsvm._exact_classifier.check_classification_targets", None)
        plain = bs.SVC().fit(X, y)
        again = checked.fit(X, y)
        bs.SVR().fit(X, X[:, 0])
    assert again.n_features_in_ == 3
    assert not hasattr(again, "feature_names_in_")
    for rows, labels in ((frame, y), (X.tolist(), y.tolist()), (np.asfortranarray(X), y)):
        other = bs.SVC().fit(rows, labels)
        np.testing.assert_array_equal(other.dual_coef_, plain.dual_coef_)
    for at, bad in (("X", np.nan), ("X", np.inf), ("y", np.nan)):
        rows, values = X.copy(), X[:, 0].copy()
        (rows if at == "X" else values)[5, ...] = bad
        with pytest.raises(ValueError, match=rf"Input {at} contains (NaN|infinity)"):
            bs.SVR().fit(rows, values)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        bs.SVC().fit(X, y[:-1])
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        bs.SVC().fit(X, X[:, 0])
    with pytest.warns(UserWarning, match="unique classes is greater than 50%"):
        bs.SVC().fit(X, np.arange(60) % 40)
