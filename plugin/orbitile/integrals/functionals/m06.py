r"""M06-L, M06 and M06-2X.

Y. Zhao and D. G. Truhlar, J. Chem. Phys. 2006, 125, 194101 and Theor. Chem. Acc. 2008, 120, 215. Exchange is that of
PBE times a power series in :math:`w = (\tau_u - \tau_\sigma) / (\tau_u + \tau_\sigma)`, :math:`\tau_u` being that of
the uniform gas, and that of the uniform gas times

.. math::  h = \frac{d_0}{\gamma} + \frac{d_1 x^2 + d_2 z}{\gamma^2} + \frac{d_3 x^4 + d_4 x^2 z}{\gamma^3}, \qquad
    \gamma = 1 + \alpha (x^2 + z), \quad z = 2 (\tau_\sigma - \tau_u) / \rho_\sigma^{5/3}

(T. Van Voorhis and G. E. Scuseria, J. Chem. Phys. 1998, 109, 400). Correlation between equal and between opposite spins
is that of the uniform gas times a series as in B97, and h. That of equal spins is also times :math:`1 - |\nabla
\rho_\sigma|^2 / 8 \rho_\sigma \tau_\sigma`, nothing for a single electron.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import pi
from typing import NamedTuple

from taichi_kernels.expressions import Expression, cbrt, saturated

from . import pbe, slater
from ._density import SpinDensity, bounded_tau
from .b97 import reduced, series
from .pw92 import by_spins

_UNIFORM: float = 0.3 * (6 * pi**2) ** (2 / 3)
"""tau of the uniform gas over the power 5/3 of the density of a spin."""


class _Series(NamedTuple):
    """Coefficients of the power series, and of h."""

    powers: tuple[float, ...]
    d: tuple[float, ...]


def _exchange(given: _Series, density: Expression, sigma: Expression, tau: Expression) -> Expression:
    """Energy per volume of the electrons of one spin."""
    t = _reduced_tau(density, bounded_tau(density, sigma, tau))
    w = (_UNIFORM - t) / (_UNIFORM + t)
    energy = pbe.EXCHANGE["pbe"](density, sigma, tau) * series(given.powers, w)
    if not any(given.d):
        return energy
    beyond = _h(0.00186726, given.d, reduced(density, sigma), 2 * (t - _UNIFORM))
    return energy + slater.exchange(density, sigma, tau) * beyond


def _correlation(same: _Series, opposite: _Series, density: SpinDensity) -> Expression:
    """Energy per volume."""
    *by_spin, of_both = by_spins(density, printed=False)
    energy, squares, excesses = density.total.on.constant(0.0), [], []
    for uniform, has, rho, sigma, given in zip(
        by_spin,
        (density.has_alpha, density.has_beta),
        (density.alpha, density.beta),
        (density.sigma_alpha, density.sigma_beta),
        (density.tau_alpha, density.tau_beta),
        strict=True,
    ):
        tau = bounded_tau(rho, sigma, given)
        square, excess = has * reduced(rho, sigma), 2 * has * (_reduced_tau(rho, tau) - _UNIFORM)
        enhanced = series(same.powers, saturated(0.06 * square)) + _h(0.00515088, same.d, square, excess)
        energy += uniform * enhanced * (1 - sigma / (8 * rho * tau))
        squares.append(square)
        excesses.append(excess)
    square, excess = squares[0] + squares[1], excesses[0] + excesses[1]
    enhanced = series(opposite.powers, saturated(0.0031 * square)) + _h(0.00304966, opposite.d, square, excess)
    return energy + of_both * enhanced


def _reduced_tau(density: Expression, tau: Expression) -> Expression:
    return tau / (density * cbrt(density) ** 2)


def _h(alpha: float, d: tuple[float, ...], square: Expression, excess: Expression) -> Expression:
    inverse = 1 / (1 + alpha * (square + excess))
    first, second, third = d[0], d[1] * square + d[2] * excess, square * (d[3] * square + d[4] * excess)
    return inverse * (first + inverse * (second + inverse * third))


EXCHANGE: dict[str, Callable[[Expression, Expression, Expression], Expression]] = {
    name: partial(_exchange, given)
    for name, given in {
        "m06_l": _Series(
            (
                *(0.3987756, 0.2548219, 0.3923994, -2.103655, -6.302147, 10.97615),
                *(30.97273, -23.18489, -56.7348, 21.60364, 34.21814, -9.049762),
            ),
            (0.6012244, 0.004748822, -0.008635108, -9.308062e-06, 4.482811e-05),
        ),
        "m06(semilocal)": _Series(
            (
                *(0.5877943, -0.1371776, 0.2682367, -2.515898, -2.978892, 8.710679),
                *(16.88195, -4.489724, -32.99983, -14.4905, 20.43747, 12.56504),
            ),
            (0.1422057, 0.0007370319, -0.01601373, 0.0, 0.0),
        ),
        "m06_2x(semilocal)": _Series(
            (
                *(0.46, -0.2206052, -0.09431788, 2.164494, -2.556466, -14.22133),
                *(15.55044, 35.98078, -27.22754, -39.24093, 15.22808, 15.22227),
            ),
            (0.0, 0.0, 0.0, 0.0, 0.0),
        ),
    }.items()
}
CORRELATION: dict[str, Callable[[SpinDensity], Expression]] = {
    "m06_l": partial(
        _correlation,
        _Series(
            (0.5349466, 0.539662, -31.61217, 51.49592, -29.19613),
            (0.4650534, 0.1617589, 0.1833657, 0.00046921, -0.004990573),
        ),
        _Series(
            (0.6042374, 177.6783, -251.3252, 76.35173, -12.55699),
            (0.3957626, -0.5614546, 0.01403963, 0.0009831442, -0.003577176),
        ),
    ),
    "m06": partial(
        _correlation,
        _Series(
            (0.5094055, -1.491085, 17.23922, -38.59018, 28.45044),
            (0.4905945, -0.1437348, 0.2357824, 0.001871015, -0.003788963),
        ),
        _Series(
            (3.741539, 218.7098, -453.1252, 293.6479, -62.8747),
            (-2.741539, -0.6720113, -0.07932688, 0.001918681, -0.002032902),
        ),
    ),
    "m06_2x": partial(
        _correlation,
        _Series(
            (0.3097855, -5.528642, 13.4742, -32.13623, 28.46742),
            (0.6902145, 0.09847204, 0.2214797, -0.001968264, -0.006775479),
        ),
        _Series(
            (0.8833596, 33.57972, -70.43548, 49.78271, -18.52891),
            (0.1166404, -0.09120847, -0.06726189, 6.72058e-05, 0.0008448011),
        ),
    ),
}
COMPOUND = {
    "m06_l": "m06_l,m06_l",
    "m06": "0.27*hf+m06(semilocal),m06",
    "m06_2x": "0.54*hf+m06_2x(semilocal),m06_2x",
}
