"""What dependencies may be: the licences are read as they are meant."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

import dependencies

ALLOWED = {"MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "Unicode-3.0"}
RULES = {
    "licenses": {"allow": sorted(ALLOWED)},
    "sources": {"allow-registry": ["https://registry"]},
    "bans": {"skip": [{"crate": "two@1.0.0"}]},
}


@pytest.mark.parametrize(
    ("licence", "fine"),
    [
        ("MIT", True),
        ("GPL-3.0", False),
        ("", False),
        ("MIT OR GPL-3.0", True),
        ("GPL-3.0/MIT", True),
        ("MIT AND GPL-3.0", False),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", True),
        ("(MIT OR Apache-2.0) AND GPL-3.0", False),
        ("GPL-3.0 OR MIT AND GPL-3.0", False),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("GPL-2.0 WITH LLVM-exception", False),
    ],
)
def test_licences(licence, fine):
    assert dependencies.allows(licence, ALLOWED) is fine


def package(name, version, licence="MIT", source="registry+https://registry", needed=()):
    return {
        "name": name, "version": version, "license": licence, "source": source,
        "dependencies": [{"name": other, "req": req} for other, req in needed],
    }  # fmt: skip


def test_faults_are_named():
    fine = [package("own", "1.0.0", source=None), package("two", "1.0.0"), package("two", "2.0.0")]
    assert dependencies.faults(fine, RULES) == []
    for other, told in [
        (package("other", "1.0.0", licence=None), "licence"),
        (package("other", "1.0.0", source="git+https://elsewhere"), "from git"),
        (package("two", "3.0.0"), "comes 2 times"),
        (package("mine", "1.0.0", source=None, needed=[("two", "*")]), "any version"),
    ]:
        (fault,) = dependencies.faults([*fine, other], RULES)
        assert told in fault
    assert "is no dependency" in dependencies.faults(fine[:1], RULES)[0]
