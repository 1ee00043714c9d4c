"""A document as a page: one HTML text that needs nothing else, in a file or within a notebook."""

from __future__ import annotations

import base64
import html
import zlib

from .document import Document
from .packing import packed
from .script import style, viewer_script

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
html, body {{ margin: 0; height: 100%; }}
{style}
</style>
</head>
<body>
<div id="orbitile-view" class="orbitile-page"></div>
<noscript>This view needs JavaScript.</noscript>
<script id="orbitile-document" type="text/plain">{document}</script>
<script type="module">
{script}
</script>
</body>
</html>
"""


def page(document: Document) -> str:
    """The page of a document: its arrays compressed (zlib) and in base64, the viewer as it is."""
    content = base64.b64encode(zlib.compress(packed(document), 9)).decode("ascii")
    return _PAGE.format(
        title=html.escape(document.title or "Orbitile"), style=style(), document=content, script=viewer_script("page")
    )


def iframe(document: Document, name: str = "", height: int = 480) -> str:
    """The page of a document as a part of another page, by whose scripts and styles it is not touched.

    Parameters
    ----------
    document : Document
    name : str
        By which scripts of the other page find it (`data-orbitile`).
    height : int
        In pixels.
    """
    return (
        f'<iframe data-orbitile="{html.escape(name)}" title="{html.escape(document.title or "Orbitile")}" '
        f'style="width:100%;height:{height}px;border:0" allow="fullscreen" srcdoc="{html.escape(page(document))}">'
        "</iframe>"
    )
