r"""Exchange of the uniform electron gas (P. A. M. Dirac, 1930; J. C. Slater, Phys. Rev. 1951, 81, 385).

.. math::  f(\rho_\sigma) = -\frac{3}{2} \left(\frac{3}{4\pi}\right)^{1/3} \rho_\sigma^{4/3}
"""

from __future__ import annotations

from math import pi

from taichi_kernels.expressions import Expression, cbrt

_FACTOR: float = 1.5 * (3 / (4 * pi)) ** (1 / 3)


def exchange(density: Expression, sigma: Expression, tau: Expression) -> Expression:
    """Energy per volume of the electrons of one spin."""
    return -_FACTOR * density * cbrt(density)


EXCHANGE = {"slater": exchange, "lda": exchange}
