"""The manual has the places that the window opens it at."""

import re
from pathlib import Path

import pytest

pytest.importorskip("pymol2", reason="PyMOL (extra pymol) is not installed")
pytest.importorskip("PyQt5", reason="PyQt5 (extra pymol) is not installed")

DOCS = Path(__file__).parents[2] / "docs"


def headings():
    from orbitile.hosts.pymol.help import link_of

    return {link_of(line.lstrip("#")) for line in (DOCS / "pymol.md").read_text().splitlines() if line.startswith("#")}


def test_each_place_is_a_heading():
    from orbitile.hosts.pymol import help

    named = {value for name, value in vars(help).items() if name.isupper() and not name.startswith("_")}
    assert len(named) >= 4
    assert named <= headings()


def test_links_within_the_manual_lead_somewhere():
    links = re.findall(r"\]\(#([^)]+)\)", (DOCS / "pymol.md").read_text())
    assert links
    assert set(links) <= headings()


def test_the_manual_is_found():
    from orbitile.hosts.pymol.help import manual

    assert manual().read_text() == (DOCS / "pymol.md").read_text()
