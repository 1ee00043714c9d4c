"""Cells of a lattice that are whole in one basin, and those through which a border runs.

The shares of `partition` are only about right near borders: there paths of steepest ascent say which basin a point of
the lattice is in.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...model.lattice import Lattice
from .ascent import Gradient, Reals, Spheres, attractors_of
from .partition import Integers, Partition

_WORTH = 1e-5
"""Density in e bohr^-3 below which the largest share is good enough."""

EMPTY, MIXED = -1, -2
"""Instead of a basin: of cells where the density is too small, and of those that more than one has corners of."""

_CLEAR = 0.8
"""Share of a basin in a point from which on its path is not followed, unless the basin of a neighbour is another."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Basins of the cells between the points of a lattice.

    Attributes
    ----------
    lattice : Lattice
        Of the corners.
    basin : ndarray of int32, one shorter than the lattice along each axis
        The basin of all corners, EMPTY or MIXED.
    """

    lattice: Lattice
    basin: Integers

    def around(self, points: Reals) -> Integers:
        """Basin of the cell that each point is in, EMPTY outside of the lattice; shape (n_points,)."""
        place = np.floor((points - self.lattice.origin) / self.lattice.spacings).astype(np.intp)
        there = np.all((place >= 0) & (place < self.basin.shape), axis=1)
        place[~there] = 0
        return np.where(there, self.basin[tuple(place.T)], np.int32(EMPTY))


def cells_of(shares: Partition, gradient: Gradient, spheres: Spheres) -> Cells:
    """Sort the cells of a lattice.

    Parameters
    ----------
    shares
        Of the basins in its points.
    gradient
        Of the density.
    spheres
        About all attractors.
    """
    shape = shares.lattice.shape
    basin, clear = shares.basin[:, 0].copy(), shares.share[:, 0] > _CLEAR
    known = basin < 0
    wanted = np.flatnonzero(~known & ~clear)
    while len(wanted):
        at = np.stack(np.unravel_index(wanted, shape), axis=1)
        points = shares.lattice.origin + at * np.asarray(shares.lattice.spacings)
        known[wanted] = True
        some = gradient(points)[0] > _WORTH
        basin[wanted[some]] = attractors_of(points[some], gradient, spheres)
        wanted = np.flatnonzero(_beside_others(basin.reshape(shape)).reshape(-1) & ~known)
    return Cells(shares.lattice, _of_cells(basin.reshape(shape)))


def _beside_others(basin: Integers) -> NDArray[np.bool_]:
    """Points with a neighbour along an axis in another basin."""
    beside = np.zeros(basin.shape, bool)
    for axis in range(3):
        one, other = _slices(axis)
        different = (basin[one] != basin[other]) & (basin[one] >= 0) & (basin[other] >= 0)
        beside[one] |= different
        beside[other] |= different
    return beside


def _slices(axis: int) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """All but the last, and all but the first, along an axis."""
    whole = [slice(None)] * 3
    first, second = whole.copy(), whole.copy()
    first[axis], second[axis] = slice(None, -1), slice(1, None)
    return tuple(first), tuple(second)


def _of_cells(basin: Integers) -> Integers:
    """The basin that all corners of a cell have that are in any."""
    least, most = np.where(basin < 0, np.iinfo(np.int32).max, basin), basin
    for axis in range(3):
        one, other = _slices(axis)
        least, most = np.minimum(least[one], least[other]), np.maximum(most[one], most[other])
    return np.where(most < 0, EMPTY, np.where(least == most, most, MIXED)).astype(np.int32)
