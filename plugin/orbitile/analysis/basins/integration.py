r"""What is in basins of the density: sums over the points of rays and spheres about their attractors.

The orbitals' overlaps in a basin, :math:`S_{ij}(A) = \int_A \psi_i \psi_j dr`, give its electrons,
:math:`N(A) = \sum_i n_i S_{ii}(A)`, and how many of them stay in it or are shared with another (X. Fradera,
M. A. Austen and R. F. W. Bader, J. Phys. Chem. A 1999, 103, 304; for occupations n_i that are no whole numbers with the
roots of A. M. K. Mueller, Phys. Lett. A 1984, 105, 446),

.. math::  \lambda(A) = \sum_\sigma \sum_{ij} \sqrt{n_i n_j}\, S_{ij}(A)^2, \qquad
    \delta(A, B) = 2 \sum_\sigma \sum_{ij} \sqrt{n_i n_j}\, S_{ij}(A) S_{ij}(B), \qquad
    N(A) = \lambda(A) + \tfrac12 \sum_{B \ne A} \delta(A, B)

the last of which is an identity for orthonormal orbitals in basins that fill all space.

**Rays** leave the basin of their attractor, and may come back into it. Points along them are told apart by the cells of
a lattice that are whole in a basin, and in others by paths of steepest ascent. Each border lies between two neighbours
whose paths have been followed and led to different sides; bisection finds it as exactly as the density there asks for.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import Flags, Indices, Reals
from ...base.memory import share
from ...base.watch import checkpoint, stage
from ...fields.localisation import unpaired
from ...model.wavefunction import Wavefunction
from ..topology.derivatives import DensityDerivatives, density_derivatives
from .ascent import Gradient, Spheres, attractors_of
from .partition import EMPTY, MIXED, Cells

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

_AT_ONCE = share("large matrix", 4)
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
    return np.take_along_axis(scan.inside, _last_clear(scan.unclear), axis=0)


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
        return origin[some] + (low[some] + high[some])[:, None] / 2 * along[some]

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


MOLECULE = 0.001
"""Density in e bohr^-3 down to which volumes are counted: R. F. W. Bader et al., J. Am. Chem. Soc. 1987, 109, 7968."""

_PANEL, _IN_PANEL, _TAIL, _IN_TAIL = 1.2, 8, 1.5, 16
"""Length in bohr of a part of a ray, points in it; scale of the last part, which has no end, and points in it."""

_TURNED = (0.4, 0.9, 1.7)
"""Angles by which directions are turned, in radians, out of the axes and planes that molecules are drawn in."""

_IN_SPHERE, _SPHERE_DEGREE = 40, 23
"""Radii inside a sphere, and degree of the rule for directions there."""

_SEARCH, _LONGEST = 10, 1.0
"""Steps of Newton's to the edge of the molecule, and how long one may be, in bohr."""

_SHIFT = 4 * TOLERANCE
"""What errors of the steps of paths add up to at a border, in bohr: in the tests, no more than about half of this."""

_MOST_OVERLAPS = share("tables", 8)
"""Numbers in the overlaps of orbitals in all basins, up to which they are kept for what is shared."""


@dataclass(frozen=True, eq=False)
class AtomicBasins:
    """Basins of the density, and what is in them.

    Attributes
    ----------
    atom : ndarray of int, shape (n,)
        The atom of each basin, from 0; -1 of a maximum that is at no nucleus.
    position : ndarray, shape (n, 3)
        Of the attractors in bohr.
    population : ndarray, shape (n,)
        Electrons.
    volume : ndarray, shape (n,)
        In bohr^3, where the density is above 0.001 e bohr^-3.
    laplacian : ndarray, shape (n,)
        L, minus a quarter of the integral of the Laplacian of the density, in hartree: 0 but for errors.
    spin : ndarray, shape (n,)
        Alpha less beta electrons; 0 where all are paired.
    delocalisation : ndarray, shape (n, n)
        Electrons that two basins share, delta(A, B); on the diagonal those that stay in one, lambda(A). Empty where the
        molecule is too large, a density matrix has occupations below 0, or orbitals are complex.
    without_maximum : ndarray of int
        Atoms that are no maximum of the density, and have no basin.
    error : ndarray, shape (n,)
        What the electrons of each basin may be off by. That all of them add up says nothing of a border between two
        basins that is in the wrong place: one has what the other lacks. So this is a sum of what shifts of the borders
        by the error of the paths make, of the integral of the Laplacian, which is 0 but for errors, and of a share of
        what all electrons are off by.
    """

    atom: NDArray[np.int64]
    position: Reals
    population: Reals
    volume: Reals
    laplacian: Reals
    spin: Reals
    delocalisation: Reals
    without_maximum: NDArray[np.intp]
    error: Reals = field(default_factory=lambda: np.zeros(0))

    def of_atoms(self, values: Reals, n_atoms: int) -> Reals:
        """Values of the basins as those of the atoms, 0 for atoms without one; shape (n_atoms,)."""
        at_nuclei = self.atom >= 0
        result = np.zeros(n_atoms)
        result[self.atom[at_nuclei]] = values[at_nuclei]
        return result


