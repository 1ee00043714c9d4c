r"""The uniform electron gas between equal and parallel spins."""

from __future__ import annotations

from collections.abc import Callable

from taichi_kernels.expressions import Expression, cbrt

from ._density import SpinDensity


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
