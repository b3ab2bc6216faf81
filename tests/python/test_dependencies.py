"""What dependencies may be: the licences are read as they are meant."""

from __future__ import annotations

import subprocess
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


@pytest.mark.parametrize(
    ("version", "requirement", "fine"),
    [
        ("1.2.3", ">= 1.2.3", True), ("1.2.2", ">=1.2.3", False), ("1.10.0", "> 1.9.9", True),
        ("0.5.3", "^0.5.2", True), ("0.6.0", "^0.5.2", False), ("1.9.0", "^1.2", True),
        ("2.0.0", "^1.2", False), ("0.0.4", "^0.0.3", False), ("1.2.9", "~1.2.3", True),
        ("1.3.0", "~1.2.3", False), ("0.8.5", ">= 0.7.6, < 0.8.0", False),
        ("0.7.9", ">= 0.7.6, < 0.8.0", True), ("1.0.0-rc.1", ">= 1.0.0", False),
        ("1.0.0-rc.10", "> 1.0.0-rc.2", True), ("1.0.0", "= 1.0.0", True),
    ],
)  # fmt: skip
def test_ranges_of_advisories(version, requirement, fine):
    assert dependencies.meets(version, requirement) is fine


def test_an_advisory_without_a_patch_for_a_version_is_told(tmp_path):
    def git(*command):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True, capture_output=True)

    for name, head in [("bad", 'patched = [">= 1.1"]'), ("old", "patched = []")]:
        (tmp_path / "crates" / name).mkdir(parents=True)
        withdrawn = 'withdrawn = "2020-01-01"' if name == "old" else ""
        text = f'```toml\n[advisory]\nid = "R-{name}"\n{withdrawn}\n[versions]\n{head}\n```\n# x'
        (tmp_path / "crates" / name / "R.md").write_text(text, encoding="utf-8")
    git("init", "-q")
    git("add", ".")
    git("-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "x")
    found = dependencies.advisories(
        tmp_path, [("bad", "1.0.9"), ("old", "1.0.0"), ("no", "1.0.0")], []
    )
    assert found == ["bad 1.0.9: R-bad (vulnerability)"]
    assert dependencies.advisories(tmp_path, [("bad", "1.1.0")], []) == []
    assert dependencies.advisories(tmp_path, [("bad", "1.0.9")], ["R-bad"]) == []
