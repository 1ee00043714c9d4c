"""A basis set on its atoms, without orbitals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .wavefunction import Shell


@dataclass(frozen=True, eq=False)
class Basis:
    """Shells and where their atoms are.

    Attributes
    ----------
    shells : tuple of Shell
        As of a `Wavefunction`.
    positions : ndarray, shape (n_atoms, 3)
        In bohr.
    """

    shells: tuple[Shell, ...]
    positions: NDArray[np.float64]

    @property
    def n_basis(self) -> int:
        """Number of basis functions."""
        return sum(shell.n_functions for shell in self.shells)
