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

_FINEST, _COARSEST = 3e-4, 0.05
"""Bounds on that error, in bohr."""

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
        Which are in the basin.
    known : ndarray of bool, shape (n_radii, n_rays)
        For which of them this is more than what the cells say.
    empty : ndarray of bool, shape (n_radii, n_rays)
        Where the density is too small to matter: there a ray stays where it was.
    unclear : ndarray of bool, shape (n_radii, n_rays)
        Where a cell is of more than one basin.
    """

    attractor: int
    directions: Reals
    weights: Reals
    radii: Reals
    inside: Flags
    known: Flags
    empty: Flags
    unclear: Flags


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
    step = float(cells.lattice.spacings.min()) / 2
    corners = np.stack([cells.lattice.origin, cells.lattice.far_corner])
    farthest = float(np.linalg.norm(np.maximum(*np.abs(corners - centre)))) + step
    radii = first + step * np.arange(max(2, int((farthest - first) / step)))
    points = (centre + radii[:, None, None] * directions).reshape(-1, 3)
    basin = cells.around(points).reshape(len(radii), len(directions))
    basin[0] = attractor
    inside, empty, unclear = basin == attractor, basin == EMPTY, basin == MIXED
    known = empty.copy()
    known[0] = True
    return _Scan(attractor, directions, weights, radii, inside, known, empty, unclear)


def _settle(scans: list[_Scan], spheres: Spheres, gradient: Gradient) -> None:
    """Follow the paths from points in cells of more than one basin, and then from all that are next to a border."""
    wanted = [scan.unclear for scan in scans]
    while any(some.any() for some in wanted):
        places = [np.nonzero(some) for some in wanted]
        starts = [
            spheres.centre[scan.attractor] + scan.radii[k, None] * scan.directions[ray]
            for scan, (k, ray) in zip(scans, places, strict=True)
        ]
        ends = attractors_of(np.concatenate(starts), gradient, spheres)
        parts = np.split(ends, np.cumsum([len(start) for start in starts])[:-1])
        wanted = []
        for scan, place, end in zip(scans, places, parts, strict=True):
            scan.inside[place], scan.known[place] = end == scan.attractor, True
            for k in np.flatnonzero(scan.empty.any(axis=1)).tolist():
                scan.inside[k] = np.where(scan.empty[k], scan.inside[k - 1], scan.inside[k])
            changes = scan.inside[1:] != scan.inside[:-1]
            beside = np.zeros_like(scan.known)
            beside[1:] |= changes
            beside[:-1] |= changes
            wanted.append(beside & ~scan.known)


def _divided(scans: list[_Scan], spheres: Spheres, gradient: Gradient) -> list[Rays]:
    """The parts of rays between borders, which are found by bisection."""
    changes = [np.nonzero(scan.inside[1:].T != scan.inside[:-1].T) for scan in scans]
    low = np.concatenate([scan.radii[k] for scan, (_, k) in zip(scans, changes, strict=True)])
    high = np.concatenate([scan.radii[k + 1] for scan, (_, k) in zip(scans, changes, strict=True)])
    leaves = np.concatenate([scan.inside[k, ray] for scan, (ray, k) in zip(scans, changes, strict=True)])
    along = np.concatenate([scan.directions[ray] for scan, (ray, _) in zip(scans, changes, strict=True)])
    count = [len(ray) for ray, _ in changes]
    attractor = np.repeat([scan.attractor for scan in scans], count)
    origin = spheres.centre[attractor]

    def points(some: Indices) -> Reals:
        return origin[some] + (low[some] + high[some])[:, None] / 2 * along[some]

    everything = np.arange(len(low))
    density = gradient(points(everything))[0] if len(low) else np.zeros(0)
    width = np.clip(_MOST_ELECTRONS / np.maximum(density * high**2, 1e-12), _FINEST, _COARSEST)

    def again(some: Indices, ends: Indices) -> tuple[Indices, Reals]:
        middle, below = (low[some] + high[some]) / 2, (ends == attractor[some]) == leaves[some]
        low[some[below]], high[some[~below]] = middle[below], middle[~below]
        left = some[high[some] - low[some] > width[some]]
        return left, points(left)

    attractors_of(points(everything), gradient, spheres, again)
    borders = np.split((low + high) / 2, np.cumsum(count)[:-1])
    return [_parts(scan, ray, leaving, border) for scan, (ray, _), leaving, border in zip(
        scans, changes, np.split(leaves, np.cumsum(count)[:-1]), borders, strict=True)]


def _parts(scan: _Scan, ray: Indices, leaves: Flags, border: Reals) -> Rays:
    """Parts of rays that begin at the sphere or where a ray comes back, and end where it leaves, or never."""
    n_rays = len(scan.directions)
    begun = np.concatenate([np.arange(n_rays), ray[~leaves]])
    begin = np.concatenate([np.full(n_rays, scan.radii[0]), border[~leaves]])
    endless = np.flatnonzero(scan.inside[-1])
    ended = np.concatenate([ray[leaves], endless])
    end = np.concatenate([border[leaves], np.full(len(endless), np.inf)])
    first, last = np.lexsort((begin, begun)), np.lexsort((end, ended))
    return Rays(scan.attractor, scan.directions, scan.weights, begun[first], begin[first], end[last])
