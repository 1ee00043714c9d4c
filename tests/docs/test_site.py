"""The site is built from its sources, every example of the gallery being run, and no warning is let pass."""

import re
import subprocess
import sys

import pytest

from tests.docs.pages import DOCS

pytest.importorskip("sphinx_gallery", reason="the site needs the extra docs")


@pytest.mark.slow
def test_the_site_is_built_and_whole(tmp_path):
    """One test, so that the site is built once, by whichever process runs it."""
    done = subprocess.run(
        [sys.executable, str(DOCS / "build.py"), "--draft", str(tmp_path)], capture_output=True, text=True
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    site = tmp_path / "html"
    assert_every_example_has_a_page_with_what_it_made(site)
    assert_what_pages_refer_to_is_there(site)
    assert_the_reference_has_all_there_is(site)
    assert_nothing_is_fetched(site)


def assert_every_example_has_a_page_with_what_it_made(site):
    for path in (DOCS / "gallery").rglob("*.py"):
        page = (site / "pictures" / path.parent.name / f"{path.stem}.html").read_text(encoding="utf-8")
        if path.stem != "blender_scene":  # which needs a Python with Blender in it
            assert re.search(rf'_images/sphx_glr_{path.stem}_0|class="turning"', page), path.name


def assert_what_pages_refer_to_is_there(site):
    missing = set()
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        for name in re.findall(r'(?:src|href|poster)="([^"#?]+)', text):
            if not re.match(r"https?:|data:|mailto:|#", name) and not (page.parent / name).exists():
                missing.add((page.name, name))
    assert not missing


def assert_nothing_is_fetched(site):
    """Pages are read without a network: scripts, styles, fonts and pictures are their own, and formulas need none."""
    for page in (*site.rglob("*.html"), *site.rglob("*.css")):
        text = page.read_text(encoding="utf-8")
        loaded = r"<(?:script|link|img|iframe|video|source)\b[^>]*\b(?:src|href|poster)=[\"']?(?:https?:)?//[^>]*>"
        asked = re.findall(rf"{loaded}|url\([\"']?https?:[^)]*|@import[^;]*//[^;]*", text)
        assert not asked, (page.name, asked)
    assert "<math" in (site / "analysis.html").read_text(encoding="utf-8")


def assert_the_reference_has_all_there_is(site):
    import orbitile as ob
    from orbitile.analysis.reports import analyses
    from orbitile.commandline import known_commands
    from orbitile.fields import field_names
    from orbitile.session.commands import COMMANDS

    names = {path.stem.removeprefix("orbitile.") for path in (site / "reference" / "names").glob("*.html")}
    assert {*ob.__all__, *analyses()} - {"__version__"} <= names
    reference = {page: (site / "reference" / f"{page}.html").read_text(encoding="utf-8") for page in PAGES}
    assert [name for name, _ in field_names() if name not in reference["fields"]] == []
    assert [one.name for one in COMMANDS if f">{one.name}<" not in reference["consoles"]] == []
    assert [name for name in known_commands() if f"usage: orbitile {name}" not in reference["command-line"]] == []
    assert [name for name in analyses() if f"ob.{name}" not in reference["analyses"]] == []


PAGES = ("fields", "consoles", "command-line", "analyses")
