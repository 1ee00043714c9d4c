"""Small molecules computed by PySCF, trajectories of them, and ways to spoil these."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from orbitile import Orbitals, Wavefunction
from orbitile.model.trajectory import Trajectory
from orbitile.scf.engines.pyscf import wavefunction_of

gto = pytest.importorskip("pyscf.gto", reason="PySCF (extra scf) is not installed")
scf = pytest.importorskip("pyscf.scf", reason="PySCF (extra scf) is not installed")
lib = pytest.importorskip("pyscf.lib", reason="PySCF (extra scf) is not installed")


class Listed:
    """Frames that are in memory already."""

    name = "made up"

    def __init__(self, wavefunctions):
        self.wavefunctions = list(wavefunctions)

    def __len__(self):
        return len(self.wavefunctions)

    def read(self, index):
        return self.wavefunctions[index]


def trajectory_of(wavefunctions) -> Trajectory:
    return Trajectory(Listed(wavefunctions))


def solved(atoms: str, basis: str, start=None):
    """Restricted Hartree-Fock of PySCF from a density matrix, if one is given; atoms in Angstrom."""
    with lib.with_omp_threads(1):  # threads take longer to meet than these molecules to compute
        field = scf.RHF(gto.M(atom=atoms, basis=basis, verbose=0))
        field.conv_tol = 1e-10
        field.kernel(start)
        if not field.converged:
            field = field.newton()
            field.kernel(field.mo_coeff, field.mo_occ)
    assert field.converged
    return field


def computed(atoms: str, basis: str = "sto-3g") -> Wavefunction:
    """Restricted Hartree-Fock orbitals; atoms in Angstrom."""
    field = solved(atoms, basis)
    return wavefunction_of(field.mol, field.mo_coeff, field.mo_occ, field.mo_energy)


def scanned(geometries, basis: str = "sto-3g") -> list[Wavefunction]:
    """Of one geometry after the other, each from the density of the one before."""
    frames: list[Wavefunction] = []
    start = None
    for atoms in geometries:
        field = solved(atoms, basis, start)
        frames.append(wavefunction_of(field.mol, field.mo_coeff, field.mo_occ, field.mo_energy))
        start = field.make_rdm1()
    return frames


def with_orbitals(wavefunction: Wavefunction, coefficients, order=slice(None)) -> Wavefunction:
    old = wavefunction.alpha
    return replace(wavefunction, alpha=Orbitals(coefficients, old.occupations[order], old.energies[order]))


def shuffled(wavefunction: Wavefunction, rng: np.random.Generator) -> Wavefunction:
    """The same orbitals in another order, with other signs."""
    n = len(wavefunction.alpha)
    order = rng.permutation(n)
    return with_orbitals(wavefunction, wavefunction.alpha.coefficients[:, order] * rng.choice([-1.0, 1.0], n), order)


def twisted(angle: float) -> str:
    """Ethylene, its right half turned about the bond by an angle in degrees."""
    turn = np.radians(angle)
    y, z = 0.925 * np.cos(turn), 0.925 * np.sin(turn)
    return (
        "C -0.667 0 0; C 0.667 0 0; H -1.237 0.925 0; H -1.237 -0.925 0; "
        f"H 1.237 {y:.8f} {z:.8f}; H 1.237 {-y:.8f} {-z:.8f}"
    )
