"""Files that say one thing in two ways, or what no fit leaves: refused, in little memory."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import budgetsvm
from budgetsvm import serve
from files import cases, joined, parts, rows, summed, targets

FILES = Path(__file__).parents[1] / "files" / "1"
LEARNERS = [
    cls.__name__
    for cls in (getattr(budgetsvm, name) for name in budgetsvm.__all__)
    if isinstance(cls, type) and cls.__module__.startswith("budgetsvm._online")
]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The bytes of a file of every case."""
    path, found = tmp_path_factory.mktemp("files") / "model.safetensors", {}
    for name, estimator, kind, single, sparse in cases():
        estimator.fit(rows(single, sparse), targets(kind))
        estimator.save(path)
        found[name] = path.read_bytes()
    return found


def loaded(data, tmp_path):
    path = tmp_path / "model.safetensors"
    path.write_bytes(data)
    return budgetsvm.load(path)


def refused(data, tmp_path, match="not a valid budgetsvm model file"):
    with pytest.raises(ValueError, match=match):
        loaded(data, tmp_path)


def edited(data, **changes):
    """The file with changes in the description of its estimator, by the last key of a path."""
    header, description, values = parts(data)
    for path, value in changes.items():
        at = description["estimator"]
        *front, last = path.split("__")
        for key in front:
            at = at[key]
        at[last] = value(at[last]) if callable(value) else value
    return joined(header, description, values)


