"""Natural population analysis: electrons of natural atomic orbitals.

A. E. Reed, R. B. Weinstock and F. Weinhold, J. Chem. Phys. 1985, 83, 735; the orbitals are those of
`orbitile.gaussians.localised.natural_atomic_orbitals`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..fields.density import occupied
from ..gaussians.localised.natural_atomic_orbitals import natural_atomic_orbitals
from ..model.wavefunction import Wavefunction


@dataclass(frozen=True, eq=False)
class NaturalShells:
    """Natural atomic orbitals by shells, of 2l + 1 orbitals each.

    Attributes
    ----------
    atoms, angular_momenta : ndarray of int, shape (n_shells,)
    levels : ndarray of int, shape (n_shells,)
        Principal quantum numbers: those of the free atom's shells, and the next ones for Rydberg shells.
    kinds : tuple of str, length n_shells
        core, valence or Rydberg.
    electrons : ndarray, shape (1 or 2, n_shells)
        All electrons, and where they were asked for alpha less beta electrons.
    """

    atoms: NDArray[np.int64]
    angular_momenta: NDArray[np.int64]
    levels: NDArray[np.int64]
    kinds: tuple[str, ...]
    electrons: Reals

    def populations(self, n_atoms: int) -> Reals:
        """Electrons of the atoms, shape (1 or 2, n_atoms)."""
        return np.stack([np.bincount(self.atoms, electrons, n_atoms) for electrons in self.electrons]).astype(
            np.float64
        )


def natural_shells(wavefunction: Wavefunction, *, spin: bool = False, cores_first: bool = False) -> NaturalShells:
    """Electrons of the natural atomic orbitals of a molecule.

    Parameters
    ----------
    wavefunction
    spin
        Whether alpha less beta electrons are wanted too; the orbitals are those of all electrons.
    cores_first
        Whether core orbitals are orthogonalised before the valence orbitals, as by NBO 7.

    Raises
    ------
    OrbitileError
        As `natural_atomic_orbitals` and `orbitile.fields.density.occupied`.
    """
    densities = [occupied(wavefunction, which) for which in ("total", "spin")[: 1 + spin]]
    found = natural_atomic_orbitals(wavefunction, *densities[0], cores_first=cores_first)
    electrons = [
        found.by_shells((found.projections @ coefficients) ** 2 @ weights) for coefficients, weights in densities
    ]
    return NaturalShells(found.atoms, found.angular_momenta, found.levels, found.kinds, np.stack(electrons))
