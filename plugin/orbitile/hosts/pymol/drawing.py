"""What PyMOL draws surfaces from: compiled graphics objects, lists of numbers in Angstrom."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...model.surface import Surface
from ...model.units import angstrom
from ...pictures.look import Look
from ...surfaces.colour_maps import colours_of
from ...surfaces.isosurface import lobe
from ...surfaces.subdivision import corners_of, edges_of

_PIECE = 5000
"""Triangles, edges or vertices handled at once."""

_BEGIN, _END, _VERTEX, _NORMAL, _COLOR = 2.0, 3.0, 4.0, 5.0, 6.0  # of pymol.cgo
_PRIMITIVES = {"surface": 4.0, "two-sided": 4.0, "mesh": 1.0, "dots": 0.0}
"""What PyMOL calls the triangles, lines and points that a surface is drawn from, by style."""


def drawing_of(surface: Surface, look: Look) -> list[float]:
    """Drawing instructions of a surface: colours, and normal and position of each corner of what it is drawn from.

    PyMOL wants a list of Python's numbers. About six triangles share a vertex, so its numbers are made once and then
    referred to, which is three times as fast. The list grows in pieces, so that in a thread it does not hold up others.

    A surface is drawn from its triangles, a mesh from their edges, dots from its vertices.
    """
    instructions: list[float] = []
    for phase, colour in zip((1, -1), look.colours, strict=True):
        part = lobe(surface, phase)
        if len(part.faces) == 0:
            continue
        inked = part.colouring is not None
        numbers = np.empty((len(part.vertices), 12 if inked else 8), object)
        numbers[:, -8], numbers[:, -4] = _NORMAL, _VERTEX
        if part.colouring is not None:
            numbers[:, 0] = _COLOR
            numbers[:, 1:4] = colours_of(part.colouring)
        for first in range(0, len(numbers), _PIECE):
            piece = slice(first, first + _PIECE)
            numbers[piece, -7:-4] = part.normals[piece]
            numbers[piece, -3:] = part.vertices[piece] / angstrom
        if look.style in ("mesh", "dots"):  # edges and dots have no side that is lit
            numbers = np.delete(numbers, np.s_[-8:-4], axis=1)
        instructions += [_BEGIN, _PRIMITIVES[look.style], _COLOR, *colour]
        corners = _corners(part, look.style)
        for first in range(0, len(corners), _PIECE):
            instructions += numbers[corners[first : first + _PIECE].reshape(-1)].reshape(-1).tolist()
        instructions.append(_END)
    return instructions


def _corners(surface: Surface, style: str) -> NDArray[np.int32]:
    """Vertices of each triangle, edge or point that a surface is drawn from."""
    if style == "mesh":
        return edges_of(surface.faces)
    return corners_of(surface.faces)[:, None] if style == "dots" else surface.faces
