"""What the mesh formats share: a surface as a mesh of trimesh."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..files.characters import plain
from ..model.surface import Colouring, Surface
from ..model.units import angstrom
from ..scenes import Mesh
from ..surfaces.colour_maps import NEGATIVE, POSITIVE, colours_of


def trimesh_of(surface: Surface) -> Any:
    """Mesh with normals and colours at the vertices, in Angstrom; what it shows goes into its metadata."""
    trimesh: Any = importlib.import_module("trimesh")  # imported here because it takes a second
    return trimesh.Trimesh(
        vertices=surface.vertices.astype(np.float64) / angstrom,
        faces=surface.faces,
        vertex_normals=surface.normals,
        vertex_colors=_colours(surface),
        metadata=described(surface),
        process=False,
    )


def trimesh_of_mesh(mesh: Mesh) -> Any:
    """The same of a mesh of a scene, with its opacity."""
    trimesh: Any = importlib.import_module("trimesh")
    return trimesh.Trimesh(
        vertices=mesh.vertices.astype(np.float64) / angstrom,
        faces=mesh.faces,
        vertex_normals=mesh.normals,
        vertex_colors=np.round(255 * mesh.colours).astype(np.uint8),
        metadata={"generator": "Orbitile", "length_unit": "angstrom"},
        process=False,
    )


def _colours(surface: Surface) -> NDArray[np.uint8]:
    """Those of the second field, or of the phases: red, green, blue and alpha, shape (n, 4)."""
    if surface.colouring is None:
        shown: NDArray[np.floating] = np.where(surface.phases[:, None] > 0, POSITIVE, NEGATIVE)
    else:
        shown = colours_of(surface.colouring)
    colours = np.full((len(surface.vertices), 4), 255, np.uint8)
    colours[:, :3] = np.round(255 * shown)
    return colours


def described(surface: Surface) -> dict[str, Any]:
    """What a surface shows, and in which units."""
    return {
        "generator": "Orbitile",
        "quantity": " ".join(surface.quantity.split()),
        "isovalue": float(surface.isovalue),
        "unit": " ".join(surface.unit.split()),
        "length_unit": "angstrom",
        **({} if surface.colouring is None else {"colours": _range(surface.colouring)}),
    }


def comments(surface: Surface) -> list[str]:
    """The same as lines of ASCII text."""
    lines = ["written by Orbitile; lengths in Angstrom"]
    lines.append(f"{surface.quantity or 'surface'} at isovalue +/-{surface.isovalue:g} {surface.unit}")
    if surface.colouring is not None:
        lines.append(f"colours: {_range(surface.colouring)}")
    return [" ".join(plain(line).split()).encode("ascii", errors="replace").decode()[:200] for line in lines]


def _range(colouring: Colouring) -> str:
    return f"{colouring.quantity} from {colouring.low:g} to {colouring.high:g} {colouring.unit}"
