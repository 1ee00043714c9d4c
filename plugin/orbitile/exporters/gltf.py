"""Binary glTF scenes (.glb), through trimesh: normals and colours at the vertices.

glTF takes lengths for metres; ours are in Angstrom, so that a molecule has the size of a room rather than of nothing.
The extras of the mesh say so.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model.surface import Surface
from ..model.wavefunction import Wavefunction
from ..scenes import Scene
from ..scenes.solids import solid_of
from ..surfaces.colour_maps import linear_light
from ._trimesh import trimesh_of, trimesh_of_mesh

DESCRIPTION = "binary glTF scene"
PATTERNS = ("*.glb",)
KIND = "mesh"


def write(surface: Surface, path: Path, wavefunction: Wavefunction | None = None) -> None:
    """Write a surface, its colours in linear light, and what it shows as extras of the mesh."""
    mesh = trimesh_of(surface)
    mesh.visual.vertex_colors = _linear(mesh.visual.vertex_colors)
    content: bytes = mesh.export(file_type="glb", include_normals=True)
    path.write_bytes(content)


def write_scene(scene: Scene, path: Path) -> None:
    """Write the molecule and each mesh of a scene as a node of its own, named for what it shows."""
    trimesh: Any = importlib.import_module("trimesh")
    whole = trimesh.Scene()
    for mesh in (solid_of(scene.molecule), *scene.meshes):
        if len(mesh.faces):
            body = trimesh_of_mesh(mesh)
            body.visual.vertex_colors = _linear(body.visual.vertex_colors)
            whole.add_geometry(body, node_name=mesh.name or None)
    content: bytes = whole.export(file_type="glb", include_normals=True)
    path.write_bytes(content)


def _linear(colours: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Colours for the display in linear light; alpha stays."""
    shares = colours.astype(np.float64) / 255
    linear = linear_light(shares)
    linear[:, 3] = shares[:, 3]
    return np.round(linear * 255).astype(np.uint8)
