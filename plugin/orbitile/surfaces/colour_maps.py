"""Colours: of the two signs of a field, and of values; round ranges and marks of their scales.

All of them can be seen on black and on white, and told apart by readers who lack one kind of cones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..model.surface import Colouring

RGB = tuple[float, float, float]


def _display(colour: str) -> RGB:
    """Red, green and blue from 0 to 1 of a hexadecimal colour."""
    return int(colour[0:2], 16) / 255, int(colour[2:4], 16) / 255, int(colour[4:6], 16) / 255


Pair = tuple[RGB, RGB]
"""Colours where a field is positive and where it is negative."""

PAIRS: dict[str, Pair] = {
    name: (_display(positive), _display(negative))
    for name, (positive, negative) in {
        "blue and orange": ("3d57fb", "ec6e19"),
        "lavender and crimson": ("a685c9", "a33846"),
        "light blue and dark red": ("1595fe", "a33a2c"),
        "teal and brown": ("10a1ab", "785717"),
        "pink and green": ("cd6be5", "036c17"),
    }.items()
}
"""Pairs of colours by name, the usual one first.

Each colour has a contrast of 3 or more with black and with white (WCAG 2.1, of graphical objects), so lobes are seen on
either. The first two pairs are told apart from each other too, as the HOMO and the LUMO of one picture.
"""

POSITIVE, NEGATIVE = PAIRS["blue and orange"]

MAPS: dict[str, tuple[RGB, ...]] = {
    name: tuple(map(_display, colours.split()))
    for name, colours in {
        "signed": "b2182b ce5643 e58867 efb8a0 e4e4e4 abcae6 76aade 4888c9 2166ac",
        "sequential": "f3ee9f bce09e 85cfa2 54bbb1 2ea3b8 2687b7 296ab0 2c4c9f 2c2f86",
        "negative": "a8001f c2241f d9411f e76123 ef802b f59d38 f5ba4a f4d673 f6ecaa",
        "interaction": "1f3fb8 206ec6 3297c7 58b7aa 7fd27c ceb542 db8723 cd5926 bb1a26",
        "phase": "ec6e19 bf453f 912f70 523ba4 3d57fb 058bdd 49b0b0 a8975c ec6e19",
    }.items()
}
"""Colour maps by name: equally spaced colours from the lower end of a range to the upper one, linear in between.

Equal differences of value look equally large: neighbours have the same distance in OKLab. No end is black or white.

signed
    Red, light grey, blue: red where a potential is negative. Its middle is zero.
sequential
    Yellow, green, blue: for positive values.
negative
    Red, orange, yellow: for negative values, as of the potential of an anion.
interaction
    Blue, green, red: attraction, van der Waals contact and repulsion, as sign(lambda2) rho is shown since E. R. Johnson
    et al., J. Am. Chem. Soc. 2010, 132, 6498.
phase
    A circle: orange, purple, blue, teal, orange. Phases 0 and pi have the colours of positive and negative values.
"""


_ROUND = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


def rounded_up(value: float) -> float:
    """The next round number: 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6 or 8 times a power of ten; 1 for 0."""
    if value <= 0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(value))
    return float(f"{power * next(step for step in _ROUND if step * power >= value * (1 - 1e-6)):.3g}")


def round_ends(low: float, high: float) -> tuple[float, float]:
    """A range of one sign, widened to multiples of a round number."""
    span = high - low if high - low > 1e-6 * max(abs(low), abs(high)) else max(abs(high), abs(low), 1e-30)
    step = 10.0 ** np.floor(np.log10(span)) / 5
    first, last = np.floor(low / step + 1e-6), np.ceil(high / step - 1e-6)
    return float(f"{first * step:.12g}"), float(f"{max(last, first + 1) * step:.12g}")


def ticks(low: float, high: float, most: int = 5) -> Reals:
    """Round numbers at equal steps within a range, `most` at most: both its ends among them where that is possible."""
    power = 10.0 ** np.floor(np.log10(high - low) - 2)
    slack = 1e-6 * (high - low)
    usual, at_ends = [], []
    for m, n in ((m, n) for n in range(4) for m in (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0)):
        step = m * power * 10**n
        first, last = np.ceil(low / step - 1e-6), np.floor(high / step + 1e-6)
        if 1 < last - first + 1 <= most:
            marks: Reals = np.arange(first, last + 1) * step
            if m in (1.0, 2.0, 2.5, 5.0):
                usual.append(marks)
            if abs(marks[0] - low) < slack and abs(marks[-1] - high) < slack:
                at_ends.append(marks)
    return next(iter(at_ends + usual), np.array([low, high]))


def tick_labels(values: Reals) -> list[str]:
    """Numbers with as many digits as tell them apart, and proper minus signs; powers of ten where they are tiny."""
    most = float(np.abs(values).max(initial=0))
    if most and not 1e-4 <= most < 1e5:
        texts = [f"{value + 0.0:.3g}" for value in values]
    else:
        digits = next(
            n for n in range(12) if np.allclose(np.round(values, n), values, rtol=0, atol=1e-6 * most + 1e-12)
        )
        texts = [f"{value:.{digits}f}" if value else "0" for value in values]
    return [text.replace("-", "−") for text in texts]


def colours_of(colouring: Colouring) -> NDArray[np.float32]:
    """Red, green and blue of each value, shape (n, 3), from 0 to 1."""
    span = max(colouring.high - colouring.low, 1e-30)
    return colours_along(colouring.colour_map, (colouring.values - colouring.low) / span)


def colours_along(colour_map: str, shares: NDArray[np.floating]) -> NDArray[np.float32]:
    """Red, green and blue at shares of the range of a map (see `MAPS`) from 0 to 1, shape (n, 3)."""
    anchors = MAPS[colour_map]
    place = np.clip(shares, 0, 1) * (len(anchors) - 1)
    at = np.arange(len(anchors))
    channels = [np.interp(place, at, [colour[channel] for colour in anchors]) for channel in range(3)]
    return np.stack(channels, axis=1).astype(np.float32)


def linear_light(display: NDArray[np.floating]) -> Reals:
    """Amounts of light, from 0 to 1, of colours for the display (sRGB, IEC 61966-2-1) from 0 to 1."""
    return np.where(display > 0.04045, ((display + 0.055) / 1.055) ** 2.4, display / 12.92)
