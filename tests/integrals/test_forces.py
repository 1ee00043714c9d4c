"""Derivatives of the energy and of its parts: those of finite differences, and those of PySCF."""

import numpy as np
import pytest

from orbitile.evaluation.devices import device_session
from orbitile.gaussians.overlap import inverse_root, kinetic_matrix
from orbitile.integrals.coulomb import coulomb_values
from orbitile.integrals.forces import (
    electrostatic_field,
    gradient_at_nuclei,
    kinetic_gradient,
    kohn_sham_gradient,
    repulsion_gradient,
    to_gradient,
)
from orbitile.integrals.functionals import functional as functional_of_name
from orbitile.integrals.grids import Grid, grid_of
from orbitile.integrals.hermite_list import point_charges
from orbitile.integrals.one_electron import integrals_over_space, overlap
from orbitile.integrals.pairs import pairs_of, to_hermite, to_matrix
from orbitile.integrals.quadrature import (
    KineticEnergyDensity,
    exchange_correlation,
    gradient_of_points,
    quadrature_of,
)
from orbitile.scf.engines.pyscf import functions_of_pyscf

from .references import basis_of, molecule, random_matrix, theirs

dft = pytest.importorskip("pyscf.dft", reason="PySCF (extra scf) is not installed")

SMALL = {"O": (15, 50), "H": (15, 50)}
"""Spheres and points on each: derivatives at fixed points are exact on any grid."""

WATER = "O 0 0 0; H 0 0.9 0.5; H 0.1 -0.75 0.7"
COORDINATES = ((0, 2), (1, 1), (2, 0))


def differences(value, positions, coordinates=COORDINATES, step=1e-3):
    """Derivatives of a function of the positions with respect to some coordinates, to fourth order."""
    found = []
    for atom, axis in coordinates:
        values = []
        for n in (-2, -1, 1, 2):
            moved = positions.copy()
            moved[atom, axis] += n * step
            values.append(value(moved))
        found.append((values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step))
    return found


def at(gradient, coordinates=COORDINATES):
    return [gradient[coordinate] for coordinate in coordinates]


@pytest.mark.parametrize(("basis", "cartesian"), [("cc-pvtz", False), ("6-31g*", True)])
def test_kinetic_energy_and_overlap(basis, cartesian):
    mol = molecule(WATER, basis, cartesian)
    matrix = random_matrix(mol.nao)
    with device_session("cpu", "double") as target:
        first = kinetic_gradient(basis_of(mol), matrix)
        pairs = pairs_of(basis_of(mol))
        second = to_gradient(pairs, matrix, integrals_over_space(pairs.list.raised))

        def energy(positions):
            return float((kinetic_matrix(basis_of(mol, positions)) * matrix).sum())

        def charge(positions):
            moved = pairs_of(basis_of(mol, positions))
            return float(to_hermite(moved, matrix, target) @ integrals_over_space(moved.list))

        np.testing.assert_allclose(at(first), differences(energy, mol.atom_coords()), atol=1e-7)
        np.testing.assert_allclose(at(second), differences(charge, mol.atom_coords()), atol=1e-7)
    for gradient, name in ((first, "int1e_ipkin"), (second, "int1e_ipovlp")):
        integrals = mol.intor(name)
        of_functions = -2 * np.einsum("xij,ij->xi", integrals, theirs(mol, matrix))
        expected = [of_functions[:, a:b].sum(axis=1) for _, _, a, b in mol.aoslice_by_atom()]
        np.testing.assert_allclose(gradient, expected, atol=1e-8)


def electrons_of(mol, functional: str):
    """Occupied orbitals of PySCF over our functions, of both spins together or of each."""
    restricted = mol.spin == 0
    field = (dft.RKS if restricted else dft.UKS)(mol)
    field.xc, field.conv_tol = functional, 1e-12
    field.grids.atom_grid = SMALL
    field.kernel()
    rows, factors = functions_of_pyscf(mol)
    sets = [(field.mo_coeff, field.mo_occ)] if restricted else zip(field.mo_coeff, field.mo_occ, strict=True)
    return field, [c[rows][:, n > 0] * factors[:, None] for c, n in sets]


