r"""Contacts of a molecule with what is around it, by its Hirshfeld surface.

The surface is shared out among pairs of elements, and of atoms, by the nearest nuclei inside and outside of each point
(M. A. Spackman and J. J. McKinnon, CrystEngComm 2002, 4, 378; J. J. McKinnon, D. Jayatilaka and M. A. Spackman, Chem.
Commun. 2007, 3814). Enrichment is how often two elements meet, over how often they would meet by chance:

.. math::  E_{XX} = \frac{C_{XX}}{S_X^2}, \qquad E_{XY} = \frac{C_{XY}}{2 S_X S_Y}, \qquad
    S_X = C_{XX} + \tfrac12 \sum_{Y \ne X} C_{XY}

with the share :math:`C_{XY}` of both X-Y and Y-X (C. Jelsch, K. Ejsmont and L. Huder, IUCrJ 2014, 1, 119, equations 1
to 4).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base.arguments import atom_list
from ..base.arrays import Reals
from ..base.watch import stage
from ..fields.hirshfeld_surface import (
    HALF,
    Neighbours,
    curvatures,
    curvedness,
    neighbours_of,
    shape_index,
    share_at,
)
from ..model.units import angstrom
from ..model.wavefunction import Wavefunction
from .surface_statistics import SAMPLES, MeasuredSurface, areas_of, measured_surface

_SPACING = 0.45
"""Of the lattice, in bohr: areas are then exact to some 1e-4."""

_BIN = 0.02
"""Edge in Angstrom of the squares that a fingerprint is made of."""


@dataclass(frozen=True, eq=False)
class Contacts:
    """A Hirshfeld surface and what the nearest atoms are at its points, each of shape (n,).

    Attributes
    ----------
    surface : MeasuredSurface
    sides : Neighbours
    one, other : ndarray of int
        The nearest atoms inside and outside, from 0.
    inside, outside : ndarray
        Distances to them, in bohr.
    closeness : ndarray
        d_norm.
    shape, curvedness : ndarray
        Shape index, and curvedness of curvatures in 1/bohr.
    is_open : ndarray of bool
        Where nothing is near, so that the surface is that of the molecule's own density.
    """

    surface: MeasuredSurface
    sides: Neighbours
    one: NDArray[np.intp]
    other: NDArray[np.intp]
    inside: Reals
    outside: Reals
    closeness: Reals
    shape: Reals
    curvedness: Reals
    is_open: NDArray[np.bool_]

    def mean(self, values: Reals) -> float:
        """Average over the surface."""
        return float(self.surface.weights @ values / self.surface.area)


@dataclass(frozen=True)
class ElementContact:
    """The part of a surface where atoms of two elements meet.

    Attributes
    ----------
    inside, outside : int
        Atomic numbers.
    area : float
        In bohr^2.
    share : float
        Of the whole surface.
    enrichment : float
        Of both directions together; NaN where one of the elements has hardly any surface.
    """

    inside: int
    outside: int
    area: float
    share: float
    enrichment: float


@dataclass(frozen=True)
class AtomContact:
    """Two atoms that meet on a surface.

    Attributes
    ----------
    inside, outside : int
        From 0.
    distance : float
        Between them, in bohr.
    closest : float
        The least d_norm where they meet.
    area : float
        In bohr^2.
    """

    inside: int
    outside: int
    distance: float
    closest: float
    area: float


def contacts_of(wavefunction: Wavefunction, atoms: tuple[int, ...], device: str | None = None) -> Contacts:
    """The Hirshfeld surface of some atoms with what they touch.

    Parameters
    ----------
    wavefunction
        Of which the atoms, or free atoms, are taken.
    atoms
        Of the molecule, from 0.
    device
        As for `orbitile.evaluate`.

    Raises
    ------
    OrbitileError
        When these are no atoms, or all of them.
    """
    listed = atom_list(atoms)
    sides = neighbours_of(wavefunction, f"hirshfeld:{listed}", listed)
    with stage(0.0, 0.8):
        surface = measured_surface(wavefunction, f"hirshfeld:{listed}", HALF, spacing=_SPACING, device=device)
    inside, one, outside, other = sides.nearest(surface.points)
    share = share_at(wavefunction, sides, surface.points)
    bent = curvatures(share.slope, share.bend)
    return Contacts(
        surface,
        sides,
        one,
        other,
        inside,
        outside,
        sides.normalised(surface.points),
        shape_index(*bent),
        curvedness(*bent),
        share.is_open,
    )


def by_elements(contacts: Contacts) -> list[ElementContact]:
    """The surface by pairs of elements, the largest part first."""
    numbers, weights = contacts.sides.numbers, contacts.surface.weights
    areas: dict[tuple[int, int], float] = defaultdict(float)
    for one, other, area in zip(numbers[contacts.one].tolist(), numbers[contacts.other].tolist(), weights, strict=True):
        areas[one, other] += float(area)
    total = contacts.surface.area
    proportion: dict[int, float] = defaultdict(float)
    for (one, other), area in areas.items():
        proportion[one] += area / (2 * total)
        proportion[other] += area / (2 * total)

    def enrichment(one: int, other: int) -> float:
        both = areas[one, other] + (areas.get((other, one), 0.0) if one != other else 0.0)
        by_chance = proportion[one] * proportion[other] * (1 if one == other else 2)
        return both / total / by_chance if by_chance > _RARE else float("nan")

    found = [ElementContact(*pair, area, area / total, enrichment(*pair)) for pair, area in list(areas.items())]
    return sorted(found, key=lambda contact: -contact.area)


_RARE = 0.009
"""Share by chance below which enrichment is left out, as in that paper."""


def by_atoms(contacts: Contacts) -> list[AtomContact]:
    """Pairs of atoms that are nearest to points of the surface, the closest in units of their radii first."""
    pairs, which = np.unique(np.stack([contacts.one, contacts.other]), axis=1, return_inverse=True)
    areas = np.bincount(which.ravel(), contacts.surface.weights)
    closest = np.full(len(areas), np.inf)
    np.minimum.at(closest, which.ravel(), contacts.closeness)
    positions = contacts.sides.positions
    apart = np.linalg.norm(positions[pairs[0]] - positions[pairs[1]], axis=1)
    found = [
        AtomContact(*map(int, pair), *map(float, row))
        for pair, row in zip(pairs.T, np.stack([apart, closest, areas], axis=1), strict=True)
    ]
    return sorted(found, key=lambda contact: contact.closest)


def fingerprint(contacts: Contacts) -> tuple[Reals, Reals, Reals]:
    """Middles of squares by the distances inside and outside, in Angstrom, and the share of the surface in each.

    Each triangle of the surface counts by nine points in it.
    """
    corners = contacts.surface.points[contacts.surface.surface.faces]
    areas = areas_of(contacts.surface.points, contacts.surface.surface.faces)
    points = np.einsum("sc,fcx->fsx", SAMPLES, corners).reshape(-1, 3)
    inside, _, outside, _ = contacts.sides.nearest(points)
    places = np.floor(np.stack([inside, outside]) / (angstrom * _BIN)).astype(np.int64)
    squares, which = np.unique(places, axis=1, return_inverse=True)
    weights = np.repeat(areas / areas.sum() / len(SAMPLES), len(SAMPLES))
    shares: Reals = np.bincount(which.ravel(), weights).astype(np.float64)
    x, y = (squares + 0.5) * _BIN
    return x, y, shares
