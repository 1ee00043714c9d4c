"""Energies, matrices and derivatives of a molecule in a solvent: those of PySCF, of Born, and of finite differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from orbitile.base.errors import OrbitileError
from orbitile.evaluation.devices import device_session
from orbitile.integrals.hermite_list import point_charges
from orbitile.integrals.pairs import pairs_of, to_hermite, to_matrix
from orbitile.integrals.solvent import cavity_of, reaction_field, solvation_gradient
from orbitile.model.geometry import Geometry
from orbitile.model.units import angstrom
from orbitile.scf.calculation import Calculation
from orbitile.scf.engines import engine_of, orbitile, pyscf
from orbitile.scf.level_of_theory import mean_field, molecule_of

from .references import basis_of, molecule, ours, theirs
from .test_forces import at, differences

scf = pytest.importorskip("pyscf.scf", reason="PySCF (extra scf) is not installed")
pcm = pytest.importorskip("pyscf.solvent.pcm")

WATER = "O 0 0 0; H 0 0.79 0.61; H 0 -0.79 0.61"
FORMAMIDE = "C 0 0 0; O 0 0 1.22; N 1.14 0.02 -0.75; H -0.95 0.05 -0.58; H 2.0 0.1 -0.3; H 1.1 -0.1 -1.76"
FORMATE = "C 0 0 0; O 0 1.13 0.55; O 0 -1.13 0.55; H 0 0 -1.13"
AMMONIUM = "N 0 0 0; H 0.6 0.6 0.6; H -0.6 -0.6 0.6; H -0.6 0.6 -0.6; H 0.6 -0.6 -0.6"
METHYL = "C 0 0 0.05; H 0 1.08 0; H 0.935 -0.54 0; H -0.935 -0.54 0"
ZINC_CHLORIDE = "Zn 0 0 0; Cl 0 0 2.1; Cl 0 0.3 -2.1"
IODOMETHANE = "I 0 0 0; C 0 0 2.14; H 0 1.03 2.5; H 0.9 -0.52 2.5; H -0.9 -0.52 2.5"
EPSILON = 78.355
MOLECULES = {
    "formamide": (FORMAMIDE, "6-31g*"),
    "formate, diffuse functions": (FORMATE, "6-31+g*", True, -1),
    "ammonium": (AMMONIUM, "def2-svp", False, 1),
    "zinc chloride": (ZINC_CHLORIDE, "6-31g*"),
    "iodomethane": (IODOMETHANE, "def2-tzvp"),
}
LARGE = ("formamide", "formate, diffuse functions", "zinc chloride", "iodomethane")


def density_of(mol) -> np.ndarray:
    """Density matrix of superposed atoms over our basis functions, of all electrons."""
    rows, factors = pyscf.functions_of_pyscf(mol)
    return scf.hf.init_guess_by_minao(mol)[rows[:, None], rows] * np.outer(factors, factors)


def numbers_of(mol) -> np.ndarray:
    return np.array([pcm.gto.charge(symbol) for symbol in mol.elements])


def answer(mol, density, target, positions=None, dielectric=EPSILON):
    """Pairs, cavity, and the field of nuclei and electrons."""
    basis = basis_of(mol, positions)
    pairs, charges = pairs_of(basis), mol.atom_charges().astype(float)
    cavity = cavity_of(numbers_of(mol), basis.positions, dielectric)
    found = reaction_field(cavity, pairs, *point_charges(-charges, basis.positions), target)
    found += reaction_field(cavity, pairs, pairs.list, to_hermite(pairs, density, target), target)
    return pairs, cavity, found


@pytest.mark.slow_on("vulkan")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow, pytest.mark.not_in_software] if name in LARGE else [])
        for name in MOLECULES
    ],
)
def test_energy_matrix_and_derivatives_are_those_of_pyscf(name, device, precision):
    mol = molecule(*MOLECULES[name])
    density = density_of(mol)
    with device_session(device, precision) as target:
        pairs, cavity, found = answer(mol, density, target)
        matrix = to_matrix(pairs, found.values, target)
        charges, positions = mol.atom_charges().astype(float), mol.atom_coords()
        gradient = solvation_gradient(cavity, pairs, density, charges, positions, target)
    reference = pcm.PCM(mol)
    reference.eps = EPSILON
    energy, expected = reference._get_vind(theirs(mol, density))
    double = precision == "double"
    assert found.energy == pytest.approx(energy, rel=1e-10, abs=1e-9 if double else 1e-8)
    np.testing.assert_allclose(found.charges.sum(), reference._intermediates["q"].sum(), atol=1e-8)
    np.testing.assert_allclose(matrix, ours(mol, expected), atol=1e-9 if double else 2e-7)
    np.testing.assert_allclose(gradient, reference.grad(theirs(mol, density)), atol=1e-8 if double else 1e-6)


@pytest.mark.slow
def test_derivatives_are_those_of_the_energy():
    mol = molecule(FORMAMIDE, "sto-3g")
    density = density_of(mol)
    coordinates = ((0, 2), (2, 0), (5, 1))
    with device_session("cpu", "double") as target:
        pairs, cavity, _ = answer(mol, density, target, dielectric=4.7)
        charges, positions = mol.atom_charges().astype(float), mol.atom_coords()
        gradient = solvation_gradient(cavity, pairs, density, charges, positions, target)

        def energy(moved):
            return answer(mol, density, target, moved, 4.7)[2].energy

        np.testing.assert_allclose(at(gradient, coordinates), differences(energy, positions, coordinates), atol=1e-8)
    np.testing.assert_allclose(gradient.sum(axis=0), 0, atol=1e-9)


def test_an_ion_has_the_energy_of_born():
    """That of a charge in a sphere, with the charge of the electrons outside of it not answered by a conductor."""
    mol = molecule("Na 1 2 3", "6-31g", charge=1)
    radius = 1.2 * 2.27 * angstrom
    with device_session("cpu", "double") as target:
        _, cavity, found = answer(mol, density_of(mol) * 0, target, dielectric=5.0)
    assert cavity.areas.sum() == pytest.approx(4 * np.pi * radius**2, rel=1e-12)
    assert found.energy == pytest.approx(-0.5 * 11**2 * (1 - 1 / 5) / radius, rel=1e-7)
    assert found.charges.sum() == pytest.approx(-11 * (1 - 1 / 5), rel=1e-7)


CALCULATION = Calculation("pbe", "6-31g*", solvent="water")


def geometry(atoms: str) -> Geometry:
    mol = molecule(atoms, "sto-3g", unpaired=None)
    return Geometry(numbers_of(mol), mol.atom_coords())


@pytest.mark.parametrize(
    ("atoms", "calculation"),
    [
        (METHYL, replace(CALCULATION, basis="6-31g", unpaired=1)),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                (WATER, replace(CALCULATION, method="lda,vwn", solvent="4.7")),
                (FORMATE, replace(CALCULATION, basis="6-31+g*", charge=-1)),
                (AMMONIUM, replace(CALCULATION, charge=1)),
                ("I 0 0 0; H 0 0.3 1.58", replace(CALCULATION, basis="def2-svp")),
            )
        ),
    ],
)
def test_whole_calculations_are_those_of_pyscf(atoms, calculation):
    """Total energies as in vacuum, that of solvation to 1e-7 hartree even where most is in single precision."""
    atoms = geometry(atoms)
    found = orbitile.solve(atoms, calculation, device="cpu")
    field = mean_field(molecule_of(atoms, calculation), calculation)
    field.conv_tol, field.conv_tol_grad = 1e-11, 1e-7
    field.kernel()
    assert found.parts["solvation"] == pytest.approx(field.with_solvent.e, abs=1e-7)
    assert found.energy == pytest.approx(field.e_tot, abs=1e-6)
    forces = orbitile.gradient(found.wavefunction, calculation, device="cpu")
    np.testing.assert_allclose(forces, field.nuc_grad_method().kernel(), atol=2e-5)


def test_what_has_no_cavity_is_refused_before_anything_begins(monkeypatch):
    iron = Geometry(np.array([26]), np.zeros((1, 3)))
    with pytest.raises(OrbitileError, match="no van der Waals radius of Fe is known for the cavity"):
        engine_of("auto", iron, replace(CALCULATION, unpaired=4))
    monkeypatch.setattr("orbitile.base.memory.available_memory", lambda: 10**6)
    water = geometry(WATER)
    with pytest.raises(OrbitileError, match=r"cavity of \d+ points needs .* GB of memory"):
        cavity_of(water.atomic_numbers, water.positions, 2.0)
