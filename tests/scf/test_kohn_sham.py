"""The loop, on Hartree-Fock matrices of PySCF: where it begins, and that it converges, or says why not."""

from __future__ import annotations

import numpy as np
import pytest

from orbitile.evaluation.devices import device_session
from orbitile.integrals.functionals import functional
from orbitile.model.geometry import Geometry
from orbitile.model.wavefunction import Orbitals, Wavefunction
from orbitile.scf.calculation import Calculation, NotConverged
from orbitile.scf.kohn_sham import Criteria, Hamiltonian, self_consistent_field
from orbitile.scf.level_of_theory import molecule_of, shells_of
from orbitile.scf.occupation import Occupation
from orbitile.scf.starting_densities import extrapolated_densities, superposed_densities
from tests.integrals.references import basis_of, molecule, ours, random_matrix, theirs
from tests.molecules import scf

CRITERIA = Criteria(1e-9, 3e-5)


class HartreeFock:
    """An operator with matrices of PySCF, which can be refined once: before, the nuclei attract less."""

    def __init__(self, mol, n_spins: int = 1, *, refined: bool = True) -> None:
        self.mol, self.n_spins, self.refined = mol, n_spins, refined
        self.field = (scf.RHF if n_spins == 1 else scf.UHF)(mol)
        self.overlap = ours(mol, mol.intor("int1e_ovlp"))
        self.evaluations = 0

    def fock(self, densities, exact=False):
        self.evaluations += 1
        core = scf.hf.get_hcore(self.mol) - (not self.refined) * 1e-3 * self.mol.intor("int1e_nuc")
        matrix = theirs(self.mol, densities)
        matrix = matrix[0] if self.n_spins == 1 else matrix
        potential = self.field.get_veff(self.mol, matrix)
        energy = self.field.energy_elec(matrix, core, potential)[0] + self.mol.energy_nuc()
        return energy, ours(self.mol, np.atleast_3d((core + potential).T).T)

    def refine(self) -> bool:
        was, self.refined = self.refined, True
        return not was


def atoms_of(mol, basis, n_spins=1):
    density = superposed_densities(mol.atom_charges(), basis.shells)
    return density[None] if n_spins == 1 else np.array([density, density]) / 2


@pytest.mark.parametrize(
    ("atoms", "basis", "cartesian", "charge", "unpaired"),
    [
        ("O 0 0 0; H 0 0.79 0.61; H 0 -0.79 0.61", "6-31g*", False, 0, 0),
        ("O 0 0 0; H 0 0.79 0.61; H 0 -0.79 0.61", "cc-pvtz", True, 0, 0),
        ("H 0 0 0", "sto-3g", False, 0, 1),
        ("He 0 0 0", "6-31g", False, 0, 0),
        ("O 0 0 0; H 0 0 0.97", "6-31+g*", True, -1, 0),
        ("N 0 0 0", "cc-pvdz", False, 0, 3),
    ],
)
def test_energies_are_those_of_pyscf(atoms, basis, cartesian, charge, unpaired):
    mol = molecule(atoms, basis, cartesian, charge, unpaired)
    n_spins = 2 if unpaired else 1
    start = atoms_of(mol, basis_of(mol), n_spins)
    operator = HartreeFock(mol, n_spins)
    assert np.sum(start * operator.overlap) == pytest.approx(mol.nelectron + charge, abs=1e-6)
    field = self_consistent_field(operator, Occupation(mol.nelec[:n_spins]), start, CRITERIA, "it")
    assert field.energy == pytest.approx(operator.field.kernel(), abs=1e-8)
    assert field.n_iterations == operator.evaluations <= 14
    lowest = np.atleast_2d(operator.field.mo_energy)
    for found, expected, n in zip(field.orbital_energies, lowest, mol.nelec[:n_spins], strict=True):
        np.testing.assert_allclose(found[:n], expected[:n], atol=1e-4)


def test_a_refined_operator_takes_over_what_was_learnt():
    mol = molecule("O 0 0 0; H 0 0.79 0.61; H 0 -0.79 0.61", "6-31g*")
    start = atoms_of(mol, basis_of(mol))
    rough = HartreeFock(mol, refined=False)
    field = self_consistent_field(rough, Occupation((5,)), start, CRITERIA, "it")
    assert rough.refined
    assert field.energy == pytest.approx(rough.field.kernel(), abs=1e-8)
    alone = self_consistent_field(HartreeFock(mol), Occupation((5,)), start, CRITERIA, "it")
    assert field.n_iterations <= alone.n_iterations + 3


