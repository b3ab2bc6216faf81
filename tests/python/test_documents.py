"""The documents: their Python runs and reaches the values it shows, their links lead somewhere."""

import ast
import re
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: How far a score may be from the one shown, and from one shown as "about".
NEAR, ABOUT = 0.004, 0.1


def blocks(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


#: Whose examples stand alone, and how many there are.
PAGES = {
    "README.md": 1, "docs/auto.md": 2, "docs/streams.md": 3, "docs/novelty.md": 1,
    "docs/explain.md": 3, "docs/index.md": 1, "docs/coming-from.md": 1,
    "docs/intervals.md": 1, "docs/primal.md": 1,
    "docs/larger-than-memory.md": 2, "docs/distributed.md": 1,
    "docs/deploy.md": 6, "docs/probabilities.md": 2,
}  # fmt: skip


@pytest.mark.parametrize("name", PAGES)
def test_a_document_has_its_examples(name):
    assert len(blocks(name)) == PAGES[name]


def test_no_document_is_left_out():
    pages = [ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("docs/api/*.md")]
    names = {page.relative_to(ROOT).as_posix() for page in pages}
    assert {name for name in names if blocks(name)} == {*PAGES, "docs/start.md"}


#: Those of a lesson go on from one to the next.
LESSONS = ["\n".join(blocks("docs/start.md"))]


def _named(name, source):
    """What needs river says so: `make free-threaded` has none."""
    return pytest.param(source, id=f"{name} river" if "river import" in source else name)


@pytest.mark.parametrize(
    "source",
    [
        *(_named("lesson", source) for source in LESSONS),
        *(_named(name, block) for name in PAGES for block in blocks(name)),
    ],
)
def test_an_example_reaches_what_it_shows(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines, names, compared = source.splitlines(), {"__name__": "example"}, 0
    for statement in ast.parse(source).body:
        code = ast.get_source_segment(source, statement)
        shown = re.search(r"# (about )?(\d+\.\d+)", lines[statement.end_lineno - 1])
        if shown is None:
            exec(code, names)
            continue
        about, value = shown.groups()
        assert eval(code, names) == pytest.approx(float(value), abs=ABOUT if about else NEAR)
        compared += 1
    assert compared


FOLDERS = ["", "docs/", "docs/api/", "docs/records/"]
DOCUMENTS = sorted(page for folder in FOLDERS for page in ROOT.glob(f"{folder}*.md"))


def anchors(text):
    """What GitHub makes of headings."""
    for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_and_pictures_are_there(document):
    text = document.read_text(encoding="utf-8")
    prose = re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"[a-z]+:", target):
            assert "/budgetsvm/budgetsvm" not in target, "our own pages are named as they lie"
            continue
        name, _, anchor = unquote(target).partition("#")
        path = document.parent / name if name else document
        assert path.exists(), target
        if anchor and path.suffix == ".md":
            assert anchor in set(anchors(path.read_text(encoding="utf-8"))), target


def test_the_record_is_small():
    """Pictures are kept in the repository: all of them in a megabyte and a half."""
    pictures = list((ROOT / "docs" / "reproduction").glob("*"))
    assert {path.suffix for path in pictures} <= {".png"}
    assert sum(path.stat().st_size for path in pictures) < 1_500_000


def test_the_readmes_figures_are_lines_of_the_benchmarks():
    table = re.compile(r"^\| [^|]+ \| [^|]+, C=[^|]+ \|.*\|$", re.MULTILINE)
    shown = table.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    measured = table.findall((ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8"))
    assert len(shown) >= 8
    assert not set(shown) - set(measured)
