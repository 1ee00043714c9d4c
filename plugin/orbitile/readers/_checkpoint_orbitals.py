"""What checkpoint files have in place of orbitals and their energies: occupations, zeros, bonds, natural orbitals.

Gaussian (`pop=(NO, saveNO)`), MOKIT and Multiwfn write the occupations of natural orbitals where a checkpoint file has
energies, since it has no place for them, and the eigenvalues of natural transition orbitals.

Gaussian also writes natural bond orbitals, and others, where molecular orbitals are (`pop=saveNBO`, `saveNLMO`), beside
the density matrix P of the self-consistent field. That of a determinant is idempotent, PSP = P for each spin, which
damaged ones are not; the occupations of other orbitals C are then the diagonal elements of :math:`C^T S P S C`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..gaussians.overlap import shell_overlap
from ..model.wavefunction import Shell

Reals = NDArray[np.float64]

_SLACK = 0.1
"""Electrons by which natural orbitals of perturbation theory may hold more than they can, or fewer than none."""

_SAME = 0.01
"""Electrons in sums of printed occupations."""

_OF_CORE = -0.2
"""Energy of a 1s orbital in hartree, times the square of the atomic number, at most: -0.27 in lithium, -0.5 far on."""

_BOUND = -0.05
"""Energy in hartree that the lowest orbital of a neutral molecule is below; in caesium it has -0.12."""

OCCUPATIONS = (
    "where energies of orbitals stand the file has occupations, which belong to natural orbitals: they are taken for "
    "that, and there are no energies"
)

NEITHER = (
    "what stands where energies of orbitals do is neither energies nor occupations (zeros, or eigenvalues of others): "
    "it is not shown, and which orbital is the HOMO is unknown"
)


def are_occupations(sets: Sequence[Reals], electrons: Sequence[float]) -> bool:
    """Whether values are the occupations of one set of orbitals, or of one of each spin.

    Parameters
    ----------
    sets
        The values of each set.
    electrons
        Number of electrons of each set.
    """
    capacity = 3 - len(sets)
    return all(
        len(values) > 0
        and bool(np.all((values >= -_SLACK) & (values <= capacity + _SLACK)))
        and abs(float(values.sum()) - number) <= _SAME
        for values, number in zip(sets, electrons, strict=True)
    )


def are_energies(values: Reals, numbers: NDArray[np.int64], core_charges: Reals, charge: float) -> bool:
    """Whether values may be the energies of all orbitals of a molecule, those of the cores among them.

    Parameters
    ----------
    values
        Of all orbitals.
    numbers, core_charges
        Elements, and the charges that the electrons see.
    charge
        Of the molecule, in e: an anion need not bind its electrons.
    """
    if not np.all(np.isfinite(values)) or not np.any(values):
        return False
    heaviest = int(numbers[core_charges == numbers].max(initial=0))
    lowest = float(values.min())
    return lowest < _OF_CORE * heaviest**2 if heaviest > 2 else charge < 0 or lowest < _BOUND


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
