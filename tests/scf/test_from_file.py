"""What is computed of a file is of its charge, spin, method and basis set, through every door."""

from __future__ import annotations

import numpy as np
import pytest

import orbitile as ob
from orbitile.base.errors import OrbitileError
from orbitile.commandline import main
from orbitile.scf.calculation import Calculation
from orbitile.scf.from_file import calculation_for

pytest.importorskip("pyscf", reason="the files are PySCF's (extra scf)")

OH = "O 0 0 0; H 0 0 0.97"
WATER = "O 0 0 0; H 0 0.76 0.59; H 0 -0.76 0.59"


def molden(path, atoms, basis, charge=0, spin=0, method="UHF", **more):
    """A file by PySCF, of any charge and spin."""
    from pyscf import gto, scf
    from pyscf.tools import molden

    mol = gto.M(atom=atoms, basis=basis, charge=charge, spin=spin, verbose=0, **more)
    field = getattr(scf, method)(mol).run()
    molden.from_scf(field, str(path))
    return ob.load(path)


@pytest.mark.parametrize(
    ("atoms", "basis", "charge", "spin", "method", "expected"),
    [
        (OH, "sto-3g", 0, 1, "UHF", "upbe/sto-3g, charge 0, unpaired electrons 1"),
        (OH, "6-31g*", -1, 0, "RHF", "pbe/6-31g*, charge -1, unpaired electrons 0"),
        (OH, "def2-svp", 1, 2, "UHF", "upbe/def2-svp, charge 1, unpaired electrons 2"),
        (OH, "6-31g", 1, 2, "ROHF", "ropbe/6-31g, charge 1, unpaired electrons 2"),
        ("O 0 0 0; O 0 0 1.2", "3-21g", 0, 2, "UHF", "upbe/3-21g, charge 0, unpaired electrons 2"),
        (
            WATER,
            "cc-pvdz",
            2,
            0,
            "RHF",
            "pbe/cc-pvdz, charge 2, unpaired electrons 0",
        ),
        (
            WATER,
            "sto-3g",
            0,
            0,
            "UHF",
            "upbe/sto-3g, charge 0, unpaired electrons 0",
        ),
    ],
)
def test_charge_spin_and_basis_set_are_those_of_the_file(tmp_path, atoms, basis, charge, spin, method, expected):
    calculation, remarks = calculation_for(molden(tmp_path / "a.molden", atoms, basis, charge, spin, method))
    assert str(calculation) == expected
    assert len(remarks) == 1  # Molden files name no method
    assert "does not name its method" in remarks[0]


def test_electrons_in_core_potentials_are_no_charge(tmp_path):
    wavefunction = molden(tmp_path / "a.molden", "I 0 0 0", "lanl2dz", -1, 0, "RHF", ecp="lanl2dz")
    assert calculation_for(wavefunction)[0] == Calculation("pbe", "lanl2dz", -1, 0)


@pytest.mark.parametrize(
    ("method", "expected", "said"),
    [
        ("RB3LYP/6-31G(d)", "b3lyp", ""),
        ("RPBE1PBE/GEN", "pbe0", ""),
        ("PBE", "pbe", ""),
        ("M062X", "m06-2x", ""),
        ("wB97XD", "wb97x", "dispersion"),
        ("B3LYP-D3(BJ)", "b3lyp-d3bj", ""),
        ("RPBE1PBE-D4", "pbe0-d4", ""),
        ("PBE-D2", "pbe", "dispersion"),
        ("RMP2-FC", "hf", "stands on Hartree-Fock"),
        ("CCSD(T)", "hf", "stands on Hartree-Fock"),
        ("RHFS", "lda,", ""),
        ("MNDO", "pbe", "no engine here has its method, MNDO: pbe is used"),
        ("GFN2-xTB", "gfn2", ""),
        ("gfn2, charge 0, unpaired electrons 0", "gfn2", ""),
        ("DFT", "pbe", "does not name"),
        ("b3lyp/sto-3g, charge 0, unpaired electrons 0", "b3lyp", ""),
    ],
)
def test_a_method_is_had_by_its_name_or_it_is_said_what_is_used(tmp_path, method, expected, said):
    from dataclasses import replace

    for package, mark in (("dftd3", "d3"), ("dftd4", "d4"), ("tblite", "gfn")):
        if mark in expected:
            pytest.importorskip(package)
    wavefunction = molden(tmp_path / "a.molden", "H 0 0 0; F 0 0 0.92", "sto-3g", method="RHF")
    calculation, remarks = calculation_for(replace(wavefunction, method=method))
    assert calculation.method == expected
    assert (said in remarks[0]) if said else remarks == ()
    assert calculation_for(replace(wavefunction, method=method), {"method": "blyp"})[0].method == "blyp"


