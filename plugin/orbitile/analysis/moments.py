"""Moments of a density to check it by: electrons, dipole, quadrupole.

They are analytic, from the density as a sum of Gaussians; a quadrature gives the same up to its error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..gaussians.expansion import GaussianExpansion, integrals
from ..model.cell import molecules_only
from ..model.wavefunction import Wavefunction

Reals = NDArray[np.float64]


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
