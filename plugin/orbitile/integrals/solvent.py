r"""A molecule in a solvent: a cavity in a conductor, by apparent charges on its surface (C-PCM).

The surface is that of spheres about the atoms. On each sphere lie the points of a rule of V. I. Lebedev, with areas
:math:`w_i R^2`, and at each point a Gaussian charge of the exponent :math:`\zeta_i^2`,

.. math::  q_i \left(\zeta_i^2/\pi\right)^{3/2} e^{-\zeta_i^2 |r - r_i|^2}, \qquad \zeta_i = \xi / (R \sqrt{w_i}).

A point fades as it comes into another sphere, by a switching function F from 1 to 0, so that the energy is a smooth
function of the positions of the atoms (A. W. Lange and J. M. Herbert, J. Chem. Phys. 2010, 133, 244111):

.. math::  F_i = \prod_J h\left(\frac{|r_i - R_J| - R_{in,J}}{R_{sw,J}}\right), \qquad h(x) = x^3 (10 - 15 x + 6 x^2).

The potential V of nuclei and electrons, averaged over these Gaussians, is answered by the charges (M. Cossi, N. Rega,
G. Scalmani and V. Barone, J. Comput. Chem. 2003, 24, 669; V. Barone and M. Cossi, J. Phys. Chem. A 1998, 102, 1995)

.. math::  S q = -\frac{\epsilon - 1}{\epsilon} V, \qquad S_{ij} = \frac{\mathrm{erf}(\zeta_{ij} r_{ij})}{r_{ij}},
    \quad \zeta_{ij} = \frac{\zeta_i \zeta_j}{\sqrt{\zeta_i^2 + \zeta_j^2}}, \qquad
    S_{ii} = \frac{\zeta_i \sqrt{2/\pi}}{F_i},

the energy of solvation is :math:`\tfrac12 q \cdot V`, and its derivative with respect to the density is the potential
of the charges. When atoms move, it changes by :math:`q \cdot dV + \tfrac12 \frac{\epsilon}{\epsilon - 1}\, q^T dS\, q`.
Off the diagonal S is the Coulomb interaction of the Gaussian charges, so that a point feels the field of electrons,
nuclei and the other charges alike.

All of it is linear in the density that causes it, which may be a change of the density.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import cdist
from scipy.special import erf

from taichi_kernels.target import Target

from ..base.arrays import Reals
from ..base.caches import Cache
from ..base.errors import OrbitileError
from ..base.memory import require_memory, share
from ..base.watch import checkpoint
from ..model.elements import SYMBOLS, VAN_DER_WAALS_RADII
from ..model.units import angstrom
from .coulomb import TOLERANCE, coulomb_values
from .forces import gradient_at_centres, norms_of_derivatives, to_gradient
from .grids import lebedev_directions
from .hermite_list import HermiteList, point_charges
from .pairs import Pairs, to_hermite

_SCALE = 1.2
"""Radii of the spheres in van der Waals radii: usual for this model."""

_DEGREE, _XI = 29, 4.90498088169
"""Rule of a sphere, of 302 points, and the width of their charges with which the sphere has the energy of Born (D. M.
York and M. Karplus, J. Phys. Chem. A 1999, 103, 11060; B. A. Gregersen and D. M. York, J. Chem. Phys. 2005, 122,
194110)."""

_LEAST = 1e-16
"""Switching function times weight of a point that is left out."""

_LEFT_OUT = 1e-9
"""What leaving out integrals may cost the potential at a point, and an element of a matrix, in hartree."""

_ELEMENTS = share("matrix", 8)
"""Elements of S that are computed at once."""


@dataclass(frozen=True, eq=False)
class Cavity:
    """Points on the surface about a molecule, and the dielectric around it.

    Attributes
    ----------
    dielectric : float
        Relative permittivity of the solvent.
    points : ndarray, shape (n_points, 3)
        In bohr; they move with their atoms.
    widths : ndarray, shape (n_points,)
        zeta of the Gaussian charges, in bohr^-1.
    switching : ndarray, shape (n_points,)
        F, from 0 to 1.
    areas : ndarray, shape (n_points,)
        In bohr^2, F among them.
    atom : ndarray of int32, shape (n_points,)
    slopes : tuple of (ndarray of int, ndarray of int, ndarray)
        Points, atoms in whose spheres they fade, and the derivatives of ln F when the point moves; shapes (n,), (n,),
        (n, 3), in bohr^-1. When the atom moves they are the opposite.
    """

    dielectric: float
    points: Reals
    widths: Reals
    switching: Reals
    areas: Reals
    atom: NDArray[np.int32]
    slopes: tuple[NDArray[np.intp], NDArray[np.intp], Reals]

    @cached_property
    def gaussians(self) -> HermiteList:
        """The charges as Gaussians of degree 0."""
        return HermiteList(self.points, self.widths**2, np.zeros(len(self.points), np.int32))

    @cached_property
    def unit_charges(self) -> Reals:
        """Coefficients of Gaussians that hold a charge of 1 e each, shape (n_points,)."""
        return (self.widths**2 / np.pi) ** 1.5

    @property
    def screening(self) -> float:
        """What the dielectric answers with, as a share of a conductor."""
        return 1 - 1 / self.dielectric

    @cached_property
    def factor(self) -> tuple[Reals, bool]:
        """Cholesky factor of S, as SciPy has it; 8 bytes for each pair of points."""
        n = len(self.points)
        require_memory(8 * n * n, f"the cavity of {n} points", "compute the molecule in vacuum, or a smaller one")
        matrix = np.zeros((n, n))
        step = max(1, _ELEMENTS // n)
        for first in range(0, n, step):
            checkpoint()
            rows, end = slice(first, first + step), min(first + step, n)
            # points of two spheres may be at one place
            distance = np.maximum(cdist(self.points[rows], self.points[:end]), 1e-10)
            a, b = self.widths[rows, None], self.widths[:end]
            matrix[rows, :end] = erf(a * b / np.sqrt(a**2 + b**2) * distance) / distance
        np.fill_diagonal(matrix, self._diagonal)
        return cho_factor(matrix.T, lower=False, overwrite_a=True, check_finite=False)

    @property
    def _diagonal(self) -> Reals:
        return self.widths * np.sqrt(2 / np.pi) / self.switching

    def charges(self, potential: Reals) -> Reals:
        """The apparent charges that answer a potential in hartree/e at the points, shape (n_points,), in e."""
        return -self.screening * cho_solve(self.factor, potential, check_finite=False)

    def fading_gradient(self, charges: Reals, n_atoms: int) -> Reals:
        """Derivatives of the energy by the switching function alone, shape (n_atoms, 3), in hartree/bohr."""
        point, atom, slope = self.slopes
        moved = (-0.5 / self.screening * self._diagonal * charges**2)[point, None] * slope
        result = np.zeros((n_atoms, 3))
        np.add.at(result, self.atom[point], moved)
        np.add.at(result, atom, -moved)
        return result


_CAVITIES = Cache[Cavity]("pairs of functions")


def cavity_of(atomic_numbers: NDArray[np.integer], positions: Reals, dielectric: float) -> Cavity:
    """Make the cavity of a molecule.

    Parameters
    ----------
    atomic_numbers : ndarray of int, shape (n_atoms,)
        0 for ghosts, which have no sphere.
    positions : ndarray, shape (n_atoms, 3)
        In bohr.
    dielectric
        Relative permittivity of the solvent, more than 1.

    Raises
    ------
    OrbitileError
        Where an element has no van der Waals radius, and when the cavity does not fit into memory.
    """

    def make() -> Cavity:
        cavity = _cavity(atomic_numbers, positions, dielectric)
        _ = cavity.factor  # most of its bytes, which are counted when it is kept
        return cavity

    return _CAVITIES.of((atomic_numbers.tobytes(), positions.tobytes(), dielectric), make)


def without_radius(atomic_numbers: NDArray[np.integer]) -> str:
    """Why there is no cavity: elements without a van der Waals radius; empty where all have one."""
    symbols = [SYMBOLS[number] for number in np.unique(atomic_numbers[atomic_numbers > 0]).tolist()]
    missing = ", ".join(symbol for symbol in symbols if symbol not in VAN_DER_WAALS_RADII)
    return f"no van der Waals radius of {missing} is known for the cavity in the solvent" if missing else ""


def _cavity(atomic_numbers: NDArray[np.integer], positions: Reals, dielectric: float) -> Cavity:
    if missing := without_radius(atomic_numbers):
        raise OrbitileError(f"{missing}; compute the molecule in vacuum")
    atoms = np.flatnonzero(atomic_numbers > 0)
    radii = np.array([_SCALE * angstrom * VAN_DER_WAALS_RADII[SYMBOLS[n]] for n in atomic_numbers[atoms].tolist()])
    rule, weights = lebedev_directions(_DEGREE)
    # R_sw and R_in of the source, in radii
    width = np.sqrt(14 / len(weights))
    inner = 1 - width * (0.5 + 1 / width - np.sqrt(1 / width**2 - 1 / 28))
    parts: list[tuple[NDArray[Any], ...]] = []
    n_points = 0
    for own, (atom, radius) in enumerate(zip(atoms, radii, strict=True)):
        points = positions[atom] + radius * rule
        apart = points[:, None] - positions[atoms]
        distance = np.linalg.norm(apart, axis=2)
        depth = (distance - inner * radii) / (width * radii)
        depth[:, own] = 1.0
        depth = np.clip(np.where(depth < 1e-8, 0.0, depth), 0.0, 1.0)
        steps = depth**3 * (10 - 15 * depth + 6 * depth**2)
        switching = steps.prod(axis=1)
        kept = np.flatnonzero(weights * switching > _LEAST)
        point, other = np.nonzero(depth[kept] < 1)
        fading, there = (kept[point], other), depth[kept[point], other]
        slope = 30 * (there * (1 - there)) ** 2 / (steps[fading] * distance[fading] * width * radii[other])
        parts.append(
            (
                points[kept],
                _XI / (radius * np.sqrt(weights[kept])),
                switching[kept],
                weights[kept] * radius**2 * switching[kept],
                np.full(len(kept), atom, np.int32),
                point + n_points,
                atoms[other],
                slope[:, None] * apart[fading],
            )
        )
        n_points += len(kept)
    points, widths, switching, areas, of_atom, *slopes = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return Cavity(dielectric, points, widths, switching, areas, of_atom, (slopes[0], slopes[1], slopes[2]))


@dataclass(frozen=True, eq=False)
class ReactionField:
    """What a solvent answers to a density; fields of several densities add up.

    Attributes
    ----------
    potential : ndarray, shape (n_points,)
        Of the density at the points of the cavity, in hartree/e.
    charges : ndarray, shape (n_points,)
        Apparent charges in e.
    values : ndarray, shape (n_coefficients,)
        Integrals of the potential of the charges with the Hermite Gaussians of a list, for electrons, in hartree.
    """

    potential: Reals
    charges: Reals
    values: Reals

    @property
    def energy(self) -> float:
        """Energy of solvation in hartree, where the potential is that of nuclei and electrons."""
        return 0.5 * float(self.charges @ self.potential)

    def __add__(self, other: ReactionField) -> ReactionField:
        return ReactionField(self.potential + other.potential, self.charges + other.charges, self.values + other.values)


def reaction_field(
    cavity: Cavity, pairs: Pairs, gaussians: HermiteList, coefficients: Reals, target: Target
) -> ReactionField:
    """The answer of a solvent to a density of electrons.

    Parameters
    ----------
    cavity
        Of the molecule.
    pairs
        Of its basis set.
    gaussians, coefficients
        The density and its Hermite coefficients, in electrons: nuclei count less than nothing.
    target
        The device of the current session, and the precision, as for `coulomb_values`. Single: the potential at a point
        is right to some 3e-8 hartree/e.
    """
    potential = potential_at(cavity, gaussians, coefficients, target)
    charges = cavity.charges(potential)
    return ReactionField(potential, charges, _values(cavity, charges, pairs.list, pairs.bound, target))


def apparent_charges(
    cavity: Cavity, gaussians: HermiteList, electrons: Reals, nuclei: Reals, positions: Reals, target: Target
) -> tuple[Reals, float]:
    """The charges that answer a molecule, shape (n_points,) in e, and its energy of solvation in hartree.

    Parameters
    ----------
    cavity
        Of the molecule.
    gaussians, electrons
        The density of the electrons, and its Hermite coefficients.
    nuclei, positions
        Charges of the nuclei in e, and positions of the atoms in bohr.
    target
        As for `reaction_field`.
    """
    potential = potential_at(cavity, gaussians, electrons, target)
    potential += potential_at(cavity, *point_charges(-nuclei, positions), target)
    charges = cavity.charges(potential)
    return charges, 0.5 * float(charges @ potential)


def potential_at(cavity: Cavity, gaussians: HermiteList, coefficients: Reals, target: Target) -> Reals:
    """Potential of a density of electrons at the points of a cavity, shape (n_points,), in hartree/e."""
    unit = cavity.unit_charges
    bound = unit * cavity.gaussians.coulomb_norms
    limit = min(_LEFT_OUT, TOLERANCE[target.precision])
    values = coulomb_values(cavity.gaussians, gaussians, coefficients, target, tolerance=limit, bra_bound=bound)
    return -unit * values


def _values(cavity: Cavity, charges: Reals, bras: HermiteList, bound: Reals, target: Target) -> Reals:
    """Integrals of the potential of the charges, for electrons."""
    limit = min(_LEFT_OUT, TOLERANCE[target.precision])
    coefficients = -cavity.unit_charges * charges
    return coulomb_values(bras, cavity.gaussians, coefficients, target, tolerance=limit, bra_bound=bound)


def solvation_gradient(
    cavity: Cavity, pairs: Pairs, density: Reals, nuclei: Reals, positions: Reals, target: Target
) -> Reals:
    """Derivatives of the energy of solvation when atoms move with their basis functions, at a fixed density matrix.

    Parameters
    ----------
    cavity
        Of the molecule.
    pairs
        Of its basis set.
    density : ndarray, shape (n_basis, n_basis)
        Density matrix of all electrons.
    nuclei, positions
        Charges of the nuclei in e, and positions of the atoms in bohr.
    target
        The device of the current session.

    Returns
    -------
    ndarray, shape (n_atoms, 3)
        In hartree/bohr.
    """
    hermite = to_hermite(pairs, density, target)
    cores = point_charges(-nuclei, positions)
    charges, _ = apparent_charges(cavity, pairs.list, hermite, nuclei, positions, target)
    bound = norms_of_derivatives(pairs.list, hermite)
    result = to_gradient(pairs, density, _values(cavity, charges, pairs.list.raised, bound, target))
    # as densities of electrons
    own = cavity.gaussians, -cavity.unit_charges * charges
    result += gradient_at_centres(*cores, *own, target)
    for gaussians, coefficients in ((pairs.list, hermite), cores, (own[0], own[1] / cavity.screening)):
        np.add.at(result, cavity.atom, gradient_at_centres(*own, gaussians, coefficients, target))
    return result + cavity.fading_gradient(charges, len(result))
