"""Where things are written on a picture: the legend in the lower left corner, a scale bar in the lower right one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..model.units import angstrom
from ..surfaces.colour_maps import RGB
from .camera import Margins
from .legend import LegendPart, draw_legend, legend_places
from .lettering import blank_mask, measure, stamp, stamp_halo, text_size, write

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
    red, green, blue = paper or (1.0, 1.0, 1.0)
    ink = _DARK if 0.3 * red + 0.59 * green + 0.11 * blue > 0.45 else _LIGHT
    halo = (1.0, 1.0, 1.0) if paper is None else None
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
