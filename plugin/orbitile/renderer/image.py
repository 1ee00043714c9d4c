"""Pixels to files, and what is written on pictures: legend and scale bar (Pillow)."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import FileError, RenderError

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
    # Same folder, because a rename is atomic only within a file system. The process and the name keep it unique.
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with open(temporary, "wb") as stream:
            # Level 4: half the time of 6, the default, for files that are 6 to 10 percent larger
            image.save(stream, format="PNG", dpi=(PIXELS_PER_INCH, PIXELS_PER_INCH), compress_level=4)
        os.replace(temporary, target)
    except OSError as error:
        raise FileError(f"{target}: the picture cannot be written ({error.strerror or error})") from error
    finally:
        temporary.unlink(missing_ok=True)
    return target


def text_size(size: tuple[int, int]) -> int:
    """Height of the font in pixels, for a picture of (width, height) pixels."""
    return max(9, round(min(size[0], 1.4 * size[1]) / 45))


def legend_size(size: tuple[int, int], labels: Sequence[str]) -> tuple[int, int]:
    """Room that `draw_legend` takes up, (width, height) in pixels; labels as in its entries."""
    height = text_size(size)
    width = max(_measure(label, height) for label in labels)
    return round(width + _TEXT_INDENT * height), round(_ROW * height * len(labels))


def draw_legend(
    pixels: NDArray[np.uint8], entries: Sequence[tuple[RGB | None, str]], ink: RGB, corner: tuple[int, int]
) -> NDArray[np.uint8]:
    """Write rows of a colour patch and a label.

    Parameters
    ----------
    pixels : ndarray of uint8, shape (height, width, 4)
        Straight alpha.
    entries
        Colour and label of each row; a row without colour is a heading.
    ink
        Colour of the letters.
    corner : (int, int)
        Upper left corner of the legend, x and y in pixels.
    """
    size = pixels.shape[1], pixels.shape[0]
    height = text_size(size)
    letters = _mask(size)
    for row, (colour, label) in enumerate(entries):
        x, middle = corner[0], corner[1] + round((row + 0.5) * _ROW * height)
        if colour is not None:
            half = round(0.5 * height)
            pixels = _stamp(pixels, _patch(size, x, middle - half, 2 * half), colour)
            x += round(_TEXT_INDENT * height)
        _write(letters, x, middle + round(0.33 * height), label, height)
    return _stamp(pixels, letters, ink)


def draw_scale_bar(
    pixels: NDArray[np.uint8], length: int, label: str, ink: RGB, right: int, bottom: int
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
    return _stamp(pixels, mask, ink)


_ROW = 1.5
"""Distance of the lines of a legend, in font heights."""

_TEXT_INDENT = 1.6
"""Distance of the text from the left edge of its colour patch, in font heights."""

_SUPERSCRIPT = re.compile(r"\^([-+]?[0-9/]+)")

_SPELLED = {"²": "^2", "³": "^3", "∇": "del "}
"""What is written for characters that the font inside Pillow lacks: one look on all machines beats a system font."""


def _mask(size: tuple[int, int]) -> Image:
    from PIL import Image

    return Image.new("L", size)


def _font(height: int) -> Font:
    from PIL import ImageFont

    return ImageFont.load_default(size=height)


def _pieces(text: str) -> list[tuple[str, bool]]:
    """Text in pieces of (characters, whether they are raised): `bohr^-3/2` ends in a superscript."""
    text = "".join(_SPELLED.get(character, _greek(character)) for character in text)
    return [(piece, bool(n % 2)) for n, piece in enumerate(_SUPERSCRIPT.split(text)) if piece]


def _greek(character: str) -> str:
    """Name of a Greek letter ("alpha"); any other character as it is."""
    name = unicodedata.name(character, "")
    if not name.startswith("GREEK "):
        return character
    letter = name.split()[-1]
    return letter.capitalize() if "CAPITAL" in name else letter.lower()


def _measure(text: str, height: int) -> float:
    return _write(None, 0, 0, text, height)


def _write(mask: Image | None, x: float, baseline: int, text: str, height: int) -> float:
    """Write text from x on; the result is its width. Minus signs and rings are drawn: the font has neither."""
    from PIL import ImageDraw

    draw = None if mask is None else ImageDraw.Draw(mask)
    start = x
    for piece, raised in _pieces(text):
        font = _font(round(0.68 * height) if raised else height)
        em = 0.68 * height if raised else float(height)
        base = baseline - (0.36 * height if raised else 0)
        for part in re.split("([-−Å])", piece):
            if part == "−" or (part == "-" and raised):
                width = font.getlength("+")
                if mask is not None:
                    minus = _minus(font, em)
                    mask.paste(255, (round(x), round(base - em)), minus)
            else:
                letters = part.replace("Å", "A")
                width = font.getlength(letters)
                if draw is not None and letters:
                    draw.text((x, base), letters, fill=255, font=font, anchor="ls")
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


def _stamp(pixels: NDArray[np.uint8], mask: Image, colour: RGB) -> NDArray[np.uint8]:
    """Lay a colour over the pixels where the mask is set, with straight alpha on both sides.

    Pillow's own drawing mixes with the colour of transparent pixels too, which leaves dark fringes on letters.
    """
    cover = np.asarray(mask)
    rows, columns = np.nonzero(cover)
    result = pixels.copy()
    under = pixels[rows, columns].astype(np.float64) / 255
    share = cover[rows, columns, None].astype(np.float64) / 255
    below = under[:, 3:] * (1 - share)
    alpha = share + below
    result[rows, columns, :3] = np.rint(255 * (share * np.array(colour) + below * under[:, :3]) / alpha)
    result[rows, columns, 3:] = np.rint(255 * alpha)
    return result
