"""Lennard-Jones terms between a region and what is around it."""

from dataclasses import replace

import numpy as np
import pytest

import orbitile as ob
from orbitile.base.errors import OrbitileError
from orbitile.model.units import angstrom, kilocalorie_per_mole
from orbitile.scf.engines import engine_of
from orbitile.scf.lennard_jones import amber_parameters
from orbitile.scf.optimisation import LARGEST_FORCE, relaxed_region
from orbitile.scf.region import calculation_of, lennard_jones_of
from orbitile.scf.series import Means

from .test_region import METHYL, alcohol, structure

AMBER = {  # of the force fields ff94 to ff14SB: R in Angstrom, epsilon in kcal/mol
    "CT": (1.908, 0.1094),
    "OH": (1.721, 0.2104),
    "HO": (0, 0),
    "HC": (1.487, 0.0157),
    "H1": (1.387, 0.0157),
    "OW": (1.7683, 0.152),
}


def test_atoms_have_the_types_of_amber():
    types = ["CT", "CT", "OH", "HO", "HC", "HC", "HC", "H1", "H1", "OW", "HO", "HO"]
    radii, depths = amber_parameters(alcohol())
    expected = np.array([AMBER[kind] for kind in types])
    np.testing.assert_allclose(radii / angstrom, expected[:, 0], atol=1e-12)
    np.testing.assert_allclose(depths / kilocalorie_per_mole, expected[:, 1], atol=1e-12)
    with pytest.raises(OrbitileError, match="Lennard-Jones terms: there are none for U; without them"):
        amber_parameters(structure([92, 8], [[0, 0, 0], [0, 0, 5]]))


def test_energy_is_that_of_its_pairs_and_bonded_partners_have_none():
    region = ob.quantum_region(alcohol(), METHYL)  # its bond to atom 1 is cut; atoms 2, 7 and 8 are at angles over it
    terms, positions = lennard_jones_of(region), region.structure.positions
    assert terms.held == (0, 4)
    radii, depths = amber_parameters(region.structure)
    energy = 0.0
    for i in METHYL:
        for j in set(range(1, 12)) - set(METHYL):
            if j != 1 and not (i == 0 and j in (2, 7, 8)):
                ratio = ((radii[i] + radii[j]) / np.linalg.norm(positions[i] - positions[j])) ** 6
                energy += np.sqrt(depths[i] * depths[j]) * (ratio**2 - 2 * ratio)
    assert terms.energy_and_gradient(region.geometry.positions)[0] == pytest.approx(energy, abs=1e-12)
    far = region.geometry.positions + np.array([7.5 * angstrom, 0, 0])  # where pairs are being switched off
    step = np.random.default_rng(3).normal(size=far.shape) * 1e-3
    for places in (region.geometry.positions, far, 2 * region.geometry.positions - far):
        ends = [terms.energy_and_gradient(places + sign * step)[0] for sign in (1, -1)]
        slope = (terms.energy_and_gradient(places)[1] * step).sum()
        assert (ends[0] - ends[1]) / 2 == pytest.approx(slope, abs=1e-9)
    assert terms.energy_and_gradient(far * 20)[0] == 0
    with pytest.raises(OrbitileError, match="expected the 5 atoms of the region, got 4"):
        terms.energy_and_gradient(far[:4])


@pytest.mark.parametrize("chosen", [range(9), METHYL], ids=("whole", "cut"))
def test_a_region_relaxes_where_it_is(chosen, tmp_path):
    for package in ("ase", "h5py", "tblite.interface"):
        pytest.importorskip(package, reason=f"{package} (extra region) is not installed")
    region = ob.quantum_region(alcohol(), list(chosen))
    relaxed = relaxed_region(region, tmp_path / "steps.h5", Means(calculation_of(region)))
    terms = lennard_jones_of(region)
    calculation = replace(calculation_of(region), lennard_jones=terms)
    solver = engine_of("auto", relaxed.geometry, calculation)
    found = solver.solve(relaxed.geometry, calculation)
    assert found.wavefunction.method.endswith("with Lennard-Jones terms")
    gradient = solver.gradient(found.wavefunction, calculation)
    free = np.setdiff1d(np.arange(len(gradient)), terms.held)
    assert np.linalg.norm(gradient[free], axis=1).max() < LARGEST_FORCE
    assert np.array_equal(relaxed.geometry.positions[list(terms.held)], region.geometry.positions[list(terms.held)])
    assert 0.01 < np.abs(relaxed.geometry.positions - region.geometry.positions).max() / angstrom < 1
    outside = np.setdiff1d(np.arange(12), region.atoms)
    assert np.array_equal(relaxed.structure.positions[outside], region.structure.positions[outside])
    step = np.random.default_rng(5).normal(size=gradient.shape) * 1e-3
    ends = [
        solver.solve(replace(relaxed.geometry, positions=relaxed.geometry.positions + sign * step), calculation).energy
        for sign in (1, -1)
    ]
    length = np.linalg.norm(step)
    assert (ends[0] - ends[1]) / (2 * length) == pytest.approx((gradient * step).sum() / length, abs=1e-6)
