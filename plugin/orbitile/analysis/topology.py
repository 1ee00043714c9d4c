r"""Topology of the electron density: all its critical points, and the paths of steepest ascent that join atoms.

Searches begin at the nuclei, between neighbours, and on a grid; the theorem of Poincare and Hopf,

.. math::  n_\mathrm{maxima} - n_\mathrm{bonds} + n_\mathrm{rings} - n_\mathrm{cages} = 1

says whether points are missing, and then the grid is made finer (K. Collard, G. G. Hall, Int. J. Quantum Chem. 1977,
12, 623; R. F. W. Bader, Atoms in Molecules, Oxford 1990, chapter 2).

**Core potentials** leave a hole in the density at the nucleus, and no maximum. The valence density is largest on a
sphere about such a nucleus, and has critical points of all kinds on it and within,
which mean nothing. Through a larger sphere on which the density falls outwards everywhere, the theorem of Poincare and
Hopf holds: what is inside counts as much as one maximum. So one is put there, at the nucleus, in place of all that.

**The sum** of maxima less bonds plus rings less cages, of the region where the density is above a limit, is the Euler
characteristic of that region (J. Milnor, Morse Theory, Princeton 1963, theorem 5.2): 1 for a molecule without gaps; 2
for two that are far from each other; 0 for a ring so wide that there is no density within.

**Paths.** A step follows the local quadratic model of the density exactly (M. Page, J. W. McIver, J. Chem. Phys.
1988, 88, 922): in the frame of the eigenvectors of the Hessian the solution of :math:`\dot x = g + H x` is

.. math::  x_i(t) = g_i\, \frac{e^{\lambda_i t} - 1}{\lambda_i}

with t such that the step has the length that is wanted. That stays on a ridge, which steps along the gradient would
cross to and fro. The angle between the gradient where it ends and the one of the model tells the error, by which steps
are accepted.

The maxima about a ring or a cage are those where paths from its critical point end.

**Interatomic surfaces**, across which no gradient of the density goes, are made of the paths of steepest descent from a
bond's critical point: they leave it in the plane of the two eigenvectors along which the density falls.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Flags, Indices, Reals
from ..base.caches import Derived
from ..base.errors import OrbitileError
from ..base.watch import checkpoint, pieces, stage
from ..gaussians.extent import directions
from ..gaussians.packing import packed_shells
from ..model.cell import molecules_only
from ..model.elements import ATOMIC_RADII
from ..model.wavefunction import Wavefunction
from .density_derivatives import DensityDerivatives, density_derivatives, shells_of
from .streamlines import followed

if TYPE_CHECKING:
    from scipy.spatial import KDTree


@dataclass(frozen=True, eq=False)
class Spheres:
    """Spheres about attractors, into which all paths of steepest ascent lead and out of which none does.

    Attributes
    ----------
    centre : ndarray, shape (n, 3)
        In bohr.
    radius : ndarray, shape (n,)
        In bohr; 0 for atoms that attract nothing.
    """

    centre: Reals
    radius: Reals

    def __len__(self) -> int:
        return len(self.radius)

    def chosen(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> Spheres:
        """Some of them."""
        return Spheres(self.centre[which], self.radius[which])

    @cached_property
    def _tree(self) -> KDTree:
        from scipy.spatial import KDTree

        return KDTree(self.centre)

    def around(self, points: Reals) -> Indices:
        """The sphere in which each point is, the one deepest in where there are two; -1 for none; shape (n_points,)."""
        if not len(self) or not len(points):
            return np.full(len(points), -1)
        distance, which = self._tree.query(points, k=np.arange(1, min(_NEAREST, len(self)) + 1))
        outside = distance - self.radius[which]
        best, rows = np.argmin(outside, axis=1), np.arange(len(points))
        return np.where(outside[rows, best] < 0, which[rows, best], -1)

    def hold(self, points: Reals) -> Flags:
        """Which points are in any of them, shape (n_points,)."""
        return self.around(points) >= 0

    def nearest(self, points: Reals) -> Indices:
        """The sphere that is nearest to each point by its centre, of those that attract; shape (n_points,)."""
        from scipy.spatial import KDTree

        attracting = np.flatnonzero(self.radius > 0)
        return np.asarray(attracting[KDTree(self.centre[attracting]).query(points)[1]], np.intp)


_NEAREST = 8
"""Spheres that are looked at for each point: they hardly overlap, but a large one may be farther than small ones."""

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
    avoided: Spheres,
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
        Spheres about nuclei in which only maxima are looked for.
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
    for piece in pieces(len(points), _AT_ONCE):
        some = points[piece]
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


_FIRST, _LONGEST_OF_PATH, _SHORTEST = 0.05, 0.4, 1e-3
"""Steps in bohr."""

_BEGIN = 0.02
"""Distance in bohr from a critical point at which a path begins."""

_ROUNDS_OF_PATH = 400
_HALVINGS = 45


def ascents(
    field: DensityDerivatives, origins: Reals, directions: Reals, attractors: Spheres, tolerance: float = 2e-3
) -> tuple[list[Reals], Integers]:
    """Follow the gradient uphill, all paths at once.

    Parameters
    ----------
    field
        The density.
    origins, directions : ndarray, shape (n, 3)
        Critical points in bohr, and unit vectors along which paths leave them.
    attractors
        Where they end: maxima, each with a ball in which all paths lead to it.
    tolerance
        Error of a step in bohr. It does not add up: ridges draw paths towards them.

    Returns
    -------
    lines : list of ndarray, shape (n_points, 3)
        In bohr; the first point is the origin of the path, the last one the attractor, where it came to one.
    ends : ndarray of int, shape (n,)
        Attractors, -1 where a path ends elsewhere.
    """
    n = len(origins)
    place = origins + _BEGIN * directions
    points = [[origins[path], place[path].copy()] for path in range(n)]
    ends, length = np.full(n, -1), np.full(n, _FIRST)
    alive = np.arange(n)
    _, gradient, hessian = field(place)
    for _ in range(_ROUNDS_OF_PATH):
        if not len(alive):
            break
        checkpoint(1 - len(alive) / n)
        step, reached_peak = _steps(gradient[alive], hessian[alive], length[alive])
        ahead = place[alive] + step
        _, new_gradient, new_hessian = field(ahead)
        expected = gradient[alive] + np.einsum("nij,nj->ni", hessian[alive], step)
        size = np.sqrt((step * step).sum(axis=1))
        # the angle by which the model errs grows with the square of the way: a third of it counts, on average
        error = size * np.sqrt(((_unit(new_gradient) - _unit(expected)) ** 2).sum(axis=1)) / 3
        good = (error < tolerance) | (size <= _SHORTEST)
        factor = np.clip(0.9 * np.cbrt(tolerance / np.maximum(error, 1e-12)), 0.3, 2.0)
        length[alive] = np.clip(size * factor, _SHORTEST, _LONGEST_OF_PATH)
        moved = alive[good]
        place[moved], gradient[moved], hessian[moved] = ahead[good], new_gradient[good], new_hessian[good]
        arrived = attractors.around(place[moved])
        for path, end in zip(moved.tolist(), arrived.tolist(), strict=True):
            points[path].append(attractors.centre[end] if end >= 0 else place[path].copy())
        ends[moved] = arrived
        stopped = np.zeros(n, bool)
        stopped[moved] = (arrived >= 0) | (reached_peak[good] & (size[good] < _SHORTEST))
        alive = alive[~stopped[alive]]
    return [np.array(line) for line in points], ends


def _unit(vectors: Reals) -> Reals:
    return vectors / np.maximum(np.sqrt((vectors * vectors).sum(axis=1)), 1e-300)[:, None]


def _steps(gradient: Reals, hessian: Reals, length: Reals) -> tuple[Reals, NDArray[np.bool_]]:
    """Steps of given lengths along the paths of the quadratic model, and whether they end at its maximum before."""
    values, vectors = np.linalg.eigh(hessian)
    along = np.einsum("nia,ni->na", vectors, gradient)
    slope = np.sqrt((along * along).sum(axis=1))
    scale = np.abs(values).max(axis=1)
    # between these times the step is far too short, and, but where there is a maximum, far too long
    low = np.log(1e-3 * length / np.maximum(slope, 1e-300))
    high = np.log(60.0 / np.maximum(scale, 1e-300))
    low = np.minimum(low, high - 1)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        short = np.sqrt((_moved(along, values, np.exp(middle)) ** 2).sum(axis=1)) < length
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    step = _moved(along, values, np.exp(low))
    peak = (values[:, 2] < 0) & (np.sqrt((step * step).sum(axis=1)) < 0.999 * length)
    return np.einsum("nia,na->ni", vectors, step), peak


def _moved(along: Reals, values: Reals, time: Reals) -> Reals:
    """Where the quadratic model leads in a time, in the frame of the eigenvectors."""
    exponent = values * time[:, None]
    small = np.abs(exponent) < 1e-8
    growth = np.expm1(np.minimum(exponent, 300.0)) / np.where(small, 1.0, values)
    return along * np.where(small, time[:, None], growth)


_ABOUT_RING, _ABOUT_CAGE = 8, 60
"""Paths from a ring, in its plane, and from a cage."""

_ROUGH = 0.02
"""Error of a step in bohr: only the end of the path counts."""


def atoms_about(
    field: DensityDerivatives, rings: Found, cages: Found, attractors: Spheres, bonds: Integers
) -> list[tuple[int, ...]]:
    """The attractors about each ring, in order about it, and then about each cage, rising.

    A ring of many atoms has some between the ends of two neighbouring paths: those of the shortest way by bonds.

    Parameters
    ----------
    field
        The density.
    rings, cages
        Critical points.
    attractors
        The maxima.
    bonds : ndarray of int, shape (n, 2)
        Attractors that are joined by bond paths.
    """
    angles = 2 * np.pi * (np.arange(_ABOUT_RING) + 0.5) / _ABOUT_RING
    origins, along = [np.zeros((0, 3))], [np.zeros((0, 3))]
    for place, values, vectors in zip(rings.positions, rings.eigenvalues, rings.eigenvectors, strict=True):
        # the steeper of the two directions draws all paths towards it: they begin nearer to the other
        less = values[1] / values[2]
        plane = np.outer(np.cos(angles), vectors[:, 1]) + np.outer(less * np.sin(angles), vectors[:, 2])
        along.append(plane / np.sqrt((plane * plane).sum(axis=1))[:, None])
        origins.append(np.repeat(place[None], _ABOUT_RING, axis=0))
    for place in cages.positions:
        along.append(directions(_ABOUT_CAGE))
        origins.append(np.repeat(place[None], _ABOUT_CAGE, axis=0))
    _, all_ends = ascents(field, np.concatenate(origins), np.concatenate(along), attractors, _ROUGH)
    of_rings = all_ends[: _ABOUT_RING * len(rings)].reshape(len(rings), _ABOUT_RING)
    of_cages = all_ends[of_rings.size :].reshape(len(cages), _ABOUT_CAGE)
    neighbours: dict[int, set[int]] = {}
    for one, other in bonds.tolist():
        if one >= 0 and other >= 0 and one != other:
            neighbours.setdefault(one, set()).add(other)
            neighbours.setdefault(other, set()).add(one)
    return [
        *(_closed([end for end in ends.tolist() if end >= 0], neighbours) for ends in of_rings),
        *(tuple(int(end) for end in np.unique(ends[ends >= 0])) for ends in of_cages),
    ]


def _closed(ends: list[int], neighbours: dict[int, set[int]]) -> tuple[int, ...]:
    """Ends of neighbouring paths as a cycle, with what is between two that are not bonded; it begins with the least."""
    known = list(dict.fromkeys(ends))
    if len(known) < 2:
        return tuple(known)
    cycle: list[int] = []
    for n, (one, other) in enumerate(zip(known, [*known[1:], known[0]], strict=True)):
        direct = other in neighbours.get(one, ()) and not (len(known) == 2 and n == 1)
        others = set(known) | set(cycle)
        cycle += [one] if direct else [one, *_way_between(one, other, others, neighbours)]
    first = cycle.index(min(cycle))
    cycle = cycle[first:] + cycle[:first]
    return tuple(cycle if cycle[1] < cycle[-1] else [cycle[0], *cycle[:0:-1]])


def _way_between(one: int, other: int, taken: set[int], neighbours: dict[int, set[int]]) -> list[int]:
    """What is on the shortest way by bonds from one to the other that avoids what is taken; nothing without a way."""
    before = {one: one}
    waiting = deque([one])
    while waiting:
        here = waiting.popleft()
        for there in sorted(neighbours.get(here, ())):
            if there == other and here != one:
                way = []
                while here != one:
                    way.append(here)
                    here = before[here]
                return way[::-1]
            if there not in before and there not in taken:
                before[there] = here
                waiting.append(there)
    return []


_GAP = 7.0
"""Distance in bohr between parts of a molecule from which on there may be no density between them."""

_TAILS = 1e-4
"""Density up to which a limit is one of the tails of atoms, in e bohr^-3."""

_SPACING = {True: 1.1, False: 0.4}
"""Of the lattice on which the region is looked at, in bohr: in the tails of atoms surfaces are smooth."""

_INSIDE = {True: 2.5, False: 0.2}
"""Distance from a nucleus in bohr up to which there is more density than that."""

_MARGIN, _WIDEST = 6.0, 40.0
"""About the nuclei in bohr, at first and at most."""

_FINEST = 1 << 22
"""Points of the lattice; beyond, it is made coarser."""


def has_gaps(positions: Reals) -> bool:
    """Whether some nuclei are far from all others."""
    from scipy.sparse.csgraph import minimum_spanning_tree
    from scipy.spatial.distance import pdist, squareform

    tree = minimum_spanning_tree(squareform(pdist(positions)))
    return bool(tree.nnz) and float(tree.max()) > _GAP


def euler_characteristic(field: DensityDerivatives, positions: Reals, least: float) -> int:
    """Of the region where the density is above a limit: parts less tunnels plus voids.

    Parameters
    ----------
    field
        The density.
    positions : ndarray, shape (n, 3)
        Of the nuclei, in bohr.
    least
        The limit in e bohr^-3.
    """
    from scipy.spatial import cKDTree
    from skimage.measure import euler_number

    tree, margin, tails = cKDTree(positions), _MARGIN, least <= _TAILS
    while True:
        low, high = positions.min(axis=0) - margin, positions.max(axis=0) + margin
        spacing = max(_SPACING[tails], float(np.prod(high - low) / _FINEST) ** (1 / 3))
        axes = [np.arange(a, b + spacing, spacing) for a, b in zip(low, high, strict=True)]
        points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        distance = tree.query(points.reshape(-1, 3), distance_upper_bound=margin + spacing)[0]
        inside = distance < _INSIDE[tails]
        doubtful = np.flatnonzero(~inside & np.isfinite(distance))
        inside[doubtful] = field.gradient(points.reshape(-1, 3)[doubtful])[0] > least
        within = inside.reshape(points.shape[:3])
        outermost = max(float(distance[inside].max(initial=0.0)), 0.0)
        if outermost < margin - 2 * spacing or margin >= _WIDEST:
            return int(euler_number(within, connectivity=1))
        margin *= 1.5


_DIRECTIONS = 60
_RADII = np.arange(0.05, 3.0, 0.05)
"""Of the spheres that are tried, in bohr."""

_SHARE = 0.7
"""Of the distance to the nearest nucleus: how large a sphere may be."""


def with_missing_core(wavefunction: Wavefunction) -> NDArray[np.intp]:
    """Atoms of which some electrons are in a core potential, from 0."""
    missing = wavefunction.core_charges < wavefunction.atomic_numbers - 0.5
    return np.flatnonzero(missing & ~wavefunction.is_ghost)


def radius_of_hole(field: DensityDerivatives, wavefunction: Wavefunction, atom: int) -> float:
    """Radius of the smallest sphere about a nucleus, outside of the hole, on which the density falls everywhere.

    Returns
    -------
    float
        In bohr; NaN where there is none before the next nucleus is near.
    """
    centre = wavefunction.positions[atom]
    others = wavefunction.positions[~wavefunction.is_ghost & (np.arange(wavefunction.n_atoms) != atom)]
    nearest = np.sqrt(((others - centre) ** 2).sum(axis=1)).min(initial=np.inf)
    radii = _RADII[_SHARE * nearest > _RADII]
    along = directions(_DIRECTIONS)
    points = centre + radii[:, None, None] * along
    density, gradient = field.gradient(points.reshape(-1, 3))
    slope = np.einsum("rdi,di->rd", gradient.reshape(points.shape), along).max(axis=1)
    highest = int(np.argmax(density.reshape(len(radii), -1).mean(axis=1)))
    falling = np.flatnonzero(slope[highest:] < 0)
    return float(radii[highest + falling[0]]) if len(falling) else float("nan")


KINDS = ("cage", "ring", "bond", "maximum")
"""Kinds of critical points by the number of directions in which the density falls."""

LEAST = 1e-6
"""Density in e bohr^-3 below which nothing is looked for: tails of Gaussians have critical points that mean nothing."""

_AT_NUCLEUS = 0.3
"""Distance in bohr from a nucleus up to which a maximum is its own."""

_BALLS = (0.3, 0.15)
"""Radii in bohr of the balls that hold nothing but a maximum, about nuclei and about those of hydrogen and helium."""

_AT_NOTHING = 0.1
"""Radius of the ball about a maximum without a nucleus in which paths end."""

_GRIDS = ((0.8, 0.6), (0.55, 1.0), (0.35, 1.0), (0.25, 1.0))
"""Spacings of the grids in bohr, and what Newton's step may be from points that count, in spacings."""

