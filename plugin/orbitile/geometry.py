"""Where atoms are, and no more: a frame of a trajectory without orbitals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .errors import OrbitileError


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
        n = len(self.atomic_numbers)
        if n == 0 or self.positions.shape != (n, 3) or not np.all(np.isfinite(self.positions)):
            raise OrbitileError(f"geometry: expected finite positions of shape ({n}, 3), got {self.positions.shape}")


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
