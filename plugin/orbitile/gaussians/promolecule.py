"""Promolecules: the densities of free atoms, added up where the atoms of a molecule are.

Between molecules, where weak interactions are, the density of a molecule differs little from that (J. Contreras-Garcia
et al., J. Chem. Theory Comput. 2011, 7, 625): structures without a wavefunction have such interactions too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..model.free_atoms import FreeAtom, free_atom
from ..model.geometry import Geometry
from ..model.wavefunction import Orbitals, Wavefunction
from .expansion import GaussianExpansion


def promolecule(geometry: Geometry, source: str = "", partial_charges: Reals | None = None) -> Wavefunction:
    """Free atoms at some places, as what fields are made of: a `Wavefunction` without basis set and orbitals.

    It has the density and all that follows from it, as Laplacian and weak interactions. Free atoms are neutral: the
    electrostatic potential is that of partial charges.

    Parameters
    ----------
    geometry
        The atoms; ghosts have no electrons.
    source
        The file that it is from.
    partial_charges : ndarray, shape (n_atoms,), optional
        In e, such as those of a force field.

    Raises
    ------
    OrbitileError
        When an element has no free atom in our table, see `orbitile.model.free_atoms`.
    """
    for number in np.unique(geometry.atomic_numbers[geometry.atomic_numbers > 0]).tolist():
        free_atom(number)
    none = Orbitals(np.zeros((0, 0)), np.zeros(0), np.zeros(0))
    return Wavefunction(
        geometry.atomic_numbers,
        geometry.positions,
        (),
        none,
        source=source,
        program="free atoms",
        promolecule=True,
        partial_charges=np.zeros(0) if partial_charges is None else partial_charges,
    )


def free_atoms_of(wavefunction: Wavefunction) -> list[FreeAtom | None]:
    """The free atom at each place, without the electrons of core potentials; None for ghosts."""
    cores = wavefunction.atomic_numbers - wavefunction.core_charges
    kinds = zip(wavefunction.atomic_numbers.tolist(), cores.tolist(), strict=True)
    return [free_atom(number, core) if number else None for number, core in kinds]


def promolecular_density(wavefunction: Wavefunction, atoms: NDArray[np.intp] | None = None) -> GaussianExpansion:
    """The density of the free atoms of a molecule, or of some of them, in e bohr^-3: s Gaussians, 10 to 40 an atom.

    Parameters
    ----------
    wavefunction
        Its atoms are taken alone, without the electrons of core potentials.
    atoms : ndarray of int, optional
        Which of them, from 0.

    Raises
    ------
    OrbitileError
        When an element has no free atom in our table.
    """
    free = free_atoms_of(wavefunction)
    chosen = range(len(free)) if atoms is None else atoms.tolist()
    there = [(n, atom) for n in chosen if (atom := free[n]) is not None]
    counts = np.array([len(atom.exponents) for _, atom in there], np.intp)
    places = np.repeat(np.array([n for n, _ in there], np.intp), counts)
    exponents = np.concatenate([np.zeros(0), *(atom.exponents for _, atom in there)])
    electrons = np.concatenate([np.zeros(0), *(atom.electrons for _, atom in there)])
    return GaussianExpansion(
        wavefunction.positions[places],
        exponents,
        np.zeros(len(exponents), np.int32),
        np.arange(len(exponents) + 1, dtype=np.int32),
        electrons * (exponents / np.pi) ** 1.5,
    )
