"""Points outside the atoms at which charges are fitted to the electrostatic potential.

- CHELPG: a cubic lattice of 0.3 Angstrom, less the points within the van der Waals radius of an atom or farther than
  2.8 Angstrom from all of them (C. M. Breneman and K. B. Wiberg, J. Comput. Chem. 1990, 11, 361).
- Merz-Kollman: spheres about the atoms at 1.4, 1.6, 1.8 and 2.0 times their van der Waals radii, less what is inside
  the sphere of another atom (U. C. Singh and P. A. Kollman, J. Comput. Chem. 1984, 5, 129; B. H. Besler, K. M. Merz and
  P. A. Kollman, J. Comput. Chem. 1990, 11, 431).

Each point stands for a cell, a cube or a piece of a sphere. Of cells that are cut the part outside counts, at its
middle. Were whole cells taken or left by where their points are, as in the first programs, charges would depend on how
the molecule lies among the points: those of atoms that symmetry makes equal differed by some 0.02 e.

Ghosts are no atoms here.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...model.units import angstrom
from ...watch import checkpoint

Reals = NDArray[np.float64]
Atoms = NDArray[np.integer]

CHELPG_SPACING, CHELPG_REACH = 0.3 * angstrom, 2.8 * angstrom
"""Edge of the lattice of points, and how far from the nearest atom they may be, in bohr."""

LAYERS = (1.4, 1.6, 1.8, 2.0)
"""Radii of the spheres of Merz and Kollman, in van der Waals radii."""

POINTS_AN_AREA = 20.0
"""Points of a sphere in Angstrom^-2. The first programs had one, which leaves more to chance."""

_PARTS_OF_A_PIECE, _PARTS_OF_AN_EDGE = 9, 3
"""Points in a piece of a sphere, and along an edge of a cube, by which it is told how much of it is outside."""

_CHELPG_RADII = {1: 1.45, 6: 1.50, 7: 1.70, 8: 1.70, 9: 1.70}
"""In Angstrom: Breneman and Wiberg; fluorine as its neighbours."""

_MERZ_KOLLMAN_RADII = {1: 1.20, 6: 1.50, 7: 1.50, 8: 1.40, 9: 1.35, 15: 1.80, 16: 1.75, 17: 1.70}
"""In Angstrom: Singh and Kollman, with those of Besler, Merz and Kollman."""

_ALVAREZ = """
    0.00 1.20 1.43 2.12 1.98 1.91 1.77 1.66 1.50 1.46 1.58 2.50 2.51 2.25 2.19 1.90 1.89 1.82 1.83 2.73 2.62 2.58
    2.46 2.42 2.45 2.45 2.44 2.40 2.40 2.38 2.39 2.32 2.29 1.88 1.82 1.86 2.25 3.21 2.84 2.75 2.52 2.56 2.45 2.44
    2.46 2.44 2.15 2.53 2.49 2.43 2.42 2.47 1.99 2.04 2.06 3.48 3.03 2.98 2.88 2.92 2.95 2.92 2.90 2.87 2.83 2.79
    2.87 2.81 2.83 2.79 2.80 2.74 2.63 2.53 2.57 2.49 2.48 2.41 2.29 2.32 2.45 2.47 2.60 2.54
