"""Volumes that go with the atoms, for viewers that draw surfaces from volumes."""

import numpy as np
import pytest

import orbitile as ob
from orbitile.session.live.following import volume_moved_along

ATOMS = np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 8.0, 0.0]])


def blobs(atoms):
    """A Gaussian at each of the atoms."""
    lattice = ob.Lattice.box([-5, -5, -5], [7, 13, 5], 0.25)
    squares = ((lattice.points()[:, None] - atoms) ** 2).sum(axis=2)
    return ob.Volume(np.exp(-squares).sum(axis=1).astype(np.float32).reshape(lattice.shape), lattice)


def at(volume, points):
    """Values at points of the lattice."""
    places = np.rint((points - volume.lattice.origin) @ np.linalg.inv(volume.lattice.axes)).astype(int)
    return volume.values[tuple(places.T)]


def test_where_nothing_has_moved_it_is_the_same():
    volume = blobs(ATOMS)
    assert volume_moved_along(volume, ATOMS, ATOMS.copy()) is volume


def test_all_of_it_goes_with_atoms_that_all_go_the_same_way_however_far():
    volume, step = blobs(ATOMS), np.array([0.5, -1.25, 6.0])
    moved = volume_moved_along(volume, ATOMS, ATOMS + step)
    lost = moved.values.sum() - volume.values.sum()
    assert abs(lost) < 1e-4 * volume.values.sum()
    assert at(moved, ATOMS + step) == pytest.approx(at(volume, ATOMS), abs=1e-5)
    corner, before = moved.lattice.points().max(axis=0), volume.lattice.points().max(axis=0)
    assert corner - before == pytest.approx([0.5, 0, 6])


def test_what_is_beside_an_atom_goes_with_that_atom_alone():
    volume, after = blobs(ATOMS), ATOMS + np.array([[0, 0, 0], [0, 0, 0], [1.0, 2.0, 0]])
    moved = volume_moved_along(volume, ATOMS, after)
    assert at(moved, after) == pytest.approx([1, 1, 1], abs=0.03)
    assert at(moved, ATOMS[2:]) < 0.1


def test_room_is_bounded_where_an_atom_is_torn_away():
    volume, after = blobs(ATOMS), ATOMS + np.array([[0, 0, 0], [0, 0, 0], [1e4, 0, 0]])
    moved = volume_moved_along(volume, ATOMS, after)
    assert moved.values.size <= 2 * volume.values.size + volume.values[0].size
