r"""A Gaussian that goes smoothly to zero, so that it vanishes beyond a sphere without leaving a mark.

Stone et al. (GPGPU 2009, section 3.2) name it as a thing to come. Here e^-t is the eighth power of a polynomial with a
zero where the Gaussian is to end,

.. math::  g(t) = [(1 - u)\, q(u)]^8, \quad u = \min(t / 26, 1), \quad t = \zeta R^2

with q of degree 7. Between 0 and the end g falls steadily; at the end (e^-26 = 5e-12) its first seven derivatives
vanish with it, and beyond it is zero: nothing has to be tested, and a whole shell may be skipped beyond
R^2 = 26 / (smallest exponent) without changing a bit. Multiplications and additions are all it takes.

The coefficients minimise the largest (1 + t/4)^2 |g(t) - e^-t|, since errors far out are multiplied by powers of R;
|g(t) - e^-t| is at most 1.4e-8 (`benchmarks/smooth_cutoff.py` finds them).
"""

from functools import lru_cache

import numpy as np

from ..._taichi import number, ti
from . import contraction_of, where_the_last_ends

CUTOFF = 26.0
"""Value of t = zeta R^2 at which a Gaussian ends."""

POWER = 8

COEFFICIENTS = (
    0.9999999983591034, -2.249999182434505, 3.031188774874979, -2.688502866148658, 1.9396698492774118,
    -0.9537860279401993, 0.2599354462217153, 0.2072339930502539,
)  # fmt: skip
"""Of q, from the constant on."""


def operands(shells, precision):
    """Exponents over 26, and contraction coefficients."""
    return shells.shell_first_primitive, shells.exponent / CUTOFF, shells.contraction


def reach(shells):
    """Where the last primitive ends, in bohr."""
    return where_the_last_ends(shells, CUTOFF)


def function(precision, real):
    """Radial part of Gaussians that end."""
    return contraction_of(gaussian(precision), real)


def gaussian(precision):
    """A Taichi function g(26 u) of u >= 0, of numbers and vectors."""
    real = number(precision)
    c = COEFFICIENTS

    @ti.func
    def ending(u):
        v = ti.min(u, real(1.0))
        series = v * real(c[7]) + real(c[6])
        for k in ti.static(range(5, -1, -1)):
            series = series * v + real(c[k])
        root = (real(1.0) - v) * series
        square = root * root
        fourth = square * square
        return fourth * fourth

    return ending


@lru_cache
def largest_error(degree):
    r"""Largest :math:`t^{l/2} |g(t) - e^{-t}|` anywhere: what a primitive with R^l in front of it may be off by.

    Multiply by the contraction coefficient and by :math:`\zeta^{-l/2}`. From 2^18 samples of a function that turns a
    few dozen times, raised by a thousandth; beyond the end it is that of the Gaussian itself.
    """
    t = np.linspace(0.0, 3 * CUTOFF, (1 << 18) + 1)
    u = np.minimum(t / CUTOFF, 1.0)
    g = ((1 - u) * np.polynomial.polynomial.polyval(u, COEFFICIENTS)) ** POWER
    return 1.001 * float((t ** (degree / 2) * np.abs(g - np.exp(-t))).max())
