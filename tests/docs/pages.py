"""Pages of the documentation as text: their links, headings and blocks of code."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def pages() -> list[Path]:
    """All pages that people read in the repository or on the site."""
    found = [path for path in DOCS.rglob("*.md") if "_build" not in path.parts]
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(found)]


def without_code(text: str) -> str:
    """A page without blocks of code, where brackets mean something else."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"^    .*$|`[^`\n]*`", "", text, flags=re.MULTILINE)


def links(page: Path) -> list[str]:
    """What a page links to, pictures too."""
    text = without_code(page.read_text(encoding="utf-8"))
    return re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'<img src="([^"]+)"', text)


def anchors(page: Path) -> set[str]:
    """Names by which the headings of a page are linked to, as GitHub and MyST make them."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S), re.M)
    return {re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", heading.strip().lower())) for heading in headings}


def blocks(page: Path, language: str) -> list[str]:
    """Blocks of code of a language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.M | re.S)
