"""Surfaces that go with the atoms."""

import numpy as np
import pytest

from orbitile.model.surface import Surface
from orbitile.session.live.following import moved_along

ATOMS = np.array([[0.0, 0, 0], [0, 0, 4], [0, 5, 0], [30, 0, 0], [0, -40, 0]])


@pytest.fixture
def surface():
    """Points about the atoms; every second one is of the other phase."""
    rng = np.random.default_rng(3)
    vertices = (ATOMS[:3, None] + rng.normal(size=(3, 20, 3)) * 0.8).reshape(-1, 3).astype(np.float32)
    n = len(vertices)
    faces = np.arange(n, dtype=np.int32).reshape(-1, 3)
    normals = np.tile(np.float32([0, 0, 1]), (n, 1))
    return Surface(
        vertices, faces, normals, np.where(np.arange(n) // 3 % 2, 1, -1).astype(np.int8), 0.05, "orbital", ""
    )


def test_where_no_atom_has_moved_it_is_the_same(surface):
    assert moved_along(surface, ATOMS, ATOMS.copy()) is surface


def test_it_goes_with_a_molecule_as_a_whole(surface):
    step = np.array([0.3, -0.2, 1.0])
    moved = moved_along(surface, ATOMS, ATOMS + step)
    np.testing.assert_allclose(moved.vertices, surface.vertices + step, atol=1e-5)
    assert moved.vertices.dtype == np.float32
    assert moved.faces is surface.faces
    assert moved.phases is surface.phases


def test_points_go_with_the_atom_beside_them_and_those_between_two_half_the_way(surface):
    after = ATOMS.copy()
    after[1] += [1.0, 0, 0]
    points = np.float32([[0, 0, 3.9], [0, 0, 2], [0, 0, 0.1], [0, 5, 0], [30, 0, 0.1], [0, 0, 4]])
    other = Surface(
        points, np.int32([[0, 1, 2], [3, 4, 5]]), np.zeros_like(points), np.ones(6, np.int8), 0.05, "orbital", ""
    )
    moved = moved_along(other, ATOMS, after).vertices - points
    np.testing.assert_allclose(moved[:, 0], [1, 0.5, 0, 0, 0, 1], atol=0.03)
    assert not moved[:, 1:].any()
    assert points[0, 0] == 0, "the surface before is left alone"


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_atoms_are_enough(surface, n):
    step = np.array([0, 0, 1.0])
    moved = moved_along(surface, ATOMS[:n], ATOMS[:n] + step)
    np.testing.assert_allclose(moved.vertices, surface.vertices + step, atol=1e-5)
