"""Checkpoint files of PySCF, written by PySCF or by its function for it, read by us."""

import json

import h5py
import numpy as np
import pytest
from pyscf import gto
from pyscf.scf import chkfile

import orbitile as ob
from orbitile.base.errors import ConventionError, FileError
from orbitile.model.conventions import spinors
from tests.two_component import POINTS, dumped, orthonormal, spinor_values


def molecule(**more):
    return gto.M(**{"atom": "O 0 0 0.1; H 0 0.76 -0.5; H 0 -0.76 -0.5", "basis": "6-31g", "verbose": 0} | more)


def assert_same(wavefunction, name, expected, tolerance=1e-10):
    assert np.abs(ob.evaluate(wavefunction, name, POINTS, precision="double") - expected).max() < tolerance


@pytest.mark.parametrize("cart", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_real_orbitals_have_the_values_that_pyscf_gives_them(tmp_path, cart):
    mol = molecule(basis="cc-pvdz", cart=cart)
    coefficients = orthonormal(mol, 1).real
    occupations, energies = np.repeat([2.0, 0], [5, mol.nao - 5]), np.arange(mol.nao) - 20.0
    found = ob.load(dumped(tmp_path, mol, coefficients, occupations, energies))
    assert (found.kind, found.charge) == ("restricted", 0)
    assert np.array_equal(found.alpha.energies, energies)
    values = mol.eval_gto("GTOval", POINTS) @ coefficients
    for n in (0, 6, mol.nao - 1):
        assert_same(found, f"mo:{n + 1}", values[:, n])


def test_spins_have_orbitals_of_their_own(tmp_path):
    mol = molecule(charge=1, spin=1)
    both = np.array([orthonormal(mol, seed).real for seed in (1, 2)])
    occupations = np.array([np.repeat([1.0, 0], [n, mol.nao - n]) for n in (5, 4)])
    found = ob.load(dumped(tmp_path, mol, both, occupations))
    assert (found.kind, found.multiplicity, found.charge) == ("unrestricted", 2, 1)
    assert_same(found, "mo:3:beta", mol.eval_gto("GTOval", POINTS) @ both[1][:, 2])
    half = ob.load(dumped(tmp_path, mol, both[0], np.repeat([2.0, 1, 0], [4, 1, mol.nao - 5])))
    assert (half.kind, half.multiplicity) == ("restricted open-shell", 2)


def test_orbitals_over_both_spins_and_over_spinors_are_told_apart(tmp_path):
    mol = gto.M(atom="Ar 0 0 0; H 0 0.4 1.2", basis="cc-pvdz", charge=1, verbose=0)
    n = mol.nao
    of_spins = orthonormal(mol, 3, both_spins=True)
    occupations = np.repeat([1.0, 0], [18, 2 * n - 18])
    found = ob.load(dumped(tmp_path, mol, of_spins, occupations))
    assert found.kind == "two-component"
    values = mol.eval_gto("GTOval_sph", POINTS)
    up, down = values @ of_spins[:n], values @ of_spins[n:]
    assert_same(found, "mo:7", np.sqrt(np.abs(up) ** 2 + np.abs(down) ** 2)[:, 6])
    over_spinors = orthonormal(mol, 3, over_spinors=True)
    found = ob.load(dumped(tmp_path, mol, over_spinors, occupations))
    up, down = spinor_values(mol, over_spinors)
    assert_same(found, "mo:7", np.sqrt(np.abs(up) ** 2 + np.abs(down) ** 2)[:, 6])
    with pytest.raises(ConventionError, match="norm"):
        ob.load(dumped(tmp_path, mol, over_spinors * 1.01, occupations))


@pytest.mark.parametrize("l", range(5))
def test_spinors_are_those_of_pyscf(l):
    mol = gto.M(atom="He", basis={"He": [[l, [1.0, 1.0]]]}, verbose=0)
    order = {0: [0], 1: [0, 1, 2]}.get(l) or [l, *(l + sign * m for m in range(1, l + 1) for sign in (1, -1))]
    theirs = mol.sph2spinor_coeff()
    assert np.abs(spinors(l) - np.array(theirs)[:, order]).max() < 1e-14


def test_core_potentials_and_ghosts_are_known(tmp_path):
    mol = gto.M(
        atom="Ag 0 0 0; GHOST-H 0 0 2; H@2 0 0 1.6",
        basis={"Ag": "lanl2dz", "H": "sto-3g", "GHOST-H": "sto-3g"},
        ecp={"Ag": "lanl2dz"},
        verbose=0,
        spin=0,
    )
    found = ob.load(dumped(tmp_path, mol, orthonormal(mol, 1).real, np.repeat([2.0, 0], [10, mol.nao - 10])))
    assert found.atomic_numbers.tolist() == [47, 0, 1]
    assert found.core_charges.tolist() == [19, 0, 1]


def test_what_is_not_read_is_refused_with_the_reason(tmp_path):
    mol = molecule()
    n = mol.nao
    rng = np.random.default_rng(1)
    four = rng.normal(size=(4 * n, 4 * n)) + 0j
    with pytest.raises(FileError, match="four-component"):
        ob.load(dumped(tmp_path, mol, four, np.zeros(4 * n)))
    path = dumped(tmp_path, mol, np.eye(n), np.zeros(n))
    with h5py.File(path, "a") as file:
        file["scf/kpts"] = np.zeros((2, 3))
    with pytest.raises(FileError, match="periodic calculation, whose orbitals go with k points"):
        ob.load(path)
    with pytest.raises(FileError, match="expected orbitals over 13 basis functions"):
        ob.load(dumped(tmp_path, mol, np.eye(n + 1), np.zeros(n + 1)))
    gaussian = tmp_path / "job.chk"
    gaussian.write_bytes(b"\0\1\2\3" * 2000)
    with pytest.raises(FileError, match="formchk"):
        ob.load(gaussian)
    with h5py.File(gaussian, "w") as file:
        file["something"] = 1
    with pytest.raises(FileError, match=r"no known kind, which contains something\. Known: .*PySCF"):
        ob.load(gaussian)


def test_a_checkpoint_file_is_known_by_what_is_in_it(tmp_path):
    mol = molecule()
    path = dumped(tmp_path, mol, orthonormal(mol, 1).real, np.repeat([2.0, 0], [5, mol.nao - 5]))
    assert len(ob.load(path.rename(tmp_path / "water.h5")).alpha) == mol.nao


@pytest.mark.parametrize("what", ["_env", "_bas", "_atm", "_atom"])
def test_a_damaged_molecule_is_refused(tmp_path, what):
    mol = molecule()
    path = dumped(tmp_path, mol, orthonormal(mol, 1).real, np.zeros(mol.nao))
    for damage in ([], [[999999999] * 8], "text", None, [float("nan")] * 200):
        with h5py.File(path, "a") as file:
            stored = json.loads(mol.dumps())
            stored[what] = damage
            del file["mol"]
            file["mol"] = json.dumps(stored)
        with pytest.raises(FileError):
            ob.load(path)


@pytest.mark.slow
def test_cut_files_are_refused(tmp_path):
    mol = molecule()
    path = dumped(tmp_path, mol, orthonormal(mol, 1).real, np.zeros(mol.nao))
    whole = path.read_bytes()
    for share in (0.1, 0.3, 0.6, 0.9, 0.99):
        path.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(FileError):
            ob.load(path)


@pytest.mark.slow
@pytest.mark.parametrize("natural", [True, False])
def test_casscf_has_its_density(tmp_path, natural):
    from pyscf import mcscf, scf

    mol = gto.M(atom="N 0 0 0; N 0 0 1.1", basis="6-31g", verbose=0)
    mc = mcscf.CASSCF(scf.RHF(mol).run(), 4, 4)
    mc.chkfile, mc.natorb = str(tmp_path / "n2.chk"), natural
    mc.kernel()
    found = ob.load(mc.chkfile)
    values = mol.eval_gto("GTOval", POINTS)
    assert_same(found, "density", np.einsum("pm,mn,pn->p", values, mc.make_rdm1(), values), 1e-7)


def test_the_name_of_an_entry_is_that_of_pyscf(tmp_path):
    path = dumped(tmp_path, (mol := molecule()), orthonormal(mol, 1).real, np.zeros(mol.nao))
    assert chkfile.load_scf(str(path))[1]["mo_coeff"].shape == (mol.nao, mol.nao)
