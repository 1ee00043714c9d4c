"""Pictures of molecules and isosurfaces, without a window: `render`."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import RenderError
from ..model.surface import Colouring, Surface
from ..model.wavefunction import Wavefunction

if TYPE_CHECKING:
    from ..model.lattice import Lattice
    from .image import RGB, Colour, ColourBar, Patches
    from .scene import Camera, Margins, Scene

    LegendPart = Patches | ColourBar

__all__ = ["LARGEST", "PALETTES", "checked_size", "margins", "render", "round_lattice", "round_spacing"]

LARGEST = 32768
"""Largest width and height of a picture, in pixels."""

MOST = 2**28
"""Largest number of pixels: a gigabyte of them."""

PALETTES = (("#2166ac", "#b2182b"), ("#2bb8ad", "#efc01a"), ("#9a6fb0", "#6fae45"))
"""Colours of the positive and the negative part of a first, second, third field in a picture. Blue and red, turquoise
and yellow: told apart by colour-blind readers too, all four of them. A fourth field has those of the first again."""

_ROUND_PIXELS = 18
"""Length in pixels of the edges of triangles at which surfaces look round: that of a sphere of 300 is off by 0.14."""

_NEARLY = 0.75
"""A lattice stays as it is whose spacing would become less than that much finer: nobody sees the difference."""

_MOST_POINTS = 3_000_000
"""Points of a lattice up to which a surface is refined for the sake of a picture."""

_MARGIN = 0.035

_OPACITY = 0.65

_SCALE_BAR, _BAR_SHARE = 0.25, 0.3
"""Shares of the width that a scale bar and a bar of colours take at most."""


def render(
    surfaces: Surface | Sequence[Surface] = (),
    wavefunction: Wavefunction | None = None,
    path: str | os.PathLike[str] | None = None,
    *,
    size: tuple[int, int] = (1600, 1200),
    background: Colour = "white",
    colors: tuple[Colour, Colour] | Sequence[tuple[Colour, Colour]] = PALETTES,
    opacity: float | None = None,
    legend: bool = False,
    scale: bool = False,
    orthographic: bool = False,
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
        Several such pairs are for several fields: surfaces of one quantity share a pair.
    opacity : float
        Of a lobe seen face on, from 0 to 1: its front and its back together. Its rim is denser. By default 0.65, and 1
        for a surface that is coloured by a second field, whose colours would otherwise be mixed with others.
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
    """
    from .draw import draw
    from .image import check_path, parse_colour, write_png
    from .scene import make_scene

    drawn = _check_surfaces(surfaces)
    if wavefunction is not None and not isinstance(wavefunction, Wavefunction):
        raise RenderError(f"wavefunction of a picture: expected a Wavefunction, got {type(wavefunction).__name__}")
    width, height = checked_size(size)
    pairs = _pairs(drawn, colors)
    transparent = background == "transparent"
    paper = (1.0, 1.0, 1.0) if transparent else parse_colour(background, "background")
    if opacity is not None and (
        isinstance(opacity, bool) or not isinstance(opacity, (int, float, np.number)) or not 0 <= opacity <= 1
    ):
        raise RenderError(f"opacity: expected a number from 0 to 1, got {opacity!r}")
    target = None if path is None else check_path(path)

    usual = [_OPACITY if surface.colouring is None else 1.0 for surface in drawn]
    opacities = usual if opacity is None else [float(opacity)] * len(drawn)
    scene = make_scene(drawn, wavefunction, pairs, opacities)
    if not len(scene.extent()[0]):
        raise RenderError("nothing to draw: give a surface that has triangles, or a wavefunction for its molecule")
    parts = _legend(drawn, pairs, (width, height)) if legend else []
    camera = _place_camera(camera, scene, (width, height), parts, scale, orthographic)
    pixels = draw(scene, camera, (width, height), background=(*paper, 0.0 if transparent else 1.0))
    dark, light = (0.1, 0.1, 0.1), (0.95, 0.95, 0.95)
    ink = dark if 0.3 * paper[0] + 0.59 * paper[1] + 0.11 * paper[2] > 0.45 else light
    halo = (1.0, 1.0, 1.0) if transparent else None  # the picture may be laid on black
    if parts:
        pixels = _write_legend(pixels, parts, scale, ink, halo)
    if scale:
        pixels = _write_scale(pixels, camera, ink, halo)
    if target is not None:
        write_png(target, pixels)
    return pixels


