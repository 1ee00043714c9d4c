r"""Derivatives of the Kohn-Sham energy with respect to the positions of the atoms.

When atoms move and the orbitals stay orthonormal, the energy changes as if the density matrix D stayed as it is, but
for the overlaps S (P. Pulay, Mol. Phys. 1969, 17, 197):

.. math::  \frac{dE}{dR} = \mathrm{Tr}\, D \frac{\partial T}{\partial R}
    + \int \frac{\partial \rho}{\partial R} \left(\phi_N + \phi_\rho + v_{xc}\right)
    + \int \rho\, \frac{\partial \phi_N}{\partial R} + \frac{\partial V_{NN}}{\partial R}
    - \mathrm{Tr}\, W \frac{\partial S}{\partial R}, \qquad W = \sum_i n_i \epsilon_i C_i C_i^T

All fields are values on the raised list, so that the second term is one sum over it. The points of the quadrature are
held where they are, with their weights.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.target import Target

from ..model.basis import Basis
from ..model.wavefunction import Wavefunction
from .coulomb import coulomb_values
from .functionals import Functional
from .hermite_gradient import kinetic_gradient, to_gradient
from .hermite_list import HermiteList, point_charges
from .hermite_map import to_hermite
from .one_electron import integrals_over_space
from .pairs import Pairs
from .quadrature import Quadrature

Reals = NDArray[np.float64]


def kohn_sham_gradient(
    basis: Basis | Wavefunction,
    charges: Reals,
    densities: Sequence[Reals],
    weighted: Reals,
    quadrature: Quadrature,
    functional: Functional,
    target: Target,
) -> Reals:
    """Derivatives of the energy of orbitals that are stationary, or at least orthonormal.

    Parameters
    ----------
    basis
        Shells and positions.
    charges : ndarray, shape (n_atoms,)
        Of the nuclei, in e.
    densities
        Density matrix of all electrons, or of those of spin alpha and of spin beta; each (n_basis, n_basis).
    weighted : ndarray, shape (n_basis, n_basis)
        W, the density matrix with the energies of the orbitals in hartree, of both spins.
    quadrature
        Of the pairs of the basis set.
    functional
        Of exchange and correlation.
    target
        The device of the current session.

    Returns
    -------
    ndarray, shape (n_atoms, 3)
        In hartree/bohr.
    """
    pairs = quadrature.pairs
    hermite = [to_hermite(pairs, matrix, target) for matrix in densities]
    density = np.sum(hermite, axis=0)
    field = electrostatic_field(pairs, density, charges, basis.positions, target)
    fields = exchange_correlation_field(quadrature, hermite, functional, target)
    result = kinetic_gradient(basis, np.sum(densities, axis=0))
    for matrix, own in zip(densities, fields, strict=True):
        result += to_gradient(pairs, matrix, field + own)
    result -= to_gradient(pairs, weighted, integrals_over_space(pairs.list.raised()))
    result += gradient_at_nuclei(pairs.list, density, charges, basis.positions, target)
    return result + repulsion_gradient(charges, basis.positions)


def electrostatic_field(pairs: Pairs, density: Reals, charges: Reals, positions: Reals, target: Target) -> Reals:
    """Integrals of the potential of electrons and nuclei with the raised list, in hartree for coefficients of 1.

    Parameters
    ----------
    pairs
        Of the basis set.
    density : ndarray, shape (n_coefficients,)
        On their list.
    charges, positions
        Of the nuclei.
    target
        The device of the current session.
    """
    raised = pairs.list.raised()
    nuclei, coefficients = point_charges(charges, positions)
    electrons = coulomb_values(raised, pairs.list, density, target)
    result: Reals = electrons - coulomb_values(raised, nuclei, coefficients, target)
    return result


def gradient_at_nuclei(
    gaussians: HermiteList, density: Reals, charges: Reals, positions: Reals, target: Target
) -> Reals:
    """Derivatives of the attraction of nuclei and a density when the nuclei alone move, shape (n_atoms, 3).

    Parameters
    ----------
    gaussians
        The list.
    density : ndarray, shape (n_coefficients,)
        On it.
    charges, positions
        Of the nuclei.
    target
        The device of the current session.
    """
    nuclei, coefficients = point_charges(charges, positions)
    raised = nuclei.raised()
    values = raised.blocks[0].of(coulomb_values(raised, gaussians, density, target))
    orders = raised.blocks[0].orders
    along = [orders.index(order) for order in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]
    result: Reals = -coefficients[:, None] * values[:, along]
    return result


def repulsion_gradient(charges: Reals, positions: Reals) -> Reals:
    """Derivatives of the repulsion of the nuclei, shape (n_atoms, 3), in hartree/bohr."""
    apart = positions[:, None] - positions
    squares = (apart**2).sum(axis=2)
    np.fill_diagonal(squares, np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        strength = np.where(np.outer(charges, charges) == 0, 0.0, np.outer(charges, charges) / squares**1.5)
    result: Reals = -np.einsum("ab,abk->ak", strength, apart)
    return result
