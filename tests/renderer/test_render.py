"""Pictures: what is where, in which colour, and mixed how."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from orbitile import render
from orbitile.base.errors import DeviceError, FileError, RenderError
from orbitile.model.surface import Surface
from orbitile.model.units import angstrom
from orbitile.model.wavefunction import Wavefunction
from orbitile.surfaces.colour_maps import POSITIVE

pytest.importorskip("OpenGL")

from orbitile.renderer import Camera, draw, write_png
from orbitile.renderer.context import offscreen
from orbitile.scenes import Mesh, Scene
from orbitile.scenes.scene import make_scene

from .samples import BLUE, RED, ball, drawn, free_edges, molecule, p_orbital

SIZE = (240, 180)


def square(z, colour, opacity, half=1.0) -> Mesh:
    corners = half * np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]) + [0, 0, z]
    return Mesh(
        vertices=corners,
        faces=np.array([[0, 1, 2], [0, 2, 3]]),
        normals=np.tile([0.0, 0.0, 1.0], (4, 1)),
        colours=np.tile([*colour, opacity], (4, 1)),
    )


def front(*meshes, lit=False, size=(64, 48), background=(1.0, 1.0, 1.0, 1.0), **options):
    view = Scene(meshes=meshes, lit=lit)
    camera = Camera().framed(view, size[0] / size[1])
    return draw.draw(view, camera, size, background=background, **options)


def test_lobes_have_their_colours_and_sides():
    """2p_x, seen with x to the right: positive right, negative left."""
    pixels = render(p_orbital(0), size=SIZE, camera=Camera()).astype(int)
    assert pixels.shape == (SIZE[1], SIZE[0], 4)
    rows, columns = np.nonzero(drawn(pixels))
    middle = int(rows.mean())
    left, right = (int(columns.min() + share * np.ptp(columns)) for share in (0.22, 0.78))
    assert pixels[middle, right, 2] > pixels[middle, right, 0] + 50  # blue
    assert pixels[middle, left, 0] > pixels[middle, left, 2] + 50  # red
    swapped = render(p_orbital(0), size=SIZE, camera=Camera(), colours=("red", (0, 0, 1))).astype(int)
    assert swapped[middle, right, 0] > swapped[middle, right, 2] + 50


def test_not_mirrored():
    """Looking down z with x right and y up: O at +x, N at +y, Cl at +z in front of S at -z; C at -x, -y."""
    positions = 4.0 * np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, -1], [-1, 0, 0], [0, -1, 0]])
    atoms = molecule([8, 7, 17, 16, 6, 6], positions)
    pixels = render((), atoms, size=(200, 200), camera=Camera()).astype(int)
    red, green, blue = pixels[..., 0], pixels[..., 1], pixels[..., 2]
    oxygen, nitrogen = (red > green + 80) & (red > blue + 80), (blue > red + 60) & (blue > green + 40)
    chlorine, sulphur = (green > red + 80) & (green > blue + 80), (red > blue + 80) & (green > blue + 80)
    (oy, ox), (ny, nx), (cy, cx) = (np.argwhere(mask).mean(axis=0) for mask in (oxygen, nitrogen, chlorine))
    assert ox > cx + 30
    assert abs(oy - cy) < 3
    assert ny < cy - 30  # rows count downwards
    assert abs(nx - cx) < 3
    assert sulphur.sum() == 0


@pytest.mark.parametrize("size", [(240, 180), (120, 300)])
def test_everything_is_framed(size):
    """Margins stay free on all four sides, and the picture is filled in one direction."""
    chain = molecule([6, 6, 17, 1], [[0, 0, 0], [2.9, 0, 0], [4.0, 3.2, 0.5], [-1.0, -1.8, 0]])
    surfaces = p_orbital(2, centre=(2.9, 0, 0)), p_orbital(1)
    for camera in (None, Camera.from_direction([1, 2, 3]), Camera(field_of_view=70)):
        gaps = free_edges(render(surfaces, chain, size=size, camera=camera))
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
    first, second = ball(1.5), ball(1.5, centre=(1.1, 0.4, 0.7))
    atoms = molecule([6, 8], [[0, 0, 0], [1.1, 0.4, 0.7]])
    both = render((first, second), atoms, size=SIZE, opacity=0.4)
    np.testing.assert_array_equal(both, render((second, first), atoms, size=SIZE, opacity=0.4))
    assert not np.array_equal(both, render(first, atoms, size=SIZE, opacity=0.4))


@pytest.fixture
def storage(monkeypatch):
    """A function that turns collecting off, as with OpenGL 3.3; skips where it is off anyway."""
    with offscreen() as context:
        if not context.has_storage:
            pytest.skip("this OpenGL cannot collect fragments")
        return lambda on: monkeypatch.setattr(context, "has_storage", on)


def folded() -> tuple[list[Surface], Wavefunction]:
    surfaces = [p_orbital(axis, centre=(0.3 * axis, 0, 0), isovalue=0.05) for axis in range(3)] + [
        ball(1.5, centre=(1.0, 0, 0))
    ]
    return surfaces, molecule([6, 8], [[0, 0, 0], [2.2, 0, 0]])


def test_collecting_and_peeling_give_the_same_picture(storage):
    collected = render(*folded(), size=SIZE)
    storage(False)
    assert np.abs(collected.astype(int) - render(*folded(), size=SIZE)).max() <= 2


@pytest.mark.parametrize("fragments", [(16, 1 << 24), (16, 32)])
def test_more_fragments_than_there_is_room_for(storage, monkeypatch, fragments):
    """Room is made, up to a bound, beyond which the tile is peeled."""
    expected = render(*folded(), size=SIZE)
    monkeypatch.setattr(draw, "FRAGMENTS", fragments)
    assert np.abs(expected.astype(int) - render(*folded(), size=SIZE)).max() <= 2


def test_lists_have_no_deepest(storage, monkeypatch):
    """More layers than peeling would draw."""
    monkeypatch.setattr(draw, "MAX_LAYERS", 20)
    colour = np.array([0.2, 0.4, 0.8])
    sheets = [square(-0.01 * n, colour, 0.05) for n in range(60)]
    expected = colour + (1 - colour) * 0.95 ** np.array([[60], [20]])
    np.testing.assert_allclose(front(*sheets)[24, 32, :3], 255 * expected[0], atol=1)
    storage(False)
    np.testing.assert_allclose(front(*sheets)[24, 32, :3], 255 * expected[1], atol=1)


def test_order_at_equal_depth_does_not_matter(storage):
    blue, red = square(0, BLUE, 0.5), square(0, RED, 0.5)
    np.testing.assert_array_equal(front(blue, red, blue), front(red, blue, blue))


def test_both_walls_of_a_lobe_are_drawn():
    """`opacity` is that of a lobe: its front and its back together."""
    mesh = make_scene([ball(1.5)], None, [(BLUE, RED)], [0.75]).meshes[0]
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
        turned = Camera().turned(z=7)
        view = Scene(meshes=(square(0, (0, 0, 0), opacity),), lit=False)
        pixels = draw.draw(view, turned.framed(view, 4 / 3), (160, 120))
        dark = round(255 * (1 - opacity))
        between = (pixels[..., 0] > dark + 5) & (pixels[..., 0] < 250)
        assert len(np.unique(pixels[..., 0])) > 8
        assert 0.01 < between.mean() < 0.1


def test_transparent_background():
    atoms = molecule([8], [[0, 0, 0]])
    surface = p_orbital(0)
    clear = render(surface, atoms, size=SIZE, background="transparent", camera=Camera())
    assert clear[0, 0, 3] == clear[-1, -1, 3] == 0
    assert clear[90, 120, 3] == 255
    lobe_pixel = clear[90, 180]
    assert 100 < lobe_pixel[3] < 255
    white = render(surface, atoms, size=SIZE, camera=Camera())
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
        plain = render(surface, atoms, size=SIZE, background=background)
        legend = render(surface, atoms, size=SIZE, background=background, legend=True)
        both = render(surface, atoms, size=SIZE, background=background, legend=True, scale=True)
        corner = np.s_[135:, :160]
        assert (legend[corner] != plain[0, 0]).any(axis=-1).mean() > 0.02
        patch = np.rint(255 * np.array(POSITIVE))
        assert (legend[corner][..., :3] == patch).all(axis=-1).sum() > 20
        right = np.s_[165:, 170:]
        assert np.array_equal(legend[right], np.broadcast_to(plain[0, 0], legend[right].shape))
        assert (both[right] != plain[0, 0]).any(axis=-1).mean() > 0.01


def test_length_of_the_scale_bar():
    """Two atoms 5 Angstrom apart, in the plane of the bar."""
    atoms = molecule([1, 1], np.array([[-2.5, 0, 0], [2.5, 0, 0]]) * angstrom)
    pixels = render((), atoms, size=(600, 450), scale=True, camera=Camera())
    _, columns = np.nonzero(drawn(pixels[:300]))
    bond = np.median(columns[columns > 300]) - np.median(columns[columns < 300])
    bar = (pixels[400:, :, :3].max(axis=-1) < 60).sum(axis=1).max()
    assert bar / (bond / 5) == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"size": (0, 10)}, RenderError, "size of a picture"),
        ({"size": (10.5, 10)}, RenderError, "whole pixels"),
        ({"size": 100}, RenderError, "whole pixels"),
        ({"size": (100000, 10)}, RenderError, "32768"),
        ({"size": (32768, 32768)}, RenderError, "pixels at most"),
        ({"background": "whitish"}, RenderError, "background: expected a name.*'whitish'"),
        ({"colours": ("red", (0, 0, 2))}, RenderError, "negative colour"),
        ({"colours": "red"}, RenderError, "expected two"),
        ({"opacity": 1.5}, RenderError, "opacity"),
        ({"opacity": "half"}, RenderError, "opacity"),
        ({"surfaces": "HOMO"}, RenderError, "expected Surface objects.*got str"),
        ({"surfaces": 3}, RenderError, "expected Surface objects.*got int"),
        ({"surfaces": (), "wavefunction": None}, RenderError, "nothing to draw"),
        ({"wavefunction": "benzene.molden"}, RenderError, "expected a Wavefunction"),
        ({"camera": "front"}, RenderError, "expected a Camera"),
        ({"path": "picture.jpg"}, FileError, r"ends in \.png"),
        ({"path": "missing/picture.png"}, FileError, "no folder"),
        ({"path": 7}, FileError, "name of a file"),
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


TWO_ORBITALS = (p_orbital(0), p_orbital(1)), molecule([6, 8], [[0, 0, 0], [2.2, 0, 0.3]])

PICTURE = """
import pickle, sys, numpy as np
from orbitile import render
from orbitile.renderer.context import offscreen
with open(sys.argv[1], "rb") as stream:
    surfaces, atoms = pickle.load(stream)
