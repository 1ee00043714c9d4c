r"""Voids of a crystal: how much of a cell, and with how large a surface, the molecules leave free.

They are where the density of the free atoms is below an isovalue (M. J. Turner, J. J. McKinnon, D. Jayatilaka and M. A.
Spackman, CrystEngComm 2011, 13, 1804), see `orbitile.fields.voids`. The density is taken on a lattice that repeats with
the cell. The volume is that of the six tetrahedra of each cell of the lattice, in which the field is linear (P. E.
Blochl, O. Jepsen and O. K. Andersen, Phys. Rev. B 1994, 49, 16223, appendix C); the area is that of the triangles of
marching cubes. Of both, a second lattice tells the error, which falls with the square of the spacing, and most of it is
taken off (L. F. Richardson, Phil. Trans. R. Soc. A 1911, 210, 307).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from ..base.errors import NoSurface
from ..base.watch import checkpoint, stage
from ..evaluation.lattices import compute
from ..fields.voids import HALF, crystal_of, density_of_crystal, void_share
from ..model.cell import Cell, cell_of
from ..model.geometry import connected_parts
from ..model.lattice import Lattice
from ..model.volume import Volume
from ..model.wavefunction import Wavefunction
from ..surfaces.isosurface import isosurface
from .surface_statistics import areas_of

_COARSER = 1.5
"""Spacing of the second lattice in that of the first."""

_PATHS = [[sum(1 << axis for axis in order[:n]) for n in range(4)] for order in permutations(range(3))]
"""Corners of the six tetrahedra of a cell of a lattice, in bits: by three steps along its edges to the opposite one."""


@dataclass(frozen=True)
class Void:
    """A part of a crystal that is free, with all of its images one.

    Attributes
    ----------
    volume : float
        In bohr^3, in a cell.
    least : float
        The lowest density in it, in e bohr^-3.
    place : tuple of float
        Where that is, in bohr.
    """

    volume: float
    least: float
    place: tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class Voids:
    """What is free in a cell of a crystal.

    Attributes
    ----------
    cell : Cell
    volume, area : float
        Of all voids in a cell, in bohr^3 and bohr^2.
    volume_error, area_error : float
        What was taken off.
    counted : float
        The volume again, by the points of the lattice.
    parts : tuple of Void
        The largest first.
    """

    cell: Cell
    volume: float
    area: float
    volume_error: float
    area_error: float
    counted: float
    parts: tuple[Void, ...]


def voids_of(wavefunction: Wavefunction, isovalue: float, spacing: float, device: str | None = None) -> Voids:
    """The voids of the crystal that a molecule is of.

    Parameters
    ----------
    wavefunction
        From a file of a crystal, or a periodic one.
    isovalue
        Density in e bohr^-3 below which a crystal is empty.
    spacing
        Of the lattice, in bohr.
    device
        As for `orbitile.evaluate`.

    Raises
    ------
    FieldError
        When there is no crystal.
    """
    crystal = crystal_of(wavefunction)
    cell = cell_of(crystal)
    assert cell is not None
    with stage(0.0, 0.7):
        share = _share_on(crystal, Lattice.of_cell(cell, spacing), isovalue, device)
    with stage(0.7, 1.0):
        coarse = _share_on(crystal, Lattice.of_cell(cell, _COARSER * spacing), isovalue, device)
    # lattices have whole numbers of points, so that the ratio of their spacings is not quite the wanted one
    ratio = (share.lattice.n_points / coarse.lattice.n_points) ** (2 / 3)
    found = np.array([_measured(cell, one) for one in (share, coarse)])
    errors = (found[0] - found[1]) / (ratio - 1)
    volume, area = np.maximum(found[0] + errors, 0.0)
    inside = share.values > HALF
    counted = cell.volume * float(inside.mean())
    parts = _parts(share, inside, volume, isovalue)
    return Voids(cell, float(volume), float(area), float(abs(errors[0])), float(abs(errors[1])), counted, parts)


def _share_on(crystal: Wavefunction, lattice: Lattice, isovalue: float, device: str | None) -> Volume:
    density = compute(crystal, density_of_crystal(crystal), lattice, device=device)
    return Volume(void_share(density.values, isovalue), lattice, "void")


def _measured(cell: Cell, share: Volume) -> tuple[float, float]:
    """Volume of the voids in bohr^3 and their area in bohr^2."""
    try:
        surface = isosurface(share, HALF)
    except NoSurface:  # empty, or full
        area = 0.0
    else:
        area = float(areas_of(surface.vertices.astype(np.float64), surface.faces).sum())
    return cell.volume * _share_above(share.values - HALF), area


def _share_above(values: NDArray[np.floating]) -> float:
    """Share of a cell in which values on a lattice that repeats, linear in tetrahedra between its points, exceed 0."""
    total = 0.0
    for n in range(len(values)):
        faces = values[[n, (n + 1) % len(values)]]
        corners = np.stack(
            [np.roll(faces[bits & 1], (-(bits >> 1 & 1), -(bits >> 2)), (0, 1)).ravel() for bits in range(8)]
        )
        above = corners > 0.0
        total += float(np.all(above, axis=0).sum())
        cut = corners[:, np.any(above, axis=0) & ~np.all(above, axis=0)]
        total += sum(float(_above_in_tetrahedra(cut[path]).sum()) for path in _PATHS) / len(_PATHS)
        checkpoint()
    return total / values.size


def _above_in_tetrahedra(corners: NDArray[np.floating]) -> NDArray[np.floating]:
    """Share of each tetrahedron in which the linear function of the values at its corners, shape (4, n), exceeds 0."""
    a, b, c, d = np.sort(corners, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        one = d**3 / ((d - a) * (d - b) * (d - c))
        three = 1 + a**3 / ((b - a) * (c - a) * (d - a))
        two = 1 - ((b - a) ** 2 - 3 * (b - a) * b + 3 * b**2 + (c - a + d - b) / ((c - b) * (d - b)) * b**3) / (
            (c - a) * (d - a)
        )
    return np.select([d <= 0, a > 0, b > 0, c > 0], [np.zeros_like(a), np.ones_like(a), three, two], one)


def _parts(share: Volume, inside: NDArray[np.bool_], volume: float, isovalue: float) -> tuple[Void, ...]:
    """Connected parts of the voids, whose volumes add up to that of all."""
    labels, n = ndimage.label(inside)
    if not n:
        return ()
    faces = [np.stack([labels.take(0, axis).ravel(), labels.take(-1, axis).ravel()], axis=1) for axis in range(3)]
    pairs = np.concatenate(faces)
    part = connected_parts(n, np.unique(pairs[(pairs > 0).all(axis=1)], axis=0) - 1)
    labels = np.concatenate([[0], part + 1])[labels]
    numbers = np.arange(1, part.max() + 2)
    counts = np.bincount(labels.ravel())[1:]
    highest = ndimage.maximum_position(share.values, labels, numbers)
    found = []
    for count, at in zip(counts.tolist(), highest, strict=True):
        place = share.lattice.origin + np.array(at) @ share.lattice.axes
        least = isovalue * (1 / float(share.values[at]) - 1)
        found.append(Void(volume * count / counts.sum(), least, tuple(place.tolist())))
    return tuple(sorted(found, key=lambda void: -void.volume))
