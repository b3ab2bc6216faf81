"""LIBSVM's model text: read, written, and both as LIBSVM itself has it."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError

import budgetsvm as b
import machines
from budgetsvm.convert import from_libsvm, to_c, to_libsvm

pytestmark = pytest.mark.filterwarnings("ignore")

X, Y = load_iris(return_X_y=True)
#: Of one scale: LIBSVM takes minutes for some kernels of the rows as they are.
SCALED = (X - X.mean(axis=0)) / X.std(axis=0)
KERNELS = {"linear": 0, "poly": 1, "rbf": 2, "sigmoid": 3}


def text_of(machine):
    file = io.BytesIO()
    to_libsvm(machine, file)
    return file.getvalue().decode()


def decided(text, rows):
    """Values of the pairs as LIBSVM's `svm_predict_values` has them, from the text alone."""
    head, body = text.split("\nSV\n")
    fields = {line.split()[0]: line.split()[1:] for line in head.splitlines()}
    number = {name: float(fields.get(name, [0])[0]) for name in ("gamma", "coef0", "degree")}
    k = max(int(fields["nr_class"][0]), 2)
    lines = [line.split() for line in body.splitlines()]
    coef = np.array([[float(v) for v in line[: k - 1]] for line in lines])
    points = np.zeros((len(lines), rows.shape[1]))
    for point, line in zip(points, lines, strict=True):
        for pair in line[k - 1 :]:
            index, value = pair.split(":")
            point[int(index) - 1] = float(value)
    products = rows @ points.T
    squares = ((rows[:, None] - points[None]) ** 2).sum(axis=2)
    values = {
        "linear": products,
        "polynomial": (number["gamma"] * products + number["coef0"]) ** number["degree"],
        "rbf": np.exp(-number["gamma"] * squares),
        "sigmoid": np.tanh(number["gamma"] * products + number["coef0"]),
    }[fields["kernel_type"][0]]
    rho = [float(v) for v in fields["rho"]]
    if "label" not in fields:
        return values @ coef[:, 0] - rho[0], None
    ends = np.cumsum([0, *map(int, fields["nr_sv"])])
    out = []
    for i in range(k):
        for j in range(i + 1, k):
            own, other = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
            out.append(values[:, own] @ coef[own, j - 1] + values[:, other] @ coef[other, i])
    return np.array(out).T - rho, [int(label) for label in fields["label"]]


def voted(values, labels):
    votes = np.zeros((len(values), len(labels)))
    for pair, (i, j) in enumerate(zip(*np.triu_indices(len(labels), 1), strict=True)):
        votes[np.arange(len(values)), np.where(values[:, pair] > 0, i, j)] += 1
    return np.array(labels)[votes.argmax(axis=1)]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("cls", [b.SVC, b.NuSVC, b.SVR, b.NuSVR, b.OneClassSVM])
@pytest.mark.parametrize("sparse", [False, True])
def test_exact_machines_go_there_and_back(cls, kernel, sparse, tmp_path):
    machine = cls(kernel=kernel, gamma=0.2, coef0=0.5, degree=2)
    machine.fit(sp.csr_matrix(X) if sparse else X, Y)
    text = text_of(machine)
    again = from_libsvm(io.BytesIO(text.encode()), n_features=4)
    assert type(again) is cls
    # Sparse points are moved by no origin: other roundings.
    decide = "decision_function" if hasattr(machine, "decision_function") else "predict"
    values = getattr(machine, decide)(X)
    allowed = 1e-12 * max(1.0, np.abs(values).max())
    np.testing.assert_allclose(getattr(again, decide)(X), values, rtol=0, atol=allowed)
    if hasattr(machine, "classes_"):
        np.testing.assert_array_equal(again.predict(X), machine.predict(X))
    plain, labels = decided(text, X)
    if labels is not None:
        np.testing.assert_array_equal(voted(plain, labels), machine.predict(X))
    # LIBSVM's text of one class has a threshold that its own rule, above zero, decides by.
    if cls is b.OneClassSVM:
        boundary = 1e-9 * (1.0 + abs(machine.offset_[0]))
        plain -= boundary
        # Values that are rounding errors at the boundary are 0 here.
        np.testing.assert_allclose(plain[values != 0], values[values != 0], rtol=0, atol=allowed)
        assert np.abs(plain[values == 0]).max(initial=0.0) <= boundary + allowed
    # A second time it is the same text.
    assert text_of(again) == text
    again.save(tmp_path / "model.safetensors")
    loaded = b.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.predict(X), again.predict(X))


