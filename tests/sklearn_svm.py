"""Run scikit-learn's own tests of its SVMs with the classes of this package in their place.

    python tests/sklearn_svm.py [pytest arguments]

The names in `sklearn.svm` are replaced before the test modules are collected. Exits with 0 when at
least 282 of the 286 items pass and no other than the items of EXCUSED fail.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
import sklearn.svm

import budgetsvm

#: Items that may fail. test_svr_errors fits a kernel function that returns a matrix of the wrong
#: size and wants the error from predict; here fit raises it already.
EXCUSED = {"test_svr_errors"}
LEAST = 282
NAMES = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")


class Swap:
    """A pytest plugin: swaps the classes, counts what passes."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed: list[str] = []

    def pytest_configure(self, config) -> None:
        for name in NAMES:
            setattr(sklearn.svm, name, getattr(budgetsvm, name))

    def pytest_runtest_logreport(self, report) -> None:
        if report.failed:
            self.failed.append(report.nodeid.split("::", 1)[1])
        elif report.when == "call" and report.passed:
            self.passed += 1


def main(arguments: list[str]) -> int:
    """Run the tests; 0 when enough pass."""
    spec = importlib.util.find_spec("sklearn.svm.tests")
    folder = Path(spec.submodule_search_locations[0])
    swap = Swap()
    files = [str(folder / name) for name in ("test_svm.py", "test_sparse.py")]
    options = ["-q", "-p", "no:cacheprovider", "--no-header", "--rootdir", str(folder)]
    # Its fixtures stand above its tests, wherever the environment is.
    options += ["--confcutdir", str(folder.parents[1])]
    pytest.main([*options, *files, *arguments], plugins=[swap])
    unexcused = [item for item in swap.failed if item not in EXCUSED]
    print(f"passed {swap.passed}, failed {len(swap.failed)}, not excused: {unexcused}")
    return int(bool(unexcused) or (not arguments and swap.passed < LEAST))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
