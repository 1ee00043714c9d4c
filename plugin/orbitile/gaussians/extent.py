r"""How far an orbital spreads about its atoms, before any of it is evaluated.

About one atom, with the functions of that atom alone, an orbital is a sum of radial functions times polynomials, and
its density averaged over all directions follows from a few of them. What atoms add up to where they overlap is not seen
here: these are estimates, by which lattices are chosen, and not bounds (those are in `bounds`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..model.conventions import cartesian_powers
from .packing import PackedShells

Reals = NDArray[np.float64]

_RATIO = 1.2
"""Of neighbouring radii."""

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
    first: list[NDArray[np.intp]]


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
    atom: NDArray[np.intp]
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

    def atoms(self, left_out: float) -> NDArray[np.intp]:
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
