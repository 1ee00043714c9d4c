"""Binary glTF scenes (.glb), through trimesh: normals and colours at the vertices.

glTF takes lengths for metres; ours are in Angstrom, so that a molecule has the size of a room rather than of nothing.
The extras of the mesh say so.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..model.surface import Surface
from ..model.wavefunction import Wavefunction
from ..surfaces.colour_maps import linear_light
from ._trimesh import trimesh_of

DESCRIPTION = "binary glTF scene"
PATTERNS = ("*.glb",)
KIND = "mesh"


def write(surface: Surface, path: Path, wavefunction: Wavefunction | None = None) -> None:
    """Write a surface, its colours in linear light, and what it shows as extras of the mesh."""
    mesh = trimesh_of(surface)
    mesh.visual.vertex_colors = _linear(mesh.visual.vertex_colors)
    content: bytes = mesh.export(file_type="glb", include_normals=True)
    path.write_bytes(content)


def _linear(colours: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Colours for the display in linear light; alpha stays."""
    shares = colours.astype(np.float64) / 255
    linear = linear_light(shares)
    linear[:, 3] = shares[:, 3]
    return np.round(linear * 255).astype(np.uint8)
