r"""Intrinsic atomic orbitals: the orbitals of free atoms, polarised until they hold all electrons of a molecule.

With projectors :math:`O` onto the occupied orbitals, :math:`\tilde O` onto what the minimal basis makes of them, and
:math:`P` onto the basis functions, a function :math:`\tilde\rho` of the minimal basis becomes

.. math::  |\rho\rangle = \bigl[O \tilde O + (1 - O)(1 - \tilde O)\bigr] P |\tilde\rho\rangle ,

which are then made orthonormal by the inverse root of their overlap (G. Knizia, J. Chem. Theory Comput. 2013, 9, 4834,
eqs 1 to 3 and p. 4837).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...base.caches import Derived
from ...base.errors import OrbitileError
from ...base.memory import require_memory
from ...base.watch import patiently
from ...model.wavefunction import Shell, Spin, Wavefunction
from ..overlap import own_overlap, repeated_overlap
from .minimal_basis import NotDescribed, are_core, minimal_basis

Reals = NDArray[np.float64]

_SPANNED = 1e-3
"""Least square of an overlap of the occupied space with that of the minimal basis: below, a free atom lacks it."""

_DEPENDENT = 1e-8
"""Eigenvalues of the overlap below which basis functions count as dependent, where they cannot be told apart."""

_FRACTION = 1e-4
"""Occupations may be off whole numbers by this much."""


@dataclass(frozen=True, eq=False)
class IntrinsicAtomicOrbitals:
    """Orthonormal orbitals of atoms that span the occupied orbitals of one spin.

    Attributes
    ----------
    coefficients : ndarray, shape (n_basis, n)
        Over the basis functions of the molecule.
    atoms : ndarray of int, shape (n,)
        The atom of each, from 0, rising.
    shells : tuple of Shell
        Of the minimal basis, whose functions they were made of.
    is_core : ndarray of bool, shape (n,)
        Whether each belongs to a core of its atom.
    """

    coefficients: Reals
    atoms: NDArray[np.int64]
    shells: tuple[Shell, ...]
    is_core: NDArray[np.bool_]


_INTRINSIC = Derived[IntrinsicAtomicOrbitals]("orbitals")


def whole_occupations(wavefunction: Wavefunction, spin: Spin) -> NDArray[np.int64]:
    """Occupations of the orbitals of a spin as whole numbers, shape (n_orbitals,).

    Raises
    ------
    OrbitileError
        When they are fractions, as those of natural orbitals, or none is occupied.
    """
    occupations = wavefunction.orbitals(spin).occupations
    whole: NDArray[np.int64] = np.round(occupations).astype(np.int64)
    if np.any(np.abs(occupations - whole) > _FRACTION):
        raise OrbitileError(
            "localised orbitals: expected orbitals that are occupied or not, got fractional occupations, as natural "
            "orbitals have; use the orbitals of Hartree-Fock or density functional theory"
        )
    return whole


def intrinsic_atomic_orbitals(wavefunction: Wavefunction, spin: Spin = "alpha") -> IntrinsicAtomicOrbitals:
    """Intrinsic atomic orbitals of the occupied orbitals of a spin; kept with the wavefunction.

    Where both spins share orbitals, they are those of all that are occupied, by one electron or by two.

    Parameters
    ----------
    wavefunction
    spin
        alpha or beta.

    Raises
    ------
    OrbitileError
        When occupations are fractions, the minimal basis lacks an element, or an orbital is occupied that no
        combination of orbitals of free atoms resembles.
    """
    one_set = "alpha" if wavefunction.beta is None else spin
    return _INTRINSIC.of(wavefunction, one_set, lambda: _made(wavefunction, spin))


def _made(wavefunction: Wavefunction, spin: Spin) -> IntrinsicAtomicOrbitals:
    occupied = wavefunction.orbitals(spin).coefficients[:, whole_occupations(wavefunction, spin) > 0]
    minimal = minimal_basis(wavefunction)
    n, m = wavefunction.n_basis, minimal.n_basis
    require_memory(8 * (2 * n * n + 6 * n * m), "intrinsic atomic orbitals", "analyse a part of the molecule")
    if m > n or occupied.shape[1] > m:
        raise NotDescribed(
            f"intrinsic atomic orbitals: expected a basis of at least the {m} functions of the free atoms, and no more "
            f"occupied orbitals than these, got {n} functions and {occupied.shape[1]} occupied orbitals; choose the "
            "scheme boys or pm"
        )
    cell, places = wavefunction.cell, minimal.positions
    mixed = _dense(repeated_overlap(wavefunction.shells, wavefunction.positions, minimal.shells, places, cell))
    of_minimal = _dense(repeated_overlap(minimal.shells, places, minimal.shells, places, cell))
    overlap = own_overlap(wavefunction)
    projected = patiently(lambda: _solved(_dense(overlap), mixed))
    coefficients = patiently(lambda: _polarised(occupied, overlap, projected, mixed, of_minimal))
    sizes = [shell.n_functions for shell in minimal.shells]
    atoms = np.repeat([shell.atom for shell in minimal.shells], sizes)
    coefficients.setflags(write=False)
    return IntrinsicAtomicOrbitals(
        coefficients, atoms, minimal.shells, np.repeat(are_core(wavefunction, minimal.shells), sizes)
    )


def _dense(matrix: object) -> Reals:
    return matrix if isinstance(matrix, np.ndarray) else np.asarray(matrix.toarray())  # type: ignore[attr-defined]  # a sparse matrix


def _solved(overlap: Reals, mixed: Reals) -> Reals:
    """The functions of the minimal basis as the basis of the molecule can make them: S^-1 times their overlaps."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    try:
        solved: Reals = cho_solve(cho_factor(overlap, check_finite=False), mixed, check_finite=False)
    except LinAlgError:
        values, axes = np.linalg.eigh(overlap)
        axes = axes[:, values > _DEPENDENT]
        solved = axes @ ((axes.T @ mixed) / values[values > _DEPENDENT, None])
    return solved


