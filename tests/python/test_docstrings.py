"""Every example in a docstring runs and prints what it says."""

import doctest
import importlib
import inspect
import pkgutil
import re

import pytest

import budgetsvm
from budgetsvm._groups import GROUPS

MODULES = ["budgetsvm"] + [
    module.name for module in pkgutil.walk_packages(budgetsvm.__path__, "budgetsvm.")
]


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.thread_unsafe(reason="a doctest takes the standard output")
def test_examples(name):
    if name == "budgetsvm.dask":
        pytest.importorskip("distributed")
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert failed == 0


def described(page, section):
    """The names that a section of a page describes, in order."""
    page = inspect.cleandoc(page).replace("\\\n", "")
    found = re.search(rf"^{section}\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", page, re.M | re.S)
    lines = found[1].splitlines() if found else []
    heads = [line.partition(" : ")[0] for line in lines if line and not line[0].isspace()]
    return [name.strip() for head in heads for name in head.split(",")]


@pytest.mark.parametrize("name", [n for n in budgetsvm.__all__ if n != "__version__"] + ["load"])
def test_pages_describe_every_argument(name):
    thing = getattr(budgetsvm, name)
    assert "@" not in thing.__doc__
    assert described(thing.__doc__, "Parameters") == list(inspect.signature(thing).parameters)
    if not inspect.isclass(thing):
        return
    for section in ("Attributes", "Notes", "Examples"):
        assert f"\n{section}\n" in thing.__doc__
    told = described(thing.__doc__, "Attributes")
    assert len(told) == len(set(told))
    assert {"n_features_in_", "feature_names_in_"} <= set(told)
    for method, call in inspect.getmembers(thing, inspect.isfunction):
        if method.startswith("_") or not call.__module__.startswith("budgetsvm"):
            continue
        given = list(inspect.signature(call).parameters)[1:]
        assert described(call.__doc__, "Parameters") == given, method
        assert "\nReturns\n" in inspect.cleandoc(call.__doc__) or method == "save", method


def test_hyperparameters_stand_in_groups():
    """Each in one group; on a page those of a group stand together."""
    things = [getattr(budgetsvm, name) for name in budgetsvm.__all__]
    classes = [thing for thing in things if inspect.isclass(thing)]
    given = {name for kind in classes for name in inspect.signature(kind).parameters}
    grouped = [name for group in GROUPS.values() for name in group]
    assert given <= set(grouped)
    assert len(grouped) == len(set(grouped))
    for kind in classes:
        free = [p for p in inspect.signature(kind).parameters.values() if p.kind is p.KEYWORD_ONLY]
        places = [grouped.index(p.name) for p in free]
        assert places == sorted(places), kind


@pytest.mark.parametrize("module", ["convert", "data", "explain", "onnx"])
def test_pages_of_functions(module):
    of_module = importlib.import_module(f"budgetsvm.{module}")
    for name in of_module.__all__:
        call = getattr(of_module, name)
        assert described(call.__doc__, "Parameters") == list(inspect.signature(call).parameters)
        returns = inspect.signature(call).return_annotation not in (None, "None")
        assert ("\nReturns\n" in inspect.cleandoc(call.__doc__)) == returns, name
        assert "\nRaises\n" in inspect.cleandoc(call.__doc__), name
