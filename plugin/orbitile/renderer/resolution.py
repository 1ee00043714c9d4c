"""How fine the lattice of a surface has to be for it to look round in a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..model.lattice import Lattice
from ..model.surface import Surface
from ..model.wavefunction import Wavefunction
from ..scenes.palette import PALETTES, colours_of_fields
from ..scenes.scene import checked_surfaces, make_scene
from .camera import Camera
from .picture import checked_size, place_camera

_ROUND_PIXELS = 18
"""Length in pixels of the edges of triangles at which surfaces look round: that of a sphere of 300 is off by 0.14."""

_NEARLY = 0.75
"""A lattice stays as it is whose spacing would become less than that much finer: nobody sees the difference."""

_MOST_POINTS = 3_000_000
"""Points of a lattice up to which a surface is refined for the sake of a picture."""


def round_spacing(
    surfaces: Surface | Sequence[Surface],
    wavefunction: Wavefunction | None = None,
    *,
    size: tuple[int, int] = (1600, 1200),
    camera: Camera | None = None,
) -> float:
    """Spacing of a lattice, in bohr, on which surfaces look round in a picture: its cells are 18 pixels there.

    Parameters
    ----------
    surfaces
        What is to be drawn, from any lattice: how large it is in the picture is all that matters.
    wavefunction, size, camera
        As for `render`.
    """
    drawn = checked_surfaces(surfaces)
    scene = make_scene(drawn, wavefunction, colours_of_fields(drawn, PALETTES), [1.0] * len(drawn))
    placed = place_camera(camera, scene, checked_size(size), [], scale=False, orthographic=True)
    assert placed.height is not None  # it was just framed, or made orthographic
    return _ROUND_PIXELS * placed.height / size[1]


def round_lattice(lattice: Lattice, spacing: float) -> Lattice:
    """The box of a lattice with this spacing where that is finer, but no more than three million points."""
    steps = np.array(lattice.shape) - 1
    coarsest = float((lattice.cell_volume * steps.prod() / _MOST_POINTS) ** (1 / 3))
    factor = max(spacing, coarsest) / float(lattice.spacings.max())
    if factor > _NEARLY or not lattice.is_orthogonal:
        return lattice
    nx, ny, nz = (int(n) + 1 for n in np.ceil(steps / factor))
    return replace(lattice, axes=lattice.axes * (steps / (nx - 1, ny - 1, nz - 1))[:, None], shape=(nx, ny, nz))
