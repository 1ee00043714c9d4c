"""What the document on the architecture says is so."""

import re
from pathlib import Path

import pytest

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    tomllib = pytest.importorskip("tomli")

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PLACES = (ROOT / "plugin" / "orbitile", ROOT / "plugin", ROOT, ROOT / "taichi_kernels")


def test_files_and_folders_that_it_names_are_there():
    named = set(re.findall(r"`([\w./]+(?:\.pyi?|\.toml|/))`", TEXT))
    assert len(named) > 30
    assert [name for name in sorted(named) if not any((place / name).exists() for place in PLACES)] == []


def test_its_rooms_are_those_of_the_import_contract():
    table = TEXT.partition("| room | what is in it |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| (`[^|]*`) \|", table, re.MULTILINE)
    told = [set(re.findall(r"`(\w+)/?`", row)) for row in rows]
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = (c for c in configuration["tool"]["importlinter"]["contracts"] if c["id"] == "layers")
    layers = [set(re.findall(r"\w+", layer)) for layer in contract["layers"]]
    assert told == [layer for layer in reversed(layers) if layer != {"__main__"}]
