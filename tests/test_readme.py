"""The two READMEs say the same things, and what they say can be done."""

import re
from pathlib import Path

import pytest

from buggy import faults, vocabulary
from tests.rules.manifest import RULES

ROOT = Path(__file__).resolve().parent.parent
ENGLISH = (ROOT / "README.md").read_text(encoding="utf-8")
JAPANESE = (ROOT / "README.ja.md").read_text(encoding="utf-8")


def headings(text):
    return [len(match) for match in re.findall(r"^(#+) ", without_code(text), flags=re.M)]


def without_code(text):
    return re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)


def table_rows(text):
    return len(re.findall(r"^\|", without_code(text), flags=re.M))


def commands(text):
    """Every ``python -m …`` and ``pytest …`` word that the text names."""
    return set(re.findall(r"(?:python -m [\w.]+|pytest(?: challenges/day49)?)", text))


def test_both_languages_have_the_same_outline():
    """Same headings, tables and commands, in the same order."""
    assert headings(ENGLISH) == headings(JAPANESE)
    assert table_rows(ENGLISH) == table_rows(JAPANESE)
    assert commands(ENGLISH) == commands(JAPANESE)
    links = re.compile(r"\]\((?!README)([^#)]+)")
    assert links.findall(ENGLISH) == links.findall(JAPANESE)


@pytest.mark.parametrize("text", [ENGLISH, JAPANESE], ids=["en", "ja"])
def test_every_link_leads_somewhere(text):
    """Links inside the repository name files that exist."""
    for target in re.findall(r"\]\(([^#)][^)]*)\)", text):
        assert (ROOT / target).exists(), target


@pytest.mark.parametrize("text", [ENGLISH, JAPANESE], ids=["en", "ja"])
def test_nothing_is_left_to_fill_in(text):
    """No placeholder of ours survived."""
    assert "@@" not in text


@pytest.mark.parametrize("text", [ENGLISH, JAPANESE], ids=["en", "ja"])
def test_what_can_be_counted_is_counted(text):
    """Rules; faults, with a source, without a symptom; variants: as many as the table says."""
    rows = re.findall(r"^\| [^|]* \| (\d+\b[^|]*) \|$", text, flags=re.M)[:4]
    rules, catalogue, _, variants = [[int(n) for n in re.findall(r"\d+", row)] for row in rows]
    found = faults.load_all()
    silent = [fault for fault in found if fault.symptoms == (vocabulary.NOTHING,)]
    sourced = [fault for fault in found if fault.sources]
    assert rules[0] == len(RULES)
    assert catalogue == [len(found), len(sourced), len(silent)]
    folders = [path for path in (ROOT / "tests" / "accepted").iterdir() if path.is_dir()]
    assert variants == [len([path for path in folders if path.name[0] != "_"]), 0]
