"""Colours that stand for values: on surfaces, on their scale, for several fields; and views without perspective."""

import colorsys
import dataclasses

import numpy as np
import pytest
from PIL import Image

from orbitile import render
from orbitile.cli import main
from orbitile.errors import RenderError
from orbitile.model.lattice import Lattice
from orbitile.model.surface import Colouring, Surface
from orbitile.model.units import angstrom
from orbitile.model.volume import Volume
from orbitile.model.wavefunction import Orbitals, Shell, Wavefunction
from orbitile.renderer import PALETTES, _legend, round_lattice, round_spacing
from orbitile.surfaces.colour_maps import MAPS, _round_ends, colours_along, colours_of, rounded_up, tick_labels, ticks
from orbitile.surfaces.isosurface import isosurface

pytest.importorskip("OpenGL")

from orbitile.renderer import draw, image, scene

SIZE = (320, 240)


def molecule(numbers, positions) -> Wavefunction:
    shells = tuple(Shell(atom, 0, False, [1.0], [1.0]) for atom in range(len(numbers)))
    n = len(numbers)
    return Wavefunction(np.array(numbers), np.array(positions, float), shells, Orbitals(np.eye(n), np.zeros(n)))


def ball(radius=2.0, quantity="density", centre=(0, 0, 0), spacing=0.2) -> Surface:
    grid = Lattice.box(np.array(centre) - radius - 0.5, np.array(centre) + radius + 0.5, spacing)
    distance = np.linalg.norm(grid.points() - centre, axis=1)
    return isosurface(Volume(np.exp(radius - distance).reshape(grid.shape), grid, quantity, "e bohr^-3"), 1.0)


def mapped(colour_map="signed", limit=2.0, values=None) -> Surface:
    """A ball coloured by x."""
    one = ball()
    shown = one.vertices[:, 0] if values is None else values
    low, high = {"sequential": (0.0, limit), "negative": (-limit, 0.0)}.get(colour_map, (-limit, limit))
    colouring = Colouring(shown.astype(np.float32), low, high, "potential", "hartree/e", colour_map)
    return dataclasses.replace(one, colouring=colouring)


def p_orbital(axis, quantity) -> Surface:
    grid = Lattice.box(np.full(3, -5.0), np.full(3, 5.0), 0.25)
    r = grid.points()
    values = r[:, axis] * np.exp(-np.linalg.norm(r, axis=1))
    return isosurface(Volume(values.reshape(grid.shape), grid, quantity, "bohr^-3/2"), 0.15)


def linear(display):
    display = np.asarray(display, float)
    return np.where(display > 0.04045, ((display + 0.055) / 1.055) ** 2.4, display / 12.92)


