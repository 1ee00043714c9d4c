"""Wavefront OBJ meshes, through trimesh: normals and colours at the vertices, lengths in Angstrom."""

from __future__ import annotations

from pathlib import Path

from ..model.surface import Surface
from ..model.wavefunction import Wavefunction
from ._trimesh import comments, trimesh_of

DESCRIPTION = "Wavefront OBJ mesh"
PATTERNS = ("*.obj",)
KIND = "mesh"


def write(surface: Surface, path: Path, wavefunction: Wavefunction | None = None) -> None:
    """Write a surface, its colours after the coordinates (`v x y z r g b`, which is widely read)."""
    header = "\n# ".join(comments(surface))
    mesh = trimesh_of(surface)
    content: str = mesh.export(file_type="obj", include_normals=True, include_texture=False, header=header)
    path.write_text(content, encoding="ascii", newline="\n")
