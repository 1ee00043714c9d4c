r"""What spherical atoms have of values at points, each in proportion to its function of the distance, by tables.

With functions f of the distance from atoms A,

.. math::  N_A = \sum_p \frac{f_A(|r_p - R_A|)}{\sum_B f_B(|r_p - R_B|)}
    \left[ v_p - w_p \sum_B f_B(|r_p - R_B|) \right]

(the charge deformation density of F. L. Hirshfeld, Theor. Chim. Acta 1977, 44, 129, equations 2 to 5, shared out).
Points that follow one another share a list of the atoms that are near.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ._taichi import quick, ti
from .launching import Checkpoint, idle, launch, pace_of, sent, turns_of
from .target import Target

_BLOCK = 64
"""Points with one list of atoms."""

_TASK = 1 << 14
"""Points that a thread does one after the other; what they add up to is kept, so that sums have one order."""

_BESIDE = 10.0
"""Distance in bohr, beyond that of the closest atom, up to which atoms count where none is within its reach."""

SMALLEST, LARGEST = 2.0**-40, 2.0**12
"""Squares of distances in bohr^2 between which tables have intervals; below them functions are constant."""

_BITS = 7
"""Bits of the mantissa that number the intervals between two powers of two: 128 intervals."""

_BELOW = 52 - _BITS
"""Number of the other bits, which say where in an interval a number is."""

_WITHIN, _SHARE = (1 << _BELOW) - 1, 2.0**-_BELOW
"""These bits, and what makes a share of the interval of them."""

_FIRST = (1023 - 40) << _BITS
"""Number of the first interval, if those from 0 on were counted."""


def interval_ends() -> np.ndarray:
    """Squares of distances in bohr^2 at which intervals of tables end, rising, shape (n_intervals + 1,)."""
    octaves = SMALLEST * 2.0 ** np.arange(np.log2(LARGEST / SMALLEST))
    inside = octaves[:, None] * (1 + np.arange(1 << _BITS) / (1 << _BITS))
    return np.append(inside.reshape(-1), LARGEST)


@dataclass(frozen=True, eq=False)
class RadialTables:
    """Functions of the distance by cubic polynomials of its square, whose intervals follow from its bits.

    Attributes
    ----------
    coefficients : ndarray of float64, shape (n_kinds, n_intervals, 4)
        Of the powers of the share of an interval; see `interval_ends`.
    end : ndarray of float64, shape (n_kinds,)
        Distance in bohr up to which the table goes, 64 at most, and beyond which the function is 0.
    """

    coefficients: np.ndarray
    end: np.ndarray


def spherical_shares(
    points: np.ndarray,
    weights: np.ndarray,
    values: np.ndarray,
    positions: np.ndarray,
    kind: np.ndarray,
    reach: np.ndarray,
    tables: RadialTables,
    target: Target,
    checkpoint: Checkpoint | None = None,
) -> np.ndarray:
    """Share values out to atoms, inside a session.

    Parameters
    ----------
    points : ndarray of float64, shape (n_points, 3)
        In bohr; those that follow one another should be close.
    weights, values : ndarray of float64, shapes (n_points,) and (n_columns, n_points)
        w and v, in bohr^3 and times w; the sum of the functions is taken from the first column only.
    positions : ndarray of float64, shape (n_atoms, 3)
        In bohr.
    kind : ndarray of int, shape (n_atoms,)
        Table of each atom.
    reach : ndarray of float64, shape (n_kinds,)
        Distance in bohr beyond which an atom is left out, where another one is closer by 10 bohr.
    tables
        Of f, which counts as 0 where it is negative.
    target
        A device with double precision, in which all is computed.
    checkpoint
        Called between pieces of the work with the share that is done.

    Returns
    -------
    ndarray of float64, shape (n_columns, n_atoms)
        Memory: 8 bytes for each atom and column for every 16,384 points.
    """
    n_columns, n_points = values.shape
    n_tasks = -(-n_points // _TASK)
    sums = np.zeros((n_tasks, n_columns, len(positions)))
    near, part = np.empty((n_tasks, len(positions)), np.int32), np.empty((n_tasks, len(positions)))
    arrays = {
        "point": points,
        "weight": weights,
        "value": values,
        "position": positions,
        "kind": kind.astype(np.int32),
        "reach": reach,
        "table": tables.coefficients,
        "end": tables.end,
    }
    given = {name: sent(np.ascontiguousarray(array), target) for name, array in arrays.items()}

    def some(first: int, last: int) -> None:
        here = slice(first, last)
        room = {"near": near[here], "part": part[here], "out": sums[here]}
        launch(_kernel(target), n_tasks=last - first, first=first * _TASK, **given, **room)

    pace_of(1 << 20, "spherical shares", target).run(np.full(n_tasks, float(_TASK * 30)), some, checkpoint)
    return sums.sum(axis=0)


@lru_cache
def _kernel(target: Target) -> Any:
    ndarray, vector, turns = ti.types.ndarray, ti.types.vector, turns_of(target, 1)
    I1, I2, D1, D2, D3 = ndarray(ti.i32, 1), ndarray(ti.i32, 2), *(ndarray(ti.f64, n) for n in (1, 2, 3))

    @ti.func
    def place_of(i: ti.i32, place: ti.template()):
        return vector(3, ti.f64)(place[i, 0], place[i, 1], place[i, 2])

    @ti.func
    def value_at(square: ti.f64, which: ti.i32, end: ti.template(), table: ti.template()):
        """A function at a distance in bohr whose square is given."""
        value = ti.f64(0.0)
        if square < end[which] * end[which]:
            bits = ti.bit_cast(ti.max(square, SMALLEST), ti.i64)
            n = ti.cast(bits >> _BELOW, ti.i32) - _FIRST
            t = ti.cast(bits & ti.i64(_WITHIN), ti.f64) * _SHARE
            value = table[which, n, 2] + t * table[which, n, 3]
            value = table[which, n, 0] + t * (table[which, n, 1] + t * value)
        return ti.max(value, 0.0)

    @ti.kernel
    def kernel(
        n_tasks: ti.i32,
        first: ti.i32,  # point
        point: D2,  # (points, 3) bohr
        weight: D1,
        value: D2,  # (columns, points)
        position: D2,  # (atoms, 3) bohr
        kind: I1,  # (atoms)
        reach: D1,  # (kinds) bohr
        table: D3,  # (kinds, intervals, 4)
        end: D1,  # (kinds) bohr
        near: I2,  # kept: (tasks, atoms) atoms about a block
        part: D2,  # kept: (tasks, atoms) what they have at a point
        out: D3,  # (tasks, columns, atoms)
    ):
        for turn in range(n_tasks * turns):
            if idle(turn, turns):
                continue
            task = turn // turns
            begin = first + task * _TASK
            last = ti.min(begin + _TASK, weight.shape[0])
            while begin < last:
                stop = ti.min(begin + _BLOCK, last)
                low = place_of(begin, point)
                high = low
                for p in range(begin, stop):
                    low, high = ti.min(low, place_of(p, point)), ti.max(high, place_of(p, point))
                middle, radius = (low + high) / 2, (high - low).norm() / 2
                closest = ti.f64(1e300)
                for n in range(position.shape[0]):
                    closest = ti.min(closest, (place_of(n, position) - middle).norm())
                n_near = 0
                for n in range(position.shape[0]):
                    farthest = ti.max(reach[kind[n]], closest + _BESIDE) + radius
                    if (place_of(n, position) - middle).norm() < farthest:
                        near[task, n_near] = n
                        n_near += 1
                for p in range(begin, stop):
                    at = place_of(p, point)
                    whole = ti.f64(0.0)
                    for m in range(n_near):
                        n = near[task, m]
                        f = value_at((place_of(n, position) - at).norm_sqr(), kind[n], end, table)
                        part[task, m] = f
                        whole += f
                    if whole > 0:
                        for c in range(value.shape[0]):
                            each = value[c, p] / whole
                            if c == 0:
                                each -= weight[p]
                            for m in range(n_near):
                                out[task, c, near[task, m]] += part[task, m] * each
                begin = stop

    return quick(kernel)
