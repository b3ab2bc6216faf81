"""Machines as C: compiled without a warning, they say what Python says."""

from __future__ import annotations

import re
import shutil
import subprocess

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import budgetsvm as b
import machines
from budgetsvm._prediction_rule import decompose
from budgetsvm.convert import to_c

pytestmark = pytest.mark.filterwarnings("ignore")

CC = shutil.which("cc") or shutil.which("gcc")
FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-pedantic", "-Werror", "-O1"]
#: What C is not written of, and the word of the reason.
REFUSED = {"LocalBudgetSVC": "cells"}
#: Sums of several expansions of coded columns.
CODED = [name for name in machines.NAMES if name.startswith("AutoSV")]
NAMES = [
    name
    for name in machines.NAMES
    if re.split("[- ]", name)[0] not in REFUSED and name not in CODED
]

MAIN = """
#include <stdio.h>
#include <stdlib.h>
@include@
#define READ(d) for (j = 0; j < (d); j++) if (scanf("%f", &x[j]) != 1) return 1;
int main(void)
{
    static float x[64], out[256];
    int n, i, j;
    if (scanf("%d", &n) != 1) return 1;
    for (i = 0; i < n; i++) {
        READ(@d@)
@calls@
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Runs machines on rows: one program for all of them."""
    if CC is None:
        pytest.fail("a C compiler is needed, as for Rust")
    folder = tmp_path_factory.mktemp("c")

    def run(given, X, **options):
        include, calls = "", ""
        for at, machine in enumerate(given):
            text = to_c(machine, folder / f"m{at}.h", name=f"m{at}", **options)
            include += f'#include "m{at}.h"\n'
            calls += f"        m{at}_decision(x, out);\n"
            calls += f"        for (j = 0; j < M{at}_OUTPUTS; j++) "
            calls += 'printf("%.9g ", (double)out[j]);\n'
            if "_label(" in text:
                calls += f'        printf("%d ", m{at}_label(x));\n'
            if "_probability(" in text:
                calls += f"        m{at}_probability(x, out);\n"
                calls += f"        for (j = 0; j < {len(machine.classes_)}; j++) "
                calls += 'printf("%.9g ", (double)out[j]);\n'
            calls += '        printf("\\n");\n'
        d = str(X.shape[1])
        source = MAIN.replace("@include@", include).replace("@d@", d).replace("@calls@", calls)
        (folder / "main.c").write_text(source)
        program = folder / "main"
        done = subprocess.run(
            [CC, *FLAGS, "-o", program, folder / "main.c", "-lm"], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr[:4000]
        rows = "\n".join(" ".join(f"{v:.9g}" for v in row) for row in X)
        told = subprocess.run(
            [program], input=f"{len(X)}\n{rows}\n", capture_output=True, text=True, check=True
        ).stdout.splitlines()
        step = len(given)
        return [np.array([line.split() for line in told[at::step]], float) for at in range(step)]

    return run


def answers(machine, X):
    """Decision values, labels as places, probabilities: what a header has, as Python gives it."""
    if hasattr(machine, "transform"):
        return machine.transform(X), None, None
    classes = getattr(machine, "classes_", None)
    if classes is None and not hasattr(machine, "offset_"):
        return machine.predict(X).reshape(len(X), -1), None, None
    values = machine.decision_function(X)
    values = values[:, None] if values.ndim == 1 else values
    labels = machine.predict(X)
    if labels.ndim == 2:  # labels of a set: those whose values are positive
        return values, None, None
    proba = machine.predict_proba(X) if hasattr(machine, "predict_proba") else None
    return values, labels if classes is None else np.searchsorted(classes, labels), proba


def margin(values, machine):
    if values.shape[1] == 1:
        return np.abs(values[:, 0])
    if getattr(machine, "decision_function_shape", "") == "ovo":
        return np.abs(values).min(axis=1)
    top = np.sort(values, axis=1)
    return top[:, -1] - top[:, -2]


@pytest.mark.parametrize("options", [{}, {"fast_exp": False}, {"dtype": "int16"}],
                         ids=["float32", "expf", "int16"])  # fmt: skip
def test_c_says_what_python_says(compiled, options):
    X = machines.rows(960).astype(np.float32)
    assert len(X) == 1000
    names = NAMES[::4] if "fast_exp" in options else NAMES
    given = [machines.machine(name) for name in names]
    short = options.get("dtype") == "int16"
    for name, machine, found in zip(names, given, compiled(given, X, **options), strict=True):
        values, labels, proba = answers(machine, X.astype(machine._machine.dtype))
        width = values.shape[1]
        size = np.abs(values).max()
        off = np.abs(found[:, :width] - values).max() / size
        # Features on landmarks are kernel values times weights of up to the root of one over the
        # least eigenvalue that counts: so many times the rounding of the values.
        amplified = "Nystroem" in name or "Cholesky" in name
        if not short:
            assert off < (1e-4 if amplified else 1e-5), f"{name}: {off}"
        if labels is None:
            assert off < (0.2 if amplified else 0.01), f"{name}: {off}"
            continue
        same = found[:, width] == labels
        if short:
            # Support vectors, of which there are some among the rows, lie on boundaries.
            off = (~same[margin(values, machine) > 1e-5 * size]).mean()
            assert off <= 0.002, f"{name}: {off}"
        else:
            assert same[margin(values, machine) > 1e-5 * size].all(), name
        if proba is not None:
            np.testing.assert_allclose(found[:, width + 1 :], proba, atol=0.01 if short else 1e-4)


@pytest.mark.parametrize("short", [False, True])
def test_machines_that_tune_themselves(compiled, short):
    X = machines.rows(960).astype(np.float32)
    # Beyond the farthest (where integers are cut), and numbers that are not known.
    X[:3] = [[1.0, -1.0, 1.0] if short else [1e30, -1e30, 1e30]]
    holes = X.copy()
    holes[3:40:3, 1] = np.nan
    given = [machines.machine(name) for name in CODED]
    told = compiled(given, holes, dtype="int16" if short else "float32")
    for name, machine, found in zip(CODED, given, told, strict=True):
        # A file of an older version has no numbers to put in their place.
        rows = X if machine._fitted_encoders() is None else holes
        kept = ~np.isnan(holes).any(axis=1) | (rows is holes)
        rows, found = rows[kept].astype(machine._machine.dtype), found[kept]
        values, labels, proba = answers(machine, rows)
        width, size = values.shape[1], np.abs(values).max()
        part, _ = decompose(machine)
        sums = [np.abs(expansion.coef).sum(axis=0).max() for _, expansion in part.parts]
        # As many times the rounding of a kernel value as coefficients of both signs cancel.
        bound = (1e-4 if short else 3e-7) * max(1.0, sum(sums) / size)
        off = np.abs(found[:, :width] - values).max() / size
        assert off < bound, f"{name}: {off} {bound}"
        if labels is None:
            continue
        # Values of two classes are not about 0, but what is probable is about one half.
        far = np.sort(proba, axis=1)[:, -1] - np.sort(proba, axis=1)[:, -2] > 3 * bound * size
        np.testing.assert_array_equal(found[far, width], labels[far], err_msg=name)
        if not short:
            np.testing.assert_allclose(found[:, width + 1 :], proba, atol=3e-4, err_msg=name)


def test_classes_of_text_and_of_numbers():
    X, y = load_iris(return_X_y=True)
    text = to_c(b.SVC().fit(X, np.array(["a", 'b"\n', "ü"])[y]))
    assert r'char *const model_classes[3] = {"a", "b\042\012", "\303\274"};' in text
    assert "long long model_classes[3] = {-2LL, 1LL, 4LL};" in to_c(b.SVC().fit(X, y * 3 - 2))
    assert to_c(b.SVC().fit(X, y), name="iris").count("IRIS_FEATURES 4") == 1


@pytest.mark.parametrize("name", REFUSED)
def test_what_c_is_not_written_of(name, tmp_path):
    with pytest.raises(ValueError, match=rf"{name}.*{REFUSED[name]}.*to_onnx"):
        to_c(machines.machine(f"{name}-0-two"), tmp_path / "model.h")
    assert not list(tmp_path.iterdir())


def test_other_refusals(tmp_path):
    X, y = load_iris(return_X_y=True)
    path = tmp_path / "model.h"
    machine = b.SVC().fit(X, y)
    to_c(machine, path)
    before = path.read_bytes()
    for wrong in ({"dtype": "int8"}, {"name": "2x"}, {"name": "a-b"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            to_c(machine, path, **wrong)
    with pytest.raises(NotFittedError):
        to_c(b.SVC(), path)
    with pytest.raises(ValueError, match="precomputed"):
        to_c(b.SVC(kernel="precomputed").fit(X @ X.T, y), path)
    with pytest.raises(ValueError, match="functions"):
        to_c(b.SemiparametricSVC(lambda X: X).fit(X, y), path)
    with pytest.raises(ValueError, match="beyond single precision"):
        to_c(b.SVC(kernel="linear", C=1e-40, tol=1e-40).fit(X * 1e38, y), path)
    assert path.read_bytes() == before


def test_the_bytes_of_constants_are_counted():
    machine = machines.of_moons()
    text = to_c(machine)
    (told,) = re.findall(r"Constants of float32: (\d+) bytes", text)
    tables = re.findall(r"static const (float|double) \w+\[(\d+)\]", text)
    assert int(told) == sum({"float": 4, "double": 8}[kind] * int(n) for kind, n in tables)
    assert int(told) == 20 * 2 * 4 + 20 * 4 + 2 * 4 + 8


@pytest.mark.parametrize("short", [False, True])
def test_a_row_with_nan_has_a_decision_that_is_nan(compiled, short):
    X = machines.rows()[:4].astype(np.float32)
    X[1:3, 0] = np.nan
    X[3] = 1e30 if short else X[3]
    given = [machines.of_moons()] if X.shape[1] == 2 else [machines.machine("SVC-0-two")]
    (found,) = compiled(given, X, dtype="int16" if short else "float32")
    assert np.isnan(found[:, 0]).tolist() == [False, True, True, False]


def test_calibrated_machines(compiled):
    X = machines.rows().astype(np.float32)
    given = [machines.calibrated(name) for name in machines.CALIBRATED]
    for name, machine, found in zip(machines.CALIBRATED, given, compiled(given, X), strict=True):
        values, labels, proba = answers(machine, X)
        width = values.shape[1]
        np.testing.assert_allclose(found[:, width + 1 :], proba, atol=1e-4, err_msg=name)
        top = np.sort(proba, axis=1)
        sure = top[:, -1] - top[:, -2] > 1e-4
        np.testing.assert_array_equal(found[sure, width], labels[sure], err_msg=name)
