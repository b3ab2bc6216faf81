"""The page "Deploy": its table is what the code says, its refusals have reasons."""

import re

import pytest

import forms

pytestmark = pytest.mark.filterwarnings("ignore")


def test_the_table_is_what_the_code_says():
    text = forms.PAGE.read_text(encoding="utf-8")
    shown = text.partition(forms.BEGIN)[2].partition(forms.END)[0]
    assert shown == forms.table(), "python tests/python/forms.py writes it again"
    notes = set(map(int, re.findall(r"no \((\d+)\)", shown)))
    assert notes == set(map(int, re.findall(r"^(\d+)\. ", shown, re.MULTILINE)))