_MOST = 250_000
"""Points of a grid up to which it is used."""


@dataclass(frozen=True, eq=False)
class Topology:
    """Critical points of a density: maxima first, then those on bonds, in rings, in cages.

    Attributes
    ----------
    positions : ndarray, shape (n, 3)
        In bohr.
    kinds : tuple of str
        maximum, bond, ring, cage; degenerate where a curvature vanishes.
    density : ndarray, shape (n,)
        In e bohr^-3.
    eigenvalues : ndarray, shape (n, 3)
        Of the Hessian, rising, in e bohr^-5; NaN for the maximum that stands for a missing core.
    kinetic : ndarray, shape (n,)
        Positive definite kinetic energy density G, in hartree bohr^-3; NaN likewise.
    atoms : tuple of tuple of int
        The nucleus of a maximum; the two atoms of a bond; those about a ring, in order; those about a cage. A negative
        number -k is the k-th maximum without a nucleus.
    bond_paths : tuple of ndarray, shape (n_points, 3)
        From the first atom of each bond to the second, in bohr, in the order of the bonds.
    missing_cores : tuple of int
        Atoms whose maximum stands for a missing core.
    expected : int
        What the index has to be: 1, but for molecules with gaps, see `region`.
    """

    positions: Reals
    kinds: tuple[str, ...]
    density: Reals
    eigenvalues: Reals
    kinetic: Reals
    atoms: tuple[tuple[int, ...], ...]
    bond_paths: tuple[Reals, ...]
    missing_cores: tuple[int, ...]
    expected: int

    def count(self, kind: str) -> int:
        """How many critical points there are of a kind."""
        return self.kinds.count(kind)

    @property
    def index(self) -> int:
        """Maxima less bonds plus rings less cages: as `expected`, where none is missing."""
        return self.count("maximum") - self.count("bond") + self.count("ring") - self.count("cage")

    @property
    def laplacian(self) -> Reals:
        """The trace of the Hessian, shape (n,), in e bohr^-5."""
        return self.eigenvalues.sum(axis=1)

    @property
    def ellipticity(self) -> Reals:
        r"""How much the density on a bond differs from that about an axis, :math:`\lambda_1/\lambda_2 - 1`, shape (n,).

        NaN for what is no bond (Bader et al., J. Am. Chem. Soc. 1983, 105, 5061).
        """
        bond = np.array([kind == "bond" for kind in self.kinds], bool)
        ratio: Reals = self.eigenvalues[:, 0] / np.where(self.eigenvalues[:, 1] == 0, np.nan, self.eigenvalues[:, 1])
        return np.where(bond, ratio - 1, np.nan)

    @property
    def potential(self) -> Reals:
        r"""Potential energy density by the local virial theorem, :math:`V = \frac14 \nabla^2\rho - 2G`, shape (n,).

        In hartree bohr^-3 (R. F. W. Bader, Atoms in Molecules, Oxford 1990, eq. 6.31).
        """
        return self.laplacian / 4 - 2 * self.kinetic

    @property
    def energy(self) -> Reals:
        """Energy density H = G + V, which is less the kinetic energy density K, shape (n,), in hartree bohr^-3."""
        return self.kinetic + self.potential


