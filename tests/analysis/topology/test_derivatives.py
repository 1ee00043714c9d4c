from __future__ import annotations

import numpy as np
import pytest

from orbitile.analysis.density_derivatives import density_derivatives
from orbitile.evaluation.devices import device_session
from orbitile.fields.density import density_of
from orbitile.scf.engines.pyscf import wavefunction_of
from tests.analysis.topology.reference import density_by_pyscf
from tests.gaussians.sums import value_at
from tests.molecules import gto, scf


@pytest.mark.parametrize(
    ("atoms", "basis", "cartesian"), [("O 0 0 0; H 0 0.76 0.59", "cc-pvtz", False), ("F 0 0 0", "6-31g**", True)]
)
def test_value_gradient_and_hessian_are_those_of_pyscf(atoms, basis, cartesian):
    rng = np.random.default_rng(3)
    mol = gto.M(atom=atoms, basis=basis, cart=cartesian, spin=1, verbose=0)
    field = scf.UHF(mol)
    field.max_cycle = 2  # any density will do
    field.kernel()
    wavefunction = wavefunction_of(mol, field.mo_coeff, field.mo_occ, field.mo_energy)
    points = rng.normal(size=(300, 3)) * 2
    points[0] = mol.atom_coords()[0]
    ours = density_derivatives(wavefunction)
    found = (*ours(points), ours.kinetic(points))
    for one, other in zip(found, density_by_pyscf(mol, sum(field.make_rdm1()), points), strict=True):
        assert np.allclose(one, other, rtol=1e-9, atol=1e-9)
    density, gradient = ours.gradient(points)
    assert np.array_equal(density, found[0])
    assert np.allclose(gradient, found[1], rtol=1e-13, atol=1e-13)


def test_far_points_and_sorting_into_cells_change_nothing(benzene):
    ours = density_derivatives(benzene)
    points = np.random.default_rng(1).uniform(-12, 12, size=(700, 3))
    density, gradient, hessian = ours(points)
    few = ours(points[::100])
    for all_of_them, some in zip((density, gradient, hessian), few, strict=True):
        assert np.allclose(all_of_them[::100], some, rtol=1e-8, atol=1e-13)
    assert np.allclose(density[:20], value_at(density_of(benzene), points[:20]), atol=1e-10)
    assert [len(part) for part in ours(np.zeros((0, 3)))] == [0, 0, 0]


@pytest.mark.parametrize(
    ("atoms", "basis", "cartesian"), [("O 0 0 0; H 0 0.76 0.59", "cc-pvqz", False), ("F 40 0 9", "6-31g**", True)]
)
def test_sums_by_a_kernel_are_those_by_numpy(device, atoms, basis, cartesian):
    """Near, far and so far that nothing reaches; shells up to g, more orbitals than are summed up at once."""
    mol = gto.M(atom=atoms, basis=basis, cart=cartesian, spin=1, verbose=0)
    rng = np.random.default_rng(5)
    values, vectors = np.linalg.eigh(mol.intor("int1e_ovlp"))
    orbitals = vectors / np.sqrt(values) @ np.linalg.qr(rng.normal(size=(mol.nao, mol.nao)))[0]
    occupations = np.linspace(1, 0, mol.nao)
    wavefunction = wavefunction_of(mol, np.array([orbitals] * 2), np.array([occupations] * 2), np.zeros((2, mol.nao)))
    ours = density_derivatives(wavefunction)
    directions = rng.normal(size=(500, 3))
    points = mol.atom_coords()[0] + directions * rng.choice([0.3, 2.0, 9.0, 200.0], size=(500, 1))
    weights = rng.uniform(size=500)
    density, gradient, hessian = ours(points)
    with device_session(device, "single") as target:
        by_kernel, slopes = ours.gradient_by_kernel(points, target)
        overlaps, laplacian = ours.overlaps_and_laplacian(points, weights, target)
        assert np.allclose(ours.overlaps(points, weights, target), overlaps, rtol=1e-6, atol=1e-6 * overlaps.max())
        assert not ours.overlaps(points[:1] + 5000, weights[:1], target).any()
    largest = np.abs(density).max(), np.abs(gradient).max()
    assert np.allclose(by_kernel, density, rtol=1e-5, atol=1e-6 * largest[0])
    assert np.allclose(slopes, gradient, rtol=1e-5, atol=1e-6 * largest[1])
    curved = np.einsum("naa->n", hessian)
    assert laplacian == pytest.approx(curved @ weights, abs=1e-6 * (np.abs(curved) @ weights))
    assert np.trace(overlaps * ours.weights) == pytest.approx(density @ weights, rel=1e-6)


def test_density_of_a_spin(benzene):
    points = np.array([[0.0, 0.0, 1.0], [2.5, 0.1, 0.0]])
    whole, half = density_derivatives(benzene), density_derivatives(benzene, "alpha")
    assert np.allclose(whole(points)[2], 2 * half(points)[2])
