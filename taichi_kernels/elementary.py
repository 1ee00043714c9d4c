"""Functions of kernels: the exponential, Gaussians along an axis, and elementary functions in double precision.

Shaders of Vulkan have square roots in double precision and no other function: there, others follow from arithmetic and
from what single precision knows. Compilers may reorder sums, so none of them relies on how a sum is rounded.
"""

from collections.abc import Callable
from functools import lru_cache
from math import factorial
from types import SimpleNamespace

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


@lru_cache
def elementary(target: Target) -> SimpleNamespace:
    """Taichi functions exp, expm1, log1p, cbrt, atan and erf for numbers in double precision.

    Parameters
    ----------
    target
        Its precision has to be double.

    Returns
    -------
    SimpleNamespace
        exp takes numbers that are not positive, expm1 those from 0 to 600, log1p, atan and erf those that are not
        negative, cbrt those from 1e-30 to 1e30. Relative errors are below 1e-14.
    """
    real = ti.f64
    exp = exponential(target)
    composed = target.device == "vulkan"

    @ti.func
    def cbrt(x):
        root = real(0.0)
        if ti.static(composed):
            root = ti.cast(ti.pow(ti.cast(x, ti.f32), ti.f32(1 / 3)), real)
            for _ in ti.static(range(3)):
                root -= (root - x / (root * root)) * real(1 / 3)
        else:
            root = ti.pow(x, real(1 / 3))
        return root

    @ti.func
    def log(x):
        """Of a number from 1 to 1e38."""
        value = real(0.0)
        if ti.static(composed):
            value = ti.cast(ti.log(ti.cast(x, ti.f32)), real)
            rest = x * exp(-value) - 1.0
            value += rest * (1.0 - rest * (real(0.5) - rest * real(1 / 3)))
        else:
            value = ti.log(x)
        return value

    @ti.func
    def log1p(x):
        value = real(0.0)
        if x < 0.25:  # 2 artanh(x / (2 + x))
            s = x / (2.0 + x)
            square = s * s
            for k in ti.static(range(8, -1, -1)):
                value = value * square + real(2 / (2 * k + 1))
            value *= s
        else:
            value = log(1.0 + x)
        return value

    @ti.func
    def expm1(x):
        value = real(0.0)
        if x < 0.5:
            for k in ti.static(range(15, 0, -1)):
                value = 1.0 + value * x * real(1 / (k + 1))
            value *= x
        else:
            value = 1.0 / exp(-x) - 1.0
        return value

    @ti.func
    def atan(x):
        value = real(0.0)
        if ti.static(composed):
            y = ti.select(x > 1.0, 1.0 / x, x)
            for _ in ti.static(range(2)):  # half the angle
                y /= 1.0 + ti.sqrt(1.0 + y * y)
            square = y * y
            for k in ti.static(range(12, -1, -1)):
                value = real((-1) ** k / (2 * k + 1)) + value * square
            value *= 4.0 * y
            value = ti.select(x > 1.0, real(1.5707963267948966) - value, value)
        else:
            value = ti.atan2(x, real(1.0))
        return value

    first = [2 / np.sqrt(np.pi) * (-1) ** k / (factorial(k) * (2 * k + 1)) for k in range(13)]
    terms = _scaled_erfc()

    @ti.func
    def erf(x):
        value = real(0.0)
        if x < 0.5:
            for k in ti.static(range(12, -1, -1)):
                value = real(first[k]) + value * x * x
            value *= x
        else:  # 1 - erfc, whose series is summed up as C. W. Clenshaw does (Math. Comp. 1955, 9, 118)
            t = (x - real(_MIDDLE)) / (x + real(_MIDDLE))
            above = real(0.0)
            for k in ti.static(range(len(terms) - 1, 0, -1)):
                value, above = real(terms[k]) + 2.0 * t * value - above, value
            value = real(terms[0]) + t * value - above
            value = 1.0 - exp(-x * x) * value / (1.0 + 2.0 * x)
        return value

    return SimpleNamespace(exp=exp, expm1=expm1, log1p=log1p, cbrt=cbrt, atan=atan, erf=erf)


_MIDDLE = 3.75
"""What half of the range of t = (x - c)/(x + c) is for."""


@lru_cache
def _scaled_erfc() -> tuple[float, ...]:
    """Coefficients of Chebyshev polynomials of t for (1 + 2x) exp(x^2) erfc(x), x not negative.

    The variable and the factor are those of M. M. Shepherd and J. G. Laframboise, Math. Comp. 1981, 36, 249.
    """
    from scipy.special import erfcx

    def of(t: np.ndarray) -> np.ndarray:
        x = _MIDDLE * (1 + t) / (1 - t)
        return (1 + 2 * x) * erfcx(x)

    return tuple(np.polynomial.chebyshev.chebinterpolate(of, 27).tolist())
