"""Edges of a mesh: each once."""

import numpy as np

import orbitile as ob
from orbitile.surfaces.subdivision import corners_of, edges_of


def test_the_edges_of_two_triangles_with_a_side_in_common():
    faces = np.array([[0, 1, 2], [2, 1, 3]], np.int32)
    assert edges_of(faces).tolist() == [[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]]


def test_no_triangles_have_no_edges():
    assert edges_of(np.zeros((0, 3), np.int32)).shape == (0, 2)


def test_a_closed_surface_has_three_edges_for_two_triangles():
    grid = ob.Lattice(np.full(3, -3.0), np.eye(3) * 0.5, (13, 13, 13))
    points = np.stack(np.meshgrid(*[np.linspace(-3, 3, 13)] * 3, indexing="ij"), axis=-1)
    ball = ob.isosurface(ob.Volume(np.exp(-(points**2).sum(axis=-1)).astype(np.float32), grid), 0.1)
    edges = edges_of(ball.faces)
    assert 2 * len(edges) == 3 * len(ball.faces)
    assert len(ball.vertices) - len(edges) + len(ball.faces) == 2  # Euler: a sphere


def test_vertices_without_a_triangle_are_no_corners():
    assert corners_of(np.array([[5, 1, 2], [2, 1, 3]], np.int32)).tolist() == [1, 2, 3, 5]
    assert corners_of(np.zeros((0, 3), np.int32)).tolist() == []
