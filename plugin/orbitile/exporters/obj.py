"""Wavefront OBJ meshes, through trimesh: normals and colours at the vertices, lengths in Angstrom."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..model.surface import Surface
from ..model.wavefunction import Wavefunction
from ..scenes import Scene, facts_of
from ._trimesh import comments, trimesh_of, trimesh_of_scene

DESCRIPTION = "Wavefront OBJ mesh"
PATTERNS = ("*.obj",)
KIND = "mesh"


def write(surface: Surface, path: Path, wavefunction: Wavefunction | None = None) -> None:
    """Write a surface, its colours after the coordinates (`v x y z r g b`, which is widely read)."""
    _write(trimesh_of(surface), path, comments(facts_of(surface)))


def write_scene(scene: Scene, path: Path) -> None:
    """Write molecule and meshes as one mesh in colours; the format has no opacity."""
    _write(trimesh_of_scene(scene), path, comments(*(mesh.facts for mesh in scene.meshes if mesh.facts)))


def _write(mesh: Any, path: Path, lines: list[str]) -> None:
    header = "\n# ".join(lines)
    content: str = mesh.export(file_type="obj", include_normals=True, include_texture=False, header=header)
    path.write_text(content, encoding="ascii", newline="\n")
