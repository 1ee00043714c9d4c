"""Volumes drawn as fog and as slices, against a march through the same values by NumPy and SciPy."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest
from scipy.ndimage import map_coordinates

import orbitile as ob
from orbitile.model.lattice import Lattice
from orbitile.model.surface import Colouring
from orbitile.model.volume import Volume
from orbitile.renderer import Camera, render_scene
from orbitile.renderer.context import offscreen
from orbitile.scenes import Mesh, Molecule, Scene, VolumeDrawing
from orbitile.surfaces.colour_maps import colours_along

BLUE, ORANGE = (0.24, 0.34, 0.98), (0.93, 0.43, 0.10)
WHITE = np.ones(3)


def camera(*, orthographic=True, eye=(0, 0, 20.0), height=8.0):
    return Camera(eye=np.array(eye), orthographic=orthographic, height=height if orthographic else None)


def drawing(values, style="fog", unit="e bohr^-3", half=2.0, opacity=0.65):
    n = np.array(values.shape) - 1
    lattice = Lattice(np.full(3, -half), np.diag(2 * half / n), values.shape)
    return VolumeDrawing(Volume(values, lattice, "test", unit), 0.1, style, (BLUE, ORANGE), opacity)


def even(value, **more):
    return drawing(np.full((5, 5, 5), value), **more)


def pixels(*volumes, molecule=None, meshes=(), seen=None, size=(80, 80)):
    scene = Scene(molecule or Molecule(), meshes, volumes=volumes)
    return render_scene(scene, seen or camera(), size, (1.0, 1.0, 1.0))[..., :3] / 255


def marched(volume, seen, size, steps=300):
    """Colours on white paper, by small steps along the line of sight of each pixel."""
    half = seen.height / 2 if seen.orthographic else np.tan(np.radians(seen.field_of_view) / 2)
    across = half * (2 * (np.arange(size) + 0.5) / size - 1)
    x, y = np.meshgrid(across, -across)
    rays = np.stack([x, y, np.full_like(x, -1.0)], axis=-1)
    depths = np.linspace(14, 26, steps + 1)
    depths = (depths[1:] + depths[:-1]) / 2
    lattice, values = volume.closed.lattice, volume.closed.values
    through, colour = np.ones((size, size)), np.zeros((size, size, 3))
    for depth in depths:
        places = np.stack([x, y, np.full_like(x, -depth)], axis=-1) if seen.orthographic else rays * depth
        index = (places + seen.eye - lattice.origin) @ np.linalg.inv(lattice.axes)
        inside = np.all((index >= 0) & (index <= np.array(values.shape) - 1), axis=-1)
        found = map_coordinates(values, index.reshape(-1, 3).T, order=1, mode="nearest").reshape(size, size)
        length = 12 / steps * (1 if seen.orthographic else np.linalg.norm(rays, axis=-1))
        opacity = np.where(inside, 1 - np.exp(-volume.extinction(found) * length), 0)[..., None]
        ink = np.where(found[..., None] > 0, BLUE, ORANGE)
        colour += through[..., None] * opacity * ink
        through = through * (1 - opacity[..., 0])
    return colour + through[..., None]


@pytest.mark.parametrize("orthographic", [True, False])
@pytest.mark.parametrize("unit", ["bohr^-3/2", "e bohr^-3"])
def test_fog_is_what_a_march_through_the_values_gives(orthographic, unit):
    x, y, z = np.meshgrid(*(np.linspace(-2.5, 2.5, n) for n in (30, 26, 34)), indexing="ij")
    fog = drawing((x + 0.4 * z) * np.exp(-(x**2 + 1.5 * y**2 + z**2) / 2), unit=unit, half=2.5)
    seen = camera(orthographic=orthographic)
    error = np.abs(pixels(fog, seen=seen) - marched(fog, seen, 80))
    edge = np.abs(np.abs(8 * (np.arange(80) + 0.5) / 80 - 4) - 2.5) < 0.2  # pixels that lie on the edge of the box
    assert error[~edge][:, ~edge].max() < 4 / 255
    assert error.mean() < 0.5 / 255


def test_nothing_is_drawn_outside_the_box():
    found = pixels(even(0.3))
    assert (found[20:60, 20:60] < 1).any(axis=-1).all()
    outside = np.ones((80, 80), bool)
    outside[19:61, 19:61] = False
    assert (found[outside] == 1).all()


def test_an_atom_hides_fog_behind_it_and_is_seen_through_fog_before_it():
    def with_ball(z, *volumes):
        ball = Molecule(np.array([[0, 0, z]]), np.array([0.8]), np.array([[0.5, 0.5, 0.5]]))
        return pixels(*volumes, molecule=ball)[40, 40]

    fog = even(0.2)
    extinction = 2 * fog.density  # at twice the isovalue
    assert with_ball(3.5, fog) == pytest.approx(with_ball(3.5), abs=1 / 255)
    through = np.exp(-extinction * 4)
    expected = through * with_ball(-3.5) + (1 - through) * np.array(BLUE)
    assert with_ball(-3.5, fog) == pytest.approx(expected, abs=2 / 255)
    half_way = np.exp(-extinction * 1.2)  # the front of the ball is at 0.8, that of the box at 2
    expected = half_way * with_ball(0.0) + (1 - half_way) * np.array(BLUE)
    assert with_ball(0.0, fog) == pytest.approx(expected, abs=2 / 255)


def test_fog_and_panes_are_mixed_in_the_order_of_their_depth():
    def pane(z, colour):
        corners = np.array([[-3, -3, z], [3, -3, z], [0, 4, z]], np.float32)
        normals, colours = np.tile([0.0, 0.0, 1.0], (3, 1)), np.tile([*colour, 0.5], (3, 1))
        return Mesh(corners, np.array([[0, 1, 2]]), normals, colours, finish=0.0)

    panes = pane(-1.0, (1, 0, 0)), pane(1.0, (0, 1, 0))
    colour, fog = WHITE, even(0.2)
    layers = [(1, BLUE), (None, (1, 0, 0)), (2, BLUE), (None, (0, 1, 0)), (1, BLUE)]  # from the back to the front
    for length, ink in layers:
        opacity = 0.5 if length is None else 1 - np.exp(-2 * fog.density * length)
        colour = opacity * np.array(ink) + (1 - opacity) * colour
    assert pixels(fog, meshes=panes)[40, 40] == pytest.approx(colour, abs=3 / 255)


def test_a_slice_has_its_full_colour_from_three_isovalues_on():
    for value, opacity, ink in ((0.15, 0.5, BLUE), (-0.06, 0.2, ORANGE), (0.9, 1.0, BLUE)):
        expected = opacity * np.array(ink) + (1 - opacity)
        assert pixels(even(value, style="slice", opacity=1.0))[40, 40] == pytest.approx(expected, abs=2 / 255)


@pytest.mark.parametrize("radius", [0.05, 1.0, 20.0])
def test_fog_of_a_ball_is_as_dense_whatever_its_size(radius):
    """The mean chord of a ball is 4/3 of its radius; a lattice sees shadows of it along its axes only."""
    x, y, z = np.meshgrid(*[np.linspace(-1.3, 1.3, 40)] * 3, indexing="ij")
    ball = drawing(np.where(x * x + y * y + z * z <= 1, 0.2, 0.0), half=1.3 * radius)
    assert ball.chord == pytest.approx(4 / 3 * radius, rel=0.02)
    assert ball.density * ball.chord == pytest.approx(0.3)
    assert even(0.01).chord == even(0.2).chord  # the whole box, where nothing reaches the isovalue


@pytest.mark.parametrize("style", ["fog", "slice"])
def test_a_second_field_colours_a_volume_in_its_range(style):
    """In place of the sign; how much is seen of it is as before. It is interpolated before it becomes a colour."""
    plain = even(0.3, style=style, opacity=1.0)
    second = np.broadcast_to(np.linspace(-1.0, 3.0, 5)[:, None, None], (5, 5, 5)).astype(np.float32)
    scale = Colouring(second.ravel(), -1.0, 1.0, "potential", "hartree/e", "signed")
    found = pixels(replace(plain, colouring=scale), seen=camera(height=4.4))
    opacity = 1 - pixels(replace(plain, colours=((0, 0, 0), (0, 0, 0))), seen=camera(height=4.4))[40, 40, 0]
    for column in (6, 22, 32, 60):  # x from left to right; from the middle on the last colour
        x = 4.4 * ((column + 0.5) / 80 - 0.5)
        ink = colours_along("signed", np.array([(x + 2) / 2]))[0]
        assert found[40, column] == pytest.approx(opacity * ink + 1 - opacity, abs=4 / 255)
    with pytest.raises(ob.OrbitileError, match="expected 125 values, one a point, got 4"):
        replace(plain, colouring=replace(scale, values=np.zeros(4, np.float32)))


@pytest.mark.skipif(shutil.which("node") is None, reason="Node, which runs the script of pages, is not installed")
def test_pages_take_the_same_mean_chord():
    values = np.random.default_rng(5).normal(size=(6, 5, 4)).astype(np.float32)
    volume = Volume(values, Lattice(np.zeros(3), np.diag([0.5] * 3), values.shape), "test", "e bohr^-3")
    script = (files("orbitile") / "scenes" / "web" / "scripts" / "fog.js").read_text(encoding="utf-8")
    script = re.sub(r"^import .*$", "", script, flags=re.MULTILINE)
    page = {"values": values.ravel("F").tolist(), "grid": {"shape": values.shape, "spacing": 0.5}}
    calls = [f"meanChord({json.dumps(page)}, {isovalue})" for isovalue in (0.8, 9.0)]
    done = subprocess.run(
        ["node", "--input-type=module"],
        input=f"{script}\nconsole.log(JSON.stringify([{', '.join(calls)}]));",
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert json.loads(done.stdout) == pytest.approx([VolumeDrawing(volume, value).chord for value in (0.8, 9.0)])


def test_a_small_orbital_is_seen_as_a_large_one_is():
    x, y, z = np.meshgrid(*[np.linspace(-2, 2, 30)] * 3, indexing="ij")
    values = x * np.exp(-(x**2 + y**2 + z**2))
    large, small = drawing(values, unit="bohr^-3/2"), drawing(values, unit="bohr^-3/2", half=0.05)
    found = pixels(small, seen=camera(height=0.2))
    assert found == pytest.approx(pixels(large), abs=2 / 255)
    assert found.min() < 0.7


def test_two_volumes_are_mixed_where_they_overlap():
    fog = even(0.2)
    found = pixels(fog, even(-0.2))[40, 40]
    opacity = 1 - np.exp(-4 * fog.density * 4)
    ink = (np.array(BLUE) + ORANGE) / 2
    assert found == pytest.approx(opacity * ink + (1 - opacity), abs=2 / 255)


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ob.OrbitileError, match="expected 4 at most, got 5"):
        pixels(*[even(0.1)] * 5)
    with offscreen() as context:
        most = int(context.gl.glGetIntegerv(context.gl.GL_MAX_3D_TEXTURE_SIZE))
    with pytest.raises(ob.OrbitileError, match=f"expected a volume of {most} points along an edge at most"):
        pixels(drawing(np.zeros((2, 2, most + 1))))
    with pytest.raises(ob.OrbitileError, match="expected fog or slice, got 'mist'"):
        even(0.1, style="mist")
    with pytest.raises(ob.OrbitileError, match="expected a positive number, got 0"):
        VolumeDrawing(even(0.1).volume, 0)


def test_a_legend_tells_the_isovalue_of_fog():
    seen = ob.render(even(0.3), size=(300, 200), legend=True)
    assert (seen != ob.render(even(0.3), size=(300, 200))).any()
