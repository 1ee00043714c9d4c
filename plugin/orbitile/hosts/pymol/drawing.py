"""What PyMOL draws surfaces from: compiled graphics objects, lists of numbers in Angstrom."""

from __future__ import annotations

import numpy as np

from ...model.surface import Surface
from ...model.units import angstrom
from ...session.look import Look
from ...surfaces.colour_maps import colours_of
from ...surfaces.isosurface import lobe

_PIECE = 5000
"""Triangles or vertices handled at once."""

_BEGIN, _END, _VERTEX, _NORMAL, _COLOR, _TRIANGLES = 2.0, 3.0, 4.0, 5.0, 6.0, 4.0  # of pymol.cgo


def drawing_of(surface: Surface, look: Look) -> list[float]:
    """Drawing instructions of a surface: colours, and normal and position of each corner of each triangle.

    PyMOL wants a list of Python's numbers. About six triangles share a vertex, so its numbers are made once and then
    referred to, which is three times as fast. The list grows in pieces, so that in a thread it does not hold up others.
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
        instructions += [_BEGIN, _TRIANGLES, _COLOR, *colour]
        for first in range(0, len(part.faces), _PIECE):
            instructions += numbers[part.faces[first : first + _PIECE].reshape(-1)].reshape(-1).tolist()
        instructions.append(_END)
    return instructions
