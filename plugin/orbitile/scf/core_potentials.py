r"""Effective core potentials: what stands for the inner electrons of heavy atoms.

The core potential of an atom is (L. R. Kahn, P. Baybutt, D. G. Truhlar, J. Chem. Phys. 1976, 65, 3826)

.. math::  U(r) = U_L(r) + \sum_{l<L} \sum_m |lm\rangle\, U_l(r)\, \langle lm|, \qquad
    U_l(r) = \sum_k d_k\, r^{n_k - 2} e^{-\zeta_k r^2},

beside the attraction of the nuclear charge less the electrons of the core. Its matrices are PySCF's (extra
`orbitile[scf]`; R. Flores-Moreno et al., J. Comput. Chem. 2006, 27, 1009), once a geometry.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..base.arrays import Reals
from ..model.elements import SYMBOLS
from ..model.geometry import Geometry
from .calculation import Calculation
from .level_of_theory import basis_set, core_electrons, functions_of_pyscf, molecule_of


@dataclass(frozen=True)
class CorePotential:
    """The core potential of an element.

    Attributes
    ----------
    electrons : int
        That it stands for, the innermost ones.
    terms : tuple
        Of the local part U_L, then of U_0, U_1 ...: n, zeta in bohr^-2, and d of each term.
    """

    electrons: int
    terms: tuple[tuple[tuple[int, float, float], ...], ...]

    def at(self, radii: Reals, l: int) -> Reals:
        """What functions of angular momentum l feel at some distances, in hartree, without the nuclear charge."""
        felt = self.terms[:1] + self.terms[l + 1 : l + 2]
        return sum(
            (d * radii ** (n - 2) * np.exp(-zeta * radii**2) for part in felt for n, zeta, d in part),
            np.zeros_like(radii),
        )


def core_potentials(geometry: Geometry, calculation: Calculation) -> dict[int, CorePotential]:
    """Core potentials of the basis set, by atomic number; none where it is one for all electrons.

    Raises
    ------
    OrbitileError
        As `shells_of` does; when there are core potentials and PySCF is missing.
    """
    if not core_electrons(geometry, calculation):
        return {}
    found = {}
    for number in sorted(set(geometry.atomic_numbers.tolist()) - {0}):
        _, potential = basis_set(calculation.basis, SYMBOLS[number])
        if potential:
            n_core, parts = potential
            by_momentum = sorted(parts, key=lambda part: part[0])  # -1 is the local part
            terms = [tuple((n, row[0], row[1]) for n, rows in enumerate(p) for row in rows) for _, p in by_momentum]
            found[number] = CorePotential(int(n_core), tuple(terms))
    return found


def core_potential_matrix(geometry: Geometry, calculation: Calculation) -> Reals:
    """Matrix of all core potentials over the functions of `shells_of`, (n_basis, n_basis), in hartree."""
    molecule = molecule_of(geometry, calculation)
    rows, factors = functions_of_pyscf(molecule)
    matrix: Reals = molecule.intor("ECPscalar")[rows[:, None], rows] / np.outer(factors, factors)
    return matrix


def core_potential_gradient(geometry: Geometry, calculation: Calculation, density: Reals) -> Reals:
    """Derivatives of the energy of a density in the core potentials when atoms move, at a fixed matrix.

    Parameters
    ----------
    geometry, calculation
        What has the core potentials.
    density : ndarray, shape (n_basis, n_basis)
        Of all electrons.

    Returns
    -------
    ndarray, shape (n_atoms, 3)
        In hartree/bohr.
    """
    molecule = molecule_of(geometry, calculation)
    rows, factors = functions_of_pyscf(molecule)
    theirs = np.empty_like(density)
    theirs[rows[:, None], rows] = density / np.outer(factors, factors)
    of_functions = -2 * np.einsum("xij,ij->xi", molecule.intor("ECPscalar_ipnuc", comp=3), theirs)
    result = np.array([of_functions[:, a:b].sum(axis=1) for _, _, a, b in molecule.aoslice_by_atom()])
    for atom in np.unique(molecule._ecpbas[:, 0]).tolist():
        with molecule.with_rinv_at_nucleus(atom):
            result[atom] += 2 * np.einsum("xij,ij->x", molecule.intor("ECPscalar_iprinv", comp=3), theirs)
    return result
