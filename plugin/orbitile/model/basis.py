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


def same_basis(one: tuple[Shell, ...], other: tuple[Shell, ...]) -> bool:
    """Whether two lists of shells stand for the same basis functions, to the digits that files print."""
    return one is other or (
        len(one) == len(other)
        and all(
            (a.atom, a.angular_momentum, a.pure, len(a.exponents))
            == (b.atom, b.angular_momentum, b.pure, len(b.exponents))
            and np.allclose(a.exponents, b.exponents, rtol=1e-6)
            and np.allclose(a.coefficients, b.coefficients, rtol=1e-5, atol=1e-7)
            for a, b in zip(one, other, strict=True)
        )
    )
