"""`render`: a picture of surfaces and their molecule, from its arguments to its pixels, and to a PNG file."""

from __future__ import annotations

import operator
import os
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..base.errors import FileError, OrbitileError, RenderError
from ..files.writing import checked_target, written_atomically
from ..model.geometry import Geometry
from ..model.report import Drawing
from ..model.surface import Surface
from ..model.wavefunction import DAMAGED, Wavefunction
from ..scenes.scene import (
    PALETTES,
    Colour,
    ColourPair,
    Drawable,
    Mesh,
    Molecule,
    Scene,
    checked_surfaces,
    colours_of_fields,
    make_scene,
    parse_colour,
    scene_of,
)
from ..surfaces.colour_maps import RGB
from .camera import Camera, cell_spacing, default_camera, pixel_at, round_surface
from .draw import draw
from .legend import LegendPart, annotate, legend_of, margins, write_labels

PIXELS_PER_INCH = 300
"""Resolution noted in the files, so that 1600 pixels come out 13.5 cm wide in print."""


def check_path(path: str | os.PathLike[str]) -> Path:
    """The path of a picture, if one can be written there; nothing is written yet.

    Raises
    ------
    FileError
        When the name does not end in .png, or the folder is missing or read-only.
    """
    checked_target(path)
    target = Path(path).expanduser()
    if target.suffix.lower() != ".png":
        raise FileError(f"{target}: pictures are written as PNG; give a name that ends in .png")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise FileError(f"{target}: no permission to write in the folder {target.parent}")
    return target


def write_png(path: str | os.PathLike[str], pixels: NDArray[np.uint8]) -> Path:
    """Write pixels as a PNG file: complete under its name, or not at all.

    Parameters
    ----------
    path
        Name of the file; one that is there is replaced.
    pixels : ndarray of uint8, shape (height, width, 4)
        Red, green, blue and straight alpha. The alpha channel is left out where all pixels are opaque.

    Raises
    ------
    FileError
        When the file cannot be written.
    """
    from PIL import Image

    target = check_path(path)
    opaque = bool((pixels[..., 3] == 255).all())
    image = Image.fromarray(np.ascontiguousarray(pixels[..., :3] if opaque else pixels))
    with written_atomically(target) as temporary, temporary.open("wb") as stream:
        # Level 4: half the time of 6, the default, for files that are 6 to 10 percent larger
        image.save(stream, format="PNG", dpi=(PIXELS_PER_INCH, PIXELS_PER_INCH), compress_level=4)
    return target


LARGEST = 32768
"""Largest width and height of a picture, in pixels."""

MOST = 2**28
"""Largest number of pixels: a gigabyte of them."""


