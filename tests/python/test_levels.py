"""Golden models under every vector level that this processor has: the same decisions."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import files

LEVELS = ("scalar", "avx2", "avx512")
#: Names of what Linux says of the processor.
NEEDED = {"avx2": {"avx2", "fma"}, "avx512": {"avx512f"}}
#: Trained to their optimum, which no order of additions changes by more than the tolerance.
EXACT = ("SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM")


def flags() -> set[str]:
    """What the processor has."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return set()
    return set(next((line for line in lines if line.startswith("flags")), "").split())


HERE = [level for level in LEVELS if NEEDED.get(level, set()) <= flags()]


def at_level(level, tmp_path):
    """What the golden files say under this level, and what machines trained under it say."""
    path = tmp_path / f"{level}.npz"
    environment = {**os.environ, "BUDGETSVM_SIMD": level}
    command = [sys.executable, __file__, str(path)]
    subprocess.run(command, env=environment, check=True, timeout=600)
    return np.load(path)


@pytest.mark.skipif(sys.platform != "linux", reason="the processor's flags as Linux has them")
def test_golden_models_agree_under_every_level(tmp_path):
    assert "scalar" in HERE
    told = {level: at_level(level, tmp_path) for level in HERE}
    tolerance = {name: 1e-4 if single else 1e-9 for name, _, _, single, _ in files.cases()}
    golden = {folder.name: np.load(folder / "said.npz") for folder in FOLDERS}
    for level, values in told.items():
        for name in values:
            folder, case = name.split("/")
            expected = told["scalar"][name] if folder == "fitted" else golden[folder][case]
            most = tolerance[case] if folder != "fitted" else max(tolerance[case], 1e-6)
            np.testing.assert_allclose(
                values[name], expected, rtol=0, atol=most * np.abs(expected).max(),
                err_msg=f"{level} {name}",
            )  # fmt: skip


FOLDERS = [path for path in (Path(__file__).parents[1] / "files").iterdir() if path.name.isdigit()]


def main() -> None:
    import budgetsvm

    told = {}
    for name, estimator, kind, single, sparse in files.cases():
        X = files.rows(single, sparse)
        for folder in FOLDERS:
            if not files.is_in(folder, name, estimator):
                continue
            model = budgetsvm.load(folder / f"{name}.safetensors")
            told[f"{folder.name}/{name}"] = files.said(model, X)
        if type(estimator).__name__ in EXACT:
            estimator.set_params(tol=1e-10).fit(X, files.targets(kind))
            told[f"fitted/{name}"] = files.said(estimator, X)
    np.savez(sys.argv[1], **told)


if __name__ == "__main__":
    main()
