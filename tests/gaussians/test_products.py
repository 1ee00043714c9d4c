"""Densities as sums of products, against orbitals by the definition and closed formulas."""

import numpy as np
import pytest

from orbitile import Orbitals, Shell, Wavefunction, overlap_matrix
from orbitile.gaussians import products
from orbitile.gaussians.expansion import integrals
from orbitile.gaussians.products import density_products, kinetic_products, transition_products
from tests.conftest import random_wavefunction
from tests.gaussians.sums import value_at
from tests.oracle import basis_functions

MOMENTA = [(0, 1), (2,), (3, 0), (4, 1), (5,)]


def some_points(wavefunction, n=40, seed=0):
    rng = np.random.default_rng(seed)
    return wavefunction.positions[rng.integers(0, wavefunction.n_atoms, n)] + rng.normal(size=(n, 3))


def orbital_values(wavefunction, coefficients, points):
    return coefficients.T @ basis_functions(wavefunction, points)


def close(value, expected, tolerance=1e-11):
    assert value == pytest.approx(expected, abs=tolerance + 1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("momenta", MOMENTA)
def test_density(momenta):
    wavefunction = random_wavefunction(1, momenta, n_atoms=2, n_orbitals=3)
    occupations = np.array([2.0, 0.3, -1.5])  # of any sign, as in a difference
    coefficients = wavefunction.alpha.coefficients
    points = some_points(wavefunction)
    expected = occupations @ orbital_values(wavefunction, coefficients, points) ** 2
    density = density_products(wavefunction, coefficients, occupations)
    close(value_at(density, points), expected)
    overlap = overlap_matrix(wavefunction).toarray()
    norms = np.einsum("mi,mn,ni->i", coefficients, overlap, coefficients)
    assert integrals(density)[0] == pytest.approx(occupations @ norms, abs=1e-8)


@pytest.mark.parametrize("momenta", MOMENTA)
def test_products_of_two_orbitals(momenta):
    wavefunction = random_wavefunction(2, momenta, n_atoms=2, n_orbitals=4)
    left, right = wavefunction.alpha.coefficients[:, :2], wavefunction.alpha.coefficients[:, 2:]
    points = some_points(wavefunction)
    expected = np.prod([orbital_values(wavefunction, half, points) for half in (left, right)], axis=0).sum(axis=0)
    close(value_at(transition_products(wavefunction, left, right), points), expected)
    close(value_at(transition_products(wavefunction, right, left), points), expected)


@pytest.mark.parametrize("momenta", MOMENTA)
def test_kinetic_energy_density(momenta):
    wavefunction = random_wavefunction(3, momenta, n_atoms=2)
    coefficients, occupations = wavefunction.alpha.coefficients, np.array([2.0, 0.7])
    points = some_points(wavefunction, 20)
    step, expected = 2e-3, 0.0
    for axis in np.eye(3):  # central differences of eighth order
        slope = sum(
            weight * (orbital_values(wavefunction, coefficients, points + n * step * axis)
                      - orbital_values(wavefunction, coefficients, points - n * step * axis))
            for n, weight in ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))
        ) / step  # fmt: skip
        expected = expected + 0.5 * occupations @ slope**2
    close(value_at(kinetic_products(wavefunction, coefficients, occupations), points), expected, 1e-8)


def pair_of_s_functions(alpha, beta, distance):
    shells = (Shell(0, 0, False, [alpha], [1.0]), Shell(1, 0, False, [beta], [1.0]))
    return Wavefunction([1, 1], [[0, 0, 0], [0, 0, distance]], shells, Orbitals([[1.0], [1.0]], [1.0]))


@pytest.mark.parametrize(("alpha", "beta", "distance"), [(0.4, 1.3, 1.5), (1e-3, 2e-3, 8.0), (1e6, 0.2, 0.7)])
def test_two_gaussians_make_three(alpha, beta, distance):
    """Exponents, centres and factors of the product theorem."""
    found = density_products(pair_of_s_functions(alpha, beta, distance), np.ones((2, 1)), np.ones(1), 1e-14)
    norms = (2 * np.array([alpha, beta]) / np.pi) ** 0.75
    total = alpha + beta
    expected = {
        2 * alpha: (0.0, norms[0] ** 2),
        total: (beta * distance / total, 2 * np.prod(norms) * np.exp(-alpha * beta / total * distance**2)),
        2 * beta: (distance, norms[1] ** 2),
    }
    assert found.degree.tolist() == [0, 0, 0]
    assert sorted(found.exponent) == pytest.approx(sorted(expected))
    for exponent, centre, factor in zip(found.exponent, found.centre, found.terms, strict=True):
        place, size = expected[min(expected, key=lambda known: abs(known - exponent))]
        assert centre == pytest.approx([0, 0, place])
        assert factor == pytest.approx(size)


def test_a_single_gaussian():
    wavefunction = Wavefunction([1], [[1.0, 2.0, 3.0]], (Shell(0, 0, False, [0.5], [1.0]),), Orbitals([[1.0]], [1.0]))
    density = density_products(wavefunction, np.ones((1, 1)), np.full(1, 2.0))
    assert (len(density), density.exponent.item()) == (1, 1.0)
    assert integrals(density)[0] == pytest.approx(2.0)
    assert integrals(density)[1] == pytest.approx([2.0, 4.0, 6.0])


def chain(n_atoms):
    shells = [Shell(atom, l, l > 1, [0.3, 1.1], [0.6, 0.5]) for atom in range(n_atoms) for l in (0, 2)]
    n_basis = sum(shell.n_functions for shell in shells)
    coefficients = np.random.default_rng(1).normal(size=(n_basis, 4)) / np.sqrt(n_basis)
    positions = np.arange(n_atoms)[:, None] * [0.0, 0.0, 2.6]
    return Wavefunction([6] * n_atoms, positions, tuple(shells), Orbitals(coefficients, np.zeros(4)))


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-7])
def test_what_is_left_out_stays_within_the_tolerance(tolerance):
    wavefunction = chain(12)
    coefficients, occupations = wavefunction.alpha.coefficients, np.array([2.0, 1.0, 2.0, -1.0])
    points = some_points(wavefunction, 300)
    expected = occupations @ orbital_values(wavefunction, coefficients, points) ** 2
    density = density_products(wavefunction, coefficients, occupations, tolerance)
    error = np.abs(value_at(density, points) - expected).max()
    assert 1e-5 * tolerance < error < tolerance
    assert len(density) < len(density_products(wavefunction, coefficients, occupations, tolerance / 100))


def test_a_large_molecule_is_done_in_pieces(monkeypatch):
    wavefunction = chain(8)
    coefficients, occupations = wavefunction.alpha.coefficients, np.array([2.0, 1.0, 2.0, -1.0])
    points = some_points(wavefunction, 50)
    whole = density_products(wavefunction, coefficients, occupations)
    # limits that a small molecule reaches
    monkeypatch.setattr(products, "_ROWS", 2000)
    monkeypatch.setattr(products, "_PAIRS", 300)
    pieces = density_products(wavefunction, coefficients, occupations)
    assert len(pieces) == len(whole)
    close(value_at(pieces, points), value_at(whole, points))


def test_the_number_of_products_grows_with_the_number_of_atoms():
    def count(n_atoms):
        wavefunction = chain(n_atoms)
        # each atom alone in a density matrix of 1: coefficients that do not fall with the length
        return len(density_products(wavefunction, np.eye(wavefunction.n_basis), np.ones(wavefunction.n_basis), 1e-6))

    assert count(48) - count(36) == pytest.approx(count(36) - count(24), rel=0.03)
