"""Links within the documentation lead somewhere; those to other places are asked by `./install/docs --links`."""

import re

import pytest

from tests.docs.pages import DOCS, ROOT, anchors, links, pages

GALLERY = DOCS / "pictures" / "index.rst"
"""Is made when the site is built."""


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_anchors(page):
    for link in links(page):
        if re.match(r"https?:|mailto:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists() or target == GALLERY, f"{page.name}: {link}"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target) or target.parent.name == "reference", f"{page.name}: {link}"


def test_pages_that_are_named_are_there():
    """As in `docs/guide.md`, in pages, in the code and in what it prints."""
    sources = [*pages(), *(ROOT / "plugin").rglob("*.py"), *(ROOT / "plugin").rglob("*.tcl")]
    pattern = re.compile(r"(?<![\w/.])docs/[\w./-]+\.(?:md|py|pml|tcl|xyz|png)\b")
    named = {(path.name, name) for path in sources for name in pattern.findall(path.read_text("utf-8"))}
    assert len(named) > 20
    assert [pair for pair in sorted(named) if not (ROOT / pair[1]).exists()] == []


def test_every_page_is_in_a_list_of_contents():
    text = (DOCS / "index.md").read_text()
    named = set(re.findall(r"^([\w/-]+)$", text, flags=re.M))
    there = {str(page.relative_to(DOCS))[:-3] for page in pages() if DOCS in page.parents}
    kept_out = {"index", "paper/paper"} | {name for name in there if name.startswith("decisions/0")}
    assert there - kept_out == named - {"pictures/index"}