_TOPOLOGIES = Derived[Topology]("analyses")


def topology_of(wavefunction: Wavefunction, least: float = LEAST) -> Topology:
    """Find all critical points of the electron density and follow the bond paths.

    Kept as long as the wavefunction lives.

    Parameters
    ----------
    wavefunction
    least
        Density in e bohr^-3 below which nothing is looked for.

    Raises
    ------
    OrbitileError
        When there are no nuclei, or no occupied orbitals.
    """
    molecules_only(wavefunction, "topology", "critical points are looked for about the atoms of one cell alone")
    if bool(wavefunction.is_ghost.all()):
        raise OrbitileError("topology: expected nuclei, got ghost atoms only")
    return _TOPOLOGIES.of(wavefunction, least, partial(_topology, wavefunction, least))


def interatomic_surfaces(
    wavefunction: Wavefunction, found: Topology, n_lines: int, least: float = 1e-3
) -> tuple[Reals, ...]:
    """Paths of steepest descent in the surfaces between bonded atoms, to where the density has fallen to a value.

    Parameters
    ----------
    wavefunction
    found
        Its topology.
    n_lines
        How many for each bond, at equal angles about its critical point.
    least
        Density at their ends, in e bohr^-3.

    Returns
    -------
    tuple of ndarray, shape (n_points, 3)
        In bohr, those of each bond after one another.
    """
    density = density_derivatives(wavefunction)
    bonds = found.positions[[kind == "bond" for kind in found.kinds]]
    _, axes = np.linalg.eigh(density(bonds)[2]) if len(bonds) else (None, np.zeros((0, 3, 3)))
    angles = 2 * np.pi * np.arange(n_lines) / max(n_lines, 1)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    seeds = bonds[:, None] + _BEGIN * np.einsum("lk,nik->nli", circle, axes[:, :, :2])

    def downhill(points: Reals) -> Reals:
        values, slopes = density.gradient(points)
        return np.where((values > least)[:, None], -slopes, 0.0)

    paths, _ = followed(downhill, seeds.reshape(-1, 3), step=_LONGEST_OF_PATH / 4)
    starts = np.repeat(bonds, n_lines, axis=0)
    return tuple(np.vstack([start, path]) for start, path in zip(starts, paths, strict=True))


