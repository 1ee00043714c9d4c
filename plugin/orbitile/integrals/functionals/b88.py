r"""Exchange of A. D. Becke (Phys. Rev. A 1988, 38, 3098).

.. math::  f = f_\text{Slater}(\rho_\sigma) - \rho_\sigma^{4/3} \frac{\beta x^2}{1 + 6 \beta x \sinh^{-1} x}, \qquad
    x = \frac{|\nabla\rho_\sigma|}{\rho_\sigma^{4/3}}
"""

from __future__ import annotations

from functools import partial

from taichi_kernels.expressions import Expression, at_least, cbrt, log1p, sqrt

from . import slater
from ._attenuation import attenuated

_BETA = 0.0042

_SMALLEST = 1e-30
"""Square of x below which the denominator is 1."""


def exchange(density: Expression, sigma: Expression, tau: Expression) -> Expression:
    """Energy per volume of the electrons of one spin."""
    power = density * cbrt(density)
    square = sigma / (power * power)
    x = sqrt(at_least(square, _SMALLEST))
    inverse_sinh = log1p(x + x * x / (1 + sqrt(1 + x * x)))
    return slater.exchange(density, sigma, tau) - power * (_BETA * square) / (1 + 6 * _BETA * x * inverse_sinh)


def _at_short_range(omega: float, density: Expression, sigma: Expression, tau: Expression) -> Expression:
    return attenuated(density, exchange(density, sigma, tau), omega)


EXCHANGE = {"b88": exchange, "sr_b88(0.33)": partial(_at_short_range, 0.33)}
COMPOUND = {"blyp": "b88,lyp", "bpbe": "b88,pbe"}