METHYLENE = "C 0 0 0; H 0 0.98 0.4; H 0 -0.98 0.4"


@pytest.mark.parametrize("most", [(50, 0), (0, 250)], ids=["extrapolation", "minimisation"])
@pytest.mark.parametrize(
    ("n_spins", "shared", "temperature"),
    [(1, False, 0.0), (2, False, 0.0), (2, True, 0.0), (1, False, 0.05), (2, False, 0.05)],
)
def test_each_occupation_converges_in_both_ways(monkeypatch, most, n_spins, shared, temperature):
    """Closed, unrestricted and restricted open shells, and occupations by a temperature: energies are PySCF's."""
    monkeypatch.setattr("orbitile.scf.kohn_sham._MOST", most)
    mol = molecule(METHYLENE, "6-31g", unpaired=2 * (n_spins - 1))
    operator = HartreeFock(mol, n_spins)
    occupation = Occupation(mol.nelec[:n_spins], shared, temperature)
    field = self_consistent_field(operator, occupation, atoms_of(mol, basis_of(mol), n_spins), CRITERIA, "it")
    theirs = scf.ROHF(mol) if shared else operator.field
    if temperature:
        theirs = scf.addons.smearing(theirs, sigma=temperature, fix_spin=True)
    theirs.conv_tol = 1e-10
    energy = theirs.kernel()
    assert field.energy == pytest.approx(theirs.e_free if temperature else energy, abs=1e-7)
    assert field.smearing == pytest.approx(theirs.e_free - energy if temperature else 0.0, abs=1e-5)
    occupations, energies = (np.reshape(part, (-1, mol.nao)) for part in (theirs.mo_occ, theirs.mo_energy))
    for found, expected in ((field.occupations, occupations), (field.orbital_energies, energies)):
        np.testing.assert_allclose(np.sort(found), np.sort(expected), atol=1e-4)


def test_minimisation_does_not_stay_on_a_saddle_point():
    """Of a torn bond, closed shells are one; both spins begin alike."""
    mol = molecule("H 0 0 0; H 0 0 3.0", "6-31g")
    field = self_consistent_field(
        HartreeFock(mol, 2), Occupation((1, 1)), atoms_of(mol, basis_of(mol), 2), CRITERIA, "it", downhill=True
    )
    assert field.energy == pytest.approx(2 * scf.UHF(molecule("H 0 0 0", "6-31g", unpaired=1)).kernel(), abs=1e-3)


def test_minimisation_converges_what_oscillates():
    """Occupied and virtual orbitals would change places from one iteration to the next."""
    mol = molecule("Fe 0 0 0; C 0 0 1.7; O 0 0 2.85", "sto-3g")
    operator = HartreeFock(mol)
    field = self_consistent_field(operator, Occupation((20,)), atoms_of(mol, basis_of(mol)), CRITERIA, "it")
    density = 2 * field.coefficients[0][:, :20] @ field.coefficients[0][:, :20].T
    matrices = operator.fock(density[None])[1]
    error = matrices[0] @ density @ operator.overlap
    assert np.abs(error - error.T).max() < 1e-3


def test_what_does_not_converge_says_by_how_much(monkeypatch):
    monkeypatch.setattr("orbitile.scf.kohn_sham._MOST", (2, 4))
    mol = molecule("O 0 0 0; H 0 0.79 0.61; H 0 -0.79 0.61", "sto-3g")
    with pytest.raises(NotConverged, match=r"water did not converge in 11 iterations.* changed by \d.*gradient was \d"):
        self_consistent_field(HartreeFock(mol), Occupation((5,)), atoms_of(mol, basis_of(mol)), CRITERIA, "water")


def test_dependent_functions_are_left_out():
    mol = molecule("H 0 0 0; H 0 0 1e-5", "6-31g")
    operator = HartreeFock(mol)
    field = self_consistent_field(operator, Occupation((1,)), atoms_of(mol, basis_of(mol)), CRITERIA, "it")
    assert field.coefficients[0].shape == (4, 2)
    with pytest.raises(NotConverged, match="3 occupied orbitals do not fit into 2 functions"):
        self_consistent_field(operator, Occupation((3,)), atoms_of(mol, basis_of(mol)), CRITERIA, "it")


