"""PLY meshes (binary), through trimesh: normals and colours at the vertices, lengths in Angstrom."""

from __future__ import annotations

from pathlib import Path

from ..model.surface import Surface
from ..model.wavefunction import Wavefunction
from ._trimesh import comments, trimesh_of

DESCRIPTION = "PLY mesh"
PATTERNS = ("*.ply",)
KIND = "mesh"


def write(surface: Surface, path: Path, wavefunction: Wavefunction | None = None) -> None:
    """Write a surface in binary, with what it shows in comments."""
    content: bytes = trimesh_of(surface).export(file_type="ply", vertex_normal=True, include_attributes=False)
    magic, encoding, rest = content.split(b"\n", 2)
    lines = [magic, encoding, *(b"comment " + line.encode("ascii") for line in comments(surface))]
    path.write_bytes(b"\n".join(lines) + b"\n" + rest)
