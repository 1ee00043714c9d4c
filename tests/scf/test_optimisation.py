"""Forces for ASE, and geometry optimisations: those of PySCF's own forces, interrupted and taken up, refused."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

import orbitile as ob
from orbitile.base.errors import Cancelled, FileError, OrbitileError
from orbitile.commandline import main
from orbitile.model.units import angstrom, electronvolt
from tests.molecules import gto, scf

ase = pytest.importorskip("ase", reason="ASE (extra optimisation) is not installed")
dft = pytest.importorskip("pyscf.dft", reason="PySCF (extra scf) is not installed")
pytest.importorskip("h5py", reason="series files need h5py (extra trajectories)")

from ase.calculators.calculator import Calculator, all_changes  # noqa: E402  only where it is installed
from ase.optimize import BFGS  # noqa: E402  likewise

HF = ob.Calculation("hf", "sto-3g")
BENT = ("O 0 0 0", "H 0 0.9 0.5", "H 0 -0.75 0.7")


def written(path, *frames):
    """An xyz file of some frames."""
    path.write_text("".join(f"{len(atoms)}\n\n" + "\n".join(atoms) + "\n" for atoms in frames))
    return path


class OfPyscf(Calculator):
    """PySCF's energies and forces without anything of ours."""

    implemented_properties = ["energy", "forces"]  # noqa: RUF012

    def __init__(self, field_of):
        super().__init__()
        self.field_of = field_of

    def calculate(self, atoms=None, properties=("energy",), system_changes=all_changes):
        super().calculate(atoms, properties, system_changes)
        atom = list(zip(self.atoms.symbols, self.atoms.positions.tolist(), strict=True))
        field = self.field_of(atom).run(conv_tol=1e-11)
        forces = -field.nuc_grad_method().kernel() * angstrom / electronvolt
        self.results = {"energy": field.e_tot / electronvolt, "forces": forces}


def hartree_fock(atom):
    return scf.RHF(gto.M(atom=atom, basis="sto-3g", verbose=0))


def pbe(atom):
    field = dft.RKS(gto.M(atom=atom, basis="6-31g*", verbose=0))
    field.xc = "pbe"
    return field


@pytest.mark.parametrize(
    ("calculation", "field_of", "program", "off"),
    [
        (HF, hartree_fock, "PySCF", 1e-5),
        pytest.param(ob.Calculation("pbe", "6-31g*"), pbe, "Orbitile", 1e-4, marks=pytest.mark.slow),
    ],
    ids=["HF", "PBE"],
)
def test_the_minimum_is_that_of_pyscf_and_ase(tmp_path, calculation, field_of, program, off):
    lines = []
    path = written(tmp_path / "w.xyz", BENT)
    steps = ob.optimise(path, tmp_path / "w.h5", calculation, largest_force=off, report=lines.append, device="cpu")
    assert steps[0].program.startswith(program)
    assert [line.split(":")[0] for line in lines] == [f"step {n + 1}" for n in range(len(steps))]
    atoms = ase.Atoms("OHH", [[float(x) for x in line.split()[1:]] for line in BENT])
    atoms.calc = OfPyscf(field_of)
    BFGS(atoms, logfile=None).run(fmax=off / electronvolt * angstrom)
    np.testing.assert_allclose(steps[-1].positions / angstrom, atoms.positions, atol=off)
    assert float(lines[-1].split()[2]) == pytest.approx(atoms.get_potential_energy() * electronvolt, abs=2e-6)
    assert np.abs(steps[0].positions - steps[-1].positions).max() > 0.05


@pytest.mark.parametrize(("method", "unpaired"), [("rohf", 1), ("uhf", 1)])
def test_forces_of_unpaired_electrons(method, unpaired):
    atoms = ase.Atoms("OH", [[0, 0, 0], [0, 0.1, 1.02]])
    atoms.calc = ob.AseCalculator(ob.Calculation(method, "sto-3g", 0, unpaired), engine="pyscf")
    field = getattr(scf, method.upper())(gto.M(atom="O 0 0 0; H 0 0.1 1.02", basis="sto-3g", spin=1, verbose=0))
    expected = -field.run(conv_tol=1e-12).nuc_grad_method().kernel() * angstrom / electronvolt
    np.testing.assert_allclose(atoms.get_forces(), expected, atol=2e-4)
    assert atoms.get_potential_energy() == pytest.approx(field.e_tot / electronvolt, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("symbols", "unpaired"), [("HI", 0), ("OH", 1)])
