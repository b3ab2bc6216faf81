"""The project agrees with itself: versions, commands, paths, references."""

import ast
import inspect
import re
import tomllib
from graphlib import CycleError, TopologicalSorter
from importlib import metadata
from pathlib import Path

import pytest

import budgetsvm

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("src", "python", "tests", "benches", "examples", "docs", ".ci", ".github")
TEXTS = {".rs", ".py", ".pyi", ".md", ".toml", ".yml", ".yaml", ".json", ".txt", ".typed", ""}
MAX_LINES = 500


def texts(*folders):
    top = [] if folders else [path for path in ROOT.iterdir() if path.name != ".git"]
    below = [path for name in folders or FOLDERS for path in (ROOT / name).rglob("*")]
    for path in sorted(top + below):
        if path.is_file() and path.suffix in TEXTS and "__pycache__" not in path.parts:
            yield path.relative_to(ROOT), path.read_text(encoding="utf-8")


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_versions_agree():
    version = tomllib.loads(read("Cargo.toml"))["workspace"]["package"]["version"]
    assert budgetsvm.__version__ == version
    assert metadata.version("budgetsvm") == version
    assert f"## [{version}]" in read("CHANGELOG.md")
    assert "version" in tomllib.loads(read("pyproject.toml"))["project"]["dynamic"]


def test_the_package_lists_public_names_only():
    others = set(dir(budgetsvm)) - {*budgetsvm.__all__, "load"}
    assert not [name for name in others if not inspect.ismodule(getattr(budgetsvm, name))]


def test_all_names_are_estimators():
    """So that ``from budgetsvm import *`` hides no function of the user's."""
    names = set(budgetsvm.__all__) - {"__version__"}
    assert all(isinstance(getattr(budgetsvm, name), type) for name in names)
    assert callable(budgetsvm.load)


def test_minimum_versions_agree():
    rust = tomllib.loads(read("Cargo.toml"))["workspace"]["package"]["rust-version"]
    assert tomllib.loads(read("clippy.toml"))["msrv"] == rust
    python = tomllib.loads(read("pyproject.toml"))["project"]["requires-python"]
    bindings = tomllib.loads(read("python/bindings/Cargo.toml"))["dependencies"]["pyo3"]
    assert "abi3-py" + python.removeprefix(">=").replace(".", "") in bindings["features"]
    readme = read("README.md")
    assert f"Rust ≥ {rust}" in readme
    assert f"Python ≥ {python.removeprefix('>=')}" in readme


@pytest.mark.parametrize("command", ["make demo", "make test", "make help"])
def test_readme_names_the_commands(command):
    assert command in read("README.md")
    assert re.search(rf"^{command.split()[1]}:", read("Makefile"), re.MULTILINE)


def test_no_path_of_a_machine():
    home = re.compile(r"(?<![\w.:/}])/(?:home|Users|root|work|mnt)/\w")
    for path, text in texts():
        for line in text.splitlines():
            found = str(ROOT) + "/" in line or home.search(line)
            assert not found, f"{path}: {line.strip()}"


def test_python_files_stay_short():
    for path, text in texts("python", "tests", "benches"):
        if path.suffix == ".py":
            assert len(text.splitlines()) <= MAX_LINES, f"{path}: split it"


def test_every_reference_key_is_listed():
    listed = set(re.findall(r"^\| \[([A-Z]+[0-9]*)\]", read("docs/references.md"), re.MULTILINE))
    assert len(listed) > 5
    for path, text in texts("src", "python"):
        if path.suffix not in {".rs", ".py"}:
            continue
        for line in text.splitlines():
            if path.suffix == ".rs" and not line.lstrip().startswith("//"):
                continue
            for key in re.findall(r"(?<![\w\])])\[([A-Z]{2,}[0-9]{0,2})\](?![\w(\[:])", line):
                assert key in listed, f"{path}: [{key}] is not in docs/references.md"


def imported(path, module, known):
    """The modules of the package that a file imports, wherever in it."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.rsplit(".", node.level - 1)[:1] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            for name in node.names:
                inner = f"{base}.{name.name}"
                yield inner if inner in known else base


def test_python_files_import_one_another_in_no_circle():
    root = ROOT / "python"
    files = {"budgetsvm._core": root / "budgetsvm" / "_core.pyi"}
    for path in (root / "budgetsvm").rglob("*.py"):
        parts = path.relative_to(root).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    known = set(files)
    edges = {name: {*imported(path, name, known)} & known for name, path in files.items()}
    assert sum(map(len, edges.values())) > len(files)
    try:
        list(TopologicalSorter(edges).static_order())
    except CycleError as error:
        raise AssertionError(f"files import one another: {' -> '.join(error.args[1])}") from None