class Energy:
    """Kohn-Sham energy of orbitals made orthonormal where the atoms are; its gradient is `kohn_sham_gradient`."""

    def __init__(self, mol, orbitals, grid, functional, target):
        self.mol, self.orbitals, self.grid, self.target = mol, orbitals, grid, target
        self.functional = functional_of_name(functional)
        self.charges = mol.atom_charges().astype(float)
        self.electrons = 2 / len(orbitals)

    def parts(self, positions):
        basis = basis_of(self.mol, positions)
        pairs = pairs_of(basis)
        quadrature = quadrature_of(pairs, self.grid, self.target)
        matrix = overlap(pairs, self.target)
        orbitals = [c @ inverse_root(c.T @ matrix @ c) for c in self.orbitals]
        densities = [self.electrons * c @ c.T for c in orbitals]
        hermite = [to_hermite(pairs, d, self.target) for d in densities]
        return basis, pairs, quadrature, orbitals, densities, hermite

    def kinetic_density(self, basis, densities):
        if self.functional.needs_tau:
            return KineticEnergyDensity.of(basis, self.grid, self.target), densities
        return None

    def __call__(self, positions) -> float:
        basis, pairs, quadrature, _, densities, hermite = self.parts(positions)
        density = np.sum(hermite, axis=0)
        nuclei, coefficients = point_charges(self.charges, positions)
        electrons = coulomb_values(pairs.list, pairs.list, density, self.target)
        attraction = coulomb_values(pairs.list, nuclei, coefficients, self.target)
        kinetic_density = self.kinetic_density(basis, densities)
        exchange = exchange_correlation(quadrature, hermite, self.functional, kinetic=kinetic_density).energy
        moving = (kinetic_matrix(basis) * np.sum(densities, axis=0)).sum()
        return float(moving + density @ (0.5 * electrons - attraction) + exchange + repulsion(self.charges, positions))

    def gradient(self, positions):
        basis, pairs, quadrature, orbitals, densities, hermite = self.parts(positions)
        nuclei, coefficients = point_charges(self.charges, positions)
        electrons = coulomb_values(pairs.list, pairs.list, np.sum(hermite, axis=0), self.target)
        field = electrons - coulomb_values(pairs.list, nuclei, coefficients, self.target)
        kinetic_density = self.kinetic_density(basis, densities)
        exchange = exchange_correlation(quadrature, hermite, self.functional, kinetic=kinetic_density)
        weighted = np.zeros_like(densities[0])
        for spin, (c, own) in enumerate(zip(orbitals, exchange.values, strict=True)):
            fock = kinetic_matrix(basis) + to_matrix(pairs, field + own, self.target)
            if kinetic_density:
                fock += kinetic_density[0].matrix(exchange.kinetic_values[spin])
            weighted += self.electrons * c @ (c.T @ fock @ c) @ c.T
        return kohn_sham_gradient(basis, self.charges, densities, weighted, quadrature, self.functional, self.target)


