r"""Energy and Fock matrices of Kohn-Sham density functional theory without exact exchange, from one list of Gaussians.

With :math:`H = T(D)` the density on the list of Hermite Gaussians, the potential of the electrons and that of exchange
and correlation are numbers v on the same list; both become a matrix at once, :math:`F = h + T^*(v_J + v_{xc})`, and

.. math::  E = \operatorname{Tr} D h + \tfrac12 H \cdot v_J + E_{xc} + E_{nn}.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

from taichi_kernels.devices import probe
from taichi_kernels.target import Target

from ..integrals.coulomb import TOLERANCE, coulomb_values
from ..integrals.exchange_correlation import of_densities
from ..integrals.functionals import Functional
from ..integrals.grids import grid_of
from ..integrals.hermite_list import HermiteList, point_charges
from ..integrals.hermite_map import to_hermite, to_matrix
from ..integrals.one_electron import kinetic, overlap
from ..integrals.pairs import pairs_of
from ..integrals.quadrature import quadrature_of
from ..model.basis import Basis
from .kohn_sham import DEPENDENT, Fock

Reals = NDArray[np.float64]


_COARSE = 1
"""Level of the grid as long as orbitals are far from those that are looked for."""

LEVEL = 3
"""Level of the grid that energies are given on: that of PySCF where it is not told another one."""

_LEFT_OUT = 1e-9
"""What leaving out integrals may cost an element of the Coulomb matrix in hartree, in each of some ten changes."""


_NEARLY_DEPENDENT = 1e-5
"""Least eigenvalue of the overlap of the functions kept, below which all is in double precision: an error of a Fock
matrix is as much larger over orthonormal functions."""


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
    close : bool
        Whether the first densities are close to the last: the operator is exact from the beginning then.
    rough : bool
        Whether it is not to be exact at all: on a coarse grid energies are right to some 1e-4 hartree.

    Attributes
    ----------
    overlap : ndarray, shape (n_basis, n_basis)
    """

    def __init__(
        self,
        atomic_numbers: NDArray[np.int64],
        basis: Basis,
        functional: Functional,
        target: Target,
        close: bool,
        rough: bool = False,
    ) -> None:
        self._numbers, self._basis, self._functional, self._target = atomic_numbers, basis, functional, target
        self._pairs = pairs_of(basis)
        self.overlap = overlap(self._pairs, target)
        charges = atomic_numbers.astype(np.float64)
        self._exact = Target(target.device, "double") if probe(target.device).double else target
        independent = np.linalg.eigvalsh(self.overlap)
        if independent[independent > DEPENDENT].min(initial=1.0) < _NEARLY_DEPENDENT:
            self._target = target = self._exact
        attraction = self._coulomb_values(*point_charges(-charges, basis.positions), self._exact)
        self._core = kinetic(basis, target) + to_matrix(self._pairs, attraction, target)
        self._repulsion = nuclear_repulsion(charges, basis.positions)
        self._finest = _COARSE if rough else LEVEL
        self._begin(self._finest if close else _COARSE)

    def refine(self) -> bool:
        """Go over to the grid that energies are given on; False where it serves already."""
        if self._level == self._finest:
            return False
        self._begin(self._finest)
        return True

    def _begin(self, level: int) -> None:
        """Use a grid, and compute everything anew for the next densities."""
        self._level = level
        self._grid = grid_of(self._numbers, self._basis.positions, self._target, level)
        self._quadrature = quadrature_of(self._pairs, self._grid, self._target)
        self._hermite: Reals | None = None

    def fock(self, densities: Reals, exact: bool = False) -> Fock:
        """Energy and Fock matrices.

        What is linear in the density, its potential and its values at the points, is computed of the change since the
        last densities. Of the first ones, where the fine grid serves, and of `exact` ones it is computed in double
        precision: what single precision makes of the changes is as small as they are.
        """
        hermite = np.array([to_hermite(self._pairs, density, self._target) for density in densities])
        total, gradient = hermite.sum(axis=0), self._functional.needs_gradient
        quadrature = self._quadrature.in_precision(self._exact) if exact else self._quadrature
        if exact or self._hermite is None:
            exact = exact or self._level == LEVEL
            self._coulomb = self._coulomb_values(self._pairs.list, total, self._exact if exact else self._target)
            density = quadrature.densities(list(hermite), gradient, exact=exact)
        else:
            change = hermite - self._hermite
            self._coulomb = self._coulomb + self._coulomb_values(self._pairs.list, change.sum(axis=0), self._target)
            density = quadrature.densities(list(change), gradient, further=True)
        self._hermite = hermite
        of_grid = of_densities(quadrature, density, self._functional, exact=exact and self._exact.precision == "double")
        energy = self._repulsion + np.vdot(densities.sum(axis=0), self._core) + 0.5 * total @ self._coulomb
        matrices = [to_matrix(self._pairs, self._coulomb + values, self._target) for values in of_grid.values]
        return Fock(float(energy) + of_grid.energy, np.array(matrices) + self._core)

    def _coulomb_values(self, kets: HermiteList, coefficients: Reals, target: Target) -> Reals:
        limit = min(_LEFT_OUT, TOLERANCE[target.precision])
        bound = self._pairs.bound
        return coulomb_values(self._pairs.list, kets, coefficients, target, tolerance=limit, bra_bound=bound)


def nuclear_repulsion(charges: Reals, positions: Reals) -> float:
    """Energy of point charges among themselves in hartree; positions in bohr, (n, 3)."""
    products = np.outer(charges, charges)[np.triu_indices(len(charges), 1)]
    return float((products[products != 0] / pdist(positions)[products != 0]).sum())
