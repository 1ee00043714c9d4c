"""Pictures of molecules and isosurfaces, without a window: `render`."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import RenderError
from ..surface import Surface
from ..wavefunction import Wavefunction

if TYPE_CHECKING:
    from .image import RGB, Colour
    from .scene import Camera, Margins, Scene

__all__ = ["LARGEST", "checked_size", "margins", "render"]

LARGEST = 32768
"""Largest width and height of a picture, in pixels."""

MOST = 2**28
"""Largest number of pixels: a gigabyte of them."""

POSITIVE, NEGATIVE = "#2166ac", "#b2182b"
"""Blue and red of ColorBrewer's RdBu: told apart in grey print and by colour-blind readers too."""

_MARGIN = 0.035


def render(
    surfaces: Surface | Sequence[Surface] = (),
    wavefunction: Wavefunction | None = None,
    path: str | os.PathLike[str] | None = None,
    *,
    size: tuple[int, int] = (1600, 1200),
    background: Colour = "white",
    colors: tuple[Colour, Colour] = (POSITIVE, NEGATIVE),
    opacity: float = 0.65,
    legend: bool = False,
    scale: bool = False,
    camera: Camera | None = None,
) -> NDArray[np.uint8]:
    """Draw surfaces and the molecule, with light and correct transparency.

    Parameters
    ----------
    surfaces : Surface, or sequence of Surface
        What to draw; () for the bare molecule.
    wavefunction : Wavefunction, optional
        Its atoms are drawn as balls and sticks.
    path : optional
        PNG file to write. It appears complete or not at all.
    size : (int, int)
        Width and height in pixels.
    background
        A colour, or "transparent".
    colors
        Of the parts where the field is positive and negative: names, hexadecimal strings, or three numbers from 0 to 1.
    opacity : float
        Of a lobe seen face on, from 0 to 1: its front and its back together. Its rim is denser.
    legend : bool
        Write quantity, isovalue and unit beside patches of the colours.
    scale : bool
        Draw a scale bar in Angstrom. It holds at the depth of the middle of the picture.
    camera : Camera, optional
        By default the molecule is seen along its shortest extent, the longest from left to right; a planar one from
        aslant, where the two sides of a pi orbital do not hide each other. A camera without `eye` is moved to where
        everything is in the picture.

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
    """
    from .draw import draw
    from .image import check_path, parse_colour, write_png
    from .scene import make_scene

    drawn = _check_surfaces(surfaces)
    if wavefunction is not None and not isinstance(wavefunction, Wavefunction):
        raise RenderError(f"wavefunction of a picture: expected a Wavefunction, got {type(wavefunction).__name__}")
    width, height = checked_size(size)
    if isinstance(colors, str) or not isinstance(colors, Sequence) or len(colors) != 2:
        raise RenderError(f"colors: expected two, for the positive and the negative part, got {colors!r}")
    positive, negative = parse_colour(colors[0], "positive colour"), parse_colour(colors[1], "negative colour")
    transparent = background == "transparent"
    paper = (1.0, 1.0, 1.0) if transparent else parse_colour(background, "background")
    if isinstance(opacity, bool) or not isinstance(opacity, (int, float, np.number)) or not 0 <= opacity <= 1:
        raise RenderError(f"opacity: expected a number from 0 to 1, got {opacity!r}")
    target = None if path is None else check_path(path)

    scene = make_scene(drawn, wavefunction, positive, negative, float(opacity))
    if not len(scene.extent()[0]):
        raise RenderError("nothing to draw: give a surface that has triangles, or a wavefunction for its molecule")
    entries = _legend_entries(drawn, positive, negative) if legend else []
    camera = _place_camera(camera, scene, (width, height), [label for _, label in entries], scale)
    pixels = draw(scene, camera, (width, height), background=(*paper, 0.0 if transparent else 1.0))
    ink = (0.1, 0.1, 0.1) if 0.3 * paper[0] + 0.59 * paper[1] + 0.11 * paper[2] > 0.45 else (0.95, 0.95, 0.95)
    if entries:
        pixels = _write_legend(pixels, entries, ink)
    if scale:
        pixels = _write_scale(pixels, scene, camera, ink)
    if target is not None:
        write_png(target, pixels)
    return pixels


def _check_surfaces(surfaces: Surface | Sequence[Surface]) -> tuple[Surface, ...]:
    if isinstance(surfaces, Surface):
        return (surfaces,)
    drawn = tuple(surfaces) if isinstance(surfaces, Iterable) else (surfaces,)
    for surface in drawn:
        if not isinstance(surface, Surface):
            raise RenderError(
                f"surfaces of a picture: expected Surface objects (see `orbitile.surface.isosurface`), got "
                f"{type(surface).__name__}"
            )
    return drawn


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


