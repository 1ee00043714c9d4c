"""Points outside the atoms at which charges are fitted to the electrostatic potential.

- CHELPG: a cubic lattice of 0.3 Angstrom, less the points within the van der Waals radius of an atom or farther than
  2.8 Angstrom from all of them (C. M. Breneman and K. B. Wiberg, J. Comput. Chem. 1990, 11, 361).
- Merz-Kollman: spheres about the atoms at 1.4, 1.6, 1.8 and 2.0 times their van der Waals radii, less what is inside
  the sphere of another atom (U. C. Singh and P. A. Kollman, J. Comput. Chem. 1984, 5, 129; B. H. Besler, K. M. Merz and
  P. A. Kollman, J. Comput. Chem. 1990, 11, 431).

Ghosts are no atoms here.
"""

from __future__ import annotations

import math

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

POINTS_AN_AREA = 4.0
"""Points of a sphere in Angstrom^-2. With one, as in the first programs, charges depend more on how a molecule lies."""

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


def chelpg_points(atomic_numbers: Atoms, positions: Reals) -> Reals:
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
    ndarray, shape (n_points, 3)
        In bohr.
    """
    radii = _radii(atomic_numbers, _CHELPG_RADII)
    low, high = positions.min(axis=0), positions.max(axis=0)
    half = np.ceil(((high - low) / 2 + CHELPG_REACH) / CHELPG_SPACING).astype(int)
    ticks = [middle + np.arange(-n, n + 1) * CHELPG_SPACING for middle, n in zip((low + high) / 2, half, strict=True)]
    plane = np.stack(np.meshgrid(ticks[1], ticks[2], indexing="ij"), axis=-1).reshape(-1, 2)
    together = max(1, _AT_ONCE // len(plane))
    found = []
    for first in range(0, len(ticks[0]), together):
        along = ticks[0][first : first + together]
        points = np.column_stack([np.repeat(along, len(plane)), np.tile(plane, (len(along), 1))])
        found.append(points[_are_outside(points, positions, radii, CHELPG_REACH)])
        checkpoint()
    return np.concatenate(found)


def merz_kollman_points(atomic_numbers: Atoms, positions: Reals, density: float = POINTS_AN_AREA) -> Reals:
    """Points of Merz and Kollman, evenly on each sphere along a spiral.

    Parameters
    ----------
    atomic_numbers, positions
        As for `chelpg_points`.
    density
        Points in Angstrom^-2.

    Returns
    -------
    ndarray, shape (n_points, 3)
        In bohr.
    """
    radii = _radii(atomic_numbers, _MERZ_KOLLMAN_RADII)
    found = []
    for layer in LAYERS:
        spheres = [
            centre + radius * _spiral(max(1, round(density * 4 * math.pi * (radius / angstrom) ** 2)))
            for centre, radius in zip(positions, layer * radii, strict=True)
        ]
        points = np.concatenate(spheres)
        # a point is at its own sphere up to rounding
        found.append(points[_are_outside(points, positions, layer * radii * (1 - 1e-9), math.inf)])
        checkpoint()
    return np.concatenate(found)


def _radii(atomic_numbers: Atoms, stated: dict[int, float]) -> Reals:
    """Van der Waals radii in bohr."""
    known = [float(radius) for radius in _ALVAREZ]
    of_elements = [stated.get(int(z), known[z] if z < len(known) else _BEYOND) for z in atomic_numbers]
    return np.array(of_elements) * angstrom


def _are_outside(points: Reals, positions: Reals, radii: Reals, reach: float) -> NDArray[np.bool_]:
    """Which points are within no atom, and no farther from one than the reach."""
    from scipy.spatial import cKDTree

    outside = np.ones(len(points), bool)
    # the radii of a molecule are few: for each, only the nearest of its atoms matters
    nearest = np.full(len(points), np.inf)
    for radius in np.unique(radii):
        distances, _ = cKDTree(positions[radii == radius]).query(points)
        outside &= distances >= radius
        np.minimum(nearest, distances, out=nearest)
    return outside & (nearest <= reach)


def _spiral(n: int) -> Reals:
    """Directions that are spread evenly, shape (n, 3).

    R. Swinbank and R. J. Purser, Q. J. R. Meteorol. Soc. 2006, 132, 1769.
    """
    height = 1 - (2 * np.arange(n) + 1) / n
    angle = np.arange(n) * math.pi * (3 - math.sqrt(5))
    across = np.sqrt(1 - height**2)
    return np.column_stack([across * np.cos(angle), across * np.sin(angle), height])
