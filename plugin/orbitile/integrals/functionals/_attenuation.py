r"""Exchange of electrons that repel each other with erfc(omega r)/r, from that of 1/r.

The scheme of H. Iikura, T. Tsuneda, T. Yanai and K. Hirao (J. Chem. Phys. 2001, 115, 3540): the factor of the uniform
gas (P. M. W. Gill, R. D. Adamson and J. A. Pople, Mol. Phys. 1996, 88, 1005),

.. math::  F = 1 - \frac{8}{3} a \left[\sqrt{\pi}\, \mathrm{erf}\frac{1}{2a} + (2a - 4a^3) e^{-1/4a^2} - 3a + 4a^3
    \right], \qquad a = \frac{\omega}{2 k_\sigma}, \quad k_\sigma = \sqrt{9\pi / K_\sigma}\, \rho_\sigma^{1/3}

where :math:`f = -\tfrac12 K_\sigma \rho_\sigma^{4/3}` is the energy per volume without attenuation. Here it is a
function of :math:`u = 1/4a^2`, by its series where u is small.
"""

from __future__ import annotations

from math import factorial, pi

from taichi_kernels.expressions import Expression, above, at_least, at_most, erf, exp, sqrt

_SMALL, _TERMS = 1.0, 19
"""Largest u for the series, and what its last term leaves out is below 1e-18."""


def attenuated(density: Expression, energy: Expression, omega: float) -> Expression:
    """Exchange energy per volume of the electrons of one spin at short range, from that of 1/r."""
    u = density * density / energy * (-9 * pi / (2 * omega**2))
    is_large, larger = above(u, _SMALL), at_least(u, _SMALL)
    root, inverse = sqrt(larger), 1 / larger
    closed = 1 - 4 / 3 * (pi**0.5 * erf(root) / root)
    closed += inverse * (2 - 2 / 3 * inverse - (4 / 3 - 2 / 3 * inverse) * exp(-larger))
    smaller = at_most(u, _SMALL)
    series = u.on.constant(0.0)
    for k in range(_TERMS, 0, -1):
        term = (8 / (2 * k + 1) - 4 / (k + 1) - 2 / ((k + 1) * (k + 2))) / (3 * factorial(k))
        series = (series + (-1) ** (k + 1) * term) * smaller
    return energy * (is_large * closed + (1 - is_large) * series)
