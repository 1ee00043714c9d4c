r"""Radial parts of contracted shells, :math:`f(R^2) = \sum_p d_p e^{-\zeta_p R^2}`, one way to get them a module.

A module offers

- `operands(shells, precision)`: two arrays of float64, `a` and `b`, and where the part of each shell in them begins;
- `function(precision, real)`: the Taichi function `radial(shell, square, first, a, b)` of them, where `square`
  is R^2, a number or a vector of the type `real`;
- `reach(shells)`: distance beyond which the function gives zero, for each shell; None where that is left to the caller.
"""

from collections.abc import Callable

import numpy as np

from ..._taichi import ti


def contraction_of(gaussian: Callable[..., object], real: object) -> Callable[..., object]:
    """Radial part as a sum over primitives: a holds scaled exponents, b contraction coefficients."""

    @ti.func
    def radial(shell: ti.i32, square, first: ti.template(), a: ti.template(), b: ti.template()):
        value = real(0.0)
        for p in range(first[shell], first[shell + 1]):
            value += b[p] * gaussian(a[p] * square)
        return value

    return radial


def where_the_last_ends(shells: object, cutoff: float) -> np.ndarray:
    """Distance in bohr at which the last primitive of each shell ends, at a value of zeta R^2."""
    return np.sqrt(cutoff / np.minimum.reduceat(shells.exponent, shells.shell_first_primitive[:-1]))


def lanes_of(real: object) -> int:
    """Numbers in a value of a Taichi type: 1, or the length of a vector."""
    return int(getattr(real, "n", 1))