def render(
    surfaces: Drawable | Sequence[Drawable] = (),
    wavefunction: Wavefunction | Geometry | None = None,
    path: str | os.PathLike[str] | None = None,
    *,
    size: tuple[int, int] = (1600, 1200),
    background: Colour = "white",
    colours: ColourPair | Sequence[ColourPair] = PALETTES,
    opacity: float | None = None,
    legend: bool = False,
    scale: bool = False,
    orthographic: bool = False,
    camera: Camera | None = None,
    drawings: Sequence[Mesh | Drawing] = (),
) -> NDArray[np.uint8]:
    """Draw surfaces, volumes and the molecule, with light and correct transparency.

    Parameters
    ----------
    surfaces : Surface or VolumeDrawing, or sequence of them
        What to draw; () for the bare molecule. A `VolumeDrawing` is a volume as fog, or a slice through it.
    wavefunction : Wavefunction or Geometry, optional
        Its atoms are drawn as balls and sticks.
    path : optional
        PNG file to write. It appears complete or not at all.
    size : (int, int)
        Width and height in pixels.
    background
        A colour, or "transparent".
    colours
        Of the parts where the field is positive and negative: names, hexadecimal strings, or three numbers from 0 to 1.
        Several such pairs are for several fields: surfaces of one quantity share a pair.
    opacity : float
        Of a lobe seen face on, from 0 to 1: its front and its back together. Its rim is denser. By default 0.65, and
        0.92 for a surface that is coloured by a second field: the molecule can be seen through it. With 1 its colours
        are those of the legend.
    legend : bool
        Write quantity, isovalue and unit beside patches of the colours; for a surface coloured by a second field, its
        scale of colours.
    scale : bool
        Draw a scale bar in Angstrom. The picture is orthographic then, so that the bar holds at any depth.
    orthographic : bool
        Without perspective.
    camera : Camera, optional
        By default the molecule is seen along its shortest extent, the longest from left to right; a planar one from
        aslant, where the two sides of a pi orbital do not hide each other. A camera without `eye` is moved to where
        everything is in the picture.
    drawings : sequence of Mesh or Drawing
        What else is to be seen: points, paths and arrows of a report (`Report.drawings`), or meshes, as those of
        `orbitile.arrow_mesh`. Values of atoms are left out. Labels of points are written over everything; where two
        would overlap, only that of the nearer point.

    Returns
    -------
    ndarray of uint8, shape (height, width, 4)
        Red, green, blue and straight alpha, the upper row first.

    Raises
    ------
    RenderError
        When an argument does not fit.
    FileError
        When the file cannot be written.
    DeviceError
        When there is no OpenGL.

    Notes
    -----
    Colours of a second field stand for values. Light takes a bounded share of them towards the rim, the same of red,
    green and blue, and adds nothing: there are no highlights and no shadows on such a surface.

    Examples
    --------
    >>> wfn = ob.load("benzene.molden")
    >>> pixels = ob.render(ob.compute_surface(wfn, "homo", 0.03), wfn, "homo.png", size=(400, 300))
    >>> pixels.shape
    (300, 400, 4)
    """
    drawn = checked_surfaces(surfaces)
    width, height = checked_size(size)
    pairs = colours_of_fields(drawn, colours)
    paper = paper_of(background)
    target = None if path is None else check_path(path)

    def scene_with(surfaces: Sequence[Drawable]) -> Scene:
        return scene_of(surfaces, wavefunction, colours=colours, opacity=opacity, drawings=drawings)

    scene = scene_with(drawn)
    legend = legend or any(DAMAGED in surface.quantity for surface in drawn)  # a warning that stays
    parts = legend_of(drawn, pairs, (width, height)) if legend else []
    camera = place_camera(camera, scene, (width, height), parts, scale, orthographic)
    rounded = [
        round_surface(one, pixel_at(camera, one.vertices, height)) if isinstance(one, Surface) else one for one in drawn
    ]
    pixels = render_scene(scene_with(rounded), camera, (width, height), paper, parts, scale=scale)
    if target is not None:
        write_png(target, pixels)
    return pixels


def render_scene(
    scene: Scene,
    camera: Camera,
    size: tuple[int, int],
    paper: RGB | None,
    parts: Sequence[LegendPart] = (),
    *,
    scale: bool = False,
) -> NDArray[np.uint8]:
    """Draw a scene that has been put together, and write on the picture.

    Parameters
    ----------
    scene : Scene
    camera : Camera
        With an eye; orthographic where there is a scale bar.
    size : (int, int)
        Width and height in pixels.
    paper : (red, green, blue) or None
        The background; None for a transparent one.
    parts
        Of the legend.
    scale : bool
        Whether there is a scale bar.

    Returns
    -------
    ndarray of uint8, shape (height, width, 4)
        As from `render`.

    Raises
    ------
    DeviceError
        When there is no OpenGL.
    """
    background = (1.0, 1.0, 1.0, 0.0) if paper is None else (*paper, 1.0)
    pixels = draw(scene, camera, size, background=background)
    if scene.labels:
        places = camera.pixels_of(np.array([place for place, _ in scene.labels]), size)
        pixels = write_labels(pixels, places, [text for _, text in scene.labels], paper)
    assert camera.height is not None or not scale  # a picture with a scale bar is orthographic
    return annotate(pixels, parts, scale=size[1] / camera.height if scale and camera.height else None, paper=paper)


