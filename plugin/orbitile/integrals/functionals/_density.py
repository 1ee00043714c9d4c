"""What formulas of correlation are made of."""

from __future__ import annotations

from dataclasses import dataclass

from taichi_kernels.expressions import Expression


@dataclass(frozen=True, eq=False)
class SpinDensity:
    r"""A density and its gradient, by spin.

    Attributes
    ----------
    total : Expression
        Density of all electrons, in bohr^-3.
    up, down : Expression
        1 + zeta and 1 - zeta, zeta being the density of alpha less that of beta over the total.
    sigma, sigma_alpha, sigma_beta : Expression
        :math:`|\nabla\rho|^2`, and that of each spin, in bohr^-8.
    polarised : bool
        Whether the spins differ.
    """

    total: Expression
    up: Expression
    down: Expression
    sigma: Expression
    sigma_alpha: Expression
    sigma_beta: Expression
    polarised: bool
