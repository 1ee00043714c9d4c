"""The potential of a charge, a point or a Gaussian, and its derivatives, without a compiler."""

from __future__ import annotations

from math import gamma

import numpy as np
from scipy.special import gammainc

from ..base.arrays import Reals

_AS_POINTS = 40.0
"""Squares of distances in those of widths from which on Gaussians are points, to 1e-13."""


def radial_derivatives(charges: Reals, square: Reals, widths: Reals, highest: int) -> Reals:
    r"""Potentials of charges by the squares of distances in bohr, and their derivatives, shape (highest + 1, n).

    These are :math:`(-\frac{1}{r} \frac{d}{dr})^l V` for l from 0; of Gaussians by Boys' functions, downwards from the
    highest (T. Helgaker, P. Jorgensen, J. Olsen, Molecular Electronic-Structure Theory, Wiley 2000, chapter 9.8).
    """
    result, inverse = np.empty((highest + 1, len(square))), 1 / square
    result[0] = charges * np.sqrt(inverse)
    for l in range(highest):
        result[l + 1] = (2 * l + 1) * result[l] * inverse
    near = np.flatnonzero(square < _AS_POINTS * widths**2)
    wide, x, half = widths[near], square[near] / widths[near] ** 2, highest + 0.5
    boys, unit = gamma(half) * gammainc(half, x) / (2 * x**half), 2 / np.sqrt(np.pi) * charges[near] / wide
    for l in range(highest, -1, -1):
        result[l, near] = unit * (2 / wide**2) ** l * boys
        boys = (2 * x * boys + np.exp(-x)) / (2 * l - 1)
    return result
