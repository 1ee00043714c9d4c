r"""Atoms in molecules: the basins of the density, and what is in them.

R. F. W. Bader's atoms (Atoms in Molecules: A Quantum Theory, Oxford 1990) are bounded by surfaces that the gradient of
the density does not cross. They are integrated as F. W. Biegler-Koenig, R. F. W. Bader and T.-H. Tang do (J. Comput.
Chem. 1982, 3, 317): along rays from the nucleus up to where they leave the basin, at the points of the rules of Lebedev
and Gauss, outside of a sphere that is whole in the basin; inside of it on spheres. Of each atom

.. math::  N(\Omega) = \int_\Omega \rho\, dr, \qquad q = Z - N, \qquad
    L(\Omega) = -\frac14 \int_\Omega \nabla^2\rho\, dr = -\frac14 \oint \nabla\rho \cdot n\, dS = 0

the last of which holds for each atom alone, and says how well its surface was found. Atoms are integrated one by
one, so that the sum of the electrons tells how well the basins fit together.

**Attractors** are where the density is largest, with spheres about them that no path of steepest ascent leaves. Where
the gradient of the density points inwards all over a sphere, no path leaves it; where it does so on all smaller
spheres too, they all lead to its centre (the beta spheres of J. Rodriguez, A. M. Koester, P. W. Ayers, A. Santos-Valle,
A. Vela and G. Merino, J. Comput. Chem. 2009, 30, 1082). About a nucleus whose core is a potential the density of the
valence electrons has its maxima on a shell and none at the centre: there the spheres count from the shell outwards, and
what is inside belongs to the atom.

**Overlaps.** The orbitals' overlaps in a basin, :math:`S_{ij}(A) = \int_A \psi_i \psi_j dr`, give its electrons,
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

**Paths** of steepest ascent are integrated by their length,

.. math::  \frac{dx}{ds} = \frac{\nabla\rho}{|\nabla\rho|}

with the pair of orders 3 and 2 of P. Bogacki and L. F. Shampine (Appl. Math. Lett. 1989, 2, 321), each path with steps
of its own, all of them at once. A path ends where it enters a sphere in which nothing but one attractor can be reached.

**Quick paths** go through cubic splines of the logarithm of the density, which has the same paths, on lattices. They
are so cheap that steps and the last parts of rays are shorter than those of the others.
They end in cells that are whole in a basin. Molecules that are too large for so fine lattices have the others only, and
so have paths that come to no end.

**Cells** of a lattice are whole in one basin, or a border runs through them. Steepest ways over points of
the lattice are only about right near borders: there paths of steepest ascent say which basin a point is in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.target import Target

from ..base.arrays import Flags, Indices, Reals
from ..base.caches import Derived
from ..base.errors import OrbitileError
from ..base.memory import share
from ..base.watch import checkpoint, pieces, stage
from ..evaluation.devices import device_session, first_device
from ..evaluation.lattices import compute
from ..fields.localisation import unpaired
from ..model.cell import molecules_only
from ..model.lattice import Lattice
from ..model.volume import Volume
from ..model.wavefunction import Wavefunction
from .density_derivatives import density_derivatives
from .topology import Spheres

if TYPE_CHECKING:
    from taichi_kernels.ascent import Splines

Gradient = Callable[[Reals], tuple[Reals, Reals]]
"""Takes points, shape (n, 3), to values and gradients there, shapes (n,) and (n, 3)."""

_FEW = 64
"""Points for which sums with NumPy take less time than it takes to prepare and launch a kernel."""

_FIRST, _LONGEST_STEP, _SHORTEST, _MOST_STEPS = 0.15, 0.7, 0.01, 300
"""Steps in bohr, and how many a path may take."""

_TOLERANCE = 3e-4
"""Error of a step in bohr."""


def gradient_of_density(wavefunction: Wavefunction, target: Target) -> Gradient:
    """The density and its gradient at many points, on the device of the current session.

    In single precision the error is some 1e-6 of the gradient.

    Raises
    ------
    FieldError
        When there are no occupied orbitals.
    """
    density = density_derivatives(wavefunction)

    def of(points: Reals) -> tuple[Reals, Reals]:
        return density.gradient(points) if len(points) <= _FEW else density.gradient_by_kernel(points, target)

    return of


def attractors_of(
    points: Reals,
    gradient: Gradient,
    spheres: Spheres,
    again: Callable[[Indices, Indices], tuple[Indices, Reals]] | None = None,
    tolerance: float = _TOLERANCE,
) -> Indices:
    """The attractor that the path from each point leads to.

    Parameters
    ----------
    points : ndarray, shape (n, 3)
        In bohr.
    gradient
        Of the density.
    spheres
        About the attractors.
    again
        Takes the numbers of paths that have ended, and their attractors, to those of them that begin again and where:
        then paths that take longer keep none waiting.
    tolerance
        Error of a step in bohr. All of a path go to the same side, since it bends to one: they move borders.

    Returns
    -------
    ndarray of int, shape (n,)
        Which sphere each path led to, the last time. A path that comes to no end, as one along an axis of symmetry, is
        said to go to the nearest one.
    """
    found = np.full(len(points), -1, np.intp)
    where, direction = np.array(points, np.float64), np.zeros((len(points), 3))
    step, age = np.zeros(len(points)), np.zeros(len(points), int)

    going = np.arange(len(points))
    ended = going
    while len(going):
        checkpoint()
        found[ended] = spheres.around(where[ended])
        lost = ended[(found[ended] < 0) & (age[ended] > _MOST_STEPS)]
        found[lost] = spheres.nearest(where[lost])
        over = ended[found[ended] >= 0]
        while again is not None and len(over):
            over, there = again(over, found[over])
            where[over] = there
            age[over], step[over] = 0, 0.0
            found[over] = spheres.around(where[over])
            over = over[found[over] >= 0]
        going = going[found[going] < 0]
        if not len(going):
            break
        # a path begins with a step of no length, which finds its direction
        x, h, k1 = where[going], step[going][:, None], direction[going]
        k2 = _directions(gradient, x + h / 2 * k1)
        k3 = _directions(gradient, x + 3 * h / 4 * k2)
        ahead = x + h * (2 * k1 + 3 * k2 + 4 * k3) / 9
        k4 = _directions(gradient, ahead)
        error = np.linalg.norm(h * (-5 * k1 + 6 * k2 + 8 * k3 - 9 * k4) / 72, axis=1)
        good = (error <= tolerance) | (h[:, 0] <= _SHORTEST)
        ended = going[good]
        where[ended], direction[ended] = ahead[good], k4[good]
        factor = np.clip(0.9 * np.cbrt(tolerance / np.maximum(error, 1e-12)), 0.2, 3.0)
        step[going] = np.where(age[going] == 0, _FIRST, np.clip(h[:, 0] * factor, _SHORTEST, _LONGEST_STEP))
        age[going] += 1
    return found


def _directions(gradient: Gradient, points: Reals) -> Reals:
    slopes = gradient(points)[1]
    return slopes / np.maximum(np.linalg.norm(slopes, axis=1), 1e-300)[:, None]


_FOLLOWED_AT_ONCE = share("lists", 32)
"""Quick paths that are followed in one launch."""

_QUICK_TOLERANCE, _SORTING = 1e-5, 4e-4
"""Error of a step of a quick path in bohr: of those that find borders, and of those that say on which side of them a
point is."""


@dataclass(frozen=True, eq=False)
class QuickPaths:
    """Paths of steepest ascent through splines of the logarithm of the density.

    Attributes
    ----------
    splines : Splines
        On lattices, the finest first.
    spheres : Spheres
        About all attractors.
    goals : ndarray of int32, shape (nx, ny, nz)
        The attractor that all paths from a cell of another lattice lead to; -1 for none, -2 - n where that holds for
        the part of the cell that is in the n-th sphere.
    corner : ndarray, shape (3,)
        Of the first cell, in bohr.
    cell : float
        Length of a cell in bohr.
    """

    splines: Splines
    spheres: Spheres
    goals: NDArray[np.int32]
    corner: Reals
    cell: float

    def ends(self, points: Reals) -> Indices:
        """The attractor that each path leads to, -1 where it is not found; shape (n_points,)."""
        nothing, along = np.zeros(len(points)), np.zeros((len(points), 3))
        own = np.zeros(len(points), np.intp)
        return self.divided(points, along, nothing, nothing, own, own == 0, nothing + 1, _SORTING)[2]

    def ending_in(self, cells: Cells) -> QuickPaths:
        """Those that end in cells that are whole in a basin, and that only such are beside, too."""
        from scipy.ndimage import maximum_filter, minimum_filter

        least, most = minimum_filter(cells.basin, 3), maximum_filter(cells.basin, 3)
        return replace(self, goals=np.where((least == most) & (most >= 0), most, self.goals))

    def divided(
        self,
        origin: Reals,
        along: Reals,
        low: Reals,
        high: Reals,
        own: NDArray[np.integer],
        leaves: Flags,
        width: Reals,
        tolerance: float = _QUICK_TOLERANCE,
    ) -> tuple[Reals, Reals, Indices]:
        """Parts of rays halved at the border of a basin, as `taichi_kernels.ascent.divide` does."""
        from taichi_kernels.ascent import Goals, divide

        low, high, found = low.copy(), high.copy(), np.full(len(low), -1, np.intp)
        for piece in pieces(len(low), _FOLLOWED_AT_ONCE):
            checkpoint()
            low[piece], high[piece], found[piece] = divide(
                origin[piece],
                along[piece],
                low[piece],
                high[piece],
                own[piece],
                leaves[piece],
                width[piece],
                self.splines,
                Goals(self.goals, self.corner, self.cell, self.spheres.centre, self.spheres.radius),
                (_FIRST, _LONGEST_STEP, _SHORTEST),
                tolerance,
            )
        return low, high, found


_LEAST, _SPACING = 1e-6, 0.2
"""Density in e bohr^-3 down to which basins are told apart; spacing of their lattice in bohr."""

_LATTICES = ((0.02, 0.05), (1e-4, 0.1))
"""Densities in e bohr^-3 down to which lattices of splines reach beside the one of the basins, and their spacings."""

_MOST_OF_SPLINES, _WIDEST = 36_000_000, 1.3
"""Points of a lattice of splines: 4 bytes each, and 12 while they are made. How many times as wide as above it may be
for that: 1.2 times as wide moves populations of the carbon atoms of acetylene by 3e-4 e, and of the maximum between
them by 5e-4 e."""


def finer_densities(wavefunction: Wavefunction, density: Volume, device: str | None) -> list[Volume]:
    """The density on lattices for splines, the finest first, then a given one; none where they would be too large."""
    volumes = []
    for value, spacing in _LATTICES:
        lattice = lattice_about(wavefunction, value, spacing, _MOST_OF_SPLINES)
        if lattice.spacings.max() > _WIDEST * spacing:
            return []
        volumes.append(compute(wavefunction, "density", lattice, device=device))
    return [*volumes, density]


def quick_paths(densities: list[Volume], spheres: Spheres, target: Target) -> QuickPaths | None:
    """Quick paths to some spheres.

    Parameters
    ----------
    densities
        On lattices of cubes, the finest first. Paths go uphill, and so stay within the last one, which holds all where
        the density is above some value.
    spheres
        About all attractors.
    target
        The device of the current session.

    Returns
    -------
    QuickPaths
        None without densities, or where lattices have too few points for a spline.
    """
    from taichi_kernels.ascent import SUPPORT, splines_of

    if not densities or min(min(density.lattice.shape) for density in densities) < SUPPORT:
        return None
    checkpoint()
    splines = splines_of(
        [
            (np.log(np.maximum(of.values, _LEAST / 100)), of.lattice.origin, float(of.lattice.spacings.min()))
            for of in densities
        ],
        target,
    )
    lattice = densities[-1].lattice
    spacing = float(lattice.spacings.min())
    return QuickPaths(splines, spheres, _cells_in(spheres, lattice, spacing), lattice.origin, spacing)


def _cells_in(spheres: Spheres, lattice: Lattice, spacing: float) -> Integers:
    """For each cell of a lattice the sphere that it is whole in, -2 - n where it only meets the n-th, -1 for others."""
    found = np.full(np.array(lattice.shape) - 1, -1, np.int32)
    for n in np.flatnonzero(spheres.radius > 0).tolist():
        centre, reach = (spheres.centre[n] - lattice.origin) / spacing, float(spheres.radius[n]) / spacing
        low = np.clip(np.floor(centre - reach).astype(int), 0, found.shape)
        high = np.clip(np.ceil(centre + reach).astype(int), 0, found.shape)
        away = [np.arange(a, b) - c for a, b, c in zip(low, high, centre, strict=True)]
        nearest = [np.maximum(np.maximum(along, -1 - along), 0) for along in away]
        farthest = [np.maximum(np.abs(along), np.abs(along + 1)) for along in away]
        near, far = (sum(along**2 for along in np.ix_(*of_axes)) for of_axes in (nearest, farthest))
        block = found[tuple(slice(a, b) for a, b in zip(low, high, strict=True))]
        block[near < reach**2] = -2 - n
        block[far < reach**2] = n
    return found


_WORTH_FOLLOWING = 1e-5
"""Density in e bohr^-3 below which no exact path is followed where quick ones come to no end."""


def ends_of(points: Reals, density: Reals, gradient: Gradient, spheres: Spheres, quick: QuickPaths | None) -> Indices:
    """The attractors that paths lead to: by quick paths, and by exact ones where those do not find it.

    Parameters
    ----------
    points, density : ndarray, shapes (n, 3) and (n,)
        In bohr, and the density there in e bohr^-3.

    Returns
    -------
    ndarray of int, shape (n,)
        -1 where it is not found quickly, and the density is so small that it does not matter.
    """
    found = np.full(len(points), -1, np.intp)
    if quick is not None:
        some = np.flatnonzero(density > 2 * _LEAST)
        found[some] = quick.ends(points[some])
    left = np.flatnonzero((found < 0) & (density > _WORTH_FOLLOWING))
    found[left] = attractors_of(points[left], gradient, spheres)
    return found


Integers = NDArray[np.int32]

_MOST = 3_000_000
"""Points of a lattice of a molecule; larger molecules get wider ones."""

CUBE = np.array([(i, j, k) for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1) if i or j or k])
"""Steps to all neighbours of a point of a lattice."""


def lattice_about(wavefunction: Wavefunction, density: float, spacing: float, most: int = _MOST) -> Lattice:
    """A lattice of cubes that holds all where the density is above a value.

    Parameters
    ----------
    wavefunction
    density
        In e bohr^-3.
    spacing
        In bohr; wider where there would be more points than the most.
    """
    from ..evaluation.boxes import enclosing_lattice

    lattice = enclosing_lattice(wavefunction, "density", density, spacing=spacing)
    if lattice.n_points <= most:
        return lattice
    return Lattice.box(lattice.origin, lattice.far_corner, spacing * (lattice.n_points / most) ** (1 / 3))


def maxima(values: NDArray[np.floating], least: float) -> NDArray[np.intp]:
    """Points of a lattice, as flat indices, that are above a limit and none of their 26 neighbours above them.

    Of equal neighbours the first one counts.
    """
    padded = np.pad(values, 1, constant_values=-np.inf)
    highest = values > least
    inner = tuple(slice(1, -1) for _ in range(3))
    for move in CUBE:
        other = padded[tuple(slice(1 + d, n + 1 + d) for d, n in zip(move, values.shape, strict=True))]
        before = tuple(move) < (0, 0, 0)
        highest &= (padded[inner] > other) if before else (padded[inner] >= other)
    return np.flatnonzero(highest)


EMPTY, MIXED = -1, -2
"""Instead of a basin: of cells where the density is too small, and of those that more than one has corners of."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Basins of the cells between the points of a lattice.

    Attributes
    ----------
    lattice : Lattice
        Of the corners.
    basin : ndarray of int32, one shorter than the lattice along each axis
        The basin of all corners, EMPTY or MIXED.
    corner : ndarray of int32, shape (nx, ny, nz)
        The basins of the corners, below 0 for none.
    density : ndarray, shape (nx, ny, nz)
        At the corners, in e bohr^-3.
    """

    lattice: Lattice
    basin: Integers
    corner: Integers
    density: NDArray[np.floating]

    def around(self, points: Reals) -> Integers:
        """Basin of the cell that each point is in, EMPTY outside of the lattice; shape (n_points,)."""
        place = np.floor((points - self.lattice.origin) / self.lattice.spacings).astype(np.intp)
        there = np.all((place >= 0) & (place < self.basin.shape), axis=1)
        place[~there] = 0
        return np.where(there, self.basin[tuple(place.T)], np.int32(EMPTY))

    def near(self, basin: int) -> Flags:
        """Which cells, or cells beside them, have a corner in a basin; of the shape of the cells."""
        padded = np.pad(self.corner == basin, 1)
        for axis in range(3):
            for _ in range(3):
                one, other = neighbours_along(axis)
                padded = padded[one] | padded[other]
        return padded

    def densities(self, points: Reals) -> Reals:
        """The density at the corner that is nearest to each point, to sort them by; shape (n_points,)."""
        place = np.rint((points - self.lattice.origin) / self.lattice.spacings).astype(np.intp)
        there = tuple(np.clip(place, 0, np.array(self.lattice.shape) - 1).T)
        return self.density[there].astype(np.float64)


def cells_of(
    about: Integers, density: Volume, gradient: Gradient, spheres: Spheres, quick: QuickPaths | None = None
) -> Cells:
    """Sort the cells of a lattice.

    Parameters
    ----------
    about : ndarray of int32, shape (nx, ny, nz)
        Basins of its points, not known well near borders; -1 for none.
    density
        On the lattice.
    gradient
        Of the density.
    spheres
        About all attractors.
    quick
        Paths that sort most points.
    """
    lattice = density.lattice
    basin = about.reshape(-1).copy()
    heights = density.values.reshape(-1)
    known = basin < 0
    while len(wanted := np.flatnonzero(_beside_others(basin.reshape(lattice.shape)).reshape(-1) & ~known)):
        at = np.stack(np.unravel_index(wanted, lattice.shape), axis=1)
        points = lattice.origin + at * np.asarray(lattice.spacings)
        known[wanted] = True
        ends = ends_of(points, heights[wanted].astype(np.float64), gradient, spheres, quick)
        basin[wanted] = np.where(ends < 0, basin[wanted], ends)
    basin = basin.reshape(lattice.shape)
    return Cells(lattice, _of_cells(basin), basin, density.values)


def _beside_others(basin: Integers) -> NDArray[np.bool_]:
    """Points with a neighbour along an axis in another basin."""
    beside = np.zeros(basin.shape, bool)
    for axis in range(3):
        one, other = neighbours_along(axis)
        different = (basin[one] != basin[other]) & (basin[one] >= 0) & (basin[other] >= 0)
        beside[one] |= different
        beside[other] |= different
    return beside


def neighbours_along(axis: int) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """All but the last, and all but the first, along an axis."""
    whole = [slice(None)] * 3
    first, second = whole.copy(), whole.copy()
    first[axis], second[axis] = slice(None, -1), slice(1, None)
    return tuple(first), tuple(second)


def _of_cells(basin: Integers) -> Integers:
    """The basin that all corners of a cell have that are in any."""
    least, most = np.where(basin < 0, np.iinfo(np.int32).max, basin), basin
    for axis in range(3):
        one, other = neighbours_along(axis)
        least, most = np.minimum(least[one], least[other]), np.maximum(most[one], most[other])
    return np.where(most < 0, EMPTY, np.where(least == most, most, MIXED)).astype(np.int32)


_MOST_ELECTRONS = 1e-3
"""Error of a border in bohr times the density there times the square of the radius, in e: those of many rays are of
both signs."""

_FINEST, _COARSEST = 3e-4, 0.2
"""Bounds on that error, in bohr."""

TOLERANCE = 3e-5
"""Error in bohr of a step of the paths that find borders: with ten times as much, those of multiple bonds have 5e-4 e
too many on one side."""

_CLOSER = 4
"""How much shorter the parts are that quick paths halve."""

_WORTH = 2e-3, 2e-2
"""Density times the square of the radius, in e per bohr, from which on points near a border are asked: every other one,
and all of them."""

_SCANNED_AT_ONCE = share("large matrix", 4)
"""Points along rays that are told apart together: 4 bytes each, and some 200 for those whose paths are followed."""


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
    state : ndarray of int32, shape (n_rays, n_radii)
        What is known of each, as `taichi_kernels.ascent.along_rays` says it. Where there is too little to matter, or it
        is not clear, a ray stays where it was.
    """

    attractor: int
    directions: Reals
    weights: Reals
    radii: Reals
    state: Integers


