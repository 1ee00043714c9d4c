"""Bounds of orbitals from their primitives, proven by sampling and by closed formulas of single functions."""

from dataclasses import replace

import numpy as np
import pytest

from orbitile import Orbitals, Shell, Wavefunction
from orbitile.gaussians.extent import encloses, enclosing_box, shell_envelopes, shell_reach
from orbitile.gaussians.packing import packed_shells
from tests.conftest import random_wavefunction
from tests.gaussians.sums import directions_at_random
from tests.oracle import basis_functions, orbital


def envelopes_of(wavefunction, index=0):
    packed = packed_shells(wavefunction)
    return shell_envelopes(packed, packed.from_basis @ wavefunction.alpha.coefficients[:, index])


def single(momentum, exponent, component=0, coefficient=1.0, at=(0.0, 0.0, 0.0)):
    shell = Shell(0, momentum, False, [exponent], [1.0])
    coefficients = np.zeros((shell.n_functions, 1))
    coefficients[component] = coefficient
    return Wavefunction([1], [at], (shell,), Orbitals(coefficients, [2.0]))


def contributions(wavefunction, points):
    """What each shell adds to the first orbital, shape (n_shells, n_points), and the shells' atoms."""
    products = wavefunction.alpha.coefficients[:, 0, None] * basis_functions(wavefunction, points)
    first = np.cumsum([0, *(shell.n_functions for shell in wavefunction.shells[:-1])])
    return np.add.reduceat(products, first, axis=0)


@pytest.fixture(params=[(0, 1, 2), (3, 0, 4), (5, 1), "two atoms of one basis"], ids=str)
def wavefunction(request):
    """Packed shells are in the order of those of the wavefunction."""
    if request.param != "two atoms of one basis":
        return random_wavefunction(4, request.param)
    random = random_wavefunction(4, (1, 3, 0), n_atoms=2)
    first, last = random.shells[:3], random.shells[3:]
    shells = (*first, *(replace(shell, atom=1) for shell in first), *(replace(shell, atom=2) for shell in last))
    n_basis = sum(shell.n_functions for shell in shells)
    positions = np.array([[0.1, 0.2, -0.3], [1.5, -0.5, 0.6], [-1.0, 1.2, 0.9]])
    coefficients = np.random.default_rng(4).normal(size=(n_basis, 1)) / np.sqrt(n_basis)
    return Wavefunction([6, 6, 8], positions, shells, Orbitals(coefficients, [2.0]))


def test_no_shell_exceeds_its_envelope(wavefunction):
    """At its distance or beyond."""
    envelopes = envelopes_of(wavefunction)
    atoms = [shell.atom for shell in wavefunction.shells]
    assert np.array_equal(envelopes.centre, wavefunction.positions[atoms])
    assert np.array_equal(envelopes.first_shell, np.searchsorted(atoms, range(wavefunction.n_atoms)))
    vectors = directions_at_random(300)
    for distance in (0.0, 0.4, 1.0, 2.0, 5.0):
        bound = envelopes.at(np.full(len(atoms), distance))
        for beyond in (0.0, 0.3, 1.5):
            for n, atom in enumerate(atoms):
                points = wavefunction.positions[atom] + (distance + beyond) * vectors
                assert np.abs(contributions(wavefunction, points)[n]).max() <= bound[n] * (1 + 1e-12)


@pytest.mark.parametrize("exponent", [1e-4, 0.7, 1e6])
@pytest.mark.parametrize(("momentum", "component"), [(0, 0), (1, 2), (2, 1), (3, 4), (5, 7)])
def test_the_envelope_of_a_single_function_is_reached(momentum, component, exponent):
    from orbitile.model.conventions import cartesian_powers

    wavefunction = single(momentum, exponent, component, -1.7)
    powers = np.array(cartesian_powers(momentum)[component])
    direction = np.sqrt(powers / momentum) if momentum else np.array([1.0, 0, 0])
    envelopes = envelopes_of(wavefunction)
    widest = np.sqrt(momentum / (2 * exponent))  # distance of the maximum
    for distance in (0.2 * widest, widest, widest + 0.8 / np.sqrt(exponent)):
        value = orbital(wavefunction, 0, max(distance, widest) * direction[None])
        assert np.abs(value) == pytest.approx(envelopes.at(np.array([distance])))


def test_envelopes_fall(wavefunction):
    envelopes = envelopes_of(wavefunction)
    values = [envelopes.at(np.full(len(envelopes.amplitude), d)) for d in np.linspace(-1, 12, 60)]
    assert np.all(np.diff(values, axis=0) <= 0)
    assert np.array_equal(values[0], envelopes.at(np.zeros(len(envelopes.amplitude))))  # none is nearer than 0


