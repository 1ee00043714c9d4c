"""Finer triangles from normals: closer to what the surface stands for, closed, and in the same colours."""

from dataclasses import replace

import numpy as np
import pytest

import orbitile as ob
from orbitile.model.surface import Colouring
from orbitile.surfaces.subdivision import edges_of, subdivided


@pytest.fixture(scope="module")
def ball():
    """A Gaussian at exp(-4): a sphere of radius 2, from a coarse lattice."""
    points = np.stack(np.meshgrid(*[np.linspace(-3, 3, 13)] * 3, indexing="ij"), axis=-1)
    lattice = ob.Lattice(np.full(3, -3.0), np.eye(3) * 0.5, (13, 13, 13))
    volume = ob.Volume(np.exp(-(points**2).sum(axis=-1)).astype(np.float32), lattice)
    surface = ob.isosurface(volume, float(np.exp(-4)))
    exact = surface.vertices / np.linalg.norm(surface.vertices, axis=1, keepdims=True)
    return replace(surface, vertices=(2 * exact).astype(np.float32), normals=exact.astype(np.float32))


def test_new_points_of_a_sphere_lie_on_it(ball):
    finer = subdivided(ball)
    new = finer.vertices[len(ball.vertices) :]
    chords = ball.vertices[edges_of(ball.faces)].mean(axis=1)
    before, after = (np.abs(np.linalg.norm(points, axis=1) - 2).max() for points in (chords, new))
    assert after < 0.05 * before
    assert finer.normals == pytest.approx(finer.vertices / np.linalg.norm(finer.vertices, axis=1)[:, None], abs=1e-3)


def test_it_stays_closed_and_looks_outwards(ball):
    finer = subdivided(subdivided(ball))
    assert len(finer.faces) == 16 * len(ball.faces)
    assert len(finer.vertices) - len(edges_of(finer.faces)) + len(finer.faces) == 2  # Euler: a sphere
    a, b, c = (finer.vertices[finer.faces[:, corner]] for corner in range(3))
    assert (np.einsum("ij,ij->i", np.cross(b - a, c - a), a + b + c) > 0).all()


def test_phases_and_colours_go_along(ball):
    values = ball.vertices[:, 2].copy()
    coloured = replace(ball, colouring=Colouring(values, -2.0, 2.0))
    finer = subdivided(coloured)
    assert finer.colouring.values == pytest.approx(finer.vertices[:, 2], abs=0.05)
    assert len(finer.phases) == len(finer.vertices)
    assert set(finer.phases) == set(ball.phases)


def test_a_flat_triangle_stays_flat(ball):
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], np.float32)
    up = np.tile(np.array([0, 0, 1], np.float32), (3, 1))
    flat = ob.Surface(corners, np.array([[0, 1, 2]], np.int32), up, np.ones(3, np.int8), 0.1)
    finer = subdivided(flat)
    assert finer.vertices[:, 2] == pytest.approx(0)
    assert finer.vertices.shape == (6, 3)


def test_no_triangles_stay_none(ball):
    empty = replace(
        ball, vertices=ball.vertices[:0], faces=ball.faces[:0], normals=ball.normals[:0], phases=ball.phases[:0]
    )
    assert len(subdivided(empty).faces) == 0
