"""Molecules in the field of charges, against PySCF's `qmmm.mm_charge`."""

import numpy as np
import pytest

import orbitile as ob
from orbitile.base.errors import OrbitileError
from orbitile.commandline import main
from orbitile.model.geometry import Geometry
from orbitile.model.units import angstrom
from orbitile.scf.calculation import Calculation, NotConverged
from orbitile.scf.engines import engine_of
from orbitile.scf.from_file import calculation_for

pyscf = pytest.importorskip("pyscf")
itrf = pytest.importorskip("pyscf.qmmm.itrf")

ANION = Geometry(np.array([8, 1]), np.array([[0, 0, 0], [0.3, 0.1, 1.8]], np.float64))
POSITIONS = np.array([[4.2, 0, 0], [-3.5, 3.1, 0.4], [0.5, -4.4, 1.2], [0.2, 1.1, 6.1]])
CHARGES = np.array([0.42, -0.31, 0.55, -0.8])


@pytest.mark.parametrize("engine", ["orbitile", "pyscf"])
def test_energies_and_forces_are_those_of_pyscf(engine):
    widths = [3.0, 0.0, 2.5, 0.0] if hasattr(itrf, "erf") else 0.0  # older PySCF: points, for nuclei
    external = ob.ExternalCharges(POSITIONS, CHARGES, widths)
    calculation = Calculation("hf", "6-31g", -1, external_charges=external)
    solver = engine_of(engine, ANION, calculation)
    found = solver.solve(ANION, calculation, precision="double")
    mol = pyscf.gto.M(atom=list(zip("OH", ANION.positions, strict=True)), unit="B", basis="6-31g", charge=-1, verbose=0)
    radii = np.maximum(external.widths, 1e-8)
    field = pyscf.qmmm.mm_charge(pyscf.scf.RHF(mol), POSITIONS, CHARGES, radii, unit="Bohr").run(conv_tol=1e-12)
    theirs = field.nuc_grad_method()
    assert found.energy == pytest.approx(field.e_tot, abs=1e-7)
    np.testing.assert_allclose(
        solver.gradient(found.wavefunction, calculation, precision="double"), theirs.kernel(), atol=1e-6
    )
    on_charges = theirs.grad_hcore_mm(field.make_rdm1()) + theirs.grad_nuc_mm()
    np.testing.assert_allclose(ob.forces_on_charges(found.wavefunction, external), -on_charges, atol=1e-7)


def test_charges_are_compared_and_told_by_their_content():
    one, same = (ob.ExternalCharges(POSITIONS, CHARGES) for _ in range(2))
    other = ob.ExternalCharges(POSITIONS, CHARGES, 1.0)
    calculations = [Calculation("hf", "sto-3g", -1, external_charges=each) for each in (one, same, other)]
    assert calculations[0] == calculations[1] != calculations[2]
    assert hash(calculations[0]) == hash(calculations[1])
    assert str(calculations[0]) == str(calculations[1]) != str(calculations[2])
    assert "in the field of 4 charges" in str(calculations[0])


def test_what_cannot_be_is_refused():
    external = ob.ExternalCharges(POSITIONS, CHARGES)
    with pytest.raises(OrbitileError, match="the continuum would be where the charges are"):
        Calculation("hf", solvent="water", external_charges=external)
    calculation = Calculation("hf", "sto-3g", -1, external_charges=ob.ExternalCharges(ANION.positions, [1, 1]))
    with pytest.raises(NotConverged, match="external charge 1 is at the place of atom 1"):
        engine_of("orbitile", ANION, calculation).solve(ANION, calculation)
    for bad in (([[0, 0]], [1]), (POSITIONS, CHARGES[:2]), (POSITIONS, CHARGES, -1), (np.zeros((0, 3)), [])):
        with pytest.raises(OrbitileError, match="external charges: expected"):
            ob.ExternalCharges(*bad)


def test_the_command_line_reads_them(tmp_path, capsys):
    (tmp_path / "oh.xyz").write_text("2\n\nO 0 0 0\nH 0 0 0.96\n")
    (tmp_path / "q.txt").write_text(
        "".join(f"{x} {y} {z} {q}\n" for (x, y, z), q in zip(POSITIONS / angstrom, CHARGES, strict=True))
    )
    level = ["--charge", "-1", "--method", "hf", "--basis", "sto-3g", "--external-charges", str(tmp_path / "q.txt")]
    assert main(["scf", str(tmp_path / "oh.xyz"), *level, "-o", str(tmp_path / "oh.h5")]) == 0
    assert "in the field of 4 charges" in capsys.readouterr().out
    wavefunction = ob.load_trajectory(tmp_path / "oh.h5")[0]
    calculation, remarks = calculation_for(wavefunction)
    assert calculation.external_charges is None
    assert "it was computed in the field of 4 charges" in remarks[0]
    external = ob.ExternalCharges(POSITIONS, CHARGES)
    parts = ob.energies(wavefunction, "hf", external_charges=external)
    asked = Calculation("hf", "sto-3g", -1, external_charges=external)
    geometry = Geometry(wavefunction.atomic_numbers, wavefunction.positions)
    found = engine_of("pyscf", geometry, asked).solve(geometry, asked)
    assert parts.total == pytest.approx(found.energy, abs=1e-6)
