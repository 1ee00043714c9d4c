"""A field sampled on a lattice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import LatticeError
from .displayed import Displayed
from .lattice import Lattice


@dataclass(frozen=True, eq=False)
class VolumeHeader:
    """All of a volume but its values: what a file says before they follow, slab by slab.

    Attributes
    ----------
    lattice : Lattice
        Where the values are taken.
    dtype : dtype
        Of the values: float32 or float64.
    quantity, unit : str
        As of a `Volume`.
    """

    lattice: Lattice
    dtype: np.dtype[np.floating]
    quantity: str = ""
    unit: str = ""


@dataclass(frozen=True, eq=False)
class Volume(Displayed):
    """Values of a scalar field on a lattice.

    Attributes
    ----------
    values : ndarray of float32 or float64, shape (nx, ny, nz)
        C-ordered: z runs fastest. Atomic units unless `unit` says otherwise.
    lattice : Lattice
        Where the values were taken.
    quantity : str
        What they are, for people: "HOMO (orbital 32)", "electron density".
    unit : str
        Unit of the values, for people: "bohr^-3/2".
    """

    values: NDArray[np.floating]
    lattice: Lattice
    quantity: str = ""
    unit: str = ""

    def __post_init__(self) -> None:
        if self.values.shape != self.lattice.shape:
            raise LatticeError(f"values of a volume: expected shape {self.lattice.shape}, got {self.values.shape}")

    @property
    def header(self) -> VolumeHeader:
        """All but the values."""
        return VolumeHeader(self.lattice, self.values.dtype, self.quantity, self.unit)

    @property
    def closed(self) -> Volume:
        """The volume with the values of the first points behind the last ones, where its lattice is periodic."""
        if not self.lattice.periodic:
            return self
        values = np.pad(self.values, ((0, 1), (0, 1), (0, 1)), mode="wrap")
        return Volume(values, self.lattice.closed, self.quantity, self.unit)

    def every(self, step: int) -> Volume:
        """Every `step`-th point along each axis, from the first on; the values are not copied."""
        if step == 1:
            return self
        values = self.values[::step, ::step, ::step]
        whole = self.lattice.periodic and not any(n % step for n in self.lattice.shape)
        lattice = Lattice(self.lattice.origin, self.lattice.axes * step, values.shape, whole)
        return Volume(values, lattice, self.quantity, self.unit)
