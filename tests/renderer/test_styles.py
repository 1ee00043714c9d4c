"""Meshes drawn as wires or dots."""

import numpy as np
import pytest

from orbitile.renderer import Camera, render_scene
from orbitile.renderer.draw import draw
from orbitile.scenes import Mesh, Molecule, Scene, dots, wires


@pytest.fixture
def triangle():
    vertices = np.array([[-2, -1, 0], [2, -1, 0], [0, 2, 0]], np.float32)
    colours = np.tile(np.array([0, 0, 1, 0.84], np.float32), (3, 1))
    return Mesh(vertices, np.array([[0, 1, 2]]), np.tile(np.array([0, 0, 1], np.float32), (3, 1)), colours)


def distances_to_edges(points, corners):
    """Least distance of each point to the sides of a triangle."""
    found = np.full(len(points), np.inf)
    for start, end in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        side = end - start
        share = np.clip((points - start) @ side / (side @ side), 0, 1)
        found = np.minimum(found, np.linalg.norm(points - start - share[:, None] * side, axis=1))
    return found


def test_wires_lie_along_the_edges_and_dots_about_the_vertices(triangle):
    wired = wires(triangle, 0.1)
    assert len(wired.vertices) == 3 * 8
    ends = wired.vertices.reshape(-1, 4, 3).mean(axis=1)
    assert distances_to_edges(ends, triangle.vertices) == pytest.approx(0, abs=1e-5)
    assert distances_to_edges(wired.vertices, triangle.vertices).max() == pytest.approx(0.1, abs=1e-5)
    assert np.linalg.norm(wired.normals, axis=1) == pytest.approx(1)
    dotted = dots(triangle, 0.1)
    near = np.linalg.norm(dotted.vertices[:, None] - triangle.vertices, axis=2).min(axis=1)
    assert near == pytest.approx(0.1, abs=1e-5)


@pytest.mark.parametrize("style", [wires, dots])
def test_faces_look_outwards(triangle, style):
    body = style(triangle, 0.1)
    a, b, c = (body.vertices[body.faces[:, corner]] for corner in range(3))
    outwards = np.einsum("ij,ij->i", np.cross(b - a, c - a), body.normals[body.faces].sum(axis=1))
    assert (outwards > 0).all()


@pytest.mark.parametrize("style", [wires, dots])
def test_two_walls_let_through_what_one_triangle_does(triangle, style):
    through = 1 - style(triangle, 0.1).colours[:, 3]
    assert through**2 == pytest.approx(0.16)


def test_a_wired_triangle_is_empty_inside(triangle):
    camera = Camera(eye=np.array([0.0, 0.0, 20.0]))
    pictures = [
        render_scene(Scene(meshes=(mesh,)), camera, (80, 80), None) for mesh in (triangle, wires(triangle, 0.1))
    ]
    full, wired = (picture[..., 3] > 128 for picture in pictures)
    assert wired.sum() < 0.5 * full.sum()
    assert full[40, 40]
    assert not wired[40, 40]


def test_a_camera_sees_between_its_depths_only():
    balls = Molecule(np.array([[-1.0, 0, 2], [1.0, 0, -2]]), np.full(2, 0.5), np.zeros((2, 3)))
    eye = np.array([0.0, 0.0, 20.0])

    def halves(depths):
        pixels = draw(Scene(balls), Camera(eye=eye, depths=depths), (80, 60), background=(1, 1, 1, 0))
        return bool(pixels[:, :40, 3].any()), bool(pixels[:, 40:, 3].any())

    assert halves(None) == (True, True)
    assert halves((20.0, 30.0)) == (False, True)
    assert halves((10.0, 20.0)) == (True, False)
    assert halves((40.0, 50.0)) == (False, False)
