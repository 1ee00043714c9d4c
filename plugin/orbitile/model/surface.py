"""Surfaces: triangle meshes with normals, and the values that colour them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .geometry import Displayed


@dataclass(frozen=True, eq=False)
class Colouring:
    """Values of a second field at the vertices of a surface, and the range that the colours span.

    Attributes
    ----------
    values : ndarray of float32, shape (n,)
    low, high : float
        Values that get the first and the last colour.
    quantity, unit : str
        For people.
    colour_map : str
        Name of one of `orbitile.surfaces.colour_maps.MAPS`.
    """

    values: NDArray[np.float32]
    low: float
    high: float
    quantity: str = ""
    unit: str = ""
    colour_map: str = "signed"


@dataclass(frozen=True, eq=False)
class Surface(Displayed):
    """A triangle mesh on which a field has the value `isovalue * phase`.

    Attributes
    ----------
    vertices : ndarray of float32, shape (n, 3)
        Positions in bohr.
    faces : ndarray of int32, shape (m, 3)
        Indices of the corners; counter-clockwise seen from outside (from where the field is smaller in magnitude).
    normals : ndarray of float32, shape (n, 3)
        Unit normals at the vertices, pointing outside.
    phases : ndarray of int8, shape (n,)
        Sign of the field at each vertex: +1 or -1. Faces never join the two.
    isovalue : float
        Magnitude of the field on the surface, in its unit.
    quantity, unit : str
        As in the volume.
    colouring : Colouring or None
        A second field that colours it; otherwise the phase does.
    """

    vertices: NDArray[np.float32]
    faces: NDArray[np.int32]
    normals: NDArray[np.float32]
    phases: NDArray[np.int8]
    isovalue: float
    quantity: str = ""
    unit: str = ""
    colouring: Colouring | None = None
