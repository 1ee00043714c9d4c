r"""Bond orders and valences, of orbitals over functions that belong to atoms each.

With the matrices :math:`T = \sum_i n_i X_i Y_i^T` of all electrons and :math:`T^s` of alpha less beta electrons,

.. math::  B_{AB} = \sum_{\mu \in A} \sum_{\nu \in B}
    \left[ T_{\mu\nu} T_{\nu\mu} + T^s_{\mu\nu} T^s_{\nu\mu} \right], \qquad
    V_A = 2 N_A - \sum_{\mu, \nu \in A} T_{\mu\nu} T_{\nu\mu}, \qquad F_A = V_A - \sum_{B \ne A} B_{AB}

I. Mayer's bond orders, valences and free valences (Chem. Phys. Lett. 1983, 97, 270; Int. J. Quantum Chem. 1986, 29,
477) are those over the basis functions as they are, T = P S. K. B. Wiberg's (Tetrahedron 1968, 24, 1083) are those over
orthogonal functions, of Loewdin or intrinsic atomic orbitals; with unpaired electrons they have the same second term
here.

Electrons that are shared, half of :math:`B_{AB}`, and those that atoms keep, half of the same sum with B = A, add up to
all electrons of a determinant:

.. math::  \tfrac12 \sum_{AB} B_{AB} = \sum_\sigma \mathrm{Tr}\, T_\sigma T_\sigma = N
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...watch import checkpoint
from .overlap_populations import SharedOrbitals

Reals = NDArray[np.float64]

_ELEMENTS = 1 << 22
"""Elements of a matrix over functions that are held at once, 32 MB; four such matrices are."""


@dataclass(frozen=True, eq=False)
class BondOrders:
    """Bond orders of all pairs of atoms.

    Attributes
    ----------
    orders : ndarray, shape (n_atoms, n_atoms)
        Symmetric, with zeros on the diagonal.
    localised : ndarray, shape (n_atoms,)
        Electrons that each atom does not share.
    """

    orders: Reals
    localised: Reals

    @property
    def electrons(self) -> float:
        """Electrons that are shared and that are not."""
        return float(self.localised.sum() + self.orders.sum() / 2)


def bond_orders(total: SharedOrbitals, spin: SharedOrbitals | None = None) -> BondOrders:
    """Bond orders.

    Parameters
    ----------
    total
        Orbitals of all electrons.
    spin
        Over the same functions, of alpha less beta electrons; None where all are paired.

    Returns
    -------
    BondOrders
        Rows of the matrices are made in pieces of 32 MB.
    """
    sums = _exchanged(total)
    return _made(sums if spin is None else sums + _exchanged(spin))


def bond_orders_of_spins(alpha: SharedOrbitals, beta: SharedOrbitals) -> BondOrders:
    """Bond orders of electrons whose spins are over different functions: the same sums are twice those of each spin."""
    return _made(2 * (_exchanged(alpha) + _exchanged(beta)))


def valences(total: SharedOrbitals) -> Reals:
    """Valences of the atoms, shape (n_atoms,), of orbitals of all electrons."""
    result = 2 * total.populations
    for atom in np.unique(total.atoms):
        first, last = np.searchsorted(total.atoms, [atom, atom + 1])
        block = (total.coefficients[first:last] * total.weights) @ total.duals[first:last].T
        result[atom] -= np.sum(block * block.T)
        checkpoint()
    return result


def _made(sums: Reals) -> BondOrders:
    localised = np.diag(sums) / 2
    orders = (sums + sums.T) / 2
    np.fill_diagonal(orders, 0.0)
    return BondOrders(orders, localised)


def _exchanged(orbitals: SharedOrbitals) -> Reals:
    """The sum over the functions of two atoms of T_mn T_nm, shape (n_atoms, n_atoms)."""
    n_functions = len(orbitals.atoms)
    weighted = orbitals.coefficients * orbitals.weights
    result = np.zeros((orbitals.n_atoms, orbitals.n_atoms))
    present, first_function = np.unique(orbitals.atoms, return_index=True)
    step = max(1, _ELEMENTS // n_functions)
    for first in range(0, n_functions, step):
        rows = slice(first, first + step)
        there = weighted[rows] @ orbitals.duals.T
        back = orbitals.duals[rows] @ weighted.T
        there *= back
        by_column = np.add.reduceat(there, first_function, axis=1)
        some, starts = np.unique(orbitals.atoms[rows], return_index=True)
        result[np.ix_(some, present)] += np.add.reduceat(by_column, starts, axis=0)
        checkpoint()
    return result