def _place_camera(
    camera: Camera | None, scene: Scene, size: tuple[int, int], labels: Sequence[str], scale: bool
) -> Camera:
    """The camera asked for, or the default one, with everything in the picture and room for what is written on it."""
    from .scene import Camera, default_camera

    width, height = size
    if camera is None:
        camera = default_camera(scene.molecule.centres if len(scene.molecule.centres) else scene.extent()[0])
    elif not isinstance(camera, Camera):
        raise RenderError(f"camera: expected a Camera (orbitile.renderer.scene), got {type(camera).__name__}")
    if camera.eye is not None:
        return camera
    return camera.framed(scene, width / height, margins(size, labels, scale))


def margins(size: tuple[int, int], labels: Sequence[str], scale: bool) -> Margins:
    """What stays free at the edges of a picture, for a legend with these labels and a scale bar."""
    from .image import legend_size, text_size

    rows = max(legend_size(size, labels)[1] if labels else 0, 2.2 * text_size(size) if scale else 0)
    bottom = min(_MARGIN + (rows / size[1] + _MARGIN if rows else 0), 0.4)
    return _MARGIN, _MARGIN, bottom, _MARGIN


def _legend_entries(surfaces: Sequence[Surface], positive: RGB, negative: RGB) -> list[tuple[RGB | None, str]]:
    """Rows of the legend: for each surface its quantity, then a colour and a value for each sign that it has."""
    entries: list[tuple[RGB | None, str]] = []
    for surface in surfaces:
        if surface.quantity:
            entries.append((None, surface.quantity))
        unit = f" {surface.unit}" if surface.unit else ""
        if surface.colouring is not None:
            entries += _scale_entries(surface)
            continue
        signs = [phase for phase in (1, -1) if np.any(surface.phases == phase)]
        for phase in signs:
            sign = "−" if phase < 0 else "+" if len(signs) == 2 else ""
            entries.append((positive if phase > 0 else negative, f"{sign}{surface.isovalue:.3g}{unit}"))
    return list(dict.fromkeys(entries))


def _scale_entries(surface: Surface) -> list[tuple[RGB | None, str]]:
    """Rows of the legend for a surface that is coloured by a second field, from its highest value down."""
    from ..colouring import SCALE

    colouring = surface.colouring
    assert colouring is not None  # the caller has looked
    unit = f" {colouring.unit}" if colouring.unit else ""
    values = np.linspace(colouring.low, colouring.high, len(SCALE))
    where = f"at {surface.isovalue:.3g} {surface.unit}: " if surface.isovalue else ""
    rows: list[tuple[RGB | None, str]] = [(None, where + colouring.quantity)]
    for at in range(len(SCALE) - 1, -1, -1):
        value = f"{values[at]:+.3g}" if abs(values[at]) > 1e-9 * abs(colouring.high) else "0"
        rows.append((SCALE[at], value.replace("-", "−") + (unit if at == len(SCALE) - 1 else "")))
    return rows


def _write_legend(pixels: NDArray[np.uint8], entries: Sequence[tuple[RGB | None, str]], ink: RGB) -> NDArray[np.uint8]:
    from .image import draw_legend, legend_size

    height, width = pixels.shape[:2]
    margin = round(_MARGIN * min(width, height))
    _, rows = legend_size((width, height), [label for _, label in entries])
    return draw_legend(pixels, entries, ink, (margin, height - margin - rows))


def _write_scale(pixels: NDArray[np.uint8], scene: Scene, camera: Camera, ink: RGB) -> NDArray[np.uint8]:
    from ..units import angstrom
    from .image import draw_scale_bar

    height, width = pixels.shape[:2]
    centres, _ = scene.extent()
    middle = (centres.min(axis=0) + centres.max(axis=0)) / 2
    depth = 0.0 if camera.eye is None else float((camera.eye - middle) @ camera.rotation[2])
    if depth <= 0:
        raise RenderError("scale bar: the middle of the scene is behind the camera; move its eye, or leave out the bar")
    per_bohr = height / (2 * depth * np.tan(np.radians(camera.field_of_view) / 2))
    # The largest of 1, 2, 5, 10, ... Angstrom that takes up a quarter of the width at most
    room = 0.25 * width / (per_bohr * angstrom)
    power = 10.0 ** np.floor(np.log10(room))
    length = power * max(step for step in (1, 2, 5) if step * power <= room * (1 + 1e-9))
    margin = round(_MARGIN * min(width, height))
    label = f"{length:g} Å"
    return draw_scale_bar(pixels, round(length * angstrom * per_bohr), label, ink, width - margin, height - margin)
