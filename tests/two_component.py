"""Checkpoint files of PySCF with orbitals that need no calculation: any orthonormal set will do."""

import numpy as np
from pyscf.scf import chkfile

POINTS = np.random.default_rng(11).normal(size=(40, 3)) * 1.5


def orthonormal(mol, seed, both_spins=False, over_spinors=False):
    """Complex coefficients of orthonormal orbitals, drawn by lot."""
    overlap = mol.intor("int1e_ovlp_spinor") if over_spinors else mol.intor("int1e_ovlp")
    overlap = np.kron(np.eye(2), overlap) if both_spins else overlap
    rng = np.random.default_rng(seed)
    n = len(overlap)
    values, axes = np.linalg.eigh(overlap)
    real = not (both_spins or over_spinors)
    turn = np.linalg.qr(rng.normal(size=(n, n)) + (0 if real else 1j) * rng.normal(size=(n, n)))[0]
    return ((axes / np.sqrt(values)) @ axes.conj().T @ turn).astype(complex)


def dumped(folder, mol, coefficients, occupations, energies=None):
    """A checkpoint file with these orbitals."""
    path = folder / "orbitals.chk"
    energies = np.zeros(np.shape(occupations)) if energies is None else energies
    chkfile.dump_scf(mol, str(path), -1.0, energies, coefficients, occupations)
    return path


def spinor_values(mol, coefficients):
    """Components of orbitals over spinors at the points."""
    up, down = mol.eval_gto("GTOval_spinor", POINTS)
    return up @ coefficients, down @ coefficients