@dataclass(frozen=True, eq=False)
class _Nuclei:
    """Nuclei of a molecule, those whose core is missing apart.

    Attributes
    ----------
    atoms : ndarray of int, shape (n,)
        Which of the atoms they are.
    positions : ndarray, shape (n, 3)
    radii : ndarray, shape (n,)
        Sizes of the atoms, in Angstrom.
    balls : Spheres
        About each, in which there is nothing but its maximum.
    hollow : ndarray of bool, shape (n,)
        Whether the maximum is one that stands for a missing core.
    """

    atoms: NDArray[np.intp]
    positions: Reals
    radii: Reals
    balls: Spheres
    hollow: NDArray[np.bool_]

    def without_holes(self, found: Found) -> Found:
        """Critical points that are in no hole of a missing core."""
        return found.chosen(~self.balls.chosen(self.hollow).hold(found.positions))


def _nuclei(field: DensityDerivatives, wavefunction: Wavefunction) -> _Nuclei:
    atoms = np.flatnonzero(~wavefunction.is_ghost)
    numbers = wavefunction.atomic_numbers[atoms]
    holes = {int(atom): radius_of_hole(field, wavefunction, atom) for atom in with_missing_core(wavefunction)}
    usual = np.where(numbers > 2, *_BALLS)
    radii = np.array([holes.get(atom, radius) for atom, radius in zip(atoms.tolist(), usual, strict=True)])
    return _Nuclei(
        atoms,
        wavefunction.positions[atoms],
        np.array([ATOMIC_RADII[min(int(number), len(ATOMIC_RADII) - 1)] for number in numbers]),
        # in a hole that nothing encloses there may be any critical point
        Spheres(wavefunction.positions[atoms], np.nan_to_num(radii)),
        np.array([np.isfinite(holes.get(atom, np.nan)) for atom in atoms.tolist()]),
    )


