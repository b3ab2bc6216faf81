"""Every Python example runs as a user runs it, and reaches what it shows."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
#: The least of every accuracy that the example prints.
ACCURACY = {
    "quickstart.py": 0.84,
    "streaming.py": 0.85,
    "persistence.py": 0.95,
    "elec2_stream.py": 0.82,
}

#: What runs with engines that are no part of the tests: `make cluster-test`.
ON_CLUSTERS = {"ray_shards.py", "spark_shards.py"}


def test_every_example_is_tested():
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(ACCURACY) | ON_CLUSTERS
    makefile = (EXAMPLES.parent / "Makefile").read_text(encoding="utf-8")
    assert all(f"examples/{name}" in makefile for name in ON_CLUSTERS)


@pytest.mark.parametrize("name", sorted(ON_CLUSTERS))
def test_a_recipe_is_short(name):
    assert len((EXAMPLES / name).read_text(encoding="utf-8").splitlines()) <= 60


@pytest.mark.parametrize("name", ACCURACY)
def test_example(name, tmp_path):
    command = [sys.executable, "-W", "error::UserWarning", str(EXAMPLES / name)]
    # On what is bundled: a stream of one's own may be harder.
    bundled = {name: value for name, value in os.environ.items() if name != "BUDGETSVM_DATA"}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=bundled)
    assert done.returncode == 0, done.stderr
    found = [float(value) for value in re.findall(r"\b0\.\d{3,}", done.stdout)]
    assert found, done.stdout
    assert min(found) >= ACCURACY[name], done.stdout
    assert not list(tmp_path.iterdir())
