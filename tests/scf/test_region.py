"""Regions of structures: cuts, charges around them, guessed charges, and what is refused."""

import numpy as np
import pytest

import orbitile as ob
from orbitile.model.geometry import find_bonds
from orbitile.model.structure import Residue, Structure
from orbitile.model.units import angstrom
from orbitile.scf.calculation import Calculation
from orbitile.scf.engines import engine_of
from orbitile.scf.region import calculation_of, quantum_region, to_structure, with_positions

ETHANOL_AND_WATER = """
    C   1.1879 -0.3829  0.0000 -0.18
    C   0.0000  0.5526  0.0000  0.15
    O  -1.1867 -0.2472  0.0000 -0.68
    H  -1.9237  0.3850  0.0000  0.42
    H   2.0985  0.2306  0.0000  0.06
    H   1.1184 -1.0093  0.8869  0.06
    H   1.1184 -1.0093 -0.8869  0.06
    H  -0.0227  1.1812  0.8852  0.05
    H  -0.0227  1.1812 -0.8852  0.06
    O   3.9000  1.9000  0.4000 -0.83
    H   4.6000  1.3000  0.3000  0.42
    H   4.2000  2.7000  0.1000  0.41
"""
METHYL = [0, 4, 5, 6]


def structure(text, residues=("ALC",), residue_of=None, orders=0.0, **more):
    """Lines of element, position in Angstrom and partial charge; bonds by distance."""
    rows = [line.split() for line in text.strip().splitlines()]
    numbers = np.array([ob.model.elements.SYMBOLS.index(row[0]) for row in rows])
    positions = np.array([row[1:4] for row in rows], float) * angstrom
    bonds = more.pop("bonds", find_bonds(numbers, positions))
    return Structure(
        numbers,
        positions,
        tuple(f"{row[0]}{n + 1}" for n, row in enumerate(rows)),
        tuple(Residue("A", str(n + 1), name) for n, name in enumerate(residues)),
        np.zeros(len(rows), np.int64) if residue_of is None else np.array(residue_of),
        bonds,
        np.full(len(bonds), orders),
        more.pop("formal", np.zeros(len(rows), np.int64)),
        np.array([float(row[4]) if len(row) > 4 else np.nan for row in rows]),
    )


def alcohol():
    return structure(ETHANOL_AND_WATER, ("ALC", "HOH"), [0] * 9 + [1] * 3)


def test_a_cut_keeps_charge_and_dipole_moment():
    region = quantum_region(whole := alcohol(), METHYL)
    outside = np.setdiff1d(np.arange(12), METHYL)
    assert region.geometry.atomic_numbers.tolist() == [6, 1, 1, 1, 1]
    (link,) = region.links
    assert (link.inside, link.outside) == (0, 1)
    bond = whole.positions[1] - whole.positions[0]
    np.testing.assert_allclose(region.geometry.positions[-1], whole.positions[0] + 1.09 / 1.53 * bond)
    external, charges = region.external, whole.partial_charges[outside]
    assert external.charges.sum() == pytest.approx(charges.sum(), abs=1e-13)
    np.testing.assert_allclose(external.charges @ external.positions, charges @ whole.positions[outside], atol=1e-12)
    assert np.bincount(region.owners, external.charges, 12)[outside] == pytest.approx(charges)
    assert not (np.linalg.norm(external.positions - whole.positions[1], axis=1) < 0.5).any()
    assert {"ALC 1 of chain A" in note for note in region.notes} == {True, False}
    assert any("C1 - C2 of ALC 1" in note for note in region.notes)
    assert calculation_of(region, "hf", "sto-3g") == Calculation("hf", "sto-3g", external_charges=external)
    assert quantum_region(whole, METHYL, embed=False).external is None


def test_forces_on_the_structure_are_derivatives_of_the_energy():
    region = quantum_region(alcohol(), METHYL)

    def solved(of):
        calculation = calculation_of(of, "hf", "sto-3g")
        engine = engine_of("orbitile", of.geometry, calculation)
        return engine, calculation, engine.solve(of.geometry, calculation, precision="double")

    engine, calculation, found = solved(region)
    inner = -engine.gradient(found.wavefunction, calculation, precision="double")
    forces = to_structure(region, inner, ob.forces_on_charges(found.wavefunction, region.external))
    direction = np.random.default_rng(7).normal(size=forces.shape)
    step = 1e-3
    ends = [solved(with_positions(region, region.structure.positions + s * direction))[2].energy for s in (step, -step)]
    assert (ends[1] - ends[0]) / (2 * step) == pytest.approx((forces * direction).sum(), abs=2e-6)
    np.testing.assert_allclose(forces.sum(axis=0), 0, atol=1e-6)
    assert to_structure(region, inner)[9:].tolist() == np.zeros((3, 3)).tolist()
