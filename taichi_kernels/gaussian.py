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


_TERMS = {"single": 7, "double": 12}
"""Of the polynomial for 2^x, |x| <= 1/2: below 1e-8 and 1e-16 of it."""


def power_of_two(target: Target) -> Callable[..., object]:
    """A Taichi function 2^(x + d), x <= 0 and d much smaller: of arithmetic alone, and LLVM makes SIMD code of it.

    Its third argument is 0, which the compiler must not know: an argument of the kernel.
    From 2^n 2^f with the bits of the exponent for 2^n, and for 2^f the polynomial that agrees at Chebyshev's points.
    Arguments below -60 (-900 in double precision) give zero, so that a product with the result is not a denormal number
    either, which takes a hundred times as long.
    """
    single = target.precision == "single"
    real, whole = (ti.f32, ti.i32) if single else (ti.f64, ti.i64)
    if target.device == "vulkan" and not single:  # shaders need not have integers of 64 bits
        exp = exponential(target)

        @ti.func
        def by_exponential(x, d, zero):
            return exp((x + d) * real(0.6931471805599453))

        return by_exponential

    mantissa, bias = (23, 127) if single else (52, 1023)
    n_terms = _TERMS[target.precision]
    smallest = -60.0 if single else -900.0
    terms = _terms(n_terms, target.dtype)

    @ti.func
    def composed(x, d, zero):
        power = ti.select(x > real(smallest), x, real(smallest))
        n = ti.cast(power - real(0.5), whole)  # towards zero: the nearest
        # d is smaller than the last digit of x; the compiler would add it to that, or take out a factor that both have
        f = (power - ti.cast(n, real)) + ti.bit_cast(ti.bit_cast(d, whole) ^ ti.cast(zero, whole), real)
        value = f * real(terms[0]) + real(terms[1])
        for k in ti.static(range(2, n_terms)):
            value = value * f + real(terms[k])
        return ti.select(x > real(smallest), value * ti.bit_cast((n + bias) << mantissa, real), real(0.0))

    return composed


def _terms(n: int, dtype: "np.dtype[np.floating]") -> list[float]:
    """Coefficients of a polynomial for 2^x, |x| <= 1/2, highest power first: what one loses, the next make up for."""
    places = 0.5 * np.cos(np.pi * (np.arange(4 * n) + 0.5) / (4 * n))
    left, terms = 2.0**places, []
    for power in range(n):
        columns = places[:, None] ** np.arange(power, n)
        fitted = 1.0 if power == 0 else np.linalg.lstsq(columns, left, rcond=None)[0][0]
        terms.append(float(dtype.type(fitted)))
        left = left - terms[-1] * places**power
    return terms[::-1]


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


@ti.func
def largest_of(values):
    """The largest magnitude in a vector, of what LLVM has for vectors, see `_taichi.with_vectors`."""
    either = ti.max(values, 0.0 - values)
    largest = either[0]
    for s in ti.static(range(1, values.n)):
        largest = ti.max(largest, either[s])
    return largest