def round_spacing(
    surfaces: Surface | Sequence[Surface],
    wavefunction: Wavefunction | None = None,
    *,
    size: tuple[int, int] = (1600, 1200),
    camera: Camera | None = None,
) -> float:
    """Spacing of a lattice, in bohr, on which surfaces look round in a picture: its cells are 18 pixels there.

    Parameters
    ----------
    surfaces
        What is to be drawn, from any lattice: how large it is in the picture is all that matters.
    wavefunction, size, camera
        As for `render`.
    """
    from .scene import make_scene

    drawn = _check_surfaces(surfaces)
    scene = make_scene(drawn, wavefunction, _pairs(drawn, PALETTES), [1.0] * len(drawn))
    placed = _place_camera(camera, scene, checked_size(size), [], scale=False, orthographic=True)
    assert placed.height is not None  # it was just framed, or made orthographic
    return _ROUND_PIXELS * placed.height / size[1]


def round_lattice(lattice: Lattice, spacing: float) -> Lattice:
    """The box of a lattice with this spacing where that is finer, but no more than three million points."""
    steps = np.array(lattice.shape) - 1
    coarsest = float((lattice.cell_volume * steps.prod() / _MOST_POINTS) ** (1 / 3))
    factor = max(spacing, coarsest) / float(lattice.spacings.max())
    if factor > _NEARLY or not lattice.is_orthogonal:
        return lattice
    nx, ny, nz = (int(n) + 1 for n in np.ceil(steps / factor))
    return replace(lattice, axes=lattice.axes * (steps / (nx - 1, ny - 1, nz - 1))[:, None], shape=(nx, ny, nz))


def _pairs(
    surfaces: Sequence[Surface], colors: tuple[Colour, Colour] | Sequence[tuple[Colour, Colour]]
) -> list[tuple[RGB, RGB]]:
    """Two colours for each surface; those of one quantity have the same."""
    from .image import parse_colour

    given: Sequence[Any] = colors if not isinstance(colors, str) and isinstance(colors, Sequence) else ()
    nested = len(given) > 0 and all(not isinstance(pair, str) and len(pair) == 2 for pair in given)
    chosen = given if nested else [given]
    if any(len(pair) != 2 for pair in chosen):
        raise RenderError(
            f"colors: expected two, for the positive and the negative part, or such pairs for several fields, got "
            f"{colors!r}"
        )
    parsed = [(parse_colour(one, "positive colour"), parse_colour(two, "negative colour")) for one, two in chosen]
    quantities = list(dict.fromkeys(surface.quantity for surface in surfaces if surface.colouring is None))
    order = {quantity: n % len(parsed) for n, quantity in enumerate(quantities)}
    return [parsed[order.get(surface.quantity, 0)] for surface in surfaces]


def _check_surfaces(surfaces: Surface | Sequence[Surface]) -> tuple[Surface, ...]:
    if isinstance(surfaces, Surface):
        return (surfaces,)
    drawn = tuple(surfaces) if isinstance(surfaces, Iterable) else (surfaces,)
    for surface in drawn:
        if not isinstance(surface, Surface):
            raise RenderError(
                f"surfaces of a picture: expected Surface objects (see `orbitile.surfaces.isosurface.isosurface`), got "
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
    camera: Camera | None,
    scene: Scene,
    size: tuple[int, int],
    parts: Sequence[LegendPart],
    scale: bool,
    orthographic: bool,
) -> Camera:
    """The camera asked for, or the default one, with everything in the picture and room for what is written on it."""
    from .scene import Camera, default_camera

    width, height = size
    if camera is None:
        camera = default_camera(scene.molecule.centres if len(scene.molecule.centres) else scene.extent()[0])
    elif not isinstance(camera, Camera):
        raise RenderError(f"camera: expected a Camera (orbitile.renderer.scene), got {type(camera).__name__}")
    if scale or orthographic:
        centres, _ = scene.extent()
        camera = camera.without_perspective((centres.min(axis=0) + centres.max(axis=0)) / 2)
    if camera.eye is not None:
        return camera
    return camera.framed(scene, width / height, margins(size, parts, scale))


