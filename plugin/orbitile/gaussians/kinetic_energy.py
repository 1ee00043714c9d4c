r"""Kinetic energy of the electrons in orbitals, to six digits, without kernels: to check what a file says.

.. math:: T = -\frac12 \sum_{\mu\nu} P_{\mu\nu} \langle\mu|\nabla^2|\nu\rangle

The Laplacian of a function is its second derivative by where its centre is, so each integral is that of an overlap, and
a central difference gives it: of the basis set with itself, moved by a little along each axis. P is symmetric, so that
there and back are the same. The step goes with the narrowest function; with `_STEP` truncation and rounding are both
below one part in a million.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..model.wavefunction import Wavefunction
from .overlap import Matrix, own_overlap, shell_overlap

_STEP = 2e-3
"""Of the displacement, in widths (inverse roots of the exponent) of the narrowest function."""


def kinetic_energy(wavefunction: Wavefunction) -> float:
    """Kinetic energy of the electrons in real orbitals by their occupations, in hartree."""
    sets = [wavefunction.alpha] if wavefunction.beta is None else [wavefunction.alpha, wavefunction.beta]
    density = np.sum([(one.coefficients * one.occupations) @ one.coefficients.T for one in sets], axis=0)
    shells, positions = wavefunction.shells, wavefunction.positions
    step = _STEP / np.sqrt(max(shell.exponents.max() for shell in shells))
    traces = [_trace(density, shell_overlap(shells, positions, shells, positions + step * axis)) for axis in np.eye(3)]
    return float((3 * _trace(density, own_overlap(wavefunction)) - sum(traces)) / step**2)


def _trace(density: NDArray[np.float64], matrix: Matrix) -> float:
    """Trace of the product of a symmetric matrix and another one, which may be sparse."""
    product = matrix * density if isinstance(matrix, np.ndarray) else matrix.multiply(density)
    return float(product.sum())
