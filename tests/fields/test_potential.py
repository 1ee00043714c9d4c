"""The electrostatic potential: against PySCF, against a quadrature, and what must hold of it."""

from dataclasses import replace

import numpy as np
import pytest

import orbitile as ob
from tests.conftest import SAMPLES, random_wavefunction

gto = pytest.importorskip("pyscf.gto")

SINGLE = 1e-5
"""Hartree/e, a nanometre and more from no atom nearer than 0.3 bohr."""


def molecule(atoms: str, basis, cart: bool, spin: int):
    mol = gto.M(atom=atoms, basis=basis, cart=cart, spin=spin, unit="bohr", verbose=0)
    rng = np.random.default_rng(11)
    n, alpha, beta = mol.nao, *mol.nelec
    overlap = mol.intor("int1e_ovlp")
    values, vectors = np.linalg.eigh(overlap)
    orthogonal = vectors / np.sqrt(values)
    sets = [orthogonal @ np.linalg.qr(rng.normal(size=(n, n)))[0] for _ in range(2)]
    return mol, sets, (alpha, beta)


def as_wavefunction(tmp_path, mol, sets, counts) -> ob.Wavefunction:
    from pyscf.tools import molden

    path = tmp_path / "m.molden"
    with path.open("w") as stream:
        molden.header(mol, stream, ignore_h=False)
        for spin, (c, count) in enumerate(zip(sets, counts, strict=True)):
            occupied = (np.arange(c.shape[1]) < count).astype(float)
            molden.orbital_coeff(mol, stream, c, spin="Alpha" if spin == 0 else "Beta", occ=occupied, ignore_h=False)
    return ob.load(path)


