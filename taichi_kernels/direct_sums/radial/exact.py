"""Gaussians exact to rounding, by powers of two: exponents are multiplied by log2(e) beforehand.

2^x = 2^n 2^f with n the nearest whole number: 2^n is made from exponent bits, 2^f from its Taylor series, whose
remainder is below 6e-9 at degree 7 and 5e-18 at degree 13. It is written out because it becomes SIMD code on a CPU,
which a call of the library's function does not, and because it is the same everywhere.
"""

from functools import lru_cache
from math import factorial, log

from ..._taichi import number, ti
from . import contraction_of

_DEGREE = {"single": 7, "double": 13}
_SMALLEST = {"single": -126.0, "double": -252.0}
_LOG2E = 1.4426950408889634


def operands(shells, precision):
    """Exponents times -log2(e), and contraction coefficients."""
    return shells.shell_first_primitive, -_LOG2E * shells.exponent, shells.contraction


def reach(shells):
    """Left to the caller: a Gaussian never vanishes."""
    return None


def function(precision, real):
    """Radial part of exact Gaussians."""
    return contraction_of(power_of_two(precision), real)


@lru_cache
def power_of_two(precision):
    """A Taichi function 2^x for x <= 0, of numbers and vectors. Below 2^-126, in double precision 2^-252, it stays.

    In double precision 2^n is the product of two numbers in single precision: not every device has integers of 64 bits.
    """
    real, degree, smallest = number(precision), _DEGREE[precision], _SMALLEST[precision]
    c = [log(2) ** k / factorial(k) for k in range(degree + 1)]
    halves = precision == "double"

    @ti.func
    def evaluate(x):
        clipped = ti.max(x, real(smallest))
        rounded = ti.floor(clipped + real(0.5))
        f = clipped - rounded
        series = f * real(c[degree]) + real(c[degree - 1])
        for k in ti.static(range(degree - 2, -1, -1)):
            series = series * f + real(c[k])
        n = ti.cast(rounded, ti.i32)
        if ti.static(halves):
            half = n >> 1
            series *= ti.cast(ti.bit_cast((half + 127) << 23, ti.f32), real)
            n -= half
        return series * ti.cast(ti.bit_cast((n + 127) << 23, ti.f32), real)

    return evaluate
