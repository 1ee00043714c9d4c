"""Packed arrays: the worked example of the module, and that both forms describe the same orbital."""

from dataclasses import replace

import numpy as np
import pytest

from orbitile import Orbitals, Shell, Wavefunction
from orbitile.gaussians import packing
from orbitile.gaussians.expansion import polynomial_powers
from orbitile.gaussians.packing import merged_primitives, packed_shells
from orbitile.gaussians.rotation import rotate_terms
from orbitile.model.conventions import cartesian_powers
from tests.conftest import random_wavefunction
from tests.oracle import orbital


@pytest.fixture
def hydrogen_chloride() -> Wavefunction:
    """HCl in the shape of 6-31G*: chlorine s(6) sp(6) sp(3) sp(1) d(1), hydrogen s(3) s(1); exponents made up."""
    inner, valence, outer, last = np.geomspace(2e4, 60, 6), np.geomspace(400, 3, 6), [1.8, 0.7, 0.4], [0.14]
    shells = [Shell(0, 0, False, inner, np.ones(6))]
    for exponents in (valence, outer, last):
        shells += [Shell(0, l, False, exponents, np.full(len(exponents), 0.5 + l)) for l in (0, 1)]
    shells.append(Shell(0, 2, False, [0.75], [1.0]))
    shells += [Shell(1, 0, False, [18.7, 2.8, 0.6], np.ones(3)), Shell(1, 0, False, [0.16], [1.0])]
    coefficients = np.random.default_rng(0).normal(size=(21, 1))
    return Wavefunction([17, 1], [[0, 0, 0], [0, 0, 2.4]], tuple(shells), Orbitals(coefficients, [2.0]))


def test_the_worked_example(hydrogen_chloride):
    packed = packed_shells(hydrogen_chloride)
    assert packed.atom_basis.tolist() == [0, 1]
    assert packed.basis_first_shell.tolist() == [0, 8, 10]
    assert packed.shell_angular_momentum.tolist() == [0, 0, 1, 0, 1, 0, 1, 2, 0, 0]
    assert packed.shell_first_primitive.tolist() == [0, 6, 12, 18, 21, 24, 25, 26, 27, 30, 31]
    assert packed.atom_first_coefficient.tolist() == [0, 19]
    merged = merged_primitives(hydrogen_chloride)
    assert len(merged.exponent) == 17 + 4
    assert sorted(merged.degree.tolist()) == [0] * 10 + [1] * 10 + [2]
    assert merged.first_term[-1] == 60
    assert merged.from_basis.shape == (60, 21)


def test_the_basis_stands_once_per_distinct_set_of_shells():
    one = random_wavefunction(3, n_atoms=1)
    positions = np.arange(15.0).reshape(5, 3)
    shells = tuple(
        Shell(atom, s.angular_momentum, s.pure, s.exponents * (2 if atom == 2 else 1), s.coefficients)
        for atom in range(5)
        for s in one.shells
    )
    n = sum(shell.n_functions for shell in shells)
    wavefunction = Wavefunction([6] * 5, positions, shells, Orbitals(np.eye(n), np.zeros(n)))
    packed = packed_shells(wavefunction)
    assert len(packed.basis_first_shell) == 3
    assert packed.atom_basis.tolist() == [0, 0, 0, 0, 1]
    assert packed.atom_position[:, 0].tolist() == [0, 3, 9, 12, 6]  # atoms of one basis stand together
    assert len(packed.exponent) == 2 * sum(len(s.exponents) for s in one.shells)


def sum_of_merged(merged, terms, points):
    value = np.zeros(len(points))
    for p, degree in enumerate(merged.degree):
        d = points - merged.centre[p]
        polynomial = sum(
            terms[merged.first_term[p] + n] * d[:, 0] ** i * d[:, 1] ** j * d[:, 2] ** k
            for n, (i, j, k) in enumerate(polynomial_powers(int(degree)))
        )
        value += polynomial * np.exp(-merged.exponent[p] * (d**2).sum(axis=1))
    return value


