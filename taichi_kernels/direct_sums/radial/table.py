r"""Whole contractions from tables: one look-up a shell, however long the contraction.

The table is in s = R^2 + s_0, with 2^m intervals of equal width from each power of two to the next: close together
where the steep primitives are, and found from the bits of s without a search. On each interval stands the cubic that
has the value and the slope of the function at both ends. It is off by at most

.. math::  \frac{h^4}{384} \sum_p |d_p| \zeta_p^4 e^{-\zeta_p R^2}

with h the width and R at the lower end. m is the smallest number for which this, times R^l at the upper end, is below
2^-25 (double precision: 1e-14) of the largest magnitude that the terms of the shell reach together, on every interval
of every shell: that is about what rounding costs too.
"""

from functools import lru_cache

import numpy as np

from ..._taichi import number, ti
from . import lanes_of

SHARE = {"single": 2.0**-25, "double": 1e-14}
"""Error of a table as a share of the largest magnitude of the terms of the shell."""

_FLOOR = {"single": 90.0, "double": 690.0}
"""Value of zeta R^2 from which on a Gaussian counts as zero."""

_NEAREST = 0.125
"""Value of zeta s_0 for the largest exponent, at most."""

_MOST_BITS = 14


def operands(shells, precision):
    """The cubics, four coefficients an interval; and s_0 and m."""
    zeta, weight = shells.exponent, np.abs(shells.contraction)
    owner = np.repeat(np.arange(len(shells.shell_angular_momentum)), np.diff(shells.shell_first_primitive))
    first_octave = int(np.floor(np.log2(_NEAREST / zeta.max())))
    last_octave = int(np.ceil(np.log2(_FLOOR[precision] / zeta.min())))
    bits = 3
    while (worst := _worst(shells, zeta, weight, owner, first_octave, last_octave, bits)) > SHARE[precision]:
        bits += max(1, int(np.log2(worst / SHARE[precision]) / 4))
        if bits > _MOST_BITS:
            raise ValueError(f"a radial table with {2**bits} intervals an octave would be needed")
    nodes = _nodes(first_octave, last_octave, bits)
    square, width = nodes - nodes[0], np.diff(nodes)
    n = len(width)
    table = np.zeros((len(shells.shell_angular_momentum), n + 1, 4))  # the last interval is zero, and goes on for ever
    for shell in range(len(table)):
        p = slice(*shells.shell_first_primitive[shell : shell + 2])
        with np.errstate(under="ignore"):
            terms = shells.contraction[p] * np.exp(-np.outer(square, zeta[p]))
            value, slope = terms.sum(axis=1), -(terms * zeta[p]).sum(axis=1)
        rise, left, right = np.diff(value), width * slope[:-1], width * slope[1:]
        table[shell, :n] = np.stack([value[:-1], left, 3 * rise - 2 * left - right, left + right - 2 * rise], axis=1)
    first = (n + 1) * np.arange(len(table) + 1, dtype=np.int32)
    return first, table.ravel(), np.array([nodes[0], bits, n], np.float64)


def _nodes(first_octave, last_octave, bits):
    octaves = 2.0 ** np.arange(first_octave, last_octave)
    inside = 1 + np.arange(1 << bits) / (1 << bits)
    return np.append(np.outer(octaves, inside).ravel(), 2.0**last_octave)


def _worst(shells, zeta, weight, owner, first_octave, last_octave, bits):
    """The bound on the error, as a share of the largest magnitude of the terms, over intervals and shells."""
    nodes = _nodes(first_octave, last_octave, min(bits, 5))  # the bound hardly depends on where it is looked at
    square, width = nodes - nodes[0], np.diff(nodes) * 2.0 ** (min(bits, 5) - bits)
    worst = 0.0
    for shell, l in enumerate(shells.shell_angular_momentum):
        p = owner == shell
        with np.errstate(under="ignore"):
            decay = weight[p] * np.exp(-np.outer(square, zeta[p]))
            largest = (decay.sum(axis=1) * square ** (l / 2)).max()
            error = width**4 / 384 * (decay[:-1] * zeta[p] ** 4).sum(axis=1) * square[1:] ** (l / 2)
        worst = max(worst, float(error.max() / largest)) if largest > 0 else worst
    return worst


def reach(shells):
    """Left to the caller: the table ends where nothing is left in this precision."""
    return None


@lru_cache
def function(precision, real):
    """Radial part from the table."""
    kind = number(precision)
    lanes = lanes_of(real)
    integer = ti.types.vector(lanes, ti.i32) if lanes > 1 else ti.i32

    @ti.func
    def radial(shell: ti.i32, square, first: ti.template(), a: ti.template(), b: ti.template()):
        bits = ti.cast(b[1], ti.i32)
        shift = 23 - bits
        s = square + b[0]
        pattern = ti.bit_cast(ti.cast(s, ti.f32), ti.i32)
        place = pattern >> shift
        left = ti.cast(ti.bit_cast(place << shift, ti.f32), kind)
        per_width = ti.cast(ti.bit_cast((254 - (pattern >> 23) + bits) << 23, ti.f32), kind)
        x = (s - left) * per_width
        place = ti.min(place - (ti.bit_cast(ti.cast(b[0], ti.f32), ti.i32) >> shift), ti.cast(b[2], ti.i32))
        at = integer(4) * (place + first[shell])
        c0, c1, c2, c3 = real(0.0), real(0.0), real(0.0), real(0.0)
        if ti.static(lanes > 1):
            for n in range(lanes):
                c0[n] = a[at[n]]
                c1[n] = a[at[n] + 1]
                c2[n] = a[at[n] + 2]
                c3[n] = a[at[n] + 3]
        else:
            c0, c1, c2, c3 = a[at], a[at + 1], a[at + 2], a[at + 3]
        return c0 + x * (c1 + x * (c2 + x * c3))

    return radial
