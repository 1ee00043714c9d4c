"""Balls and sticks: which colours and radii atoms have in a picture, and which of them are bonded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ..errors import RenderError
from ..model.bonds import covalent_radius, find_bonds
from ..model.cell import Cell, cell_of
from ..model.elements import SYMBOLS
from ..model.geometry import Geometry
from ..model.units import angstrom
from ..model.wavefunction import Wavefunction
from ..surfaces.colour_maps import RGB

Floats = NDArray[np.float64]

_JMOL = """
    FFFFFF FFFFFF D9FFFF CC80FF C2FF00 FFB5B5 909090 3050F8 FF0D0D 90E050 B3E3F5 AB5CF2 8AFF00 BFA6A6 F0C8A0 FF8000
    FFFF30 1FF01F 80D1E3 8F40D4 3DFF00 E6E6E6 BFC2C7 A6A6AB 8A99C7 9C7AC7 E06633 F090A0 50D050 C88033 7D80B0 C28F8F
    668F8F BD80E3 FFA100 A62929 5CB8D1 702EB0 00FF00 94FFFF 94E0E0 73C2C9 54B5B5 3B9E9E 248F8F 0A7D8C 006985 C0C0C0
    FFD98F A67573 668080 9E63B5 D47A00 940094 429EB0 57178F 00C900 70D4FF FFFFC7 D9FFC7 C7FFC7 A3FFC7 8FFFC7 61FFC7
    45FFC7 30FFC7 1FFFC7 00FF9C 00E675 00D452 00BF38 00AB24 4DC2FF 4DA6FF 2194D6 267DAB 266696 175487 D0D0E0 FFD123
    B8B8D0 A6544D 575961 9E4FB5 AB5C00 754F45 428296 420066 007D00 70ABFA 00BAFF 00A1FF 008FFF 0080FF 006BFF 545CF2
    785CE3 8A4FE3 A136D4 B31FD4 B31FBA B30DA6 BD0D87 C70066 CC0059 D1004F D90045 E00038 E6002E EB0026
""".split()
"""Colours of the elements from 0 (ghost) to 109 in Jmol's scheme (https://jmol.sourceforge.net/jscolors)."""

GHOST_RADIUS, GHOST_COLOUR = 0.14 * angstrom, (0.82, 0.86, 0.92)
"""Radius in bohr and colour of a ghost atom, which has basis functions and no nucleus."""

_INSIDE = 0.5
"""Radius of a ball, in units of the distance of the surface about it that it would hide otherwise."""

STICK_RADIUS = 0.11 * angstrom
"""Radius of a bond, in bohr."""


EDGE_RADIUS, EDGE_COLOUR = 0.025 * angstrom, (0.45, 0.45, 0.45)
"""Radius in bohr and colour of the edges of a cell."""


def element_colour(atomic_number: int) -> RGB:
    """Colour of an element in Jmol's scheme; the last colour of the table for elements beyond it."""
    text = _JMOL[min(max(int(atomic_number), 0), len(_JMOL) - 1)]
    red, green, blue = (int(text[i : i + 2], 16) / 255 for i in (0, 2, 4))
    return red, green, blue


def ball_radius(atomic_number: int) -> float:
    """Radius in bohr at which an atom is drawn: grows with the covalent radius, but less, so that H stays visible."""
    return 0.16 * angstrom + 0.25 * covalent_radius(atomic_number)