def test_solvent_and_smearing_of_our_own_files_are_had_again(tmp_path):
    from dataclasses import replace

    wavefunction = molden(tmp_path / "a.molden", "H 0 0 0; F 0 0 0.92", "sto-3g", method="RHF")
    ours = Calculation("hf", "sto-3g", solvent="acetic acid", smearing=300.0)
    wavefunction = replace(wavefunction, method=str(ours))
    assert calculation_for(wavefunction) == (ours, ())
    assert calculation_for(wavefunction, {"solvent": "vacuum", "smearing": 0.0})[0] == Calculation("hf", "sto-3g")


def test_a_basis_set_without_a_name_is_told(tmp_path):
    wavefunction = molden(tmp_path / "a.molden", "He 0 0 0", {"He": [[0, [1.7, 1.0]]]}, method="RHF")
    calculation, remarks = calculation_for(wavefunction, otherwise=Calculation("pbe", "sto-3g"))
    assert calculation.basis == "sto-3g"
    assert "no known name: sto-3g is used" in remarks[0]


@pytest.mark.slow
def test_the_command_line_computes_a_file_as_it_is(tmp_path, capsys, monkeypatch):
    pytest.importorskip("h5py", reason="series files need h5py (extra trajectories)")
    monkeypatch.setenv("ORBITILE_DEVICE", "cpu")
    molden(tmp_path / "oh.molden", OH, "sto-3g", 1, 2)
    (tmp_path / "oh.extxyz").write_text("2\nProperties=species:S:1:pos:R:3 charge=-1\nO 0 0 0\nH 0 0 0.97\n")
    (tmp_path / "o2.extxyz").write_text("2\ncharge=0 multiplicity=3\nO 0 0 0\nO 0 0 1.2\n")
    for name, charge, unpaired in (("oh.molden", 1, 2), ("oh.extxyz", -1, 0), ("o2.extxyz", 0, 2)):
        for command, more in (("scf", []), ("optimise", ["--fmax", "9", "--steps", "1"])):
            target = tmp_path / f"{name}.{command}.h5"
            words = [command, str(tmp_path / name), "--basis", "sto-3g", "--method", "hf", *more, "-o", str(target)]
            assert main(words) == 0, capsys.readouterr().err
            found = ob.load_trajectory(target)[0]
            assert (round(found.charge), found.n_unpaired) == (charge, unpaired)
            assert f"charge {charge}, unpaired electrons {unpaired}" in capsys.readouterr().out
    trajectory = ob.compute_series(tmp_path / "oh.molden", tmp_path / "python.h5", report=print)
    assert (round(trajectory[0].charge), trajectory[0].n_basis) == (1, 6)
    assert "does not name its method: uhf is used" in capsys.readouterr().out


@pytest.mark.slow
def test_ase_atoms_say_how_many_electrons_there_are(tmp_path):
    ase = pytest.importorskip("ase", reason="ASE (extra optimisation) is not installed")
    oxygen = ase.Atoms("O2", [[0, 0, 0], [0, 0, 1.2]], magmoms=[1, 1])
    oxygen.calc = ob.AseCalculator()
    assert np.isfinite(oxygen.get_potential_energy())
    assert oxygen.calc.calculation == Calculation("pbe", "def2-svp", 0, 2)
    assert oxygen.calc.wavefunction.n_unpaired == 2
    hydroxide = ase.Atoms("OH", [[0, 0, 0], [0, 0, 0.97]], charges=[-1, 0])
    hydroxide.calc = ob.AseCalculator(Calculation("hf", "sto-3g", 1))
    with pytest.raises(OrbitileError, match=r"charge of -1 .* hf/sto-3g, charge 1"):
        hydroxide.get_potential_energy()
    hydroxide.calc = ob.AseCalculator(Calculation("hf", "sto-3g", -1))
    assert np.isfinite(hydroxide.get_potential_energy())
