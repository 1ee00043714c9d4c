"""Text on pictures (Pillow): fonts, raised and lowered characters, and how masks are laid over pixels."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..files.characters import in_words
from ..surfaces.colour_maps import RGB

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
