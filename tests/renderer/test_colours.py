"""Colours in pictures: of values on surfaces, and of several fields."""

import colorsys
import dataclasses

import numpy as np
import pytest

from orbitile import render
from orbitile.model.surface import Colouring, Surface
from orbitile.surfaces.colour_maps import MAPS, colours_along, colours_of, linear_light

pytest.importorskip("OpenGL")

from orbitile.renderer import Camera
from orbitile.scenes import PALETTES
from orbitile.scenes.scene import parse_colour
from tests.colour_vision import BLINDNESS, oklab, perceived_by

from .samples import ball, mapped, p_orbital

SIZE = (320, 240)

DARKEST = 0.6
"""Share of the light that a coloured surface keeps at its rim."""


def test_light_is_that_of_the_standard():
    """IEC 61966-2-1: a straight line near black that meets a power."""
    assert linear_light(np.array([0.0, 0.04045, 0.5, 1.0])) == pytest.approx([0, 0.0031308, 0.2140411, 1], abs=1e-7)
    assert linear_light(np.array([0.04045 + 1e-9])) == pytest.approx([0.04045 / 12.92], abs=1e-7)


def seen(surface: Surface, camera: Camera, size=SIZE):
    """Vertices that look at the viewer: which ones, and their column and row in the picture."""
    assert camera.height is not None
    towards = surface.normals @ camera.rotation[2]
    right, up = camera.rotation[:2] @ (surface.vertices - camera.eye).T
    column, row = size[0] / 2 + right * size[1] / camera.height, size[1] / 2 - up * size[1] / camera.height
    front = np.flatnonzero(towards > 0.3)
    return front, np.floor(column[front]).astype(int), np.floor(row[front]).astype(int), towards[front]


@pytest.mark.parametrize("colour_map", list(MAPS))
@pytest.mark.parametrize("turn", [(0, 0), (35, -50)])
def test_a_vertex_has_the_colour_of_its_value(colour_map, turn):
    """But for a bounded share of the light, the same for red, green and blue, and none face on."""
    surface = mapped(colour_map)
    camera = Camera(eye=(0, 0, 20), orthographic=True, height=6.0).turned(*turn)
    camera = dataclasses.replace(camera, eye=camera.rotation[2] * 20)
    pixels = render(surface, size=SIZE, opacity=1.0, camera=camera)
    vertices, columns, rows, facing = seen(surface, camera)
    found, expected = (
        linear_light(pixels[rows, columns, :3] / 255),
        linear_light(colours_of(surface.colouring)[vertices]),
    )
    left = found.sum(axis=1) / expected.sum(axis=1)
    assert left.min() > DARKEST - 0.02
    assert left.max() < 1.04
    assert np.abs(left[facing > 0.98] - 1).max() < 0.03
    hues = oklab(found)[:, 1:], oklab(expected)[:, 1:]
    scaled = hues[1] * np.cbrt(left)[:, None]
    assert np.linalg.norm(hues[0] - scaled, axis=1).max() < 0.03


def test_no_highlight_reads_as_zero_and_no_shade_as_another_value():
    """A surface of one value has one hue, and its place on the scale can be told everywhere."""
    for share in (0.15, 0.3, 0.7, 0.9):
        value = np.full(len(ball().vertices), 4 * share - 2)
        pixels = render(mapped(values=value), size=SIZE, opacity=1.0, camera=Camera())[..., :3] / 255
        inside = np.argwhere((pixels < 0.99).any(axis=-1))
        middle = inside.mean(axis=0)
        disc = inside[np.linalg.norm(inside - middle, axis=1) < 0.93 * np.ptp(inside[:, 0]) / 2]
        lab = oklab(linear_light(pixels[tuple(disc.T)]))
        expected = oklab(linear_light(colours_along("signed", np.array([share]))))[0]
        angle = np.degrees(np.arctan2(lab[:, 2], lab[:, 1]) - np.arctan2(expected[2], expected[1]))
        assert np.abs((angle + 180) % 360 - 180).max() < 4
        assert lab[:, 0].max() < expected[0] + 0.01
        assert lab[:, 0].min() > 0.84 * expected[0]


def test_a_coloured_plane_is_not_shaded():
    """Its colours are those of the map at whatever angle it is seen."""
    corners = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]], np.float32)
    plane = Surface(
        vertices=corners,
        faces=np.array([[0, 1, 2], [0, 2, 3]], np.int32),
        normals=np.tile(np.float32([0, 0, 1]), (4, 1)),
        phases=np.ones(4, np.int8),
        isovalue=0.0,
        colouring=Colouring(np.full(4, 0.5, np.float32), -1.0, 1.0, "spin density"),
    )
    for angle in (0, 60, 130):
        pixels = render(plane, size=(64, 48), camera=Camera().turned(x=angle))
        found = np.unique(pixels[(pixels[..., :3] < 250).any(axis=-1)][:, :3], axis=0)
        expected = 255 * colours_of(plane.colouring)[0]
        assert np.abs(found - expected).min(axis=0).max() <= 1


def test_homo_and_lumo_have_four_hues():
    pictures = p_orbital(0, "HOMO"), p_orbital(1, "LUMO")
    pixels = render(pictures, size=SIZE, opacity=1.0, legend=True, camera=Camera())
    flat = pixels[..., :3].reshape(-1, 3) / 255
    hues = np.array([colorsys.rgb_to_hsv(*colour)[0] * 360 for colour in flat if np.ptp(colour) > 0.2])
    counts, _ = np.histogram(hues, bins=36, range=(0, 360))
    wanted = [colorsys.rgb_to_hsv(*parse_colour(colour))[0] * 360 for pair in PALETTES[:2] for colour in pair]
    near = [sum(counts[int(hue // 10 + k) % 36] for k in (-1, 0, 1)) for hue in wanted]
    assert min(near) > 300
    apart = np.abs((np.subtract.outer(wanted, wanted) + 180) % 360 - 180)
    assert apart[~np.eye(4, dtype=bool)].min() > 30


def test_surfaces_of_one_quantity_share_their_colours():
    both = [p_orbital(0, "HOMO"), p_orbital(0, "HOMO")]
    assert np.array_equal(render(both, size=(64, 48)), render(both, size=(64, 48), colours=PALETTES[0]))
    assert not np.array_equal(
        render([both[0], p_orbital(1, "LUMO")], size=(64, 48)),
        render([both[0], p_orbital(1, "LUMO")], size=(64, 48), colours=PALETTES[0]),
    )


@pytest.mark.parametrize("kind", BLINDNESS)
def test_colour_blind_readers_tell_four_lobes_apart(kind):
    colours = np.array([parse_colour(colour) for pair in PALETTES[:2] for colour in pair])
    perceived = perceived_by(kind, colours)
    distances = np.linalg.norm(perceived[:, None] - perceived, axis=-1)
    assert distances[~np.eye(4, dtype=bool)].min() > 0.15
