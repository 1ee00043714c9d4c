"""How light falls on a scene, in GLSL: sources that OpenGL and WebGL share, in `shaders/`."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

_INCLUDE = "#include "


@cache
def shader_source(name: str) -> str:
    """Text of a file in `shaders/`, with the files that it includes in place of their `#include "FILE"`."""
    lines = (files(__package__) / "shaders" / f"{name}.glsl").read_text(encoding="utf-8").splitlines()
    return "\n".join(
        shader_source(line.removeprefix(_INCLUDE).strip('"').removesuffix(".glsl"))
        if line.startswith(_INCLUDE)
        else line
        for line in lines
    )
