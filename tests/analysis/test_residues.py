"""Shares of residues against PySCF's integrals, and against calculations without their charges."""

from dataclasses import replace

import numpy as np
import pytest

import orbitile as ob
from orbitile.analysis.residues import field_arrows, residue_report, residue_shares, without_residues
from orbitile.base.errors import OrbitileError
from orbitile.fields.surroundings import unavailable
from orbitile.model.units import kilocalorie_per_mole, megavolt_per_centimetre
from orbitile.model.volume import PointCharges
from orbitile.scf.engines import engine_of
from orbitile.scf.region_file import region_file, save_region
from tests.scf.test_region import METHYL, alcohol

pyscf = pytest.importorskip("pyscf")


def solved(region):
    calculation = ob.calculation_of(region, "hf", "sto-3g")
    engine = engine_of("orbitile", region.geometry, calculation)
    return calculation, engine.solve(region.geometry, calculation, precision="double")


@pytest.fixture(scope="module")
def methyl():
    region = ob.quantum_region(alcohol(), METHYL)
    return region, *solved(region)


@pytest.mark.slow
def test_rows_are_those_of_pyscf_and_add_up(methyl):
    region, _, found = methyl
    wavefunction, external = found.wavefunction, region.external
    shares = residue_shares(wavefunction, region, atom=0, bond=(0, 4))
    assert [str(one) for one in shares.residues] == ["ALC 1 of chain A", "HOH 2 of chain A"]
    assert shares.energy.sum() == pytest.approx(shares.whole_energy, abs=1e-9)
    atoms = list(zip(wavefunction.atomic_numbers.tolist(), wavefunction.positions, strict=True))
    mol = pyscf.gto.M(atom=atoms, unit="B", basis="sto-3g", verbose=0)
    field = pyscf.qmmm.mm_charge(pyscf.scf.RHF(mol), external.positions, external.charges, unit="B").run(conv_tol=1e-12)
    integrals = mol.intor("int1e_grids", grids=external.positions)
    distances = np.linalg.norm(external.positions[:, None] - mol.atom_coords(), axis=2)
    row = (region.owners >= 9).astype(int)

    def rows(potential):
        return np.bincount(row, external.charges * potential)

    electrons = np.einsum("gij,ij->g", integrals, field.make_rdm1())
    np.testing.assert_allclose(shares.energy, rows(mol.atom_charges() @ (1 / distances.T) - electrons), atol=1e-6)
    for orbital, got in ((4, shares.homo), (5, shares.lumo)):  # degenerate but for the surroundings
        c = field.mo_coeff[:, orbital]
        np.testing.assert_allclose(got, rows(-np.einsum("gij,i,j->g", integrals, c, c)), atol=1e-5)
    np.testing.assert_allclose(shares.potential, rows(1 / distances[:, 0]), rtol=1e-12)
    line = np.linspace(*wavefunction.positions[[0, 4]], 2001)  # midpoint: 1000
    whole = ob.potential_of_charges(PointCharges(external.positions, external.charges), line, precision="double")
    step = 2 * np.linalg.norm(line[1] - line[0])
    assert shares.field[:, 1].sum() == pytest.approx((whole[999] - whole[1001]) / step, rel=1e-6)
    coloured = shares.of_atoms(shares.energy)
    assert np.isnan(coloured[METHYL]).all()
    assert coloured[9] == coloured[11] == shares.energy[1]
    narrow = residue_shares(wavefunction, replace(region, external=replace(external, widths=1e-3)))
    np.testing.assert_allclose(narrow.energy, shares.energy, atol=1e-8)


@pytest.mark.slow
def test_a_density_that_relaxes_gains_energy(methyl):
    region, _, found = methyl
    shares = residue_shares(found.wavefunction, region)
    for residues, held in (((shares.residues[1],), shares.energy[1]), (shares.residues, shares.whole_energy)):
        answered = found.energy - solved(without_residues(region, residues))[1].energy
        assert held < answered < held + 0.02
    vacuum = solved(replace(region, external=None, owners=region.owners[:0]))[1]
    assert answered == pytest.approx(found.energy - vacuum.energy, abs=1e-8)
    report = residue_report(found.wavefunction, region, bond=(0, 4), vacuum=vacuum.wavefunction)
    table, whole = report.tables
    assert all(closure.holds for closure in table.closures)
    assert abs(table["field"][0]) >= abs(table["field"][1])
    np.testing.assert_allclose(sorted(table["energy"]), sorted(shares.energy / kilocalorie_per_mole))
    arrows = field_arrows(found.wavefunction, region, 1.5)
    difference = arrows.places[:, None] - region.external.positions  # Coulomb's law
    expected = region.external.charges[:, None] * difference / np.linalg.norm(difference, axis=2, keepdims=True) ** 3
    np.testing.assert_allclose(arrows.vectors, expected.sum(axis=1), atol=1e-12)
    lines = np.array(arrows.paths().lines)
    np.testing.assert_allclose(lines.mean(axis=1), arrows.places)
    drawn = np.linalg.norm(lines[:, 1] - lines[:, 0], axis=1)
    assert drawn.max() == pytest.approx(0.9 * 1.5)
    in_proportion = drawn < drawn.max() - 1e-9
    ratio = drawn[in_proportion] / np.linalg.norm(arrows.vectors[in_proportion], axis=1)
    np.testing.assert_allclose(ratio, ratio[0])
    with pytest.raises(OrbitileError, match="1 to 2 suit a ligand"):
        field_arrows(found.wavefunction, region, 0.05)
    of_whole = dict(zip(whole["quantity"], whole["value"].astype(float), strict=True))
    field = residue_shares(found.wavefunction, region, bond=(0, 4)).field.sum(axis=0) / megavolt_per_centimetre
    assert of_whole["field along C1-H5 at the midpoint"] == pytest.approx(field[1])
    assert of_whole["shift of the gap from vacuum"] == pytest.approx(
        of_whole["shift of the LUMO from vacuum"] - of_whole["shift of the HOMO from vacuum"]
    )


