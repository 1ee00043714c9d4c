r"""Correlation of the uniform electron gas, formula V of S. H. Vosko, L. Wilk and M. Nusair.

Can. J. Phys. 1980, 58, 1200, equation 4.4: with :math:`x = \sqrt{r_s}`, :math:`X(x) = x^2 + bx + c` and
:math:`Q = \sqrt{4c - b^2}`

.. math::  \varepsilon = A \left\{ \ln\frac{x^2}{X} + \frac{2b}{Q} \tan^{-1}\frac{Q}{2x + b} - \frac{b x_0}{X(x_0)}
    \left[ \ln\frac{(x - x_0)^2}{X} + \frac{2(b + 2x_0)}{Q} \tan^{-1}\frac{Q}{2x + b} \right] \right\}
"""

from __future__ import annotations

from math import pi
from math import sqrt as root_of

from taichi_kernels.expressions import Expression, atan, cbrt, log1p, sqrt

from ._density import SpinDensity, between_spins, interpolated

_A = (0.0310907, 0.01554535, -1 / (6 * pi**2))
_X0 = (-0.10498, -0.32500, -0.0047584)
_B = (3.72744, 7.06042, 1.13107)
_C = (12.9352, 18.0578, 13.0045)
_RPA_X0 = (-0.409286, -0.743294)
_RPA_B = (13.0720, 20.1231)
_RPA_C = (42.7198, 101.578)
"""What the authors fitted to the random-phase approximation: equal and parallel spins."""

_CURVATURE = 4 / (9 * (2 ** (1 / 3) - 1))


def correlation(density: SpinDensity) -> Expression:
    """Energy per volume."""
    x = sqrt(cbrt(3 / (4 * pi) / density.total))
    return density.total * interpolated(
        density, lambda n: _part(x, _A[n], _X0[n], _B[n], _C[n]), _CURVATURE, stiffness=1.0
    )


def in_random_phase_approximation(density: SpinDensity) -> Expression:
    """The same without the spin stiffness and with other constants."""
    x = sqrt(cbrt(3 / (4 * pi) / density.total))
    equal, parallel = (_part(x, *constants) for constants in zip(_A, _RPA_X0, _RPA_B, _RPA_C, strict=False))
    return density.total * (equal + (parallel - equal) * between_spins(density))


def _part(x: Expression, a: float, x0: float, b: float, c: float) -> Expression:
    """Energy of an electron by formula V."""
    q = root_of(4 * c - b * b)
    angle = atan(q / (2 * x + b))
    # logarithms of quotients that come close to 1 where the density is low
    first = -log1p((b * x + c) / x**2)
    second = -log1p(((b + 2 * x0) * x + (c - x0 * x0)) / (x - x0) ** 2)
    beside = -b * x0 / (x0 * x0 + b * x0 + c)
    return a * (first + (2 * b / q) * angle + beside * (second + (2 * (b + 2 * x0) / q) * angle))


CORRELATION = {"vwn": correlation, "vwn5": correlation, "vwn_rpa": in_random_phase_approximation}
COMPOUND = {"svwn": "slater,vwn"}
