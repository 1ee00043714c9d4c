"""Pixels to files, and what is written on pictures: legend and scale bar (Pillow)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import FileError, RenderError

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw
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
            image.save(stream, format="PNG", dpi=(PIXELS_PER_INCH, PIXELS_PER_INCH))
        os.replace(temporary, target)
    except OSError as error:
        raise FileError(f"{target}: the picture cannot be written ({error.strerror or error})") from error
    finally:
        temporary.unlink(missing_ok=True)
    return target


def text_size(size: tuple[int, int]) -> int:
    """Height of the letters in pixels, for a picture of (width, height) pixels."""
    return max(9, round(min(size[0], 1.4 * size[1]) / 48))


def legend_size(size: tuple[int, int], labels: Sequence[str], title: str) -> tuple[int, int]:
    """Room that `draw_legend` takes up, (width, height) in pixels."""
    height = text_size(size)
    font = _font(height)
    patch = round(1.9 * height)
    width = max([_length(font, _displayable(label)) + patch for label in labels] + [_length(font, _displayable(title))])
    rows = len(labels) + bool(title)
    return round(width + height), round(rows * 1.5 * height)


def draw_legend(
    pixels: NDArray[np.uint8],
    entries: Sequence[tuple[RGB, str]],
    title: str,
    text_colour: RGB,
    corner: tuple[int, int],
) -> NDArray[np.uint8]:
    """Title and rows of a colour patch and a text, with the upper left corner at (x, y) pixels."""
    image, draw = _canvas(pixels)
    height = text_size((pixels.shape[1], pixels.shape[0]))
    font, ink = _font(height), _bytes(text_colour)
    x, y = corner
    if title:
        draw.text((x, y), _displayable(title), fill=ink, font=font)
        y += round(1.5 * height)
    for colour, label in entries:
        side = round(1.1 * height)
        draw.rounded_rectangle((x, y, x + side, y + side), radius=side * 0.22, fill=_bytes(colour))
        draw.text((x + round(1.75 * height), y + side / 2), _displayable(label), fill=ink, font=font, anchor="lm")
        y += round(1.5 * height)
    return np.asarray(image, dtype=np.uint8).copy()


def draw_scale_bar(
    pixels: NDArray[np.uint8], length: int, label: str, text_colour: RGB, right: int, bottom: int
) -> NDArray[np.uint8]:
    """A bar of `length` pixels with its lower right corner at (right, bottom), and its label above it."""
    image, draw = _canvas(pixels)
    height = text_size((pixels.shape[1], pixels.shape[0]))
    thickness = max(2, round(0.22 * height))
    ink = _bytes(text_colour)
    draw.rectangle((right - length, bottom - thickness, right - 1, bottom - 1), fill=ink)
    middle = (right - length / 2, bottom - thickness - 0.45 * height)
    draw.text(middle, label, fill=ink, font=_font(height), anchor="ms")
    return np.asarray(image, dtype=np.uint8).copy()


def _canvas(pixels: NDArray[np.uint8]) -> tuple[Image, ImageDraw]:
    """Pixels as a picture that Pillow can write on.

    Where nothing was drawn the colour is black and alpha 0: Pillow mixes text with that colour, so a fully
    transparent pixel takes the colour of the ink first. Otherwise letters would have dark fringes.
    """
    from PIL import Image, ImageDraw

    image = Image.fromarray(np.ascontiguousarray(pixels))
    return image, ImageDraw.Draw(image)


def _font(height: int) -> Font:
    from PIL import ImageFont

    return ImageFont.load_default(size=height)


def _length(font: Font, text: str) -> float:
    return float(font.getlength(text))


def _bytes(colour: RGB) -> tuple[int, int, int, int]:
    red, green, blue = (round(255 * channel) for channel in colour)
    return red, green, blue, 255


def _displayable(text: str) -> str:
    return text
