"""Fading: ratios that mean nothing where there is no density become 0 there, smoothly."""

from __future__ import annotations

from math import asin, log, sin

from taichi_kernels.expressions import Value, at_least, at_most, log1p

DECADE = 10.0
"""Factor in the density over which values fade to 0."""


def faded(values: Value, density: Value, least: float) -> Value:
    """Values where the density is above `least`, 0 where it is below a tenth of that, smooth between."""
    place = log1p(at_least(density * (DECADE / least), 1.0) - 1.0)
    place = at_most(place * ((1 + 1e-6) / log(DECADE)), 1.0)  # a little more, so that it is 1 after rounding too
    return place * place * (3.0 - 2.0 * place) * values


def density_at(share: float, least: float) -> float:
    """Density at which a share of the values is left, of `faded`."""
    # the root of 3 x^2 - 2 x^3 = share between 0 and 1
    place = 0.5 - sin(asin(1 - 2 * min(max(share, 0.0), 1.0)) / 3)
    return float(least * DECADE ** (place - 1))
