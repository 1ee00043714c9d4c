r"""Given charges and their potential: density cubes with no wavefunction behind them, charges of a force field.

.. math::  U(r) = \sum_m \frac{q_m}{|r - r_m|}
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base.errors import OrbitileError
from .volume import Volume

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PointCharges:
    """Charges at given places.

    Attributes
    ----------
    positions : ndarray, shape (n, 3)
        In bohr.
    charges : ndarray, shape (n,)
        In e.
    radius : float
        In bohr: each charge fills a sphere of this radius evenly. 0 for point charges.
    """

    positions: Reals
    charges: Reals
    radius: float = 0.0

    def __post_init__(self) -> None:
        positions, charges = np.array(self.positions, np.float64), np.array(self.charges, np.float64)
        if positions.ndim != 2 or positions.shape[1:] != (3,) or charges.shape != positions.shape[:1]:
            raise OrbitileError(
                f"given charges: expected positions of shape (n, 3) and n charges, got {positions.shape} and "
                f"{charges.shape}"
            )
        if len(charges) == 0 or not (np.all(np.abs(positions) < 1e7) and np.all(np.isfinite(charges))):
            raise OrbitileError("given charges: expected one or more, at finite positions and with finite charges")
        if not (np.isfinite(self.radius) and self.radius >= 0):
            raise OrbitileError(f"radius of given charges: expected a length in bohr, 0 or more, got {self.radius}")
        for name, array in (("positions", positions), ("charges", charges)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)


def charges_of_density(density: Volume, nuclei: PointCharges | None = None) -> PointCharges:
    """Charges of the cells of an electron density, negative, and of nuclei if there are any.

    Each cell counts as a ball of its own volume, which keeps the potential finite inside of it. Cells of less than
    1e-12 e are left out. Nuclei become balls of that size too: give them to a `PointCharges` of their own where a
    point comes closer to them than a cell is wide.
    """
    values = density.values.reshape(-1).astype(np.float64) * -density.lattice.cell_volume
    kept = np.abs(values) > 1e-12
    positions, charges = density.lattice.points()[kept], values[kept]
    if nuclei is not None:
        positions = np.concatenate([positions, nuclei.positions])
        charges = np.concatenate([charges, nuclei.charges])
    return PointCharges(positions, charges, float((3 * density.lattice.cell_volume / (4 * np.pi)) ** (1 / 3)))
