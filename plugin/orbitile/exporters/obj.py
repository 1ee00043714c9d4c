"""Wavefront OBJ meshes, through trimesh: normals and colours at the vertices, lengths in Angstrom."""

from __future__ import annotations

from pathlib import Path

from ..model.surface import Surface
from ..model.wavefunction import Wavefunction
from ..scenes import Scene
from ._trimesh import mesh_and_comments

DESCRIPTION = "Wavefront OBJ mesh"
PATTERNS = ("*.obj",)
KIND = "mesh"


def write(what: Surface | Scene, path: Path, wavefunction: Wavefunction | None = None) -> None:
    """Write a surface or a scene as one mesh, its colours after the coordinates (`v x y z r g b`), without opacity."""
    mesh, lines = mesh_and_comments(what)
    header = "\n# ".join(lines)
    content: str = mesh.export(file_type="obj", include_normals=True, include_texture=False, header=header)
    path.write_text(content, encoding="ascii", newline="\n")


write_scene = write
