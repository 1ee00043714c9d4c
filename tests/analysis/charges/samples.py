"""Molecules of PySCF and the same of ours."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from orbitile.scf.engines.pyscf import wavefunction_of

gto = pytest.importorskip("pyscf.gto", reason="PySCF (extra scf) is not installed")
scf = pytest.importorskip("pyscf.scf", reason="PySCF (extra scf) is not installed")
lib = pytest.importorskip("pyscf.lib", reason="PySCF (extra scf) is not installed")

FORMATE = "C 0 0 0; H 0 0.1 -1.1; O 0.05 1.13 .5; O 0 -1.13 .5"
METHYL = "C 0 0 0; H 0 1.08 0; H .935 -.54 0.1; H -.935 -.54 0"
WATER = "O 0 0 .11; H 0 .76 -.48; H 0 -.76 -.48"
ETHANOL = (
    "C -.748 .0151 .0243; C .5582 -.7384 -.1111; O 1.6382 .1523 .1173; H -1.2932 .0136 -.925; H -1.3712 -.4532 .7905; "
    "H -.5541 1.0512 .3172; H .5933 -1.5502 .6219; H .6411 -1.1668 -1.1148; H 2.4581 -.3562 .0306"
)


@cache
def solved(atoms: str, basis: str = "sto-3g", charge: int = 0, spin: int = 0, ecp: str = ""):
    """A Hartree-Fock calculation, unrestricted where there are unpaired electrons; atoms in Angstrom."""
    with lib.with_omp_threads(1):
        molecule = gto.M(atom=atoms, basis=basis, charge=charge, spin=spin, ecp=ecp or {}, verbose=0)
        field = (scf.UHF if spin else scf.RHF)(molecule).run(conv_tol=1e-11)
    return field, wavefunction_of(molecule, field.mo_coeff, field.mo_occ, field.mo_energy)


def density_matrices(field):
    """Of all electrons, and of alpha less beta electrons, over PySCF's functions."""
    matrix = np.asarray(field.make_rdm1())
    return (matrix, np.zeros_like(matrix)) if matrix.ndim == 2 else (matrix.sum(axis=0), matrix[0] - matrix[1])


def by_atoms(molecule, of_functions):
    """Sums over the functions of each atom, along all axes."""
    blocks = molecule.aoslice_by_atom()[:, 2:]
    for axis in range(np.ndim(of_functions)):
        parts = [np.take(of_functions, range(*block), axis).sum(axis, keepdims=True) for block in blocks]
        of_functions = np.concatenate(parts, axis)
    return of_functions