@pytest.mark.parametrize(
    "machine",
    [b.BudgetSVC(budget=20, random_state=0), b.PrimalSVC(), b.PrimalSVC(kernel="linear"),
     b.AssetSVC(n_components=10, random_state=0), b.KernelPerceptron(random_state=0),
     b.Projectron(random_state=0), b.BudgetSVR(budget=20, random_state=0), b.PrimalSVR(),
     b.AssetSVR(n_components=10, random_state=0), b.BudgetOneClassSVM(budget=20, random_state=0),
     b.SVC(), b.NuSVC(nu=0.3), b.BudgetSVC(kernel="poly", budget=20, maintenance="project",
                                         random_state=0)],
    ids=lambda machine: type(machine).__name__,
)  # fmt: skip
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_single_expansions_of_every_machine(machine, dtype):
    rows = X.astype(dtype)
    machine.fit(rows, np.where(Y == 1, 5, -2) if is_classifier(machine) else Y)
    values, labels = decided(text_of(machine), rows.astype(float))
    own = machine.predict(rows)
    if labels is None and not hasattr(machine, "offset_"):
        np.testing.assert_allclose(values, own, atol=(1e-9 if dtype == np.float64 else 1e-3))
        return
    by_machine = machine.decision_function(rows)
    if labels is None:
        said = np.where(values > 0, 1, -1)
        values = values - 1e-9 * (1.0 + abs(machine.offset_[0]))
    else:
        values, said = values[:, 0], voted(values, labels)
    allowed = (1e-10 if dtype == np.float64 else 1e-4) * np.abs(by_machine).max()
    np.testing.assert_allclose(values, by_machine, rtol=0, atol=allowed)
    sure = np.abs(by_machine) > allowed
    np.testing.assert_array_equal(said[sure], own[sure])


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("BudgetSVC-0-several", "pairs of classes"), ("Nystroem-0-values", "transformer"),
        ("LocalBudgetSVC-0-two", "cells"), ("AutoSVC-0-two", "coded"),
        ("AssetSVC-1-two", "waves"), ("SVC-0-several", "whole numbers"),
        ("FourierOGD-0-two", "waves"),
    ],
)  # fmt: skip
def test_what_has_no_room_is_refused(name, told, tmp_path):
    machine = machines.machine(name)
    path = tmp_path / "model"
    with pytest.raises(ValueError, match=told) as error:
        to_libsvm(machine, path)
    assert type(machine).__name__ in str(error.value)
    assert "to_onnx" in str(error.value)
    # What it names instead works.
    try:
        to_c(machine)
    except ValueError:
        assert "to_c" not in str(error.value)
    assert not path.exists()


def test_other_refusals(tmp_path):
    with pytest.raises(NotFittedError):
        to_libsvm(b.SVC(), tmp_path / "model")
    with pytest.raises(ValueError, match="laplacian"):
        to_libsvm(b.SVC(kernel="laplacian").fit(X, Y), tmp_path / "model")
    with pytest.raises(ValueError, match="precomputed"):
        to_libsvm(b.SVC(kernel="precomputed").fit(X @ X.T, Y), tmp_path / "model")
    with pytest.raises(
        ValueError, match=r"functions.*SemiparametricSVC has; budgetsvm.onnx.to_onnx "
    ):
        to_libsvm(b.SemiparametricSVC(lambda X: X).fit(X, Y), tmp_path / "model")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r"nr_class 3", "nr_class 1000000000"), (r"total_sv \d+", "total_sv 100000000000"),
        (r"nr_class 3", "nr_class 18446744073709551615"), (r"rho [^\n]*", "rho nan 1 1"),
        (r"nr_sv [^\n]*", "nr_sv 1 1 1"), (r"label [^\n]*", "label 1 1 2"), (r"SV\n", ""),
        (r"gamma [^\n]*", "gamma nan"), (r"c_svc", "e_svc"), (r"SV\n\S+", "SV\nnan"),
        (r":\S+", ":inf"), (r"2:", "4000000000:"),
    ],
)  # fmt: skip
def test_hostile_texts_are_refused(old, new):
    text = re.sub(old, new, text_of(b.SVC().fit(X, Y)), count=1)
    with pytest.raises(ValueError, match=r"."):
        from_libsvm(io.BytesIO(text.encode()))


def test_what_the_rows_need():
    text = text_of(b.SVC().fit(X, Y)).encode()
    assert from_libsvm(io.BytesIO(text), n_features=9).n_features_in_ == 9
    with pytest.raises(ValueError, match="n_features"):
        from_libsvm(io.BytesIO(text), n_features=2)
    with pytest.raises(ValueError, match="n_features"):
        from_libsvm(io.BytesIO(text), n_features=0)


# LIBSVM's own program, where it is installed (the group "libsvm" of pyproject.toml).


