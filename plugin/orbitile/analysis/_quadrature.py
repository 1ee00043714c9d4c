"""The electron density at the points of a quadrature."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..fields.density import occupied
from ..model.cell import molecules_only

if TYPE_CHECKING:
    from taichi_kernels.target import Target

    from ..integrals.grids import Borders
    from ..integrals.quadrature import Quadrature
    from ..model.wavefunction import Wavefunction

Reals = NDArray[np.float64]

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
    matrix: Reals = (coefficients * weights) @ coefficients.T
    return matrix


def quadrature_with_density(
    wavefunction: Wavefunction, target: Target, level: int = LEVEL, borders: Borders = "treutler"
) -> tuple[Quadrature, Reals]:
    """A quadrature, and at its points the density times the weights: electrons, which add up to all of them.

    Parameters
    ----------
    wavefunction
    target
        The device of the current session.
    level, borders
        As for `grid_of`.
    """
    molecules_only(wavefunction, "integrals of the density", "the quadrature is over all space, and not over the cell")
    from ..integrals.grids import grid_of
    from ..integrals.hermite_map import to_hermite
    from ..integrals.pairs import pairs_of
    from ..integrals.quadrature import quadrature_of

    grid = grid_of(wavefunction.atomic_numbers, wavefunction.positions, target, level, borders)
    pairs = pairs_of(wavefunction)
    quadrature = quadrature_of(pairs, grid, target)
    density = quadrature.density(to_hermite(pairs, density_matrix(wavefunction), target), gradient=False)[0]
    return quadrature, density * quadrature.weights
