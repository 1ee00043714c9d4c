"""Views without perspective."""

import numpy as np
import pytest

from orbitile import render
from orbitile.base.errors import RenderError
from orbitile.model.units import angstrom
from orbitile.model.wavefunction import Wavefunction

pytest.importorskip("OpenGL")

from orbitile.renderer import Camera, draw
from orbitile.scenes.scene import STICK_RADIUS, ball_radius

from .samples import ball, free_edges, molecule, p_orbital

SIZE = (320, 240)


def pairs_in_depth() -> Wavefunction:
    """Two pairs of atoms 3 Angstrom apart, one 12 Angstrom before the other."""
    positions = np.array([[-1.5, 2, 6], [1.5, 2, 6], [-1.5, -2, -6], [1.5, -2, -6]]) * angstrom
    return molecule([8, 8, 7, 7], positions)


def lengths(pixels):
    """Distance of the two red balls, and of the two blue ones, in pixels."""
    picture = pixels[..., :3].astype(int)
    red = picture[..., 0] - picture[..., 1:].max(axis=-1) > 60
    blue = picture[..., 2] - picture[..., :2].max(axis=-1) > 60
    found = []
    for mask in (red, blue):
        columns = np.nonzero(mask)[1]
        middle = (columns.min() + columns.max()) / 2
        found.append(columns[columns > middle].mean() - columns[columns < middle].mean())
    return found


def test_equal_lengths_at_different_depth_have_equal_pixels():
    near, far = lengths(render((), pairs_in_depth(), size=(600, 450), orthographic=True, camera=Camera()))
    assert near == pytest.approx(far, abs=0.6)
    near, far = lengths(render((), pairs_in_depth(), size=(600, 450), camera=Camera()))
    assert near > 1.1 * far


@pytest.mark.parametrize("camera", [Camera(), Camera(eye=(0, 0, 60.0)), Camera(field_of_view=60)])
def test_a_scale_bar_holds_at_any_depth(camera):
    pixels = render((), pairs_in_depth(), size=(600, 450), scale=True, camera=camera)
    near, far = lengths(pixels)
    assert near == pytest.approx(far, abs=0.6)
    lower = pixels[420:, 300:, :3].max(axis=-1) < 60
    bar = lower.sum(axis=1).max()
    assert min(abs(bar * 3 / (near * length) - 1) for length in (1, 2, 5, 10)) < 0.02


def test_sticks_and_surfaces_without_perspective_are_where_their_atoms_are():
    """Balls, sticks and meshes at one place cover the same pixels, and what is nearer hides what is farther."""
    camera = Camera(eye=(0, 0, 20), orthographic=True, height=8.0)
    radius = ball_radius(8)
    disc = render((), molecule([8], [[1, 0.5, 0]]), size=SIZE, camera=camera)[..., 1] < 240
    mesh = render(ball(radius, centre=(1, 0.5, 0), spacing=0.1), size=SIZE, opacity=1.0, camera=camera)[..., 1] < 240
    assert (disc ^ mesh).mean() < 0.002
    assert disc.sum() == pytest.approx(np.pi * (radius * SIZE[1] / 8) ** 2, rel=0.1)
    both = molecule([8, 7], [[0, 0, -3], [0, 0, 3]])  # nitrogen is nearer
    middle = render((), both, size=SIZE, camera=camera)[120, 160].astype(int)
    assert middle[2] > middle[0] + 50
    bonded = (
        render((), molecule([6, 6], [[-1.4, 0, 0], [1.4, 0, 0]]), size=SIZE, camera=camera)[..., :3].min(axis=-1) < 240
    )
    stick = bonded[:, 160].sum()
    assert stick == pytest.approx(2 * STICK_RADIUS * SIZE[1] / 8, abs=2)


def test_an_orthographic_picture_is_filled():
    for size in ((240, 180), (120, 300)):
        pixels = render(p_orbital(0, "2p"), pairs_in_depth(), size=size, orthographic=True)
        gaps = free_edges(pixels)
        assert min(gaps) > 0.02
        assert min(max(gaps[:2]), max(gaps[2:])) < 0.05


def test_an_orthographic_camera_with_an_eye_needs_a_height():
    with pytest.raises(RenderError, match="expected a height in bohr"):
        Camera(eye=(0, 0, 9), orthographic=True)


def test_tiles_of_an_orthographic_picture_join(monkeypatch):
    whole = render(p_orbital(0, "2p"), pairs_in_depth(), size=SIZE, orthographic=True)
    monkeypatch.setattr(draw, "TILE", 80)
    parts = render(p_orbital(0, "2p"), pairs_in_depth(), size=SIZE, orthographic=True)
    assert np.abs(whole.astype(int) - parts).max() <= 3
