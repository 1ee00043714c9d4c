"""PLY meshes (binary), through trimesh: normals and colours at the vertices, lengths in Angstrom."""

from __future__ import annotations

from pathlib import Path

from ..model.surface import Surface
from ..model.wavefunction import Wavefunction
from ..scenes import Scene
from ._trimesh import mesh_and_comments

DESCRIPTION = "PLY mesh"
PATTERNS = ("*.ply",)
KIND = "mesh"


def write(what: Surface | Scene, path: Path, wavefunction: Wavefunction | None = None) -> None:
    """Write a surface or a scene as one mesh in binary, with what it shows in comments, and opacities as alpha."""
    mesh, lines = mesh_and_comments(what)
    content: bytes = mesh.export(file_type="ply", vertex_normal=True, include_attributes=False)
    magic, encoding, rest = content.split(b"\n", 2)
    path.write_bytes(b"\n".join([magic, encoding, *(b"comment " + line.encode("ascii") for line in lines), rest]))


write_scene = write