def frame(step: float):
    """Water that vibrates, with its converged orbitals."""
    positions = np.array([[0, 0, 0], [0, 1.5, 1.15], [0, -1.5, 1.15]])
    positions += 0.1 * np.sin(step + np.arange(9).reshape(3, 3))
    geometry = Geometry(np.array([8, 1, 1]), positions)
    calculation = Calculation("hf", "6-31g")
    mol = molecule_of(geometry, calculation)
    operator = HartreeFock(mol)
    field = self_consistent_field(operator, Occupation((5,)), atoms_of(mol, basis_of(mol)), Criteria(1e-10, 1e-6), "it")
    orbitals = Orbitals(field.coefficients[0], np.repeat([2.0, 0.0], [5, 8]), field.orbital_energies[0])
    found = Wavefunction(geometry.atomic_numbers, positions, shells_of(geometry, calculation), orbitals)
    return operator, found, 2 * field.coefficients[0][:, :5] @ field.coefficients[0][:, :5].T


def test_extrapolated_densities_come_close():
    """Each further frame takes off most of the error, and densities are always those of orthonormal orbitals."""
    frames = [frame(0.15 * n) for n in range(6)]
    operator, _, expected = frames[-1]
    errors = []
    for n_before in (1, 2, 3, 5):
        (density,) = extrapolated_densities([one for _, one, _ in frames[5 - n_before : 5]], operator.overlap)
        np.testing.assert_allclose(density @ operator.overlap @ density, 2 * density, atol=1e-9)
        errors.append(np.abs(density - expected).max())
    assert errors[0] > 3 * errors[1] > 9 * errors[2]
    assert errors[3] < 1e-3


def test_what_was_learnt_saves_iterations():
    """The next frames begin from the same densities, and converge to the same energy, in half the iterations."""
    frames = [frame(0.15 * n) for n in range(7)]
    alone, learnt, response = [], [], None
    for n in range(1, 7):
        operator, _, _ = frames[n]
        start = extrapolated_densities([frames[n - 1][1]], operator.overlap)
        alone.append(self_consistent_field(operator, Occupation((5,)), start, CRITERIA, "it"))
        learnt.append(self_consistent_field(operator, Occupation((5,)), start, CRITERIA, "it", response))
        response = learnt[-1].response
        assert learnt[-1].energy == pytest.approx(alone[-1].energy, abs=1e-8)
    assert response.fock.shape == response.densities.shape == (len(response.fock), 1, 13, 13)
    assert sum(one.n_iterations for one in learnt[3:]) <= 0.6 * sum(one.n_iterations for one in alone[3:])


def test_what_is_learnt_is_bounded(monkeypatch):
    monkeypatch.setattr("orbitile.scf.kohn_sham._LEARNT", 4)
    operator, _, density = frame(0.0)
    start = 1.01 * density[None]
    fields = [self_consistent_field(operator, Occupation((5,)), start, CRITERIA, "it")]
    fields.append(self_consistent_field(operator, Occupation((5,)), start, CRITERIA, "it", fields[0].response))
    assert [len(field.response.fock) for field in fields] == [min(4, fields[0].n_iterations - 1), 4]


@pytest.mark.parametrize("functional_name", ["pbe", "tpss"])
def test_changes_are_added_to_exact_densities_too(functional_name):
    mol = molecule("O 0 0 0; H 0 0.79 0.61; H 0 -0.79 0.61", "sto-3g")
    basis, first = basis_of(mol), atoms_of(mol, basis_of(mol))
    second = first + 1e-2 * random_matrix(mol.nao)
    numbers = mol.atom_charges().astype(np.int64)
    with device_session("cpu", "single") as target:
        operators = [Hamiltonian(numbers, basis, functional(functional_name), target, close=True) for _ in range(2)]
        operators[0].fock(first, exact=True)
        energies, matrices = zip(operators[0].fock(second), operators[1].fock(second, exact=True), strict=True)
    assert energies[0] == pytest.approx(energies[1], abs=1e-7)
    np.testing.assert_allclose(*matrices, atol=2e-6)
