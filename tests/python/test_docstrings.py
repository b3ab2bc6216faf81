"""Every example in a docstring runs and prints what it says."""

import doctest
import importlib
import pkgutil

import pytest

import budgetsvm

MODULES = ["budgetsvm"] + [
    module.name for module in pkgutil.walk_packages(budgetsvm.__path__, "budgetsvm.")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert failed == 0
