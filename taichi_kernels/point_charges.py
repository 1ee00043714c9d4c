r"""The potential of many charges at points: the direct sum.

.. math::  U(r) = \sum_m q_m f(|r - r_m|, a_m)

where a charge is spread evenly over a sphere of radius a (Griffiths, Introduction to Electrodynamics, problem 2.21):

.. math::  f(d, a) = 1 / d \;\; (d \ge a), \qquad f(d, a) = (3 - d^2 / a^2) / 2 a \;\; (d < a)

Both are one expression without a branch: with :math:`u = 1 / \max(d, a)`,

.. math::  f = u \; (3 - d^2 u^2) / 2

Outside the sphere that is also a step of Newton's iteration for 1/d, which takes away the error of a fast u.

A task sums up over one part of the charges for one point, so that few points keep a device busy as well as many do.
Parts depend on the number of charges only, and their sums are added up in a fixed order: values are reproducible, and
do not depend on how points are handed over.
"""

from dataclasses import dataclass
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from ._taichi import number, ti
from .arrays import allocate, array_of
from .cells import CELL, split_position
from .devices import probe
from .launching import launch
from .target import Target

_LANES = 8
"""Charges that a CPU takes at once."""

_BLOCKS_A_PART = 128
"""Blocks of that many in a part, on a CPU: they stay in its cache from point to point."""

_PARTS, _CHARGES_A_PART = 1024, 64
"""On a GPU: most parts, which is enough for a single point, and fewest charges of one."""

_RUN = 256
"""Terms added up in single precision before their sum goes to the total."""

_FOLD = 32
"""Rows of partial sums that a thread of a GPU adds up."""

_PARTIAL_SUMS = 1 << 22
"""Partial sums held at once."""

_SMALLEST = 1e-6
"""Radius in bohr that stands for 0: the potential stays finite at a point charge."""


@dataclass(frozen=True, eq=False)
class ChargesOnDevice:
    """Charges where the kernels find them.

    Attributes
    ----------
    n, parts : int
        Charges, or blocks of them on a CPU; and parts that they are summed up in.
    arrays : dict
        Places, charges, and squares of the radii, as the kernels call them.
    target : Target
        What they were prepared for.
    """

    n: int
    parts: int
    arrays: dict[str, Any]
    target: Target


