"""Every estimator as a graph of general operators says what the estimator says."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import budgetsvm as b
import machines
from budgetsvm._model_ir import MAX_STANDARDIZED, AdditiveModel, read_model_ir
from budgetsvm.onnx import register, to_onnx

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")


def run(model, X, **more):
    """Outputs of the graph by name."""
    onnx.checker.check_model(model, full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    rows = [dict(zip(names, session.run(None, {"X": X, **more}), strict=True))]
    first = {"X": X[:1], **{name: value[:1] for name, value in more.items()}}
    one = dict(zip(names, session.run(None, first), strict=True))
    for name in names:
        first = rows[0][name][:1]
        if one[name].dtype.kind == "f":
            np.testing.assert_allclose(one[name], first, rtol=1e-6, atol=1e-6 * size(first))
        else:
            assert one[name].tolist() == first.tolist()
    return rows[0]


def size(values):
    return np.abs(values).max() if np.size(values) else 0.0


def functions_of(machine, n):
    """Values of the functions of a semi-parametric machine at some rows."""
    count = getattr(machine, "_n_functions", 0)
    return {"functions": np.random.default_rng(1).normal(size=(n, count))} if count else {}


def told(machine, X, more):
    """Decision values and labels (or values, or features) as the estimator gives them."""
    if hasattr(machine, "transform"):
        return machine.transform(X), None
    decided = machine.decision_function if hasattr(machine, "classes_") or hasattr(
        machine, "offset_") else machine.predict  # fmt: skip
    values = np.asarray(decided(X, **more), dtype=np.float64)
    return values, machine.predict(X, **more)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", machines.NAMES)
def test_a_graph_says_what_the_estimator_says(name, dtype):
    machine = machines.machine(name)
    X = machines.rows().astype(np.float32).astype(np.float64)
    if "missing" in name:
        X[::7, 1] = np.nan
    own = np.dtype(machine._machine.dtype)
    rows = X.astype(own)
    more = functions_of(machine, len(X))
    values, labels = told(machine, rows, more)
    graph = to_onnx(machine, dtype=dtype)
    found = run(graph, X.astype(dtype), **{k: v.astype(dtype) for k, v in more.items()})
    decided = found.get("decision", found.get("value", found.get("features")))
    assert decided.dtype == dtype
    values = values[:, None] if values.ndim == 1 else values
    assert decided.shape == values.shape
    double = dtype == np.float64 and own == np.float64
    # The graph computes in double; a machine of float32 has the rounding of its own kernel values.
    allowed = (1e-12 if double else 1e-5) * size(values)
    if own == np.float32:
        allowed = max(allowed, rounding(machine))
    np.testing.assert_allclose(decided, values, rtol=0, atol=allowed)
    if "label" in found:
        sure = margin(machine, values) > allowed
        assert sure.mean() > 0.9
        assert found["label"][sure].tolist() == labels[sure].tolist()
    if hasattr(machine, "predict_proba"):
        proba = machine.predict_proba(rows)
        np.testing.assert_allclose(found["probabilities"], proba, atol=1e-9 if double else 1e-5)
    else:
        assert "probabilities" not in found


def rounding(machine):
    """What kernel values in float32 leave of a sum with large coefficients of both signs."""
    part = read_model_ir(machine._machine)
    parts = [own for _, own in part.parts] if isinstance(part, AdditiveModel) else []
    weight = sum(np.abs(own.coef).sum(axis=0).max() for own in parts)
    return 0.25 * np.finfo(np.float32).eps * weight


def test_a_graph_of_a_float32_machine_is_its_formula_in_double():
    machine = machines.machine("AutoSVR-0-values")
    assert machine._machine.dtype == "float32"
    X = machines.rows().astype(np.float32).astype(np.float64)
    part = read_model_ir(machine._machine)
    wanted = 0.0
    for coding, own in part.parts:
        columns = [np.interp(x, *knots) for x, knots in zip(X.T, coding.knots or [], strict=False)]
        rows = np.stack(columns, axis=1) if columns else X
        rows = (
            np.clip((rows - coding.centre) * coding.factor, -MAX_STANDARDIZED, MAX_STANDARDIZED)
            * coding.scales
        )
        squares = own.kernel["gamma"] * cdist(rows - own.origin, own.dense(), "sqeuclidean")
        assert own.kernel["name"] == "rbf"
        wanted = wanted + np.exp(-squares) @ own.coef + own.intercept
    found = run(to_onnx(machine, dtype=np.float64), X)["value"]
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-10 * size(wanted))
    # The machine itself is off by what single precision leaves, and no more.
    said = machine.predict(X.astype(np.float32))[:, None]
    assert 1e-9 < np.abs(said - wanted).max() < rounding(machine)


def margin(machine, values):
    """How far each row is from another answer."""
    if values.shape[1] == 1:
        away = np.abs(values[:, 0])
        calibration = getattr(machine, "_calibration", None)
        if calibration is not None and len(calibration) == 2:
            away = np.minimum(away, np.abs(calibration[0] * values[:, 0] + calibration[1]))
        return away
    if getattr(machine, "decision_function_shape", "ovr") == "ovo":
        return np.abs(values).min(axis=1)
    top = np.sort(values, axis=1)
    return top[:, -1] - top[:, -2]


def test_classes_are_of_their_own_type():
    X, y = load_iris(return_X_y=True)
    for classes in (["a", "bb", "ü"], [7, -3, 5], [5.0, 1.0, -2.0]):
        labels = np.array(classes)[y]
        machine = b.BudgetSVC(budget=30, random_state=0).fit(X, labels)
        found = run(to_onnx(machine, dtype=np.float64), X)
        assert found["label"].tolist() == machine.predict(X).tolist()
    two = b.BudgetSVC(budget=30, random_state=0).fit(X, y > 0)
    assert run(to_onnx(two, dtype=np.float64), X)["label"].tolist() == two.predict(X).tolist()


def test_sparse_rows_are_given_densely():
    X, y = load_iris(return_X_y=True)
    machine = b.SVC().fit(sp.csr_matrix(X), y)
    found = run(to_onnx(machine, dtype=np.float64), X)
    np.testing.assert_allclose(found["decision"], machine.decision_function(X), atol=1e-12)


def test_known_functions_are_a_second_input():
    X, y = load_iris(return_X_y=True)
    machine = b.SemiparametricSVC(lambda X: X[:, :2]).fit(X, y)
    found = run(to_onnx(machine, dtype=np.float64), X, functions=X[:, :2].copy())
    np.testing.assert_allclose(found["decision"], machine.decision_function(X), atol=1e-11)
    assert found["label"].tolist() == machine.predict(X).tolist()


@pytest.mark.parametrize(
    "last",
    [b.SVC(probability=True, random_state=0), b.BudgetSVC(budget=20, random_state=0),
     b.AutoSVC(random_state=0), b.BudgetSVR(budget=20, random_state=0),
     b.OneClassSVM(nu=0.2), b.Nystroem(n_components=5, random_state=0)],
    ids=lambda e: type(e).__name__,
)  # fmt: skip
@pytest.mark.parametrize("text", [False, True])
def test_pipelines_are_converted(last, text):
    skl2onnx = pytest.importorskip("skl2onnx")
    register()
    X, y = load_iris(return_X_y=True)
    labels = np.array(["a", "bb", "c"])[y] if text and hasattr(last, "class_weight") else y
    pipeline = make_pipeline(StandardScaler(), last).fit(X, labels)
    graph = skl2onnx.to_onnx(pipeline, X[:1], target_opset=17)
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    found = session.run(None, {"X": X})
    if hasattr(last, "transform"):
        np.testing.assert_allclose(found[0], pipeline.transform(X), atol=1e-9)
    elif hasattr(last, "epsilon"):
        np.testing.assert_allclose(found[0][:, 0], pipeline.predict(X), atol=1e-9)
    else:
        assert found[0].tolist() == pipeline.predict(X).tolist()
        if hasattr(pipeline, "predict_proba"):
            np.testing.assert_allclose(found[1], pipeline.predict_proba(X), atol=1e-9)
        else:
            values = pipeline.decision_function(X)
            np.testing.assert_allclose(found[1].reshape(values.shape), values, atol=1e-9)


def test_refusals_say_what_works_instead(tmp_path):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(NotFittedError):
        to_onnx(b.SVC())
    with pytest.raises(ValueError, match=r"SVC.*function.*kernel='rbf'"):
        to_onnx(b.SVC(kernel=lambda A, B: A @ B.T).fit(X, y))
    with pytest.raises(ValueError, match=r"SVC.*precomputed.*kernel='rbf'"):
        to_onnx(b.SVC(kernel="precomputed").fit(X @ X.T, y))
    with pytest.raises(TypeError, match="register"):
        to_onnx(make_pipeline(StandardScaler(), b.SVC()).fit(X, y))
    machine = b.SVC().fit(X, y)
    with pytest.raises(ValueError, match="dtype"):
        to_onnx(machine, dtype=np.float16)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": X[:, 0], "b": np.array(["u", "v", "w"])[y]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = b.AutoSVC(random_state=0).fit(frame, y)
    with pytest.raises(ValueError, match=r"AutoSVC.*text"):
        to_onnx(table)
    path = tmp_path / "model.onnx"
    to_onnx(machine, path)
    before = path.read_bytes()
    with pytest.raises(NotFittedError):
        to_onnx(b.SVC(), path)
    assert path.read_bytes() == before
    assert onnx.load(path).producer_name == "budgetsvm"
    assert [p.name for p in tmp_path.iterdir()] == ["model.onnx"]


@pytest.mark.parametrize("name", machines.CALIBRATED)
def test_calibrated_machines(name):
    machine = machines.calibrated(name)
    X = machines.rows()
    found = run(to_onnx(machine, dtype=np.float64), X)
    proba = machine.predict_proba(X)
    np.testing.assert_allclose(found["probabilities"], proba, atol=1e-9)
    top = np.sort(proba, axis=1)
    sure = top[:, -1] - top[:, -2] > 1e-9
    assert found["label"][sure].tolist() == machine.predict(X)[sure].tolist()
