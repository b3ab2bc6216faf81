"""Build the source archive, install it in an empty environment, import what was installed.

Workspaces with the crate at the root have broken this before. Run by `make sdist`; cargo's
dev profile and target folder are shared, so that only the project itself compiles again.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXPECTED = (
    "Cargo.toml",
    "Cargo.lock",
    "pyproject.toml",
    "README.md",
    "CHANGELOG.md",
    "LICENSE-MIT",
    "LICENSE-APACHE",
    "src/lib.rs",
    "python/bindings/Cargo.toml",
    "python/bindings/src/lib.rs",
    "python/budgetsvm/__init__.py",
    "python/budgetsvm/_core.pyi",
    "python/budgetsvm/py.typed",
    "python/budgetsvm/datasets/adult.npz",
    "python/budgetsvm/datasets/README.md",
)
BUILT = (".so", ".pyd", ".pyc")
CHECK = """
import importlib.metadata, budgetsvm, budgetsvm._core
from budgetsvm.datasets import load_adult
assert budgetsvm.__version__ == importlib.metadata.version("budgetsvm")
assert load_adult()[0].shape == (32561, 123)
print("sdist: installed and imported", budgetsvm.__version__)
"""


def run(*command: str | Path, **options) -> None:
    subprocess.run([str(part) for part in command], check=True, **options)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        maturin = Path(sys.executable).with_name("maturin")
        run(maturin, "sdist", "--out", folder, cwd=ROOT)
        (archive,) = folder.glob("*.tar.gz")
        with tarfile.open(archive) as stored:
            names = {member.partition("/")[2] for member in stored.getnames()}
        missing = [path for path in EXPECTED if path not in names]
        stray = [path for path in names if path.endswith(BUILT) or path.startswith(".venv")]
        if missing or stray:
            sys.exit(f"sdist: missing {missing}, built files inside {stray[:5]}")

        venv.create(folder / "empty", with_pip=True)
        python = folder / "empty" / ("Scripts" if os.name == "nt" else "bin") / "python"
        target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
        env = {
            **os.environ,
            "CARGO_TARGET_DIR": target,
            "MATURIN_PEP517_ARGS": "--profile dev --locked",
        }
        env.pop("VIRTUAL_ENV", None)
        env.pop("PYO3_PYTHON", None)
        run(python, "-m", "pip", "install", "--quiet", archive, env=env)
        run(python, "-I", "-c", CHECK, cwd=folder)


if __name__ == "__main__":
    main()