@pytest.mark.parametrize("tolerance", [1e-2, 1e-5, 1e-9])
def test_all_shells_beyond_their_reach_together_stay_below_the_tolerance(wavefunction, tolerance):
    envelopes = envelopes_of(wavefunction)
    distance = shell_reach(envelopes, tolerance)
    rng = np.random.default_rng(2)
    points = directions_at_random(400) * np.exp(rng.uniform(0, 3, 426))[:, None]
    away = np.linalg.norm(points[None] - envelopes.centre[:, None], axis=2)
    left_out = np.where(away > distance[:, None], contributions(wavefunction, points), 0.0).sum(axis=0)
    assert left_out.any()
    assert np.abs(left_out).max() < tolerance
    # nor is it wider than asked for: a little nearer the envelope exceeds the share of the shell
    assert np.all(envelopes.at(distance) <= tolerance / len(distance))
    assert np.all(envelopes.at(distance - 1e-6) > tolerance / len(distance))


@pytest.mark.parametrize("exponent", [1e-4, 0.3, 1e7])
def test_the_reach_of_an_s_function(exponent):
    norm = (2 * exponent / np.pi) ** 0.75
    expected = np.sqrt(np.log(norm / 1e-8) / exponent)
    assert shell_reach(envelopes_of(single(0, exponent)), 1e-8) == pytest.approx(expected, abs=1e-8)


def test_a_shell_without_coefficients_reaches_nowhere():
    random = random_wavefunction(5, (0, 2))
    coefficients = random.alpha.coefficients.copy()
    coefficients[0] = 0  # the only function of the first shell
    envelopes = envelopes_of(
        Wavefunction(random.atomic_numbers, random.positions, random.shells, Orbitals(coefficients, [2, 0]))
    )
    assert (shell_reach(envelopes, 1e-5) == 0).tolist() == [True] + [False] * 5


@pytest.mark.parametrize("isovalue", [0.1, 1e-2, 1e-5])
def test_outside_the_box_the_orbital_is_below_the_isovalue(wavefunction, isovalue):
    low, high = enclosing_box(envelopes_of(wavefunction), isovalue)
    middle, half = (low + high) / 2, (high - low) / 2
    points = np.random.default_rng(3).uniform(-1, 1, (6000, 3))
    points[:, :] /= np.abs(points).max(axis=1)[:, None]  # on the faces of a cube
    for factor in (1.0, 1.01, 1.3):
        values = orbital(wavefunction, 0, middle + factor * half * points)
        assert np.abs(values).max() <= isovalue * (1 + 1e-9)
    assert np.abs(orbital(wavefunction, 0, wavefunction.positions + 0.2)).max() > isovalue  # there is an inside


@pytest.mark.parametrize("exponent", [1e-4, 0.3, 1e6])
def test_the_box_of_an_s_function(exponent):
    norm, at = (2 * exponent / np.pi) ** 0.75, np.array([1.0, -2.0, 0.5])
    low, high = enclosing_box(envelopes_of(single(0, exponent, at=at)), 0.01 * norm)
    radius = np.sqrt(np.log(100) / exponent)
    assert high == pytest.approx(at + radius, rel=1e-6, abs=1e-8)
    assert low == pytest.approx(at - radius, rel=1e-6, abs=1e-8)


def test_the_box_moves_with_the_molecule():
    here, there = (random_wavefunction(6, (0, 1, 3), at=at) for at in ((0, 0, 0), (30.0, -40.0, 7.0)))
    boxes = [np.array(enclosing_box(envelopes_of(molecule), 1e-3)) for molecule in (here, there)]
    assert boxes[1] == pytest.approx(boxes[0] + [30.0, -40.0, 7.0], abs=1e-6)


@pytest.mark.parametrize("isovalue", [0.1, 1e-3])
def test_whether_a_box_encloses(wavefunction, isovalue):
    envelopes = envelopes_of(wavefunction)
    low, high = enclosing_box(envelopes, isovalue)
    assert encloses(envelopes, isovalue, low - 1e-6, high + 1e-6)
    for axis in np.eye(3):
        assert not encloses(envelopes, isovalue, low + 1e-3 * axis, high + 1e-6)
        assert not encloses(envelopes, isovalue, low - 1e-6, high - 1e-3 * axis)
    # without the atoms within, no face says anything
    assert not encloses(envelopes, 1e9, high + 1, high + 2)
