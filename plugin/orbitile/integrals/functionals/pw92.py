r"""Correlation of the uniform electron gas (J. P. Perdew and Y. Wang, Phys. Rev. B 1992, 45, 13244).

.. math::  G(r_s) = -2A (1 + \alpha r_s) \ln \left[1 + \frac{1}
    {2A (\beta_1 r_s^{1/2} + \beta_2 r_s + \beta_3 r_s^{3/2} + \beta_4 r_s^2)}\right]

for equal spins, for parallel spins, and for the spin stiffness, with the sign of the last one changed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import pi

from taichi_kernels.expressions import Expression, cbrt, log1p, sqrt

from ._density import SpinDensity, interpolated

_ALPHA = (0.21370, 0.20548, 0.11125)
_BETA = ((7.5957, 3.5876, 1.6382, 0.49294), (14.1189, 6.1977, 3.3662, 0.62517), (10.357, 3.6231, 0.88026, 0.49671))

_PRINTED = (0.031091, 0.015545, 0.016887), 1.709921
"""A as printed, and the second derivative of the interpolation between spins at equal ones."""

_EXACT = (0.0310907, 0.01554535, 0.0168869), 1.709920934161365617563962776245
"""The same with more digits: what K. Burke's program of PBE has."""


def energy_per_electron(density: SpinDensity, constants: tuple[tuple[float, ...], float]) -> Expression:
    """Correlation energy of an electron, in hartree."""
    scales, curvature = constants
    radius = radius_of(density.total)
    return interpolated(density, lambda n: _part(radius, n, scales), curvature, stiffness=-1.0)


def radius_of(density: Expression) -> Expression:
    """Radius of the sphere that an electron has, r_s, in bohr."""
    return cbrt(3 / (4 * pi) / density)


def _part(radius: Expression, n: int, scales: tuple[float, ...]) -> Expression:
    root = sqrt(radius)
    first, second, third, fourth = _BETA[n]
    sum_ = root * (first + root * (second + root * (third + root * fourth)))
    return -2 * scales[n] * (1 + _ALPHA[n] * radius) * log1p(1 / (2 * scales[n] * sum_))


def by_spins(density: SpinDensity, printed: bool) -> tuple[Expression, Expression, Expression]:
    """Correlation energy per volume: of alpha electrons, of beta electrons, and between opposite spins.

    As H. Stoll, C. M. E. Pavlidou and H. Preuss take it apart (Theor. Chim. Acta 1978, 49, 143).

    Parameters
    ----------
    density
        A spin whose density is not known has none.
    printed
        Whether constants are those printed.
    """
    constants = _PRINTED if printed else _EXACT
    alpha, beta = (
        has * rho * _part(radius_of(rho), 1, constants[0])
        for has, rho in ((density.has_alpha, density.alpha), (density.has_beta, density.beta))
    )
    return alpha, beta, _energy(constants, density) - alpha - beta


def as_printed(density: SpinDensity) -> Expression:
    """What correlation of 1991 is built on."""
    return energy_per_electron(density, _PRINTED)


def with_more_digits(density: SpinDensity) -> Expression:
    """What PBE's correlation is built on."""
    return energy_per_electron(density, _EXACT)


def _energy(constants: tuple[tuple[float, ...], float], density: SpinDensity) -> Expression:
    return density.total * energy_per_electron(density, constants)


CORRELATION: dict[str, Callable[[SpinDensity], Expression]] = {
    "pw": partial(_energy, _PRINTED),
    "pw_mod": partial(_energy, _EXACT),
}
COMPOUND = {"spw92": "slater,pw_mod"}
