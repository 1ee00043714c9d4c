"""Critical points of a density near starting points, all starting points at once.

They start between atoms, and on a grid between all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import Reals
from ...base.watch import checkpoint
from .derivatives import DensityDerivatives


@dataclass(frozen=True, eq=False)
class Balls:
    """Balls of which no more than two have a point in common.

    Attributes
    ----------
    centres : ndarray, shape (n, 3)
        In bohr.
    radii : ndarray, shape (n,)
        In bohr.
    """

    centres: Reals
    radii: Reals

    def __len__(self) -> int:
        return len(self.radii)

    def chosen(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> Balls:
        """Some of them."""
        return Balls(self.centres[which], self.radii[which])

    def around(self, points: Reals) -> Integers:
        """The ball in which each point is, the one deepest in where there are two; -1 for none; shape (n_points,)."""
        from scipy.spatial import cKDTree

        if not len(self) or not len(points):
            return np.full(len(points), -1)
        near = cKDTree(self.centres).query(points, k=min(2, len(self)))
        distances, which = (np.asarray(part).reshape(len(points), -1) for part in near)
        outside = distances - self.radii[which]
        best = np.argmin(outside, axis=1)
        rows = np.arange(len(points))
        return np.where(outside[rows, best] < 0, which[rows, best], -1)

    def hold(self, points: Reals) -> NDArray[np.bool_]:
        """Which points are in any of them, shape (n_points,)."""
        return self.around(points) >= 0


Integers = NDArray[np.int64]

CONVERGED = 1e-9
"""Length in bohr of the last step: as steps shrink with their squares, what is left is far less."""

_LONGEST, _ROUNDS = 0.3, 30
"""Longest step in bohr, and steps that are tried."""

_SETTLED, _SHRINKING = 7, 0.75
"""A search leads nowhere, or goes to and fro, if after so many steps one is not shorter than a share of the one before;
at a point where critical points merge each is half as long."""

_ROUNDING = 1e-6
"""Length in bohr of steps that may be due to rounding, where the density is flat."""

_SAME = 1e-4
"""Distance in bohr below which two critical points are one."""

_AT_ONCE = 8192
"""Points of a grid that are looked at at once."""

_NEAR = 0.1
"""Distance in bohr from a critical point at which a search for its like ends."""

DEGENERATE = 1e-5
"""Share of the largest curvature below which one counts as none: the place where critical points merge and vanish."""


@dataclass(frozen=True, eq=False)
class Found:
    """Critical points, none of them twice.

    Attributes
    ----------
    positions : ndarray, shape (n, 3)
        In bohr.
    density : ndarray, shape (n,)
        In e bohr^-3.
    eigenvalues : ndarray, shape (n, 3)
        Of the Hessian, rising, in e bohr^-5.
    eigenvectors : ndarray, shape (n, 3, 3)
        Its columns.
    """

    positions: Reals
    density: Reals
    eigenvalues: Reals
    eigenvectors: Reals

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def degenerate(self) -> NDArray[np.bool_]:
        """Whether a curvature vanishes, shape (n,)."""
        sizes = np.abs(self.eigenvalues)
        return sizes.min(axis=1) < DEGENERATE * sizes.max(axis=1)

    @property
    def n_negative(self) -> Integers:
        """Directions in which the density falls: 3 at a maximum, 2 on a bond, 1 in a ring, 0 in a cage; shape (n,)."""
        return (self.eigenvalues < 0).sum(axis=1)

    @property
    def index(self) -> int:
        """What Poincare and Hopf sum up: maxima less bonds plus rings less cages, degenerate points left out."""
        return int(np.sum((-1) ** (3 - self.n_negative[~self.degenerate])))

    def chosen(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> Found:
        """Some of them."""
        return Found(self.positions[which], self.density[which], self.eigenvalues[which], self.eigenvectors[which])

    def near(self, points: Reals, n_negative: Integers, distance: float) -> NDArray[np.bool_]:
        """Which points are near to one of them that has as many negative eigenvalues."""
        from scipy.spatial import cKDTree

        result = np.zeros(len(points), bool)
        for count in range(4):
            mine, theirs = self.positions[self.n_negative == count], n_negative == count
            if len(mine) and theirs.any():
                result[theirs] = cKDTree(mine).query(points[theirs])[0] < distance
        return result

    def with_more(self, others: Found) -> Found:
        """These and those of others that are not among them."""
        from scipy.spatial import cKDTree

        both = Found(*(np.concatenate(pair) for pair in zip(_arrays(self), _arrays(others), strict=True)))
        if not len(both):
            return both
        pairs = cKDTree(both.positions).query_pairs(_SAME, output_type="ndarray")
        doubled = np.zeros(len(both), bool)
        doubled[pairs.max(axis=1)] = True
        # of a continuous set, as the circle about an axis, one point stands for all
        loose = np.flatnonzero(both.degenerate & ~doubled)
        for n, point in enumerate(loose):
            earlier = loose[:n]
            same = np.abs(both.density[earlier] - both.density[point]) < 1e-8 * both.density[point]
            doubled[point] = np.any(same & ~doubled[earlier])
        return both.chosen(~doubled)


def _arrays(found: Found) -> tuple[Reals, Reals, Reals, Reals]:
    return found.positions, found.density, found.eigenvalues, found.eigenvectors


def nothing_found() -> Found:
    """No critical points."""
    return Found(np.zeros((0, 3)), np.zeros(0), np.zeros((0, 3)), np.zeros((0, 3, 3)))


def critical_points_near(
    field: DensityDerivatives,
    seeds: Reals,
    n_negative: Integers | None,
    least: float,
    avoided: Balls,
    known: Found,
    farthest: float = 2.5,
) -> Found:
    r"""Follow eigenvectors of the Hessian from starting points to critical points.

    In the frame of the eigenvectors the step is :math:`\pm g_i / |\lambda_i|`, uphill along those with the lowest
    eigenvalues and downhill along the others, whatever the signs of the eigenvalues are yet: Newton's step where they
    are right (P. L. A. Popelier, Chem. Phys. Lett. 1994, 228, 160; A. Banerjee et al., J. Phys. Chem. 1985, 89, 52).
    Who comes upon a critical point that is known ends there.

    Parameters
    ----------
    field
        The density.
    seeds : ndarray, shape (n, 3)
        In bohr.
    n_negative : ndarray of int, shape (n,), optional
        Directions to go uphill from each; without, as many as are at the starting point.
    least
        Density below which nothing is looked for, in e bohr^-3.
    avoided
        Balls about nuclei in which only maxima are looked for.
    known
        What was found before.
    farthest
        Distance from its starting point in bohr at which a search ends.

    Returns
    -------
    Found
        What was known and what is new: points with the curvatures that were wanted, or a vanishing one.
    """
    place = seeds.copy()
    uphill = np.zeros(len(seeds), np.int64) if n_negative is None else n_negative.copy()
    alive = np.arange(len(seeds))
    before = np.full(len(seeds), np.inf)
    for turn in range(_ROUNDS):
        if not len(alive):
            break
        checkpoint(1 - len(alive) / len(seeds))
        density, gradient, hessian = field(place[alive])
        values, vectors = np.linalg.eigh(hessian)
        if n_negative is None and turn == 0:
            uphill = (values < 0).sum(axis=1)
        step = following_step(gradient, values, vectors, uphill[alive])
        length = np.sqrt((step * step).sum(axis=1))
        shrinking = length < _SHRINKING * before[alive]
        converged = length < np.where(shrinking, CONVERGED, _ROUNDING)
        before[alive] = length
        found = Found(place[alive], density, values, vectors)
        as_wanted = (found.n_negative == uphill[alive]) | found.degenerate
        known = known.with_more(found.chosen(converged & as_wanted & (density > least)))
        step *= np.minimum(1.0, _LONGEST / np.maximum(length, 1e-300))[:, None]
        place[alive] += np.where(converged[:, None], 0.0, step)
        away = ((place[alive] - seeds[alive]) ** 2).sum(axis=1) > farthest**2
        lost = away | (density < least) | (avoided.hold(place[alive]) & (uphill[alive] < 3))
        astray = (turn >= _SETTLED) & ~shrinking
        ended = converged | lost | astray | known.near(place[alive], uphill[alive], _NEAR)
        alive = alive[~ended]
    return known


def promising(
    field: DensityDerivatives, points: Reals, within: float, least: float, known: Found
) -> tuple[Reals, Integers]:
    """Those of many points from where Newton's step is short and leads to nothing that is known.

    Parameters
    ----------
    field, points, least, known
        As for `critical_points_near`.
    within
        Length of a step that is short, in bohr.

    Returns
    -------
    points : ndarray, shape (m, 3)
    n_negative : ndarray of int, shape (m,)
    """
    kept, wanted = [np.zeros((0, 3))], [np.zeros(0, np.int64)]
    for begin in range(0, len(points), _AT_ONCE):
        checkpoint(begin / len(points))
        some = points[begin : begin + _AT_ONCE]
        density, gradient, hessian = field(some)
        values, vectors = np.linalg.eigh(hessian)
        uphill = (values < 0).sum(axis=1)
        step = following_step(gradient, values, vectors, uphill)
        short = ((step * step).sum(axis=1) < within**2) & (density > least)
        new = short & ~known.near(some + step, uphill, 2 * _NEAR)
        kept.append(some[new])
        wanted.append(uphill[new])
    return np.concatenate(kept), np.concatenate(wanted)


def following_step(gradient: Reals, values: Reals, vectors: Reals, uphill: Integers) -> Reals:
    """The step of eigenvector following, shape (n, 3), in bohr."""
    along = np.einsum("nia,ni->na", vectors, gradient)
    sign = np.where(np.arange(3) < uphill[:, None], 1.0, -1.0)
    return np.einsum("nia,na->ni", vectors, sign * along / np.maximum(np.abs(values), 1e-300))


_CONTACT = 9.0
"""Distance in bohr up to which two atoms may have a bond point between them; on a grid it is found farther away too."""

_DECAY = 1.6
"""How fast densities of atoms fall, in bohr^-1."""

_OPPOSED = 0.85
"""Share of the slopes of all atoms that is left where they oppose each other, up to which a point of a grid counts."""

_WIDE = 9.0
"""Distance from the nearest atom in bohr up to which there are points of the grid."""


def between_atoms(positions: Reals, radii: Reals) -> tuple[Reals, Integers]:
    """Seeds on pairs, triples and quadruples of atoms, as the tetrahedra of Delaunay have them.

    Parameters
    ----------
    positions : ndarray, shape (n, 3)
        Of the nuclei, in bohr.
    radii : ndarray, shape (n,)
        By which the line between two atoms is divided.

    Returns
    -------
    seeds : ndarray, shape (m, 3)
    n_negative : ndarray of int, shape (m,)
        What is looked for from each: 2 for bonds, 1 for rings, 0 for cages.
    """
    seeds, wanted = [np.zeros((0, 3))], [np.zeros(0, np.int64)]
    for size, simplices in ((2, _near_pairs(positions)), *((n, _simplices(positions, n)) for n in (3, 4))):
        if not len(simplices):
            continue
        # nearer to the smaller ones
        weight = 1.0 / radii[simplices]
        weight /= weight.sum(axis=1)[:, None]
        seeds.append(np.einsum("mk,mki->mi", weight, positions[simplices]))
        wanted.append(np.full(len(simplices), 4 - size))
    return np.concatenate(seeds), np.concatenate(wanted)


def _near_pairs(positions: Reals) -> Integers:
    """Pairs of atoms none of which is farther from the other than contacts are, but for those behind another atom."""
    from scipy.spatial import cKDTree

    pairs: Integers = cKDTree(positions).query_pairs(_CONTACT, output_type="ndarray").astype(np.int64)
    if not len(pairs):
        return pairs
    middle = positions[pairs].mean(axis=1)
    half = np.sqrt(((positions[pairs[:, 0]] - positions[pairs[:, 1]]) ** 2).sum(axis=1)) / 2
    nearest = cKDTree(positions).query(middle)[0]
    return pairs[nearest > 0.7 * half]


def _simplices(positions: Reals, size: int) -> Integers:
    """Triples or quadruples of neighbours, each once."""
    from scipy.spatial import Delaunay

    n = len(positions)
    if n < size:
        return np.zeros((0, size), np.int64)
    # corners far away, so that molecules of any shape have tetrahedra
    corners = positions.mean(axis=0) + 1e3 * np.array([(1, 1, 1), (1, -1, -1.1), (-1.1, 1, -1), (-1, -1.1, 1)])
    tetrahedra = Delaunay(np.concatenate([positions, corners]), qhull_options="QJ Pp").simplices.astype(np.int64)
    parts = np.concatenate([tetrahedra[:, list(some)] for some in combinations(range(4), size)])
    real = np.sort(parts[(parts < n).all(axis=1)], axis=1)
    return np.unique(real, axis=0)


def on_grid(positions: Reals, spacing: float, shift: float, most: int) -> Reals:
    """Points of a cubic grid where atoms around oppose each other, shape (m, 3).

    Densities of single atoms only fall: where all slopes of :math:`e^{-a r}` point the same way nearly, as outside of
    the molecule, they do not add up to none.

    Parameters
    ----------
    positions : ndarray, shape (n, 3)
        Of the nuclei, in bohr.
    spacing, shift
        In bohr.
    most
        Number of points beyond which there are none at all.
    """
    from scipy.spatial import cKDTree

    tree = cKDTree(positions)
    low, high = positions.min(axis=0) - 1.5, positions.max(axis=0) + 1.5
    axes = [np.arange(a + shift, b, spacing) for a, b in zip(low, high, strict=True)]
    kept, count = [np.zeros((0, 3))], 0
    many = min(24, len(positions))
    for x in axes[0]:
        checkpoint()
        plane = np.stack(np.meshgrid([x], axes[1], axes[2], indexing="ij"), axis=-1).reshape(-1, 3)
        distance, which = (np.asarray(part).reshape(len(plane), -1) for part in tree.query(plane, k=many))
        weight = np.exp(-_DECAY * (distance - distance[:, :1]))
        away = (plane[:, None] - positions[which]) / np.maximum(distance, 1e-9)[:, :, None]
        left = np.sqrt((np.einsum("pk,pki->pi", weight, away) ** 2).sum(axis=1)) / weight.sum(axis=1)
        kept.append(plane[(left < _OPPOSED) & (distance[:, 0] < _WIDE)])
        count += len(kept[-1])
        if count > most:
            return kept[0]
    return np.concatenate(kept)
