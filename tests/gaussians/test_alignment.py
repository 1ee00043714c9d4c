"""Molecules turned onto each other, against rotations by SciPy and orbitals by the definition."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from orbitile import Wavefunction
from orbitile.gaussians.rotation import (
    aligned,
    aligned_positions,
    centre,
    part_of_rotation,
    placed,
    positions_between,
    rotation_onto,
    turned_functions,
)
from tests.conftest import random_wavefunction
from tests.oracle import basis_functions

TURNS = [
    Rotation.from_rotvec([0.4, -1.1, 0.7]),
    Rotation.from_rotvec([0, 0, np.pi / 2]),
    Rotation.from_rotvec([3.1, 0.2, -0.1]),
    Rotation.identity(),
]


@pytest.fixture
def molecule():
    return random_wavefunction(4, (0, 1), n_atoms=6)


def test_centre_is_weighted_by_the_atomic_numbers():
    shells = random_wavefunction(0, (0,), n_atoms=1).shells
    alpha = random_wavefunction(0, (0,), n_atoms=1).alpha
    atoms = Wavefunction([1, 8, 0], [[0, 0, 0], [10, 0, 0], [0, 20, 0]], shells, alpha)
    assert centre(atoms) == pytest.approx([8.0, 2.0, 0.0])  # a ghost counts as hydrogen does
    assert centre(atoms, np.array([[0, 0, 1.0], [0, 0, 1], [0, 0, 11]])) == pytest.approx([0, 0, 2])


@pytest.mark.parametrize("turn", TURNS)
def test_a_rotation_is_found_again(molecule, turn):
    there = molecule.positions @ turn.as_matrix().T + [5.0, -3.0, 1.0]
    assert rotation_onto(molecule, there) == pytest.approx(turn.as_matrix(), abs=1e-12)
    assert rotation_onto(molecule, molecule.positions, there) == pytest.approx(turn.as_matrix().T, abs=1e-12)


def test_least_squares_against_scipy(molecule):
    rng = np.random.default_rng(5)
    there = molecule.positions @ TURNS[0].as_matrix().T + rng.normal(size=(6, 3)) * 0.3
    weights = molecule.atomic_numbers / molecule.atomic_numbers.sum()
    expected, _ = Rotation.align_vectors(there - weights @ there, molecule.positions - centre(molecule), weights)
    assert rotation_onto(molecule, there) == pytest.approx(expected.as_matrix(), abs=1e-9)


def test_a_mirror_image_is_met_by_a_proper_rotation(molecule):
    rotation = rotation_onto(molecule, molecule.positions * [1, 1, -1])
    assert rotation @ rotation.T == pytest.approx(np.eye(3))
    assert np.linalg.det(rotation) == pytest.approx(1)


@pytest.mark.parametrize("n_atoms", [1, 2, 4])
def test_about_axes_that_the_atoms_do_not_define_nothing_turns(n_atoms):
    wavefunction = random_wavefunction(6, (0,), n_atoms=n_atoms)
    line = np.arange(n_atoms)[:, None] * [0.0, 0.0, 1.5]
    wavefunction = replace(wavefunction, positions=line)
    assert rotation_onto(wavefunction, line + 3.0) == pytest.approx(np.eye(3), abs=1e-9)
    turn = Rotation.from_rotvec([0.6, 0, 0]).as_matrix()  # across the line: the shortest way
    expected = turn if n_atoms > 1 else np.eye(3)
    assert rotation_onto(wavefunction, line @ turn.T) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("momenta", [(0, 1, 2), (3, 1), (4,), (5, 6)])
def test_turned_functions_have_the_values_of_the_others_at_the_points_turned_back(momenta, turn):
    wavefunction = random_wavefunction(7, momenta, n_atoms=2)
    turned = replace(wavefunction, positions=wavefunction.positions @ turn.as_matrix().T)
    points = np.random.default_rng(0).normal(size=(30, 3)) * 2
    matrix = turned_functions(wavefunction, turn.as_matrix())
    here = wavefunction.alpha.coefficients.T @ basis_functions(wavefunction, points)
    there = (matrix @ wavefunction.alpha.coefficients).T @ basis_functions(turned, turn.apply(points))
    assert there == pytest.approx(here, abs=1e-11 * np.abs(here).max())


@pytest.mark.parametrize("improper", [-np.eye(3), np.diag([1.0, -1.0, 1.0])])
def test_reflections_turn_functions_too(improper):
    wavefunction = random_wavefunction(8, (1, 2, 3), n_atoms=2)
    mirrored = replace(wavefunction, positions=wavefunction.positions @ improper.T)
    points = np.random.default_rng(1).normal(size=(30, 3))
    here = wavefunction.alpha.coefficients.T @ basis_functions(wavefunction, points)
    coefficients = turned_functions(wavefunction, improper) @ wavefunction.alpha.coefficients
    assert coefficients.T @ basis_functions(mirrored, points @ improper.T) == pytest.approx(here, abs=1e-11)


def with_matrices(wavefunction):
    c = wavefunction.alpha.coefficients
    return replace(
        wavefunction,
        beta=replace(wavefunction.alpha, coefficients=c[:, ::-1]),
        alpha=replace(wavefunction.alpha, energies=np.array([-0.5, 0.1]), irreps=("A1", "B2")),
        density_matrix=c @ c.T,
        spin_density_matrix=c @ np.diag([1.0, -1.0]) @ c.T,
    )


def test_a_molecule_is_placed_with_all_that_belongs_to_it():
    wavefunction = with_matrices(random_wavefunction(9, (0, 1, 2, 3), n_atoms=3))
    rotation, middle = TURNS[0].as_matrix(), np.array([1.0, 2.0, 3.0])
    moved = placed(wavefunction, rotation, middle)
    assert centre(moved) == pytest.approx(middle)
    points = np.random.default_rng(2).normal(size=(30, 3))
    before, after = (
        basis_functions(wavefunction, points),
        basis_functions(moved, (points - centre(wavefunction)) @ rotation.T + middle),
    )
    for spin in ("alpha", "beta"):
        here, there = getattr(wavefunction, spin), getattr(moved, spin)
        assert there.coefficients.T @ after == pytest.approx(here.coefficients.T @ before, abs=1e-11)
        assert np.array_equal(there.occupations, here.occupations)
        assert np.array_equal(there.energies, here.energies, equal_nan=True)
        assert there.irreps == here.irreps
    for name in ("density_matrix", "spin_density_matrix"):
        here, there = getattr(wavefunction, name), getattr(moved, name)
        values = [np.einsum("mp,mn,np->p", f, m, f) for f, m in ((before, here), (after, there))]
        assert values[1] == pytest.approx(values[0], abs=1e-11)


def test_a_copy_that_was_moved_is_aligned_again(molecule):
    moved = placed(molecule, TURNS[2].as_matrix(), np.array([4.0, 5.0, -6.0]))
    back = aligned(moved, molecule)
    assert back.positions == pytest.approx(molecule.positions, abs=1e-10)
    assert back.alpha.coefficients == pytest.approx(molecule.alpha.coefficients, abs=1e-10)
    assert aligned_positions(molecule, moved.positions) == pytest.approx(molecule.positions, abs=1e-10)


def test_positions_are_aligned_as_molecules_are(molecule):
    distorted = molecule.positions + np.random.default_rng(3).normal(size=(6, 3)) * 0.2
    elsewhere = TURNS[0].apply(distorted) + 7.0
    assert aligned_positions(molecule, elsewhere) == pytest.approx(
        aligned(replace(molecule, positions=elsewhere), molecule).positions, abs=1e-10
    )


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0])
def test_a_part_of_a_rotation(share):
    vector = np.array([0.3, -1.0, 0.8])
    part = part_of_rotation(Rotation.from_rotvec(vector).as_matrix(), share)
    assert part == pytest.approx(Rotation.from_rotvec(share * vector).as_matrix())


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_between_two_places_a_stiff_molecule_stays_stiff(molecule, share):
    """It turns about its centre, which goes straight on; at the ends it is where it was."""
    vector, step = np.array([0.5, 1.2, -0.4]), np.array([3.0, -1.0, 2.0])
    start, middle = molecule.positions, centre(molecule)
    end = Rotation.from_rotvec(vector).apply(start - middle) + middle + step
    expected = Rotation.from_rotvec(share * vector).apply(start - middle) + middle + share * step
    assert positions_between(molecule, start, end, share) == pytest.approx(expected, abs=1e-10)
    stretched = start * 1.1
    assert positions_between(molecule, start, stretched, share) == pytest.approx(
        (1 - share) * start + share * stretched, abs=1e-9
    )
