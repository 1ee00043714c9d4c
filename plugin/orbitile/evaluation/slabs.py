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

from ..errors import LatticeError
from ..fields import Field, PointEvaluator, SlabEvaluator
from ..model.lattice import Lattice
from ..model.wavefunction import Wavefunction
from ..watch import checkpoint, stage
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
"""First plane and the one behind the last of each slab, in order."""


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
        When a plane has too many points to be computed at once.
    """
    evaluate = on_slabs(wavefunction, field, lattice, target)
    if evaluate is not None:
        return _separable(evaluate, lattice, target)
    return _direct(at_points(wavefunction, field, target), lattice)


def _separable(evaluate: SlabEvaluator, lattice: Lattice, target: Target) -> Slabs:
    planes, *edges = lattice.shape
    plane = edges[0] * edges[1]
    if _PLANES * plane > MOST_POINTS:
        raise LatticeError(
            f"a lattice of {lattice.shape} points has planes too large to compute at once; "
            "let its first axis be the longest"
        )

    def fill(start: int, stop: int, out: NDArray[np.floating]) -> None:
        from taichi_kernels.arrays import allocate, to_numpy

        checkpoint()
        if target.on_host:
            evaluate(start, stop, out)
        else:
            values: Any = allocate(out.shape, out.dtype)
            evaluate(start, stop, values)
            to_numpy(values, out)

    points = min(SLAB_POINTS, getattr(evaluate, "slab_points", SLAB_POINTS))  # a slow kernel asks for fewer
    return Slabs(_cuts(planes, max(_PLANES, points // plane // _PLANES * _PLANES)), fill)


def _direct(at: PointEvaluator, lattice: Lattice) -> Slabs:
    planes, *edges = lattice.shape

    def fill(start: int, stop: int, out: NDArray[np.floating]) -> None:
        at_tiles(at, lattice.points(start, stop), out.reshape(-1))

    return Slabs(_cuts(planes, max(1, TILE_POINTS // (edges[0] * edges[1]))), fill)


def _cuts(planes: int, step: int) -> Cuts:
    return tuple((start, min(start + step, planes)) for start in range(0, planes, step))


def at_tiles(at: PointEvaluator, points: NDArray[np.float64], out: NDArray[np.floating]) -> None:
    """Values at points, a tile of them at a time."""
    for first in range(0, len(points), TILE_POINTS):
        checkpoint()
        last = min(first + TILE_POINTS, len(points))
        with stage(first / len(points), last / len(points)):
            out[first:last] = at(points[first:last])
