"""Molecules in the field of charges, against PySCF's `qmmm.mm_charge`."""

import numpy as np
import pytest
from scipy.spatial import cKDTree

import orbitile as ob
from orbitile.base.errors import OrbitileError
from orbitile.commandline import main
from orbitile.evaluation.devices import device_session
from orbitile.integrals.external_charges import (
    energy_in_field,
    gradient_at_atoms,
    gradient_at_charges,
    values_in_field,
)
from orbitile.integrals.one_electron import overlap
from orbitile.integrals.pairs import pairs_of, to_hermite, to_matrix
from orbitile.model.geometry import Geometry
from orbitile.model.units import angstrom
from orbitile.model.wavefunction import Basis
from orbitile.scf.calculation import Calculation, NotConverged
from orbitile.scf.engines import engine_of
from orbitile.scf.from_file import calculation_for
from orbitile.scf.level_of_theory import shells_of

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


@pytest.mark.slow
def test_far_charges_by_series_are_those_one_by_one():
    """The sum over all charges is that over a few at a time, which are all near."""
    rng = np.random.default_rng(5)
    molecule = Geometry(np.array([8, 1, 6, 8]), rng.normal(size=(4, 3)) * [9.0, 2.0, 1.5])
    calculation = Calculation("hf", "6-31g*", -2)
    basis = Basis(shells_of(molecule, calculation), molecule.positions)
    places = rng.uniform(-40, 40, (5000, 3))
    places = places[cKDTree(molecule.positions).query(places)[0] > 3][:4500]
    whole = ob.ExternalCharges(places, rng.normal(0, 0.5, 4500), np.where(np.arange(4500) % 7, 0.0, 2.0))
    parts = [whole.chosen(np.arange(first, first + 1500)) for first in range(0, 4500, 1500)]
    with device_session("cpu", "double") as target:
        pairs, nuclei = pairs_of(basis), molecule.atomic_numbers.astype(float)
        density = np.diag(rng.uniform(0, 1, basis.n_basis))
        density += 0.2 * overlap(pairs, target)
        of_molecule = pairs, to_hermite(pairs, density, target), nuclei, molecule.positions, target
        near = sum(values_in_field(pairs.list, part, target) for part in parts)
        far = values_in_field(pairs.list, whole, target)
        np.testing.assert_allclose(to_matrix(pairs, far, target), to_matrix(pairs, near, target), atol=1e-9)
        energies = [energy_in_field(part, *of_molecule) for part in parts]
        assert energy_in_field(whole, *of_molecule) == pytest.approx(sum(energies), abs=1e-9)
        of_molecule = pairs, density, nuclei, molecule.positions, target
        at_atoms = sum(gradient_at_atoms(part, *of_molecule) for part in parts)
        np.testing.assert_allclose(gradient_at_atoms(whole, *of_molecule), at_atoms, atol=1e-9)
        at_charges = np.concatenate([gradient_at_charges(part, *of_molecule) for part in parts])
        np.testing.assert_allclose(gradient_at_charges(whole, *of_molecule), at_charges, atol=1e-10)
        assert np.abs(at_charges).max() > 1e-3
