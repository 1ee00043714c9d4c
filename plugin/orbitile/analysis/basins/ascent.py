r"""Where paths of steepest ascent of the density end.

The paths are integrated by their length,

.. math::  \frac{dx}{ds} = \frac{\nabla\rho}{|\nabla\rho|}

with the pair of orders 3 and 2 of P. Bogacki and L. F. Shampine (Appl. Math. Lett. 1989, 2, 321), each path with steps
of its own, all of them at once. A path ends where it enters a sphere in which nothing but one attractor can be reached.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from taichi_kernels.target import Target

from ...base.arrays import Indices, Reals
from ...base.memory import share
from ...base.watch import checkpoint
from ...integrals.grids import Grid
from ...integrals.hermite_map import to_hermite
from ...integrals.pairs import pairs_of
from ...integrals.quadrature import quadrature_of
from ...model.wavefunction import Wavefunction
from .._quadrature import density_matrix

if TYPE_CHECKING:
    from scipy.spatial import KDTree

Gradient = Callable[[Reals], tuple[Reals, Reals]]
"""Takes points, shape (n, 3), to values and gradients there, shapes (n,) and (n, 3)."""

_AT_ONCE = share("lists", 128)
"""Points that are evaluated at once; some 100 bytes each."""

_FIRST, _LONGEST, _SHORTEST, _STEPS = 0.15, 0.7, 0.01, 300
"""Steps in bohr, and how many a path may take."""

_TOLERANCE = 3e-4
"""Error of a step in bohr."""

_NEAREST = 8
"""Spheres that are looked at for each point: they do not overlap, but a large one may be farther than small ones."""


def gradient_of_density(wavefunction: Wavefunction, target: Target) -> Gradient:
    """The density and its gradient at many points, on the device of the current session.

    Terms are summed as those of a quadrature are, with an error of some 1e-6 of the gradient in single precision.

    Raises
    ------
    FieldError
        When there are no occupied orbitals.
    """
    pairs = pairs_of(wavefunction)
    coefficients = to_hermite(pairs, density_matrix(wavefunction), target)

    def of(points: Reals) -> tuple[Reals, Reals]:
        values = np.empty((len(points), 4))
        for first in range(0, len(points), _AT_ONCE):
            some = np.array(points[first : first + _AT_ONCE])
            # the number of a point stands where that of its atom would: the quadrature has an order of its own
            grid = Grid(some, np.ones(len(some)), np.arange(len(some), dtype=np.int32))
            quadrature = quadrature_of(pairs, grid, target)
            values[first + quadrature.atom] = quadrature.density(coefficients, gradient=True).T
        return values[:, 0], values[:, 1:]

    return of


@dataclass(frozen=True, eq=False)
class Spheres:
    """Spheres about attractors into which all paths lead, and out of which none does.

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

    @cached_property
    def _tree(self) -> KDTree:
        from scipy.spatial import KDTree

        return KDTree(self.centre)

    def around(self, points: Reals) -> Indices:
        """Which sphere each point is in, -1 for none; shape (n_points,)."""
        k = min(_NEAREST, len(self))
        distance, which = self._tree.query(points, k=np.arange(1, k + 1))
        inside = distance < self.radius[which]
        found = np.take_along_axis(which, inside.argmax(axis=1)[:, None], axis=1)[:, 0]
        return np.where(inside.any(axis=1), found, -1)

    def nearest(self, points: Reals) -> Indices:
        """The sphere that is nearest to each point by its centre, of those that attract; shape (n_points,)."""
        from scipy.spatial import KDTree

        attracting = np.flatnonzero(self.radius > 0)
        return np.asarray(attracting[KDTree(self.centre[attracting]).query(points)[1]], np.intp)


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
        lost = ended[(found[ended] < 0) & (age[ended] > _STEPS)]
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
        step[going] = np.where(age[going] == 0, _FIRST, np.clip(h[:, 0] * factor, _SHORTEST, _LONGEST))
        age[going] += 1
    return found


def _directions(gradient: Gradient, points: Reals) -> Reals:
    slopes = gradient(points)[1]
    return slopes / np.maximum(np.linalg.norm(slopes, axis=1), 1e-300)[:, None]