def _polarised(occupied: Reals, overlap: Reals, projected: Reals, mixed: Reals, of_minimal: Reals) -> Reals:
    depolarised = projected @ np.linalg.solve(of_minimal, mixed.T @ occupied)
    if occupied.shape[1]:
        depolarised = _orthonormal(depolarised, overlap)
    image = overlap @ projected
    inside, outside = occupied.T @ image, depolarised.T @ image  # O P and O~ P, in their orbitals
    both = occupied @ ((occupied.T @ (overlap @ depolarised)) @ outside)
    return _orthonormal(projected + 2 * both - occupied @ inside - depolarised @ outside, overlap)


def _orthonormal(orbitals: Reals, overlap: Reals) -> Reals:
    """The orthonormal orbitals that resemble some orbitals most (P.-O. Loewdin, J. Chem. Phys. 1950, 18, 365)."""
    values, axes = np.linalg.eigh(orbitals.T @ (overlap @ orbitals))
    if values[0] < _SPANNED**2:
        raise NotDescribed(
            "intrinsic atomic orbitals: an occupied orbital is unlike all orbitals of the free atoms, as diffuse ones "
            "are; choose the scheme boys or pm"
        )
    return orbitals @ (axes / np.sqrt(values)) @ axes.T


def iao_populations(wavefunction: Wavefunction) -> tuple[Reals, Reals]:
    """Electrons of each spin on each atom: alpha and beta, both of shape (n_atoms,); ghosts have none.

    The sum of the squares of the occupied orbitals over the intrinsic atomic orbitals of the atom (G. Knizia, J. Chem.
    Theory Comput. 2013, 9, 4834, p. 4837).

    Raises
    ------
    OrbitileError
        As of `intrinsic_atomic_orbitals`.
    """
    found: list[Reals] = []
    spins: tuple[Spin, Spin] = ("alpha", "beta")
    for spin in spins:
        atomic = intrinsic_atomic_orbitals(wavefunction, spin)
        least = 2 if spin == "beta" and wavefunction.beta is None else 1
        there = whole_occupations(wavefunction, spin) >= least
        shares = in_intrinsic(wavefunction, atomic, wavefunction.orbitals(spin).coefficients[:, there])
        electrons = np.bincount(atomic.atoms, np.sum(shares**2, axis=1), wavefunction.n_atoms)
        found.append(electrons.astype(np.float64))
    alpha, beta = found
    return alpha, beta


def iao_charges(wavefunction: Wavefunction) -> Reals:
    """Charges of the atoms in e, shape (n_atoms,): core charges less `iao_populations`, which raises the same."""
    alpha, beta = iao_populations(wavefunction)
    return wavefunction.core_charges - alpha - beta


def in_intrinsic(wavefunction: Wavefunction, atomic: IntrinsicAtomicOrbitals, orbitals: Reals) -> Reals:
    """Orbitals over intrinsic atomic orbitals, shape (n, n_orbitals), from (n_basis, n_orbitals)."""
    return atomic.coefficients.T @ (own_overlap(wavefunction) @ orbitals)
