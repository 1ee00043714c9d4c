"""What PySCF says of the same molecules, in our basis functions."""

from __future__ import annotations

import numpy as np
import pytest

from orbitile.model.wavefunction import Basis, Shell
from orbitile.scf.engines.pyscf import functions_of_pyscf

gto = pytest.importorskip("pyscf.gto", reason="PySCF (extra scf) is not installed")


def molecule(atoms: str, basis, cartesian: bool = False, charge: int = 0, unpaired: int = 0):
    """Molecule of PySCF; atoms in Angstrom."""
    return gto.M(atom=atoms, basis=basis, cart=cartesian, charge=charge, spin=unpaired, verbose=0)


def basis_of(mol, positions=None) -> Basis:
    """Its basis set as ours, where the atoms are or elsewhere (bohr)."""
    shells = tuple(
        Shell(mol.bas_atom(n), mol.bas_angular(n), not mol.cart, mol.bas_exp(n), column)
        for n in range(mol.nbas)
        for column in mol.bas_ctr_coeff(n).T
    )
    return Basis(shells, mol.atom_coords() if positions is None else positions)


def ours(mol, matrix) -> np.ndarray:
    """A matrix of PySCF over our basis functions."""
    rows, factors = functions_of_pyscf(mol)
    return matrix[..., rows[:, None], rows] / np.outer(factors, factors)


def theirs(mol, matrix) -> np.ndarray:
    """A density matrix of ours over the basis functions of PySCF."""
    rows, factors = functions_of_pyscf(mol)
    result = np.empty_like(matrix)
    result[..., rows[:, None], rows] = matrix / np.outer(factors, factors)
    return result


def random_matrix(n: int, seed: int = 0) -> np.ndarray:
    """Symmetric, of numbers of the order of 1."""
    matrix = np.random.default_rng(seed).normal(size=(n, n))
    return (matrix + matrix.T) / 2
