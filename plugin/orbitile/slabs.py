"""A field on a lattice, slab by slab, on the device of the current session.

Where slabs begin follows from the lattice alone: whoever computes them, in whatever order, gets the same values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import Cancelled, LatticeError
from .fields import Field, PointEvaluator, SlabEvaluator
from .lattice import Lattice

SLAB_POINTS = 1 << 23
"""Points computed between two looks at `cancelled`: about 50 ms on two CPU cores, and 32 MiB on a device."""

TILE_POINTS = 1 << 17
"""Points handed to the direct kernel at once."""

MOST_POINTS = 1 << 29
"""Points of one slab, at most: kernels count in 32 bits."""

_PLANES = 8
"""Slabs begin at multiples of this many planes, the bricks of the lattice kernel: values do not depend on the cut."""

Cuts = tuple[tuple[int, int], ...]
"""First plane and the one behind the last of each slab, in order."""

Cancel = Callable[[], bool]


@dataclass(frozen=True, eq=False)
class Slabs:
    """A field on a lattice, ready to be computed slab by slab.

    Attributes
    ----------
    cuts : tuple of (int, int)
        The slabs.
    fill : callable
        `fill(start, stop, out, cancelled)` writes the values of one slab to an array of shape (stop - start, ny, nz);
        raises `Cancelled` when `cancelled()` says so.
    """

    cuts: Cuts
    fill: Callable[[int, int, NDArray[np.floating], Cancel], None]


def slabs_of(field: Field, lattice: Lattice, precision: str, device: str) -> Slabs:
    """Prepare a field on a lattice; within a session of the device.

    Raises
    ------
    LatticeError
        When a plane has too many points to be computed at once.
    """
    evaluate = field.on_slabs(lattice, precision, device)
    if evaluate is not None:
        return _separable(evaluate, lattice, precision, device)
    return _direct(field.at_points(precision, device), lattice)


def _separable(evaluate: SlabEvaluator, lattice: Lattice, precision: str, device: str) -> Slabs:
    planes, *edges = lattice.shape
    plane = edges[0] * edges[1]
    if _PLANES * plane > MOST_POINTS:
        raise LatticeError(
            f"a lattice of {lattice.shape} points has planes too large to compute at once; "
            "let its first axis be the longest"
        )

    def fill(start: int, stop: int, out: NDArray[np.floating], cancelled: Cancel) -> None:
        from taichi_kernels import runtime

        _ask(cancelled)
        if device == "cpu":
            evaluate(start, stop, out)
        else:
            values: Any = runtime.allocate(out.shape, precision)
            evaluate(start, stop, values)
            runtime.to_numpy(values, out)

    points = min(SLAB_POINTS, getattr(evaluate, "slab_points", SLAB_POINTS))  # a slow kernel asks for fewer
    return Slabs(_cuts(planes, max(_PLANES, points // plane // _PLANES * _PLANES)), fill)


def _direct(at: PointEvaluator, lattice: Lattice) -> Slabs:
    planes, *edges = lattice.shape

    def fill(start: int, stop: int, out: NDArray[np.floating], cancelled: Cancel) -> None:
        points, flat = lattice.points(start, stop), out.reshape(-1)
        for first in range(0, len(points), TILE_POINTS):
            _ask(cancelled)
            flat[first : first + TILE_POINTS] = at(points[first : first + TILE_POINTS])

    return Slabs(_cuts(planes, max(1, TILE_POINTS // (edges[0] * edges[1]))), fill)


def _cuts(planes: int, step: int) -> Cuts:
    return tuple((start, min(start + step, planes)) for start in range(0, planes, step))


def _ask(cancelled: Cancel) -> None:
    if cancelled():
        raise Cancelled("cancelled")
