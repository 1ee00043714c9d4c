"""What formulas of correlation are made of: densities by spin, and the uniform gas between equal and parallel spins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from taichi_kernels.expressions import Expression, at_least, cbrt, taken_at_least

_LEAST = 2.0**-52
"""1 + zeta and 1 - zeta are no less, as in libxc: PBE's potential has no bound there."""


@dataclass(frozen=True, eq=False)
class SpinDensity:
    r"""A density and its gradient, by spin.

    Attributes
    ----------
    total : Expression
        Density of all electrons, in bohr^-3.
    alpha, beta : Expression
        Those of each spin.
    up, down : Expression
        1 + zeta and 1 - zeta, zeta being the density of alpha less that of beta over the total.
    sigma, sigma_alpha, sigma_beta : Expression
        :math:`|\nabla\rho|^2`, and that of each spin, in bohr^-8.
    polarised : bool
        Whether the spins differ.
    """

    total: Expression
    alpha: Expression
    beta: Expression
    up: Expression
    down: Expression
    sigma: Expression
    sigma_alpha: Expression
    sigma_beta: Expression
    polarised: bool

    def with_at_least(self, least: float) -> SpinDensity:
        """The same, with no less than some density of each spin where these differ."""
        if not self.polarised:
            return self
        alpha, beta = (taken_at_least(density, least) for density in (self.alpha, self.beta))
        return _polarised(alpha, beta, self.sigma, self.sigma_alpha, self.sigma_beta)


def of_equal_spins(total: Expression, sigma: Expression) -> SpinDensity:
    """That of a density and the square of its gradient."""
    half, quarter, one = 0.5 * total, 0.25 * sigma, total.on.constant(1.0)
    return SpinDensity(total, half, half, one, one, sigma, quarter, quarter, polarised=False)


def of_spins(alpha: Expression, beta: Expression, aa: Expression, ab: Expression, bb: Expression) -> SpinDensity:
    """That of the densities of both spins and the products of their gradients."""
    return _polarised(alpha, beta, aa + 2 * ab + bb, aa, bb)


def _polarised(alpha: Expression, beta: Expression, sigma: Expression, aa: Expression, bb: Expression) -> SpinDensity:
    total = alpha + beta
    up, down = (at_least(2 * density / total, _LEAST) for density in (alpha, beta))
    return SpinDensity(total, alpha, beta, up, down, sigma, aa, bb, polarised=True)


def interpolated(
    density: SpinDensity, part: Callable[[int], Expression], curvature: float, stiffness: float
) -> Expression:
    r"""Energy of an electron (S. H. Vosko, L. Wilk and M. Nusair, Can. J. Phys. 1980, 58, 1200, equation 3.2).

    .. math::  \varepsilon = \varepsilon_0 + \alpha \frac{f}{f''(0)} (1 - \zeta^4) + (\varepsilon_1 - \varepsilon_0)
        f \zeta^4, \qquad f(\zeta) = \frac{(1 + \zeta)^{4/3} + (1 - \zeta)^{4/3} - 2}{2^{4/3} - 2}

    Parameters
    ----------
    density
        Where the spins are equal, the first part is all.
    part
        Gives energies of equal spins (0) and of parallel ones (1), and the spin stiffness (2).
    curvature
        f''(0).
    stiffness
        Factor of what stands for the spin stiffness.
    """
    equal = part(0)
    if not density.polarised:
        return equal
    up, down = density.up, density.down
    f = (up * cbrt(up) + down * cbrt(down) - 2) / (2 * 2 ** (1 / 3) - 2)
    zeta4 = ((density.alpha - density.beta) / density.total) ** 4  # 1 + zeta and 1 - zeta have bounds
    return equal + (stiffness / curvature) * part(2) * f * (1 - zeta4) + (part(1) - equal) * f * zeta4
