r"""Energy and Fock matrices of Kohn-Sham density functional theory without exact exchange, from one list of Gaussians.

With :math:`H = T(D)` the density on the list of Hermite Gaussians, the potential of the electrons and that of exchange
and correlation are numbers v on the same list; both become a matrix at once, :math:`F = h + T^*(v_J + v_{xc})`, and

.. math::  E = \operatorname{Tr} D h + \tfrac12 H \cdot v_J + E_{xc} + E_{nn}.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

from taichi_kernels.target import Target

from ..integrals.coulomb import coulomb_values
from ..integrals.exchange_correlation import exchange_correlation
from ..integrals.functionals import Functional
from ..integrals.grids import grid_of
from ..integrals.hermite_list import HermiteList, point_charges
from ..integrals.hermite_map import to_hermite, to_matrix
from ..integrals.one_electron import kinetic, overlap
from ..integrals.pairs import pairs_of
from ..integrals.quadrature import quadrature_of
from ..model.basis import Basis
from .kohn_sham import Fock

Reals = NDArray[np.float64]


class Hamiltonian:
    """The operator of a molecule.

    Parameters
    ----------
    atomic_numbers : ndarray of int, shape (n_atoms,)
        0 for ghosts.
    basis : Basis
    functional : Functional
    target : Target
        The device of the current session. In single precision elements of Fock matrices are right to 2e-6 hartree, in
        double precision to 1e-9.
    level : int
        Of the grid.

    Attributes
    ----------
    overlap : ndarray, shape (n_basis, n_basis)
    """

    def __init__(
        self, atomic_numbers: NDArray[np.int64], basis: Basis, functional: Functional, target: Target, level: int
    ) -> None:
        self._numbers, self._basis, self._functional, self._target = atomic_numbers, basis, functional, target
        self._pairs = pairs_of(basis)
        self.overlap = overlap(self._pairs, target)
        charges = atomic_numbers.astype(np.float64)
        attraction = self._coulomb_values(*point_charges(-charges, basis.positions))
        self._core = kinetic(basis, target) + to_matrix(self._pairs, attraction, target)
        self._repulsion = nuclear_repulsion(charges, basis.positions)
        self._hermite = np.zeros(self._pairs.list.n_coefficients)
        self._coulomb = np.zeros_like(self._hermite)
        self.use_grid(level)

    def use_grid(self, level: int) -> None:
        """Change the level of the grid."""
        grid = grid_of(self._numbers, self._basis.positions, self._target, level)
        self._quadrature = quadrature_of(self._pairs, grid, self._target)

    def fock(self, densities: Reals) -> Fock:
        """Energy and Fock matrices; Coulomb integrals are those of the change since the last densities."""
        hermite = np.array([to_hermite(self._pairs, density, self._target) for density in densities])
        total = hermite.sum(axis=0)
        self._coulomb += self._coulomb_values(self._pairs.list, total - self._hermite)
        self._hermite = total
        of_grid = exchange_correlation(self._quadrature, hermite, self._functional)
        energy = self._repulsion + np.vdot(densities.sum(axis=0), self._core) + 0.5 * total @ self._coulomb
        matrices = [to_matrix(self._pairs, self._coulomb + values, self._target) for values in of_grid.values]
        return Fock(float(energy) + of_grid.energy, np.array(matrices) + self._core)

    def _coulomb_values(self, kets: HermiteList, coefficients: Reals) -> Reals:
        return coulomb_values(self._pairs.list, kets, coefficients, self._target, bra_bound=self._pairs.bound)


def nuclear_repulsion(charges: Reals, positions: Reals) -> float:
    """Energy of point charges among themselves in hartree; positions in bohr, (n, 3)."""
    products = np.outer(charges, charges)[np.triu_indices(len(charges), 1)]
    return float((products[products != 0] / pdist(positions)[products != 0]).sum())
