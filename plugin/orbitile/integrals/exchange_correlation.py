r"""Exchange and correlation of a density on a grid: its energy, and its potential on the list of Hermite Gaussians.

.. math::  E = \sum_g w_g\, f(\rho_g, \nabla\rho_g), \qquad
    v_n = \sum_g w_g \left[ \frac{\partial f}{\partial \rho} L_n(r_g)
        + \frac{\partial f}{\partial \nabla\rho} \cdot \nabla L_n(r_g) \right]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from taichi_kernels.target import Target

from ..base.arrays import Reals
from ..base.watch import watcher
from .functionals import Functional, at_points
from .quadrature import Quadrature

NOISE = {"single": 1e-6, "double": 1e-13}
"""What the density of a spin at a point may be off by, as a share of the whole density there: both are sums of the same
Gaussians with coefficients of either sign."""


@dataclass(frozen=True, eq=False)
class ExchangeCorrelation:
    """Exchange and correlation.

    Attributes
    ----------
    energy : float
        In hartree.
    electrons : tuple of float
        Of each spin, or of both together, as the grid has them: how far they are off tells how good it is.
    values : tuple of ndarray, shape (n_coefficients,)
        Derivatives of the energy with respect to the coefficients of each spin, in hartree; `to_matrix` makes matrices
        of them.
    """

    energy: float
    electrons: tuple[float, ...]
    values: tuple[Reals, ...]


def exchange_correlation(
    quadrature: Quadrature, coefficients: Sequence[Reals], functional: Functional, raised: bool = False
) -> ExchangeCorrelation:
    """Exchange and correlation of a density.

    Parameters
    ----------
    quadrature
        Grid and products of basis functions, on the device of the current session.
    coefficients : one or two ndarrays, shape (n_coefficients,)
        The density on the list: of all electrons, or of alpha and of beta electrons.
    functional
        Of density and gradient.
    raised
        Values for the list that is raised by one degree instead, which forces ask for.
    """
    if len(coefficients) > 1 and functional.needs_gradient and quadrature.sums.in_double and not raised:
        # where a spin has almost no density its potential depends on digits that single precision does not have
        quadrature = quadrature.in_precision(Target(quadrature.target.device, "double"))
    density = quadrature.densities(coefficients, functional.needs_gradient)
    found = of_densities(quadrature, density, functional, raised)
    if quadrature.target.precision == "double" or raised:
        return found
    # an error of a coefficient is the same at all points, so it adds up in the energy; to first order it is known
    lost = sum(float(quadrature.lost(one) @ of_spin) for one, of_spin in zip(coefficients, found.values, strict=True))
    return replace(found, energy=found.energy + lost)


def of_densities(
    quadrature: Quadrature, density: Any, functional: Functional, raised: bool = False, exact: bool = False
) -> ExchangeCorrelation:
    """The same of densities at the points, as `Quadrature.densities` leaves them: `exact` or not."""
    noise = NOISE["double" if exact else quadrature.target.precision]
    sums = quadrature.sums
    n_spins, n_columns = density.shape[:2]
    energy = sums.energies
    potential = sums.columns("potential", n_spins, n_columns)
    if sums.in_double and functional.by_kernel:
        from taichi_kernels.functionals import functional_at_points

        functional_at_points(functional, density, sums.weights, energy, potential, quadrature.target, watcher(), noise)
    else:
        columns = np.ascontiguousarray(sums.to_numpy(density), np.float64)
        of_points, potentials = at_points(functional, columns, quadrature.target, noise)
        sums.from_numpy(energy, of_points * quadrature.weights)
        sums.from_numpy(potential, potentials * quadrature.weights)
    return ExchangeCorrelation(
        sums.total(energy),
        tuple(sums.electrons(density, spin) for spin in range(n_spins)),
        tuple(quadrature.values_of(potential, spin, raised) for spin in range(n_spins)),
    )
