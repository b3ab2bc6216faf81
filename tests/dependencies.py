"""Whether every dependency has an allowed licence, comes from the registry, and comes once.

    python tests/dependencies.py [a git folder of github.com/rustsec/advisory-db]

What is allowed stands in deny.toml, as `cargo deny` reads it; this reads `cargo metadata` alone and
needs no tool. With the advisories at hand it says which of them concern a version in Cargo.lock.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]


def allows(expression: str, allowed: set[str]) -> bool:
    """Whether an SPDX expression of names, AND, OR and parentheses can be had with these alone."""
    words = re.findall(r"\(|\)|[^\s()/]+(?:\s+WITH\s+[^\s()]+)?|/", expression)

    def either() -> bool:
        fine = both()
        while words and words[0] in ("OR", "/"):
            words.pop(0)
            fine = both() or fine
        return fine

    def both() -> bool:
        fine = one()
        while words and words[0] == "AND":
            words.pop(0)
            fine = one() and fine
        return fine

    def one() -> bool:
        word = words.pop(0)
        if word == "(":
            fine = either()
            words.pop(0)
            return fine
        return " ".join(word.split()) in allowed

    return bool(words) and either() and not words


def faults(packages: list[dict], rules: dict) -> list[str]:
    """What is wrong, a line each."""
    found, versions = [], defaultdict(set)
    allowed, known = set(rules["licenses"]["allow"]), rules["sources"]["allow-registry"]
    for package in packages:
        name = f"{package['name']} {package['version']}"
        versions[package["name"]].add(package["version"])
        if not allows(package["license"] or "", allowed):
            found.append(f"{name}: licence {package['license']!r}")
        source = package["source"]
        if source is not None and source.removeprefix("registry+") not in known:
            found.append(f"{name}: from {source}")
        for needed in package["dependencies"]:
            if needed["req"] == "*" and source is None and needed.get("path") is None:
                found.append(f"{name}: any version of {needed['name']}")
    for entry in rules["bans"].get("skip", []):
        name, version = entry["crate"].split("@")
        if version in versions[name]:
            versions[name].remove(version)
        else:
            found.append(f"{name} {version} is skipped, and is no dependency")
    for name, several in versions.items():
        if len(several) > 1:
            found.append(f"{name} comes {len(several)} times: {', '.join(sorted(several))}")
    return found


def number(version: str) -> tuple:
    """Versions in their order: what comes before a release is less than it."""
    release, _, before = version.strip().partition("+")[0].partition("-")
    figures = [int(part) for part in release.split(".")]
    parts = [(not part.isdigit(), int(part) if part.isdigit() else part)
             for part in before.split(".") if before]  # fmt: skip
    return tuple(figures + [0] * (3 - len(figures))), not before, tuple(parts)


def meets(version: str, requirement: str) -> bool:
    """Whether a version is in a range as advisories write it: bounds with commas between."""
    at = number(version)
    for bound in requirement.split(","):
        sign, told = re.fullmatch(r"\s*(>=|<=|>|<|=|\^|~)?\s*(\S+)\s*", bound).groups()
        to = number(told)
        if sign in ("^", "~", None):
            figures = to[0]
            kept = 2 if sign == "~" else next((i + 1 for i, f in enumerate(figures) if f), 3)
            kept = min(kept, told.partition("-")[0].count(".") + 1) if sign == "~" else kept
            fine = at >= to and at[0][:kept] == figures[:kept]
        else:
            fine = {">=": at >= to, "<=": at <= to, ">": at > to, "<": at < to, "=": at == to}[sign]
        if not fine:
            return False
    return True


def advisories(folder: Path, packages: list[tuple[str, str]], ignored: list[str]) -> list[str]:
    """Those that concern these versions."""

    def git(*command: str) -> str:
        return subprocess.run(["git", "-C", str(folder), *command],
                              capture_output=True, text=True, check=True).stdout  # fmt: skip

    of_crate = defaultdict(list)
    for path in git("ls-tree", "-r", "HEAD", "--name-only", "crates").splitlines():
        of_crate[path.split("/")[1]].append(path)
    found = []
    for name, version in packages:
        for path in of_crate.get(name, []):
            told = tomllib.loads(git("show", f"HEAD:{path}").split("```")[1].removeprefix("toml"))
            if told["advisory"].get("withdrawn") or told["advisory"]["id"] in ignored:
                continue
            ranges = told.get("versions", {})
            safe = ranges.get("patched", []) + ranges.get("unaffected", [])
            if not any(meets(version, requirement) for requirement in safe):
                kind = told["advisory"].get("informational", "vulnerability")
                found.append(f"{name} {version}: {told['advisory']['id']} ({kind})")
    return found


def main() -> None:
    rules = tomllib.loads((ROOT / "deny.toml").read_text(encoding="utf-8"))
    told = subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--locked"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    packages = json.loads(told.stdout)["packages"]
    found = faults(packages, rules)
    if len(sys.argv) > 1:
        pairs = [(package["name"], package["version"]) for package in packages]
        found += advisories(Path(sys.argv[1]), pairs, rules["advisories"]["ignore"])
    print("\n".join(found) or f"{len(packages)} packages: licences, sources and versions are fine")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
