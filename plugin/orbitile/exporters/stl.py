"""STL files (binary) for printers, through trimesh: one closed body in millimetres; the format has no colours."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from ..model.surface import Surface
from ..model.wavefunction import Wavefunction
from ..scenes import Scene
from ._printing import bodies_of, scale_text

DESCRIPTION = "STL solid for printing"
PATTERNS = ("*.stl",)
KIND = "mesh"

_HEADER = 80


def write(what: Scene | Surface, path: Path, wavefunction: Wavefunction | None = None) -> None:
    """Write the lobes of a surface, or molecule and lobes of a scene, grown together where they meet.

    Raises
    ------
    FileError
        Where a surface is not closed, or a package is missing.
    """
    trimesh: Any = importlib.import_module("trimesh")  # imported here because it takes a second
    (body,), scale = bodies_of(what, united=True)
    content: bytes = trimesh.Trimesh(body.vertices, body.faces, process=False).export(file_type="stl")
    header = scale_text(scale).encode("ascii").ljust(_HEADER)  # free text, unless it begins with "solid"
    path.write_bytes(header + content[_HEADER:])


write_scene = write
