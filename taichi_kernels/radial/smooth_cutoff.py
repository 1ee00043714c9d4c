r"""A Gaussian that goes smoothly to zero, so that it vanishes beyond a sphere without leaving a mark.

Stone et al. (GPGPU 2009, section 3.2) name it as a thing to come. Here e^-t is the eighth power of a polynomial with a
zero where the Gaussian is to end,

.. math::  g(t) = [(1 - u)\, q(u)]^8, \quad u = \min(t / 22, 1), \quad t = \zeta R^2

with q of degree 6. Between 0 and the end g falls steadily; at the end (e^-22 = 3e-10) its first seven derivatives
vanish with it, and beyond it is zero: nothing has to be tested, and a whole shell may be skipped beyond
R^2 = 22 / (smallest exponent) without changing a bit. Multiplications and additions are all it takes.

The coefficients minimise the largest |g(t) - e^-t|, which is 2.3e-8 (`benchmarks/smooth_cutoff.py` finds them).
"""

from functools import lru_cache

import numpy as np
import taichi as ti

from ..gaussian import DTYPES
from . import contraction_of

CUTOFF = 22.0
"""Value of t = zeta R^2 at which a Gaussian ends."""

POWER = 8

COEFFICIENTS = (
    1.0000000027811193, -1.7500014467135006, 2.031355997890205, -1.4374321594065782, 0.973182741745596,
    -0.4703862050141107, 0.4096494572192152,
)  # fmt: skip
"""Of q, from the constant on."""


def operands(shells, precision):
    """Exponents over 22, and contraction coefficients."""
    return shells.shell_first_primitive, shells.exponent / CUTOFF, shells.contraction


def reach(shells):
    """Where the last primitive ends, in bohr."""
    return np.sqrt(CUTOFF / np.minimum.reduceat(shells.exponent, shells.shell_first_primitive[:-1]))


def function(precision, device, real):
    """Radial part of Gaussians that end."""
    return contraction_of(gaussian(precision), real)


def gaussian(precision):
    """A Taichi function g(22 u) of u >= 0, of numbers and vectors."""
    real = DTYPES[precision]
    c = COEFFICIENTS

    @ti.func
    def ending(u):
        v = ti.min(u, real(1.0))
        series = v * real(c[6]) + real(c[5])
        for k in ti.static(range(4, -1, -1)):
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
