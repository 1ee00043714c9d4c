r"""Correlation of C. Lee, W. Yang and R. G. Parr (Phys. Rev. B 1988, 37, 785).

In the form without second derivatives of B. Miehlich, A. Savin, H. Stoll and H. Preuss (Chem. Phys. Lett. 1989, 157,
200, equation 2).
"""

from __future__ import annotations

from math import pi

from taichi_kernels.expressions import Expression, cbrt, exp

from ._density import SpinDensity

_A, _B, _C, _D = 0.04918, 0.132, 0.2533, 0.349
_KINETIC: float = 2 ** (11 / 3) * 0.3 * (3 * pi**2) ** (2 / 3)


def correlation(density: SpinDensity) -> Expression:
    """Energy per volume."""
    total = density.total
    alpha, beta = density.alpha, density.beta
    inverse_root = 1 / cbrt(total)
    screened = 1 / (1 + _D * inverse_root)
    delta = inverse_root * (_C + _D * screened)
    omega = exp(-_C * inverse_root) * screened * inverse_root**11
    kinetic = _KINETIC * (cbrt(alpha) ** 8 + cbrt(beta) ** 8)
    sigma, sigma_alpha, sigma_beta = density.sigma, density.sigma_alpha, density.sigma_beta
    of_pairs = (
        kinetic
        + (47 / 18 - 7 / 18 * delta) * sigma
        - (5 / 2 - delta / 18) * (sigma_alpha + sigma_beta)
        - (delta - 11) / 9 * 0.5 * (density.up * sigma_alpha + density.down * sigma_beta)
    )
    square = 2 / 3 * total**2
    of_gradients = (square - alpha**2) * sigma_beta + (square - beta**2) * sigma_alpha - square * sigma
    return -4 * _A * alpha * beta / total * screened - _A * _B * omega * (alpha * beta * of_pairs + of_gradients)


CORRELATION = {"lyp": correlation}
