"""Orbitals that a checkpoint file has in place of those of its self-consistent field: natural ones, bonds, local ones.

Gaussian writes natural bond orbitals, and others, where molecular orbitals are (`pop=saveNBO`, `saveNLMO`), beside the
density matrix P of the self-consistent field. That of a determinant is idempotent, PSP = P for each spin, which damaged
ones are not; the occupations of other orbitals C are then the diagonal elements of :math:`C^T S P S C`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..gaussians.overlap import shell_overlap
from ..model.wavefunction import Shell

Reals = NDArray[np.float64]

_IDEMPOTENT, _ORTHONORMAL = 1e-4, 1e-4
"""Largest deviation of an element of PSP, and of the norm of an orbital."""

REMARK = (
    "the orbitals are not those of the self-consistent field, but natural, bond or localised ones that were saved in "
    "their place: their occupations follow from its density matrix"
)


@dataclass(frozen=True, eq=False)
class SavedOrbitals:
    """What is known of such orbitals.

    Attributes
    ----------
    occupations : ndarray, shape (n_orbitals,)
        Those of alpha orbitals, then of beta ones, where there are two sets.
    are_energies : bool
        Whether what stands where energies do is energies; occupations otherwise.
    """

    occupations: Reals
    are_energies: bool


def saved_orbitals(
    shells: tuple[Shell, ...],
    positions: Reals,
    sets: list[Reals],
    energies: Reals | None,
    density: Reals,
    spin_density: Reals | None,
) -> SavedOrbitals | None:
    """The occupations that a density matrix gives orbitals, or None where it is no determinant's, or damaged.

    Parameters
    ----------
    shells, positions
        The basis set; positions in bohr.
    sets : list of ndarray, shape (n_basis, n_orbitals)
        Coefficients of the orbitals that both spins share, or of each spin.
    energies : ndarray or None
        What stands where their energies do.
    density, spin_density
        Matrices of both spins together, and of their difference, which may be unknown.
    """
    overlap = shell_overlap(shells, positions, shells, positions)
    if len(sets) == 1:
        matrices = [density / 2]
    elif spin_density is not None:
        matrices = [(density + spin_density) / 2, (density - spin_density) / 2]
    else:
        return None
    found = []
    for matrix, coefficients in zip(matrices, sets, strict=True):
        image = overlap @ coefficients
        norms = np.einsum("mi,mi->i", coefficients, image)
        if np.abs(matrix @ (overlap @ matrix) - matrix).max() > _IDEMPOTENT or np.abs(norms - 1).max() > _ORTHONORMAL:
            return None
        found.append((3 - len(sets)) * np.einsum("mi,mi->i", image, matrix @ image))
    occupations = np.concatenate(found)
    same = energies is not None and any(np.allclose(k * energies, occupations, atol=1e-3) for k in (1, 2))
    return SavedOrbitals(occupations, not same)
