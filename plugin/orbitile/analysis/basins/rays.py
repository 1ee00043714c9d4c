"""Where rays from an attractor leave its basin, and come back into it.

Points along the rays are told apart by the cells of a lattice that are whole in a basin, and in others by paths of
steepest ascent.
Each border lies between two neighbours whose paths have been followed and led to different sides; bisection finds it as
exactly as the density there asks for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...watch import checkpoint, stage
from .ascent import Gradient, Reals, Spheres, attractors_of
from .cells import EMPTY, MIXED, Cells

Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]

_MOST_ELECTRONS = 1e-3
"""Error of a border in bohr times the density there times the square of the radius, in e: those of many rays are of
both signs."""

_FINEST, _COARSEST = 3e-4, 0.2
"""Bounds on that error, in bohr."""

TOLERANCE = 3e-5
"""Error in bohr of a step of the paths that find borders: with ten times as much, those of multiple bonds have 5e-4 e
too many on one side."""

_WORTH = np.array([2e-4, 2e-2])
"""Density times the square of the radius, in e per bohr, from which on points near a border are asked: every other one,
and all of them."""

_AT_ONCE = 1 << 24
"""Points along rays that are told apart together: 3 bytes each, and some 200 for those whose paths are followed."""


@dataclass(frozen=True, eq=False)
class Rays:
    """Parts of rays from one attractor that are in its basin.

    Attributes
    ----------
    attractor : int
    directions : ndarray, shape (n_rays, 3)
    weights : ndarray, shape (n_rays,)
        Of the directions, which add up to 4 pi.
    ray : ndarray of int, shape (n_parts,)
        Which ray each part is of.
    begin, end : ndarray, shape (n_parts,)
        Distances from the attractor in bohr; infinite where the density falls off before the basin ends.
    """

    attractor: int
    directions: Reals
    weights: Reals
    ray: Indices
    begin: Reals
    end: Reals

    def border_density(self, centre: Reals, gradient: Gradient) -> float:
        """Electrons in bohr^-1 that the basin gains or loses by a small shift of all its borders along the rays."""
        come_back = self.begin > self.begin.min()
        distance, ray = np.concatenate([self.end, self.begin[come_back]]), np.append(self.ray, self.ray[come_back])
        distance, ray = distance[np.isfinite(distance)], ray[np.isfinite(distance)]
        density = gradient(centre + distance[:, None] * self.directions[ray])[0] if len(ray) else np.zeros(0)
        return float(self.weights[ray] @ (density * distance**2))


@dataclass(frozen=True, eq=False)
class _Scan:
    """Points along the rays of one attractor.

    Attributes
    ----------
    attractor : int
    directions, weights : ndarray, shapes (n_rays, 3) and (n_rays,)
    radii : ndarray, shape (n_radii,)
        Of the points in bohr, from that of the sphere on.
    inside : ndarray of bool, shape (n_radii, n_rays)
        Which of the clear ones are in the basin.
    unclear : ndarray of bool, shape (n_radii, n_rays)
        For which of them this is not known, as a border runs through their cell, or it is empty.
    empty : ndarray of bool, shape (n_radii, n_rays)
        Where the density is too small to matter: there a ray stays where it was.
    """

    attractor: int
    directions: Reals
    weights: Reals
    radii: Reals
    inside: Flags
    unclear: Flags
    empty: Flags


def rays_of(
    attractors: list[int],
    spheres: Spheres,
    cells: Cells,
    gradient: Gradient,
    rules: list[tuple[Reals, Reals]],
) -> list[Rays]:
    """The parts of rays that are in the basins of some attractors, outside of their spheres.

    Parameters
    ----------
    attractors
        Which.
    spheres
        About all attractors.
    cells
        Of a lattice; beyond it rays stay in the basin in which they are there.
    gradient
        Of the density.
    rules
        Directions, shape (n_rays, 3), and weights of a rule on the sphere for each of them.
    """
    found: list[Rays] = []
    waiting: list[_Scan] = []
    for attractor, rule in zip(attractors, rules, strict=True):
        waiting.append(_scanned(attractor, spheres, cells, *rule))
        if sum(one.inside.size for one in waiting) > _AT_ONCE or attractor == attractors[-1]:
            done = len(found)
            with stage(done / len(attractors), (done + len(waiting)) / len(attractors)):
                _settle(waiting, spheres, gradient)
                found += _divided(waiting, spheres, gradient)
            waiting = []
    return found


def _scanned(attractor: int, spheres: Spheres, cells: Cells, directions: Reals, weights: Reals) -> _Scan:
    """What the cells say of points along rays, out to the farthest corner of the lattice."""
    checkpoint()
    centre, first = spheres.centre[attractor], spheres.radius[attractor]
    step = float(cells.lattice.spacings.min()) / 4
    corners = np.stack([cells.lattice.origin, cells.lattice.far_corner])
    farthest = float(np.linalg.norm(np.maximum(*np.abs(corners - centre)))) + step
    radii = first + step * np.arange(max(2, int((farthest - first) / step)))
    points = (centre + radii[:, None, None] * directions).reshape(-1, 3)
    basin = cells.around(points).reshape(len(radii), len(directions))
    basin[0] = attractor
    empty = basin == EMPTY
    unclear = empty | (basin == MIXED)
    return _Scan(attractor, directions, weights, radii, basin == attractor, unclear, empty)


def _settle(scans: list[_Scan], spheres: Spheres, gradient: Gradient) -> None:
    """Follow paths from unclear points where there are electrons: a ray may cross a border more than once there."""
    asked, starts = [], []
    for scan in scans:
        k, ray = np.nonzero(scan.unclear & ~scan.empty)
        points = spheres.centre[scan.attractor] + scan.radii[k, None] * scan.directions[ray]
        some = gradient(points)[0] * scan.radii[k] ** 2 > _WORTH[k % 2]
        asked.append((k[some], ray[some]))
        starts.append(points[some])
    ends = attractors_of(np.concatenate(starts), gradient, spheres)
    parts = np.split(ends, np.cumsum([len(start) for start in starts])[:-1])
    for scan, place, end in zip(scans, asked, parts, strict=True):
        scan.inside[place], scan.unclear[place] = end == scan.attractor, False


def _last_clear(unclear: Flags) -> Indices:
    """Of each point the last one along its ray that is clear, itself included; shape (n_radii, n_rays)."""
    return np.maximum.accumulate(np.where(unclear, 0, np.arange(len(unclear))[:, None]), axis=0)


def _carried(scan: _Scan) -> Flags:
    """On which side the last clear point is, shape (n_radii, n_rays)."""
    carried: Flags = np.take_along_axis(scan.inside, _last_clear(scan.unclear), axis=0)
    return carried


def _changes(scan: _Scan) -> tuple[Indices, Reals, Reals, Flags]:
    """Rays that cross a border, one after the other, the clear points before and after, and whether they leave."""
    last, side = _last_clear(scan.unclear), _carried(scan)
    ray, k = np.nonzero(side[1:].T != side[:-1].T)
    return ray, scan.radii[last[k, ray]], scan.radii[k + 1], side[k, ray]


def _divided(scans: list[_Scan], spheres: Spheres, gradient: Gradient) -> list[Rays]:
    """The parts of rays between borders, which are found by bisection."""
    changes = [_changes(scan) for scan in scans]
    low, high, leaves = (np.concatenate([one[n] for one in changes]) for n in (1, 2, 3))
    along = np.concatenate([scan.directions[one[0]] for scan, one in zip(scans, changes, strict=True)])
    count = [len(one[0]) for one in changes]
    attractor = np.repeat([scan.attractor for scan in scans], count)
    origin = spheres.centre[attractor]

    def points(some: Indices) -> Reals:
        middles: Reals = origin[some] + (low[some] + high[some])[:, None] / 2 * along[some]
        return middles

    everything = np.arange(len(low))
    density = gradient(points(everything))[0] if len(low) else np.zeros(0)
    width = np.clip(_MOST_ELECTRONS / np.maximum(density * high**2, 1e-12), _FINEST, _COARSEST)

    def again(some: Indices, ends: Indices) -> tuple[Indices, Reals]:
        middle, below = (low[some] + high[some]) / 2, (ends == attractor[some]) == leaves[some]
        low[some[below]], high[some[~below]] = middle[below], middle[~below]
        left = some[high[some] - low[some] > width[some]]
        return left, points(left)

    attractors_of(points(everything), gradient, spheres, again, TOLERANCE)
    borders = np.split((low + high) / 2, np.cumsum(count)[:-1])
    return [
        _parts(scan, ray, leaving, border)
        for scan, (ray, _, _, leaving), border in zip(scans, changes, borders, strict=True)
    ]


def _parts(scan: _Scan, ray: Indices, leaves: Flags, border: Reals) -> Rays:
    """Parts of rays that begin at the sphere or where a ray comes back, and end where it leaves, or never."""
    n_rays = len(scan.directions)
    begun = np.concatenate([np.arange(n_rays), ray[~leaves]])
    begin = np.concatenate([np.full(n_rays, scan.radii[0]), border[~leaves]])
    endless = np.flatnonzero(_carried(scan)[-1])
    ended = np.concatenate([ray[leaves], endless])
    end = np.concatenate([border[leaves], np.full(len(endless), np.inf)])
    first, last = np.lexsort((begin, begun)), np.lexsort((end, ended))
    return Rays(scan.attractor, scan.directions, scan.weights, begun[first], begin[first], end[last])
