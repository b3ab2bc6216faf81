"""The site's sources, without building it: every public name has a page, every page is reached."""

import re
from pathlib import Path

import pytest

import budgetsvm
from budgetsvm._estimator import PAGE

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
GALLERY = sorted((ROOT / "examples" / "gallery").glob("*.py"))


def test_every_public_name_has_a_page():
    listed = " ".join(page.read_text(encoding="utf-8") for page in DOCS.glob("api/*.md")).split()
    names = [name for name in budgetsvm.__all__ if not name.startswith("_")]
    assert not [name for name in [*names, "load"] if name not in listed]


def test_every_page_is_reached():
    named = set()
    for index in [DOCS / "index.md", DOCS / "api" / "index.md", DOCS / "records" / "index.md"]:
        text = index.read_text(encoding="utf-8")
        for tree in re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL):
            pages = [line for line in tree.splitlines() if line and not line.startswith(":")]
            pages = [re.sub(r"^.* <(.*)>$", r"\1", page) for page in pages]  # "Title <page>"
            named.update(index.parent / f"{page}.md" for page in pages)
    named.discard(DOCS / "gallery" / "index.md")  # made by the build
    folders = ["", "api/", "records/"]
    there = {page for folder in folders for page in DOCS.glob(f"{folder}*.md")}
    there -= {DOCS / "index.md"}
    assert named == there


@pytest.mark.parametrize("name", budgetsvm.__all__)
def test_the_picture_of_an_estimator_links_to_its_page(name):
    """In a notebook: to the page of its family, which lists it."""
    kind = getattr(budgetsvm, name)
    if isinstance(kind, type):
        link = kind()._get_doc_link()
        page = link.partition("/blob/main/")[2]
        assert f"\n   {name}\n" in (ROOT / page).read_text(encoding="utf-8")


def test_the_repository_is_named_alike():
    """In the manifest and in what a notebook shows, and nowhere else."""
    named = re.search(r'^repository = "(.+)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
    assert PAGE.startswith(f"{named[1]}/blob/main/")


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_a_picture_says_what_it_shows(path):
    text = path.read_text(encoding="utf-8")
    assert path.stem.startswith("plot_")
    assert re.match(r'"""\n.+\n=+\n\n.+?"""', text, re.DOTALL)
    assert text.endswith("plt.show()\n")


def test_the_gallery_has_fifteen_pictures():
    assert len(GALLERY) >= 15