def rays_of(
    attractors: list[int],
    spheres: Spheres,
    cells: Cells,
    gradient: Gradient,
    rules: list[tuple[Reals, Reals]],
    quick: QuickPaths | None = None,
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
    quick
        Paths that sort most points.
    """
    found: list[Rays] = []
    waiting: list[_Scan] = []
    for attractor, rule in zip(attractors, rules, strict=True):
        waiting.append(_scanned(attractor, spheres, cells, *rule))
        if sum(one.state.size for one in waiting) > _SCANNED_AT_ONCE or attractor == attractors[-1]:
            done = len(found)
            with stage(done / len(attractors), (done + len(waiting)) / len(attractors)):
                _settle(waiting, cells, spheres, gradient, quick)
                found += _divided(waiting, spheres, gradient, quick)
            waiting = []
    return found


def _scanned(attractor: int, spheres: Spheres, cells: Cells, directions: Reals, weights: Reals) -> _Scan:
    """What the cells say of points along rays, out to the farthest corner of the lattice."""
    from taichi_kernels.ascent import along_rays

    checkpoint()
    centre, first = spheres.centre[attractor], spheres.radius[attractor]
    spacing = float(cells.lattice.spacings.min())
    corners = np.stack([cells.lattice.origin, cells.lattice.far_corner])
    farthest = float(np.linalg.norm(np.maximum(*np.abs(corners - centre)))) + spacing / 4
    radii = first + spacing / 4 * np.arange(max(2, int((farthest - first) / (spacing / 4))))
    state = along_rays(
        centre,
        directions,
        radii,
        cells.basin,
        cells.near(attractor).astype(np.int32),
        cells.density,
        (cells.lattice.origin, spacing),
        attractor,
        MIXED,
        _WORTH,
    )
    return _Scan(attractor, directions, weights, radii, state)


def _settle(scans: list[_Scan], cells: Cells, spheres: Spheres, gradient: Gradient, quick: QuickPaths | None) -> None:
    """Follow paths from unclear points where there are electrons: a ray may cross a border more than once there.

    Where a border runs between two other basins they are followed if the ray is inside up to there: its basin may go on
    as a wedge that is thinner than the cells.
    """
    from taichi_kernels.ascent import ASKED, BETWEEN, OUTSIDE

    _follow(scans, [scan.state == ASKED for scan in scans], cells, spheres, gradient, quick)
    _follow(scans, [_goes_on(scan.state) for scan in scans], cells, spheres, gradient, quick)
    for scan in scans:
        scan.state[scan.state == BETWEEN] = OUTSIDE


def _goes_on(state: Integers) -> Flags:
    """Points between two other basins before which the last one that is clear is inside."""
    from taichi_kernels.ascent import BETWEEN, INSIDE, OUTSIDE

    number = np.arange(state.shape[1])
    last = np.maximum.accumulate(np.where((state == INSIDE) | (state == OUTSIDE), number, 0), axis=1)
    return (state == BETWEEN) & (np.take_along_axis(state, last, axis=1) == INSIDE)


def _follow(
    scans: list[_Scan],
    which: list[Flags],
    cells: Cells,
    spheres: Spheres,
    gradient: Gradient,
    quick: QuickPaths | None,
) -> None:
    """Follow paths from some points along rays."""
    from taichi_kernels.ascent import INSIDE, OUTSIDE, UNCLEAR

    asked = [np.nonzero(some) for some in which]
    starts = np.concatenate(
        [
            spheres.centre[scan.attractor] + scan.radii[k, None] * scan.directions[ray]
            for scan, (ray, k) in zip(scans, asked, strict=True)
        ]
    )
    ends = ends_of(starts, cells.densities(starts), gradient, spheres, quick)
    parts = np.split(ends, np.cumsum([len(ray) for ray, _ in asked])[:-1])
    for scan, place, end in zip(scans, asked, parts, strict=True):
        scan.state[place] = np.where(end == scan.attractor, INSIDE, np.where(end < 0, UNCLEAR, OUTSIDE))


def _changes(scan: _Scan) -> tuple[Indices, Reals, Reals, Flags, Flags]:
    """Rays that cross a border, the clear points before and after, whether they leave; and which stay in it.

    Rays are one after the other, and what one crosses is in its order.
    """
    from taichi_kernels.ascent import INSIDE, OUTSIDE

    clear = np.flatnonzero((scan.state == INSIDE) | (scan.state == OUTSIDE))
    inside = scan.state.reshape(-1)[clear] == INSIDE
    ray, k = np.divmod(clear, len(scan.radii))
    same = ray[1:] == ray[:-1]
    crosses = np.flatnonzero(same & (inside[1:] != inside[:-1]))
    last = np.append(np.flatnonzero(~same), len(ray) - 1)  # each ray has a first point that is clear
    return ray[crosses], scan.radii[k[crosses]], scan.radii[k[crosses + 1]], inside[crosses], inside[last]


def _divided(scans: list[_Scan], spheres: Spheres, gradient: Gradient, quick: QuickPaths | None) -> list[Rays]:
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

    def again(paths: Indices, ends: Indices) -> tuple[Indices, Reals]:
        some = left[paths]
        middle, below = (low[some] + high[some]) / 2, (ends == attractor[some]) == leaves[some]
        low[some[below]], high[some[~below]] = middle[below], middle[~below]
        going = high[some] - low[some] > width[some]
        return paths[going], points(some[going])

    left = np.flatnonzero((high - low > width) & (density > _WORTH_FOLLOWING))
    if quick is not None:
        low[left], high[left], ends = quick.divided(
            origin[left],
            along[left],
            low[left],
            high[left],
            attractor[left],
            leaves[left],
            width[left] / _CLOSER,
        )
        left = left[ends < 0]
    attractors_of(points(left), gradient, spheres, again, TOLERANCE)
    borders = np.split((low + high) / 2, np.cumsum(count)[:-1])
    return [
        _parts(scan, ray, leaving, endless, border)
        for scan, (ray, _, _, leaving, endless), border in zip(scans, changes, borders, strict=True)
    ]


def _parts(scan: _Scan, ray: Indices, leaves: Flags, never: Flags, border: Reals) -> Rays:
    """Parts of rays that begin at the sphere or where a ray comes back, and end where it leaves, or never."""
    n_rays = len(scan.directions)
    begun = np.concatenate([np.arange(n_rays), ray[~leaves]])
    begin = np.concatenate([np.full(n_rays, scan.radii[0]), border[~leaves]])
    endless = np.flatnonzero(never)
    ended = np.concatenate([ray[leaves], endless])
    end = np.concatenate([border[leaves], np.full(len(endless), np.inf)])
    first, last = np.lexsort((begin, begun)), np.lexsort((end, ended))
    return Rays(scan.attractor, scan.directions, scan.weights, begun[first], begin[first], end[last])


MOLECULE = 0.001
"""Density in e bohr^-3 down to which volumes are counted: R. F. W. Bader et al., J. Am. Chem. Soc. 1987, 109, 7968."""

_PANEL, _IN_PANEL, _TAIL, _IN_TAIL = 1.2, 7, 1.5, 12
"""Length in bohr of a part of a ray, points in it; scale of the last part, which has no end, and points in it."""

_TURNED, _TURNED_ON = (0.4, 0.19, 1.7), (2.4, 0.618, 3.9)
"""Angles by which directions are turned, in radians, out of the axes and planes that molecules are drawn in, and by how
much farther for each next attractor. In place of the second angle is half of 1 less its cosine, so that no direction
comes more often than another."""

_IN_SPHERE, _SPHERE_DEGREE = 24, 23
"""Radii inside a sphere, and degree of the rule for directions there."""

_SEARCH, _LONGEST_TO_EDGE, _AT_EDGE = 10, 1.0, 1e-4
"""Steps of Newton's to the edge of the molecule, how long one may be and how short the last is, in bohr."""

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
    error: Reals

    def of_atoms(self, values: Reals, n_atoms: int) -> Reals:
        """Values of the basins as those of the atoms, 0 for atoms without one; shape (n_atoms,)."""
        at_nuclei = self.atom >= 0
        result = np.zeros(n_atoms)
        result[self.atom[at_nuclei]] = values[at_nuclei]
        return result


def directions_of(degree: int, number: int = 0) -> tuple[Reals, Reals]:
    """Unit vectors, shape (n, 3), and weights that add up to 4 pi: the rule of Lebedev of a degree.

    The rule is turned, so that its planes of symmetry are not those of the molecule. Edges of basins lie on these, and
    errors there would have the same sign in all atoms. Each number has a turn of its own. Otherwise equal links of a
    chain would have equal errors, which add up.
    """
    from scipy.integrate import lebedev_rule
    from scipy.spatial.transform import Rotation

    directions, weights = lebedev_rule(degree)
    first, height, last = (angle + number * step for angle, step in zip(_TURNED, _TURNED_ON, strict=True))
    turned = Rotation.from_euler("zyz", (first, np.arccos(1 - 2 * (height % 1)), last))
    return turned.apply(directions.T), weights


def integrated(
    wavefunction: Wavefunction, spheres: Spheres, all_rays: list[Rays], gradient: Gradient, target: Target
) -> AtomicBasins:
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
    target
        The device of the current session.
    """
    spins = [density_derivatives(wavefunction, spin) for spin in unpaired(wavefunction)]
    sets = spins or [density_derivatives(wavefunction)]
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
            laplacian = _flux(gradient, rays, centre, radius)
            for k, of_spin in enumerate(sets):
                checkpoint()
                if kept:
                    overlap, bent = of_spin.overlaps_and_laplacian(*outside, target)
                    overlap += of_spin.overlaps(*inside, target)
                    populations[n, k] = of_spin.weights @ np.diag(overlap)
                    overlaps[k].append(overlap)
                else:
                    electrons, bent = of_spin.electrons_and_laplacian(*outside, target)
                    populations[n, k] = electrons + of_spin.electrons_and_laplacian(*inside, target)[0]
                laplacian += bent
            laplacians[n] = -0.25 * laplacian
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
    moving = np.arange(len(distance))
    for _ in range(_SEARCH):
        checkpoint()
        before = distance[moving]
        density, slopes = gradient(centre + before[:, None] * along[moving])
        falls = np.einsum("ni,ni->n", slopes, along[moving]) / np.maximum(density, 1e-300)
        step = np.log(np.maximum(density, 1e-300) / MOLECULE) / np.maximum(-falls, 0.3)
        after = before + np.clip(step, -_LONGEST_TO_EDGE, _LONGEST_TO_EDGE)
        distance[moving] = np.clip(after, rays.begin[moving], rays.end[moving])
        moving = moving[np.abs(distance[moving] - before) > _AT_EDGE]
        if not len(moving):
            break
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


def _flux(gradient: Gradient, rays: Rays, centre: Reals, radius: float) -> float:
    """Integral of the Laplacian of the density over a sphere, by the flux of its gradient through it."""
    slopes = gradient(centre + radius * rays.directions)[1]
    return float(radius**2 * rays.weights @ np.einsum("ni,ni->n", slopes, rays.directions))


_RADII = 0.04 * 1.18 ** np.arange(26)
"""Radii in bohr that are tried: up to 2.5."""

_APART = 0.85
"""Share of the distance to the next nucleus up to which."""

_INWARDS = 0.3
"""Least cosine between the gradient and the way to the centre."""

_DEGREE, _SAFE = 29, 0.9
"""Of the Lebedev rule whose directions are looked at: 302; share of the radius that is kept, for those in between."""

_CORE = 2.0
"""Radius in bohr by which the spheres of an atom have to begin."""

_CLIMB_STEPS, _CLOSE, _SMALL = 60, 0.05, 0.1
"""Steps towards a maximum, distance in bohr within which two are one, and radius of the sphere about one at least."""


def spheres_about_nuclei(wavefunction: Wavefunction, gradient: Gradient) -> Spheres:
    """The largest spheres about the nuclei out of which no path leads; ghosts and atoms without a maximum have none."""
    from scipy.integrate import lebedev_rule
    from scipy.spatial import KDTree

    places = wavefunction.positions
    radius = np.zeros(len(places))
    real = np.flatnonzero(~wavefunction.is_ghost)
    if not len(real):
        return Spheres(places, radius)
    directions = lebedev_rule(_DEGREE)[0].T
    nearest = KDTree(places[real]).query(places[real], k=2)[0][:, 1] if len(real) > 1 else np.full(1, np.inf)
    for atom, apart in zip(real, nearest, strict=True):
        checkpoint()
        radii = _RADII[_APART * apart > _RADII]
        points = places[atom] + (radii[:, None, None] * directions).reshape(-1, 3)
        slopes = gradient(points)[1].reshape(len(radii), len(directions), 3)
        inwards = -np.einsum("rdi,di->rd", slopes, directions)
        cosine = (inwards / np.maximum(np.linalg.norm(slopes, axis=2), 1e-300)).min(axis=1)
        good = cosine > _INWARDS
        if not good.any() or radii[good.argmax()] > _CORE:
            continue
        first = int(good.argmax())
        run = good[first:]
        last = first + (len(run) if run.all() else int((~run).argmax())) - 1
        radius[atom] = max(radii[first], _SAFE * radii[last])
    return Spheres(places, radius)


def with_other_maxima(about_nuclei: Spheres, density: Volume, least: float, gradient: Gradient) -> Spheres:
    """Spheres about the nuclei, then about maxima elsewhere, as in the middle of the lithium molecule.

    Parameters
    ----------
    about_nuclei
        From `spheres_about_nuclei`.
    density
        On a lattice fine enough to show them.
    least
        Density in e bohr^-3 below which none is looked for.
    gradient
        Of the density.
    """
    candidates = density.lattice.origin + np.stack(
        np.unravel_index(maxima(density.values, least), density.lattice.shape), axis=1
    ) * np.asarray(density.lattice.spacings)
    candidates = candidates[about_nuclei.around(candidates) < 0]
    edge = float(density.lattice.spacings.max())
    found: list[Reals] = []
    for start in candidates:
        place = _climbed(start, gradient, edge, about_nuclei)
        if place is not None and all(np.linalg.norm(place - other) > _CLOSE for other in found):
            found.append(place)
    if not found:
        return about_nuclei
    centre = np.concatenate([about_nuclei.centre, found])
    radius = np.concatenate([about_nuclei.radius, np.full(len(found), _SMALL)])
    return Spheres(centre, radius)


def _climbed(start: Reals, gradient: Gradient, edge: float, spheres: Spheres) -> Reals | None:
    """The maximum that is found by Newton steps uphill from a point; None where there is none near, or a nucleus."""
    place = start.copy()
    for _ in range(_CLIMB_STEPS):
        checkpoint()
        slope, bends = _expanded(place, gradient)
        values, axes = np.linalg.eigh(bends)
        step = axes @ ((axes.T @ slope) / np.maximum(np.abs(values), 1e-8))
        length = float(np.linalg.norm(step))
        place = place + step * min(1.0, 0.1 / max(length, 1e-12))
        if np.linalg.norm(place - start) > 4 * edge + _CLOSE or spheres.around(place[None])[0] >= 0:
            return None
        if length < 1e-4:
            return place if values.max() < 0 else None
    return None


def _expanded(place: Reals, gradient: Gradient) -> tuple[Reals, Reals]:
    """Gradient, and second derivatives by its differences, at a point."""
    step = 0.02
    moves = np.concatenate([np.zeros((1, 3)), step * np.eye(3), -step * np.eye(3)])
    slopes = gradient(place + moves)[1]
    bends = (slopes[1:4] - slopes[4:]) / (2 * step)
    return slopes[0], (bends + bends.T) / 2


DEGREES = {"quick": (29, 41), "normal": (59, 83), "fine": (83, 107)}
"""Degrees of the rules for directions of rays, of hydrogen and of others: 302, 590; 1202, 2354; 2354, 3890 of them."""

_HYDROGEN = 1

_BASINS = Derived[AtomicBasins]("analyses")


def qtaim_basins(wavefunction: Wavefunction, accuracy: str = "normal", device: str | None = None) -> AtomicBasins:
    """Integrate the basins of the density of a molecule.

    Parameters
    ----------
    wavefunction
    accuracy
        quick, normal or fine: 590, 2354 or 3890 rays from each attractor, of hydrogen 302, 1202 or 2354.
    device
        As for `orbitile.evaluate`.

    Returns
    -------
    AtomicBasins
        Those of the atoms in their order, then those of other maxima. Kept with the wavefunction.

    Raises
    ------
    OrbitileError
        For another accuracy, or when nothing attracts electrons.
    """
    molecules_only(wavefunction, "basins", "those that cross the faces of the cell would be cut there")
    if accuracy not in DEGREES:
        raise OrbitileError(f"accuracy: expected {' or '.join(DEGREES)}, got {accuracy!r}")
    return _BASINS.of(wavefunction, accuracy, lambda: _integrated(wavefunction, accuracy, device))


def _integrated(wavefunction: Wavefunction, accuracy: str, device: str | None) -> AtomicBasins:
    device = first_device(device)
    lattice = lattice_about(wavefunction, _LEAST, _SPACING)
    with stage(0.0, 0.1):
        density = compute(wavefunction, "density", lattice, device=device)
    with device_session(device, "single") as target:
        gradient = gradient_of_density(wavefunction, target)
        with stage(0.1, 0.2):
            spheres = with_other_maxima(spheres_about_nuclei(wavefunction, gradient), density, _LEAST, gradient)
            basins = np.flatnonzero(spheres.radius > 0).tolist()
            if not basins:
                raise OrbitileError("basins: the density has no maximum at any atom, so there are no basins")
            quick = quick_paths(finer_densities(wavefunction, density, device), spheres, target)
            cells = cells_of(led_to(density, spheres, gradient), density, gradient, spheres, quick)
            if quick is not None:
                quick = quick.ending_in(cells)
        with stage(0.2, 0.6):
            light = np.isin(basins, np.flatnonzero(wavefunction.atomic_numbers == _HYDROGEN))
            rules = [directions_of(DEGREES[accuracy][0 if one else 1], n) for n, one in zip(basins, light, strict=True)]
            rays = rays_of(basins, spheres, cells, gradient, rules, quick)
        with stage(0.6, 1.0):
            return integrated(wavefunction, spheres, rays, gradient, target)


def led_to(density: Volume, spheres: Spheres, gradient: Gradient) -> Integers:
    """The attractor that the steepest way over points of the lattice leads to from each, -1 where there is too little.

    Directions are those to 26 neighbours alone, so borders are about right only; `cells_of` sees to them.
    """
    from taichi_kernels.ascent import steepest

    values, lattice = density.values, density.lattice
    basin = _within(spheres, lattice)
    flat, whole = values.reshape(-1), basin.reshape(-1)
    inside = flat > _LEAST
    ahead = steepest(values)
    ahead[whole >= 0] = np.flatnonzero(whole >= 0)
    while not np.array_equal(ahead, farther := ahead[ahead]):
        checkpoint()
        ahead = farther
    tops = np.unique(ahead[inside & (whole[ahead] < 0)])
    places = lattice.origin + np.stack(np.unravel_index(tops, lattice.shape), axis=1) * np.asarray(lattice.spacings)
    whole[tops] = attractors_of(places, gradient, spheres)
    return np.where(inside, whole[ahead], np.int32(EMPTY)).reshape(values.shape)


def _within(spheres: Spheres, lattice: Lattice) -> Integers:
    """The sphere that each point of a lattice of cubes is in, the one deepest in where there are two; -1 for none."""
    found, depth = np.full(lattice.shape, -1, np.int32), np.zeros(lattice.shape)
    spacing = float(lattice.spacings.min())
    for n in np.flatnonzero(spheres.radius > 0).tolist():
        centre, reach = (spheres.centre[n] - lattice.origin) / spacing, float(spheres.radius[n]) / spacing
        low = np.clip(np.ceil(centre - reach).astype(int), 0, lattice.shape)
        high = np.clip(np.floor(centre + reach).astype(int) + 1, 0, lattice.shape)
        block = tuple(slice(a, b) for a, b in zip(low, high, strict=True))
        away = np.ix_(*(np.arange(a, b) - c for a, b, c in zip(low, high, centre, strict=True)))
        into = reach - np.sqrt(sum(along**2 for along in away))
        deepest = into > depth[block]
        found[block][deepest], depth[block][deepest] = n, into[deepest]
    return found
