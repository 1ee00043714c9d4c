"""Moments against PySCF, and the command that prints them."""

import numpy as np
import pytest

import orbitile as ob
from orbitile.analysis._quadrature import analytic_moments, quadrature_with_density, summed_moments
from orbitile.commandline import main
from orbitile.evaluation.devices import device_session
from orbitile.fields.density import density_of

gto = pytest.importorskip("pyscf.gto")


@pytest.fixture(scope="module")
def water(tmp_path_factory):
    from pyscf import scf
    from pyscf.tools import molden

    mol = gto.M(atom="O 0.1 0.2 0.3; H 1.5 0.2 1.4; H -1.3 0.3 1.4", basis="cc-pvdz", unit="bohr", verbose=0)
    method = scf.RHF(mol).run()
    path = tmp_path_factory.mktemp("water") / "water.molden"
    molden.from_scf(method, str(path))
    return mol, method, ob.load(path)


def test_moments(water):
    mol, method, wavefunction = water
    exact = analytic_moments(wavefunction, density_of(wavefunction))
    assert exact.electrons == pytest.approx(10, abs=1e-7)
    matrix = method.make_rdm1()
    electrons = np.einsum("xij,ji->x", mol.intor("int1e_r"), matrix)
    assert exact.dipole == pytest.approx(mol.atom_charges() @ mol.atom_coords() - electrons, abs=1e-6)
    second = np.einsum("xij,ji->x", mol.intor("int1e_rr"), matrix).reshape(3, 3)
    whole = np.einsum("a,ai,aj->ij", mol.atom_charges(), mol.atom_coords(), mol.atom_coords()) - second
    assert exact.quadrupole == pytest.approx(1.5 * whole - 0.5 * np.trace(whole) * np.eye(3), abs=1e-6)
    with device_session("cpu", "single") as target:
        quadrature, electrons = quadrature_with_density(wavefunction, target)
    summed = summed_moments(wavefunction, quadrature.points, electrons)
    assert summed.electrons == pytest.approx(10, abs=1e-4)
    assert summed.dipole == pytest.approx(exact.dipole, abs=2e-4)
    assert summed.quadrupole == pytest.approx(exact.quadrupole, abs=2e-3)


def test_the_command_tells_what_a_coarse_quadrature_loses(water, capsys):
    _, _, wavefunction = water
    assert main(["integrate", wavefunction.source, "--level", "0", "--device", "cpu"]) == 0
    out = capsys.readouterr().out
    assert "is off by" in out
    assert "electrons" in out
    assert "O1" in out


def test_the_command_has_hirshfeld_charges(water, capsys):
    assert main(["integrate", water[2].source, "--hirshfeld", "--device", "cpu"]) == 0
    head, oxygen, *_ = capsys.readouterr().out.partition("charge / e")[2].splitlines()
    assert head.split() == ["becke", "hirshfeld"]
    assert -0.40 < float(oxygen.split()[2]) < -0.25  # published Hirshfeld charges of oxygen in water: about -0.3
