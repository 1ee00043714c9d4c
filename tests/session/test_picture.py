"""Pictures of what is shown: how they are laid out, how a film turns, how transparent surfaces come out."""

from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest

import orbitile as ob
from orbitile.pictures.look import Look
from orbitile.pictures.request import Request
from orbitile.renderer import Camera
from orbitile.scenes import Molecule, VolumeDrawing
from orbitile.session.picture import DrawnSurface, Picture, finer_surface, grid_of, pixels_of, turning
from orbitile.session.sampling import WavefunctionCache, sample
from orbitile.session.seen import whole_size
from orbitile.session.shown import Shown

BENZENE = str(files("orbitile") / "data" / "benzene.molden")


@pytest.mark.parametrize(
    ("n", "size", "expected"),
    [
        (1, (800, 600), (1, 1)),
        (2, (800, 600), (2, 1)),
        (2, (300, 900), (1, 2)),
        (3, (900, 300), (3, 1)),
        (4, (800, 800), (2, 2)),
        (5, (900, 800), (3, 2)),
    ],
)
def test_panes_are_laid_out_by_the_shape_of_the_picture(n, size, expected):
    columns, rows = grid_of(n, size)
    assert (columns, rows) == expected
    assert columns * rows >= n


def test_a_film_turns_about_its_centre():
    camera = Camera(eye=np.array([1.0, 2.0, 30.0])).turned(x=20)
    centre = np.array([1.0, 2.0, 3.0])
    moments = turning(camera, centre, 360.0, 8)
    assert len(moments) == 8
    distances = [np.linalg.norm(moment.camera.eye - centre) for moment in moments]
    assert distances == pytest.approx([np.linalg.norm(camera.eye - centre)] * 8)
    places = [moment.camera.rotation @ (centre - moment.camera.eye) for moment in moments]
    assert np.allclose(places, places[0])  # the centre stays where it is in the picture
    assert np.allclose(moments[0].camera.eye, camera.eye)
    assert np.allclose(moments[4].camera.rotation[1], camera.rotation[1])  # about what points upwards
    assert np.allclose(moments[4].camera.rotation[0], -camera.rotation[0])


def ball(transparency, style="surface", n=31, size=120):
    """A picture of a ball without paper, from above, from a lattice of n points an edge."""
    points = np.stack(np.meshgrid(*[np.linspace(-3, 3, n)] * 3, indexing="ij"), axis=-1)
    lattice = ob.Lattice(np.full(3, -3.0), np.eye(3) * 6 / (n - 1), (n, n, n))
    surface = ob.isosurface(ob.Volume(np.exp(-(points**2).sum(axis=-1)).astype(np.float32), lattice), 0.05)
    outwards = surface.vertices / np.linalg.norm(surface.vertices, axis=1, keepdims=True)
    radius = np.float32(np.sqrt(np.log(20)))  # where this Gaussian is 0.05
    surface = replace(surface, vertices=radius * outwards, normals=outwards)
    look = Look(((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)), transparency, style)
    drawn = DrawnSurface("ball", Shown("ball", Request("ball.molden", "density"), 0.05, look), surface)
    camera = Camera(eye=np.array([0.0, 0.0, 20.0]))
    return pixels_of(Picture(((drawn,),), Molecule(), camera, (size, size), None, legend=False))


@pytest.mark.parametrize("transparency", [0.2, 0.35, 0.7])
def test_a_ball_lets_through_as_much_as_its_transparency_says(transparency):
    """Both of its walls, as a whole: its rim less, its middle more."""
    inside = ball(0.0)[..., 3] == 255
    through = 1 - ball(transparency)[..., 3].astype(float) / 255
    assert through[inside].mean() == pytest.approx(transparency**2, abs=0.03)
    assert through[60, 60] > through[inside].mean()


def test_an_opaque_ball_is_opaque_and_an_invisible_one_is_not_drawn():
    assert ball(0.0)[60, 60, 3] == 255
    assert not ball(1.0)[..., 3].any()


def test_styles_have_holes():
    solid, mesh, dots = (ball(0.0, style)[..., 3].mean() / 255 for style in ("surface", "mesh", "dots"))
    assert solid > 1.5 * mesh > 1.5 * dots > 0.01


def test_a_ball_from_few_points_is_round_in_a_large_picture():
    """Its outline is as far from its middle everywhere, to half a pixel."""
    outline = ball(0.0, n=13, size=600)[..., 3] > 127
    inner = np.all([np.roll(outline, step, axis) for step in (1, -1) for axis in (0, 1)], axis=0)
    y, x = np.nonzero(outline & ~inner)
    assert np.hypot(y - y.mean(), x - x.mean()).std() < 0.5


def test_a_picture_of_fog_is_drawn_from_the_volume():
    lattice = ob.Lattice.box(np.full(3, -2.0), np.full(3, 2.0), 0.5)
    volume = ob.Volume(np.full(lattice.shape, 0.1), lattice, "density", "e bohr^-3")
    surface = ob.isosurface(ob.Volume(np.exp(-(lattice.points() ** 2).sum(1)).reshape(lattice.shape), lattice), 0.05)
    look = Look(((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)), 0.35, "fog")
    shown = Shown("ball", Request("ball.molden", "density"), 0.05, look)
    drawn = DrawnSurface("ball", shown, surface, volume)
    camera = Camera(eye=np.array([0.0, 0.0, 20.0]))
    pixels = pixels_of(Picture(((drawn,),), Molecule(), camera, (60, 60), None, legend=False))
    depth = 0.1 / 0.05 * VolumeDrawing(volume, 0.05).density * 4
    assert pixels[30, 30, 3] / 255 == pytest.approx(1 - np.exp(-depth), abs=2 / 255)


@pytest.mark.slow
@pytest.mark.parametrize("color_by", ["", "esp"])
def test_what_a_picture_shows_is_as_fine_as_its_pixels(color_by):
    """Computed anew on a finer lattice, with the colours that the viewer has; a small picture needs none."""
    request = Request(BENZENE, "elf", "coarse", device="cpu", color_by=color_by)
    found = sample(request, WavefunctionCache())
    drawn = DrawnSurface("elf", Shown("benzene", request, found.isovalue), found.surface)
    cache = WavefunctionCache()
    assert finer_surface(drawn, 0.6, cache) is found.surface
    fine = finer_surface(drawn, 0.1, cache)
    assert len(fine.faces) > 3 * len(found.surface.faces)
    assert fine.isovalue == found.isovalue
    values = ob.evaluate(ob.load(BENZENE), "elf", fine.vertices, device="cpu")
    coarse = ob.evaluate(ob.load(BENZENE), "elf", found.surface.vertices, device="cpu")
    assert np.abs(values - found.isovalue).mean() < 0.4 * np.abs(coarse - found.isovalue).mean()
    if color_by:
        assert (fine.colouring.low, fine.colouring.high) == (found.surface.colouring.low, found.surface.colouring.high)
        assert len(fine.colouring.values) == len(fine.vertices)


@pytest.mark.parametrize("size", [(9_999_999, 9_999_999), (9_999_999, 0), (0, 9_999_999), (-1, 10)])
def test_a_size_that_cannot_be_drawn_is_refused_before_anything_is_laid_out(size):
    with pytest.raises(ob.OrbitileError, match="size of a picture: expected"):
        whole_size(size, (640, 480))
    assert whole_size((320, 0), (640, 480)) == (320, 240)
