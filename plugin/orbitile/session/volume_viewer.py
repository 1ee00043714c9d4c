"""Viewers that draw the surface of a field themselves, from its volume."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..model.surface import Surface
from ..model.volume import Volume
from ..pictures.look import Look
from ..surfaces.colour_volume import colour_volume
from .host import TrajectoryViewer


class VolumeDrawing(NamedTuple):
    """What a surface is drawn from, beside the volume of its field.

    Attributes
    ----------
    isovalue : float
    phases : list of int
        Of 1 and -1, those that the surface has.
    shades : Volume or None
        Colours the surface, in place of the two.
    """

    isovalue: float
    phases: list[int]
    shades: Volume | None


class VolumeViewer(TrajectoryViewer):
    """A viewer that draws surfaces from the volumes that it is given with them."""

    draws_volumes = True

    def drawing(self, surface: Surface, look: Look) -> VolumeDrawing:
        """What a surface is drawn from, beside the volume of its field; see `Viewer.drawing`."""
        phases = [phase for phase in (1, -1) if np.any(surface.phases == phase)]
        shades = colour_volume(surface) if surface.colouring is not None and phases else None
        return VolumeDrawing(surface.isovalue, phases, shades)
