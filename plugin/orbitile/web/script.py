"""The JavaScript and the style sheet of the viewer, each as one text.

The modules in `scripts/` import each other by their files, for editors and people. A page and a widget need one text:
the modules stand in it one after the other, without their imports and exports, those first that others import.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files

from ..scenes.shading import shader_source

_MODULES = ("elements", "unpack", "geometry", "drawing", "turning", "controls", "diagram", "viewer")

_SHADERS = ("sphere_vertex", "sphere_fragment", "stick_vertex", "stick_fragment", "mesh_vertex", "mesh_fragment")

_OPENGL, _WEBGL = "#version 330 core", "#version 300 es\nprecision highp float;\nprecision highp int;"


@cache
def viewer_script(*ends: str) -> str:
    """The viewer as one text, and behind it modules of those names that use it."""
    shaders = {name: shader_source(name).replace(_OPENGL, _WEBGL) for name in _SHADERS}
    texts = [f"const SHADERS = {json.dumps(shaders)};"]
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