def test_forces_of_our_own_engine(symbols, unpaired):
    """Of an atom whose core would be rounded too much in single precision, and of an open shell."""
    atoms = ase.Atoms(symbols, [[0, 0, 0], [0.1, 0.2, 1.1]])
    calculation = ob.Calculation("pbe", "sto-3g", 0, unpaired)
    forces = []
    for engine in ("orbitile", "pyscf"):
        atoms.calc = ob.AseCalculator(calculation, engine=engine, device="cpu")
        forces.append(atoms.get_forces() * electronvolt / angstrom)
    np.testing.assert_allclose(*forces, atol=8e-6)


def test_forces_are_derivatives_of_the_energy_that_it_gives():
    atoms = ase.Atoms("OHH", [[float(x) for x in line.split()[1:]] for line in BENT])
    atoms.calc = ob.AseCalculator(HF, engine="pyscf")
    forces = atoms.get_forces()
    step = 1e-3
    energies = []
    for shift in (step, -2 * step):
        atoms.positions[1, 2] += shift
        energies.append(atoms.get_potential_energy())
    assert forces[1, 2] == pytest.approx((energies[1] - energies[0]) / (2 * step), abs=1e-4)


def test_parts_of_the_energy_are_told(tmp_path):
    pytest.importorskip("dftd3", reason="dftd3 is not installed (extra dispersion)")
    atoms = ase.Atoms("H2", [[0, 0, 0], [0, 0, 1.4]])
    atoms.calc = ob.AseCalculator(ob.Calculation("hf-d3bj", "sto-3g", smearing=20_000, solvent="water"))
    at_0_k, free = atoms.get_potential_energy(), atoms.get_potential_energy(force_consistent=True)
    parts = atoms.calc.parts
    assert sorted(parts) == ["dispersion", "smearing", "solvation"]
    assert free - at_0_k == pytest.approx(parts["smearing"] / 2)
    assert parts["smearing"] < -0.1
    ase.io.write(tmp_path / "h2.xyz", atoms)
    lines = []
    ob.optimise(tmp_path / "h2.xyz", tmp_path / "h2.h5", ob.Calculation("hf-d3bj", "sto-3g"), report=lines.append)
    assert all(re.search(r"hartree, dispersion -0\.00\d+, largest force", line) for line in lines)


def test_orbitals_that_are_there_need_no_new_field(monkeypatch):
    calculator = ob.AseCalculator(HF, engine="pyscf")
    atoms = ase.Atoms("H2", [[0, 0, 0], [0, 0, 0.8]], calculator=calculator)
    forces, wavefunction = atoms.get_forces(), calculator.wavefunction
    other = ob.AseCalculator(HF, engine="pyscf")
    other.begin_from(wavefunction)
    atoms.calc = other
    monkeypatch.setattr(scf.hf.SCF, "kernel", None)
    np.testing.assert_array_equal(atoms.get_forces(), forces)
    assert other.wavefunction is wavefunction


def test_other_atoms_begin_anew():
    calculator = ob.AseCalculator(HF, engine="pyscf")
    for symbols in ("H2", "LiH"):
        atoms = ase.Atoms(symbols, [[0, 0, 0], [0, 0, 1.2]], calculator=calculator)
        atoms.get_potential_energy()
    assert calculator.wavefunction.atomic_numbers.tolist() == [3, 1]


def test_crystals_and_atoms_at_one_place_are_refused():
    atoms = ase.Atoms("H2", [[0, 0, 0], [0, 0, 1]], cell=[4, 4, 4], pbc=True, calculator=ob.AseCalculator(HF))
    with pytest.raises(OrbitileError, match="expected a molecule, got a periodic cell"):
        atoms.get_potential_energy()
    atoms.pbc, atoms.positions = False, np.zeros((2, 3))
    with pytest.raises(OrbitileError, match="atoms 1 and 2 are at one place"):
        atoms.get_potential_energy()


