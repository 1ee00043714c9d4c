r"""What is in basins of the density: sums over the points of rays and spheres about their attractors.

The orbitals' overlaps in a basin, :math:`S_{ij}(A) = \int_A \psi_i \psi_j dr`, give its electrons,
:math:`N(A) = \sum_i n_i S_{ii}(A)`, and how many of them stay in it or are shared with another (X. Fradera,
M. A. Austen and R. F. W. Bader, J. Phys. Chem. A 1999, 103, 304; for occupations n_i that are no whole numbers with the
roots of A. M. K. Mueller, Phys. Lett. A 1984, 105, 446),

.. math::  \lambda(A) = \sum_\sigma \sum_{ij} \sqrt{n_i n_j}\, S_{ij}(A)^2, \qquad
    \delta(A, B) = 2 \sum_\sigma \sum_{ij} \sqrt{n_i n_j}\, S_{ij}(A) S_{ij}(B), \qquad
    N(A) = \lambda(A) + \tfrac12 \sum_{B \ne A} \delta(A, B)

the last of which is an identity for orthonormal orbitals in basins that fill all space.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...fields.localisation import unpaired
from ...model.wavefunction import Wavefunction
from ...watch import checkpoint, stage
from ..topology.derivatives import DensityDerivatives, density_derivatives
from .ascent import Gradient, Reals, Spheres
from .rays import TOLERANCE, Rays

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

_MOST_OVERLAPS = 1 << 25
"""Numbers in the overlaps of orbitals in all basins, 256 MiB, up to which they are kept for what is shared."""


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