def directions_of(degree: int) -> tuple[Reals, Reals]:
    """Unit vectors, shape (n, 3), and weights that add up to 4 pi: the rule of Lebedev of a degree.

    It is turned so that none of its planes of symmetry is one of the molecule's, on which edges of basins lie: errors
    there would be of one sign in all atoms.
    """
    from scipy.integrate import lebedev_rule
    from scipy.spatial.transform import Rotation

    directions, weights = lebedev_rule(degree)
    return Rotation.from_euler("zyz", _TURNED).apply(directions.T), weights


def integrated(wavefunction: Wavefunction, spheres: Spheres, all_rays: list[Rays], gradient: Gradient) -> AtomicBasins:
    """Sum up what is in basins.

    Parameters
    ----------
    wavefunction
    spheres
        About all attractors, those of the atoms first.
    all_rays
        Of each attractor that has a basin.
    gradient
        Of the density, for the edge of the molecule.
    """
    total = density_derivatives(wavefunction)
    spins = [density_derivatives(wavefunction, spin) for spin in unpaired(wavefunction)]
    sets = spins or [total]
    n_basins = len(all_rays)
    n_overlaps = n_basins * sum(len(of_spin.weights) ** 2 for of_spin in sets)
    kept = (
        n_overlaps <= _MOST_OVERLAPS
        and wavefunction.spinors is None
        and all(np.all(of_spin.weights >= 0) for of_spin in sets)
    )
    populations, volumes, laplacians = np.zeros((n_basins, len(sets))), np.zeros(n_basins), np.zeros(n_basins)
    borders = np.zeros(n_basins)
    overlaps: list[list[Reals]] = [[] for _ in sets]
    for n, rays in enumerate(all_rays):
        with stage(n / n_basins, (n + 1) / n_basins):
            centre, radius = spheres.centre[rays.attractor], float(spheres.radius[rays.attractor])
            edge = _edge(rays, centre, gradient)
            outside, inside = _outside(rays, centre, edge), _inside(centre, radius)
            volumes[n] = 4 / 3 * np.pi * radius**3 + _volume(rays, edge)
            borders[n] = rays.border_density(centre, gradient)
            laplacians[n] = -0.25 * _laplacian(total, rays, centre, radius, *outside)
            points, weights = (np.concatenate(both) for both in zip(outside, inside, strict=True))
            for k, of_spin in enumerate(sets):
                checkpoint()
                overlap = of_spin.overlaps(points, weights)
                populations[n, k] = of_spin.weights @ np.diag(overlap)
                if kept:
                    overlaps[k].append(overlap)
    shared = sum(
        (_shared(np.array(of), one.weights) for of, one in zip(overlaps, sets, strict=True)),
        np.zeros((0, 0)) if not kept else 0.0,
    )
    attractors = np.array([rays.attractor for rays in all_rays])
    n_atoms = wavefunction.n_atoms
    atom = np.where(attractors < n_atoms, attractors, -1)
    without = np.setdiff1d(np.flatnonzero(~wavefunction.is_ghost), atom)
    sign = [{"alpha": 1.0, "beta": -1.0}[spin] for spin in unpaired(wavefunction)] or [0.0]
    missing = abs(float(populations.sum()) - wavefunction.n_electrons) / np.sqrt(n_basins)
    return AtomicBasins(
        atom,
        spheres.centre[attractors],
        populations.sum(axis=1),
        volumes,
        laplacians,
        populations @ np.array(sign),
        np.asarray(shared),
        without,
        _SHIFT * borders + np.abs(laplacians) + missing,
    )


