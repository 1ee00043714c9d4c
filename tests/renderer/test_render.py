"""Pictures: what is where, in which colour, and mixed how."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from orbitile import render
from orbitile.errors import DeviceError, FileError, RenderError
from orbitile.model.lattice import Lattice
from orbitile.model.surface import Surface
from orbitile.model.units import angstrom
from orbitile.model.volume import Volume
from orbitile.model.wavefunction import Orbitals, Shell, Wavefunction
from orbitile.surfaces.isosurface import isosurface

pytest.importorskip("OpenGL")

from orbitile.renderer import context, draw, image, scene

SIZE = (240, 180)
BLUE, RED = (0.13, 0.40, 0.67), (0.70, 0.09, 0.17)


def molecule(numbers, positions) -> Wavefunction:
    """Atoms with one s function each: what a picture needs of a wavefunction."""
    n = len(numbers)
    shells = tuple(Shell(atom, 0, False, [1.0], [1.0]) for atom in range(n))
    return Wavefunction(np.array(numbers), np.array(positions, float), shells, Orbitals(np.eye(n), np.zeros(n)))


def p_orbital(axis=0, centre=(0, 0, 0), isovalue=0.15, quantity="2p") -> Surface:
    grid = Lattice.box(np.array(centre) - 4.0, np.array(centre) + 4.0, 0.2)
    r = grid.points() - centre
    values = r[:, axis] * np.exp(-np.linalg.norm(r, axis=1))
    return isosurface(Volume(values.reshape(grid.shape), grid, quantity, "bohr^-3/2"), isovalue)


def sphere(centre, radius=1.5) -> Surface:
    grid = Lattice.box(np.array(centre) - radius - 0.5, np.array(centre) + radius + 0.5, 0.2)
    distance = np.linalg.norm(grid.points() - centre, axis=1)
    return isosurface(Volume(np.exp(radius - distance).reshape(grid.shape), grid), 1.0)


def square(z, colour, opacity, half=1.0) -> scene.Mesh:
    corners = half * np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]) + [0, 0, z]
    return scene.Mesh(
        vertices=corners,
        faces=np.array([[0, 1, 2], [0, 2, 3]]),
        normals=np.tile([0.0, 0.0, 1.0], (4, 1)),
        colours=np.tile([*colour, opacity], (4, 1)),
    )


def drawn(pixels):
    """Where something is that is not paper."""
    return (pixels[..., :3].min(axis=-1) < 250) if pixels[..., 3].min() == 255 else pixels[..., 3] > 5


def front(*meshes, lit=False, size=(64, 48), background=(1.0, 1.0, 1.0, 1.0), **options):
    view = scene.Scene(meshes=meshes, lit=lit)
    camera = scene.Camera().framed(view, size[0] / size[1])
    return draw.draw(view, camera, size, background=background, **options)


def test_lobes_have_their_colours_and_sides():
    """2p_x, seen with x to the right: positive right, negative left."""
    pixels = render(p_orbital(0), size=SIZE, camera=scene.Camera()).astype(int)
    assert pixels.shape == (SIZE[1], SIZE[0], 4)
    rows, columns = np.nonzero(drawn(pixels))
    middle = int(rows.mean())
    left, right = (int(columns.min() + share * np.ptp(columns)) for share in (0.22, 0.78))
    assert pixels[middle, right, 2] > pixels[middle, right, 0] + 50  # blue
    assert pixels[middle, left, 0] > pixels[middle, left, 2] + 50  # red
    swapped = render(p_orbital(0), size=SIZE, camera=scene.Camera(), colors=("red", (0, 0, 1))).astype(int)
    assert swapped[middle, right, 0] > swapped[middle, right, 2] + 50


def test_not_mirrored():
    """Looking down z with x right and y up: O at +x, N at +y, Cl at +z in front of S at -z; C at -x, -y."""
    positions = 4.0 * np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, -1], [-1, 0, 0], [0, -1, 0]])
    atoms = molecule([8, 7, 17, 16, 6, 6], positions)
    pixels = render((), atoms, size=(200, 200), camera=scene.Camera()).astype(int)
    red, green, blue = pixels[..., 0], pixels[..., 1], pixels[..., 2]
    oxygen, nitrogen = (red > green + 80) & (red > blue + 80), (blue > red + 60) & (blue > green + 40)
    chlorine, sulphur = (green > red + 80) & (green > blue + 80), (red > blue + 80) & (green > blue + 80)
    (oy, ox), (ny, nx), (cy, cx) = (np.argwhere(mask).mean(axis=0) for mask in (oxygen, nitrogen, chlorine))
    assert ox > cx + 30
    assert abs(oy - cy) < 3
    assert ny < cy - 30  # rows count downwards
    assert abs(nx - cx) < 3
    assert sulphur.sum() == 0


def test_default_view_is_a_rotation_and_shows_a_plane_face_on():
    rng = np.random.default_rng(5)
    for _ in range(20):
        turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        points = rng.normal(size=(12, 3)) * [5, 2, 0.1] @ turn.T + 10
        camera = scene.Camera.facing(points)
        np.testing.assert_allclose(camera.rotation @ camera.rotation.T, np.eye(3), atol=1e-12)
        assert np.linalg.det(camera.rotation) == pytest.approx(1)
        spread = np.ptp(points @ camera.rotation.T, axis=0)
        assert spread[0] > spread[1] > spread[2]
        np.testing.assert_array_equal(camera.rotation, scene.Camera.facing(points.copy()).rotation)


def test_default_view_of_equivalent_axes_stays_near_x_y_z():
    angles = np.arange(6) * np.pi / 3
    hexagon = np.c_[np.cos(angles), np.sin(angles), 0 * angles] * 2.6
    noise = np.random.default_rng(1).normal(size=hexagon.shape) * 1e-5
    np.testing.assert_allclose(scene.Camera.facing(hexagon + noise).rotation, np.eye(3), atol=1e-3)
    for line in ([[0, 0, 0]], [[0, 0, -1], [0, 0, 1]], [[-1, 0, 0], [0, 0, 0], [1, 0, 0]], np.eye(3) * 2):
        rotation = scene.Camera.facing(line).rotation
        assert np.linalg.det(rotation) == pytest.approx(1)
    np.testing.assert_allclose(scene.Camera.facing([[0, 0, -1], [0, 0, 1]]).rotation[0], [0, 0, 1], atol=1e-12)


@pytest.mark.parametrize("size", [(240, 180), (120, 300)])
def test_everything_is_framed(size):
    """Margins stay free on all four sides, and the picture is filled in one direction."""
    chain = molecule([6, 6, 17, 1], [[0, 0, 0], [2.9, 0, 0], [4.0, 3.2, 0.5], [-1.0, -1.8, 0]])
    surfaces = p_orbital(2, (2.9, 0, 0)), p_orbital(1, (0, 0, 0))
    for camera in (None, scene.Camera.from_direction([1, 2, 3]), scene.Camera(field_of_view=70)):
        rows, columns = np.nonzero(drawn(render(surfaces, chain, size=size, camera=camera)))
        gaps = [columns.min() / size[0], 1 - (columns.max() + 1) / size[0]]
        gaps += [rows.min() / size[1], 1 - (rows.max() + 1) / size[1]]
        assert min(gaps) > 0.02
        assert min(max(gaps[:2]), max(gaps[2:])) < 0.05
        assert abs(gaps[0] - gaps[1]) < 0.25


@pytest.mark.parametrize(
    ("numbers", "positions"),
    [([26], [[100.0, -50, 3]]), ([7, 7], [[0, 0, 0], [0, 0, 2.07]]), ([0, 1], [[0, 0, 4], [0, 0, 0]])],
    ids=["single atom", "linear", "with a ghost"],
)
def test_small_molecules(numbers, positions):
    pixels = render((), molecule(numbers, positions), size=SIZE)
    assert 0.02 < drawn(pixels).mean() < 0.8


def test_layers_are_mixed_exactly():
    """Blue (0.4) before red (0.7) before paper: c = a1 c1 + (1 - a1)(a2 c2 + (1 - a2) c0)."""
    near, far = square(1.0, BLUE, 0.4), square(-1.0, RED, 0.7)
    paper = np.array([1.0, 0.9, 0.8])
    expected = 0.4 * np.array(BLUE) + 0.6 * (0.7 * np.array(RED) + 0.3 * paper)
    for meshes in ((near, far), (far, near)):
        pixels = front(*meshes, background=(*paper, 1.0))
        np.testing.assert_allclose(pixels[24, 32], [*np.rint(255 * expected), 255], atol=1)


def test_many_layers():
    """Forty sheets of opacity 0.1 let through 0.9^40, in any order."""
    sheets = [square(z, BLUE if n % 2 else RED, 0.1) for n, z in enumerate(np.linspace(-1, 1, 40))]
    expected = np.ones(3)
    for n in range(40):
        expected = 0.1 * np.array(BLUE if n % 2 else RED) + 0.9 * expected
    pixels = front(*sheets)
    np.testing.assert_allclose(pixels[24, 32, :3], 255 * expected, atol=1.5)
    order = np.random.default_rng(3).permutation(40)
    np.testing.assert_array_equal(pixels, front(*(sheets[n] for n in order)))


def test_opaque_depth_is_respected():
    """A solid square between two clear ones hides the far one only."""
    near, solid, far = square(1.0, BLUE, 0.5), square(0.0, (0.2, 0.8, 0.2), 1.0), square(-1.0, RED, 0.5)
    pixels = front(far, near, solid)
    np.testing.assert_array_equal(pixels, front(near, solid))
    np.testing.assert_allclose(
        pixels[24, 32, :3], 255 * (0.5 * np.array(BLUE) + 0.5 * np.array([0.2, 0.8, 0.2])), atol=1
    )


def test_order_of_surfaces_does_not_matter():
    first, second = sphere((0, 0, 0)), sphere((1.1, 0.4, 0.7))
    atoms = molecule([6, 8], [[0, 0, 0], [1.1, 0.4, 0.7]])
    one = render((first, second), atoms, size=SIZE, opacity=0.4)
    other = render((second, first), atoms, size=SIZE, opacity=0.4)
    np.testing.assert_array_equal(one, other)
    assert not np.array_equal(one, render(first, atoms, size=SIZE, opacity=0.4))


@pytest.fixture
def peeled(monkeypatch):
    """Draws as OpenGL 3.3 does, which cannot collect fragments."""
    monkeypatch.setattr(draw._Painter, "_collect", lambda *_: False)


def folded() -> tuple[list[Surface], Wavefunction]:
    surfaces = [p_orbital(axis, (0.3 * axis, 0, 0), 0.05) for axis in range(3)] + [sphere((1.0, 0, 0))]
    return surfaces, molecule([6, 8], [[0, 0, 0], [2.2, 0, 0]])


def test_collecting_and_peeling_give_the_same_picture(request):
    collected = render(*folded(), size=SIZE)
    request.getfixturevalue("peeled")
    assert np.abs(collected.astype(int) - render(*folded(), size=SIZE)).max() <= 2


@pytest.mark.parametrize("limits", [{"FRAGMENTS": (16, 1 << 24)}, {"FRAGMENTS": (16, 32)}])
def test_more_fragments_than_there_is_room_for(monkeypatch, limits):
    """Room is made, up to a bound, beyond which the tile is peeled."""
    expected = render(*folded(), size=SIZE)
    for name, value in limits.items():
        monkeypatch.setattr(draw, name, value)
    assert np.abs(expected.astype(int) - render(*folded(), size=SIZE)).max() <= 2


def test_lists_have_no_deepest():
    """Three hundred layers, more than peeling would draw."""
    colour = np.array([0.2, 0.4, 0.8])
    picture = front(*(square(-0.01 * n, colour, 0.01) for n in range(300)))
    if context._context.has_storage:
        expected = colour + (1 - colour) * 0.99**300
        np.testing.assert_allclose(picture[24, 32, :3], 255 * expected, atol=1)


def test_order_at_equal_depth_does_not_matter():
    one, other = square(0, BLUE, 0.5), square(0, RED, 0.5)
    pictures = front(one, other, one), front(other, one, one)
    if context._context.has_storage:
        np.testing.assert_array_equal(*pictures)


def test_both_walls_of_a_lobe_are_drawn():
    """`opacity` is that of a lobe: its front and its back together."""
    ball = sphere((0, 0, 0))
    mesh = scene.make_scene([ball], None, [(BLUE, RED)], [0.75]).meshes[0]
    assert mesh.colours[0, 3] == pytest.approx(0.5)
    pixels = front(mesh)
    np.testing.assert_allclose(pixels[24, 32, :3], 255 * (0.75 * np.array(BLUE) + 0.25), atol=1.5)


def test_tiles_join(monkeypatch):
    surfaces, atoms = (p_orbital(0), p_orbital(1)), molecule([6], [[0, 0, 0]])
    whole = render(surfaces, atoms, size=SIZE)
    monkeypatch.setattr(draw, "TILE", 80)
    parts = render(surfaces, atoms, size=SIZE)
    assert np.abs(whole.astype(int) - parts).max() <= 3
    assert (whole != parts).mean() < 0.01


def test_edges_are_smooth():
    """Across the outline of an opaque square there are values between ink and paper."""
    for opacity in (1.0, 0.5):
        turned = scene.Camera().turned(z=7)
        view = scene.Scene(meshes=(square(0, (0, 0, 0), opacity),), lit=False)
        pixels = draw.draw(view, turned.framed(view, 4 / 3), (160, 120))
        dark = round(255 * (1 - opacity))
        between = (pixels[..., 0] > dark + 5) & (pixels[..., 0] < 250)
        assert len(np.unique(pixels[..., 0])) > 8
        assert 0.01 < between.mean() < 0.1


def test_transparent_background():
    atoms = molecule([8], [[0, 0, 0]])
    surface = p_orbital(0)
    clear = render(surface, atoms, size=SIZE, background="transparent", camera=scene.Camera())
    assert clear[0, 0, 3] == clear[-1, -1, 3] == 0
    assert clear[90, 120, 3] == 255
    lobe_pixel = clear[90, 180]
    assert 100 < lobe_pixel[3] < 255
    white = render(surface, atoms, size=SIZE, camera=scene.Camera())
    assert white[..., 3].min() == 255
    # Laid on white paper by any other program, it is the picture on white.
    alpha = clear[..., 3:] / 255
    np.testing.assert_allclose(clear[..., :3] * alpha + 255 * (1 - alpha), white[..., :3], atol=1.6)


def test_file(tmp_path):
    atoms = molecule([8], [[0, 0, 0]])
    for background, mode in (("white", "RGB"), ("transparent", "RGBA")):
        path = tmp_path / f"{background}.png"
        path.write_bytes(b"old")
        pixels = render((), atoms, path, size=SIZE, background=background)
        with Image.open(path) as image:
            assert image.mode == mode
            np.testing.assert_array_equal(np.asarray(image.convert("RGBA")), pixels)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["transparent.png", "white.png"]


def test_legend_and_scale_bar():
    surface = p_orbital(2, quantity="HOMO (orbital 5, π²)")
    atoms = molecule([8], [[0, 0, 0]])
    for background in ("white", "black", "transparent"):
        plain = render(surface, atoms, size=(480, 360), background=background)
        legend = render(surface, atoms, size=(480, 360), background=background, legend=True)
        both = render(surface, atoms, size=(480, 360), background=background, legend=True, scale=True)
        corner = np.s_[270:, :240]
        assert (legend[corner] != plain[0, 0]).any(axis=-1).mean() > 0.02
        patch = np.rint(255 * np.array([33, 102, 172]) / 255)
        assert (legend[corner][..., :3] == patch).all(axis=-1).sum() > 20
        right = np.s_[330:, 300:]
        assert np.array_equal(legend[right], np.broadcast_to(plain[0, 0], legend[right].shape))
        assert (both[right] != plain[0, 0]).any(axis=-1).mean() > 0.01


def test_length_of_the_scale_bar():
    """Two atoms 5 Angstrom apart, in the plane of the bar."""
    atoms = molecule([1, 1], np.array([[-2.5, 0, 0], [2.5, 0, 0]]) * angstrom)
    pixels = render((), atoms, size=(600, 450), scale=True, camera=scene.Camera())
    _, columns = np.nonzero(drawn(pixels[:300]))
    bond = np.median(columns[columns > 300]) - np.median(columns[columns < 300])
    bar = (pixels[400:, :, :3].max(axis=-1) < 60).sum(axis=1).max()
    assert bar / (bond / 5) == pytest.approx(1, abs=0.05)


CAMERA_ERRORS = [
    lambda: scene.Camera(np.diag([-1.0, 1, 1])),
    lambda: scene.Camera(np.ones((3, 3))),
    lambda: scene.Camera("front"),
    lambda: scene.Camera(eye=(0, 0)),
    lambda: scene.Camera(field_of_view=0),
    lambda: scene.Camera.from_direction([0, 0, 0]),
]


@pytest.mark.parametrize("make", CAMERA_ERRORS)
def test_camera_errors(make):
    with pytest.raises(RenderError):
        make()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"size": (0, 10)}, RenderError, "size of a picture"),
        ({"size": (10.5, 10)}, RenderError, "whole pixels"),
        ({"size": 100}, RenderError, "whole pixels"),
        ({"size": (100000, 10)}, RenderError, "32768"),
        ({"size": (32768, 32768)}, RenderError, "pixels at most"),
        ({"background": "whitish"}, RenderError, "background: expected a name.*'whitish'"),
        ({"colors": ("red", (0, 0, 2))}, RenderError, "negative colour"),
        ({"colors": "red"}, RenderError, "expected two"),
        ({"opacity": 1.5}, RenderError, "opacity"),
        ({"opacity": "half"}, RenderError, "opacity"),
        ({"surfaces": "HOMO"}, RenderError, "expected Surface objects.*got str"),
        ({"surfaces": 3}, RenderError, "expected Surface objects.*got int"),
        ({"surfaces": (), "wavefunction": None}, RenderError, "nothing to draw"),
        ({"wavefunction": "benzene.molden"}, RenderError, "expected a Wavefunction"),
        ({"camera": "front"}, RenderError, "expected a Camera"),
        ({"path": "picture.jpg"}, FileError, r"ends in \.png"),
        ({"path": "missing/picture.png"}, FileError, "no folder"),
        ({"path": 7}, FileError, "file name"),
    ],
)
def test_errors_leave_no_file(tmp_path, monkeypatch, arguments, error, message):
    monkeypatch.chdir(tmp_path)
    defaults = {"surfaces": (), "wavefunction": molecule([1], [[0, 0, 0]]), "path": "picture.png", "size": (32, 32)}
    with pytest.raises(error, match=message) as caught:
        render(**{**defaults, **arguments})
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "picture.png"
    path.write_bytes(b"old")

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(FileError, match="No space left"):
        render((), molecule([1], [[0, 0, 0]]), path, size=(32, 32))
    assert [p.name for p in tmp_path.iterdir()] == ["picture.png"]
    assert path.read_bytes() == b"old"


def test_broken_surface():
    good = p_orbital(0)
    vertices = good.vertices.copy()
    vertices[3] = np.nan
    bad = Surface(vertices, good.faces, good.normals, good.phases, good.isovalue)
    with pytest.raises(RenderError, match="vertices of a surface"):
        render(bad, size=(32, 32))


def test_bonds():
    water = [[0, 0, 0], [1.43, 1.11, 0], [-1.43, 1.11, 0]]
    assert scene.find_bonds(np.array([8, 1, 1]), np.array(water)).tolist() == [[0, 1], [0, 2]]
    assert len(scene.find_bonds(np.array([2, 2]), np.array([[0, 0, 0], [0, 0, 5.0]]))) == 0
    assert len(scene.find_bonds(np.array([2]), np.zeros((1, 3)))) == 0
    ghost = scene.Molecule.of(molecule([0, 6, 8], [[0, 0, 0], [0, 0, 2], [0, 0, 4.2]]))
    assert ghost.radii[0] < ghost.radii[1:].min()
    assert ghost.bonds.tolist() == [[1, 2]]


PICTURE = """
import sys, numpy as np
sys.path.insert(0, {folder!r})
import test_render as t
pixels = t.render((t.p_orbital(0), t.p_orbital(1)), t.molecule([6, 8], [[0, 0, 0], [2.2, 0, 0.3]]), size=t.SIZE)
print(t.context._context.backend.name)
np.save(sys.argv[1], pixels)
"""


def run(code, *arguments, **environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYOPENGL")}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**clean, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize(
    "environment",
    [{"PYOPENGL_PLATFORM": "osmesa"}, {"__EGL_VENDOR_LIBRARY_FILENAMES": "/nowhere.json"}],
    ids=["asked for", "without EGL"],
)
def test_osmesa_draws_the_same(tmp_path, environment):
    code = PICTURE.format(folder=str(Path(__file__).parent))
    egl = render((p_orbital(0), p_orbital(1)), molecule([6, 8], [[0, 0, 0], [2.2, 0, 0.3]]), size=SIZE)
    done = run(code, str(tmp_path / "picture.npy"), **environment)
    if "libOSMesa" in done.stderr and "not installed" in done.stderr:
        pytest.skip("libOSMesa is not installed")
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "osmesa", "")
    difference = np.abs(egl.astype(int) - np.load(tmp_path / "picture.npy"))
    assert difference.mean() < 0.05
    assert (difference > 8).mean() < 0.001


def test_host_that_has_bound_pyopengl_to_windows():
    code = """
