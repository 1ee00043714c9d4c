"""How fine a surface and its lattice have to be for it to look round in a picture."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..model.lattice import Lattice
from ..model.surface import Surface
from ..surfaces.subdivision import subdivided
from .camera import Camera

_CELL_PIXELS = 12
"""Size in pixels of the cells of a lattice that shows the edges and thin walls of a field, as those of ELF."""

_EDGE_PIXELS = 6
"""Length in pixels of the edges of triangles at which an outline looks round."""

_MOST_FACES = 250_000
"""Triangles that a surface is not subdivided beyond."""

_NEARLY = 0.75
"""A lattice stays as it is whose spacing would become less than that much finer: nobody sees the difference."""

_MOST_POINTS = 3_000_000
"""Points of a lattice up to which a surface is refined for the sake of a picture."""


def pixel_at(camera: Camera, points: NDArray[np.floating], height: int) -> float:
    """What a pixel of a picture of this height shows at the depth of the middle of points, in bohr.

    The camera has an eye, or is not placed yet: then nothing is known, and a pixel shows a bohr.
    """
    if camera.eye is None or not len(points):
        return 1.0
    middle = (points.min(axis=0) + points.max(axis=0)) / 2
    depth = max(float((camera.eye - middle) @ camera.rotation[2]), 1e-3)
    return (camera.height or 2 * depth * float(np.tan(np.radians(camera.field_of_view) / 2))) / height


def cell_spacing(pixel: float) -> float:
    """Spacing of a lattice, in bohr, that shows the detail of a field where a pixel shows so many bohr."""
    return _CELL_PIXELS * pixel


def round_surface(surface: Surface, pixel: float) -> Surface:
    """The surface with triangles so small that its outline looks round where a pixel shows so many bohr."""
    if not len(surface.faces):
        return surface
    a, b = (surface.vertices[surface.faces[:: len(surface.faces) // 1000 + 1, corner]] for corner in (0, 1))
    length = float(np.linalg.norm(b - a, axis=1).mean()) / pixel
    while length > _EDGE_PIXELS and 4 * len(surface.faces) <= _MOST_FACES:
        surface, length = subdivided(surface), length / 2
    return surface


def round_lattice(lattice: Lattice, spacing: float) -> Lattice:
    """The box of a lattice with this spacing where that is finer, but no more than three million points."""
    steps = np.array(lattice.shape) - 1
    coarsest = float((lattice.cell_volume * steps.prod() / _MOST_POINTS) ** (1 / 3))
    factor = max(spacing, coarsest) / float(lattice.spacings.max())
    if factor > _NEARLY or not lattice.is_orthogonal:
        return lattice
    nx, ny, nz = (int(n) + 1 for n in np.ceil(steps / factor))
    return replace(lattice, axes=lattice.axes * (steps / (nx - 1, ny - 1, nz - 1))[:, None], shape=(nx, ny, nz))