def sum_of_packed(packed, coefficients, points):
    """The formula of the module, by the ranges of the arrays."""
    value = np.zeros(len(points))
    for atom, basis in enumerate(packed.atom_basis):
        x, y, z = (points - packed.atom_position[atom]).T
        next_coefficient = packed.atom_first_coefficient[atom]
        for shell in range(packed.basis_first_shell[basis], packed.basis_first_shell[basis + 1]):
            some = slice(packed.shell_first_primitive[shell], packed.shell_first_primitive[shell + 1])
            radial = packed.contraction[some] @ np.exp(-np.outer(packed.exponent[some], x * x + y * y + z * z))
            powers = cartesian_powers(packed.shell_angular_momentum[shell])
            own = coefficients[next_coefficient : next_coefficient + len(powers)]
            value += radial * sum(c * x**i * y**j * z**k for c, (i, j, k) in zip(own, powers, strict=True))
            next_coefficient += len(powers)
    return value


@pytest.mark.parametrize("momenta", [(0, 1, 2, 3, 4), (5, 1), (6, 7)])
def test_packed_shells_are_the_same_orbital(momenta):
    wavefunction = random_wavefunction(7, momenta)
    packed = packed_shells(wavefunction)
    points = np.random.default_rng(1).normal(size=(60, 3)) * 2
    coefficients = packed.from_basis @ wavefunction.alpha.coefficients[:, 1]
    expected = orbital(wavefunction, 1, points)
    assert sum_of_packed(packed, coefficients, points) == pytest.approx(expected, rel=1e-11, abs=1e-13)


@pytest.mark.parametrize("factor", [1e-4, 1e6])
def test_exponents_far_from_the_usual(factor):
    """Lengths scale with the root of the exponents, values with their power 3/4."""
    usual = random_wavefunction(7, (0, 1, 2, 3))
    shells = tuple(replace(shell, exponents=shell.exponents * factor) for shell in usual.shells)
    scaled = replace(usual, shells=shells, positions=usual.positions / np.sqrt(factor))
    points = np.random.default_rng(1).normal(size=(60, 3)) * 2
    expected = orbital(usual, 0, points) * factor**0.75
    packed, merged = packed_shells(scaled), merged_primitives(scaled)
    coefficients = scaled.alpha.coefficients[:, 0]
    points = points / np.sqrt(factor)
    tolerance = {"rel": 1e-11, "abs": 1e-12 * np.abs(expected).max()}
    assert sum_of_packed(packed, packed.from_basis @ coefficients, points) == pytest.approx(expected, **tolerance)
    assert sum_of_merged(merged, merged.from_basis @ coefficients, points) == pytest.approx(expected, **tolerance)


def test_frames_of_one_basis_share_all_but_the_positions():
    """Shapes of a molecule in motion: what does not move is packed once."""
    here = random_wavefunction(6)
    there = replace(here, positions=here.positions + 0.25)
    assert packed_shells(here) is packed_shells(here)
    assert merged_primitives(here) is merged_primitives(here)
    assert packed_shells(there).from_basis is packed_shells(here).from_basis
    assert merged_primitives(there).from_basis is merged_primitives(here).from_basis
    assert np.array_equal(packed_shells(there).atom_position, packed_shells(here).atom_position + 0.25)
    assert np.array_equal(merged_primitives(there).centre, merged_primitives(here).centre + 0.25)
    tighter = replace(here, shells=tuple(replace(shell, exponents=shell.exponents * 2) for shell in here.shells))
    assert merged_primitives(tighter).exponent == pytest.approx(2 * merged_primitives(here).exponent)


def test_merged_primitives_are_the_same_orbital():
    wavefunction = random_wavefunction(8, momenta=(0, 1, 2, 3, 4))
    merged = merged_primitives(wavefunction)
    assert len(merged.exponent) < sum(len(shell.exponents) for shell in wavefunction.shells)  # s and p share exponents
    points = np.random.default_rng(1).normal(size=(60, 3)) * 2
    terms = merged.from_basis @ wavefunction.alpha.coefficients[:, 1]
    assert sum_of_merged(merged, terms, points) == pytest.approx(orbital(wavefunction, 1, points), rel=1e-11, abs=1e-13)


