"""What the digits of a log do to its orbitals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...gaussians.orthonormality import TOLERANCE
from ...gaussians.overlap import shell_overlap
from ...model.wavefunction import Shell

Reals = NDArray[np.float64]

_DEVIATIONS = 6
"""Standard deviations that rounding is allowed to move a norm or an overlap of two orbitals."""


def decimals(values: Reals) -> int:
    """Number of decimals that values are printed with."""
    sample = values.ravel()[:100_000]
    return next((n for n in range(3, 12) if np.allclose(sample, np.round(sample, n), rtol=0, atol=1e-13)), 12)


def noise(image: Reals, n_decimals: int) -> float:
    """What rounding can do to the norm of an orbital C: an error of each coefficient, times twice (S C)."""
    one = 2 * 10.0**-n_decimals / np.sqrt(12)
    return float(_DEVIATIONS * one * np.sqrt(np.einsum("mi,mi->i", image, image)).max())


def made_orthonormal(
    shells: Sequence[Shell], positions: Reals, coefficients: Reals, n_decimals: int
) -> tuple[Reals, str]:
    """Orbitals of one spin, made orthonormal where rounding alone keeps them from being so, and a remark if they were.

    Symmetric orthonormalisation changes orbitals by the least that there is (P. O. Loewdin, J. Chem. Phys. 1950, 18,
    365): here by less than what was rounded off.

    Parameters
    ----------
    shells
        Of the basis set.
    positions : ndarray, shape (n_atoms, 3)
        In bohr.
    coefficients : ndarray, shape (n_basis, n_orbitals)
        In our conventions.
    n_decimals
        Digits behind the point in the log.
    """
    image = shell_overlap(shells, positions, shells, positions) @ coefficients
    overlap = coefficients.T @ image
    deviation = float(np.abs(overlap - np.eye(len(overlap))).max())
    if deviation <= TOLERANCE or deviation > noise(image, n_decimals):
        return coefficients, ""
    values, vectors = np.linalg.eigh(overlap)
    return coefficients @ (vectors / np.sqrt(values)) @ vectors.T, (
        f"orbitals are printed with {n_decimals} decimals, with which they are orthonormal within {deviation:.0e} "
        "only; they were made orthonormal within these digits"
    )
