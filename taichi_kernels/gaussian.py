"""The exponential that the kernels use."""

from collections.abc import Callable

import numpy as np

from ._taichi import number, ti
from .target import Target

_LN2_HIGH, _LN2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10  # ln 2 in two parts, the first of 32 bits


def exponential(target: Target) -> Callable[..., object]:
    """A Taichi function exp(x) for x <= 0.

    Arguments so small that the result would be a denormal number give zero: denormals are slow, and matter to nobody.
    Vulkan shaders have no exponential in double precision, so there one is computed from exp(x) = 2^n exp(r),
    |r| <= ln(2)/2, with the Taylor series of exp(r) to the 13th order (remainder below 1e-17) and 2^n by squaring.
    """
    real = number(target.dtype)
    smallest = -80.0 if target.precision == "single" else -650.0

    if target.precision == "single" or target.device != "vulkan":

        @ti.func
        def builtin(x):
            return ti.select(x > smallest, ti.exp(x), ti.cast(0.0, real))

        return builtin

    # numbers are written real(...): a bare literal would be rounded to single precision
    @ti.func
    def composed(x):
        clipped = ti.max(x, ti.cast(smallest, real))
        n = ti.cast(0.5 - clipped * real(1.4426950408889634), ti.i32)  # -round(x / ln 2), 0 or more
        r = (clipped + n * real(_LN2_HIGH)) + n * real(_LN2_LOW)
        series = ti.cast(1.0, real)
        for order in ti.static(range(13, 0, -1)):
            series = 1.0 + series * r / order
        power = ti.cast(1.0, real)
        factor = ti.cast(0.5, real)
        for bit in ti.static(range(10)):
            if (n >> bit) & 1:
                power *= factor
            factor *= factor
        return ti.select(x > smallest, series * power, ti.cast(0.0, real))

    return composed


_TERMS = {"single": 7, "double": 13}
"""Of the polynomial for e^x, |x| <= ln(2)/2: below 1e-8 and 1e-16 of it."""

_SHORT_LN2 = {"single": 0.693359375, "double": 0.693147180369123816490}
"""Numbers next to ln 2 with so few bits that their products with whole numbers are exact."""


def unbiased_exponential(target: Target) -> Callable[..., object]:
    """A Taichi function exp(x), x <= 0, of numbers or of vectors of a CPU, whose errors are of both signs.

    Those of the compiler's own, in single precision, grow with x and are all of one sign, since it begins with a product
    of x and a rounded log2(e): summed over a grid that is more than rounding. Here it is 2^n e^r, r = x - n ln 2, with
    ln 2 in two parts (W. J. Cody and W. Waite, Software Manual for the Elementary Functions, 1980), the bits of the
    exponent for 2^n, and the polynomial that agrees at Chebyshev's points. Arguments below -40 (-600 in double precision)
    give zero, so that a product with the result is not a denormal number either, which takes a hundred times as long.
    """
    single = target.precision == "single"
    if not single and not target.on_host:
        return exponential(target)  # exact to the last digits, also without whole numbers of 64 bits
    real, whole = (ti.f32, ti.i32) if single else (ti.f64, ti.i64)
    mantissa, bias = (23, 127) if single else (52, 1023)
    smallest = -40.0 if single else -600.0
    high = _SHORT_LN2[target.precision]
    low = float(np.longdouble("0.693147180559945309417232121458176568") - np.longdouble(high))
    n_terms = _TERMS[target.precision]
    places = 0.5 * np.log(2.0) * np.cos(np.pi * (np.arange(n_terms) + 0.5) / n_terms)
    terms = np.linalg.solve(np.vander(places), np.exp(places)).tolist()

    @ti.func
    def composed(x):
        clipped = ti.max(x, smallest)
        n = ti.cast(clipped * real(1.4426950408889634) - real(0.5), whole)  # towards zero: the nearest
        of_n = ti.cast(n, real)
        r = (clipped - of_n * real(high)) - of_n * real(low)
        value = r * real(terms[0]) + real(terms[1])
        for k in ti.static(range(2, n_terms)):
            value = value * r + real(terms[k])
        return ti.select(x > smallest, value * ti.bit_cast((n + bias) << mantissa, real), real(0.0))

    return composed


def along_axis(lanes: int, real: object, exp: Callable[..., object]) -> Callable[..., object]:
    """A Taichi function: distances of neighbouring points from a centre along an axis, and the Gaussian at them.

    Its arguments are the exponent, the lattice point nearest to the centre less the centre, the index of that point,
    the index of the first point, and the step.
    """
    vector = ti.types.vector(lanes, real)

    @ti.func
    def evaluate(exponent, rest, nearest, first, step):
        distance = vector(0.0)
        factor = vector(0.0)
        for s in ti.static(range(lanes)):
            distance[s] = rest + (ti.cast(first + s, real) - nearest) * step
            factor[s] = exp(-exponent * distance[s] * distance[s])
        return distance, factor

    return evaluate
