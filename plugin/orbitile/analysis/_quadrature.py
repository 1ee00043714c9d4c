"""The electron density at the points of a quadrature, and moments to check it by: electrons, dipole, quadrupole.

Moments are analytic, from the density as a sum of Gaussians; a quadrature gives the same up to its error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from taichi_kernels.target import Target

from ..base.arrays import Reals
from ..fields.density import occupied
from ..gaussians.expansion import GaussianExpansion, integrals
from ..model.cell import molecules_only
from ..model.wavefunction import Wavefunction

if TYPE_CHECKING:
    from ..integrals.quadrature import Quadrature


LEVEL = 3
"""Level of the quadrature: that of PySCF where it is not told another one."""


def density_matrix(wavefunction: Wavefunction, which: str = "total") -> Reals:
    """Matrix over basis functions, shape (n_basis, n_basis): total, alpha, beta, or spin, which is alpha less beta.

    Raises
    ------
    FieldError
        As `occupied`.
    """
    coefficients, weights = occupied(wavefunction, which)
    return (coefficients * weights) @ coefficients.T


def quadrature_with_density(wavefunction: Wavefunction, target: Target, level: int = LEVEL) -> tuple[Quadrature, Reals]:
    """A quadrature, and at its points the density times the weights: electrons, which add up to all of them.

    Parameters
    ----------
    wavefunction
    target
        The device of the current session.
    level
        As for `grid_of`.
    """
    molecules_only(wavefunction, "integrals of the density", "the quadrature is over all space, and not over the cell")
    from ..integrals.grids import grid_of
    from ..integrals.pairs import pairs_of, to_hermite
    from ..integrals.quadrature import quadrature_of

    grid = grid_of(wavefunction.atomic_numbers, wavefunction.positions, target, level)
    pairs = pairs_of(wavefunction)
    quadrature = quadrature_of(pairs, grid, target)
    density = quadrature.density(to_hermite(pairs, density_matrix(wavefunction), target), gradient=False)[0]
    return quadrature, density * quadrature.weights


@dataclass(frozen=True, eq=False)
class Moments:
    """Integrals of a density of electrons, and with the nuclei the moments of the molecule.

    Attributes
    ----------
    electrons : float
    dipole : ndarray, shape (3,)
        Of nuclei and electrons, about the origin, in e bohr.
    quadrupole : ndarray, shape (3, 3)
        Traceless, 1/2 sum q (3 r r - r^2), about the origin, in e bohr^2.
    """

    electrons: float
    dipole: Reals
    quadrupole: Reals


def _with_nuclei(wavefunction: Wavefunction, zeroth: float, first: Reals, second: Reals) -> Moments:
    molecules_only(wavefunction, "moments", "the dipole of a cell depends on where it is cut")
    charges, positions = wavefunction.core_charges, wavefunction.positions
    dipole = charges @ positions - first
    whole = np.einsum("a,ai,aj->ij", charges, positions, positions) - second
    return Moments(zeroth, dipole, 1.5 * whole - 0.5 * np.trace(whole) * np.eye(3))


def analytic_moments(wavefunction: Wavefunction, density: GaussianExpansion) -> Moments:
    """Moments of the nuclei and of a density, without a lattice."""
    return _with_nuclei(wavefunction, *integrals(density))


def summed_moments(wavefunction: Wavefunction, points: Reals, electrons: Reals) -> Moments:
    """Moments by adding up electrons at points: shapes (n, 3), in bohr, and (n,)."""
    second = np.einsum("n,ni,nj->ij", electrons, points, points, optimize=True)
    return _with_nuclei(wavefunction, float(electrons.sum()), electrons @ points, second)