@pytest.fixture(scope="module")
def svmutil():
    """LIBSVM on one thread: its loops are too short for several of a busy machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        return pytest.importorskip("libsvm.svmutil")


def by_libsvm(model, rows):
    """Labels (or values) and values of the pairs; svmutil's own has no room for those of ν-SVC."""
    from libsvm import svm

    k = model.get_nr_class()
    pairs = (svm.c_double * max(1, k * (k - 1) // 2))()
    found = []
    for row in rows.tolist():
        label = svm.libsvm.svm_predict_values(model, svm.gen_svm_nodearray(row)[0], pairs)
        found.append((label, list(pairs)))
    return np.array([label for label, _ in found]), np.array([each for _, each in found])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", range(5))
def test_libsvm_reads_and_writes_the_same(svmutil, tmp_path, kind, kernel):
    X = SCALED
    values = load_diabetes(return_X_y=True)[1][:150] / 100
    y = Y * 3 - 2 if kind in (0, 1) else values
    cls = [b.SVC, b.NuSVC, b.OneClassSVM, b.SVR, b.NuSVR][kind]
    nu = {"nu": 0.3} if kind in (1, 2, 4) else {}
    # Written here, read there.
    machine = cls(kernel=kernel, gamma=0.2, coef0=0.5, degree=2, **nu).fit(X, y)
    path = str(tmp_path / "ours")
    to_libsvm(machine, path)
    theirs = svmutil.svm_load_model(path)
    labels, plain = by_libsvm(theirs, X)
    size = np.abs(plain).max()
    if kind in (0, 1):
        np.testing.assert_array_equal(labels, machine.predict(X))
    elif kind == 2:
        # Support vectors on the boundary too, whose values are rounding errors.
        np.testing.assert_array_equal(labels, machine.predict(X))
        np.testing.assert_allclose(
            plain[:, 0], machine.decision_function(X), atol=1e-7 * max(1.0, size)
        )
    else:
        np.testing.assert_allclose(labels, machine.predict(X), rtol=1e-9, atol=1e-9 * size)
    # Written there, read here; labels in their order of appearance.
    order = np.random.default_rng(0).permutation(150)
    flags = f"-s {kind} -t {KERNELS[kernel]} -g 0.2 -r 0.5 -d 2 -n 0.3 -q"
    trained = svmutil.svm_train(y[order].tolist(), X[order].tolist(), flags)
    svmutil.svm_save_model(str(tmp_path / "theirs"), trained)
    # What it saves has eight digits of a row: the saved model is another than that in memory.
    labels, plain = by_libsvm(svmutil.svm_load_model(str(tmp_path / "theirs")), X)
    ours = from_libsvm(tmp_path / "theirs", n_features=4)
    if kind == 2:
        np.testing.assert_allclose(
            ours.decision_function(X), plain[:, 0], atol=1e-7 * max(1.0, size)
        )
    elif kind in (0, 1):
        np.testing.assert_array_equal(ours.predict(X), labels)
    else:
        np.testing.assert_allclose(ours.predict(X), labels, rtol=1e-9, atol=1e-9 * size)


@pytest.mark.parametrize("machine", [
    b.OneClassSVM(nu=0.1), b.OneClassSVM(nu=0.2, solver="mpd"), b.OneClassSVM(kernel="linear"),
    b.OneClassSVM(nu=0.3, kernel="poly", gamma=0.2, coef0=1),
], ids=repr)  # fmt: skip
@pytest.mark.parametrize("sparse", [False, True])
def test_rows_on_the_boundary_of_one_class(svmutil, tmp_path, machine, sparse):
    for seed in range(3):
        X = np.random.default_rng(seed).normal(size=(270, 4))
        machine.fit(sp.csr_matrix(X) if sparse else X)
        path = str(tmp_path / f"model{seed}")
        to_libsvm(machine, path)
        labels, _ = by_libsvm(svmutil.svm_load_model(path), X)
        np.testing.assert_array_equal(labels, machine.predict(X))


def test_probabilities_of_libsvm(svmutil, tmp_path):
    for classes in (2, 3):
        rows, y = X[Y < classes], Y[Y < classes] * 2 - 1
        order = np.random.default_rng(1).permutation(len(y))
        trained = svmutil.svm_train(y[order].tolist(), rows[order].tolist(), "-b 1 -q -g 0.3")
        svmutil.svm_save_model(str(tmp_path / "theirs"), trained)
        ours = from_libsvm(tmp_path / "theirs", n_features=4)
        trained = svmutil.svm_load_model(str(tmp_path / "theirs"))
        _, _, plain = svmutil.svm_predict(y.tolist(), rows.tolist(), trained, "-b 1 -q")
        places = np.argsort(trained.get_labels())
        np.testing.assert_allclose(ours.predict_proba(rows), np.array(plain)[:, places], atol=2e-3)
        to_libsvm(ours, tmp_path / "again")
        theirs = svmutil.svm_load_model(str(tmp_path / "again"))
        _, _, told = svmutil.svm_predict(y.tolist(), rows.tolist(), theirs, "-b 1 -q")
        places = np.argsort(theirs.get_labels())
        np.testing.assert_allclose(np.array(told)[:, places], ours.predict_proba(rows), atol=2e-3)
