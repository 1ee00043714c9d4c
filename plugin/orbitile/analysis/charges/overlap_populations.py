r"""Electrons of the atoms by their basis functions: R. S. Mulliken's and P.-O. Loewdin's populations, and bond orders.

With the orbitals' coefficients C, their occupations n and the overlap S of the basis functions, an atom A has

.. math::  N_A = \sum_{\mu \in A} \sum_i n_i\, X_{\mu i} Y_{\mu i}

- Mulliken (J. Chem. Phys. 1955, 23, 1833, equation 7'): X = C, Y = S C, the diagonal of P S;
- Loewdin (J. Chem. Phys. 1950, 18, 365): X = Y = S^(1/2) C, the diagonal of S^(1/2) P S^(1/2);
- intrinsic atomic orbitals (G. Knizia, J. Chem. Theory Comput. 2013, 9, 4834): X = Y, the orbitals over these.

The overlap is sparse where a molecule is large, and no density matrix is made; S^(1/2) alone is a full matrix.

**Bond orders and valences.** With the matrices :math:`T = \sum_i n_i X_i Y_i^T` of all electrons and :math:`T^s` of
alpha less beta electrons,

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

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import Reals
from ...base.caches import Derived
from ...base.errors import Cancelled, OrbitileError
from ...base.memory import share
from ...base.watch import checkpoint, patiently
from ...fields.density import occupied, unavailable
from ...gaussians.overlap import own_overlap
from ...model.wavefunction import Spin, Wavefunction

BOTH: tuple[Spin, Spin] = ("alpha", "beta")

_COLUMNS = 256
"""Orbitals that are multiplied with the overlap at once."""


@dataclass(frozen=True, eq=False)
class SharedOrbitals:
    r"""Orbitals over functions that belong to atoms each, with their duals: what populations and bond orders are of.

    Attributes
    ----------
    coefficients, duals : ndarray, shape (n_functions, n_orbitals)
        X and Y, such that :math:`X^T Y` is the overlap of the orbitals.
    weights : ndarray, shape (n_orbitals,)
        Occupations; of the spin density, less than zero for beta orbitals.
    atoms : ndarray of int, shape (n_functions,)
        The atom that each function belongs to, rising.
    n_atoms : int
    """

    coefficients: Reals
    duals: Reals
    weights: Reals
    atoms: NDArray[np.int64]
    n_atoms: int

    @property
    def populations(self) -> Reals:
        """Electrons of the atoms, shape (n_atoms,)."""
        of_functions = np.einsum("fi,fi,i->f", self.coefficients, self.duals, self.weights)
        populations = np.bincount(self.atoms, of_functions, self.n_atoms).astype(np.float64)
        return populations


def mulliken_orbitals(wavefunction: Wavefunction, which: str = "total") -> SharedOrbitals:
    """Orbitals over the basis functions as they are; which density: total, alpha, beta or spin.

    Raises
    ------
    FieldError
        As `orbitile.fields.density.occupied`.
    """
    coefficients, weights = occupied(wavefunction, which)
    overlap = own_overlap(wavefunction)
    return _by_atoms(wavefunction, coefficients, _times(overlap, coefficients), weights)


def loewdin_orbitals(wavefunction: Wavefunction, which: str = "total") -> SharedOrbitals:
    """Orbitals over the basis functions made orthogonal by S^(-1/2); otherwise as `mulliken_orbitals`.

    A full matrix of 8 n_basis^2 bytes is made, and kept with the wavefunction.
    """
    coefficients, weights = occupied(wavefunction, which)
    orthogonal = _times(overlap_root(wavefunction), coefficients)
    return _by_atoms(wavefunction, orthogonal, orthogonal, weights)


def intrinsic_orbitals(wavefunction: Wavefunction, spin: Spin) -> SharedOrbitals:
    """Occupied orbitals of one spin over its intrinsic atomic orbitals, one electron each.

    Raises
    ------
    OrbitileError
        When the density is one that no such orbitals have, and as `intrinsic_atomic_orbitals`.
    """
    from ...gaussians.localised.intrinsic_atomic_orbitals import (
        in_intrinsic,
        intrinsic_atomic_orbitals,
        whole_occupations,
    )

    if wavefunction.density_matrix.size:
        raise OrbitileError(
            "intrinsic atomic orbitals: expected the density of occupied orbitals, got the density matrix of a "
            "correlated method; use mulliken or hirshfeld"
        )
    atomic = intrinsic_atomic_orbitals(wavefunction, spin)
    fewest = 2 if spin == "beta" and wavefunction.beta is None else 1
    there = whole_occupations(wavefunction, spin) >= fewest
    shares = in_intrinsic(wavefunction, atomic, wavefunction.orbitals(spin).coefficients[:, there])
    return SharedOrbitals(shares, shares, np.ones(shares.shape[1]), atomic.atoms, wavefunction.n_atoms)


def spins_unavailable(wavefunction: Wavefunction) -> str:
    """Why there are no spin populations, empty where there are."""
    return unavailable(wavefunction).get("spin", "")


_ROOTS = Derived[Reals]("analyses")


def overlap_root(wavefunction: Wavefunction) -> Reals:
    """The symmetric root S^(1/2) of the overlap of the basis functions, shape (n_basis, n_basis), kept with them."""
    return _ROOTS.of(wavefunction, None, lambda: _made_root(wavefunction))


def _made_root(wavefunction: Wavefunction) -> Reals:
    overlap = own_overlap(wavefunction)
    dense = overlap if isinstance(overlap, np.ndarray) else overlap.toarray()

    def root() -> Reals:
        values, axes = np.linalg.eigh(dense)
        # values of functions that depend on others are zero but for rounding
        return (axes * np.sqrt(np.maximum(values, 0.0))) @ axes.T

    return patiently(root)


def _times(matrix: object, coefficients: Reals) -> Reals:
    """A matrix times coefficients, orbitals by pieces so that it can be cancelled."""
    result = np.empty_like(coefficients)
    for first in range(0, coefficients.shape[1], _COLUMNS):
        some = slice(first, first + _COLUMNS)
        result[:, some] = matrix @ coefficients[:, some]  # type: ignore[operator]  # dense or sparse
        checkpoint()
    return result


def _by_atoms(wavefunction: Wavefunction, coefficients: Reals, duals: Reals, weights: Reals) -> SharedOrbitals:
    """With the functions in the order of the atoms."""
    shells = wavefunction.shells
    atoms = np.repeat([shell.atom for shell in shells], [shell.n_functions for shell in shells])
    order = np.argsort(atoms, kind="stable")
    duals_in_order = duals[order]
    same = duals is coefficients
    return SharedOrbitals(
        duals_in_order if same else coefficients[order], duals_in_order, weights, atoms[order], wavefunction.n_atoms
    )


_ELEMENTS = share("matrix", 8)
"""Elements of a matrix over functions that are held at once; four such matrices are."""


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


_FRACTION = 1e-4
"""Occupations may be off whole numbers by this much."""


@dataclass(frozen=True, eq=False)
class Bonds:
    """Bond orders by several schemes, and valences by Mayer.

    Attributes
    ----------
    orders : mapping of str to BondOrders
        mayer, wiberg (over Loewdin's orthogonal functions), and where there are intrinsic atomic orbitals wiberg_iao.
    populations, valences : ndarray, shape (n_atoms,)
        By Mulliken, in e; by Mayer.
    n_electrons : float
    is_determinant : bool
        Whether orbitals are occupied or not, so that electrons shared and kept add up to all.
    remarks : tuple of str
        What the molecule does not have, a sentence each.
    """

    orders: Mapping[str, BondOrders]
    populations: Reals
    valences: Reals
    n_electrons: float
    is_determinant: bool
    remarks: tuple[str, ...]


def bonds_of(wavefunction: Wavefunction) -> Bonds:
    """Bond orders and valences.

    Raises
    ------
    FieldError
        When the file gives no occupied orbitals.
    OrbitileError
        When they are complex: spins that point along several axes share electrons in other ways.
    """
    wavefunction.require_real()
    missing = spins_unavailable(wavefunction)
    remarks = []
    if missing and wavefunction.kind != "restricted":
        remarks.append(f"bond orders are those of paired electrons: {missing}")
    total = mulliken_orbitals(wavefunction)
    orders = {
        "mayer": bond_orders(total, None if missing else mulliken_orbitals(wavefunction, "spin")),
        "wiberg": bond_orders(
            loewdin_orbitals(wavefunction), None if missing else loewdin_orbitals(wavefunction, "spin")
        ),
    }
    try:
        orders["wiberg_iao"] = bond_orders_of_spins(*(intrinsic_orbitals(wavefunction, spin) for spin in BOTH))
    except Cancelled:
        raise
    except OrbitileError as error:
        remarks.append(f"wiberg_iao is left out: {error}")
    return Bonds(
        orders,
        total.populations,
        valences(total),
        wavefunction.n_electrons,
        _is_determinant(wavefunction),
        tuple(remarks),
    )


def _is_determinant(wavefunction: Wavefunction) -> bool:
    whole = all(np.allclose(one.occupations, np.round(one.occupations), atol=_FRACTION) for one in wavefunction.sets)
    return whole and not wavefunction.density_matrix.size
