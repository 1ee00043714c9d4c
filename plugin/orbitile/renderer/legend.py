"""Legends: what they say of the surfaces of a picture, how much space they take, and how they are drawn (Pillow).

The legend is in the lower left corner of a picture, a scale bar in the lower right one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..files.encodings import in_words
from ..model.surface import Colouring
from ..model.units import angstrom
from ..scenes.scene import Drawable
from ..surfaces.colour_maps import RGB, colours_along, tick_labels, ticks
from .camera import Margins

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFont import FreeTypeFont, ImageFont

    Font = FreeTypeFont | ImageFont

_RAISED = re.compile(r"\^([-+−]?[0-9/]+)|([⁰¹²³⁴-⁹⁺⁻]+)|([₀-₉]+)")

_PLAIN = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻₀₁₂₃₄₅₆₇₈₉", "0123456789+−0123456789")

_FOREIGN = "\u0391-\u03c9∇"
"""What the font inside Pillow lacks, as a range of a regular expression."""


def text_size(size: tuple[int, int]) -> int:
    """Height of the font in pixels, for a picture of (width, height) pixels."""
    return max(9, round(min(size[0], 1.4 * size[1]) / 45))


def blank_mask(size: tuple[int, int]) -> Image:
    """A mask without marks, for a picture of (width, height) pixels."""
    from PIL import Image

    return Image.new("L", size)


def _font(height: int) -> Font:
    from PIL import ImageFont

    return ImageFont.load_default(size=height)


@lru_cache
def foreign_font(height: int) -> Font | None:
    """DejaVu Sans for Greek letters and ∇: that of matplotlib, else of the system. None where there is neither."""
    from importlib.util import find_spec

    from PIL import ImageFont

    found = find_spec("matplotlib")
    inside = "mpl-data/fonts/ttf/DejaVuSans.ttf"
    paths = [] if found is None or found.origin is None else [Path(found.origin).parent / inside]
    for path in (*paths, Path("DejaVuSans.ttf")):
        try:
            return ImageFont.truetype(str(path), size=height)
        except OSError:
            continue  # not there
    return None


def levels(text: str) -> list[tuple[str, int]]:
    """Text in pieces of (characters, 1 raised or -1 lowered or 0): `bohr^-3/2` and `λ₂`."""
    if re.search(f"[{_FOREIGN}]", text) and foreign_font(16) is None:
        text = in_words(text)
    pieces, start = [], 0
    for match in _RAISED.finditer(text):
        pieces += [(text[start : match.start()], 0)]
        raised, high, low = match.groups()
        pieces += [(raised, 1)] if raised else [(high.translate(_PLAIN), 1)] if high else [(low.translate(_PLAIN), -1)]
        start = match.end()
    return [(piece, level) for piece, level in [*pieces, (text[start:], 0)] if piece]


def measure(text: str, height: int) -> float:
    """Width in pixels of a text in a font of a height in pixels."""
    return write(None, 0, 0, text, height)


def write(mask: Image | None, x: float, baseline: int, text: str, height: int) -> float:
    """Write text from x on; the result is its width. Minus signs and rings are drawn: the font has neither."""
    from PIL import ImageDraw

    draw = None if mask is None else ImageDraw.Draw(mask)
    start = x
    for piece, level in levels(text):
        font = _font(round(0.68 * height) if level else height)
        em = 0.68 * height if level else float(height)
        base = baseline - {1: 0.36, 0: 0.0, -1: -0.16}[level] * height
        for part in re.split(f"([-−Å]|[{_FOREIGN}]+)", piece):
            if part == "−" or (part == "-" and level):
                width = font.getlength("+")
                if mask is not None:
                    minus = _minus(font, em)
                    mask.paste(255, (round(x), round(base - em)), minus)
            else:
                letters = part.replace("Å", "A")
                foreign = foreign_font(round(0.92 * em)) if re.match(f"[{_FOREIGN}]", part) else None
                written = foreign or font
                width = written.getlength(letters)
                if draw is not None and letters:
                    draw.text((x, base), letters, fill=255, font=written, anchor="ls")
                    if part == "Å":
                        middle, radius = x + width / 2, 0.1 * em
                        top = base - 0.84 * em
                        box = (middle - radius, top - radius, middle + radius, top + radius)
                        draw.ellipse(box, outline=255, width=max(1, round(0.06 * em)))
            x += width
    return x - start


def _minus(font: Font, em: float) -> Image:
    """The bar of the plus sign, with the baseline at the height `em`."""
    from PIL import Image, ImageDraw

    plus = Image.new("L", (round(font.getlength("+")) + 1, round(1.3 * em)))
    ImageDraw.Draw(plus).text((0, round(em)), "+", fill=255, font=font, anchor="ls")
    cover = np.asarray(plus)
    columns = np.flatnonzero(cover.max(axis=0))
    heights = np.count_nonzero(cover[:, columns], axis=0)
    beside = columns[heights == heights.min()]  # the columns that the upright stroke does not touch
    bar = cover[:, beside].max(axis=1)
    result = np.zeros_like(cover)
    result[:, columns] = bar[:, None]
    return Image.fromarray(result)


def stamp(pixels: NDArray[np.uint8], mask: Image, colour: RGB | NDArray[np.floating]) -> NDArray[np.uint8]:
    """Lay a colour, or one for each column, over the pixels where the mask is set, with straight alpha on both sides.

    Pillow's own drawing mixes with the colour of transparent pixels too, which leaves dark fringes on letters.
    """
    cover = np.asarray(mask)
    rows, columns = np.nonzero(cover)
    result = pixels.copy()
    under = pixels[rows, columns].astype(np.float64) / 255
    share = cover[rows, columns, None].astype(np.float64) / 255
    below = under[:, 3:] * (1 - share)
    alpha = share + below
    inks = np.asarray(colour)
    inks = inks[columns] if inks.ndim == 2 else inks
    result[rows, columns, :3] = np.rint(255 * (share * inks + below * under[:, :3]) / alpha)
    result[rows, columns, 3:] = np.rint(255 * alpha)
    return result


def stamp_halo(pixels: NDArray[np.uint8], mask: Image, halo: RGB | None) -> NDArray[np.uint8]:
    """Lay a thin edge of a colour around the marks of a mask, so that they can be read on any paper; None for none."""
    if halo is None:
        return pixels
    return stamp(pixels, _widened(mask, max(1, round(0.12 * text_size(mask.size)))), halo)


def _widened(mask: Image, radius: int) -> Image:
    """A mask with its marks thicker by a number of pixels on all sides."""
    from PIL import Image, ImageFilter

    box = mask.getbbox()
    result = Image.new("L", mask.size)
    if box is not None:
        box = (box[0] - radius - 1, box[1] - radius - 1, box[2] + radius + 1, box[3] + radius + 1)
        marks = mask.crop(box).filter(ImageFilter.MaxFilter(2 * radius + 1)).filter(ImageFilter.GaussianBlur(0.6))
        result.paste(marks, box[:2])
    return result


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


def legend_of(
    surfaces: Sequence[Drawable], pairs: Sequence[tuple[RGB, RGB]], size: tuple[int, int]
) -> list[LegendPart]:
    """What the legend says: of each surface or volume its quantity, and a colour and a value for each of its signs."""
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


def _colour_bar(surface: Drawable, colouring: Colouring, size: tuple[int, int]) -> ColourBar:
    """The scale of a surface or volume that is coloured by a second field."""
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


def _draw_bar(letters: Image, stamps: list[_Stamp], bar: ColourBar, x: int, y: int, height: int) -> None:
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


_MARGIN = 0.035
"""Share of the picture that stays free at its edges."""

_SCALE_BAR = 0.25
"""Share of the width that a scale bar takes at most."""

_DARK, _LIGHT = (0.1, 0.1, 0.1), (0.95, 0.95, 0.95)
"""Letters on light and on dark paper."""


def margins(size: tuple[int, int], parts: Sequence[LegendPart], scale: bool) -> Margins:
    """What stays free at the edges of a picture of (width, height) pixels, for a legend of these parts, a scale bar."""
    _, high = legend_places(size, parts, _legend_width(size, scale))
    rows = max(high, 2.2 * text_size(size) if scale else 0)
    bottom = min(_MARGIN + (rows / size[1] + _MARGIN if rows else 0), 0.4)
    return _MARGIN, _MARGIN, bottom, _MARGIN


def annotate(
    pixels: NDArray[np.uint8], parts: Sequence[LegendPart], scale: float | None, paper: RGB | None
) -> NDArray[np.uint8]:
    """Write a legend and a scale bar on a picture.

    Parameters
    ----------
    pixels : ndarray of uint8, shape (height, width, 4)
        Straight alpha.
    parts
        Of the legend; () for none.
    scale
        Pixels per bohr, for a scale bar; None for none.
    paper
        Colour of the background; None for a transparent one, which may be laid on any colour.
    """
    ink, halo = _ink(paper), (1.0, 1.0, 1.0) if paper is None else None
    height, width = pixels.shape[:2]
    margin = round(_MARGIN * min(width, height))
    if parts:
        most = _legend_width((width, height), scale is not None)
        _, high = legend_places((width, height), parts, most)
        pixels = draw_legend(pixels, parts, (margin, height - margin - high), most, ink, halo)
    if scale is not None:
        # The largest of 1, 2, 5, 10, ... Angstrom that takes up a quarter of the width at most
        longest = _SCALE_BAR * width / (scale * angstrom)
        power = 10.0 ** np.floor(np.log10(longest))
        length = power * max(step for step in (1, 2, 5) if step * power <= longest * (1 + 1e-9))
        corner = width - margin, height - margin
        pixels = _draw_scale_bar(pixels, round(length * angstrom * scale), f"{length:g} Å", corner, ink, halo)
    return pixels


def write_labels(
    pixels: NDArray[np.uint8], places: Reals, texts: Sequence[str], paper: RGB | None
) -> NDArray[np.uint8]:
    """Write labels beside places of a picture, with an edge of the colour of the paper.

    Parameters
    ----------
    pixels : ndarray of uint8, shape (height, width, 4)
        Straight alpha.
    places : ndarray, shape (n, 3)
        Pixels from the left and from the top, and distances from the eye. Nothing is written where these are not
        positive, nor over the label of a nearer place.
    texts
        A label for each.
    paper
        As for `annotate`.
    """
    size = pixels.shape[1], pixels.shape[0]
    height = text_size(size)
    mask = blank_mask(size)
    written: list[tuple[float, float, float]] = []
    for n in np.argsort(places[:, 2]).tolist():
        left, baseline, width = places[n, 0] + 0.5 * height, places[n, 1] - 0.3 * height, measure(texts[n], height)
        is_free = all(
            abs(baseline - other) > 1.1 * height or left > end or begin > left + width for begin, end, other in written
        )
        if places[n, 2] > 0 and is_free:
            write(mask, left, round(baseline), texts[n], height)
            written.append((left, left + width, baseline))
    return stamp(stamp_halo(pixels, mask, paper or (1.0, 1.0, 1.0)), mask, _ink(paper))


def _ink(paper: RGB | None) -> RGB:
    """Colour of letters on a background."""
    red, green, blue = paper or (1.0, 1.0, 1.0)
    return _DARK if 0.3 * red + 0.59 * green + 0.11 * blue > 0.45 else _LIGHT


def _legend_width(size: tuple[int, int], scale: bool) -> float:
    """Width in pixels that a legend may take."""
    return size[0] * ((1 - _SCALE_BAR if scale else 1) - 3 * _MARGIN)


def _draw_scale_bar(
    pixels: NDArray[np.uint8], length: int, label: str, corner: tuple[int, int], ink: RGB, halo: RGB | None
) -> NDArray[np.uint8]:
    """Draw a bar of `length` pixels with its lower right corner at (x, y), and its label above it."""
    from PIL import ImageDraw

    right, bottom = corner
    size = pixels.shape[1], pixels.shape[0]
    height = text_size(size)
    thickness = max(2, round(0.2 * height))
    mask = blank_mask(size)
    ImageDraw.Draw(mask).rectangle((right - length, bottom - thickness, right - 1, bottom - 1), fill=255)
    start = right - (length + measure(label, height)) / 2
    write(mask, round(start), bottom - thickness - round(0.45 * height), label, height)
    return stamp(stamp_halo(pixels, mask, halo), mask, ink)