""".split()
"""Van der Waals radii from 1 to 83 in Angstrom: S. Alvarez, Dalton Trans. 2013, 42, 8617; promethium as its neighbours.
"""

_BEYOND = 2.8
"""For elements beyond bismuth: about that of thorium and uranium there."""

_AT_ONCE = 1 << 16
"""Points of which the nearest atoms are looked for together: 4 MB."""


def chelpg_points(atomic_numbers: Atoms, positions: Reals) -> tuple[Reals, Reals]:
    """Points of CHELPG.

    The middle of the lattice is that of the box about the nuclei, and its edges go along the axes.

    Parameters
    ----------
    atomic_numbers : ndarray of int, shape (n_atoms,)
        Without ghosts.
    positions : ndarray, shape (n_atoms, 3)
        In bohr.

    Returns
    -------
    points : ndarray, shape (n_points, 3)
        In bohr.
    weights : ndarray, shape (n_points,)
        The part of a cube that counts, at most 1.
    """
    radii = _radii(atomic_numbers, _CHELPG_RADII)
    low, high = positions.min(axis=0), positions.max(axis=0)
    half = np.ceil(((high - low) / 2 + CHELPG_REACH) / CHELPG_SPACING).astype(int)
    ticks = [middle + np.arange(-n, n + 1) * CHELPG_SPACING for middle, n in zip((low + high) / 2, half, strict=True)]
    plane = np.stack(np.meshgrid(ticks[1], ticks[2], indexing="ij"), axis=-1).reshape(-1, 2)
    along = (np.arange(_PARTS_OF_AN_EDGE) - (_PARTS_OF_AN_EDGE - 1) / 2) * (CHELPG_SPACING / _PARTS_OF_AN_EDGE)
    parts = np.stack(np.meshgrid(along, along, along, indexing="ij"), axis=-1).reshape(-1, 3)
    together = max(1, _AT_ONCE // len(plane))
    spheres = _Spheres(positions, radii, CHELPG_REACH)
    found, weights = [], []
    for first in range(0, len(ticks[0]), together):
        some = ticks[0][first : first + together]
        points = np.column_stack([np.repeat(some, len(plane)), np.tile(plane, (len(some), 1))])
        depth = spheres.depth(points)
        points, depth = points[depth > -_HALF_A_CUBE], depth[depth > -_HALF_A_CUBE]
        share = np.ones(len(points))
        cut = np.flatnonzero(depth < _HALF_A_CUBE)
        of_parts = (points[cut, None] + parts).reshape(-1, 3)
        outside = (spheres.depth(of_parts) >= 0).reshape(len(cut), len(parts))
        share[cut] = outside.mean(axis=1)
        points[cut] += outside @ parts / np.maximum(outside.sum(axis=1), 1)[:, None]
        found.append(points[share > 0])
        weights.append(share[share > 0])
        checkpoint()
    return np.concatenate(found), np.concatenate(weights)


_HALF_A_CUBE = math.sqrt(3) / 2 * CHELPG_SPACING
"""From the middle of a cube to its corners, in bohr."""


def merz_kollman_points(
    atomic_numbers: Atoms, positions: Reals, density: float = POINTS_AN_AREA
) -> tuple[Reals, Reals]:
    """Points of Merz and Kollman, evenly on each sphere along a spiral.

    Parameters
    ----------
    atomic_numbers, positions
        As for `chelpg_points`.
    density
        Points in Angstrom^-2.

    Returns
    -------
    points : ndarray, shape (n_points, 3)
        In bohr.
    weights : ndarray, shape (n_points,)
        Areas that they stand for, in Angstrom^2.
    """
    radii = _radii(atomic_numbers, _MERZ_KOLLMAN_RADII)
    margin = angstrom / math.sqrt(density)  # more than from the middle of a piece to its edge
    found, weights = [], []
    for layer in LAYERS:
        spheres = _Spheres(positions, layer * radii)
        for atom, (centre, radius) in enumerate(zip(positions, layer * radii, strict=True)):
            area = 4 * math.pi * (radius / angstrom) ** 2
            n = max(1, round(density * area))
            directions, parts, piece = _pieces(n)
            depth = spheres.depth(centre + radius * directions, atom)
            count = np.where(depth > 0, float(_PARTS_OF_A_PIECE), 0.0)
            middle = directions.copy()
            cut = np.abs(depth) < margin
            some = np.flatnonzero(cut[piece])
            some = some[spheres.depth(centre + radius * parts[some], atom) > 0]
            in_parts = np.column_stack([np.ones(len(some)), parts[some]])
            sums = np.column_stack([np.bincount(piece[some], column, n) for column in in_parts.T])
            count[cut], middle[cut] = sums[cut, 0], sums[cut, 1:]
            there = count > 0
            middle = middle[there] / np.linalg.norm(middle[there], axis=1)[:, None]
            found.append(centre + radius * middle)
            weights.append(count[there] * (area / (n * _PARTS_OF_A_PIECE)))
            checkpoint()
    return np.concatenate(found), np.concatenate(weights)


@lru_cache(maxsize=32)
def _pieces(n: int) -> tuple[Reals, Reals, NDArray[np.intp]]:
    """Directions in the middle of the pieces of a sphere; those of their parts, and the piece of each."""
    from scipy.spatial import cKDTree

    directions, parts = _spiral(n), _spiral(n * _PARTS_OF_A_PIECE)
    return directions, parts, cKDTree(directions).query(parts)[1]


def _radii(atomic_numbers: Atoms, stated: dict[int, float]) -> Reals:
    """Van der Waals radii in bohr."""
    known = [float(radius) for radius in _ALVAREZ]
    of_elements = [stated.get(int(z), known[z] if z < len(known) else _BEYOND) for z in atomic_numbers]
    return np.array(of_elements) * angstrom


class _Spheres:
    """Spheres about the atoms, none of which a point may be in, and how far from a nucleus it may be at most."""

    def __init__(self, positions: Reals, radii: Reals, reach: float = math.inf) -> None:
        from scipy.spatial import cKDTree

        # the radii of a molecule are few: for each, only the nearest of its atoms matters
        self._atoms = [(radius, np.flatnonzero(radii == radius)) for radius in np.unique(radii)]
        self._trees = [cKDTree(positions[atoms]) for _, atoms in self._atoms]
        self._reach = reach

    def depth(self, points: Reals, without: int = -1) -> Reals:
        """How far points are inside of where they may be, negative outside; leaving the sphere of one atom alone."""
        outside, nearest = np.full(len(points), np.inf), np.full(len(points), np.inf)
        for (radius, atoms), tree in zip(self._atoms, self._trees, strict=True):
            if without not in atoms:
                distances = tree.query(points)[0]
            else:  # there are infinities where it is the only one
                distances, which = tree.query(points, k=2)
                distances = distances[np.arange(len(points)), (atoms[which[:, 0]] == without).astype(int)]
            outside = np.minimum(outside, distances - radius)
            nearest = np.minimum(nearest, distances)
        return outside if math.isinf(self._reach) else np.minimum(outside, self._reach - nearest)


def _spiral(n: int) -> Reals:
    """Directions that are spread evenly, shape (n, 3).

    R. Swinbank and R. J. Purser, Q. J. R. Meteorol. Soc. 2006, 132, 1769.
    """
    height = 1 - (2 * np.arange(n) + 1) / n
    angle = np.arange(n) * math.pi * (3 - math.sqrt(5))
    across = np.sqrt(1 - height**2)
    return np.column_stack([across * np.cos(angle), across * np.sin(angle), height])
