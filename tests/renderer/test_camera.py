"""Cameras: from where a molecule is seen."""

import numpy as np
import pytest

from orbitile.base.errors import RenderError
from orbitile.renderer import Camera


def test_default_view_is_a_rotation_and_shows_a_plane_face_on():
    rng = np.random.default_rng(5)
    for _ in range(20):
        turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        points = rng.normal(size=(12, 3)) * [5, 2, 0.1] @ turn.T + 10
        camera = Camera.facing(points)
        np.testing.assert_allclose(camera.rotation @ camera.rotation.T, np.eye(3), atol=1e-12)
        assert np.linalg.det(camera.rotation) == pytest.approx(1)
        spread = np.ptp(points @ camera.rotation.T, axis=0)
        assert spread[0] > spread[1] > spread[2]
        np.testing.assert_array_equal(camera.rotation, Camera.facing(points.copy()).rotation)


def test_default_view_of_equivalent_axes_stays_near_x_y_z():
    angles = np.arange(6) * np.pi / 3
    hexagon = np.c_[np.cos(angles), np.sin(angles), 0 * angles] * 2.6
    noise = np.random.default_rng(1).normal(size=hexagon.shape) * 1e-5
    np.testing.assert_allclose(Camera.facing(hexagon + noise).rotation, np.eye(3), atol=1e-3)
    for line in ([[0, 0, 0]], [[0, 0, -1], [0, 0, 1]], [[-1, 0, 0], [0, 0, 0], [1, 0, 0]], np.eye(3) * 2):
        rotation = Camera.facing(line).rotation
        assert np.linalg.det(rotation) == pytest.approx(1)
    np.testing.assert_allclose(Camera.facing([[0, 0, -1], [0, 0, 1]]).rotation[0], [0, 0, 1], atol=1e-12)


CAMERA_ERRORS = [
    lambda: Camera(np.diag([-1.0, 1, 1])),
    lambda: Camera(np.ones((3, 3))),
    lambda: Camera("front"),
    lambda: Camera(eye=(0, 0)),
    lambda: Camera(field_of_view=0),
    lambda: Camera.from_direction([0, 0, 0]),
]


@pytest.mark.parametrize("make", CAMERA_ERRORS)
def test_camera_errors(make):
    with pytest.raises(RenderError):
        make()
