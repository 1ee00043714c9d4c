"""Where atoms are, and no more: a frame of a trajectory without orbitals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import OrbitileError
from .elements import SYMBOLS

FARTHEST = 1e6
"""Largest coordinate of an atom in bohr: 0.05 mm. Squares of what is much larger are not numbers any more."""


@dataclass(frozen=True, eq=False)
class Geometry:
    """Atoms and their positions.

    Attributes
    ----------
    atomic_numbers : ndarray of int, shape (n_atoms,)
    positions : ndarray, shape (n_atoms, 3)
        In bohr.
    """

    atomic_numbers: NDArray[np.int64]
    positions: NDArray[np.float64]

    def __post_init__(self) -> None:
        check_atoms(self.atomic_numbers, self.positions)


def check_atoms(numbers: NDArray[np.int64], positions: NDArray[np.float64]) -> None:
    """Refuse what are no atoms: numbers of no element, coordinates that are no lengths within a molecule.

    Parameters
    ----------
    numbers : ndarray of int, shape (n_atoms,)
        Atomic numbers, 0 for ghosts.
    positions : ndarray, shape (..., n_atoms, 3)
        In bohr.

    Raises
    ------
    OrbitileError
        When there is no atom, or one is wrong.
    """
    n = len(numbers)
    if n == 0 or positions.shape[-2:] != (n, 3):
        raise OrbitileError(f"atoms: expected at least one, with positions of shape ({n}, 3), got {positions.shape}")
    if not (numbers.min() >= 0 and numbers.max() < len(SYMBOLS)):
        bad = next(int(z) for z in numbers if not 0 <= z < len(SYMBOLS))
        raise OrbitileError(f"atomic numbers: expected 0 (a ghost) to {len(SYMBOLS) - 1}, got {bad}")
    if positions.size and not np.abs(positions).max() <= FARTHEST:
        bad_length = positions[~(np.abs(positions) <= FARTHEST)][0]
        raise OrbitileError(f"atom positions: expected coordinates up to {FARTHEST:g} bohr, got {bad_length:g}")


class Molecule(Protocol):
    """Atoms at one or more geometries, as a wavefunction has them; what is needed to show them."""

    @property
    def atomic_numbers(self) -> NDArray[np.int64]:
        """Element of each atom, shape (n_atoms,); 0 for a ghost."""

    @property
    def geometries(self) -> NDArray[np.float64]:
        """Positions in bohr, shape (n_geometries, n_atoms, 3)."""

    @property
    def is_ghost(self) -> NDArray[np.bool_]:
        """Which atoms are basis functions without a nucleus, or stand for no atom at all."""

    @property
    def source(self) -> str:
        """File that it came from."""

    @property
    def title(self) -> str:
        """For people."""


class Geometries(Protocol):
    """Where the frames of a geometry-only trajectory come from; one class a kind of file, in `orbitile.readers`."""

    @property
    def name(self) -> str:
        """For people: the file."""

    def __len__(self) -> int:
        """Number of frames."""

    def read(self, index: int) -> Geometry:
        """Read one frame.

        Raises
        ------
        FileError
            When it is damaged.
        """
