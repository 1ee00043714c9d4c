"""Volumes in the plt format of gOpenMol, which VMD reads at once and without a word.

Five integers (3, kind of surface, points along z, y and x), six floats (least and greatest z, y and x, in Angstrom)
and the values, x fastest; all of four bytes, in either order. Here the lowest byte comes first.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..base.errors import LatticeError
from ..model.units import angstrom
from ..model.volume import Volume
from ..model.wavefunction import Wavefunction

DESCRIPTION = "gOpenMol plt file"
PATTERNS = ("*.plt",)
KIND = "volume"

_ORBITAL = 2
"""Kind of surface, of which readers take no notice."""


def write(volume: Volume, path: Path, wavefunction: Wavefunction | None = None) -> None:
    """Write a volume in single precision; the format has no room for atoms.

    Raises
    ------
    LatticeError
        When the lattice is not along x, y and z, since the format has no place for axes.
    """
    lattice = volume.lattice
    steps = np.diag(lattice.axes)
    if not np.array_equal(lattice.axes, np.diag(steps)) or np.any(steps <= 0):
        raise LatticeError(f"{volume.quantity}: expected a lattice along x, y and z, got axes {lattice.axes.tolist()}")
    low = lattice.origin / angstrom
    high = low + steps * (np.array(lattice.shape) - 1) / angstrom
    with path.open("wb") as file:
        file.write(np.array([3, _ORBITAL, *lattice.shape[::-1]], "<i4").tobytes())
        file.write(np.stack([low, high], axis=1)[::-1].astype("<f4").tobytes())
        file.write(volume.values.astype("<f4", copy=False).tobytes(order="F"))
