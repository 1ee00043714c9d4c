r"""omega-B97X (J.-D. Chai and M. Head-Gordon, J. Chem. Phys. 2008, 128, 084106).

A power series in :math:`u = \gamma x^2 / (1 + \gamma x^2)`, with the reduced gradient x of a spin, after A. D. Becke
(J. Chem. Phys. 1997, 107, 8554): of the exchange of the uniform gas at short range, and of its correlation between
electrons of the same spin and of opposite spins.
"""

from __future__ import annotations

from collections.abc import Sequence

from taichi_kernels.expressions import Expression, cbrt, saturated

from . import slater
from ._attenuation import attenuated
from ._density import SpinDensity
from .pw92 import by_spins

_OMEGA = 0.3
_EXCHANGE = (0.842294, 0.726479, 1.0476, -5.70635, 13.2794)
_SAME = (1.0, -4.33879, 18.2308, -31.743, 17.2901)
_OPPOSITE = (1.0, 2.37031, -11.3995, 6.58405, -3.78132)


def reduced(density: Expression, sigma: Expression) -> Expression:
    """Square of the reduced gradient of a spin."""
    power = density * cbrt(density)
    return sigma / (power * power)


def series(coefficients: Sequence[float], x: Expression) -> Expression:
    """A power series."""
    value = x.on.constant(coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value = value * x + coefficient
    return value


def exchange(density: Expression, sigma: Expression, tau: Expression) -> Expression:
    """Energy per volume of the electrons of one spin."""
    uniform = attenuated(density, slater.exchange(density, sigma, tau), _OMEGA)
    return uniform * series(_EXCHANGE, saturated(0.004 * reduced(density, sigma)))


def correlation(density: SpinDensity) -> Expression:
    """Energy per volume."""
    alpha, beta, opposite = by_spins(density, printed=True)
    x_alpha = density.has_alpha * reduced(density.alpha, density.sigma_alpha)
    x_beta = density.has_beta * reduced(density.beta, density.sigma_beta)
    energy = opposite * series(_OPPOSITE, saturated(0.003 * (x_alpha + x_beta)))
    return energy + alpha * series(_SAME, saturated(0.2 * x_alpha)) + beta * series(_SAME, saturated(0.2 * x_beta))


EXCHANGE = {"wb97x(semilocal)": exchange}
CORRELATION = {"wb97x(semilocal)": correlation}
COMPOUND = {"wb97x": "0.157706*hf+0.842294*lr_hf(0.3)+wb97x(semilocal),wb97x(semilocal)"}
