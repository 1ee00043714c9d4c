r"""Correlation of J. P. Perdew and Y. Wang (J. P. Perdew et al., Phys. Rev. B 1992, 46, 6671), and B3PW91.

That of PBE, which is made from it, with other constants, and :math:`\nu (C(r_s) - C(0) - \tfrac37 C_x)\, \phi^3 t^2
e^{-100 (k_s / k_F)^2 \phi^4 t^2}`, where :math:`k_s^2 / k_F^2 = \tfrac{4}{\pi} (4/9\pi)^{1/3} r_s`; C is from M. Rasolt
and D. J. W. Geldart, Phys. Rev. B 1986, 34, 1325. B3PW91: A. D. Becke, J. Chem. Phys. 1993, 98, 5648.
"""

from __future__ import annotations

from math import pi

from taichi_kernels.expressions import Expression, above, exp

from ._density import SpinDensity
from .pbe import LEAST, beyond_uniform, phi_of, square_of_t
from .pw92 import as_printed, radius_of

_ALPHA, _C0, _CX = 0.09, 0.004235, -0.001667
_NU = 16 / pi * (3 * pi**2) ** (1 / 3)
_BETA = _NU * _C0


def correlation(density: SpinDensity) -> Expression:
    """Energy per volume."""
    is_enough, density = above(density.total, LEAST), density.with_at_least(LEAST)
    uniform, radius, phi = as_printed(density), radius_of(density.total), phi_of(density)
    c = (2.568 + radius * (23.266 + 0.007389 * radius)) / (1 + radius * (8.723 + 0.472 * radius)) / 1000
    square = phi**3 * square_of_t(density)
    decay = exp(-400 / pi * (4 / (9 * pi)) ** (1 / 3) * radius * phi * square)
    beyond = _NU * (c - (0.002568 + 3 / 7 * _CX)) * square * decay
    beyond += beyond_uniform(density, uniform, _BETA, _BETA**2 / (2 * _ALPHA))
    return is_enough * density.total * (uniform + beyond)


CORRELATION = {"pw91": correlation}
COMPOUND = {"b3pw91": "0.2*hf+0.08*slater+0.72*b88,0.81*pw91+0.19*pw"}
