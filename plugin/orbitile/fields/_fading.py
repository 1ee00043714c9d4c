"""Fading: ratios that mean nothing where there is no density become 0 there, smoothly."""

from __future__ import annotations

from math import asin, log, sin

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.floating]

DECADE = 10.0
"""Factor in the density over which values fade to 0."""


def faded(values: Reals, density: Reals, least: float) -> Reals:
    """Values where the density is above `least`, 0 where it is below a tenth of that, smooth between."""
    place = np.maximum(density, least / DECADE)
    place *= DECADE / least
    np.log(place, out=place)
    place *= (1 + 1e-6) / log(DECADE)  # a little more, so that it is 1 after rounding too
    np.minimum(place, 1, out=place)
    share = place * -2
    share += 3
    share *= place
    share *= place
    share *= values
    return share


def density_at(share: float, least: float) -> float:
    """Density at which a share of the values is left, of `faded`."""
    # the root of 3 x^2 - 2 x^3 = share between 0 and 1
    place = 0.5 - sin(asin(1 - 2 * min(max(share, 0.0), 1.0)) / 3)
    return float(least * DECADE ** (place - 1))
