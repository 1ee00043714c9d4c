"""Pixels to files, and what is written on pictures: legend and scale bar (Pillow)."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import FileError, RenderError
from ..files.characters import in_words
from ..files.writing import written_atomically

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFont import FreeTypeFont, ImageFont

    Font = FreeTypeFont | ImageFont

Colour = str | tuple[float, float, float]
"""A name or hexadecimal string that Pillow knows ("white", "#2166ac"), or red, green and blue between 0 and 1."""

RGB = tuple[float, float, float]

PIXELS_PER_INCH = 300
"""Resolution noted in the files, so that 1600 pixels come out 13.5 cm wide in print."""


def parse_colour(colour: Colour, what: str = "colour") -> RGB:
    """Red, green and blue between 0 and 1 (display values).

    Raises
    ------
    RenderError
        For a name that Pillow does not know, or numbers that are not three between 0 and 1.
    """
    from PIL import ImageColor

    try:
        if isinstance(colour, str):
            red, green, blue = (channel / 255 for channel in ImageColor.getrgb(colour)[:3])
        else:
            red, green, blue = (float(channel) for channel in colour)
            if not all(0 <= channel <= 1 for channel in (red, green, blue)):
                raise ValueError
    except (TypeError, ValueError) as error:
        raise RenderError(
            f'{what}: expected a name ("white"), a hexadecimal string ("#2166ac") or three numbers between 0 and 1, '
            f"got {colour!r}"
        ) from error
    return red, green, blue


def check_path(path: str | os.PathLike[str]) -> Path:
    """The path of a picture, if one can be written there; nothing is written yet.

    Raises
    ------
    FileError
        When the name does not end in .png, or the folder is missing or read-only.
    """
    try:
        target = Path(path)
    except TypeError as error:
        raise FileError(f"path of a picture: expected a file name, got {path!r}") from error
    if target.suffix.lower() != ".png":
        raise FileError(f"{target}: pictures are written as PNG; give a name that ends in .png")
    if target.is_dir():
        raise FileError(f"{target}: this is a folder; give the name of a file")
    if not target.parent.is_dir():
        raise FileError(f"{target}: there is no folder {target.parent}; create it first")
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


def text_size(size: tuple[int, int]) -> int:
    """Height of the font in pixels, for a picture of (width, height) pixels."""
    return max(9, round(min(size[0], 1.4 * size[1]) / 45))


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
        widths = [_measure(label, _small(height)) for _, label in self.ticks]
        places = [share * self.length * height for share, _ in self.ticks]
        pairs = zip(pairwise(places), pairwise(widths), strict=True)
        return all(b - a > (one + other) / 2 + 0.3 * height for (a, b), (one, other) in pairs)


def _small(height: int) -> int:
    """Height of the font of the labels of a bar."""
    return max(9, round(0.85 * height))


def _extent(part: Patches | ColourBar, height: int) -> tuple[float, float]:
    """Room that a part of a legend takes up, (width, height) in pixels."""
    if isinstance(part, ColourBar):
        length, indent = part.length * height, _bar_indent(part, height)
        ends = [length * share + _measure(label, _small(height)) / 2 for share, label in part.ticks]
        width = max(indent + max([length, *ends]), _measure(part.heading, height), _measure(part.note, height))
        return width, height * (_ROW + _BAR + _ROW + (_ROW if part.note else 0))
    widths = [_TEXT_INDENT * height + _measure(label, height) for _, label in part.entries]
    width = sum(widths) + _GAP * height * max(len(widths) - 1, 0)
    return max(width, _measure(part.heading, height)), height * _ROW * (bool(part.heading) + bool(part.entries))


def _bar_indent(bar: ColourBar, height: int) -> float:
    """How far a bar stands in, so that its first label does not stand out."""
    return max(0.0, *(_measure(label, _small(height)) / 2 - share * bar.length * height for share, label in bar.ticks))


def legend_places(
    size: tuple[int, int], parts: Sequence[Patches | ColourBar], width: float
) -> tuple[list[tuple[int, int]], int]:
    """Where the parts of a legend go that is not wider than `width` pixels, and the height of it all.

    They stand side by side as long as there is room, then below. Places are those of the upper left corners.
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
    parts: Sequence[Patches | ColourBar],
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
    letters = _mask(size)
    stamps: list[tuple[Image, RGB | NDArray[np.floating]]] = []
    places, _ = legend_places(size, parts, width)
    for part, (left, top) in zip(parts, places, strict=True):
        x, y = float(corner[0] + left), corner[1] + top
        if part.heading:
            _write(letters, x, y + round(_BASELINE * height), part.heading, height)
            y += round(_ROW * height)
        if isinstance(part, ColourBar):
            _draw_bar(letters, stamps, part, round(x), y, height)
            continue
        for colour, label in part.entries:
            half = round(0.5 * height)
            middle = y + round(0.5 * _ROW * height)
            stamps.append((_patch(size, round(x), middle - half, 2 * half), colour))
            x += _TEXT_INDENT * height
            x += _write(letters, x, y + round(_BASELINE * height), label, height) + _GAP * height
    if halo is not None:
        pixels = _stamp(pixels, _widened(letters, max(1, round(0.12 * height))), halo)
    for mask, paint in stamps:
        pixels = _stamp(pixels, mask, paint)
    return _stamp(pixels, letters, ink)


