"""Where a camera sees what: matrices of the view and places on the screen."""

import dataclasses

import numpy as np
import pytest

from orbitile.base.errors import RenderError
from orbitile.renderer import Camera
from orbitile.renderer.draw import View
from orbitile.scenes import Molecule, Scene

SIZE = (200, 100)

CENTRES = np.random.default_rng(8).normal(size=(20, 3)) * 3 + [100.0, -50.0, 7.0]

SCENE = Scene(Molecule(CENTRES, np.full(20, 0.5), np.full((20, 3), 0.5)))

CAMERAS = [Camera().turned(20, 30, 40), Camera(orthographic=True).turned(-60, 15)]


def projected(view, window):
    """Places in the window, from -1 to 1, and depths, of the centres, as OpenGL computes them."""
    seen = np.c_[view.seen(CENTRES - view.middle), np.ones(len(CENTRES))]
    clip = seen @ view.projection(window).T
    return clip[:, :3] / clip[:, 3:]


@pytest.mark.parametrize("camera", CAMERAS, ids=["perspective", "orthographic"])
def test_everything_is_before_the_eye_and_in_the_picture(camera):
    view = View.of(SCENE, camera.framed(SCENE, 2.0), SIZE)
    places = projected(view, (0, 0, *SIZE))
    assert np.abs(places).max() < 1
    assert np.abs(places[:, :2]).max() > 0.8
    np.testing.assert_allclose(places[:, :2], view.on_screen(CENTRES - view.middle), atol=1e-9)
    nearest = np.argmax((CENTRES - view.camera.eye) @ view.camera.rotation[2])
    assert np.argmin(places[:, 2]) == nearest


@pytest.mark.parametrize("camera", CAMERAS, ids=["perspective", "orthographic"])
def test_a_window_shows_its_part_of_the_picture(camera):
    view = View.of(SCENE, camera.framed(SCENE, 2.0), SIZE)
    x0, y0, x1, y1 = window = (50, 20, 120, 90)
    pixels = (projected(view, (0, 0, *SIZE))[:, :2] + 1) / 2 * SIZE
    expected = 2 * (pixels - [x0, y0]) / [x1 - x0, y1 - y0] - 1
    np.testing.assert_allclose(projected(view, window)[:, :2], expected, atol=1e-9)


def test_what_is_behind_the_eye_has_no_place_on_the_screen():
    view = View.of(SCENE, Camera(eye=CENTRES.mean(axis=0)), SIZE)
    behind = view.seen(CENTRES - view.middle)[:, 2] > 0
    assert 0 < behind.sum() < len(CENTRES)
    assert np.isnan(view.on_screen(CENTRES - view.middle)[behind]).all()


def test_a_camera_without_an_eye_sees_nothing():
    with pytest.raises(RenderError, match="no position yet"):
        View.of(SCENE, dataclasses.replace(CAMERAS[0], eye=None), SIZE)
