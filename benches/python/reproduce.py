"""Every table and figure of the five papers, run again, and the document of what came out.

    make reproduce                   # all; docs/reproduction.md and its pictures
    make reproduce QUICK=1           # small problems, in minutes; the document lies in out/
    make reproduce ONLY=mpd_paper    # one part again, the others as they were kept
    make reproduce ONLY=none         # no part: the document alone

Each part is a script of this folder that can be run by itself (`papers.py` lists them); what it
found is kept in its record (`record.py`), so a run that was cut off goes on with the part that was
cut: a part whose record is whole, and of the version that is there, is not run again unless named.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

from common import ROOT, parser
from papers import PAPERS, RUN
from record import version

HERE = Path(__file__).resolve().parent
ABOUT = ("machine", "version", "seeds", "command")


def kept(out: Path, name: str) -> dict | None:
    """The record of a part, if there is one."""
    file = out / "record" / name / "record.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None


def whole(record: dict | None) -> bool:
    """Nothing is missing, and it is of this version."""
    entries = record["entries"].values() if record and record["done"] else ()
    return bool(entries) and all(entry["version"] == version() for entry in entries)


def run(part, options) -> int:
    """The script of a part, as a process of its own."""
    script, *arguments = part.command.split()
    words = [sys.executable, str(HERE / script), *arguments]
    words += ["--out", str(options.out), "--data", str(options.data), "--part", part.name]
    words += ["--quick"] if options.quick else []
    print(f"\n=== {part.name}: {part.command}", flush=True)
    start = time.perf_counter()
    status = subprocess.run(words, check=False).returncode
    print(f"=== {part.name}: {time.perf_counter() - start:.0f} s, status {status}", flush=True)
    return status


def document(options, folder: Path) -> Path:
    """Writes reproduction.md into `folder`, and the pictures beside it."""
    pictures = folder / "reproduction"
    if pictures.is_dir():
        shutil.rmtree(pictures)
    pictures.mkdir(parents=True)
    records = {part.name: kept(options.out, part.name) for paper in PAPERS for part in paper.parts}
    every = [entry for record in records.values() if record for entry in record["entries"].values()]
    common = {key: _common(every, key) for key in ("machine", "version")}
    lines = ["# The papers' tables and figures, run again", "", HEAD.strip(), ""]
    lines += [f"- {key}: {value}" for key, value in common.items() if value]
    lines += [""]
    committed = folder == ROOT / "docs"
    lines += [RUN.strip(), ""] if committed else []
    for paper in PAPERS:
        lines += [f"## {paper.title}", "", paper.about.strip(), ""]
        for part in paper.parts:
            record = records[part.name]
            if record is None:
                lines += [f"`{part.command}`: not run; its data are not at hand.", ""]
                continue
            lines += _entries(options, part, record, common, pictures)
        # Of the committed run, not of another machine's or of a quick one.
        if paper.reading and committed:
            lines += ["### What differs, and why", "", paper.reading.strip(), ""]
    path = folder / "reproduction.md"
    path.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    return path


def _common(entries: list[dict], key: str) -> str:
    values = {entry[key] for entry in entries}
    return values.pop() if len(values) == 1 else ""


def _entries(options, part, record: dict, common: dict, pictures: Path):
    """The lines of a part; what holds for all that stands at the top is not said again."""
    about, title = None, None
    for entry in record["entries"].values():
        told = {key: entry[key] for key in ABOUT if not common.get(key)}
        if told != about:
            about, words = told, dict(told)
            said = [f"`{words.pop('command')}`", *(f"{k}: {v}" for k, v in words.items() if v)]
            yield from ("; ".join(said) + ".", "")
        if entry["kind"] == "text":
            yield from (entry["text"].strip(), "")
            continue
        if entry["title"] != title:
            title = entry["title"]
            yield from (f"### {title}", "")
        if entry["kind"] == "table":
            yield from (entry["text"], "")
        else:
            name = f"{part.name}_{entry['file']}"
            shutil.copyfile(options.out / "record" / part.name / entry["file"], pictures / name)
            yield from (f"![{title}](reproduction/{name})", "")
    if not record["done"]:
        yield from ("This part was cut off; what it had found is above.", "")


HEAD = """
Written by `make reproduce` (`benches/python/reproduce.py`), not by hand; `make reproduce ONLY=NAME`
runs one script again. Beside each of the papers' numbers stands ours and, where one is at hand, a
peer's. Times are each machine's own: the papers' machines are of 2004 to 2018. The data are those
of `benches/python/fetch.py`, which says where each set is published.
"""


def main() -> None:
    """Run what is asked for, then write the document."""
    made = parser(__doc__)
    names = [part.name for paper in PAPERS for part in paper.parts]
    made.add_argument("--only", nargs="+", choices=[*names, "none"], metavar="NAME")
    made.add_argument("--document", type=Path, help="folder of the document")
    made.set_defaults(out=None)
    options = made.parse_args()
    kind = "reproduce-quick" if options.quick else "reproduce"
    options.out = options.out or ROOT / "out" / kind
    failed = []
    for part in (part for paper in PAPERS for part in paper.parts):
        if options.only and part.name not in options.only:
            continue
        if not options.only and whole(kept(options.out, part.name)):
            print(f"{part.name}: kept")
            continue
        if run(part, options):
            failed.append(part.name)
    folder = options.document or (options.out if options.quick else ROOT / "docs")
    print(f"written to {document(options, folder)}")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