def _draw_bar(
    letters: Image,
    stamps: list[tuple[Image, RGB | NDArray[np.floating]]],
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
    room = (fine * (length + 2 * line), fine * (thick + 2 * line))
    inside, edge = Image.new("L", room), Image.new("L", room)
    ImageDraw.Draw(inside).polygon(corners, fill=255)
    ImageDraw.Draw(edge).line([*corners, corners[0], corners[1]], fill=255, width=fine * line, joint="curve")
    reduced = (room[0] // fine, room[1] // fine)
    cover = _mask(letters.size)
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
        _write(letters, at - _measure(label, small) / 2, down + round(1.1 * height), label, small)
    if bar.note:
        _write(letters, left, down + round((_ROW + _BASELINE) * height), bar.note, height)


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


def draw_scale_bar(
    pixels: NDArray[np.uint8], length: int, label: str, right: int, bottom: int, ink: RGB, halo: RGB | None = None
) -> NDArray[np.uint8]:
    """Draw a bar of `length` pixels with its lower right corner at (right, bottom), and its label above it."""
    from PIL import ImageDraw

    size = pixels.shape[1], pixels.shape[0]
    height = text_size(size)
    thickness = max(2, round(0.2 * height))
    mask = _mask(size)
    ImageDraw.Draw(mask).rectangle((right - length, bottom - thickness, right - 1, bottom - 1), fill=255)
    start = right - (length + _measure(label, height)) / 2
    _write(mask, round(start), bottom - thickness - round(0.45 * height), label, height)
    if halo is not None:
        pixels = _stamp(pixels, _widened(mask, max(1, round(0.12 * height))), halo)
    return _stamp(pixels, mask, ink)


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

_RAISED = re.compile(r"\^([-+−]?[0-9/]+)|([⁰¹²³⁴-⁹⁺⁻]+)|([₀-₉]+)")

_PLAIN = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻₀₁₂₃₄₅₆₇₈₉", "0123456789+−0123456789")

_FOREIGN = "\u0391-\u03c9∇"
"""What the font inside Pillow lacks, as a range of a regular expression."""


def _mask(size: tuple[int, int]) -> Image:
    from PIL import Image

    return Image.new("L", size)


def _font(height: int) -> Font:
    from PIL import ImageFont

    return ImageFont.load_default(size=height)


@lru_cache
def _foreign_font(height: int) -> Font | None:
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


def _pieces(text: str) -> list[tuple[str, int]]:
    """Text in pieces of (characters, 1 raised or -1 lowered or 0): `bohr^-3/2` and `λ₂`."""
    if re.search(f"[{_FOREIGN}]", text) and _foreign_font(16) is None:
        text = in_words(text)
    pieces, start = [], 0
    for match in _RAISED.finditer(text):
        pieces += [(text[start : match.start()], 0)]
        raised, high, low = match.groups()
        pieces += [(raised, 1)] if raised else [(high.translate(_PLAIN), 1)] if high else [(low.translate(_PLAIN), -1)]
        start = match.end()
    return [(piece, level) for piece, level in [*pieces, (text[start:], 0)] if piece]


def _measure(text: str, height: int) -> float:
    return _write(None, 0, 0, text, height)


def _write(mask: Image | None, x: float, baseline: int, text: str, height: int) -> float:
    """Write text from x on; the result is its width. Minus signs and rings are drawn: the font has neither."""
    from PIL import ImageDraw

    draw = None if mask is None else ImageDraw.Draw(mask)
    start = x
    for piece, level in _pieces(text):
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
                foreign = _foreign_font(round(0.92 * em)) if re.match(f"[{_FOREIGN}]", part) else None
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


def _patch(size: tuple[int, int], x: int, y: int, side: int) -> Image:
    """A square with round corners, smooth because it is drawn eight times larger first."""
    from PIL import Image, ImageDraw

    large = Image.new("L", (8 * side, 8 * side))
    ImageDraw.Draw(large).rounded_rectangle((0, 0, 8 * side - 1, 8 * side - 1), radius=2 * side, fill=255)
    mask = _mask(size)
    mask.paste(large.resize((side, side), Image.Resampling.BOX), (x, y))
    return mask


def _stamp(pixels: NDArray[np.uint8], mask: Image, colour: RGB | NDArray[np.floating]) -> NDArray[np.uint8]:
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
