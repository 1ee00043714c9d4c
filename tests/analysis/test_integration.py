"""Moments and charges of atoms against PySCF."""

import numpy as np
import pytest

import orbitile as ob
from orbitile.analysis._quadrature import quadrature_with_density
from orbitile.analysis.atomic_charges import atomic_charges
from orbitile.analysis.moments import analytic_moments, summed_moments
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


def test_becke_charges(water):
    """Against PySCF's own quadrature and cells, with Becke's own shift of their borders."""
    from pyscf import dft

    mol, method, wavefunction = water
    charges = atomic_charges(wavefunction, device="cpu")
    assert charges.sum() == pytest.approx(0, abs=2e-3)
    grids = dft.gen_grid.Grids(mol)
    tables = grids.gen_atomic_grids(mol, level=5)
    expected = mol.atom_charges().astype(float)
    points, weights = grids.get_partition(
        mol,
        {mol.atom_symbol(n): tables[mol.atom_symbol(n)] for n in range(3)},
        radii_adjust=dft.radi.becke_atomic_radii_adjust,
        atomic_radii=dft.radi.BRAGG_RADII,
    )
    counts = [len(tables[mol.atom_symbol(n)][1]) for n in range(3)]
    values = dft.numint.eval_rho(mol, dft.numint.eval_ao(mol, points), method.make_rdm1())
    ends = np.cumsum(counts)
    for atom in range(3):
        some = slice(ends[atom] - counts[atom], ends[atom])
        expected[atom] -= weights[some] @ values[some]
    assert charges == pytest.approx(expected, abs=3e-3)


def test_hirshfeld_charges(water):
    _, _, wavefunction = water
    charges = atomic_charges(wavefunction, "hirshfeld", device="cpu")
    assert charges.sum() == pytest.approx(0, abs=2e-3)
    assert -0.40 < charges[0] < -0.25  # published Hirshfeld charges of oxygen in water: about -0.3
    assert charges[1] == pytest.approx(charges[2], abs=0.02)


@pytest.mark.parametrize(
    ("basis", "ecp", "iodine"),
    [("def2-svp", {"I": "def2-svp"}, -0.06), ("sto-3g", {}, -0.04)],
    ids=["core potential", "all"],
)
def test_hirshfeld_charges_beyond_krypton(tmp_path, basis, ecp, iodine):
    """The free atom has the electrons that the molecule has: with a core potential 25 of 53."""
    from pyscf import gto, scf
    from pyscf.tools import molden

    method = scf.RHF(gto.M(atom="H 0 0 1.609; I 0 0 0", basis=basis, ecp=ecp, verbose=0)).run()
    molden.from_scf(method, str(tmp_path / "hi.molden"), ignore_h=False)
    charges = atomic_charges(ob.load(tmp_path / "hi.molden"), "hirshfeld", device="cpu")
    assert charges[1] == pytest.approx(iodine, abs=0.03)
    assert charges.sum() == pytest.approx(0, abs=5e-3)


def test_the_command_tells_what_a_coarse_quadrature_loses(water, capsys):
    _, _, wavefunction = water
    assert main(["integrate", wavefunction.source, "--level", "0", "--device", "cpu"]) == 0
    out = capsys.readouterr().out
    assert "is off by" in out
    assert "electrons" in out
    assert "O1" in out


def test_unknown_schemes(water):
    with pytest.raises(ob.errors.OrbitileError, match="becke or hirshfeld"):
        atomic_charges(water[2], "mulliken")
