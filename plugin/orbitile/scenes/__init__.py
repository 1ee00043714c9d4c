"""What is to be seen, before anybody draws it: balls, sticks and meshes in colours.

    surfaces, wavefunction -> scene_of -> Scene -> renderer (pictures), exporters (scenes in files), hosts

Lengths in bohr. Colours are display (sRGB) values between 0 and 1.
Light falls on a scene as the GLSL in `shaders/` says, which OpenGL and WebGL share.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from .scene import PALETTES as PALETTES
from .scene import Colour as Colour
from .scene import ColourPair as ColourPair
from .scene import Mesh as Mesh
from .scene import Molecule as Molecule
from .scene import Scene as Scene
from .scene import VolumeDrawing as VolumeDrawing
from .scene import colours_of_fields as colours_of_fields
from .scene import facts_of as facts_of
from .scene import scene_of as scene_of
from .solids import dots as dots
from .solids import wires as wires

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