def _topology(wavefunction: Wavefunction, least: float) -> Topology:
    field = density_derivatives(wavefunction)
    nuclei = _nuclei(field, wavefunction)
    with stage(0.0, 0.6):
        found, expected = _all_found(field, nuclei, least)
    found = found.chosen(np.argsort(4 * found.degenerate - found.n_negative, kind="stable"))
    hollow = int(nuclei.hollow.sum())
    of_found = np.where(found.degenerate, "degenerate", np.array(KINDS)[found.n_negative])
    kinds = ["maximum"] * hollow + of_found.tolist()
    positions = np.concatenate([nuclei.positions[nuclei.hollow], found.positions])
    maxima = positions[: kinds.count("maximum")]
    owners, balls = _owners(maxima, nuclei)
    attractors = Spheres(maxima, balls)
    bonds, rings, cages = (found.chosen(of_found == kind) for kind in ("bond", "ring", "cage"))
    with stage(0.6, 0.9):
        ends, joined, lines = _bond_paths(field, bonds, attractors, owners)
    with stage(0.9, 1.0):
        about = atoms_about(field, rings, cages, attractors, ends)
    atoms: list[tuple[int, ...]] = [(owner,) for owner in owners]
    atoms += [*joined, *(tuple(owners[end] for end in some) for some in about)]
    atoms += [() for _ in range(len(positions) - len(atoms))]
    order = sorted(range(len(positions)), key=lambda n: (_RANK[kinds[n]], [_place_of(atom) for atom in atoms[n]]))
    kinetic = field.kinetic(positions)
    kinetic[:hollow] = np.nan
    of_holes = field.gradient(positions[:hollow])[0]
    return Topology(
        positions[order],
        tuple(kinds[n] for n in order),
        np.concatenate([of_holes, found.density])[order],
        np.concatenate([np.full((hollow, 3), np.nan), found.eigenvalues])[order],
        kinetic[order],
        tuple(atoms[n] for n in order),
        tuple(lines[n - len(maxima)] for n in order if kinds[n] == "bond"),
        tuple(nuclei.atoms[nuclei.hollow].tolist()),
        expected,
    )


