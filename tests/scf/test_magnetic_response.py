"""Responses of orbitals to a magnetic field against coupled equations that are solved with integrals of PySCF."""

from dataclasses import replace
from tempfile import TemporaryDirectory

import numpy as np
import pytest

import orbitile as ob
from orbitile.fields.currents import first_order
from orbitile.scf.magnetic_response import why_uncoupled

pytest.importorskip("pyscf", reason="PySCF (extra scf) is not installed")
from pyscf import dft, gto
from pyscf.tools import molden

WATER = "O 0.3 0.1 0.2; H 0.1 1.2 -0.3; H -0.9 -0.4 0.5"
AMIDOGEN = "N 0 0 0; H 0.1 0.2 1.0; H 0.9 -0.3 -0.2"


def converged(atoms, xc, spin):
    molecule = gto.M(atom=atoms, basis="6-31g", spin=spin, verbose=0)
    field = (dft.UKS if spin else dft.RKS)(molecule, xc=xc)
    field.grids.level, field.conv_tol = 1, 1e-11
    field.kernel()
    with TemporaryDirectory() as folder:
        molden.from_scf(field, f"{folder}/it.molden")
        return replace(ob.load(f"{folder}/it.molden"), method=xc), field


def exchange(field, densities):
    """Exact exchange of antisymmetric density matrices, in its share."""
    omega, long_range, full = field._numint.rsh_and_hybrid_coeff(field.xc)
    found = full * field.get_k(field.mol, densities, hermi=2)
    return found + (long_range - full) * field.get_k(field.mol, densities, hermi=2, omega=omega) if omega else found


def by_fixed_point(field, operators):
    """First-order density matrices of all spins together, by repeated substitution."""
    shape = (1, -1) if np.ndim(field.mo_occ) == 1 else (2, -1)
    coefficients = np.reshape(field.mo_coeff, (shape[0], *np.shape(field.mo_coeff)[-2:]))
    total = 0
    for orbitals, energies, occupations in zip(
        coefficients, np.reshape(field.mo_energy, shape), np.reshape(field.mo_occ, shape), strict=True
    ):
        here, there = orbitals[:, occupations > 0.5], orbitals[:, occupations < 0.5]
        gaps = energies[occupations < 0.5][:, None] - energies[occupations > 0.5]
        density = np.zeros_like(operators)
        for _ in range(300):
            half = there @ (there.T @ (0.5 * operators + exchange(field, density)) @ here / gaps) @ here.T
            before, density = density, half - half.transpose(0, 2, 1)
            if np.abs(density - before).max() < 1e-7:
                break
        total = total + density * occupations[0]
    return total


@pytest.mark.parametrize(
    ("atoms", "xc", "spin"), [(WATER, "hf", 0), (WATER, "camb3lyp", 0), (AMIDOGEN, "b3lyp", 1)], ids=str
)
def test_first_order_densities_are_those_of_pyscf(atoms, xc, spin):
    wavefunction, field = converged(atoms, xc, spin)
    assert not why_uncoupled(wavefunction)
    with field.mol.with_common_origin(wavefunction.positions.mean(axis=0)):
        angular = field.mol.intor("int1e_cg_irxp", comp=3)[2]
    linear = -field.mol.intor("int1e_ipovlp", comp=3)[0]
    expected = by_fixed_point(field, np.array([angular, linear]))
    occupied, *by = first_order(wavefunction, np.array([0.0, 0.0, 1.0]))
    halves = np.array([by[0], by[1][0]]) @ occupied.T
    found = halves - halves.transpose(0, 2, 1)
    found[0] *= np.sign(np.vdot(found[0], expected[0]))  # PySCF leaves the sign of r x p to its users
    np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())
    bare = first_order(replace(wavefunction, method=""), np.array([0.0, 0.0, 1.0]))[1] @ occupied.T
    assert np.abs(bare - bare.T - found[0]).max() > 0.02 * np.abs(expected[0]).max()