def test_what_cannot_be_is_refused(methyl):
    region, _, found = methyl
    with pytest.raises(OrbitileError, match="expected atoms 1 to 5 of the region, got 6"):
        residue_shares(found.wavefunction, region, bond=(0, 5))
    with pytest.raises(OrbitileError, match="in vacuum"):
        residue_shares(found.wavefunction, replace(region, external=None))
    with pytest.raises(OrbitileError, match="compute the region again"):
        residue_shares(replace(found.wavefunction, positions=found.wavefunction.positions + 1, geometries=()), region)
    with pytest.raises(OrbitileError, match="ASP 7 has no charges"):
        without_residues(region, (replace(region.structure.residues[0], chain="", number="7", name="ASP"),))


@pytest.mark.slow
def test_files_beside_a_wavefunction_give_polarisation_and_the_whole_potential(methyl, tmp_path):
    region, calculation, found = methyl
    vacuum = engine_of("orbitile", region.geometry, replace(calculation, external_charges=None)).solve(
        region.geometry, replace(calculation, external_charges=None), precision="double"
    )
    for name, solution in (("m.h5", found), ("m-vacuum.h5", vacuum)):
        with ob.SeriesWriter(tmp_path / name) as writer:
            writer.append(solution.wavefunction)
    alone = ob.load_trajectory(tmp_path / "m-vacuum.h5")[0]
    assert set(unavailable(alone)) >= {"polarisation", "esp-whole"}
    wavefunction = ob.load_trajectory(tmp_path / "m.h5")[0]
    with pytest.raises(OrbitileError, match="computed without charges around it, or their file is not beside"):
        ob.evaluate(wavefunction, "esp-whole", np.zeros((1, 3)))
    save_region(region, region_file(tmp_path / "m.h5"))
    assert "polarisation" not in unavailable(wavefunction)
    points = np.random.default_rng(3).normal(0, 3, (50, 3)) + region.geometry.positions[0]

    def at(field, of=wavefunction):
        return ob.evaluate(of, field, points, precision="double")

    np.testing.assert_allclose(at("polarisation"), at("density") - at("density", vacuum.wavefunction), atol=1e-9)
    charges = PointCharges(region.external.positions, region.external.charges)
    around = ob.potential_of_charges(charges, points, precision="double")
    np.testing.assert_allclose(at("esp-surroundings"), around, atol=1e-10)
    np.testing.assert_allclose(at("esp-whole"), at("esp") + around, atol=1e-10)
    report = ob.residues(wavefunction, atoms="1,5")
    whole = dict(zip(report.table("whole")["quantity"], report.table("whole")["value"].astype(float), strict=True))
    exact = found.energy - vacuum.energy - whole["interaction energy of the density in vacuum"] * kilocalorie_per_mole
    linear = whole["energy of polarisation, of a linear answer"] * kilocalorie_per_mole
    assert exact < 0
    assert linear == pytest.approx(exact, rel=0.05)
    with ob.SeriesWriter(tmp_path / "left.h5") as writer:  # of that name, by another calculation
        writer.append(replace(vacuum.wavefunction, method="pbe/sto-3g, charge 0, unpaired electrons 0"))
    (tmp_path / "left.h5").replace(tmp_path / "m-vacuum.h5")
    wavefunction = ob.load_trajectory(tmp_path / "m.h5")[0]
    with pytest.raises(
        OrbitileError, match=r"expected a wavefunction in vacuum of hf/.*, got pbe/.*; compute it again"
    ):
        at("polarisation", wavefunction)
    report = ob.residues(wavefunction)
    assert "shifts from vacuum are left out" in report.remarks[0]
    assert not any("vacuum" in quantity for quantity in report.table("whole")["quantity"])
    other = replace(region, external=replace(region.external, charges=2 * region.external.charges))
    save_region(other, region_file(tmp_path / "m.h5"))
    with pytest.raises(OrbitileError, match="expected the charges in whose field"):
        at("esp-whole", ob.load_trajectory(tmp_path / "m.h5")[0])