_RANK = {"maximum": 0, "bond": 1, "ring": 2, "cage": 3, "degenerate": 4}


def _place_of(owner: int) -> tuple[bool, int]:
    """What critical points are sorted by: atoms, then maxima without a nucleus."""
    return owner < 0, abs(owner)


def _all_found(field: DensityDerivatives, nuclei: _Nuclei, least: float) -> tuple[Found, int]:
    """Critical points outside of holes, looked for until their sum is right or the grid as fine as may be; the sum."""
    hollow = int(nuclei.hollow.sum())
    full = nuclei.positions[~nuclei.hollow]
    near = partial(critical_points_near, field, least=least, avoided=nuclei.balls)
    with stage(0.0, 0.05):
        found = near(full, np.full(len(full), 3), known=nothing_found())
    searched, expected = -1, 0
    for n, (spacing, within) in enumerate(_GRIDS):
        # the first is enough, but for few molecules
        begin, length = (0.05, 0.85) if n == 0 else (0.9 + 0.03 * n, 0.03)
        maxima = found.positions[found.n_negative == 3]
        if len(maxima) > searched or n:
            # maxima without a nucleus have neighbours too; where points are missing, all kinds may be anywhere
            searched = len(maxima)
            seeds, wanted = _between(nuclei, maxima)
            for kind in range(4) if n else (wanted,):
                with stage(begin, begin + 0.5 * length):
                    found = near(seeds, np.broadcast_to(kind, len(seeds)), known=found)
        grid = on_grid(nuclei.positions, spacing, spacing / np.e, _MOST)
        if len(grid):
            with stage(begin + 0.5 * length, begin + 0.8 * length):
                seeds, wanted = promising(field, grid[~nuclei.balls.hold(grid)], within * spacing, least, found)
            with stage(begin + 0.8 * length, begin + length):
                found = near(seeds, wanted, known=found, farthest=1.5 * spacing)
        found = nuclei.without_holes(found)
        index = found.index + hollow
        if n == 0:
            simple = index == 1 and not has_gaps(nuclei.positions)
            expected = 1 if simple else euler_characteristic(field, nuclei.positions, least)
        complete = index == expected and int((found.n_negative == 3).sum()) <= searched
        if complete or not len(grid):
            break
    return found, expected


