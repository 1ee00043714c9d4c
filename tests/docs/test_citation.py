"""How the project is cited, and the draft of its paper, say what is so."""

import re

import orbitile as ob
from tests.docs.pages import DOCS, ROOT


def test_the_version_to_cite_is_this_one():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.+)$", text, flags=re.M)[1] == ob.__version__


def test_the_paper_cites_what_its_bibliography_has():
    text = (DOCS / "paper" / "paper.md").read_text(encoding="utf-8")
    entries = (DOCS / "paper" / "paper.bib").read_text(encoding="utf-8")
    assert set(re.findall(r"@([A-Z]\w+\d*)\b", text)) == set(re.findall(r"^@\w+\{(\w+),", entries, flags=re.M))
    assert len(text.split()) < 1100  # two pages of A4, without references
