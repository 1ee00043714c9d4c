"""Colours as they are asked for: names, hexadecimal strings, numbers, and a pair of them for each field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import RenderError
from ..model.surface import Surface
from ..surfaces.colour_maps import PAIRS, RGB

Colour = str | tuple[float, float, float]
"""A name or hexadecimal string that Pillow knows ("white", "#3d57fb"), or red, green and blue between 0 and 1."""

ColourPair = tuple[Colour, Colour]
"""Colours of the positive and the negative part of a field."""

PALETTES: tuple[ColourPair, ...] = tuple(PAIRS.values())
"""Colours of the positive and the negative part of a first, second, third field in a picture, and so on. Those of the
first two are told apart by colour-blind readers too, all four of them. After the last come those of the first again."""


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
            f'{what}: expected a name ("white"), a hexadecimal string ("#3d57fb") or three numbers between 0 and 1, '
            f"got {colour!r}"
        ) from error
    return red, green, blue


def colours_of_fields(surfaces: Sequence[Surface], colours: ColourPair | Sequence[ColourPair]) -> list[tuple[RGB, RGB]]:
    """Two colours for each surface, for its positive and its negative part; surfaces of one quantity have the same.

    Raises
    ------
    RenderError
        When the colours are neither a pair nor pairs, or one of them is unknown.
    """
    given: Sequence[Any] = colours if not isinstance(colours, str) and isinstance(colours, Sequence) else ()
    are_pairs = len(given) > 0 and all(not isinstance(pair, str) and len(pair) == 2 for pair in given)
    pairs = given if are_pairs else [given]
    if any(len(pair) != 2 for pair in pairs):
        raise RenderError(
            f"colours: expected two, for the positive and the negative part, or such pairs for several fields, got "
            f"{colours!r}"
        )
    parsed = [
        (parse_colour(positive, "positive colour"), parse_colour(negative, "negative colour"))
        for positive, negative in pairs
    ]
    quantities = list(dict.fromkeys(surface.quantity for surface in surfaces if surface.colouring is None))
    order = {quantity: n % len(parsed) for n, quantity in enumerate(quantities)}
    return [parsed[order.get(surface.quantity, 0)] for surface in surfaces]
