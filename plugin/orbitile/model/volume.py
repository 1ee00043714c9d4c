"""A field sampled on a lattice: in memory, or in a store, read part by part where it is larger than memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.errors import LatticeError, OrbitileError
from ..base.memory import require_memory, share
from .geometry import Displayed, Geometry
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


_SLAB_POINTS = share("slab", 4)
"""Points of the slabs that are read one after another, where nothing else is asked for."""


class StoredValues(Protocol):
    """Where the values of a stored volume come from; one class a format, in `orbitile.readers`."""

    @property
    def name(self) -> str:
        """For people: the store."""

    def depth(self, level: int) -> int:
        """Planes along the first axis that are stored together: reading fewer takes as long."""

    def read(self, level: int, start: tuple[int, int, int], stop: tuple[int, int, int]) -> NDArray[np.floating]:
        """Values of a part of a level, shape `stop - start`, all of them finite.

        Raises
        ------
        FileError
            When what is stored of this part is damaged or missing. Others may be sound.
        """


@dataclass(frozen=True, eq=False)
class StoredVolume:
    """Values on a lattice and on coarser ones, in a store; nothing of them is in memory.

    Attributes
    ----------
    source : StoredValues
        Reads a part.
    headers : tuple of VolumeHeader
        Of all levels, the finest first. A point of the next one stands for 2 x 2 x 2 points and has their mean.
    geometry : Geometry or None
        The atoms that the store names.
    first : int
        Number in the store of the finest level of this volume.
    """

    source: StoredValues
    headers: tuple[VolumeHeader, ...]
    geometry: Geometry | None = None
    first: int = 0

    @property
    def name(self) -> str:
        """What it was read from."""
        return self.source.name

    @property
    def header(self) -> VolumeHeader:
        """All of the volume but its values."""
        return self.headers[0]

    @property
    def n_bytes(self) -> int:
        """Memory that its values would take."""
        return self.header.lattice.n_points * self.header.dtype.itemsize

    def level(self, number: int) -> StoredVolume:
        """The same volume on a coarser lattice: 0 is this one, 1 has half as many points along each edge.

        Raises
        ------
        LatticeError
            When there is no such level.
        """
        if not 0 <= number < len(self.headers):
            raise LatticeError(f"{self.name}: has levels 0 to {len(self.headers) - 1}, got {number}")
        return replace(self, headers=self.headers[number:], first=self.first + number)

    def within(self, n_bytes: int) -> StoredVolume:
        """The finest level whose values take no more memory than this; the coarsest one where all take more."""
        levels = [self.level(number) for number in range(len(self.headers))]
        return next((level for level in levels if level.n_bytes <= n_bytes), levels[-1])

    def region(self, start: tuple[int, int, int], stop: tuple[int, int, int]) -> Volume:
        """The part `start <= index < stop` along each axis, as a volume of its own.

        Raises
        ------
        LatticeError
            When there is no such part.
        FileError
            When what is stored of it is damaged or missing.
        OrbitileError
            When it would not fit in memory.
        """
        shape, lattice = self.header.lattice.shape, self.header.lattice
        (i, j, k), (i_end, j_end, k_end) = start, stop
        if not all(0 <= a < b <= n for a, b, n in zip((i, j, k), (i_end, j_end, k_end), shape, strict=True)):
            raise LatticeError(f"{self.name}: has {shape} points, got the part from {start} to {stop}")
        extent = (i_end - i, j_end - j, k_end - k)
        part = Lattice(
            lattice.origin + (i, j, k) @ lattice.axes, lattice.axes, extent, lattice.periodic and extent == shape
        )
        require_memory(
            2 * part.n_points * self.header.dtype.itemsize,
            f"{self.name}: {extent[0]} x {extent[1]} x {extent[2]} points",
            "read it by slabs, or a coarser level",
        )
        values = self.source.read(self.first, (i, j, k), (i_end, j_end, k_end))
        return Volume(values, part, self.header.quantity, self.header.unit)

    def slab(self, start: int, stop: int) -> Volume:
        """The planes `start <= i < stop` along the first axis; errors as of `region`."""
        return self.region((start, 0, 0), (stop, *self.header.lattice.shape[1:]))

    def slabs(self, planes: int | None = None) -> Iterator[Volume]:
        """The whole volume slab by slab along the first axis, each in memory until the next is asked for.

        Parameters
        ----------
        planes : int, optional
            Of a slab; by default about 8 million points, in multiples of what is stored together.
        """
        n, *edges = self.header.lattice.shape
        if planes is None:
            depth = self.source.depth(self.first)
            planes = max(_SLAB_POINTS // (edges[0] * edges[1]) // depth, 1) * depth
        for start in range(0, n, planes):
            yield self.slab(start, min(start + planes, n))

    def whole(self) -> Volume:
        """All values; errors as of `region`."""
        return self.slab(0, self.header.lattice.shape[0])


# ---- given charges: density cubes with no wavefunction behind them, charges of a force field


@dataclass(frozen=True, eq=False)
class PointCharges:
    r"""Charges at given places, and with them a potential.

    .. math::  U(r) = \sum_m \frac{q_m}{|r - r_m|}

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