def _between(nuclei: _Nuclei, maxima: Reals) -> tuple[Reals, Integers]:
    """Seeds between nuclei, and maxima that are at none of them."""
    at_nuclei = Spheres(nuclei.positions, np.full(len(nuclei.atoms), _AT_NUCLEUS))
    without = maxima[~at_nuclei.hold(maxima)]
    sizes = np.concatenate([nuclei.radii, np.ones(len(without))])
    return between_atoms(np.concatenate([nuclei.positions, without]), sizes)


def _owners(maxima: Reals, nuclei: _Nuclei) -> tuple[list[int], Reals]:
    """The atom of each maximum, or -1, -2, ... for those without a nucleus; and the radii of the balls about them."""
    owners, balls, without = [], [], 0
    for place in maxima:
        away = np.sqrt(((nuclei.positions - place) ** 2).sum(axis=1))
        nearest = int(away.argmin())
        own = away[nearest] < _AT_NUCLEUS
        without += not own
        owners.append(int(nuclei.atoms[nearest]) if own else -without)
        balls.append(nuclei.balls.radius[nearest] if own else _AT_NOTHING)
    return owners, np.array(balls)


def _bond_paths(
    field: DensityDerivatives, bonds: Found, attractors: Spheres, owners: list[int]
) -> tuple[Integers, list[tuple[int, ...]], list[Reals]]:
    """Of each bond: the two attractors, -1 for none; what is there, atoms first; and the path in this order."""
    along = bonds.eigenvectors[:, :, 2]
    directions = np.stack([along, -along], axis=1).reshape(-1, 3)
    paths, all_ends = ascents(field, np.repeat(bonds.positions, 2, axis=0), directions, attractors)
    ends = all_ends.reshape(-1, 2)
    atoms, lines = [], []
    for n, pair in enumerate(ends.tolist()):
        places = [_place_of(owners[end]) if end >= 0 else (True, len(owners) + 1) for end in pair]
        first, second = (0, 1) if places[0] <= places[1] else (1, 0)
        atoms.append(tuple(owners[pair[which]] for which in (first, second) if pair[which] >= 0))
        lines.append(np.concatenate([paths[2 * n + first][::-1], paths[2 * n + second][1:]]))
    return ends, atoms, lines


_POINTS = 550
"""Points for each atom at which the density is evaluated with its Hessian: the search, the grid, the paths."""

_FUNCTION, _PRODUCT = 1e-7, 2e-10
"""Seconds for a basis function at a point, and for its product with an orbital."""


def seconds_of_search(wavefunction: Wavefunction) -> float:
    """Estimate of the time that the critical points and bond paths of a molecule take on one core."""
    shells = shells_of(packed_shells(wavefunction))
    atoms = np.flatnonzero(~wavefunction.is_ghost)
    sizes = (shells.angular_momentum + 1) * (shells.angular_momentum + 2) // 2
    some = wavefunction.positions[atoms[:: max(1, len(atoms) // 20)]]
    near = 0.0
    for place in some:
        away = np.sqrt(((shells.atom_position - place) ** 2).sum(axis=1))
        near += float(sizes[shells.reach > away[shells.atom] - _CELL].sum()) / len(some)
    orbitals = wavefunction.n_electrons / 2
    return _POINTS * len(atoms) * near * (_FUNCTION + _PRODUCT * orbitals)


_CELL = 3.0
"""About how far from the middle of a cell its points are, in bohr."""