def points_around(positions, n=150):
    rng = np.random.default_rng(4)
    directions = rng.normal(size=(n, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    points = positions[rng.integers(0, len(positions), n)] + directions * rng.uniform(0.3, 12, n)[:, None]
    return points[np.linalg.norm(points[:, None] - positions, axis=2).min(axis=1) > 0.3]


def by_pyscf(mol, matrix, points):
    electrons = np.einsum("pij,ij->p", mol.intor("int1e_grids", grids=points), matrix)
    distances = np.linalg.norm(points[:, None] - mol.atom_coords(), axis=2)
    return (mol.atom_charges() / distances).sum(axis=1) - electrons


@pytest.mark.slow_on("vulkan")
@pytest.mark.parametrize("cart", [False, True])
@pytest.mark.parametrize(
    ("atoms", "basis", "spin"),
    [
        ("O 0 0 0.2; H 1.4 0 1.3; H -1.4 0 1.3", "6-31+g*", 0),
        pytest.param("N 0 0 0; O 0 0 2.2", "cc-pvtz", 1, marks=pytest.mark.slow),
        pytest.param("Ne 0.3 0.2 0.1", "cc-pvqz", 0, marks=[pytest.mark.slow, pytest.mark.not_in_software]),
    ],
    ids=["water", "nitric oxide, f", "neon, g"],
)
def test_against_pyscf(tmp_path, device, atoms, basis, spin, cart):
    mol, sets, counts = molecule(atoms, basis, cart, spin)
    wavefunction = as_wavefunction(tmp_path, mol, sets, counts)
    matrix = sum(c[:, :count] @ c[:, :count].T for c, count in zip(sets, counts, strict=True))
    points = points_around(wavefunction.positions)
    expected = by_pyscf(mol, matrix, points)
    double = ob.evaluate(wavefunction, "esp", points, device=device, precision="double")
    # the file holds the coefficients to ten digits
    assert np.abs(double - expected).max() < 1e-8 * np.abs(expected).max()
    single = ob.evaluate(wavefunction, "esp", points, device=device)
    assert np.abs(single - expected).max() < SINGLE + 1e-6 * np.abs(expected).max()


def test_a_tolerance_is_kept(tmp_path, monkeypatch):
    """Also where it is below what is left out of a density: all products of primitives are the reference."""
    from orbitile.fields import electrostatic_potential
    from orbitile.fields.density import occupied
    from orbitile.gaussians.products import density_products

    mol, sets, counts = molecule(
        "O 0 0 0; H 0 1.4 1.1; H 0 -1.4 1.1; O 0 0 5.5; H 1.4 0 6.6; H -1.4 0 6.6", "6-31g", False, 0
    )
    _, turn = np.linalg.eigh(sets[0].T @ mol.intor("int1e_kin") @ sets[0])  # orbitals whose terms do not cancel
    wavefunction = as_wavefunction(tmp_path, mol, [sets[0] @ turn] * 2, counts)
    points = points_around(wavefunction.positions)

    def potential(tolerance):
        field = electrostatic_potential.ElectrostaticPotential(wavefunction, tolerance=tolerance)
        return ob.evaluate(wavefunction, field, points, device="cpu", precision="double")

    found = {tolerance: potential(tolerance) for tolerance in (1e-10, 1e-12)}
    wavefunction = replace(wavefunction)  # without what was derived from it

    def whole(one, *_, **__):
        return density_products(one, *occupied(one, "total"), tolerance=0.0)

    monkeypatch.setattr(electrostatic_potential, "density_of", whole)
    exact = potential(1e-15)
    for tolerance, values in found.items():
        assert np.abs(values - exact).max() < tolerance


@pytest.mark.slow
@pytest.mark.not_in_software
def test_high_angular_momenta_by_quadrature(device):
    """A Gaussian quadrature in spherical coordinates about the point integrates the density over the distance."""
    wavefunction = random_wavefunction(2, (5, 6), n_atoms=1, n_primitives=1)
    point = wavefunction.positions[0] + [0.4, -0.7, 0.5]
    radii, radial = np.polynomial.legendre.leggauss(160)
    radii, radial = 6 * (radii + 1), 6 * radial
    cosines, polar = np.polynomial.legendre.leggauss(64)
    angles = np.arange(128) * 2 * np.pi / 128
    sines = np.sqrt(1 - cosines**2)
    directions = np.stack(
        [np.outer(sines, np.cos(angles)), np.outer(sines, np.sin(angles)), np.outer(cosines, np.ones(128))], axis=-1
    ).reshape(-1, 3)
    weights = np.repeat(polar, 128) * 2 * np.pi / 128
    electrons = 0.0
    for r, w in zip(radii, radial, strict=True):
        rho = ob.evaluate(wavefunction, "density", point + r * directions, device="cpu", precision="double")
        electrons += w * r * float(weights @ rho)
    nuclei = wavefunction.core_charges[0] / np.linalg.norm(point - wavefunction.positions[0])
    value = ob.evaluate(wavefunction, "esp", point[None], device=device, precision="double")[0]
    assert value == pytest.approx(nuclei - electrons, rel=1e-9)


def test_far_from_a_neutral_molecule_it_falls_off_as_that_of_a_dipole():
    wavefunction = ob.load(SAMPLES / "water_sto3g_hf_g03.fchk")
    far = wavefunction.positions.mean(axis=0) + np.array([[30.0, 0, 0], [0, 40, 0], [0, 0, 50], [35, 35, 0]])
    values = ob.evaluate(wavefunction, "esp", far, device="cpu", precision="double")
    nearer = ob.evaluate(wavefunction, "esp", far / 2, device="cpu", precision="double")
    assert np.all(np.abs(values) < np.abs(nearer) / 3.5 + 1e-7)


def test_moving_and_turning_the_molecule_changes_nothing():
    wavefunction = random_wavefunction(8, (0, 1), n_atoms=2)
    moved = random_wavefunction(8, (0, 1), n_atoms=2, at=(300.0, -200.0, 100.0))
    points = points_around(wavefunction.positions, 60)
    here = ob.evaluate(wavefunction, "esp", points, device="cpu")
    there = ob.evaluate(moved, "esp", points + np.array([300.0, -200.0, 100.0]), device="cpu")
    assert np.abs(here - there).max() < SINGLE


def test_the_lattice_of_an_ion_moves_with_it():
    """It is as large as the ion's own multipoles want it, wherever the origin is."""
    ion = ob.load(SAMPLES / "li_h_3-21G_hf_g09.fchk")
    assert ion.charge == 1
    shift = np.array([40.0, -30.0, 20.0])
    moved = replace(ion, positions=ion.positions + shift)
    here, there = (ob.enclosing_lattice(w, "esp", 0.05, spacing=0.4) for w in (ion, moved))
    assert here.shape == there.shape
    np.testing.assert_allclose(there.origin - here.origin, shift, atol=1e-6)


def test_at_a_nucleus_it_is_large_and_finite(benzene):
    value = ob.evaluate(benzene, "esp", benzene.positions[:1], device="cpu")
    assert np.isfinite(value[0])
    assert value[0] > 1e5


def test_a_lattice_agrees_with_points(benzene):
    lattice = ob.Lattice([-4.0, -4, -3], np.diag([0.8, 0.9, 0.7]), (11, 10, 9))
    volume = ob.compute(benzene, "esp", lattice, device="cpu", precision="double")
    expected = ob.evaluate(benzene, "esp", lattice.points(), device="cpu", precision="double")
    assert volume.values.reshape(-1) == pytest.approx(expected, abs=1e-9)