def test_every_bit_counts(written, tmp_path):
    """842 of 4048 single bits could change without a word before files had a checksum."""
    data = written["BudgetSVC-0-two"]
    places = np.random.default_rng(0).permutation(8 * len(data))[:4000]
    for place in places:
        flipped = bytearray(data)
        flipped[place // 8] ^= 1 << (place % 8)
        refused(bytes(flipped), tmp_path)


def test_old_files_have_no_checksum_and_new_ones_must(written, tmp_path):
    old = (FILES / "BudgetSVC-0-two.safetensors").read_bytes()
    assert parts(old)[1]["format_version"] == 1
    assert loaded(old, tmp_path).n_features_in_ == 3
    header, description, values = parts(old)
    refused(joined(header, {**description, "format_version": 2}, values), tmp_path, "checksum")
    header, description, values = parts(written["BudgetSVC-0-two"])
    assert description["format_version"] == 2
    refused(joined(header, {**description, "format_version": 1}, values), tmp_path, "checksum")


@pytest.mark.parametrize("name", [
    "AutoSVC-0-several", "AutoSVC-0-two", "NuSVC-0-several", "SVC-1-several", "SVC-1-two",
    "SemiparametricNuSVC-0-several", "OneClassSVM-0-values", "BudgetSVC-0-several",
])  # fmt: skip
def test_coefficients_near_the_end_of_floats(name, tmp_path):
    """Answers are finite, or the rows are refused."""
    ((_, estimator, kind, single, sparse),) = [c for c in cases() if c[0] == name]
    X, path = rows(single, sparse), tmp_path / "model.safetensors"
    estimator.fit(X, targets(kind)).save(path)
    header, description, values = parts(path.read_bytes())
    for key, entry in header.items():
        if not key.endswith((".coef", ".intercept")):
            continue
        first, last = entry["data_offsets"]
        dtype = {"F64": np.float64, "F32": np.float32}[entry["dtype"]]
        numbers = np.frombuffer(values[first:last], dtype)
        if not numbers.any():
            continue
        largest = (numbers / np.abs(numbers).max() * (np.finfo(dtype).max / 2)).astype(dtype)
        path.write_bytes(
            joined(header, description, values[:first] + largest.tobytes() + values[last:])
        )
        ways = []
        for read in (budgetsvm.load, serve.load):
            try:
                ways.append(read(path))
            except ValueError:  # one number is there twice, or functions are the user's own
                assert name.startswith(("Semi", "OneClass"))
        for model in ways:
            for method in ("decision_function", "predict_proba", "score_samples"):
                if not hasattr(model, method):
                    continue
                try:
                    found = getattr(model, method)(X)
                except (ValueError, AttributeError):  # out of range, or no probabilities
                    continue
                assert np.isfinite(found).all(), (key, method)


@pytest.mark.parametrize("old", LEARNERS)
def test_a_learner_under_another_name(old, written, tmp_path):
    data = written[f"{old}-0-two"]
    for new in LEARNERS:
        header, description, values = parts(data)
        stored = description["estimator"]
        stored["kind"] = new
        names = set(getattr(budgetsvm, new)().get_params())
        stored["params"] = {k: v for k, v in stored["params"].items() if k in names}
        renamed = joined(header, description, values)
        if new == old:
            assert type(loaded(renamed, tmp_path)).__name__ == old
        else:
            refused(renamed, tmp_path)


LABELS = [
    ["int64", [[0, 1]]], ["int64", [[0], [1]]], ["int64", [0, 0]], ["int64", [1, 0]],
    ["int64", [0]],
    ["int64", [0, 1, 2]], ["int64", [0.0, 1.0]], ["float64", [0, 1]], ["bool", [0, 1]],
    ["int8", [0, 300]], ["str", [0, 1]], ["<U9", ["a", "b"]], ["int64", [0, None]], None,
]  # fmt: skip


@pytest.mark.parametrize("labels", LABELS, ids=str)
@pytest.mark.parametrize("name", ["BudgetSVC", "SVC", "PrimalSVC", "AssetSVC", "Forgetron"])
def test_labels_that_no_fit_leaves(name, labels, written, tmp_path):
    refused(edited(written[f"{name}-0-two"], labels=labels), tmp_path)


@pytest.mark.parametrize(
    "name", ["BudgetSVR", "SVR", "PrimalSVR", "AssetSVR", "OneClassSVM", "BudgetOneClassSVM"]
)
def test_labels_of_machines_without_classes(name, written, tmp_path):
    refused(edited(written[f"{name}-0-values"], labels=["int64", [0, 1]]), tmp_path)


TYPES = [
    "f8, ,",
    "longdouble",
    ">f8",
    "<f8",
    "f8",
    "d",
    "object",
    "O",
    "i4,i4",
    "str",
    "",
    "a" * 99,
]


@pytest.mark.parametrize("dtype", TYPES)
def test_types_that_no_array_of_a_file_has(dtype, written, tmp_path):
    refused(edited(written["SVC-0-two"], fitted__support_={"array": dtype}), tmp_path)


VALUES = [
    ("SVC-0-two", "params__degree", -1), ("SVC-0-two", "params__degree", "3"),
    ("SVC-0-two", "params__C", -1.0), ("SVC-0-two", "params__kernel", "linear"),
    ("SVC-0-two", "params__kernel", "RBF"), ("SVC-0-two", "params__tol", None),
    ("SVC-1-two", "params__degree", 2), ("SVC-1-two", "params__coef0", 1.0),
    ("SVC-0-two", "fitted___gamma", 2.0), ("SVC-0-two", "fitted___sparse", 1),
    ("SVC-0-two", "fitted__fit_status_", 1), ("SVC-0-two", "fitted__shape_fit_", [1, 3]),
    ("SVC-0-two", "fitted__shape_fit_", [40, 4]), ("SVC-0-two", "fitted__stop_reason_", "bored"),
    ("SVC-0-two", "fitted__duality_gap_", [0.0, 0.0]), ("SVR-0-values", "fitted__n_iter_", None),
    ("SVR-0-values", "fitted__n_iter_", 1.5), ("SVR-0-values", "fitted__n_iter_", -1),
    ("SVR-0-values", "fitted__duality_gap_", "0"), ("BudgetSVC-0-two", "fitted__n_iter_", None),
    ("BudgetSVC-0-two", "fitted__objective_", 1.0), ("BudgetSVC-0-two", "params__budget", 0),
    ("BudgetSVC-0-two", "params__kernel", "laplacian"), ("BudgetSVC-0-two", "params__C", "1"),
    ("BudgetSVC-0-two", "fitted__history_", ["time"]), ("BudgetSVC-0-two", "n_features", True),
    ("AutoSVC-0-several", "n_features", 0), ("Nystroem-0-values", "n_features", 0),
    ("BudgetSVC-0-two", "params__class_weight", {"pairs": [[0, "1"]]}),
    ("BudgetSVC-0-two", "params__class_weight", {"pairs": [[0, 1.0], [0, 2.0]]}),
    ("PrimalSVC-0-two", "fitted__gamma_", 3.0), ("PrimalSVC-0-two", "fitted__C_", -1.0),
    ("AssetSVC-0-two", "params__loss", {}), ("Nystroem-0-values", "params__kernel", "poly"),
    ("Nystroem-0-values", "fitted___n_features_out", -1),
    ("IncompleteCholesky-0-values", "fitted__residual_", -1.0),
    ("LocalBudgetSVC-0-two", "params__overlap", 0), ("Forgetron-0-two", "params__average", 2),
]  # fmt: skip


@pytest.mark.parametrize(("name", "path", "value"), VALUES, ids=lambda value: str(value)[:40])
def test_fields_of_another_type_or_range_or_meaning(name, path, value, written, tmp_path):
    refused(edited(written[name], **{path: value}), tmp_path)


def test_points_that_contradict_each_other(written, tmp_path):
    """Support vectors named twice, more than there are rows, not so many a class."""
    data = written["SVC-0-several"]
    header, description, values = parts(data)
    for name, change in [
        ("support_", lambda v: np.repeat(v[:1], len(v))),
        ("support_", lambda v: v + 1000),
        ("support_", lambda v: -v),
        ("_n_support", lambda v: v[::-1]),
        ("class_weight_", None),
    ]:
        first, last = header[name]["data_offsets"]
        array = np.frombuffer(values[first:last], dtype="<i8")
        if change is None:
            changed = {**header, name: {**header[name], "shape": [len(array), 1]}}
            refused(joined(changed, description, values), tmp_path)
            continue
        other = np.ascontiguousarray(change(array)).tobytes()
        refused(joined(header, description, values[:first] + other + values[last:]), tmp_path)


def test_what_would_not_load_is_not_saved(tmp_path):
    X, y = rows(False, False), targets("two")
    path = tmp_path / "model.safetensors"
    for model, change in [
        (budgetsvm.BudgetSVC(), {"kernel": "laplacian"}),
        (budgetsvm.BudgetSVC(), {"C": -1}),
        (budgetsvm.SVC(), {"kernel": "linear"}),
        (budgetsvm.SVC(kernel="poly"), {"degree": 5}),
        (budgetsvm.PrimalSVC(), {"kernel": "linear"}),
    ]:
        model.fit(X, y).set_params(**change)
        with pytest.raises(ValueError, match="cannot be saved, fit it again") as caught:
            model.save(path)
        assert "not a valid" not in str(caught.value)
        assert not path.exists()


def test_other_paths_and_other_estimators(tmp_path, written):
    path = tmp_path / "model.safetensors"
    path.write_bytes(written["SVC-0-two"])
    assert type(budgetsvm.load(bytes(path))).__name__ == "SVC"
    for path in (None, 3, ["a"]):
        with pytest.raises(TypeError):
            budgetsvm.load(path)
    refused(edited(written["SVC-0-two"], kind="Svc2"), tmp_path, "holds a Svc2, no estimator of")
    for kind in ("load", "Machine", "__class__", 3, None, ["SVC"], {}):
        with pytest.raises(ValueError, match=r"no estimator of|not a valid"):
            loaded(edited(written["SVC-0-two"], kind=kind), tmp_path)


# Memory -----------------------------------------------------------------------------------------

PEAK = """
    import sys
    import budgetsvm

    def memory(name):
        with open("/proc/self/status") as status:
            line = next(line for line in status if line.startswith(name))
        return 1024 * int(line.split()[1])

    budgetsvm.load(sys.argv[2])
    before = memory("VmRSS")
    try:
        budgetsvm.load(sys.argv[1])
    except ValueError as error:
        print(error, file=sys.stderr)
    print(memory("VmHWM") - before)
"""


def taken(path, good):
    """Bytes that loading takes beyond what the process held."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PEAK), str(path), str(good)],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return int(done.stdout), done.stderr


def with_array(data, name, values):
    header, description, old = parts(data)
    header[name] = {
        "dtype": "U8", "shape": [len(values)], "data_offsets": [len(old), len(old) + len(values)]
    }  # fmt: skip
    return joined(header, description, old + values)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc as Linux has it")
@pytest.mark.parametrize("what", ["wide labels", "empty objects", "names that are objects"])
def test_a_small_file_takes_little_memory(what, written, tmp_path):
    good = tmp_path / "good.safetensors"
    data = written["BudgetSVC-0-several"]
    good.write_bytes(data)
    if what == "wide labels":
        # One text of 300,000 letters makes 3,000 labels of one width 3.6 GB.
        texts = sorted({"a" * 300_000, *(f"b{i:05}" for i in range(3000))})
        data = edited(data, labels=["str", texts])
    elif what == "empty objects":
        header, _, values = parts(data)
        text = "[" + '{"":0},' * 140_000 + "0]"
        header["__metadata__"] = {"budgetsvm": text}
        text = json.dumps(header).encode()
        data = summed(len(text).to_bytes(8, "little") + text + values)
    else:
        data = with_array(data, "feature_names", b"[" + b"{}," * 7_000_000 + b"{}]")
    path = tmp_path / "bad.safetensors"
    path.write_bytes(data)
    most, told = taken(path, good)
    assert most <= len(data) + (64 << 20), told
    assert re.search("not a valid", told)


def test_one_long_label_makes_the_others_no_longer(tmp_path):
    X = np.arange(60.0).reshape(30, 2)
    y = np.array([["x" * 2_000_000, "y", "z"][i % 3] for i in range(30)], dtype=object)
    model = budgetsvm.KernelPerceptron().fit(X, y)
    model.classes_ = model.classes_.astype(np.str_)
    path = tmp_path / "model.safetensors"
    with pytest.raises(ValueError, match="use shorter or fewer class labels"):
        model.save(path)
    model.classes_ = np.array([label[:400_000] for label in model.classes_])
    model.save(path)
    again = budgetsvm.load(path)
    assert again.classes_.dtype == model.classes_.dtype
    many = np.array(["x" * 200_000, *(f"y{i:02}" for i in range(40))])
    model = budgetsvm.KernelPerceptron().fit(np.arange(41.0)[:, None], many)
    model.save(path)
    again = budgetsvm.load(path)
    assert again.classes_.dtype == object  # of one width they would take 33 MB
    assert again.classes_.tolist() == model.classes_.tolist()


@pytest.mark.parametrize("name", ["RandomFourier", "FourierOGD", "AssetSVC"])
def test_frequencies_of_another_precision_are_refused(name, tmp_path):
    # A map of float32 frequencies holds them rounded: others would be changed without a word.
    X, y = rows(True, False), targets("two")
    given = {"features": "fourier"} if name == "AssetSVC" else {}
    path = tmp_path / "model.safetensors"
    getattr(budgetsvm, name)(random_state=0, **given).fit(X, y).save(path)
    header, description, values = parts(path.read_bytes())
    (at,) = (entry["data_offsets"][0] for key, entry in header.items() if "frequencies" in key)
    subnormal = (2024).to_bytes(8, "little")
    for other in (np.float64(0.1).tobytes(), subnormal):
        refused(joined(header, description, values[:at] + other + values[at + 8 :]), tmp_path)


@pytest.mark.parametrize(
    ("field", "other"),
    [
        ("average", 2),
        ("average", 255),
        ("age", 2**63 - 1),
        ("age", 2**53 + 1),
        ("scale", 2**64 - 1),
    ],
)
def test_numbers_that_would_be_written_as_others(field, other, written, tmp_path):
    header, description, values = parts(written["BudgetOGD-0-two"])

    def told(value):
        if isinstance(value, dict):
            return {k: other if k == field else told(v) for k, v in value.items()}
        return [told(v) for v in value] if isinstance(value, list) else value

    assert told(description["machine"]) != description["machine"]
    changed = {**description, "machine": told(description["machine"])}
    refused(joined(header, changed, values), tmp_path)


@pytest.mark.parametrize("name", ["BudgetSVC", "AssetSVC", "LocalBudgetSVC"])
def test_a_field_too_many_anywhere(name, tmp_path):
    # In every object that the file has, however deep.
    path = tmp_path / "model.safetensors"
    model = getattr(budgetsvm, name)(random_state=0)
    X, y = rows(False, False), targets("two")
    (
        model.partial_fit(X, y, classes=np.unique(y)) if name == "BudgetSVC" else model.fit(X, y)
    ).save(path)
    header, description, values = parts(path.read_bytes())

    def places(value):
        if isinstance(value, dict):
            yield value
        for inner in value.values() if isinstance(value, dict) else value:
            if isinstance(inner, (dict, list)):
                yield from places(inner)

    found = list(places(description["machine"]))
    assert len(found) >= 3
    for place in found:
        place["more"] = 7
        refused(joined(header, description, values), tmp_path)
        del place["more"]
    assert type(loaded(joined(header, description, values), tmp_path)).__name__ == name
