"""The examples of the gallery: short, of public names alone, one for each thing that there is."""

import ast
import re

import pytest

import orbitile as ob
from orbitile.analysis.reports import analyses
from orbitile.fields import field_modules
from orbitile.hosts import hosts
from tests.docs.pages import DOCS

EXAMPLES = sorted((DOCS / "gallery").rglob("*.py"))
TEXTS = {path: path.read_text(encoding="utf-8") for path in EXAMPLES}
PUBLIC_MODULES = {"orbitile", "orbitile.hosts.pymol", "orbitile.hosts.blender"}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example(path):
    tree = ast.parse(TEXTS[path])
    title, underline, *_ = ast.get_docstring(tree).splitlines()
    assert len(underline) == len(title)
    assert set(underline) == {"="}
    assert len(TEXTS[path].splitlines()) <= 75
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "ob":
            assert node.attr in ob.__all__ or node.attr in analyses(), node.attr
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("orbitile"):
            assert node.module in PUBLIC_MODULES
    assert "http" not in TEXTS[path]  # examples need no network


def test_twenty_at_least_and_one_for_each_field_and_analysis():
    text = "\n".join(TEXTS.values())
    assert len(EXAMPLES) >= 20
    assert [name for name in analyses() if f"ob.{name}(" not in text] == []
    patterns = {
        module: [name.partition(":")[0].split("-N")[0].split("+N")[0] for name, _ in family.NAMES]
        for module, family in field_modules().items()
    }
    missing = [
        module
        for module, names in patterns.items()
        if not any(re.search(rf"[\"':,]{re.escape(n)}\b", text) for n in names)
    ]
    assert missing == []


def test_every_viewer_has_one():
    there = " ".join(path.stem for path in (DOCS / "gallery" / "viewers").iterdir())
    assert [name for name in hosts() if name not in there] == []


def test_the_reference_of_python_has_all_public_names():
    page = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^   (\w+)$", page, flags=re.M))
    assert listed == {*ob.__all__, *analyses()} - {"__version__"}
