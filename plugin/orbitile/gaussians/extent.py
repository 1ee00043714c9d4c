r"""How far an orbital reaches, before any of it is evaluated: rigorous bounds from its primitives, and estimates.

**Bounds.** One shell on one atom, with monomial coefficients c_m and radial part
:math:`\sum_p d_p e^{-\zeta_p R^2}`, is nowhere larger at distance R or beyond than

.. math::  g(R) = \Big[\sum_m |c_m| \sqrt{i^i j^j k^k / l^l}\Big] \sum_p |d_p| \max_{R' \ge R} R'^l e^{-\zeta_p R'^2}

The first factor bounds the monomials on the unit sphere; the maximum in the second is at
:math:`\max(R, \sqrt{l / 2\zeta_p})`. g falls monotonically, so distances follow by bisection.

**Estimates.** About one atom, with the functions of that atom alone, an orbital is a sum of radial functions times
polynomials, and its density averaged over all directions follows from a few of them. What atoms add up to where they
overlap is not seen here: these are estimates, by which lattices are chosen, and not bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Indices, Reals
from ..model.conventions import cartesian_powers
from .expansion import all_fallen, box_outside_which, runs, starts
from .packing import PackedShells

_FARTHEST = 1e3
"""Reaches are looked for up to this distance in bohr; exponents below 1e-4 bohr^-2 are not in use."""


@dataclass(frozen=True, eq=False)
class ShellEnvelopes:
    """The function g of each shell on each atom.

    Attributes
    ----------
    amplitude : ndarray, shape (n_shells,)
        Bound on the angular factor on the unit sphere; the shells of all atoms in packed order.
    centre : ndarray, shape (n_shells, 3)
        Position of the atom of each, in bohr.
    first_shell : ndarray of int32, shape (n_atoms,)
        First shell of each packed atom.
    first : ndarray of int32, shape (n_shells,)
        First primitive of each shell in the arrays below.
    shell : ndarray, shape (n_primitives,)
        Shell of each primitive.
    exponent, weight, angular_momentum : ndarray, shape (n_primitives,)
    """

    amplitude: Reals
    centre: Reals
    first_shell: NDArray[np.int32]
    first: NDArray[np.int32]
    shell: NDArray[np.intp]
    exponent: Reals
    weight: Reals
    angular_momentum: NDArray[np.int32]

    def at(self, distance: Reals) -> Reals:
        """g of every shell, each at its own distance; both of shape (n_shells,)."""
        l, zeta = self.angular_momentum, self.exponent
        radius = np.maximum(np.maximum(distance, 0)[self.shell], np.sqrt(l / (2 * zeta)))
        value = self.weight * radius**l * np.exp(-zeta * radius**2)
        return self.amplitude * np.add.reduceat(value, self.first)


@lru_cache
def _largest_on_sphere(angular_momentum: int) -> Reals:
    l = angular_momentum
    values = [np.prod([float(p) ** p for p in powers]) / float(l) ** l for powers in cartesian_powers(l)]
    return np.sqrt(np.array(values))


def shell_envelopes(packed: PackedShells, coefficients: Reals) -> ShellEnvelopes:
    """Envelopes of the shells of one orbital, from its packed Cartesian coefficients, shape (n_coefficients,)."""
    n_shells = np.diff(packed.basis_first_shell)[packed.atom_basis]
    shell = runs(packed.basis_first_shell[packed.atom_basis], n_shells)
    momentum = packed.shell_angular_momentum[shell]
    tables = [_largest_on_sphere(int(l)) for l in packed.shell_angular_momentum]
    size = np.array([len(table) for table in tables])
    weights = np.concatenate(tables)[runs(starts(size)[shell], size[shell])]
    count = np.diff(packed.shell_first_primitive)[shell]
    primitive = runs(packed.shell_first_primitive[shell], count)
    return ShellEnvelopes(
        amplitude=np.add.reduceat(np.abs(coefficients) * weights, starts(size[shell])[:-1]),
        centre=np.repeat(packed.atom_position, n_shells, axis=0),
        first_shell=starts(n_shells)[:-1],
        first=starts(count)[:-1],
        shell=np.repeat(np.arange(len(shell)), count),
        exponent=packed.exponent[primitive],
        weight=np.abs(packed.contraction[primitive]),
        angular_momentum=np.repeat(momentum, count),
    )


def shell_reach(envelopes: ShellEnvelopes, tolerance: float) -> Reals:
    """Distances beyond which leaving out every shell changes the orbital by less than a tolerance in all.

    Returns
    -------
    ndarray, shape (n_shells,)
        In bohr.
    """
    n = len(envelopes.amplitude)
    limit = tolerance / n
    high = all_fallen(lambda middle: envelopes.at(middle) > limit, np.zeros(n), np.full(n, _FARTHEST))
    return np.where(envelopes.amplitude > 0, high, 0.0)


def enclosing_box(envelopes: ShellEnvelopes, isovalue: float) -> tuple[Reals, Reals]:
    """Corners (bohr) of a box outside which the orbital is smaller in magnitude than the isovalue, guaranteed."""

    def bound(distance: Reals) -> float:
        return float(envelopes.at(distance).sum())

    return box_outside_which(bound, isovalue, envelopes.centre, before=_FARTHEST, beyond=_FARTHEST)


def encloses(envelopes: ShellEnvelopes, isovalue: float, low: Reals, high: Reals) -> bool:
    """Whether the bound of `enclosing_box` proves an orbital smaller than an isovalue outside a box (bohr).

    The box has to hold the atoms. Six sums, where the search for a box takes hundreds.
    """
    inside = np.all(low <= envelopes.centre) and np.all(envelopes.centre <= high)
    distances = np.concatenate([(high - envelopes.centre).T, (envelopes.centre - low).T])
    return bool(inside) and all(float(envelopes.at(distance).sum()) <= isovalue for distance in distances)


# ---- estimates

_RATIO = 1.2
"""Ratio of neighbouring radii."""

_INNERMOST, _OUTERMOST = 0.3, 6.0
"""Radii run from and to these multiples of the widths of the tightest and of the most diffuse primitive of an atom."""

_DIRECTIONS = 40
_SMALLER = 0.05
"""Share of an orbital that may be on atoms where it is smaller than what is called its radius."""


@dataclass(frozen=True, eq=False)
class RadialTables:
    """Of each distinct basis: radii, radial functions of its shells, and polynomials along some directions.

    Attributes
    ----------
    radii : list of ndarray, shape (n_radii,)
        In bohr.
    radial : list of ndarray, shape (n_radii, n_shells)
        Radial parts, the power of the radius included.
    angular : list of ndarray, shape (n_coefficients, n_directions)
        Monomials on the unit sphere.
    first : list of ndarray, shape (n_shells,)
        First coefficient of each shell.
    """

    radii: list[Reals]
    radial: list[Reals]
    angular: list[Reals]
    first: list[Indices]


@dataclass(frozen=True, eq=False)
class Spread:
    """Shells of space about the atoms and what an orbital has there, from small to large density.

    Attributes
    ----------
    density : ndarray, shape (n,)
        Largest along any direction, in bohr^-3, ascending.
    weight : ndarray, shape (n,)
        Integral of the density over each.
    radius : ndarray, shape (n,)
        In bohr.
    atom : ndarray, shape (n,)
        Packed atom about which it is.
    position : ndarray, shape (n_atoms, 3)
        Of the packed atoms, in bohr.
    """

    density: Reals
    weight: Reals
    radius: Reals
    atom: Indices
    position: Reals

    def isovalue(self, share: float) -> float:
        """Estimate of the magnitude at whose surface a share of the orbital is enclosed, in bohr^-3/2."""
        outside = np.cumsum(self.weight)
        return float(np.sqrt(self.density[np.searchsorted(outside, (1 - share) * outside[-1])]))

    def box(self, left_out: float) -> tuple[Reals, Reals]:
        """Corners of a box in bohr that holds all but a share of the orbital."""
        outside = np.cumsum(self.weight)
        kept = slice(int(np.searchsorted(outside, left_out * outside[-1])), None)
        centre, radius = self.position[self.atom[kept]], self.radius[kept, None]
        return (centre - radius).min(axis=0), (centre + radius).max(axis=0)

    def atoms(self, left_out: float) -> Indices:
        """Packed atoms with the largest weights, which carry all but a share of the orbital; the largest first."""
        weights = np.bincount(self.atom, self.weight, len(self.position))
        order = np.argsort(-weights)
        return order[: 1 + int(np.searchsorted(np.cumsum(weights[order]), (1 - left_out) * weights.sum()))]

    def range(self, atom: int, left_out: float) -> tuple[float, float]:
        """Radii in bohr about an atom, between which all but a share of the orbital there is."""
        mine = self.atom == atom
        order = np.argsort(self.radius[mine])
        radius, held = self.radius[mine][order], np.cumsum(self.weight[mine][order])
        low, high = np.searchsorted(held / held[-1], [left_out, max(left_out, 1 - left_out)])
        return float(radius[max(low - 1, 0)]), float(radius[min(high + 1, len(radius) - 1)])

    def radius_at(self, isovalue: float) -> float:
        """Estimate of the distance from an atom to the surface of an isovalue, in bohr; infinite where there is none.

        Of the smallest atom, but for those which together carry `_SMALLER` of the orbital.
        """
        inside = int(np.searchsorted(self.density, isovalue**2))
        if inside == len(self.density):
            return np.inf
        radius, weight = (np.zeros(len(self.position)) for _ in range(2))
        np.maximum.at(radius, self.atom[inside:], self.radius[inside:])
        np.add.at(weight, self.atom[inside:], self.weight[inside:])
        order = np.argsort(radius)
        held = np.cumsum(weight[order])
        return float(radius[order][np.searchsorted(held, _SMALLER * held[-1], side="right")])


def radial_tables(packed: PackedShells) -> RadialTables:
    """Tables of the distinct bases."""
    along = directions(_DIRECTIONS)
    tables = RadialTables([], [], [], [])
    for begin, end in zip(packed.basis_first_shell[:-1], packed.basis_first_shell[1:], strict=True):
        momenta = packed.shell_angular_momentum[begin:end]
        primitives = packed.shell_first_primitive[begin : end + 1]
        exponents = packed.exponent[primitives[0] : primitives[-1]]
        nearest, farthest = _INNERMOST / np.sqrt(exponents.max()), _OUTERMOST / np.sqrt(exponents.min())
        r = np.geomspace(nearest, farthest, 2 + int(np.log(farthest / nearest) / np.log(_RATIO)))
        with np.errstate(under="ignore"):
            terms = packed.contraction[primitives[0] : primitives[-1]] * np.exp(-np.outer(r * r, exponents))
        tables.radii.append(r)
        tables.radial.append(np.add.reduceat(terms, primitives[:-1] - primitives[0], axis=1) * r[:, None] ** momenta)
        powers = [np.array(cartesian_powers(int(l))).reshape(-1, 3) for l in momenta]
        tables.angular.append(np.prod(along[None] ** np.concatenate(powers)[:, None], axis=2))
        tables.first.append(np.cumsum([0, *(len(of_shell) for of_shell in powers[:-1])]))
    return tables


def spread_of(packed: PackedShells, tables: RadialTables, coefficients: Reals) -> Spread:
    """Spread of one orbital, from its packed Cartesian coefficients, shape (n_coefficients,).

    Of an orbital in several parts, whose squares add up, they have the shape (n_coefficients, n_parts).
    """
    density, weight, radius, atom = [], [], [], []
    for basis, (r, radial, angular, first) in enumerate(
        zip(tables.radii, tables.radial, tables.angular, tables.first, strict=True)
    ):
        atoms = np.flatnonzero(packed.atom_basis == basis)
        rows = packed.atom_first_coefficient[atoms][:, None] + np.arange(len(angular))
        parts = coefficients.reshape(len(coefficients), -1).T
        along = [np.add.reduceat(part[rows][:, :, None] * angular, first, axis=1) for part in parts]
        square = np.sum([(radial @ of_part) ** 2 for of_part in along], axis=0)
        shell = 4 * np.pi * np.log(r[1] / r[0]) * r**3
        density.append(square.max(axis=2).ravel())
        weight.append((square.mean(axis=2) * shell).ravel())
        radius.append(np.tile(r, len(atoms)))
        atom.append(np.repeat(atoms, len(r)))
    densities, everywhere = np.concatenate(density), np.concatenate(atom)
    order = np.argsort(densities)
    return Spread(
        densities[order],
        np.concatenate(weight)[order],
        np.concatenate(radius)[order],
        everywhere[order],
        packed.atom_position,
    )


def directions(n: int) -> Reals:
    """Directions that stand for equal parts of the sphere: a spiral of golden angles."""
    z = (2 * np.arange(n) + 1) / n - 1
    angle = np.pi * (3 - np.sqrt(5)) * np.arange(n)
    across = np.sqrt(1 - z * z)
    return np.stack([across * np.cos(angle), across * np.sin(angle), z], axis=1)
