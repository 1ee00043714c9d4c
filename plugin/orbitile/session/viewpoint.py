"""What a viewer shows beside the surfaces, and from where: what a picture of the same takes over."""

from __future__ import annotations

from dataclasses import dataclass

from ..renderer import Camera, Molecule
from ..surfaces.colour_maps import RGB


@dataclass(frozen=True, eq=False)
class Viewpoint:
    """From where a viewer shows what.

    Attributes
    ----------
    camera : Camera
        With an eye.
    molecule : Molecule
        All atoms and bonds that can be seen, as large and in the colours that they have in the viewer.
    background : (red, green, blue)
        From 0 to 1.
    size : (int, int)
        Width and height of the view in pixels.
    centre : (float, float, float)
        About which the user turns the view, in bohr.
    """

    camera: Camera
    molecule: Molecule
    background: RGB
    size: tuple[int, int]
    centre: tuple[float, float, float]
