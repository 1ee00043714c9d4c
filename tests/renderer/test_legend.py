"""What is written on pictures: scales of colours, letters, and whether they can be read."""

import numpy as np
import pytest

from orbitile import render
from orbitile.base.errors import RenderError
from orbitile.surfaces.colour_maps import colours_along, linear_light

pytest.importorskip("OpenGL")

from orbitile.renderer import Camera, legend
from orbitile.renderer.legend import annotate, legend_of, text_size

from .samples import ball, mapped, molecule, p_orbital

SIZE = (320, 240)
COLOURS = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)


@pytest.mark.parametrize("size", [(320, 240), (1600, 1200), (1200, 1600), (3200, 2400)])
def test_the_scale_of_colours_takes_little_room(size):
    """The bar is less than a third of the width; with its letters it takes a quarter of the height at most."""
    surface = mapped(limit=0.06, values=np.full(len(ball().vertices), 0.02))
    paper = np.full((size[1], size[0], 4), 255, np.uint8)
    pixels = annotate(paper, legend_of([surface], [COLOURS], size), None, (1.0, 1.0, 1.0))[..., :3]
    rows, columns = np.nonzero((pixels < 250).any(axis=-1))
    assert rows.min() > 0.75 * size[1]
    assert columns.max() < 0.5 * size[0]
    coloured = np.ptp(pixels[rows.min() :], axis=-1) > 50
    rows, columns = np.nonzero(coloured)[0] + rows.min(), np.nonzero(coloured)[1]
    assert np.ptp(columns) < 0.33 * size[0]
    middle = pixels[int(np.median(rows)), columns.min() + 3 : columns.max() - 2] / 255
    assert len(np.unique(np.round(middle, 3), axis=0)) > 0.5 * min(len(middle), 200)  # no five squares
    shares = (np.arange(len(middle)) + 3.5) / (np.ptp(columns) + 1)
    assert np.abs(middle - colours_along("signed", shares)).max() < 0.05


def test_a_scale_bar_needs_the_scene_before_the_camera():
    camera = Camera(eye=(0, 0, -60))
    with pytest.raises(RenderError, match="behind the camera"):
        render(mapped(), size=SIZE, scale=True, camera=camera)


def test_a_bar_takes_a_third_of_a_small_picture_too():
    surface = mapped(limit=0.06)
    for size in ((200, 150), (150, 200), (1600, 1200)):
        (bar,) = legend_of([surface], [COLOURS], size)
        assert bar.length * text_size(size) < 0.33 * size[0]
        assert bar.is_legible(size)
        assert len(bar.ticks) >= 2


def test_values_beyond_the_scale_make_its_end_a_point():
    values = np.linspace(-3, 1, len(ball().vertices))
    surface = mapped(values=values)
    (bar,) = legend_of([surface], [COLOURS], SIZE)
    assert bar.beyond == (True, False)
    assert bar.heading == "potential (hartree/e)"
    assert bar.note == "on density = 1 e bohr^-3"


@pytest.mark.parametrize("paper", [0.0, 1.0])
def test_the_legend_can_be_read_on_any_paper(paper):
    """A transparent picture is laid on black or white: letters, and what is just beside them, differ strongly."""
    surfaces = [p_orbital(2, "HOMO"), mapped()]
    camera = Camera(eye=(0, 60, 20))
    options = {"size": (640, 480), "legend": True, "camera": camera, "scale": True}
    clear = render(surfaces, molecule([1], [[0, 0, 0]]), background="transparent", **options) / 255
    ink = (clear[..., :3] < 0.15).all(axis=-1) & (clear[..., 3] > 0.95)
    assert ink.sum() > 500
    laid = clear[..., :3] * clear[..., 3:] + paper * (1 - clear[..., 3:])
    light = linear_light(laid) @ [0.2126, 0.7152, 0.0722]
    beside = np.zeros_like(ink)
    for shift in ((0, 2), (0, -2), (2, 0), (-2, 0)):
        beside |= np.roll(ink, shift, (0, 1))
    beside &= (clear[..., :3].max(axis=-1) - clear[..., :3].min(axis=-1) < 0.1) & ~ink
    contrast = (np.median(light[beside]) + 0.05) / (np.median(light[ink]) + 0.05)
    assert contrast > 7  # WCAG 2, level AAA


def test_greek_letters_and_indices_are_written(monkeypatch):
    pieces = legend.levels("sign(λ₂)ρ / e bohr^-3")
    assert ("2", -1) in pieces
    assert ("-3", 1) in pieces
    assert "".join(piece for piece, _ in pieces) == "sign(λ2)ρ / e bohr-3"
    with_font = legend.measure("λρ", 40)
    monkeypatch.setattr(legend, "foreign_font", lambda height: None)
    assert legend.levels("sign(λ₂)ρ") == [("sign(lambda", 0), ("2", -1), (")rho", 0)]
    assert legend.measure("λρ", 40) > 2 * with_font
