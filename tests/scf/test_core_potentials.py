"""Effective core potentials in our engine: matrices, energies and forces are PySCF's."""

from __future__ import annotations

import numpy as np
import pytest

from orbitile.base.errors import OrbitileError
from orbitile.gaussians.overlap import dense, shell_overlap
from orbitile.model.elements import SYMBOLS
from orbitile.model.geometry import Geometry
from orbitile.model.units import angstrom
from orbitile.scf.calculation import Calculation
from orbitile.scf.core_potentials import core_potential_matrix, core_potentials
from orbitile.scf.engines import engine_of, orbitile, pyscf
from orbitile.scf.level_of_theory import functions_of_pyscf, molecule_of, shells_of
from orbitile.scf.starting_densities import superposed_densities

pytest.importorskip("pyscf", reason="PySCF (extra scf) is not installed")

IODIDE = Geometry(np.array([53]), np.zeros((1, 3)))


def geometry(text: str) -> Geometry:
    """Elements and positions in Angstrom."""
    rows = [row.split() for row in text.split(";")]
    numbers = [SYMBOLS.index(row[0]) for row in rows]
    return Geometry(np.array(numbers), np.array([[float(x) for x in row[1:]] for row in rows]) * angstrom)


HYDROGEN_IODIDE = geometry("I 0 0 0; H 0.3 0.2 1.57")
GOLD = geometry("Au 0 0 0; Au 0 0.1 2.5")


def overlap_of_gold(calculation: Calculation) -> np.ndarray:
    shells = shells_of(GOLD, calculation)
    return dense(shell_overlap(shells, GOLD.positions, shells, GOLD.positions))


@pytest.mark.parametrize("cartesian", [False, True])
@pytest.mark.parametrize("basis", ["def2-tzvp", "cc-pvdz-pp", "lanl2dz", "crenbl"])
def test_functions_are_in_the_order_of_pyscf(basis, cartesian):
    calculation = Calculation("pbe", basis, cartesian=cartesian)
    molecule = molecule_of(GOLD, calculation)
    rows, factors = functions_of_pyscf(molecule)
    theirs = molecule.intor("int1e_ovlp")[rows[:, None], rows] / np.outer(factors, factors)
    np.testing.assert_allclose(overlap_of_gold(calculation), theirs, atol=1e-9)


@pytest.mark.parametrize(("name", "n_core"), [pytest.param("def2-svp", 60, marks=pytest.mark.slow), ("lanl2dz", 60)])
def test_superposed_atoms_hold_the_electrons_beside_the_core(name, n_core):
    """Their energy in the core potential is close to that of the molecule: none of them fell into the core."""
    calculation = Calculation("pbe", name)
    potentials = core_potentials(GOLD, calculation)
    density = superposed_densities(GOLD.atomic_numbers, shells_of(GOLD, calculation), potentials)
    assert potentials[79].electrons == n_core
    assert np.sum(density * overlap_of_gold(calculation)) == pytest.approx(2 * (79 - n_core), abs=1e-4)
    molecule = molecule_of(GOLD, calculation)
    rows, factors = functions_of_pyscf(molecule)
    theirs = molecule.RKS(xc="pbe").run(verbose=0).make_rdm1()[rows[:, None], rows] * np.outer(factors, factors)
    matrix = core_potential_matrix(GOLD, calculation)
    assert np.sum(density * matrix) == pytest.approx(np.sum(theirs * matrix), rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("atoms", "calculation"),
    [
        pytest.param(IODIDE, Calculation("pbe", "def2-svpd", -1), id="iodide", marks=pytest.mark.slow),
        # not lanl2dz, of 46 electrons in the core: PySCF 2.7 takes the grid of a lighter element for it
        pytest.param(HYDROGEN_IODIDE, Calculation("lda,vwn", "def2-svp", cartesian=True), id="hydrogen iodide"),
        pytest.param(
            geometry("Pd 0 0 0; H 0.2 0.1 1.5"),
            Calculation("upbe", "def2-svp", 0, 1),
            id="Pd",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_energies_and_forces_are_those_of_pyscf(atoms, calculation):
    assert engine_of("auto", atoms, calculation).engine is orbitile
    found, expected = orbitile.solve(atoms, calculation, device="cpu"), pyscf.solve(atoms, calculation)
    assert found.energy == pytest.approx(expected.energy, abs=2e-7)
    if not calculation.unpaired:  # open shells of d atoms go downhill first
        assert found.n_iterations <= expected.n_iterations + 2
    np.testing.assert_array_equal(found.wavefunction.core_charges, expected.wavefunction.core_charges)
    assert found.wavefunction.charge == calculation.charge
    if len(atoms.atomic_numbers) > 1:
        forces = orbitile.gradient(found.wavefunction, calculation, "cpu")
        # of the same orbitals, and of those of each, which are converged to some 1e-5
        np.testing.assert_allclose(forces, pyscf.gradient(found.wavefunction, calculation), atol=1e-6)
        np.testing.assert_allclose(forces, pyscf.gradient(expected.wavefunction, calculation), atol=2e-5)


def test_without_pyscf_they_are_refused_at_once(monkeypatch):
    calculation = Calculation("pbe", "def2-svp", -1)
    for module in ("engines.orbitile", "engines.pyscf", "level_of_theory"):
        monkeypatch.setattr(f"orbitile.scf.{module}.find_spec", lambda name: None)
    with pytest.raises(OrbitileError, match=r"'def2-svp' has effective core potentials .* need the package pyscf: "):
        engine_of("orbitile", IODIDE, calculation)
