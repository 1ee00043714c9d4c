"""Solvent and smearing by engine pyscf: PySCF's own energies, and forces that are derivatives of the energy told."""

import numpy as np
import pytest

from orbitile.base.errors import OrbitileError
from orbitile.model.geometry import Geometry
from orbitile.model.units import kelvin
from orbitile.scf.calculation import Calculation
from orbitile.scf.engines import engine_of

pyscf = pytest.importorskip("pyscf")

WATER = Geometry(np.array([8, 1, 1]), np.array([[0, 0, 0], [0, 1.43, 1.11], [0, -1.43, 1.11]], np.float64))
OXYGEN = Geometry(np.array([8, 8]), np.array([[0, 0, 0], [0, 0, 3.0]], np.float64))


def slope(solver, geometry, calculation, start, step=1e-3):
    """Derivative of the energy with respect to z of the second atom."""
    energies = []
    for sign in (1, -1):
        positions = geometry.positions.copy()
        positions[1, 2] += sign * step
        energies.append(solver.solve(Geometry(geometry.atomic_numbers, positions), calculation, [start]).energy)
    return (energies[0] - energies[1]) / (2 * step)


@pytest.mark.parametrize(
    ("geometry", "calculation"),
    [
        (WATER, Calculation("hf", "sto-3g", solvent="Water")),
        (OXYGEN, Calculation("hf", "sto-3g", 0, 2, smearing=20_000)),
        pytest.param(OXYGEN, Calculation("rhf", "sto-3g", solvent="7.5", smearing=20_000), marks=pytest.mark.slow),
    ],
    ids=("solvent", "smearing", "both"),
)
def test_forces_are_derivatives_of_the_energy_with_all_its_parts(geometry, calculation):
    solver = engine_of("pyscf", geometry, calculation)
    found = solver.solve(geometry, calculation)
    asked = [name for name, one in (("solvation", calculation.solvent), ("smearing", calculation.smearing)) if one]
    assert list(found.parts) == asked
    assert all(part < 0 for part in found.parts.values())
    assert found.wavefunction.method == str(calculation)
    gradient = solver.gradient(found.wavefunction, calculation)
    assert gradient[1, 2] == pytest.approx(slope(solver, geometry, calculation, found.wavefunction), abs=3e-6)


@pytest.mark.slow
def test_energies_are_those_of_pyscf():
    mol = pyscf.gto.M(atom=[("O", row) for row in OXYGEN.positions], unit="bohr", basis="sto-3g", verbose=0)
    field = pyscf.scf.addons.smearing(pyscf.scf.RHF(mol), sigma=20_000 * kelvin).PCM()
    field.with_solvent.eps = 7.4257
    field.kernel()
    calculation = Calculation("rhf", "sto-3g", solvent="THF", smearing=20_000)
    found = engine_of("pyscf", OXYGEN, calculation).solve(OXYGEN, calculation)
    assert found.energy == pytest.approx(field.e_free, abs=1e-7)
    assert found.parts["smearing"] == pytest.approx(field.e_free - field.e_tot, abs=1e-7)
    assert found.parts["solvation"] == pytest.approx(field.with_solvent.e, abs=1e-7)


def test_what_does_not_go_together_is_refused():
    with pytest.raises(OrbitileError, match="no smearing of restricted open shells; ask for uhf"):
        engine_of("pyscf", OXYGEN, Calculation("rohf", "sto-3g", 0, 2, smearing=1000))
    for wrong in ({"solvent": "wter"}, {"smearing": -1.0}, {"smearing": float("nan")}):
        with pytest.raises(OrbitileError, match=r"did you mean water|0 K or more"):
            Calculation("hf", "sto-3g", **wrong)
    assert Calculation("hf", solvent="Vacuum") == Calculation("hf")