def oklab(display):
    """B. Ottosson, A perceptual color space for image processing (2020)."""
    cones = np.array([[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
                      [0.0883024619, 0.2817188376, 0.6299787005]])  # fmt: skip
    lab = np.array([[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099],
                    [0.0259040371, 0.7827717662, -0.8086757660]])  # fmt: skip
    return np.cbrt(linear(display) @ cones.T) @ lab.T


def seen(surface: Surface, camera: scene.Camera, size=SIZE):
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
    camera = scene.Camera(eye=(0, 0, 20), orthographic=True, height=6.0).turned(*turn)
    camera = dataclasses.replace(camera, eye=camera.rotation[2] * 20)
    pixels = render(surface, size=SIZE, camera=camera)
    vertices, columns, rows, facing = seen(surface, camera)
    found, expected = linear(pixels[rows, columns, :3] / 255), linear(colours_of(surface.colouring)[vertices])
    left = found.sum(axis=1) / expected.sum(axis=1)
    assert left.min() > draw.DARKEST - 0.02
    assert left.max() < 1.03
    assert np.abs(left[facing > 0.98] - 1).max() < 0.03
    hues = oklab(pixels[rows, columns, :3] / 255)[:, 1:], oklab(colours_of(surface.colouring)[vertices])[:, 1:]
    scaled = hues[1] * np.cbrt(left)[:, None]
    assert np.linalg.norm(hues[0] - scaled, axis=1).max() < 0.03


def test_no_highlight_reads_as_zero_and_no_shade_as_another_value():
    """A surface of one value has one hue, and its place on the scale can be told everywhere."""
    for share in (0.15, 0.3, 0.7, 0.9):
        value = np.full(len(ball().vertices), 4 * share - 2)
        pixels = render(mapped(values=value), size=SIZE, camera=scene.Camera())[..., :3] / 255
        inside = np.argwhere((pixels < 0.99).any(axis=-1))
        middle = inside.mean(axis=0)
        disc = inside[np.linalg.norm(inside - middle, axis=1) < 0.93 * np.ptp(inside[:, 0]) / 2]
        lab = oklab(pixels[tuple(disc.T)])
        expected = oklab(colours_along("signed", np.array([share])))[0]
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
        pixels = render(plane, size=(64, 48), camera=scene.Camera().turned(x=angle))
        found = np.unique(pixels[(pixels[..., :3] < 250).any(axis=-1)][:, :3], axis=0)
        expected = 255 * colours_of(plane.colouring)[0]
        assert np.abs(found - expected).min(axis=0).max() <= 1


def test_homo_and_lumo_have_four_hues():
    pictures = p_orbital(0, "HOMO"), p_orbital(1, "LUMO")
    pixels = render(pictures, size=SIZE, opacity=1.0, legend=True, camera=scene.Camera())
    flat = pixels[..., :3].reshape(-1, 3) / 255
    hues = np.array([colorsys.rgb_to_hsv(*colour)[0] * 360 for colour in flat if np.ptp(colour) > 0.3])
    counts, _ = np.histogram(hues, bins=36, range=(0, 360))
    wanted = [colorsys.rgb_to_hsv(*image.parse_colour(colour))[0] * 360 for pair in PALETTES[:2] for colour in pair]
    near = [sum(counts[int(hue // 10 + k) % 36] for k in (-1, 0, 1)) for hue in wanted]
    assert min(near) > 300
    apart = np.abs((np.subtract.outer(wanted, wanted) + 180) % 360 - 180)
    assert apart[~np.eye(4, dtype=bool)].min() > 30


def test_surfaces_of_one_quantity_share_their_colours():
    both = [p_orbital(0, "HOMO"), p_orbital(0, "HOMO")]
    assert np.array_equal(render(both, size=(64, 48)), render(both, size=(64, 48), colors=PALETTES[0]))
    assert not np.array_equal(
        render([both[0], p_orbital(1, "LUMO")], size=(64, 48)),
        render([both[0], p_orbital(1, "LUMO")], size=(64, 48), colors=PALETTES[0]),
    )


# G. M. Machado et al., IEEE Trans. Vis. Comput. Graph. 2009, 15, 1291: complete loss of one kind of cones
BLINDNESS = {
    "red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


@pytest.mark.parametrize("kind", BLINDNESS)
def test_colour_blind_readers_tell_four_lobes_apart(kind):
    colours = np.array([image.parse_colour(colour) for pair in PALETTES[:2] for colour in pair])
    display = np.clip(linear(colours) @ np.array(BLINDNESS[kind]).T, 0, 1)
    perceived = oklab(np.where(display > 0.0031308, 1.055 * display ** (1 / 2.4) - 0.055, 12.92 * display))
    distances = np.linalg.norm(perceived[:, None] - perceived, axis=-1)
    assert distances[~np.eye(4, dtype=bool)].min() > 0.15  # red and blue of one orbital: 0.16 at the least


@pytest.mark.parametrize("size", [(320, 240), (1600, 1200), (1200, 1600), (3200, 2400)])
def test_the_scale_of_colours_takes_little_room(size):
    """The bar is less than a third of the width; with its letters it takes a quarter of the height at most."""
    surface = mapped(limit=0.06, values=np.full(len(ball().vertices), 0.02))
    atoms = molecule([1], [[0, 0, 0]])
    camera = scene.Camera(eye=(0, 60, 20))  # looks past all of it: the paper alone, and the legend
    with pytest.raises(RenderError):
        render(surface, atoms, size=size, scale=True, camera=dataclasses.replace(camera, eye=(0, 0, -60)))
    pixels = render(surface, atoms, size=size, legend=True, camera=camera)[..., :3] / 255
    rows, columns = np.nonzero((pixels < 0.98).any(axis=-1))
    assert rows.min() > 0.75 * size[1]
    assert columns.max() < 0.5 * size[0]
    coloured = pixels.max(axis=-1) - pixels.min(axis=-1) > 0.2
    rows, columns = np.nonzero(coloured)
    assert np.ptp(columns) < 0.33 * size[0]
    middle = pixels[int(np.median(rows)), columns.min() + 3 : columns.max() - 2]
    assert len(np.unique(np.round(middle, 3), axis=0)) > 0.5 * min(len(middle), 200)  # no five squares
    shares = (np.arange(len(middle)) + 3.5) / (np.ptp(columns) + 1)
    assert np.abs(middle - colours_along("signed", shares)).max() < 0.05


def test_a_bar_takes_a_third_of_a_small_picture_too():
    surface = mapped(limit=0.06)
    for size in ((200, 150), (150, 200), (1600, 1200)):
        (bar,) = _legend([surface], [((0, 0, 1), (1, 0, 0))], size)
        assert bar.length * image.text_size(size) < 0.33 * size[0]
        assert bar.is_legible(size)
        assert len(bar.ticks) >= 2


def test_ticks_are_round():
    for limit, expected in {
        0.06: [-0.06, -0.03, 0, 0.03, 0.06],
        0.04: [-0.04, -0.02, 0, 0.02, 0.04],
        1.0: [-1, -0.5, 0, 0.5, 1],
        0.0371: [-0.02, 0, 0.02],
    }.items():
        assert ticks(-limit, limit) == pytest.approx(expected, abs=1e-12)
    assert ticks(0.0, 1.0) == pytest.approx([0, 0.25, 0.5, 0.75, 1])
    rng = np.random.default_rng(2)
    for low, high in np.sort(rng.normal(size=(300, 2)) * 10.0 ** rng.integers(-6, 6, (300, 1)), axis=1):
        marks = ticks(low, high)
        assert 1 <= len(marks) <= 5
        assert np.all((marks >= low - 1e-6 * (high - low)) & (marks <= high + 1e-6 * (high - low)))
        steps = np.diff(marks)
        assert np.ptp(steps) <= 1e-9 * np.abs(marks).max()
        digits = f"{steps[0]:.12e}".split("e")[0].rstrip("0")
        assert digits in ("1.", "1.5", "2.", "2.5", "3.", "4.", "5.", "6.")
        assert len(set(tick_labels(marks))) == len(marks)
    assert tick_labels(np.array([-0.06, 0, 0.06])) == ["−0.06", "0", "0.06"]
    assert [rounded_up(x) for x in (0.057, 0.96, 1.0, 13.0, 0.0)] == [0.06, 1.0, 1.0, 15.0, 1.0]


@pytest.mark.parametrize(("low", "high"), [(-0.2547, -0.1441), (0.5499, 0.7941), (3.0, 3.0), (0.101, 0.102)])
def test_a_range_of_one_sign_has_round_ends(low, high):
    first, last = _round_ends(low, high)
    assert first <= low + 1e-9
    assert last >= high - 1e-9
    assert last > first
    assert (first < 0) == (low < 0)
    assert last - first < 1.5 * (high - low) or high == low
    assert len(f"{abs(first):g}".replace(".", "").strip("0")) <= 4


def test_values_beyond_the_scale_make_its_end_a_point():
    values = np.linspace(-3, 1, len(ball().vertices))
    surface = mapped(values=values)
    (bar,) = _legend([surface], [((0, 0, 1), (1, 0, 0))], SIZE)
    assert bar.beyond == (True, False)
    assert bar.heading == "potential (hartree/e)"
    assert bar.note == "on density = 1 e bohr^-3"


@pytest.mark.parametrize("paper", [0.0, 1.0])
def test_the_legend_can_be_read_on_any_paper(paper):
    """A transparent picture is laid on black or white: letters, and what is just beside them, differ strongly."""
    surfaces = [p_orbital(2, "HOMO"), mapped()]
    camera = scene.Camera(eye=(0, 60, 20))
    options = {"size": (640, 480), "legend": True, "camera": camera, "scale": True}
    clear = render(surfaces, molecule([1], [[0, 0, 0]]), background="transparent", **options) / 255
    ink = (clear[..., :3] < 0.15).all(axis=-1) & (clear[..., 3] > 0.95)
    assert ink.sum() > 500
    laid = clear[..., :3] * clear[..., 3:] + paper * (1 - clear[..., 3:])
    light = linear(laid) @ [0.2126, 0.7152, 0.0722]
    beside = np.zeros_like(ink)
    for shift in ((0, 2), (0, -2), (2, 0), (-2, 0)):
        beside |= np.roll(ink, shift, (0, 1))
    beside &= (clear[..., :3].max(axis=-1) - clear[..., :3].min(axis=-1) < 0.1) & ~ink
    contrast = (np.median(light[beside]) + 0.05) / (np.median(light[ink]) + 0.05)
    assert contrast > 7  # WCAG 2, level AAA


# Views without perspective ----------------------------------------------------------------------------------------


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
    near, far = lengths(render((), pairs_in_depth(), size=(600, 450), orthographic=True, camera=scene.Camera()))
    assert near == pytest.approx(far, abs=0.6)
    near, far = lengths(render((), pairs_in_depth(), size=(600, 450), camera=scene.Camera()))
    assert near > 1.1 * far


@pytest.mark.parametrize("camera", [scene.Camera(), scene.Camera(eye=(0, 0, 60.0)), scene.Camera(field_of_view=60)])
def test_a_scale_bar_holds_at_any_depth(camera):
    pixels = render((), pairs_in_depth(), size=(600, 450), scale=True, camera=camera)
    near, far = lengths(pixels)
    assert near == pytest.approx(far, abs=0.6)
    lower = pixels[420:, 300:, :3].max(axis=-1) < 60
    bar = lower.sum(axis=1).max()
    assert min(abs(bar * 3 / (near * length) - 1) for length in (1, 2, 5, 10)) < 0.02


def test_sticks_and_surfaces_without_perspective_are_where_their_atoms_are():
    """Balls, sticks and meshes at one place cover the same pixels, and what is nearer hides what is farther."""
    camera = scene.Camera(eye=(0, 0, 20), orthographic=True, height=8.0)
    radius = scene.ball_radius(8)
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
    assert stick == pytest.approx(2 * scene.STICK_RADIUS * SIZE[1] / 8, abs=2)


def test_an_orthographic_picture_is_filled():
    for size in ((240, 180), (120, 300)):
        pixels = render(p_orbital(0, "2p"), pairs_in_depth(), size=size, orthographic=True)
        rows, columns = np.nonzero(pixels[..., :3].min(axis=-1) < 250)
        gaps = [columns.min() / size[0], 1 - (columns.max() + 1) / size[0]]
        gaps += [rows.min() / size[1], 1 - (rows.max() + 1) / size[1]]
        assert min(gaps) > 0.02
        assert min(max(gaps[:2]), max(gaps[2:])) < 0.05


def test_an_orthographic_camera_with_an_eye_needs_a_height():
    with pytest.raises(RenderError, match="height of the picture"):
        scene.Camera(eye=(0, 0, 9), orthographic=True)


def test_tiles_of_an_orthographic_picture_join(monkeypatch):
    whole = render(p_orbital(0, "2p"), pairs_in_depth(), size=SIZE, orthographic=True)
    monkeypatch.setattr(draw, "TILE", 80)
    parts = render(p_orbital(0, "2p"), pairs_in_depth(), size=SIZE, orthographic=True)
    assert np.abs(whole.astype(int) - parts).max() <= 3


# How fine ---------------------------------------------------------------------------------------------------------


def test_a_surface_is_round_at_the_pixels_of_its_picture():
    """The outline of a ball that fills the picture is a circle, though 0.15 Angstrom are 26 pixels."""
    coarse = ball(2.0, spacing=0.15 * angstrom)
    size = (1200, 900)
    spacing = round_spacing(coarse, size=size)
    lattice = round_lattice(Lattice.box(np.full(3, -2.5), np.full(3, 2.5), 0.15 * angstrom), spacing)
    assert lattice.spacings.max() <= spacing * 1.001
    assert lattice.spacings.max() < 0.08 * angstrom
    distance = np.linalg.norm(lattice.points(), axis=1).reshape(lattice.shape)
    fine = isosurface(Volume(np.exp(2.0 - distance), lattice), 1.0)
    off = []
    for surface in (coarse, fine):
        pixels = render(surface, size=size, opacity=1.0, orthographic=True)
        inside = pixels[..., :3].min(axis=-1) < 235
        rows, columns = np.nonzero(inside)
        middle = np.array([rows.min() + rows.max(), columns.min() + columns.max()]) / 2
        edge = inside & ~(
            np.roll(inside, 1, 0) & np.roll(inside, -1, 0) & np.roll(inside, 1, 1) & np.roll(inside, -1, 1)
        )
        radii = np.linalg.norm(np.argwhere(edge) - middle, axis=1)
        off.append(np.percentile(radii, 95) - np.percentile(radii, 5))
    assert off[1] < 1.2  # edges of pixels
    assert off[1] < 0.7 * off[0]


def test_the_box_of_a_finer_lattice_stays():
    lattice = Lattice(np.array([1.0, 2, 3]), np.diag([0.3, 0.3, 0.3]), (20, 30, 40))
    finer = round_lattice(lattice, 0.1)
    assert finer.origin == pytest.approx(lattice.origin)
    ends = [one.origin + (np.array(one.shape) - 1) @ one.axes for one in (lattice, finer)]
    assert ends[0] == pytest.approx(ends[1])
    assert finer.spacings.max() <= 0.1 + 1e-9
    assert round_lattice(lattice, 0.29) is lattice
    assert round_lattice(lattice, 1e-4).n_points < 3_200_000


# The command ------------------------------------------------------------------------------------------------------


@pytest.fixture
def benzene(tmp_path, monkeypatch):
    from importlib.resources import files

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ORBITILE_DEVICE", "cpu")
    return str(files("orbitile") / "data" / "benzene.molden")


def test_several_fields_in_one_picture(benzene, monkeypatch):
    import orbitile.renderer

    calls = []
    drawn = orbitile.renderer.render
    monkeypatch.setattr(orbitile.renderer, "render", lambda *a, **k: calls.append((a, k)) or drawn(*a, **k))
    options = ["--size", "200x150", "--quality", "coarse", "--legend", "-q"]
    assert main(["render", benzene, "homo", "lumo", "density", "--isovalue", "0.03,0.04,0.1", *options]) == 0
    assert Image.open("benzene-homo-lumo-density.png").size == (200, 150)
    surfaces = calls[0][0][0]
    assert [one.quantity.split()[0] for one in surfaces] == ["HOMO", "LUMO", "electron"]
    assert [one.isovalue for one in surfaces] == [0.03, 0.04, 0.1]
    assert main(["render", benzene, "homo,lumo", *options, "--colors", "red,blue,#00ff00,yellow", "-o", "a.png"]) == 0
    assert [one.quantity.split()[0] for one in calls[1][0][0]] == ["HOMO", "LUMO"]
    assert calls[1][1]["colors"] == [("red", "blue"), ("#00ff00", "yellow")]


def test_the_lattice_of_a_picture_follows_its_pixels(benzene, monkeypatch):
    import orbitile.renderer

    sizes = {}
    monkeypatch.setattr(orbitile.renderer, "render", lambda surfaces, *_, size, **__: sizes.setdefault(size, surfaces))
    for size in ("300x200", "1600x1200"):
        assert main(["render", benzene, "homo", "--size", size, "-q"]) == 0
    small, large = (len(one[0].faces) for one in sizes.values())
    assert large > 2 * small


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["homo", "lumo", "--isovalue", "0.1,0.2,0.3"], "one for each of 2 fields"),
        (["homo", "--isovalue", "much"], "--isovalue: expected a number"),
        (["homo", "density", "--color-by", "esp"], "--color-by: expected one FIELD"),
        (["homo", "lumo", "--plane", "1,2,3"], "--plane: expected one FIELD"),
        (["homo", "lumo", "--colors", "red,blue,green"], "--colors"),
    ],
)
def test_requests_that_cannot_be_met(benzene, tmp_path, capsys, arguments, words):
    assert main(["render", benzene, *arguments]) == 2
    captured = capsys.readouterr().err
    assert words in captured
    assert captured.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_greek_letters_and_indices_are_written(monkeypatch):
    pieces = image._pieces("sign(λ₂)ρ / e bohr^-3")
    assert ("2", -1) in pieces
    assert ("-3", 1) in pieces
    assert "".join(piece for piece, _ in pieces) == "sign(λ2)ρ / e bohr-3"
    with_font = image._measure("λρ", 40)
    monkeypatch.setattr(image, "_foreign_font", lambda height: None)
    assert image._pieces("sign(λ₂)ρ") == [("sign(lambda", 0), ("2", -1), (")rho", 0)]
    assert image._measure("λρ", 40) > 2 * with_font