def send_charges(position: np.ndarray, charge: np.ndarray, radius: np.ndarray, target: Target) -> ChargesOnDevice:
    """Bring charges to the device of the current session, for any number of calls.

    Parameters
    ----------
    position : ndarray of float64, shape (n, 3)
        In bohr; one charge or more.
    charge, radius : ndarray of float64, shape (n,)
        In e, and in bohr.
    target : Target
        The device, and the precision of the terms that are to be summed up.
    """
    real = target.dtype
    square = np.maximum(radius, _SMALLEST) ** 2
    n = len(charge)
    if target.on_host:
        n = -(-len(charge) // _LANES)
        # what fills up the last block repeats the last charge, as nothing
        place = np.minimum(np.arange(n * _LANES), len(charge) - 1)
        counts = np.arange(n * _LANES) < len(charge)
        floats = np.column_stack([charge[place] * counts, square[place]])
        arrays = {"position": _lanes(position[place], np.float64), "charge": _lanes(floats, real)}
        parts = -(-n // _BLOCKS_A_PART)
    else:
        cell, remainder = split_position(position)
        arrays = {
            "whole": _on_device(cell, 3),
            "charge": _on_device(np.column_stack([remainder, charge]).astype(real), 4),
            "square": _on_device(square.astype(real), 0),
        }
        parts = min(_PARTS, -(-n // _CHARGES_A_PART))
    return ChargesOnDevice(n, parts, arrays, target)


def potential_of_charges(points: np.ndarray, charges: ChargesOnDevice) -> np.ndarray:
    """Potential of charges at points.

    Parameters
    ----------
    points : ndarray of float64, shape (n_points, 3)
        In bohr.
    charges : ChargesOnDevice
        From `send_charges`, in the current session and not lost.

    Returns
    -------
    ndarray of float64, shape (n_points,)
        In hartree / e. Terms in single precision have errors of 1e-7 of each, which hardly add up; they are summed up
        in double precision where the device has it.
    """
    target = charges.target
    wide = np.dtype(np.float64) if probe(target.device).double else target.dtype
    kernels = _kernels(target, wide)
    values = np.empty(len(points))
    step = max(1, _PARTIAL_SUMS // charges.parts)
    for first in range(0, len(points), step):
        some = slice(first, min(first + step, len(points)))
        n = some.stop - some.start
        if target.on_host:
            partial = np.empty((charges.parts, n), wide)
            where = {"n_points": n, "point": points[some].copy()}
            launch(kernels.sum_vectors, **where, n_blocks=charges.n, parts=charges.parts, **charges.arrays, out=partial)
            values[some] = partial.sum(axis=0)
            continue
        cell, remainder = split_position(points[some])
        remainder = np.ascontiguousarray(remainder, target.dtype)
        rows, held = charges.parts, allocate((charges.parts, n), wide)
        where = {"n_points": n, "cell": cell, "remainder": remainder}
        launch(kernels.sum_charges, **where, n=charges.n, parts=rows, **charges.arrays, out=held)
        while rows > 1:
            fewer = -(-rows // _FOLD)
            folded = allocate((fewer, n), wide)
            kernels.fold(n_points=n, rows=rows, partial=held, out=folded)
            rows, held = fewer, folded
        values[some] = held.to_numpy()[0]
    return values


def _lanes(array: np.ndarray, dtype: object) -> np.ndarray:
    """From (n, columns) to (blocks, columns, lanes)."""
    return np.ascontiguousarray(array.reshape(-1, _LANES, array.shape[1]).transpose(0, 2, 1), dtype)


def _on_device(array: np.ndarray, columns: int) -> object:
    element = number(array.dtype)
    kept = array_of(ti.types.vector(columns, element) if columns else element, len(array))
    kept.from_numpy(np.ascontiguousarray(array))
    return kept


@lru_cache
def _kernels(target: Target, sums: "np.dtype[np.floating]") -> SimpleNamespace:
    real, wide = number(target.dtype), number(sums)
    vector = ti.types.vector
    lanes = vector(_LANES, real)
    I3, R3 = ti.types.ndarray(vector(3, ti.i32), 1), ti.types.ndarray(vector(3, real), 1)
    R4, R1, W2 = ti.types.ndarray(vector(4, real), 1), ti.types.ndarray(real, 1), ti.types.ndarray(wide, 2)
    P2, PL, RL = ti.types.ndarray(ti.f64, 2), ti.types.ndarray(vector(_LANES, ti.f64), 2), ti.types.ndarray(lanes, 2)

    @ti.func
    def term(square: ti.template(), smallest: ti.template()):
        """Potential of a unit charge at a squared distance, spread over a sphere of a squared radius."""
        larger = ti.max(square, smallest)
        if ti.static(target.precision == "double"):
            # a root in single precision and a step of Newton's iteration take half the time of one in double precision
            seed = ti.cast(ti.rsqrt(ti.cast(larger, ti.f32)), real)
            inverse = seed * (real(1.5) - real(0.5) * larger * seed * seed)
            return inverse * (real(1.5) - real(0.5) * square * inverse * inverse)
        inverse = ti.rsqrt(larger)
        return inverse * (real(1.5) - real(0.5) * square * inverse * inverse)

    @ti.kernel
    def sum_vectors(
        n_points: ti.i32,
        n_blocks: ti.i32,
        parts: ti.i32,
        point: P2,  # (points, 3) bohr
        position: PL,  # (blocks, 3) bohr
        charge: RL,  # (blocks, 2) charges (e), squared radii (bohr^2)
        out: W2,  # (parts, points)
    ):
        ti.loop_config(block_dim=64)
        for task in range(parts * n_points):
            part, i = task // n_points, task % n_points
            total = lanes(0.0)
            for b in range(part * _BLOCKS_A_PART, ti.min((part + 1) * _BLOCKS_A_PART, n_blocks)):
                x = ti.cast(position[b, 0] - point[i, 0], real)
                y = ti.cast(position[b, 1] - point[i, 1], real)
                z = ti.cast(position[b, 2] - point[i, 2], real)
                total += charge[b, 0] * term(x * x + y * y + z * z, charge[b, 1])
            out[part, i] = ti.cast(total, wide).sum()

    @ti.kernel
    def sum_charges(
        n_points: ti.i32,
        n: ti.i32,
        parts: ti.i32,
        cell: I3,  # (points) whole cells
        remainder: R3,  # (points) bohr
        whole: I3,  # (charges) whole cells
        charge: R4,  # (charges) remainders (bohr) and charges (e)
        square: R1,  # (charges) squared radii (bohr^2)
        out: W2,  # (parts, points)
    ):
        ti.loop_config(block_dim=128)
        for task in range(parts * n_points):
            part, i = task // n_points, task % n_points
            here, rest = cell[i], remainder[i]
            total = ti.cast(0.0, wide)
            # neighbouring parts take neighbouring charges: threads that share a point read side by side
            count = (n - part + parts - 1) // parts
            for run in range((count + _RUN - 1) // _RUN):
                subtotal = ti.cast(0.0, real)
                for k in range(run * _RUN, ti.min((run + 1) * _RUN, count)):
                    m = part + k * parts
                    c = charge[m]
                    d = ti.cast(whole[m] - here, real) * real(CELL) + (vector(3, real)(c[0], c[1], c[2]) - rest)
                    subtotal += c[3] * term(d.dot(d), square[m])
                total += ti.cast(subtotal, wide)
            out[part, i] = total

    @ti.kernel
    def fold(n_points: ti.i32, rows: ti.i32, partial: W2, out: W2):
        ti.loop_config(block_dim=128)
        for task in range((rows + _FOLD - 1) // _FOLD * n_points):
            row, i = task // n_points, task % n_points
            total = ti.cast(0.0, wide)
            for k in range(row * _FOLD, ti.min((row + 1) * _FOLD, rows)):
                total += partial[k, i]
            out[row, i] = total

    return SimpleNamespace(sum_vectors=sum_vectors, sum_charges=sum_charges, fold=fold)