def paper_of(background: Colour) -> RGB | None:
    """Colour of the background; None for "transparent".

    Raises
    ------
    RenderError
        When it is neither that nor a colour.
    """
    return None if background == "transparent" else parse_colour(background, "background")


def checked_size(size: tuple[int, int]) -> tuple[int, int]:
    """Width and height of a picture.

    Raises
    ------
    RenderError
        When they are no whole numbers, or the picture would be empty or too large to draw.
    """
    try:
        width, height = (operator.index(n) for n in size)
    except (TypeError, ValueError) as error:
        raise RenderError(f"size of a picture: expected (width, height) in whole pixels, got {size!r}") from error
    if not (1 <= width <= LARGEST and 1 <= height <= LARGEST):
        raise RenderError(f"size of a picture: expected 1 to {LARGEST} pixels each way, got {width} x {height}")
    if width * height > MOST:
        raise RenderError(f"size of a picture: expected {MOST} pixels at most, got {width} x {height}")
    return width, height


def place_camera(
    camera: Camera | None,
    scene: Scene,
    size: tuple[int, int],
    parts: Sequence[LegendPart],
    scale: bool,
    orthographic: bool,
) -> Camera:
    """The camera asked for, or the default one, with everything in the picture and space for what is written on it."""
    width, height = size
    if camera is None:
        camera = default_camera(scene.molecule.centres if len(scene.molecule.centres) else scene.extent()[0])
    elif not isinstance(camera, Camera):
        raise RenderError(f"camera: expected a Camera (orbitile.renderer.Camera), got {type(camera).__name__}")
    if scale or orthographic:
        centres, _ = scene.extent()
        camera = camera.without_perspective((centres.min(axis=0) + centres.max(axis=0)) / 2)
    if camera.eye is not None:
        return camera
    return camera.framed(scene, width / height, margins(size, parts, scale))


def round_spacing(
    surfaces: Surface | Sequence[Surface],
    wavefunction: Wavefunction | None = None,
    *,
    size: tuple[int, int] = (1600, 1200),
    camera: Camera | None = None,
) -> float:
    """Spacing of a lattice, in bohr, on which surfaces show their detail in a picture: its cells are 12 pixels there.

    Parameters
    ----------
    surfaces
        What is to be drawn, from any lattice: how large it is in the picture is all that matters.
    wavefunction, size, camera
        As for `render`.
    """
    drawn = checked_surfaces(surfaces)
    scene = make_scene(drawn, wavefunction, colours_of_fields(drawn, PALETTES), [1.0] * len(drawn))
    placed = place_camera(camera, scene, checked_size(size), [], scale=False, orthographic=True)
    assert placed.height is not None  # it was just framed, or made orthographic
    return cell_spacing(placed.height / size[1])


def warm() -> None:
    """Draw a picture of two balls, a stick and a pane of glass in a thread, which nobody looks at.

    Drivers compile a program when something is first drawn with it, most of the time without holding up Python. The
    first picture that is wanted waits for this one; where there is no OpenGL, that one says so. Systems on which a
    context belongs to the thread that makes its window are left alone.
    """
    if sys.platform.startswith("linux"):
        threading.Thread(target=_draw_unseen, name="warming of OpenGL").start()


def _draw_unseen() -> None:
    with suppress(OrbitileError):
        scene = _smallest_scene()
        draw(scene, Camera.facing(scene.molecule.centres).framed(scene, 1.0), (8, 8))


def _smallest_scene() -> Scene:
    """What every picture of an orbital has: balls, sticks, and triangles that can be seen through."""
    centres = np.array([[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    molecule = Molecule(centres, np.full(2, 0.5), np.full((2, 3), 0.5), np.array([[0, 1]]))
    corners = np.array([[-1.0, -1.0, 1.0], [1.0, -1.0, 1.0], [0.0, 1.0, 1.0]])
    normals = np.broadcast_to([0.0, 0.0, 1.0], (3, 3))
    return Scene(molecule, (Mesh(corners, np.array([[0, 1, 2]]), normals, np.full((3, 4), 0.5)),))
