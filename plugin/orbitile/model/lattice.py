"""Lattices: where a field is sampled; and lattices made coarser by two, for what is looked at first of a large volume.

A point of a coarser lattice stands for 2 x 2 x 2 points of the finer one: it lies in their middle, and its value is
their mean. Along an axis of one point nothing is joined; a last point that has no partner is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.errors import LatticeError
from .cell import Cell, cell_of
from .units import angstrom
from .wavefunction import Wavefunction

_FARTHEST, _CLOSEST = 1e12, 1e-12
"""Bounds in bohr on coordinates and steps, beyond which squares and volumes run out of the range of numbers."""

QUALITIES = {"coarse": 0.25 * angstrom, "medium": 0.15 * angstrom, "fine": 0.075 * angstrom}
"""Named spacings in bohr: coarse 0.25, medium 0.15, fine 0.075 Angstrom."""


def spacing_of(quality: str) -> float:
    """Spacing in bohr of a named quality.

    Raises
    ------
    LatticeError
        For a name that is not in `QUALITIES`.
    """
    if quality not in QUALITIES:
        raise LatticeError(f"quality: expected one of {', '.join(QUALITIES)}, got {quality!r}")
    return QUALITIES[quality]


def spacing_for(low: ArrayLike, high: ArrayLike, points: int | None) -> float:
    """Spacing in bohr at which the longest edge of a box has this number of points.

    Raises
    ------
    LatticeError
        For fewer than two points, or a box without extent.
    """
    longest = float(np.max(np.asarray(high, np.float64) - np.asarray(low, np.float64)))
    if not isinstance(points, int | np.integer) or isinstance(points, bool) or points < 2:
        raise LatticeError(f"points along an edge: expected a whole number, 2 or more, got {points!r}")
    if longest <= 0:
        raise LatticeError("points along an edge: the box has no extent; give a margin, or a spacing")
    return longest / (int(points) - 1)


@dataclass(frozen=True, eq=False)
class Lattice:
    """Points `origin + i * axes[0] + j * axes[1] + k * axes[2]`, for i, j, k from 0 to shape - 1.

    Attributes
    ----------
    origin : ndarray, shape (3,)
        First point, in bohr.
    axes : ndarray, shape (3, 3)
        `axes[i]` is the step along index i, in bohr: any three independent vectors.
    shape : tuple of three int
        Number of points along each axis.
    periodic : bool
        Whether it spans a cell that repeats: one step behind the last point is the first one of the next cell.
    """

    origin: NDArray[np.float64]
    axes: NDArray[np.float64]
    shape: tuple[int, int, int]
    periodic: bool = False

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        for name, shape in (("origin", (3,)), ("axes", (3, 3))):
            try:
                array = np.array(getattr(self, name), dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise LatticeError(f"{name} of a lattice: expected numbers ({error})") from error
            if array.shape != shape or not np.all(np.isfinite(array)):
                raise LatticeError(
                    f"{name} of a lattice: expected finite numbers of shape {shape}, got {array.tolist()}"
                )
            array.setflags(write=False)
            set_(self, name, array)
        try:
            nx, ny, nz = (int(n) for n in self.shape)
        except (TypeError, ValueError) as error:
            raise LatticeError(f"shape of a lattice: expected three whole numbers, got {self.shape!r}") from error
        if min(nx, ny, nz) < 1:
            raise LatticeError(f"shape of a lattice: expected 1 or more points along each axis, got {self.shape}")
        set_(self, "shape", (nx, ny, nz))
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = np.linalg.norm(self.axes, axis=1)
            corner = np.abs(self.origin) + np.abs(self.axes).T @ np.array(self.shape, np.float64)
        if not corner.max() < _FARTHEST:
            raise LatticeError(f"lattice: expected points within {_FARTHEST:g} bohr, got one at {corner.max():g}")
        if not np.all(lengths > _CLOSEST) or abs(np.linalg.det(self.axes / lengths[:, None])) < 1e-6:
            raise LatticeError(f"axes of a lattice: expected three independent vectors, got {self.axes.tolist()}")

    @classmethod
    def box(cls, low: ArrayLike, high: ArrayLike, spacing: float) -> Lattice:
        """Orthogonal lattice of equal spacing that covers the box from `low` to `high` (bohr), centred on it.

        Raises
        ------
        LatticeError
            When the spacing is not a positive number.
        """
        if not (np.isfinite(spacing) and spacing > 0):
            raise LatticeError(f"spacing of a lattice: expected a positive length in bohr, got {spacing}")
        low, high = np.asarray(low, np.float64), np.asarray(high, np.float64)
        steps = np.maximum(np.ceil((high - low) / spacing - 1e-9), 0).astype(np.int64)
        nx, ny, nz = (int(n) + 1 for n in steps)
        return cls((low + high - steps * spacing) / 2, np.eye(3) * spacing, (nx, ny, nz))

    @classmethod
    def of_cell(cls, cell: Cell, spacing: float | None = None, *, points: int | None = None) -> Lattice:
        """Periodic lattice along the vectors of a cell: each point stands for an equal part of it.

        Parameters
        ----------
        cell
            The cell.
        spacing : float
            Distance of neighbouring points along each vector in bohr, at most.
        points : int
            Number of points along the longest vector, in place of a spacing.

        Raises
        ------
        LatticeError
            When not exactly one of `spacing` and `points` is given, or a number is out of range.
        """
        lengths = np.linalg.norm(cell.vectors, axis=1)
        if (spacing is None) == (points is None):
            raise LatticeError("a lattice needs either a spacing or a number of points along its longest edge")
        if points is not None:
            spacing = spacing_for(np.zeros(1), lengths.max(), points + 1)
        if spacing is None or not (np.isfinite(spacing) and spacing > 0):
            raise LatticeError(f"spacing of a lattice: expected a positive length in bohr, got {spacing}")
        steps = np.maximum(np.ceil(lengths / spacing - 1e-9), 1).astype(np.int64)
        nx, ny, nz = (int(n) for n in steps)
        return cls(cell.origin, cell.vectors / steps[:, None], (nx, ny, nz), periodic=True)

    @classmethod
    def around(
        cls, wavefunction: Wavefunction, spacing: float | None = None, margin: float = 5.0, *, points: int | None = None
    ) -> Lattice:
        """Lattice around the atoms of a wavefunction; where it has a cell, the periodic lattice `of_cell`.

        Parameters
        ----------
        wavefunction
            Its atoms, ghosts included, are enclosed.
        spacing : float
            Distance of neighbouring points in bohr.
        margin : float
            Distance of the outermost atoms from the faces at least, in bohr; has no meaning where there is a cell.
        points : int
            Number of points along the longest edge, in place of a spacing.

        Raises
        ------
        LatticeError
            When not exactly one of `spacing` and `points` is given, or a number is out of range.
        """
        if not (np.isfinite(margin) and margin >= 0):
            raise LatticeError(f"margin of a lattice: expected a length in bohr, 0 or more, got {margin}")
        if (cell := cell_of(wavefunction)) is not None:
            return cls.of_cell(cell, spacing, points=points)
        low, high = wavefunction.positions.min(axis=0) - margin, wavefunction.positions.max(axis=0) + margin
        if (spacing is None) == (points is None):
            raise LatticeError("a lattice needs either a spacing or a number of points along its longest edge")
        if spacing is None:
            spacing = spacing_for(low, high, points)
        return cls.box(low, high, spacing)

    @cached_property
    def closed(self) -> Lattice:
        """The lattice with the points behind the last ones too, where it is periodic: isosurfaces end at its faces."""
        if not self.periodic:
            return self
        nx, ny, nz = self.shape
        return Lattice(self.origin, self.axes, (nx + 1, ny + 1, nz + 1))

    @property
    def far_corner(self) -> NDArray[np.float64]:
        """Position of the last point, opposite the origin, in bohr."""
        return self.origin + (np.array(self.shape) - 1) @ self.axes

    @property
    def n_points(self) -> int:
        """Number of points."""
        nx, ny, nz = self.shape
        return nx * ny * nz

    @cached_property
    def spacings(self) -> NDArray[np.float64]:
        """Distance of neighbours along each axis in bohr, shape (3,)."""
        return np.linalg.norm(self.axes, axis=1)

    @cached_property
    def cell_volume(self) -> float:
        """Volume that one point stands for, in bohr^3."""
        return float(abs(np.linalg.det(self.axes)))

    @cached_property
    def is_orthogonal(self) -> bool:
        """Whether the axes are at right angles to each other (they may be rotated against x, y, z)."""
        unit = self.axes / self.spacings[:, None]
        return bool(np.abs(unit @ unit.T - np.eye(3)).max() < 1e-12)

    def points(self, start: int = 0, stop: int | None = None) -> NDArray[np.float64]:
        """Points of the slab `start <= i < stop` along the first axis, shape ((stop - start) * ny * nz, 3), in bohr."""
        nx, ny, nz = self.shape
        i = np.arange(start, nx if stop is None else stop, dtype=np.float64)
        plane = np.arange(ny)[:, None, None] * self.axes[1] + np.arange(nz)[None, :, None] * self.axes[2]
        points: NDArray[np.float64] = self.origin + i[:, None, None, None] * self.axes[0] + plane
        return points.reshape(-1, 3)

    def slab(self, start: int, stop: int) -> Lattice:
        """The part `start <= i < stop` along the first axis, as a lattice of its own, which is not periodic."""
        return Lattice(self.origin + start * self.axes[0], self.axes, (stop - start, *self.shape[1:]))


SMALL = 64
"""Points along the longest edge below which a lattice needs no coarser one."""


def pyramid(lattice: Lattice) -> tuple[Lattice, ...]:
    """A lattice and the coarser ones of it, until the longest edge has no more than `SMALL` points."""
    levels = [lattice]
    while max(levels[-1].shape) > SMALL:
        levels.append(coarser(levels[-1]))
    return tuple(levels)


def coarser(lattice: Lattice) -> Lattice:
    """The lattice of the middles of 2 x 2 x 2 points."""
    shape = np.array(lattice.shape)
    steps = np.where(shape > 1, 2, 1)
    nx, ny, nz = (shape // steps).tolist()
    whole = lattice.periodic and not np.any(shape % steps)
    return Lattice(lattice.origin + (steps - 1) / 2 @ lattice.axes, lattice.axes * steps[:, None], (nx, ny, nz), whole)


def averaged(values: NDArray[np.floating]) -> NDArray[np.floating]:
    """Means over 2 x 2 x 2 values, for the points of the coarser lattice.

    They are added in a fixed order and in the precision of the values: along x, y, then z.

    Parameters
    ----------
    values : ndarray, shape (nx, ny, nz)
        From an even plane on, when they are part of a volume.

    Returns
    -------
    ndarray, shape (nx // 2, ny // 2, nz // 2)
        Of the same type. An edge of one point stays.

    Raises
    ------
    FloatingPointError
        When a sum is beyond the range of the type.
    """
    shape = [max(n // 2, 1) for n in values.shape]
    means = np.empty(shape, values.dtype)
    share = values.dtype.type(np.prod([0.5 if n > 1 else 1.0 for n in values.shape]))
    joined = len(values) > 1
    with np.errstate(over="raise", under="ignore"):
        for i, out in enumerate(means):  # plane by plane, which stay in the caches
            plane = values[2 * i] + values[2 * i + 1] if joined else values[i]
            plane = _pairs(_pairs(plane).T).T
            np.multiply(plane, share, out=out)
    return means


def _pairs(rows: NDArray[np.floating]) -> NDArray[np.floating]:
    """Sums of rows 0 and 1, 2 and 3, ...; a single row as it is."""
    even = len(rows) // 2 * 2
    return rows[0:even:2] + rows[1:even:2] if even else rows
