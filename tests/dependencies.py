"""Whether every dependency has an allowed licence, comes from the registry, and comes once.

What is allowed stands in deny.toml, as `cargo deny` reads it (which also looks for advisories);
this reads `cargo metadata` alone and needs no tool.
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


def main() -> None:
    rules = tomllib.loads((ROOT / "deny.toml").read_text(encoding="utf-8"))
    told = subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--locked"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    packages = json.loads(told.stdout)["packages"]
    found = faults(packages, rules)
    print("\n".join(found) or f"{len(packages)} packages: licences, sources and versions are fine")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
