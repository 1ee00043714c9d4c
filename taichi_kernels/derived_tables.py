"""Tables of derivatives along an axis; see `orders`."""

from collections.abc import Callable

from ._taichi import ti


def derived_polynomial(real: object) -> Callable[..., object]:
    r"""A Taichi function: a polynomial that, times the Gaussian, is the first or second derivative of another times it.

    :math:`U' - 2 \zeta x U` and :math:`U'' - 4 \zeta x U' + (4 \zeta^2 x^2 - 2 \zeta) U`. Its arguments are the order,
    the number of coefficients, the place of the last, all coefficients, distances from the centre, and the exponent.
    """

    @ti.func
    def evaluate(order: ti.template(), n: ti.i32, last: ti.i32, terms: ti.template(), x, exponent: real):
        value = x * 0.0
        first = x * 0.0
        half_second = x * 0.0
        for i in range(n):  # Horner's rule, of the derivatives too
            if ti.static(order > 1):
                half_second = half_second * x + first
            first = first * x + value
            value = value * x + terms[last - i]
        slope = -2.0 * exponent * x
        result = first + slope * value
        if ti.static(order > 1):
            result = 2.0 * half_second + 2.0 * slope * first + (slope * slope - 2.0 * exponent) * value
        return result

    return evaluate


def derived_power(real: object) -> Callable[..., object]:
    """A Taichi function: the same of a power. Its arguments are the order, the power, distances, and the exponent."""

    @ti.func
    def evaluate(order: ti.template(), n: ti.i32, x, exponent: real):
        value = x * 0.0 + 1.0
        below = x * 0.0
        two_below = x * 0.0
        for _ in range(n):
            two_below = below
            below = value
            value *= x
        slope = -2.0 * exponent * x
        power = ti.cast(n, real)
        result = power * below + slope * value
        if ti.static(order > 1):
            result = power * (power - 1.0) * two_below + 2.0 * power * slope * below
            result += (slope * slope - 2.0 * exponent) * value
        return result

    return evaluate
