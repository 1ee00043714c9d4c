"""A field on a lattice, slab by slab, on the device of the current session.

Where slabs begin follows from the lattice alone: whoever computes them, in whatever order, gets the same values.

What is made of Gaussians stands for a periodic field within its cell (`orbitile.gaussians.periodic`), which is where
lattices lie as a rule: then all kernels for lattices serve. The points of others are moved into the cell, one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.target import Target

from ..base.errors import LatticeError
from ..base.memory import require_memory, share
from ..base.watch import checkpoint, stage
from ..fields import Field, PointEvaluator, SlabEvaluator
from ..model.cell import cell_of
from ..model.lattice import Lattice
from ..model.units import angstrom
from ..model.wavefunction import Wavefunction

SLAB_POINTS = share("slab", 4)
"""Points of a slab, in single precision."""

TILE_POINTS = share("tile", 4)
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


# ---- periodic systems


def lies_within(wavefunction: Wavefunction, lattice: Lattice) -> bool:
    """Whether a lattice lies where the Gaussians of a wavefunction stand for it: anywhere, for a molecule."""
    cell = cell_of(wavefunction)
    if cell is None:
        return True
    ends = [np.array(corner) * (np.array(lattice.shape) - 1) for corner in product((0, 1), repeat=3)]
    return cell.holds(lattice.origin + np.array(ends) @ lattice.axes)


def launches(wavefunction: Wavefunction, fields: Sequence[Field], lattice: Lattice, precision: str) -> bool:
    """Whether kernels are launched for fields on a lattice, computed together, where the device is the CPU."""
    target = Target("cpu", precision)
    return not lies_within(wavefunction, lattice) or any(f.launches(lattice, target, len(fields)) for f in fields)


def on_slabs(wavefunction: Wavefunction, field: Field, lattice: Lattice, target: Target) -> SlabEvaluator | None:
    """Evaluator for slabs of a lattice, or None where only points will do; within a session of the device."""
    return field.on_slabs(lattice, target) if lies_within(wavefunction, lattice) else None


def at_points(wavefunction: Wavefunction, field: Field, target: Target) -> PointEvaluator:
    """Evaluator for points anywhere; within a session of the device."""
    evaluate, cell = field.at_points(target), cell_of(wavefunction)
    if cell is None:
        return evaluate
    return lambda points: evaluate(cell.wrapped(points))


# ---- memory

_ON_DEVICE = 6
"""Times the memory of its values that a lattice takes on a device, with lists of what matters where, and a surface."""

_SHARE = 0.5
"""Of the memory of a device: the rest is for the screen, other programs, and what does not grow with a lattice."""


def require_lattice(lattice: Lattice, itemsize: int, what: str = "") -> None:
    """Refuse a lattice that would not fit in memory with so many bytes a point.

    `what` says what they hold beside the values.

    Raises
    ------
    LatticeError
        Says what would fit.
    """
    n_bytes, reserve = lattice.n_points * itemsize, share("reserve")

    def advice(available: int) -> str:
        factor = ((n_bytes + reserve) / max(available - reserve, 1 << 20)) ** (1 / 3) * 1.01
        spacing = lattice.spacings[0] / angstrom
        return (
            f"a spacing of {spacing * factor:.3g} Angstrom in place of {spacing:.3g} would fit, and `orbitile volume` "
            "or compute_to_file write it to a file without holding it"
        )

    text = "a lattice of {} x {} x {} points{}".format(*lattice.shape, what)
    require_memory(n_bytes + reserve, text, advice, LatticeError, small=reserve + share("slab"))


def fits_device(lattice: Lattice, target: Target) -> bool:
    """Whether a device has memory for all values on a lattice at once, and for what is computed beside them."""
    from taichi_kernels.devices import probe

    memory = probe(target.device).memory
    return memory is None or _ON_DEVICE * lattice.n_points * target.dtype.itemsize <= _SHARE * memory
