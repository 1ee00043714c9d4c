"""PLY meshes (binary), through trimesh: normals and colours at the vertices, lengths in Angstrom."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..model.surface import Surface
from ..model.wavefunction import Wavefunction
from ..scenes import Scene, facts_of
from ._trimesh import comments, trimesh_of, trimesh_of_scene

DESCRIPTION = "PLY mesh"
PATTERNS = ("*.ply",)
KIND = "mesh"


def write(surface: Surface, path: Path, wavefunction: Wavefunction | None = None) -> None:
    """Write a surface in binary, with what it shows in comments."""
    _write(trimesh_of(surface), path, comments(facts_of(surface)))


def write_scene(scene: Scene, path: Path) -> None:
    """Write molecule and meshes as one mesh in colours, with the opacity as alpha."""
    _write(trimesh_of_scene(scene), path, comments(*(mesh.facts for mesh in scene.meshes if mesh.facts)))


def _write(mesh: Any, path: Path, lines: list[str]) -> None:
    content: bytes = mesh.export(file_type="ply", vertex_normal=True, include_attributes=False)
    magic, encoding, rest = content.split(b"\n", 2)
    path.write_bytes(b"\n".join([magic, encoding, *(b"comment " + line.encode("ascii") for line in lines), rest]))
