r"""Perdew, Burke and Ernzerhof (Phys. Rev. Lett. 1996, 77, 3865), and what others made of it.

Exchange, for each spin as for a density of twice the size: the uniform gas times

.. math::  F(s) = 1 + \kappa \frac{\mu s^2 / \kappa}{1 + \mu s^2 / \kappa}, \qquad
    s = \frac{|\nabla\rho|}{2 (3\pi^2)^{1/3} \rho^{4/3}}

with other constants in revPBE (Y. Zhang and W. Yang, Phys. Rev. Lett. 1998, 80, 890) and PBEsol (J. P. Perdew et al.,
Phys. Rev. Lett. 2008, 100, 136406), and as :math:`1 + \kappa (1 - e^{-\mu s^2/\kappa})` in RPBE (B. Hammer,
L. B. Hansen and J. K. Norskov, Phys. Rev. B 1999, 59, 7413).

Correlation, with the uniform gas of Perdew and Wang: :math:`\rho (\varepsilon_c + H)`,

.. math::  H = \gamma \phi^3 \ln \left[1 + \frac{\beta}{\gamma} t^2 \frac{1 + At^2}{1 + At^2 + A^2 t^4}\right], \quad
    A = \frac{\beta/\gamma}{e^{-\varepsilon_c / \gamma \phi^3} - 1}

which is written here with :math:`e = e^{-\varepsilon_c / \gamma \phi^3} - 1` and :math:`y = A t^2` as
:math:`\gamma \phi^3 \ln [1 + e\, (y + y^2) / (1 + y + y^2)]`: no digits are lost where y is large.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import log, pi

from taichi_kernels.expressions import Expression, above, at_most, cbrt, expm1, log1p, saturated

from . import slater
from ._density import SpinDensity
from .pw92 import with_more_digits

_KAPPA, BETA = 0.8040, 0.06672455060314922
GAMMA = (1 - log(2)) / pi**2
_MU = BETA * pi**2 / 3


def _enhanced(
    kappa: float, mu: float, exponential: bool, density: Expression, sigma: Expression, tau: Expression
) -> Expression:
    """Exchange energy per volume of the electrons of one spin."""
    # s^2 of twice the density and twice the gradient
    square = sigma / (4 * (6 * pi**2) ** (2 / 3) * (density * cbrt(density)) ** 2)
    step = mu / kappa * square
    if exponential:
        step = expm1(at_most(step, 500.0))
    return slater.exchange(density, sigma, tau) * (1 + kappa * saturated(step))


LEAST = 1e-12
"""Density in bohr^-3 below which there is no correlation, and what that of a spin counts as at least, as in libxc: the
potential of a spin without electrons grows with the inverse third power of this."""


def _correlation(beta: float, density: SpinDensity) -> Expression:
    """Correlation energy per volume."""
    is_enough, density = above(density.total, LEAST), density.with_at_least(LEAST)
    return is_enough * density.total * correlation_per_electron(beta, density)


def correlation_per_electron(beta: float, density: SpinDensity) -> Expression:
    """Correlation energy of an electron."""
    uniform = with_more_digits(density)
    return uniform + beyond_uniform(density, uniform, beta, GAMMA)


def phi_of(density: SpinDensity) -> Expression:
    """What scales correlation between equal and parallel spins, 1 to 2^(-1/3)."""
    if not density.polarised:
        return density.total.on.constant(1.0)
    return 0.5 * (cbrt(density.up) ** 2 + cbrt(density.down) ** 2)


def square_of_t(density: SpinDensity) -> Expression:
    """t^2."""
    total, phi = density.total, phi_of(density)
    # t^2 = sigma / (4 ks^2 phi^2 rho^2), ks^2 = 4 kF / pi, kF = (3 pi^2 rho)^(1/3)
    return density.sigma * (pi / (16 * (3 * pi**2) ** (1 / 3))) / (total * total * cbrt(total)) / (phi * phi)


def beyond_uniform(density: SpinDensity, uniform: Expression, beta: float, gamma: float) -> Expression:
    """H, with the energy of an electron in the uniform gas."""
    scale = gamma * phi_of(density) ** 3
    e = expm1(-uniform / scale)
    y = (beta / gamma) * square_of_t(density) / e
    return scale * log1p(e * saturated(y + y * y))


EXCHANGE: dict[str, Callable[[Expression, Expression, Expression], Expression]] = {
    "pbe": partial(_enhanced, _KAPPA, _MU, False),
    "pbe_r": partial(_enhanced, 1.245, _MU, False),
    "pbe_sol": partial(_enhanced, _KAPPA, 10 / 81, False),
    "rpbe": partial(_enhanced, _KAPPA, _MU, True),
}
CORRELATION: dict[str, Callable[[SpinDensity], Expression]] = {
    "pbe": partial(_correlation, BETA),
    "pbe_sol": partial(_correlation, 0.046),
}
COMPOUND = {"pbe": "pbe,pbe", "revpbe": "pbe_r,pbe", "pbesol": "pbe_sol,pbe_sol", "rpbe": "rpbe,pbe"}
