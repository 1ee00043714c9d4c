"""How far orbitals spread: estimates, against closed formulas of single functions and integrals of the density."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import gammainc

from orbitile import Orbitals, Shell, Wavefunction
from orbitile.gaussians.extent import directions, radial_tables, spread_of
from orbitile.gaussians.packing import packed_shells
from tests.conftest import random_wavefunction
from tests.oracle import orbital

RATIO = 1.2  # radii of the tables: what they resolve


def spread(wavefunction, index=0):
    packed = packed_shells(wavefunction)
    return spread_of(packed, radial_tables(packed), packed.from_basis @ wavefunction.alpha.coefficients[:, index])


def atoms_with(momentum, exponents, weights, positions):
    """One pure function, the first of its shell, on each of some atoms."""
    shells = [Shell(n, momentum, True, [exponent], [1.0]) for n, exponent in enumerate(exponents)]
    n_functions = shells[0].n_functions
    coefficients = np.zeros((n_functions * len(shells), 1))
    coefficients[::n_functions, 0] = weights
    return Wavefunction([1] * len(shells), positions, tuple(shells), Orbitals(coefficients, [2.0]))


@pytest.mark.parametrize("n", [40, 256])
def test_directions_stand_for_equal_parts_of_the_sphere(n):
    vectors = directions(n)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1)
    assert vectors.mean(axis=0) == pytest.approx(np.zeros(3), abs=1 / n)
    assert vectors.T @ vectors / n == pytest.approx(np.eye(3) / 3, abs=1 / n)
    # each half of space holds half of them
    for normal in np.random.default_rng(0).normal(size=(20, 3)):
        assert (vectors @ normal > 0).mean() == pytest.approx(0.5, abs=2 / np.sqrt(n) / 4)


@pytest.mark.parametrize("exponent", [1e-3, 0.8, 1e6])
@pytest.mark.parametrize("momentum", [0, 1, 2, 3, 5])
def test_the_weights_of_a_normalised_function_add_up_to_one(momentum, exponent):
    found = spread(atoms_with(momentum, [exponent], [1.0], [[0.5, 0, 0]]))
    # of an s function 4 per cent are nearer than the innermost radius
    assert found.weight.sum() == pytest.approx(1 - (momentum == 0) * gammainc(1.5, 2 * 0.3**2), abs=0.04)
    assert np.all(np.diff(found.density) >= 0)


@pytest.mark.slow
def test_weights_of_contracted_shells_against_an_integral_of_the_density():
    """One atom alone with s and d shells: the density averaged over directions, times the sphere, along the radius."""
    wavefunction = random_wavefunction(7, (0, 1, 2, 4), n_atoms=1)
    found = spread(wavefunction, 1)
    radii = np.linspace(1e-3, 14, 3000)
    vectors = directions(400)
    square = orbital(wavefunction, 1, (wavefunction.positions + radii[:, None, None] * vectors).reshape(-1, 3)) ** 2
    average = square.reshape(len(radii), -1).mean(axis=1)
    held = np.cumsum(4 * np.pi * radii**2 * average) * (radii[1] - radii[0])
    assert found.weight.sum() == pytest.approx(held[-1], rel=0.05)
    order = np.argsort(found.radius)
    within = np.cumsum(found.weight[order])
    for share in (0.2, 0.5, 0.9):
        radius = found.radius[order][np.searchsorted(within, share * within[-1])]
        assert radius == pytest.approx(radii[np.searchsorted(held, share * held[-1])], rel=RATIO - 1)


def radius_that_holds(share, exponent):
    """Radius of the sphere that holds a share of the density of an s function."""
    return brentq(lambda r: gammainc(1.5, 2 * exponent * r * r) - share, 0, 30 / np.sqrt(exponent))


@pytest.mark.parametrize("exponent", [1e-3, 0.8, 1e6])
@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
def test_an_s_function(exponent, share):
    found = spread(atoms_with(0, [exponent], [1.0], [[1.0, 2.0, 3.0]]))
    radius = radius_that_holds(share, exponent)
    value = (2 * exponent / np.pi) ** 0.75 * np.exp(-exponent * radius**2)
    isovalue = found.isovalue(share)
    # the surface lies between the neighbours of the radius
    around = [(2 * exponent / np.pi) ** 0.75 * np.exp(-exponent * (radius * f) ** 2) for f in (RATIO, 1 / RATIO)]
    assert around[0] <= isovalue <= around[1]
    low, high = found.box(1 - share)
    assert (high - [1.0, 2.0, 3.0]) / radius == pytest.approx(np.ones(3), rel=RATIO - 1)
    assert ([1.0, 2.0, 3.0] - low) / radius == pytest.approx(np.ones(3), rel=RATIO - 1)
    assert found.radius_at(value) == pytest.approx(radius, rel=RATIO - 1)
    assert found.radius_at(value) <= radius * (1 + 1e-12)  # the largest radius inside
    inner, outer = found.range(0, (1 - share) / 2)
    assert inner <= max(radius_that_holds((1 - share) / 2, exponent), found.radius.min())
    assert outer >= radius_that_holds((1 + share) / 2, exponent)
    assert outer < RATIO**3 * radius_that_holds((1 + share) / 2, exponent)


def test_an_isovalue_that_is_nowhere_reached_has_no_radius():
    found = spread(atoms_with(0, [1.0], [1.0], [[0.0, 0, 0]]))
    assert found.radius_at(10.0) == np.inf
    assert np.isfinite(found.radius_at(0.01))


def test_atoms_by_their_share():
    weights = np.sqrt([0.3, 0.005, 0.6, 0.095])
    positions = np.arange(4)[:, None] * [50.0, 0.0, 0.0]
    found = spread(atoms_with(0, [1.0, 1.0, 1.0, 1.0], weights, positions))
    assert found.atoms(0.01).tolist() == [2, 0, 3]
    assert found.atoms(0.2).tolist() == [2, 0]
    assert found.atoms(0.5).tolist() == [2]
    assert found.atoms(0.0).tolist() == [2, 0, 3, 1]


def test_the_box_leaves_out_atoms_that_hold_little():
    found = spread(atoms_with(0, [1.0, 1.0], np.sqrt([0.999, 0.001]), [[0.0, 0, 0], [50.0, 0, 0]]))
    radius = radius_that_holds(0.95, 1.0)
    low, high = found.box(0.05)
    assert (high / radius, -low / radius) == (pytest.approx(np.ones(3), rel=0.2), pytest.approx(np.ones(3), rel=0.2))
    assert found.box(1e-5)[1][0] > 50


def test_the_radius_is_that_of_the_smallest_atom_that_counts():
    """A tight function on one atom, a diffuse one on another; a third holds too little to count."""
    exponents, positions = [4.0, 0.1, 50.0], np.arange(3)[:, None] * [50.0, 0.0, 0.0]

    def radius(weights):
        return spread(atoms_with(0, exponents, np.sqrt(weights), positions)).radius_at(0.02)

    tight = np.sqrt(np.log(np.sqrt(0.49) * (8 / np.pi) ** 0.75 / 0.02) / 4.0)
    assert radius([0.49, 0.5, 0.01]) == pytest.approx(tight, rel=RATIO - 1)
    tightest = np.sqrt(np.log(np.sqrt(0.06) * (100 / np.pi) ** 0.75 / 0.02) / 50.0)
    assert radius([0.47, 0.47, 0.06]) == pytest.approx(tightest, rel=RATIO - 1)
    diffuse = np.sqrt(np.log((0.2 / np.pi) ** 0.75 / 0.02) / 0.1)
    assert radius([0.02, 0.97, 0.01]) == pytest.approx(diffuse, rel=RATIO - 1)


def test_atoms_of_different_bases_stand_where_they_are():
    """Packing puts atoms of one basis together; shells of space name the packed atom."""
    positions = np.array([[0.0, 0, 0], [40.0, 0, 0], [0, 40.0, 0]])
    wavefunction = atoms_with(2, [0.5, 2.0, 0.5], [0.6, 0.5, 0.62], positions)
    found = spread(wavefunction)
    shares = np.bincount(found.atom, found.weight)
    for place, share in zip(found.position, shares, strict=True):
        original = int(np.argmin(np.linalg.norm(positions - place, axis=1)))
        assert share == pytest.approx([0.36, 0.25, 0.3844][original], rel=0.03)


def test_a_molecule_that_is_moved_spreads_alike():
    shift = np.array([9.0, -5.0, 3.0])
    here, there = (spread(random_wavefunction(8, at=at)) for at in (np.zeros(3), shift))
    assert there.weight == pytest.approx(here.weight)
    assert np.array(there.box(0.01)) == pytest.approx(np.array(here.box(0.01)) + shift)