@pytest.mark.linux
@pytest.mark.slow
def test_killed_and_taken_up_it_ends_at_the_same_place(tmp_path):
    path = written(tmp_path / "w.xyz", BENT)
    whole = ob.optimise(path, tmp_path / "whole.h5", HF)
    work = (
        "import sys, orbitile as ob; ob.optimise(sys.argv[1], sys.argv[2], ob.Calculation('hf', 'sto-3g'), "
        "report=lambda line: print(line, flush=True))"
    )
    command = [sys.executable, "-c", work, str(path), str(tmp_path / "killed.h5")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    for line in process.stdout:
        if line.startswith("step 3"):
            break
    process.send_signal(signal.SIGKILL)
    process.communicate()
    lines = []
    found = ob.optimise(path, tmp_path / "killed.h5", HF, report=lines.append)
    assert lines[0].startswith(("step 4", "step 5"))
    assert len(found) == len(whole)
    np.testing.assert_allclose(found.geometries(), whole.geometries(), atol=2e-5)


def test_a_smaller_force_goes_on_from_the_minimum(tmp_path):
    path = written(tmp_path / "w.xyz", BENT)
    n_steps = len(ob.optimise(path, tmp_path / "w.h5", HF, largest_force=1e-2))
    again = ob.optimise(path, tmp_path / "w.h5", HF, largest_force=1e-2)
    assert len(again) == n_steps
    lines = []
    better = ob.optimise(path, tmp_path / "w.h5", HF, largest_force=1e-4, report=lines.append)
    assert len(better) == n_steps + len(lines) > n_steps


def test_cancelled_it_keeps_the_steps_that_were_taken(tmp_path):
    path = written(tmp_path / "w.xyz", BENT)
    lines = []
    with pytest.raises(Cancelled):
        ob.optimise(path, tmp_path / "w.h5", HF, report=lines.append, cancelled=lambda: len(lines) == 2)
    assert len(ob.load_trajectory(tmp_path / "w.h5")) == 2


def test_an_atom_is_at_its_minimum(tmp_path):
    path = written(tmp_path / "he.xyz", ("He 0 0 0",))
    assert len(ob.optimise(path, tmp_path / "he.h5", HF)) == 1


def test_progress_grows(tmp_path):
    path = written(tmp_path / "w.xyz", BENT)
    shares = []
    ob.optimise(path, tmp_path / "w.h5", HF, progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_refusals(tmp_path):
    path = written(tmp_path / "w.xyz", BENT)
    two = written(tmp_path / "two.xyz", BENT, BENT)
    at_one_place = written(tmp_path / "h2.xyz", ("H 0 0 0", "H 0 0 0"))
    for source, options, message in (
        (path, {"largest_force": 0}, "largest force: expected more than 0, got 0"),
        (path, {"largest_force": float("nan")}, "largest force: expected more than 0, got nan"),
        (path, {"steps": 0}, "steps: expected 1 or more, got 0"),
        (path, {"calculation": ob.Calculation("hf", "sto-3g", 1)}, "there are 9 electrons, so an odd"),
        (path, {"calculation": ob.Calculation("hf", "no-such-set")}, "basis set 'no-such-set'"),
        (path, {"engine": "psi4"}, "engine: expected auto, .* got 'psi4'"),
        (two, {}, "two.xyz: holds 2 geometries; choose one with --frame"),
        (two, {"frame": 2}, "has 2 frames; there is no frame 3"),
        (at_one_place, {}, "atoms 1 and 2 are at one place"),
    ):
        with pytest.raises(OrbitileError, match=message):
            ob.optimise(source, tmp_path / "s.h5", **{"calculation": HF, **options})
        assert not (tmp_path / "s.h5").exists()
    with pytest.raises(OrbitileError, match=r"no minimum after 2 steps, where the largest force is 1\.\d+ eV/Angstrom"):
        ob.optimise(two, tmp_path / "s.h5", HF, frame=1, steps=2)
    assert len(ob.load_trajectory(tmp_path / "s.h5")) == 2
    with pytest.raises(FileError, match="other settings"):
        ob.optimise(path, tmp_path / "s.h5", ob.Calculation("hf", "3-21g"))
    with pytest.raises(FileError, match="began from another geometry"):
        ob.optimise(written(tmp_path / "h.xyz", ("O 0 0 0", "H 0 0 1", "H 0 1 0")), tmp_path / "s.h5", HF)
    with pytest.raises(FileError, match="other settings"):
        ob.compute_series(path, tmp_path / "s.h5", HF)


def test_the_command(tmp_path, capsys):
    path = written(tmp_path / "w.xyz", BENT)
    arguments = ["optimise", str(path), "-o", str(tmp_path / "w.h5"), "--method", "hf", "--basis", "sto-3g"]
    assert main([*arguments, "--fmax", "0.1"]) == 0
    n = len(ob.load_trajectory(tmp_path / "w.h5"))
    assert capsys.readouterr().out.startswith(f"{tmp_path / 'w.h5'}: {n} steps to the minimum, hf/sto-3g, ")
    arguments[3] = str(tmp_path / "ion.h5")
    assert main([*arguments, "--charge", "1"]) == 2
    assert "9 electrons" in capsys.readouterr().err


def test_without_ase_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ase", None)
    monkeypatch.delitem(sys.modules, "orbitile.scf.ase_calculator", raising=False)
    with pytest.raises(OrbitileError, match=r"-m pip install '?ase"):
        ob.optimise(written(tmp_path / "w.xyz", BENT), tmp_path / "w.h5", HF)