def repulsion(charges, positions) -> float:
    apart = np.linalg.norm(positions[:, None] - positions, axis=2)
    np.fill_diagonal(apart, np.inf)
    return float((np.outer(charges, charges) / apart).sum() / 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("functional", "charge"), [("lda,vwn", 0), ("pbe", 0), ("pbe", 1), ("lda,vwn", 1), ("tpss", 0), ("r2scan", 1)]
)
def test_forces_are_those_of_the_energy_and_of_pyscf(functional, charge):
    mol = molecule(WATER, "6-31g*", bool(charge), charge, charge)
    field, orbitals = electrons_of(mol, functional)
    grid = Grid(field.grids.coords, field.grids.weights, np.zeros(len(field.grids.weights), np.int32))
    with device_session("cpu", "double") as target:
        energy = Energy(mol, orbitals, grid, functional, target)
        assert energy(mol.atom_coords()) == pytest.approx(field.e_tot, abs=1e-7)
        gradient = energy.gradient(mol.atom_coords())
        step = 1e-4 if functional == "tpss" else 1e-3  # it has the larger one of two energies: kinks
        np.testing.assert_allclose(at(gradient), differences(energy, mol.atom_coords(), step=step), atol=1e-7)
    np.testing.assert_allclose(gradient, field.nuc_grad_method().kernel(), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("functional", [pytest.param("lda,vwn", marks=pytest.mark.slow), "r2scan"])
def test_points_move_with_their_atoms(functional):
    """Without the motion of the points, forces of so few points are off by 1e-3 hartree/bohr; ghosts have none."""
    mol = molecule("Li 0 0 0; ghost-He 0 0.5 0.7; H 0.1 0 1.6", "sto-3g")
    numbers = np.array([3, 0, 1])
    with device_session("cpu", "double") as target:

        def basis_and_quadrature(positions):
            basis = basis_of(mol, positions)
            return basis, quadrature_of(pairs_of(basis), grid_of(numbers, positions, target, 0), target)

        matrix = np.diag(np.linspace(1.5, 0.1, mol.nao))

        def energy_and_gradient(positions):
            basis, quadrature = basis_and_quadrature(positions)
            hermite = [to_hermite(quadrature.pairs, matrix, target)]
            name = functional_of_name(functional)
            tau = (KineticEnergyDensity.of(basis, quadrature.grid, target), [matrix]) if name.needs_tau else None
            found = exchange_correlation(quadrature, hermite, name, raised=True, kinetic=tau)
            gradient = gradient_of_points(quadrature, hermite, name, numbers, positions, tau)
            gradient += to_gradient(quadrature.pairs, matrix, found.values[0])
            if tau:
                gradient += kinetic_gradient(basis, matrix, found.kinetic_values[0])
            return found.energy, gradient

        _, gradient = energy_and_gradient(mol.atom_coords())
        moved = differences(lambda positions: energy_and_gradient(positions)[0], mol.atom_coords())
        np.testing.assert_allclose(at(gradient), moved, atol=1e-7)
        np.testing.assert_allclose(gradient.sum(axis=0), 0.0, atol=1e-10)


@pytest.mark.slow
def test_forces_on_every_device(device):
    """In single precision, of an open shell; the same bits from call to call."""
    mol = molecule("O 0 0 0; H 0 0.3 0.97", "6-31g*", unpaired=1)
    field, orbitals = electrons_of(mol, "pbe")
    grid = Grid(field.grids.coords, field.grids.weights, np.zeros(len(field.grids.weights), np.int32))
    with device_session(device, "single") as target:
        energy = Energy(mol, orbitals, grid, "pbe", target)
        gradient = energy.gradient(mol.atom_coords())
        np.testing.assert_array_equal(energy.gradient(mol.atom_coords()), gradient)
    np.testing.assert_allclose(gradient, field.nuc_grad_method().kernel(), atol=1e-5)


def test_an_atom_feels_no_force():
    """None from what is on the list; the quadrature is not where it would be exact."""
    mol = molecule("Ne 0.3 -0.2 0.5", "6-31g")
    positions, charges = mol.atom_coords(), np.array([10.0])
    matrix = random_matrix(mol.nao)
    with device_session("cpu", "double") as target:
        pairs = pairs_of(basis_of(mol))
        hermite = to_hermite(pairs, matrix, target)
        field = electrostatic_field(pairs.list, [hermite], charges, positions, target)
        gradient = to_gradient(pairs, matrix, field)
        gradient += gradient_at_nuclei(pairs.list, hermite, charges, positions, target)
    np.testing.assert_allclose(gradient, 0, atol=1e-8)
    np.testing.assert_array_equal(repulsion_gradient(charges, positions), 0)


def test_nuclei_repel_each_other_and_ghosts_do_not():
    positions = np.array([[0.0, 0, 0], [0, 0, 1.5], [0.4, 1.0, 0], [0.4, 1.0, 0]])
    charges = np.array([8.0, 1, 0, 0])
    found = repulsion_gradient(charges, positions)
    np.testing.assert_allclose(found, [[0, 0, 8 / 1.5**2], [0, 0, -8 / 1.5**2], [0, 0, 0], [0, 0, 0]])
