"""Colour maps: colours of values, round ranges and marks of their scales."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..model.surface import Colouring

RGB = tuple[float, float, float]

MAPS: dict[str, tuple[RGB, ...]] = {
    name: tuple((int(c[0:2], 16) / 255, int(c[2:4], 16) / 255, int(c[4:6], 16) / 255) for c in colours.split())
    for name, colours in {
        "signed": "b2182b d6604d f4a582 fddbc7 f7f7f7 d1e5f0 92c5de 4393c3 2166ac",
        "sequential": "ffffff eef8c0 c7e9b4 7fcdbb 41b6c4 1d91c0 225ea8 253494",
        "negative": "bd0026 e31a1c fc4e2a fd8d3c feb24c fed976 ffeda0 ffffff",
        "interaction": "1f3fb8 2c6fd0 33a3c4 3dbb94 55bf55 a6c93a e8b92e e0702c bb1a26",
    }.items()
}
"""Colour maps by name: equally spaced colours from the lower end of a range to the upper one, linear in between.

signed
    Red, white, blue (ColorBrewer's RdBu): red where a potential is negative. Its middle is zero.
sequential
    White, yellow, green, blue (ColorBrewer's YlGnBu): for positive values.
negative
    Red, orange, yellow, white (ColorBrewer's YlOrRd): for negative values, as of the potential of an anion.
interaction
    Blue, green, red: attraction, van der Waals contact and repulsion, as sign(lambda2) rho is shown since E. R. Johnson
    et al., J. Am. Chem. Soc. 2010, 132, 6498.
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


def ticks(low: float, high: float, most: int = 5) -> NDArray[np.float64]:
    """Round numbers at equal steps within a range, `most` at most: both its ends among them where that is possible."""
    power = 10.0 ** np.floor(np.log10(high - low) - 2)
    slack = 1e-6 * (high - low)
    usual, at_ends = [], []
    for m, n in ((m, n) for n in range(4) for m in (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0)):
        step = m * power * 10**n
        first, last = np.ceil(low / step - 1e-6), np.floor(high / step + 1e-6)
        if 1 < last - first + 1 <= most:
            marks: NDArray[np.float64] = np.arange(first, last + 1) * step
            if m in (1.0, 2.0, 2.5, 5.0):
                usual.append(marks)
            if abs(marks[0] - low) < slack and abs(marks[-1] - high) < slack:
                at_ends.append(marks)
    return next(iter(at_ends + usual), np.array([low, high]))


def tick_labels(values: NDArray[np.float64]) -> list[str]:
    """Numbers with as many digits as tell them apart, and proper minus signs; powers of ten where they are tiny."""
    most = float(np.abs(values).max(initial=0))
    if most and not 1e-4 <= most < 1e5:
        texts = [f"{value:.3g}" for value in values]
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


def linear_light(display: NDArray[np.floating]) -> NDArray[np.float64]:
    """Amounts of light, from 0 to 1, of colours for the display (sRGB, IEC 61966-2-1) from 0 to 1."""
    return np.where(display > 0.04045, ((display + 0.055) / 1.055) ** 2.4, display / 12.92)
