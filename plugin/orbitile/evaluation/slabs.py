"""A field on a lattice, slab by slab, on the device of the current session.

Where slabs begin follows from the lattice alone: whoever computes them, in whatever order, gets the same values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.target import Target

from ..base.errors import LatticeError
from ..base.watch import checkpoint, stage
from ..fields import Field, PointEvaluator, SlabEvaluator
from ..model.lattice import Lattice
from ..model.wavefunction import Wavefunction
from .periodic import at_points, on_slabs

SLAB_POINTS = 1 << 23
"""Points of a slab: 32 MiB on a device."""

TILE_POINTS = 1 << 17
"""Points handed to the direct kernel at once."""

MOST_POINTS = 1 << 29
"""Points of one slab, at most: kernels count in 32 bits."""

_PLANES = 8
"""Slabs begin at multiples of this many planes, the bricks of the lattice kernel: values do not depend on the cut."""

Cuts = tuple[tuple[int, int], ...]
"""First plane (or row) and the one behind the last of each slab (or strip), in order."""


@dataclass(frozen=True, eq=False)
class Slabs:
    """A field on a lattice, ready to be computed slab by slab.

    Attributes
    ----------
    cuts : tuple of (int, int)
        The slabs.
    fill : callable
        `fill(start, stop, out)` writes the values of one slab to an array of shape (stop - start, ny, nz); raises
        `Cancelled` where they are no longer wanted.
    """

    cuts: Cuts
    fill: Callable[[int, int, NDArray[np.floating]], None]


def slabs_of(wavefunction: Wavefunction, field: Field, lattice: Lattice, target: Target) -> Slabs:
    """Prepare a field of a wavefunction on a lattice; within a session of the device.

    Raises
    ------
    LatticeError
        When a row has too many points to be computed at once.
    """
    evaluate = on_slabs(wavefunction, field, lattice, target)
    if evaluate is None:
        return _direct(at_points(wavefunction, field, target), lattice)
    planes, rows, columns = lattice.shape
    strips = _strips(lattice)

    def fill(start: int, stop: int, out: NDArray[np.floating]) -> None:
        for first, last in strips:
            on_strip: SlabEvaluator | None = evaluate
            if len(strips) > 1:
                on_strip = on_slabs(wavefunction, field, _rows_only(lattice, first, last), target)
            assert on_strip is not None  # the axes are those of the lattice
            with stage(first / rows, last / rows):
                _fill(on_strip, target, start, stop, out[:, first:last])

    points = min(SLAB_POINTS, getattr(evaluate, "slab_points", SLAB_POINTS))  # a slow kernel asks for fewer
    return Slabs(_cuts(planes, max(_PLANES, points // (rows * columns) // _PLANES * _PLANES)), fill)


def _strips(lattice: Lattice) -> Cuts:
    """First row and the one behind the last of what is computed at once: all rows, unless planes are too large.

    As slabs, they follow from the lattice alone.

    Raises
    ------
    LatticeError
        When so few rows as make a brick are too long.
    """
    _, rows, columns = lattice.shape
    if _PLANES * rows * columns <= MOST_POINTS:
        return ((0, rows),)
    if _PLANES * _PLANES * columns > MOST_POINTS:
        raise LatticeError(
            f"a lattice of {lattice.shape} points has rows too long to compute at once; let its third axis have fewer "
            f"than {MOST_POINTS // _PLANES**2} points"
        )
    return _cuts(rows, max(_PLANES, SLAB_POINTS // (_PLANES * columns) // _PLANES * _PLANES))


def _rows_only(lattice: Lattice, first: int, last: int) -> Lattice:
    """The part `first <= j < last` along the second axis, as a lattice of its own."""
    nx, _, nz = lattice.shape
    return Lattice(lattice.origin + first * lattice.axes[1], lattice.axes, (nx, last - first, nz))


def _fill(evaluate: SlabEvaluator, target: Target, start: int, stop: int, out: NDArray[np.floating]) -> None:
    from taichi_kernels.arrays import to_numpy

    checkpoint()
    if target.on_host and out.flags.c_contiguous:
        evaluate(start, stop, out)
        return
    values: Any = target.empty(out.shape)
    evaluate(start, stop, values)
    if target.on_host:
        out[...] = values
    else:
        to_numpy(values, out)


def _direct(at: PointEvaluator, lattice: Lattice) -> Slabs:
    planes, rows, columns = lattice.shape
    strips = _strips(lattice)

    def fill(start: int, stop: int, out: NDArray[np.floating]) -> None:
        for first, last in strips:
            some = lattice if len(strips) == 1 else _rows_only(lattice, first, last)
            with stage(first / rows, last / rows):
                at_tiles(at, some.points(start, stop), out[:, first:last].reshape(-1))  # a view: all rows, or one plane

    return Slabs(_cuts(planes, max(1, TILE_POINTS // (rows * columns)) if len(strips) == 1 else 1), fill)


def _cuts(planes: int, step: int) -> Cuts:
    return tuple((start, min(start + step, planes)) for start in range(0, planes, step))


def at_tiles(at: PointEvaluator, points: NDArray[np.float64], out: NDArray[np.floating]) -> None:
    """Values at points, a tile of them at a time."""
    for first in range(0, len(points), TILE_POINTS):
        checkpoint()
        last = min(first + TILE_POINTS, len(points))
        with stage(first / len(points), last / len(points)):
            out[first:last] = at(points[first:last])
