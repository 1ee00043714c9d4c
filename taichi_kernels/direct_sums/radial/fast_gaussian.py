r"""The fast Gaussian of Stone et al. (GPGPU 2009, section 3.2, doi 10.1145/1513895.1513897).

exp(x) for x <= 0 as 2^(n - d) with 0 <= d < 1: 2^n by exponent bits, 2^-d by blending the third-degree Taylor
polynomials of 2^y about y = 0 and y = -1 linearly,

.. math::  2^y \approx (1 + y)\, T_0(y) - y\, T_{-1}(y), \quad -1 < y \le 0

and zero below x = -10. The paper gives 0.131 % for the largest relative error and 7.16e-4 for the largest absolute one;
they are 0.125 % and 7.155e-4. It is continuous down to the cutoff, but at powers of two its slope jumps by 3.2 %.
"""

from math import factorial, log

import numpy as np

from ..._taichi import number, ti
from . import contraction_of, where_the_last_ends

CUTOFF = 10.0
_LOG2E = 1.4426950408889634


def blend():
    """Coefficients of the blended polynomial in y, from the constant on."""
    about_zero = np.polynomial.Polynomial([log(2) ** k / factorial(k) for k in range(4)])
    about_minus_one = 0.5 * about_zero(np.polynomial.Polynomial([1, 1]))
    y = np.polynomial.Polynomial([0, 1])
    return ((1 + y) * about_zero - y * about_minus_one).coef


def operands(shells, precision):
    """Exponents times log2(e), and contraction coefficients."""
    return shells.shell_first_primitive, _LOG2E * shells.exponent, shells.contraction


def reach(shells):
    """Where the last primitive is cut off, in bohr."""
    return where_the_last_ends(shells, CUTOFF)


def function(precision, real):
    """Radial part of fast Gaussians."""
    return contraction_of(gaussian(precision), real)


def gaussian(precision):
    """A Taichi function of x >= 0, near 2^-x, of numbers and vectors."""
    real = number(precision)
    c = blend().tolist()
    end = CUTOFF * _LOG2E

    @ti.func
    def approximate(x):
        clipped = ti.min(x, real(end))
        n = ti.floor(clipped)
        y = n - clipped
        series = real(c[0]) + y * (real(c[1]) + y * (real(c[2]) + y * (real(c[3]) + y * real(c[4]))))
        power = ti.cast(ti.bit_cast((127 - ti.cast(n, ti.i32)) << 23, ti.f32), real)
        return ti.select(x <= real(end), series * power, series * real(0.0))

    return approximate