import sys, types
platform = types.ModuleType("OpenGL.platform")
class GLXPlatform: pass
platform.PLATFORM = GLXPlatform()
sys.modules["OpenGL.platform"] = platform
from orbitile.errors import DeviceError
from orbitile.renderer.context import offscreen
try:
    offscreen().__enter__()
except DeviceError as error:
    print(error)
"""
    done = run(code)
    assert "bound to a window system (GLXPlatform)" in done.stdout
    assert done.stderr == ""


def test_neither_egl_nor_osmesa():
    code = """
import ctypes.util
def missing(*_, **__): raise OSError("no such library")
ctypes.CDLL = missing
from orbitile.errors import DeviceError
from orbitile.renderer.context import offscreen
try:
    offscreen().__enter__()
except DeviceError as error:
    print(error)
"""
    done = run(code)
    assert "libegl1 libgl1-mesa-dri libosmesa6" in done.stdout
    assert done.stderr == ""


def test_context_is_kept_and_leaves_no_trace(capfd):
    before = dict(os.environ)
    atoms = molecule([1], [[0, 0, 0]])
    render((), atoms, size=(16, 16))
    first = context._context
    programs = dict(first.kept)
    render((), atoms, size=(16, 16))
    assert context._context is first
    assert programs == first.kept
    assert dict(os.environ) == before
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forked_process_is_told():
    render((), molecule([1], [[0, 0, 0]]), size=(16, 16))
    context._context.process += 1
    try:
        with pytest.raises(DeviceError, match="fork"):
            render((), molecule([1], [[0, 0, 0]]), size=(16, 16))
    finally:
        context._context.process -= 1


def test_the_longest_name_that_a_picture_can_have(tmp_path):
    target = tmp_path / ("n" * 251 + ".png")
    assert image.write_png(target, np.full((4, 4, 4), 255, np.uint8)) == target
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


def test_the_surface_of_a_core_orbital_is_not_hidden_by_its_atom():
    atoms = molecule([36], [[0, 0, 0]])
    small = sphere((0, 0, 0), 0.2)
    picture = scene.make_scene([small], atoms, [(BLUE, RED)], [1.0])
    assert picture.molecule.radii[0] < np.linalg.norm(small.vertices, axis=1).min()
    usual = scene.make_scene([sphere((0, 0, 0), 3.0)], atoms, [(BLUE, RED)], [1.0])
    assert usual.molecule.radii[0] == scene.ball_radius(36)
