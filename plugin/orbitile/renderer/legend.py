"""Legends: what they say of the surfaces of a picture, how much space they take, and how they are drawn (Pillow)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..model.surface import Colouring, Surface
from ..surfaces.colour_maps import RGB, colours_along, tick_labels, ticks
from .lettering import blank_mask, measure, stamp, stamp_halo, text_size, write

if TYPE_CHECKING:
    from PIL.Image import Image

_ROW = 1.5
"""Distance of the lines of a legend, in font heights."""

_TEXT_INDENT = 1.6
"""Distance of the text from the left edge of its colour patch, in font heights."""

_BASELINE = 1.08
"""Of a row of text below its upper edge, in font heights."""

_GAP = 1.0
"""Between two entries of a legend, in font heights."""

_BAR = 0.8
"""Thickness of a colour bar, in font heights."""

_BAR_SHARE = 0.3
"""Share of the width of a picture that a bar of colours takes at most."""


@dataclass(frozen=True)
class Patches:
    """Part of a legend: a heading, and below it patches of colour side by side, each with its label."""

    heading: str
    entries: tuple[tuple[RGB, str], ...]


@dataclass(frozen=True, eq=False)
class ColourBar:
    """Part of a legend: a continuous scale of colours under its heading, with ticks, and a note below.

    Attributes
    ----------
    heading, note : str
        Quantity and unit; what is coloured, or nothing.
    colours : ndarray, shape (n, 3)
        From the left end to the right one.
    ticks : tuple of (float, str)
        Place on the bar from 0 to 1, and label.
    beyond : (bool, bool)
        Whether there are values below and above the scale: that end is a point then.
    length : float
        In font heights.
    """

    heading: str
    note: str
    colours: NDArray[np.floating]
    ticks: tuple[tuple[float, str], ...]
    beyond: tuple[bool, bool] = (False, False)
    length: float = 11.5

    def is_legible(self, size: tuple[int, int]) -> bool:
        """Whether its labels are apart from each other, in a picture of (width, height) pixels."""
        height = text_size(size)
        widths = [measure(label, _small(height)) for _, label in self.ticks]
        places = [share * self.length * height for share, _ in self.ticks]
        return all(
            right - left > sum(neighbours) / 2 + 0.3 * height
            for (left, right), neighbours in zip(pairwise(places), pairwise(widths), strict=True)
        )


LegendPart = Patches | ColourBar

_Stamp = tuple["Image", RGB | NDArray[np.floating]]
"""A mask, and the colour that is laid over a picture where it is set: one for all, or one for each column."""


def legend_of(surfaces: Sequence[Surface], pairs: Sequence[tuple[RGB, RGB]], size: tuple[int, int]) -> list[LegendPart]:
    """What the legend says: of each surface its quantity, and a colour and a value for each sign that it has."""
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


def _small(height: int) -> int:
    """Height of the font of the labels of a bar."""
    return max(9, round(0.85 * height))


def _extent(part: LegendPart, height: int) -> tuple[float, float]:
    """Space that a part of a legend takes up, (width, height) in pixels."""
    if isinstance(part, ColourBar):
        length, indent = part.length * height, _bar_indent(part, height)
        ends = [length * share + measure(label, _small(height)) / 2 for share, label in part.ticks]
        width = max(indent + max([length, *ends]), measure(part.heading, height), measure(part.note, height))
        return width, height * (_ROW + _BAR + _ROW + (_ROW if part.note else 0))
    widths = [_TEXT_INDENT * height + measure(label, height) for _, label in part.entries]
    width = sum(widths) + _GAP * height * max(len(widths) - 1, 0)
    return max(width, measure(part.heading, height)), height * _ROW * (bool(part.heading) + bool(part.entries))


def _bar_indent(bar: ColourBar, height: int) -> float:
    """How far a bar stands in, so that its first label does not stand out."""
    return max(0.0, *(measure(label, _small(height)) / 2 - share * bar.length * height for share, label in bar.ticks))


def legend_places(
    size: tuple[int, int], parts: Sequence[LegendPart], width: float
) -> tuple[list[tuple[int, int]], int]:
    """Where the parts of a legend go that is not wider than `width` pixels, and the height of it all.

    They stand side by side as long as there is space, then below. Places are those of the upper left corners.
    """
    height = text_size(size)
    places, x, y, row = [], 0.0, 0.0, 0.0
    for part in parts:
        wide, high = _extent(part, height)
        if x and x + wide > width:
            x, y, row = 0.0, y + row + 0.5 * height, 0.0
        places.append((round(x), round(y)))
        x, row = x + wide + 2.5 * _GAP * height, max(row, high)
    return places, round(y + row)


def draw_legend(
    pixels: NDArray[np.uint8],
    parts: Sequence[LegendPart],
    corner: tuple[int, int],
    width: float,
    ink: RGB,
    halo: RGB | None = None,
) -> NDArray[np.uint8]:
    """Draw a legend.

    Parameters
    ----------
    pixels : ndarray of uint8, shape (height, width, 4)
        Straight alpha.
    parts, width
        As for `legend_places`.
    corner : (int, int)
        Upper left corner of the legend, x and y in pixels.
    ink : RGB
        Colour of the letters.
    halo : RGB, optional
        Colour of a thin edge around the letters, so that they can be read on any paper.
    """
    size = pixels.shape[1], pixels.shape[0]
    height = text_size(size)
    letters = blank_mask(size)
    stamps: list[_Stamp] = []
    places, _ = legend_places(size, parts, width)
    for part, (left, top) in zip(parts, places, strict=True):
        x, y = float(corner[0] + left), corner[1] + top
        if part.heading:
            write(letters, x, y + round(_BASELINE * height), part.heading, height)
            y += round(_ROW * height)
        if isinstance(part, ColourBar):
            _draw_bar(letters, stamps, part, round(x), y, height)
            continue
        for colour, label in part.entries:
            half = round(0.5 * height)
            middle = y + round(0.5 * _ROW * height)
            stamps.append((_patch(size, round(x), middle - half, 2 * half), colour))
            x += _TEXT_INDENT * height
            x += write(letters, x, y + round(_BASELINE * height), label, height) + _GAP * height
    pixels = stamp_halo(pixels, letters, halo)
    for mask, paint in stamps:
        pixels = stamp(pixels, mask, paint)
    return stamp(pixels, letters, ink)


def _draw_bar(
    letters: Image,
    stamps: list[_Stamp],
    bar: ColourBar,
    x: int,
    y: int,
    height: int,
) -> None:
    """Colours of a bar with its upper left corner at (x, y), its outline and ticks, and what is written below."""
    from PIL import Image, ImageDraw

    left, x = x, x + round(_bar_indent(bar, height))
    length, thick = round(bar.length * height), round(_BAR * height)
    line = max(1, round(0.05 * height))
    fine = 4  # drawn that much larger first, so that slanted ends are smooth
    tip = [0.6 * thick * end for end in bar.beyond]
    outline = [(tip[0], 0), (length - tip[1], 0), (length, thick / 2), (length - tip[1], thick), (tip[0], thick)]
    outline.append((0, thick / 2))
    corners = [(fine * (across + line), fine * (down + line)) for across, down in outline]
    enlarged = (fine * (length + 2 * line), fine * (thick + 2 * line))
    inside, edge = Image.new("L", enlarged), Image.new("L", enlarged)
    ImageDraw.Draw(inside).polygon(corners, fill=255)
    ImageDraw.Draw(edge).line([*corners, corners[0], corners[1]], fill=255, width=fine * line, joint="curve")
    reduced = (enlarged[0] // fine, enlarged[1] // fine)
    cover = blank_mask(letters.size)
    cover.paste(inside.resize(reduced, Image.Resampling.BOX), (x - line, y - line))
    shares = (np.arange(letters.size[0]) - x + 0.5) / length * (len(bar.colours) - 1)
    along = [np.interp(shares, np.arange(len(bar.colours)), bar.colours[:, channel]) for channel in range(3)]
    stamps.append((cover, np.stack(along, axis=1)))
    letters.paste(255, (x - line, y - line), edge.resize(reduced, Image.Resampling.BOX))
    draw = ImageDraw.Draw(letters)
    down, small = y + thick, _small(height)
    for share, label in bar.ticks:
        at = x + share * length
        tick = round(at - line / 2)
        draw.rectangle((tick, down, tick + line - 1, down + round(0.22 * height)), fill=255)
        write(letters, at - measure(label, small) / 2, down + round(1.1 * height), label, small)
    if bar.note:
        write(letters, left, down + round((_ROW + _BASELINE) * height), bar.note, height)


def _patch(size: tuple[int, int], x: int, y: int, side: int) -> Image:
    """A square with round corners, smooth because it is drawn eight times larger first."""
    from PIL import Image, ImageDraw

    large = Image.new("L", (8 * side, 8 * side))
    ImageDraw.Draw(large).rounded_rectangle((0, 0, 8 * side - 1, 8 * side - 1), radius=2 * side, fill=255)
    mask = blank_mask(size)
    mask.paste(large.resize((side, side), Image.Resampling.BOX), (x, y))
    return mask
