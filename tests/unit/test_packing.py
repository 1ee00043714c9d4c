"""Packed arrays: the worked example of the module, and that both forms describe the same orbital."""

import numpy as np
import pytest

from orbitile import Orbitals, Shell, Wavefunction
from orbitile.gaussians.packing import merged_primitives, packed_shells, polynomial_powers, rotate_terms
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
    centred = type(merged)(0 * merged.centre, merged.exponent, merged.degree, merged.first_term, merged.from_basis)
    assert sum_of_merged(centred, turned, shifted @ frame.T) == pytest.approx(
        orbital(wavefunction, 0, points), abs=1e-12
    )
