"""What formulas of correlation are made of: densities by spin, and the uniform gas between equal and parallel spins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from taichi_kernels.expressions import Expression, above, at_least, cbrt, taken_at_least

_LEAST_TAU = 1e-40
"""What is added to the least tau, so that quotients with it are numbers where there is no gradient."""

_LEAST = 2.0**-52
"""1 + zeta and 1 - zeta are no less, as in libxc: PBE's potential has no bound there."""


@dataclass(frozen=True, eq=False)
class SpinDensity:
    r"""A density, its gradient and tau, by spin.

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
    tau_alpha, tau_beta : Expression
        Kinetic energy density of each spin, :math:`\frac12 \sum_i n_i |\nabla\psi_i|^2`, in hartree bohr^-3.
    has_alpha, has_beta : Expression
        1 where a spin has a density that is known, 0 elsewhere.
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
    tau_alpha: Expression
    tau_beta: Expression
    has_alpha: Expression
    has_beta: Expression
    polarised: bool

    @property
    def tau(self) -> Expression:
        """Kinetic energy density of all electrons."""
        return self.tau_alpha + self.tau_beta

    @property
    def spins(self) -> tuple[SpinDensity, SpinDensity]:
        """The electrons of each spin alone."""
        zero, two, least = (self.total.on.constant(value) for value in (0.0, 2.0, _LEAST))
        no_alpha = {"alpha": zero, "sigma_alpha": zero, "tau_alpha": zero, "has_alpha": zero, "up": least, "down": two}
        no_beta = {"beta": zero, "sigma_beta": zero, "tau_beta": zero, "has_beta": zero, "up": two, "down": least}
        return (
            replace(self, total=self.alpha, sigma=self.sigma_alpha, polarised=True, **no_beta),
            replace(self, total=self.beta, sigma=self.sigma_beta, polarised=True, **no_alpha),
        )

    def with_at_least(self, least: float) -> SpinDensity:
        """The same, with no less than some density of each spin where these differ."""
        if not self.polarised:
            return self
        alpha, beta = (taken_at_least(density, least) for density in (self.alpha, self.beta))
        up, down = _shares(alpha, beta)
        return replace(self, total=alpha + beta, alpha=alpha, beta=beta, up=up, down=down)


def of_equal_spins(total: Expression, sigma: Expression, tau: Expression, limit: Expression) -> SpinDensity:
    """That of a density, the square of its gradient, and tau; what a spin has up to a limit is not known."""
    half, quarter, one = 0.5 * total, 0.25 * sigma, total.on.constant(1.0)
    of_spin, known = 0.5 * tau, above(half, limit)
    return SpinDensity(total, half, half, one, one, sigma, quarter, quarter, of_spin, of_spin, known, known, False)


def of_spins(
    densities: list[Expression], products: list[Expression], taus: list[Expression], limit: Expression
) -> SpinDensity:
    """That of the densities of both spins, the products of their gradients, and tau of both."""
    aa, ab, bb = products
    (alpha, beta), (tau_alpha, tau_beta) = densities, taus
    sigma, (up, down) = aa + 2 * ab + bb, _shares(alpha, beta)
    known = above(alpha, limit), above(beta, limit)
    return SpinDensity(alpha + beta, alpha, beta, up, down, sigma, aa, bb, tau_alpha, tau_beta, *known, polarised=True)


def _shares(alpha: Expression, beta: Expression) -> tuple[Expression, Expression]:
    """1 + zeta and 1 - zeta."""
    total = alpha + beta
    return at_least(2 * alpha / total, _LEAST), at_least(2 * beta / total, _LEAST)


def bounded_tau(density: Expression, sigma: Expression, tau: Expression) -> Expression:
    """No less than that of a single orbital of this density, sigma/8 rho, which it is where there is one electron.

    C. F. von Weizsaecker, Z. Phys. 1935, 96, 431.
    """
    return taken_at_least(tau, sigma / (8 * density) + _LEAST_TAU)


def between_spins(density: SpinDensity) -> Expression:
    """f(zeta): 0 for equal spins, 1 for parallel ones."""
    if not density.polarised:
        return density.total.on.constant(0.0)
    up, down = density.up, density.down
    return (up * cbrt(up) + down * cbrt(down) - 2) / (2 * 2 ** (1 / 3) - 2)


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
    f = between_spins(density)
    zeta4 = ((density.alpha - density.beta) / density.total) ** 4  # 1 + zeta and 1 - zeta have bounds
    return equal + (stiffness / curvature) * part(2) * f * (1 - zeta4) + (part(1) - equal) * f * zeta4
