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

from ..model.wavefunction import Basis, Wavefunction
from .coulomb import coulomb_values
from .exchange_correlation import exchange_correlation
from .functionals import Functional
from .hermite_gradient import kinetic_gradient, to_gradient
from .hermite_list import HermiteList, point_charges
from .hermite_map import to_hermite
from .one_electron import integrals_over_space
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
    fields = exchange_correlation(quadrature, hermite, functional, raised=True).values
    field = electrostatic_field(pairs.list, hermite, charges, basis.positions, target)
    result = kinetic_gradient(basis, np.sum(densities, axis=0))
    for matrix, own in zip(densities, fields, strict=True):
        result += to_gradient(pairs, matrix, field + own)
    result -= to_gradient(pairs, weighted, integrals_over_space(pairs.list.raised()))
    result += gradient_at_nuclei(pairs.list, np.sum(hermite, axis=0), charges, basis.positions, target)
    return result + repulsion_gradient(charges, basis.positions)


def electrostatic_field(
    gaussians: HermiteList, hermite: Sequence[Reals], charges: Reals, positions: Reals, target: Target
) -> Reals:
    """Integrals of the potential of electrons and nuclei with the raised list, for electrons.

    Parameters
    ----------
    gaussians
        The list.
    hermite
        Densities on it, which add up to that of all electrons; each (n_coefficients,).
    charges, positions
        Of the nuclei.
    target
        The device of the current session.

    Returns
    -------
    ndarray, shape (n_coefficients of the raised list,)
        In hartree; exact enough for the derivatives of the energy of these densities.
    """
    raised = gaussians.raised()
    bound = _norms_of_derivatives(gaussians, np.sum(np.abs(hermite), axis=0))
    nuclei, coefficients = point_charges(charges, positions)
    electrons = coulomb_values(raised, gaussians, np.sum(hermite, axis=0), target, bra_bound=bound)
    return electrons - coulomb_values(raised, nuclei, coefficients, target, bra_bound=bound)


def _norms_of_derivatives(gaussians: HermiteList, coefficients: Reals) -> Reals:
    r"""What the derivatives of a density, one Gaussian after the other, have as Coulomb norms; hartree^(1/2)/bohr.

    When P moves by itself, by the triangle inequality over the orders. What moves within a pair, with factors up to
    :math:`2\alpha\beta/z\, |AB|` in place of :math:`\sqrt z`, is no more than some times as much.
    """
    raised = gaussians.raised()
    norms = raised.coulomb_norms()
    result = np.empty(len(gaussians))
    for block, above in zip(gaussians.blocks, raised.blocks, strict=True):
        place = {order: n for n, order in enumerate(above.orders)}
        steps = [[place[t + 1, u, v], place[t, u + 1, v], place[t, u, v + 1]] for t, u, v in block.orders]
        largest = above.of(norms)[:, np.array(steps)].max(axis=2)
        result[block.rows] = (np.abs(block.of(coefficients)) * largest).sum(axis=1)
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
    raised, bound = nuclei.raised(), _norms_of_derivatives(nuclei, coefficients)
    values = raised.blocks[0].of(coulomb_values(raised, gaussians, density, target, bra_bound=bound))
    orders = raised.blocks[0].orders
    along = [orders.index(order) for order in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]
    return -coefficients[:, None] * values[:, along]


def repulsion_gradient(charges: Reals, positions: Reals) -> Reals:
    """Derivatives of the repulsion of the nuclei, shape (n_atoms, 3), in hartree/bohr."""
    products = np.outer(charges, charges)
    np.fill_diagonal(products, 0.0)
    apart = positions[:, None] - positions
    cubes = np.linalg.norm(apart, axis=2) ** 3
    strength = np.divide(products, cubes, out=np.zeros_like(products), where=products != 0)
    return -np.einsum("ab,abk->ak", strength, apart)