def test_rotated_terms_are_the_same_orbital_in_another_frame():
    from scipy.spatial.transform import Rotation

    wavefunction = random_wavefunction(9, momenta=(0, 1, 2, 3, 4), n_atoms=1)
    merged = merged_primitives(wavefunction)
    terms = merged.from_basis @ wavefunction.alpha.coefficients[:, 0]
    frame = Rotation.from_euler("zyx", [0.3, 0.8, -0.5]).as_matrix() * [[1], [1], [-1]]  # a reflection, too
    points = np.random.default_rng(1).normal(size=(40, 3))
    turned = rotate_terms(terms, merged.degree, frame)
    shifted = points - merged.centre[0]
    centred = type(merged)(0 * merged.centre, merged.exponent, merged.degree, merged.first_term, merged.rows)
    assert sum_of_merged(centred, turned, shifted @ frame.T) == pytest.approx(
        orbital(wavefunction, 0, points), abs=1e-12
    )


def magnitudes_of_terms(merged, terms, points):
    """Sum of the magnitudes of all terms."""
    value = np.zeros(len(points))
    for p, degree in enumerate(merged.degree):
        x, y, z = np.abs(points - merged.centre[p]).T
        own = np.abs(terms[merged.first_term[p] : merged.first_term[p + 1]])
        polynomial = sum(
            c * x**i * y**j * z**k for c, (i, j, k) in zip(own, polynomial_powers(int(degree)), strict=True)
        )
        value += polynomial * np.exp(-merged.exponent[p] * (x * x + y * y + z * z))
    return value


@pytest.mark.parametrize("n_atoms", [1, 3, 201])
def test_how_large_an_orbital_is_about_its_atoms(n_atoms):
    """The first orbital is evaluated in one way, all others in another; small and large molecules have other points."""
    one = random_wavefunction(5, (0, 1, 2, 3), n_atoms=1)
    positions = np.random.default_rng(3).uniform(-1, 1, (n_atoms, 3)) * 3 * n_atoms ** (1 / 3)
    shells = tuple(replace(shell, atom=atom) for atom in range(n_atoms) for shell in one.shells)
    coefficients = np.random.default_rng(4).normal(size=(one.n_basis * n_atoms, 3))
    wavefunction = Wavefunction([6] * n_atoms, positions, shells, Orbitals(coefficients, np.zeros(3)))
    merged = merged_primitives(wavefunction)
    if n_atoms <= 200:
        offsets = [step * axis for step in (0.06, 0.25, 0.8) for axis in np.eye(3)]
    else:
        offsets = [0.8 * np.ones(3), -0.8 * np.ones(3)]
    points = (positions[:, None] + [np.zeros(3), *offsets]).reshape(-1, 3)
    for index in range(3):
        terms = merged.from_basis @ coefficients[:, index]
        largest, magnitude = merged.largest(terms)
        assert largest == pytest.approx(np.abs(sum_of_merged(merged, terms, points)).max(), rel=1e-9)
        assert magnitude == pytest.approx(magnitudes_of_terms(merged, terms, points).max(), rel=1e-9)


def test_orbitals_are_taken_to_their_terms_as_by_scipy(monkeypatch):
    wavefunction = random_wavefunction(4)
    several = wavefunction.alpha.coefficients
    for form in (packed_shells(wavefunction), merged_primitives(wavefunction)):
        matrix = form.from_basis.toarray()
        for columns in (several[:, 0], several, several + 2j * several[::-1], several[:, :0]):
            for most in (packing._MOST_PRODUCTS, 0):  # by NumPy, and by SciPy as for a large molecule
                monkeypatch.setattr(packing, "_MOST_PRODUCTS", most)
                np.testing.assert_allclose(form.rows @ columns, matrix @ columns, rtol=1e-13, atol=1e-14)


def test_rows_without_elements_are_zero():
    rows = packing.SparseRows(np.array([2.0, 3.0]), np.array([0, 1]), np.array([0, 0, 2, 2]), 2)
    assert (rows @ np.array([1.0, 10.0])).tolist() == [0.0, 32.0, 0.0]
