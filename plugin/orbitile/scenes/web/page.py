"""A document as a page: one HTML text that needs nothing else, in a file or within a notebook.

The modules in `scripts/` import each other by their files, for editors and people. A page and a widget need one text:
they stand in it one after the other, without their imports and exports, those first that others import.
"""

from __future__ import annotations

import base64
import html
import json
import re
import zlib
from functools import cache
from importlib.resources import files

from ...model.units import electronvolt
from ..shading import shader_source
from .document import Document, packed

_MODULES = ("elements", "unpack", "geometry", "drawing", "turning", "controls", "diagram", "viewer")

_SHADERS = ("sphere_vertex", "sphere_fragment", "stick_vertex", "stick_fragment", "mesh_vertex", "mesh_fragment")

_OPENGL, _WEBGL = "#version 330 core", "#version 300 es\nprecision highp float;\nprecision highp int;"


@cache
def viewer_script(*ends: str) -> str:
    """The viewer as one text, and behind it modules of those names that use it."""
    shaders = {name: shader_source(name).replace(_OPENGL, _WEBGL) for name in _SHADERS}
    texts = [f"const SHADERS = {json.dumps(shaders)};", f"const ELECTRONVOLTS = {1 / electronvolt!r}; // in a hartree"]
    texts += [module(name) for name in (*_MODULES, *ends)]
    return "\n\n".join(texts) + "\n"


def module(name: str, package: str = __package__) -> str:
    """A module in the `scripts/` of a package, without its imports and exports."""
    text = (files(package) / "scripts" / f"{name}.js").read_text(encoding="utf-8")
    text = re.sub(r"^import [^;]*;.*\n", "", text, flags=re.MULTILINE)
    return re.sub(r"^export (?!default)", "", text, flags=re.MULTILINE).strip()


@cache
def style() -> str:
    """The style sheet."""
    return (files(__package__) / "scripts" / "style.css").read_text(encoding="utf-8")


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