def margins(size: tuple[int, int], parts: Sequence[LegendPart], scale: bool) -> Margins:
    """What stays free at the edges of a picture, for a legend of these parts and a scale bar."""
    from .image import legend_places, text_size

    _, high = legend_places(size, parts, _legend_width(size, scale))
    rows = max(high, 2.2 * text_size(size) if scale else 0)
    bottom = min(_MARGIN + (rows / size[1] + _MARGIN if rows else 0), 0.4)
    return _MARGIN, _MARGIN, bottom, _MARGIN


def _legend_width(size: tuple[int, int], scale: bool) -> float:
    return size[0] * ((1 - _SCALE_BAR if scale else 1) - 3 * _MARGIN)


def _legend(surfaces: Sequence[Surface], pairs: Sequence[tuple[RGB, RGB]], size: tuple[int, int]) -> list[LegendPart]:
    """What the legend says: of each surface its quantity, and a colour and a value for each sign that it has."""
    from .image import Patches

    parts: dict[tuple[object, ...], LegendPart] = {}
    for surface, colours in zip(surfaces, pairs, strict=True):
        colouring = surface.colouring
        if colouring is not None:
            key = surface.quantity, surface.isovalue, colouring.quantity, colouring.low, colouring.high
            parts.setdefault(key, _colour_bar(surface, colouring, size))
            continue
        unit = f" {surface.unit}" if surface.unit else ""
        signs = [phase for phase in (1, -1) if np.any(surface.phases == phase)]
        entries = []
        for n, phase in enumerate(signs):
            sign = "−" if phase < 0 else "+" if len(signs) == 2 else ""
            last = unit if n == len(signs) - 1 else ""
            entries.append((colours[phase < 0], f"{sign}{surface.isovalue:.3g}{last}"))
        parts.setdefault((surface.quantity, *entries), Patches(surface.quantity, tuple(entries)))
    return list(parts.values())


def _colour_bar(surface: Surface, colouring: Colouring, size: tuple[int, int]) -> ColourBar:
    """The scale of a surface that is coloured by a second field."""
    from ..surfaces.colour_maps import colours_along, tick_labels, ticks
    from .image import ColourBar, text_size

    low, high = colouring.low, colouring.high
    unit = f" ({colouring.unit})" if colouring.unit else ""
    note = ""
    if surface.isovalue:
        note = f"on {surface.quantity or 'the surface'} = {surface.isovalue:.3g} {surface.unit}".rstrip()
    values = colouring.values
    slack = 1e-6 * (high - low)
    beyond = bool(values.min(initial=high) < low - slack), bool(values.max(initial=low) > high + slack)
    colours = colours_along(colouring.colour_map, np.linspace(0, 1, 129))
    length = min(ColourBar.length, _BAR_SHARE * size[0] / text_size(size))
    for most in (7, 5, 3, 2):
        marks = ticks(low, high, most)
        labels = tuple(zip(((marks - low) / (high - low)).tolist(), tick_labels(marks), strict=True))
        bar = ColourBar(colouring.quantity + unit, note, colours, labels, beyond, length)
        if bar.is_legible(size):
            break
    return bar


def _write_legend(
    pixels: NDArray[np.uint8], parts: Sequence[LegendPart], scale: bool, ink: RGB, halo: RGB | None
) -> NDArray[np.uint8]:
    from .image import draw_legend, legend_places

    height, width = pixels.shape[:2]
    margin = round(_MARGIN * min(width, height))
    room = _legend_width((width, height), scale)
    _, high = legend_places((width, height), parts, room)
    return draw_legend(pixels, parts, (margin, height - margin - high), room, ink, halo)


def _write_scale(pixels: NDArray[np.uint8], camera: Camera, ink: RGB, halo: RGB | None) -> NDArray[np.uint8]:
    from ..model.units import angstrom
    from .image import draw_scale_bar

    height, width = pixels.shape[:2]
    assert camera.height is not None  # orthographic, because there is a scale
    per_bohr = height / camera.height
    # The largest of 1, 2, 5, 10, ... Angstrom that takes up a quarter of the width at most
    room = _SCALE_BAR * width / (per_bohr * angstrom)
    power = 10.0 ** np.floor(np.log10(room))
    length = power * max(step for step in (1, 2, 5) if step * power <= room * (1 + 1e-9))
    margin = round(_MARGIN * min(width, height))
    label = f"{length:g} Å"
    pixels_long = round(length * angstrom * per_bohr)
    return draw_scale_bar(pixels, pixels_long, label, width - margin, height - margin, ink, halo)