np.save(sys.argv[2], render(surfaces, atoms, size=(240, 180)))
with offscreen() as context:
    print(context.backend.name)
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
    egl = render(*TWO_ORBITALS, size=SIZE)
    scene = tmp_path / "scene.pickle"
    scene.write_bytes(pickle.dumps(TWO_ORBITALS))
    done = run(PICTURE, str(scene), str(tmp_path / "picture.npy"), **environment)
    if "libOSMesa" in done.stderr and "not installed" in done.stderr:
        pytest.skip("libOSMesa is not installed")
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "osmesa", "")
    difference = np.abs(egl.astype(int) - np.load(tmp_path / "picture.npy"))
    assert difference.mean() < 0.05
    assert (difference > 8).mean() < 0.001


BOUND = """
import sys, types
platform = types.ModuleType("OpenGL.platform")
class AGLPlatform: pass
platform.PLATFORM = AGLPlatform()
sys.modules["OpenGL.platform"] = platform
"""

NO_LIBRARIES = """
import ctypes, sys
sys.modules["glcontext"] = None
def missing(*_, **__): raise OSError("no such library")
ctypes.CDLL = missing
"""

TRY = """
from orbitile.base.errors import DeviceError
from orbitile.renderer.context import offscreen
try:
    offscreen().__enter__()
except DeviceError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("circumstances", "words"),
    [(BOUND, "bound to a window system (AGLPlatform)"), (NO_LIBRARIES, "libegl1 libgl1-mesa-dri libosmesa6")],
    ids=["a host that has bound PyOpenGL to windows", "no library that makes contexts"],
)
def test_no_opengl_without_a_window(circumstances, words):
    done = run(circumstances + TRY)
    assert words in done.stdout
    assert done.stderr == ""


def test_context_is_kept_and_leaves_no_trace(capfd):
    before = dict(os.environ)
    atoms = molecule([1], [[0, 0, 0]])
    render((), atoms, size=(16, 16))
    with offscreen() as first:
        programs = dict(first.kept)
    assert "sphere" in programs
    render((), atoms, size=(16, 16))
    with offscreen() as second:
        assert second is first
        assert programs == second.kept
    assert dict(os.environ) == before
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forked_process_is_told(monkeypatch):
    with offscreen() as context:
        monkeypatch.setattr(context, "process", context.process + 1)
    with pytest.raises(DeviceError, match="fork"):
        render((), molecule([1], [[0, 0, 0]]), size=(16, 16))


def test_the_longest_name_that_a_picture_can_have(tmp_path):
    target = tmp_path / ("n" * 251 + ".png")
    assert write_png(target, np.full((4, 4, 4), 255, np.uint8)) == target
    assert [path.name for path in tmp_path.iterdir()] == [target.name]
