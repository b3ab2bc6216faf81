"""Documents that scripts make: their parts are run, what they found is put together.

`reproduce.py` and `benchmarks.py` are such documents. Each part is a script of this folder that can
be run by itself; what it found is kept in its record (`record.py`), so a run that was cut off goes
on with the part that was cut: a part whose record is whole, and of the version that is there, is
not run again unless named. How each ended, when and how long it took lies beside it (`run.json`,
`log.txt`). Of a part that fails, or whose data are not at hand, the document says so, and the
others are run. The document in the folder of the records (out/) is written after every part, the
one in docs/ when all were run.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from common import NO_DATA, ROOT, parser
from record import version, written

HERE = Path(__file__).resolve().parent
ABOUT = ("machine", "version", "seeds", "command")


class Part(NamedTuple):
    """A script with its arguments; `name` is that of its record."""

    name: str
    command: str


class Section(NamedTuple):
    """What is said before its parts, the parts, and `reading`: what we say of what was found.

    The numbers of `reading` are those of the data and settings: what a run finds is in its tables.
    """

    title: str
    about: str
    parts: tuple[Part, ...]
    reading: str = ""


class Document(NamedTuple):
    """`name` is that of its file in docs/ and of the folder of its pictures."""

    name: str
    title: str
    head: str
    sections: tuple[Section, ...]
    tail: str = ""

    @property
    def parts(self) -> list[Part]:
        """Of all sections."""
        return [part for section in self.sections for part in section.parts]


def stored(out: Path, name: str, file: str) -> dict | None:
    """What a part left in a file, or None; a file that was cut off is none."""
    path = out / "record" / name / file
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def kept(out: Path, name: str) -> dict | None:
    """The record of a part, if there is one."""
    return stored(out, name, "record.json")


def whole(record: dict | None) -> bool:
    """Nothing is missing, and it is of this version."""
    entries = record["entries"].values() if record and record["done"] else ()
    return bool(entries) and all(entry["version"] == version() for entry in entries)


def run(part, options) -> dict:
    """The script of a part, as a process of its own, and how it ended."""
    script, *arguments = part.command.split()
    words = [sys.executable, "-u", str(HERE / script), *arguments]
    words += ["--out", str(options.out), "--data", str(options.data), "--part", part.name]
    words += ["--quick"] if options.quick else []
    folder = options.out / "record" / part.name
    folder.mkdir(parents=True, exist_ok=True)
    print(f"\n=== {part.name}: {part.command}", flush=True)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    began, start, missing = datetime.now(UTC), time.perf_counter(), ""
    with (
        (folder / "log.txt").open("w", encoding="utf-8") as log,
        subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            encoding="utf-8", errors="replace",
        ) as process,
    ):  # fmt: skip
        try:
            for line in process.stdout or ():
                print(line, end="", flush=True)
                log.write(line)
                missing = missing or (found[1] if (found := re.match(NO_DATA, line)) else "")
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)
            process.wait()
    ended = {
        "began": f"{began:%Y-%m-%d %H:%M}", "seconds": time.perf_counter() - start, "load": load,
        "status": process.returncode, "missing": missing, "version": version(),
    }  # fmt: skip
    _of_this_version(folder / "record.json")
    written(folder / "run.json", ended)
    print(f"=== {part.name}: {ended['seconds']:.0f} s, status {ended['status']}", flush=True)
    return ended


def _of_this_version(path: Path) -> None:
    """Leaves out of a record what an older version had found and its last run has not."""
    record = stored(path.parents[2], path.parent.name, path.name)
    found = record["entries"] if record else {}
    now = {key: entry for key, entry in found.items() if entry["version"] == record.get("version")}
    if now and len(now) < len(found):
        written(path, {**record, "entries": now})


def compose(document: Document, options, folder: Path) -> Path:
    """Writes the document into `folder`, and its pictures beside it."""
    records = {part.name: kept(options.out, part.name) for part in document.parts}
    runs = {part.name: stored(options.out, part.name, "run.json") for part in document.parts}
    every = [entry for record in records.values() if record for entry in record["entries"].values()]
    common = {key: _common(every, key) for key in ("machine", "version")}
    lines = [f"# {document.title}", "", document.head.strip(), ""]
    lines += [f"- {key}: {value}" for key, value in common.items() if value]
    lines += [*_spent(list(runs.values())), ""]
    pictures = folder / document.name
    if pictures.is_dir():
        shutil.rmtree(pictures)
    committed = folder == ROOT / "docs"
    for section in document.sections:
        lines += [
            f"## {section.title}",
            "",
            *([section.about.strip(), ""] if section.about else []),
        ]
        for part in section.parts:
            record, ended = records[part.name], runs[part.name]
            lines += _ended(part, record, ended)
            if record is not None:
                lines += _entries(options, part, record, common, pictures)
        # Of a whole run, not of a quick one.
        if section.reading and committed:
            lines += ["### What differs, and why", "", section.reading.strip(), ""]
    path = folder / f"{document.name}.md"
    lines += [document.tail.strip()]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    return path


def _common(entries: list[dict], key: str) -> str:
    values = {entry[key] for entry in entries}
    return values.pop() if len(values) == 1 else ""


def _spent(runs: list[dict | None]):
    """When, how long, and beside what: all parts together."""
    known = sorted((run for run in runs if run), key=lambda run: run["began"])
    if not known:
        return
    minutes = sum(run["seconds"] for run in known) / 60
    first, last = known[0]["began"], known[-1]["began"]
    yield f"- time: {minutes:.1f} minutes, the first part begun at {first} UTC, the last at {last}"
    loads = [run["load"] for run in known if run["load"] is not None]
    if loads:
        yield (
            f"- processes that wanted a core in the minute before a part (the part before it among "
            f"them): {min(loads):.1f} to {max(loads):.1f}"
        )


def _ended(part, record: dict | None, run: dict | None):
    """How a part was run, where it does not go without saying."""
    if run is None:
        if record is None:
            yield from (f"`{part.command}`: not run.", "")
        return
    if run["missing"]:
        yield from (f"`{part.command}`: not run; not at hand: {run['missing']}.", "")
    elif run["status"] != 0:
        yield from (f"`{part.command}`: FAILED, status {run['status']}; see its log.txt.", "")
    else:
        yield from (f"Part `{part.name}`: {run['seconds']:.0f} s.", "")


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
            pictures.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(options.out / "record" / part.name / entry["file"], pictures / name)
            yield from (f"![{title}]({pictures.name}/{name})", "")
    if not record["done"]:
        yield from ("This part was cut off; what it had found is above.", "")


def main(document: Document, about: str) -> None:
    """Run what is asked for, then write the document. `about` is the command's help."""
    made = parser(about)
    names = [part.name for part in document.parts]
    made.add_argument("--only", nargs="+", choices=[*names, "none"], metavar="NAME")
    made.add_argument("--document", type=Path, help="folder of the document")
    made.set_defaults(out=None)
    options = made.parse_args()
    options.out = options.out or ROOT / "out" / f"{document.name}{'-quick' * options.quick}"
    failed, absent = [], {}
    for part in document.parts:
        if options.only and part.name not in options.only:
            continue
        if not options.only and whole(kept(options.out, part.name)):
            print(f"{part.name}: kept")
            continue
        ended = run(part, options)
        compose(document, options, options.out)
        if ended["status"] == -signal.SIGINT or ended["status"] == 130:
            sys.exit(f"stopped in {part.name}; the same command goes on with it")
        if ended["missing"]:
            absent[part.name] = ended["missing"]
        elif ended["status"]:
            failed.append(part.name)
    folder = options.document or (options.out if options.quick else ROOT / "docs")
    print(f"written to {compose(document, options, folder)}")
    for name, missing in absent.items():
        print(f"not run, no data: {name} ({missing} not found in {options.data})")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")
