r"""r2SCAN (J. W. Furness, A. D. Kaplan, J. Ning, J. P. Perdew and J. Sun, J. Phys. Chem. Lett. 2020, 11, 8208).

Both parts pass from that of a single orbital (0) to that of the slowly varying gas (1) by a function of :math:`\alpha =
(\tau - \tau_W) / (\tau_u + \eta \tau_W)`: :math:`f_1 + f(\alpha) (f_0 - f_1)`. Equation numbers are those of its
supporting information. The hybrids: M. Bursch, H. Neugebauer, S. Ehlert and S. Grimme, J. Chem. Phys. 2022, 156,
134105.
"""

from __future__ import annotations

from math import pi

from taichi_kernels.expressions import (
    Expression,
    above,
    at_least,
    at_most,
    cbrt,
    derivatives,
    exp,
    expm1,
    log1p,
    sqrt,
)

from . import slater
from ._density import SpinDensity, between_spins, bounded_tau
from .b97 import reduced, series
from .pbe import GAMMA, LEAST, phi_of, square_of_t
from .pw92 import radius_of, with_more_digits

_ETA, _RANGE4 = 0.001, 0.361**4
_UNIFORM: float = 0.3 * (6 * pi**2) ** (2 / 3)
_SECOND_ORDER = 10 / 81

_H0, _K1, _A1 = 1.174, 0.065, 4.9479
_EXCHANGE = (
    *(1.0, -0.667, -0.4445555, -0.663086601049),
    *(1.451297044490, -0.887998041597, 0.234528941479, -0.023185843322),
)
_CORRELATION = (
    *(1.0, -0.64, -0.4352, -1.535685604549),
    *(3.061560252175, -1.915710236206, 0.516884468372, -0.051848879792),
)
"""Of f up to alpha = 2.5."""

_BEYOND = 2.5

_B1, _B2, _B3 = 0.0285764, 0.0889, 0.125541
_CHI = 0.12802585262625815

_SMALLEST = 1e-30
"""Square of s below which it is 0."""


def exchange(density: Expression, sigma: Expression, tau: Expression) -> Expression:
    """Energy per volume of the electrons of one spin."""
    square = reduced(density, sigma)
    t = bounded_tau(density, sigma, tau) / (density * cbrt(density) ** 2)
    p = square / (4 * (6 * pi**2) ** (2 / 3))
    f = _switch((t - square / 8) / (_UNIFORM + _ETA / 8 * square), _EXCHANGE, 0.8, 1.24)
    slope = sum(n * c for n, c in enumerate(_EXCHANGE))  # of f at alpha = 1, S12
    fourth = (20 / 27 + 5 / 3 * _ETA) * slope * (_H0 - 1)
    x = (fourth * exp(-(p * p) / _RANGE4) + _SECOND_ORDER) * p
    h1 = 1 + _K1 * x / (_K1 + x)
    g = 1 - exp(-_A1 / sqrt(sqrt(at_least(p, _SMALLEST))))
    return slater.exchange(density, sigma, tau) * (h1 + f * (_H0 - h1)) * g


def correlation(density: SpinDensity) -> Expression:
    """Energy per volume."""
    is_enough, density = above(density.total, LEAST), density.with_at_least(LEAST)
    total, sigma = density.total, density.sigma
    radius, uniform, phi3 = radius_of(total), with_more_digits(density), phi_of(density) ** 3
    square = reduced(total, sigma)
    p = square / (4 * (3 * pi**2) ** (2 / 3))
    between = total.on.constant(1.0)
    if density.polarised:  # d_s of S28, and G_c of S38
        between = 0.5 * (density.up * cbrt(density.up) ** 2 + density.down * cbrt(density.down) ** 2)
    t = bounded_tau(total, sigma, density.tau) / (total * cbrt(total) ** 2)
    alpha = (t - square / 8) / (0.3 * (3 * pi**2) ** (2 / 3) * between + _ETA / 8 * square)
    f = _switch(alpha, _CORRELATION, 1.5, 0.7)

    lowest = -_B1 / (1 + _B2 * sqrt(radius) + _B3 * radius)
    polarisation = _polarisation(density)
    g0 = 1 / sqrt(sqrt(1 + 4 * _CHI * p))
    energy0 = (lowest + _B1 * log1p(expm1(-lowest / _B1) * (1 - g0))) * polarisation

    w = expm1(-uniform / (GAMMA * phi3))
    beta = 0.066724550603149220 * (1 + 0.1 * radius) / (1 + 0.1778 * radius)
    y = beta / GAMMA * square_of_t(density) / w
    difference = lowest * polarisation - uniform
    (slope,) = derivatives(difference, [radius])
    curvature = sum(n * c for n, c in enumerate(_CORRELATION))
    change = (curvature / (27 * GAMMA)) * (20 * radius * slope - 45 * _ETA * difference)
    y -= change * p * exp(-(p * p) / _RANGE4) / (between * phi3 * w)
    g1 = 1 / sqrt(sqrt(1 + 4 * y))
    energy1 = uniform + GAMMA * phi3 * log1p(w * (1 - g1))
    return is_enough * total * (energy1 + f * (energy0 - energy1))


def _polarisation(density: SpinDensity) -> Expression:
    if not density.polarised:
        return density.total.on.constant(1.0)
    zeta4 = ((density.alpha - density.beta) / density.total) ** 4
    return (1 - 2.363 * (2 ** (1 / 3) - 1) * between_spins(density)) * (1 - zeta4**3)


def _switch(alpha: Expression, coefficients: tuple[float, ...], c2: float, d: float) -> Expression:
    """f(alpha), which is 1 for a single orbital, S7 to S9."""
    is_beyond = above(alpha, _BEYOND)
    beyond = -d * exp(c2 / (1 - at_least(alpha, _BEYOND)))
    return is_beyond * beyond + (1 - is_beyond) * series(coefficients, at_most(alpha, _BEYOND))


EXCHANGE = {"r2scan": exchange}
CORRELATION = {"r2scan": correlation}
COMPOUND = {
    "r2scan": "r2scan,r2scan",
    "r2scanh": "0.1*hf+0.9*r2scan,r2scan",
    "r2scan0": "0.25*hf+0.75*r2scan,r2scan",
    "r2scan50": "0.5*hf+0.5*r2scan,r2scan",
}
