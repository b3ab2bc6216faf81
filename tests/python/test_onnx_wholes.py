"""Estimators of scikit-learn around our machines, converted by skl2onnx, say what they say."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from budgetsvm import SVC, BudgetSVC
from budgetsvm.onnx import register

skl2onnx = pytest.importorskip("skl2onnx")
onnxruntime = pytest.importorskip("onnxruntime")

X, KINDS = load_iris(return_X_y=True)
X = X.astype(np.float32)
TARGETS = {"two": (KINDS == 1).astype(int), "text": np.array(["a", "b"])[(KINDS == 1).astype(int)],
           "three": KINDS}  # fmt: skip
MACHINES = {
    "values": SVC(),
    "probabilities": BudgetSVC(budget=20, loss="log_loss", random_state=0),
}


PAIRS = [("values", "two"), ("values", "text"), ("probabilities", "two"),
         ("probabilities", "three")]  # fmt: skip


def scaled(machine):
    return make_pipeline(StandardScaler(), machine)


def calibrated(machine, **more):
    return CalibratedClassifierCV(machine, cv=3, **more)


WHOLES = {
    "calibrated": calibrated,
    "calibrated by one": lambda m: calibrated(m, ensemble=False),
    "calibrated pipeline": lambda m: calibrated(scaled(m)),
    "pipeline of calibrated": lambda m: scaled(calibrated(m)),
    "one against the rest": lambda m: OneVsRestClassifier(calibrated(m)),
    "bagged": lambda m: BaggingClassifier(calibrated(m), n_estimators=2, random_state=0),
    "votes": lambda m: VotingClassifier(
        [("own", m), ("scaled", scaled(m)), ("other", LogisticRegression())],
        flatten_transform=False,
    ),
    "mean": lambda m: VotingClassifier(
        [("own", calibrated(m)), ("other", LogisticRegression())], voting="soft",
        flatten_transform=False,
    ),
    "stacked": lambda m: StackingClassifier([("own", m)], cv=3),
    "grid": lambda m: GridSearchCV(m, {}, cv=3),
}  # fmt: skip


def said(whole, **more):
    """Labels, and the second output, of the converted graph."""
    register()
    graph = skl2onnx.to_onnx(whole, X[:1], target_opset=17, **more)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, {"X": X})


def check(whole):
    labels, second = said(whole, options={id(whole): {"zipmap": False}})
    assert labels.tolist() == whole.predict(X).tolist()
    if hasattr(whole, "predict_proba"):
        np.testing.assert_allclose(second, whole.predict_proba(X), atol=2e-6)


@pytest.mark.parametrize(("machine", "target"), PAIRS)
@pytest.mark.parametrize("name", WHOLES)
def test_it_says_what_scikit_learn_says(name, machine, target):
    check(WHOLES[name](clone(MACHINES[machine])).fit(X, TARGETS[target]))


def test_isotonic_curves():
    """Where the values are those that it was fitted to: skl2onnx takes the nearest point of it."""
    whole = calibrated(SVC(), ensemble=False, method="isotonic")
    check(whole.fit(X, TARGETS["two"]))


@pytest.mark.parametrize(("machine", "target"), PAIRS)
def test_frozen_machines(machine, target):
    y = TARGETS[target]
    for fitted in (clone(MACHINES[machine]).fit(X, y), scaled(clone(MACHINES[machine])).fit(X, y)):
        check(CalibratedClassifierCV(FrozenEstimator(fitted)).fit(X, y))
    labels, _ = said(FrozenEstimator(fitted), options={"zipmap": False})
    assert labels.tolist() == fitted.predict(X).tolist()


@pytest.mark.parametrize("target", ["two", "three"])
def test_one_against_one(target):
    whole = OneVsOneClassifier(SVC()).fit(X, TARGETS[target])
    assert said(whole)[0].ravel().tolist() == whole.predict(X).tolist()


@pytest.mark.parametrize("target", ["two", "three"])
def test_decision_values_are_not_taken_for_probabilities(target):
    y = TARGETS[target]
    rest = OneVsRestClassifier(SVC()).fit(X, y)
    with pytest.raises(ValueError, match=r"OneVsRestClassifier.*SVC.*raw_scores"):
        said(rest)
    labels, _ = said(rest, options={id(rest): {"raw_scores": True, "zipmap": False}})
    assert labels.tolist() == rest.predict(X).tolist()
    with pytest.raises(ValueError, match=r"BaggingClassifier.*SVC.*CalibratedClassifierCV"):
        said(BaggingClassifier(SVC(), n_estimators=2).fit(X, y))
