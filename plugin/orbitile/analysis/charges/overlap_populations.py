r"""Electrons of the atoms by their basis functions: R. S. Mulliken's and P.-O. Loewdin's populations.

With the orbitals' coefficients C, their occupations n and the overlap S of the basis functions, an atom A has

.. math::  N_A = \sum_{\mu \in A} \sum_i n_i\, X_{\mu i} Y_{\mu i}

- Mulliken (J. Chem. Phys. 1955, 23, 1833, equation 7'): X = C, Y = S C, the diagonal of P S;
- Loewdin (J. Chem. Phys. 1950, 18, 365): X = Y = S^(1/2) C, the diagonal of S^(1/2) P S^(1/2);
- intrinsic atomic orbitals (G. Knizia, J. Chem. Theory Comput. 2013, 9, 4834): X = Y, the orbitals over these.

The overlap is sparse where a molecule is large, and no density matrix is made; S^(1/2) alone is a full matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import OrbitileError
from ...fields.density import occupied
from ...gaussians.overlap import own_overlap
from ...model.derived import Derived
from ...watch import checkpoint, patiently

if TYPE_CHECKING:
    from ...model.wavefunction import Spin, Wavefunction

Reals = NDArray[np.float64]

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
    from ...localised.intrinsic_atomic_orbitals import in_intrinsic, intrinsic_atomic_orbitals, whole_occupations

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


_ROOTS = Derived[Reals](most=1)


def overlap_root(wavefunction: Wavefunction) -> Reals:
    """The symmetric root S^(1/2) of the overlap of the basis functions, shape (n_basis, n_basis), kept with them."""
    return _ROOTS.of(wavefunction, None, lambda: _made_root(wavefunction))


def _made_root(wavefunction: Wavefunction) -> Reals:
    overlap = own_overlap(wavefunction)
    dense = overlap if isinstance(overlap, np.ndarray) else overlap.toarray()

    def root() -> Reals:
        values, axes = np.linalg.eigh(dense)
        # values of functions that depend on others are zero but for rounding
        made: Reals = (axes * np.sqrt(np.maximum(values, 0.0))) @ axes.T
        return made

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
