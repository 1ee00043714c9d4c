"""Elementary functions in double precision, also where shaders have none and where the result is small.

Shaders of Vulkan have square roots in double precision and no other function: there, others follow from arithmetic and
from what single precision knows. Compilers may reorder sums, so none of them relies on how a sum is rounded.
"""

from functools import lru_cache
from types import SimpleNamespace

from ._taichi import ti
from .gaussian import exponential
from .target import Target


@lru_cache
def elementary(target: Target) -> SimpleNamespace:
    """Taichi functions exp, expm1, log1p, cbrt and atan for numbers in double precision.

    Parameters
    ----------
    target
        Its precision has to be double.

    Returns
    -------
    SimpleNamespace
        exp takes numbers that are not positive, expm1 those from 0 to 600, log1p and atan those that are not negative,
        cbrt those from 1e-30 to 1e30. Relative errors are below 1e-14.
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

    return SimpleNamespace(exp=exp, expm1=expm1, log1p=log1p, cbrt=cbrt, atan=atan)
