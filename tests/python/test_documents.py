"""The Python in README.md and docs/guide.md runs as it stands and reaches the values it shows."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: How far a score may be from the one shown, and from one shown as "about".
NEAR, ABOUT = 0.004, 0.1


def blocks(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_documents_have_examples():
    assert len(blocks("README.md")) == 1
    assert len(blocks("docs/guide.md")) == 2


@pytest.mark.parametrize(
    "source", [block for name in ("README.md", "docs/guide.md") for block in blocks(name)]
)
def test_an_example_reaches_what_it_shows(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines, names, compared = source.splitlines(), {}, 0
    for statement in ast.parse(source).body:
        code = ast.get_source_segment(source, statement)
        shown = re.search(r"# (about )?(0\.\d+)", lines[statement.end_lineno - 1])
        if shown is None:
            exec(code, names)
            continue
        about, value = shown.groups()
        assert eval(code, names) == pytest.approx(float(value), abs=ABOUT if about else NEAR)
        compared += 1
    assert compared