def _shared(overlaps: Reals, occupations: Reals) -> Reals:
    """Localisation and delocalisation indices of one set of orbitals, from overlaps of shape (n_basins, n, n)."""
    if not len(overlaps):
        return np.zeros((0, 0))
    roots = occupations**0.25
    flat = (overlaps * roots[:, None] * roots).reshape(len(overlaps), -1)
    both: Reals = flat @ flat.T
    return both * (2 - np.eye(len(both)))


def _edge(rays: Rays, centre: Reals, gradient: Gradient) -> Reals:
    """Distance at which each part of a ray leaves the molecule, its end where that comes before; shape (n_parts,)."""
    along = rays.directions[rays.ray]
    distance = rays.begin.copy()
    for _ in range(_SEARCH):
        checkpoint()
        density, slopes = gradient(centre + distance[:, None] * along)
        falls = np.einsum("ni,ni->n", slopes, along) / np.maximum(density, 1e-300)
        step = np.log(np.maximum(density, 1e-300) / MOLECULE) / np.maximum(-falls, 0.3)
        distance = np.clip(distance + np.clip(step, -_LONGEST, _LONGEST), rays.begin, rays.end)
    return distance


def _volume(rays: Rays, edge: Reals) -> float:
    return float(rays.weights[rays.ray] @ (edge**3 - rays.begin**3)) / 3


def _outside(rays: Rays, centre: Reals, edge: Reals) -> tuple[Reals, Reals]:
    """Points and weights for the rays, by rules of Gauss on parts that end at the edge of the molecule, and beyond."""
    inner = _panels(rays, rays.begin, edge)
    far = edge < rays.end
    closed = far & np.isfinite(rays.end)
    outer = _panels(rays, np.where(closed, edge, rays.end), rays.end, closed)
    open_ = np.flatnonzero(far & ~closed)
    x, w = np.polynomial.legendre.leggauss(_IN_TAIL)
    radii = edge[open_, None] + _TAIL * (1 + x) / (1 - x)
    tail = radii, 2 * _TAIL * w / (1 - x) ** 2 * radii**2, rays.ray[open_]
    points, weights = [], []
    for radius, weight, ray in (inner, outer, tail):
        points.append((centre + radius[..., None] * rays.directions[ray][:, None]).reshape(-1, 3))
        weights.append((weight * rays.weights[ray][:, None]).reshape(-1))
    return np.concatenate(points), np.concatenate(weights)


def _panels(
    rays: Rays, begin: Reals, end: Reals, which: NDArray[np.bool_] | None = None
) -> tuple[Reals, Reals, NDArray[np.intp]]:
    """Radii and weights of Gauss's rule on parts of rays, cut to a length, shapes (n_panels, n), and their rays."""
    some = np.flatnonzero(end > begin if which is None else which)
    count = np.maximum(np.ceil((end[some] - begin[some]) / _PANEL), 1).astype(np.intp)
    part = np.repeat(some, count)
    place = np.arange(len(part)) - np.repeat(np.cumsum(count) - count, count)
    length = ((end[some] - begin[some]) / count).repeat(count)
    x, w = np.polynomial.legendre.leggauss(_IN_PANEL)
    radii = begin[part, None] + length[:, None] * (place[:, None] + (1 + x) / 2)
    return radii, length[:, None] / 2 * w * radii**2, rays.ray[part]


def _inside(centre: Reals, radius: float) -> tuple[Reals, Reals]:
    """Points and weights for a sphere; radii are r t^2, closer together at the nucleus."""
    x, w = np.polynomial.legendre.leggauss(_IN_SPHERE)
    t = (1 + x) / 2
    radii, of_radii = radius * t**2, w / 2 * 2 * radius * t * (radius * t**2) ** 2
    directions, of_directions = directions_of(_SPHERE_DEGREE)
    points = centre + (radii[:, None, None] * directions).reshape(-1, 3)
    return points, np.outer(of_radii, of_directions).reshape(-1)


def _laplacian(
    density: DensityDerivatives, rays: Rays, centre: Reals, radius: float, points: Reals, weights: Reals
) -> float:
    """Integral of the Laplacian of the density: over the rays, and by the flux through the sphere."""
    bends = density(points)[2]
    slopes = density.gradient(centre + radius * rays.directions)[1]
    flux = radius**2 * rays.weights @ np.einsum("ni,ni->n", slopes, rays.directions)
    return float(weights @ np.trace(bends, axis1=1, axis2=2)) + float(flux)
