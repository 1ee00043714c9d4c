"""Several molecules in one page, as supporting information of a paper: of each a view, its tables, its coordinates.

    documents, tables, pictures -> Entry -> page_of (one HTML file)

Tables, coordinates and still pictures stand in the page as HTML, which is read and printed without any script. Texts
of files are escaped, and stand in elements of their own direction, so that marks of direction end with them.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from urllib.parse import quote, urlencode

from . import COMPUTING, Document, Slide, coded, html_page, style, viewer_script


@dataclass(frozen=True, eq=False)
class Entry:
    """A molecule of a page of several.

    Attributes
    ----------
    name : str
        For people, and in addresses of views.
    document : Document
        Its first slide is what the still picture shows.
    facts : tuple of (str, str)
        Rows of its table: what, and its value with the unit.
    coordinates : str
        Text of an XYZ file.
    picture : bytes
        In WebP, of the first slide; empty for none.
    """

    name: str
    document: Document
    facts: tuple[tuple[str, str], ...] = ()
    coordinates: str = ""
    picture: bytes = field(default=b"", repr=False)


_HELP = (
    "Drag a molecule to turn it; two fingers, or the keys + and −, zoom; a double click, or the key Home, shows the "
    "first view again. Arrow keys turn the molecule that has the focus, and go through the list of orbitals."
)

_BODY = """\
<header>
<h1>{title}</h1>
<nav aria-label="Molecules"><ol>
{listed}
</ol></nav>
<p class="orbitile-help">{help}</p>
<noscript><p>Without JavaScript the molecules do not turn; pictures, tables and coordinates are here.</p></noscript>
</header>
<main>
{sections}
</main>"""

_SECTION = """\
<section id="{name}" data-molecule aria-labelledby="{name}-heading">
<h2 id="{name}-heading">{heading}</h2>
<div class="orbitile-stage"><figure>{picture}<figcaption>{caption}</figcaption></figure></div>
{views}
<div class="orbitile-below">
<div>
<h3>Calculation</h3>
<table class="orbitile-facts"><caption class="orbitile-hidden">Calculation of {heading}</caption><tbody>
{facts}
</tbody></table>
</div>
<div class="orbitile-coordinates">
<h3>Coordinates in Ångström</h3>
<p><button type="button" data-copies="{name}-coordinates">copy as XYZ</button><span role="status"></span></p>
<pre id="{name}-coordinates" tabindex="0" role="region" aria-label="Coordinates of {label}">{coordinates}</pre>
</div>
</div>
<script type="text/plain">{document}</script>
</section>"""


def page_of(entries: Sequence[Entry], title: str) -> str:
    """The page of several molecules."""
    names = _unique([_word(entry.name) for entry in entries])
    body = _BODY.format(
        title=_text(title),
        help=html.escape(_HELP),
        listed="\n".join(
            f'<li><a href="#{name}">{_text(entry.name)}</a></li>' for name, entry in zip(names, entries, strict=True)
        ),
        sections="\n".join(_section(name, entry) for name, entry in zip(names, entries, strict=True)),
    )
    return html_page(title, f"{style()}\n{_style()}", body, viewer_script(*COMPUTING, "collection"))


@cache
def _style() -> str:
    return (files(__package__) / "scripts" / "collection.css").read_text(encoding="utf-8")


def _section(name: str, entry: Entry) -> str:
    first = entry.document.slides[0]
    caption = ", ".join(filter(None, (first.title, _isovalue(first), first.remark)))
    picture = base64.b64encode(entry.picture).decode("ascii")
    alternative = html.escape(f"{entry.name}: {caption}" if caption else entry.name)
    return _SECTION.format(
        name=name,
        heading=_text(entry.name),
        label=html.escape(entry.name),
        picture=f'<img src="data:image/webp;base64,{picture}" alt="{alternative}">' if picture else "",
        caption=_text(caption),
        views=_views(name, entry),
        facts="\n".join(
            f'<tr><th scope="row">{_text(what)}</th><td>{_text(value)}</td></tr>' for what, value in entry.facts
        ),
        coordinates=html.escape(entry.coordinates),
        document=coded(entry.document),
    )


def _views(name: str, entry: Entry) -> str:
    """Links to what was asked for; nothing where that is the molecule alone."""
    links = [
        f'<a href="#{name}&amp;{_fragment(slide)}">{_text(slide.title)}</a>'
        for slide in _first_of_each(entry.document.slides)
    ]
    return f'<p class="orbitile-views">Show: {" ".join(links)}</p>' if links else ""


def _isovalue(slide: Slide) -> str:
    return f"isovalue {slide.isovalue:.3g}" if slide.isovalue else ""


def _first_of_each(slides: Sequence[Slide]) -> list[Slide]:
    """The slides that a link can ask for, one of each field."""
    found: dict[tuple[str, str], Slide] = {}
    for slide in slides:
        if slide.field:
            found.setdefault((slide.field, slide.color_by), slide)
    return list(found.values())


def _fragment(slide: Slide) -> str:
    """What the viewer reads from an address, as in `scripts/links.js`."""
    parts = {"field": slide.field, "color_by": slide.color_by, "isovalue": f"{slide.isovalue:.4g}"}
    given = {name: value for name, value in parts.items() if value not in ("", "0")}
    return html.escape(urlencode(given, safe=":", quote_via=quote))


def _text(text: str) -> str:
    """Text of a file as HTML: of its own direction, whatever marks are in it."""
    return f"<bdi>{html.escape(text)}</bdi>"


def _word(name: str) -> str:
    """A name in addresses and attributes: small letters, digits and hyphens, with a letter first."""
    word = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return word if word[:1].isalpha() else f"m-{word}".rstrip("-")


def _unique(words: Sequence[str]) -> list[str]:
    """Words of which each is there once: a number behind those that are taken."""
    found: list[str] = []
    for word in words:
        n, candidate = 1, word
        while candidate in found:
            n += 1
            candidate = f"{word}-{n}"
        found.append(candidate)
    return found
