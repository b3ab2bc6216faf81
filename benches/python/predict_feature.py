"""What a Rust program that only predicts costs to build: the feature "predict" beside all of it.

    python benches/python/predict_feature.py [--jobs 2]

Two programs that read a model's file and predict one row are built in release mode from nothing, in
a folder that is removed again, with cargo's packages as they are (`cargo fetch` first): crates
compiled, processor seconds, and the size of the program, stripped.
"""

from __future__ import annotations

import resource
import subprocess
import tempfile
from pathlib import Path

from common import machine, markdown, parser, write

ROOT = Path(__file__).resolve().parents[2]
FEATURES = {
    "predict": 'default-features = false, features = ["predict"]',
    "all": 'features = ["train"]',
}
PROGRAM = """
use budgetsvm::data::Rows;
use budgetsvm::model::{AnyModel, persist::Archive};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("a file")?;
    match AnyModel::of_archive(Archive::load(path.as_ref())?)? {
        AnyModel::F32(model) => println!("{:?}", model.decision(&Rows::of_one(&[0.0; 2])?, 1)?),
        AnyModel::F64(model) => println!("{:?}", model.decision(&Rows::of_one(&[0.0; 2])?, 1)?),
    }
    Ok(())
}
"""


def spent():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    options = parser(__doc__)
    options.add_argument("--jobs", type=int, default=2)
    options = options.parse_args()
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for name, features in FEATURES.items():
            crate = Path(folder) / name
            (crate / "src").mkdir(parents=True)
            (crate / "Cargo.toml").write_text(
                f'[package]\nname = "{name}-program"\nversion = "0.0.0"\nedition = "2024"\n'
                f'[dependencies]\nbudgetsvm = {{ path = "{ROOT}", {features} }}\n'
                "[profile.release]\nstrip = true\n[workspace]\n"
            )
            (crate / "Cargo.lock").write_bytes((ROOT / "Cargo.lock").read_bytes())
            (crate / "src" / "main.rs").write_text(PROGRAM)
            command = ["cargo", "build", "--release", "--offline", f"-j{options.jobs}"]
            before = spent()
            done = subprocess.run(command, cwd=crate, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(done.stderr)
            size = (crate / "target" / "release" / f"{name}-program").stat().st_size
            lines.append(
                [name, str(done.stderr.count("Compiling ")), f"{spent() - before:.0f}",
                 f"{size / 1e6:.2f}"]
            )  # fmt: skip
            print(*lines[-1], flush=True)
    header = ["features", "crates", "processor s", "program, MB"]
    write(options.out / "predict_feature.md", f"{machine()}\n\n{markdown(header, lines)}")


if __name__ == "__main__":
    main()