@dataclass(frozen=True, eq=False)
class Molecule:
    """Balls and sticks.

    Attributes
    ----------
    centres : ndarray, shape (n, 3)
        Of the balls, in bohr.
    radii : ndarray, shape (n,)
        In bohr.
    colours : ndarray, shape (n, 3)
    bonds : ndarray of int, shape (m, 2)
        Balls that a stick joins; each half has the colour of its ball.
    stick_radius : float or ndarray, shape (m,)
        In bohr, of all bonds or of each.
    symbols : tuple of str
        Of the elements of the balls; none where they are not known.
    """

    centres: Floats = field(default_factory=lambda: np.zeros((0, 3)))
    radii: Floats = field(default_factory=lambda: np.zeros(0))
    colours: Floats = field(default_factory=lambda: np.zeros((0, 3)))
    bonds: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    stick_radius: float | Floats = STICK_RADIUS
    symbols: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.centres)
        check_array(self.centres, (n, 3), "centres of balls")
        check_array(self.radii, (n,), "radii of balls")
        check_array(self.colours, (n, 3), "colours of balls")
        check_array(self.bonds, (None, 2), "bonds")
        if np.ndim(self.stick_radius):
            check_array(np.asarray(self.stick_radius), (len(self.bonds),), "radii of bonds")

    @classmethod
    def of(cls, atoms: Wavefunction | Geometry) -> Molecule:
        """Balls and sticks for the atoms of a wavefunction; ghosts are small pale balls without sticks.

        Of a periodic system, atoms at a face of the cell are drawn at the opposite one too, and the edges of the cell
        are thin sticks.
        """
        numbers, positions = atoms.atomic_numbers, atoms.positions
        cell = cell_of(atoms) if isinstance(atoms, Wavefunction) else None
        if cell is not None:
            which, positions = cell.with_faces(positions)
            numbers = numbers[which]
        real = np.flatnonzero(numbers > 0)
        molecule = cls(
            centres=positions,
            radii=np.array([ball_radius(z) if z else GHOST_RADIUS for z in numbers]),
            colours=np.array([element_colour(z) if z else GHOST_COLOUR for z in numbers]).reshape(-1, 3),
            bonds=real[find_bonds(numbers[real], positions[real])],
            symbols=tuple(SYMBOLS[z] for z in numbers),
        )
        return molecule if cell is None else molecule.with_edges(cell)

    def with_edges(self, cell: Cell) -> Molecule:
        """The same, and the edges of a cell."""
        ends = cell.edges().reshape(-1, 3)
        n = len(ends)
        return Molecule(
            centres=np.concatenate([self.centres, ends]),
            radii=np.concatenate([self.radii, np.full(n, EDGE_RADIUS)]),
            colours=np.concatenate([self.colours, np.tile(EDGE_COLOUR, (n, 1))]),
            bonds=np.concatenate([self.bonds, len(self.centres) + np.arange(n).reshape(-1, 2)]),
            stick_radius=np.concatenate([np.full(len(self.bonds), self.stick_radius), np.full(n // 2, EDGE_RADIUS)]),
            symbols=(*self.symbols, *("cell",) * n) if self.symbols else (),
        )

    def showing(self, surfaces: Sequence[NDArray[np.floating]]) -> Molecule:
        """The same, with smaller balls where they would hide a whole surface, such as that of a core orbital.

        Parameters
        ----------
        surfaces
            Vertices of each surface, shape (n, 3), in bohr.
        """
        from scipy.spatial import cKDTree

        if not len(self.centres):
            return self
        radii, stick_radius = self.radii.copy(), self.stick_radius
        tree = cKDTree(self.centres)
        for vertices in surfaces:
            few = vertices[:: len(vertices) // 64 + 1]  # tell of most surfaces that they are seen
            for points in (few, vertices):
                distances, nearest = tree.query(points)
                is_hidden = bool(np.all(distances < self.radii[nearest]))
                if not is_hidden:
                    break
            if is_hidden:
                within = np.full(len(radii), np.inf)
                np.minimum.at(within, nearest, _INSIDE * distances)
                radii = np.minimum(radii, within)
                stick_radius = np.minimum(stick_radius, within.min())
        return replace(self, radii=radii, stick_radius=stick_radius)


def check_array(array: NDArray[np.generic], shape: tuple[int | None, ...], what: str) -> None:
    """Refuse an array of another shape, or one that is not finite; None in the shape is for any length.

    Raises
    ------
    RenderError
        Naming `what` it is.
    """
    if array.ndim != len(shape) or any(n is not None and n != m for n, m in zip(shape, array.shape, strict=True)):
        wanted = tuple("any" if n is None else n for n in shape)
        raise RenderError(f"{what}: expected an array of shape {wanted}, got {array.shape}")
    if not np.all(np.isfinite(array)):
        raise RenderError(f"{what}: expected finite numbers, got NaN or infinity")
