r"""Tao, Perdew, Staroverov and Scuseria (Phys. Rev. Lett. 2003, 91, 146401), and the hybrid TPSSh.

With :math:`\tau_W = |\nabla\rho|^2 / 8\rho`, :math:`p = s^2`, :math:`z = \tau_W / \tau` and :math:`\alpha = (\tau -
\tau_W) / \tau_u`, exchange is that of the uniform gas times :math:`1 + x / (1 + x/\kappa)`, x being equation 10 there;
correlation is

.. math::  \rho\, \varepsilon (1 + d\, \varepsilon z^3), \qquad \varepsilon = \varepsilon_\text{PBE} (1 + C z^2)
    - (1 + C) z^2 \sum_\sigma \frac{\rho_\sigma}{\rho} \max(\varepsilon_\text{PBE}^\sigma, \varepsilon_\text{PBE})

where :math:`\varepsilon^\sigma_\text{PBE}` is for the electrons of one spin alone, and C depends on the polarisation
and on its gradient.
"""

from __future__ import annotations

from math import pi
from math import sqrt as root_of

from taichi_kernels.expressions import Expression, above, at_least, cbrt, saturated, sqrt

from . import slater
from ._density import SpinDensity, bounded_tau
from .b97 import reduced
from .pbe import BETA, LEAST, correlation_per_electron

_B, _C, _E, _KAPPA, _MU = 0.40, 1.59096, 1.537, 0.804, 0.21951
_SECOND_ORDER = 10 / 81
_UNIFORM: float = 0.3 * (6 * pi**2) ** (2 / 3)

_D = 2.8

_SMALLEST = 1e-30
"""Square below which a root is that of this: its slope has no bound."""


def exchange(density: Expression, sigma: Expression, tau: Expression) -> Expression:
    """Energy per volume of the electrons of one spin."""
    tau, square = bounded_tau(density, sigma, tau), reduced(density, sigma)
    p = square / (4 * (6 * pi**2) ** (2 / 3))
    z = sigma / (8 * density * tau)
    alpha = (tau / (density * cbrt(density) ** 2) - square / 8) / _UNIFORM
    q = 9 / 20 * (alpha - 1) / sqrt(1 + _B * alpha * (alpha - 1)) + 2 / 3 * p
    root = sqrt(at_least(0.5 * (0.36 * z * z + p * p), _SMALLEST))
    numerator = (
        (_SECOND_ORDER + _C * z * z / (1 + z * z) ** 2) * p
        + 146 / 2025 * q * q
        - 73 / 405 * q * root
        + _SECOND_ORDER**2 / _KAPPA * p * p
        + 2 * root_of(_E) * _SECOND_ORDER * 0.36 * z * z
        + _E * _MU * p * p * p
    )
    x = numerator / (1 + root_of(_E) * p) ** 2
    return slater.exchange(density, sigma, tau) * (1 + _KAPPA * saturated(x / _KAPPA))


def correlation(density: SpinDensity) -> Expression:
    """Energy per volume."""
    is_enough, density = above(density.total, LEAST), density.with_at_least(LEAST)
    total, of_all = density.total, correlation_per_electron(BETA, density)
    z = density.sigma / (8 * total * bounded_tau(total, density.sigma, density.tau))
    if density.polarised:
        alone = [of_all + at_least(correlation_per_electron(BETA, spin) - of_all, 0.0) for spin in density.spins]
        of_spins = 0.5 * (density.up * alone[0] + density.down * alone[1])
    else:
        of_spins = of_all + at_least(correlation_per_electron(BETA, density.spins[0]) - of_all, 0.0)
    c = _c(density)
    energy = of_all * (1 + c * z * z) - (1 + c) * z * z * of_spins
    return is_enough * total * energy * (1 + _D * energy * z * z * z)


def _c(density: SpinDensity) -> Expression:
    """C: equations 13 and 14."""
    if not density.polarised:
        return density.total.on.constant(0.53)
    alpha, beta, up, down = density.alpha, density.beta, density.up, density.down
    zeta2 = ((alpha - beta) / density.total) ** 2
    # half of the square of the gradient of zeta, times the fourth power of the density
    across = density.sigma - density.sigma_alpha - density.sigma_beta
    change = 2 * (beta * beta * density.sigma_alpha + alpha * alpha * density.sigma_beta - alpha * beta * across)
    power = density.total * cbrt(density.total)
    change *= (1 / (up * cbrt(up)) + 1 / (down * cbrt(down))) / (4 * (3 * pi**2) ** (2 / 3))
    along = change / (power * power * density.total**2)
    return (0.53 + zeta2 * (0.87 + zeta2 * (0.50 + zeta2 * 2.26))) / (1 + along) ** 4


EXCHANGE = {"tpss": exchange}
CORRELATION = {"tpss": correlation}
COMPOUND = {"tpss": "tpss,tpss", "tpssh": "0.1*hf+0.9*tpss,tpss"}
